//! What the parser of evals.toml says of a wrong value, in the words of the rest.

use crate::settings::FILE;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, suggest};

/// What keeps evals.toml from being read.
pub(super) fn problem(text: &str, error: &toml::de::Error) -> Diagnostic {
    let range = error.span().unwrap_or(0..0);
    let key = text[..range.start].trim_end().strip_suffix('=').map(str::trim_end);
    let value = text.get(range.clone()).unwrap_or_default();
    let place = SourceLocation::in_text(FILE, text.as_bytes(), range);
    let problem = Diagnostic::new(Code::Config, place, message(error.message()));
    // `[mode.NAME]` makes a mode, `modes` chooses some.
    let is_mode = key.is_some_and(|key| key == "mode" || key.ends_with("\nmode"));
    if is_mode && value.starts_with(['"', '\'']) {
        return problem.help(format!("to choose modes, write modes = [{value}]"));
    }
    problem
}

/// `invalid type: integer `3`, expected struct X` as "this is 3; expected a table", of an unknown key the nearest one; other messages
/// as they are, on one line.
fn message(text: &str) -> String {
    let text = text.trim().replace('\n', "; ");
    if let Some((key, known)) = text.strip_prefix("unknown field `").and_then(|rest| rest.split_once("`, expected ")) {
        let known: Vec<&str> = known.split('`').skip(1).step_by(2).collect();
        return format!("unknown key `{key}`; {}", suggest(key, &known));
    }
    let Some((found, expected)) = text.strip_prefix("invalid type: ").and_then(|rest| rest.split_once(", expected "))
    else {
        return text;
    };
    format!("this is {}; expected {}", kind(found), wanted(expected))
}

/// A value as it was found.
fn kind(found: &str) -> String {
    let value = |kind: &str| found.strip_prefix(kind).map(|value| value.trim_matches('`').to_owned());
    match found {
        "map" => "a table".to_owned(),
        "sequence" => "a list".to_owned(),
        _ => ["string ", "integer ", "floating point ", "boolean "]
            .into_iter()
            .find_map(value)
            .unwrap_or_else(|| found.to_owned()),
    }
}

/// What stands for a type of Rust.
fn wanted(expected: &str) -> &str {
    match expected {
        "i64" | "u64" | "u32" | "usize" => "a whole number",
        "f64" => "a number",
        "a boolean" => "true or false",
        "a map" => "a table",
        "a sequence" => "a list",
        _ if expected.starts_with("struct ") => "a table",
        _ => expected,
    }
}
