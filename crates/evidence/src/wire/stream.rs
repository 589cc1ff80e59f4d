//! Server-sent events (the HTML standard, 9.2.6), as far as providers use them: `data` lines, joined until an empty line.

use serde_json::Value;

/// The JSON values of the events in order; `None` for an event that is none. `[DONE]` is the text itself.
pub(super) fn events(text: &str) -> impl Iterator<Item = Option<Value>> + '_ {
    // A line may end with either, or both.
    let mut lines = text.split("\r\n").flat_map(|part| part.split(['\n', '\r']));
    let mut data = String::new();
    std::iter::from_fn(move || {
        for line in lines.by_ref() {
            if let Some(value) = line.strip_prefix("data:") {
                data.push_str(value.strip_prefix(' ').unwrap_or(value));
                data.push('\n');
            } else if line.is_empty() && !data.is_empty() {
                return Some(read(&std::mem::take(&mut data)));
            }
        }
        None
    })
}

fn read(data: &str) -> Option<Value> {
    match data.trim_end() {
        "[DONE]" => Some(Value::String("[DONE]".to_owned())),
        data => serde_json::from_str(data).ok(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_ends_with_a_carriage_return_a_line_feed_or_both() {
        for end in ["\n", "\r", "\r\n"] {
            let text =
                ["event: x", "data: {\"a\":", "data: 1}", "", "data: [DONE]", "", "data: {\"cut\": 1}"].join(end);
            let found: Vec<_> = events(&text).collect();
            assert_eq!(found, [Some(json!({ "a": 1 })), Some(json!("[DONE]"))], "{end:?}");
        }
    }
}
