//! A line of claude's output as a recording stores it: what grading and readers need, without ids and without long lists
//! that are the same in every run.

use serde_json::{Map, Value};

use super::wire::{Assistant, LineHead, ResultLine, parse};

/// The keys that each kind of line keeps. Other kinds keep all keys.
const KEYS: [(&str, &[&str]); 4] = [
    (
        "system",
        &[
            "type",
            "subtype",
            "tools",
            "skills",
            "mcp_servers",
            "model",
            "permissionMode",
            "claude_code_version",
            "attempt",
            "max_retries",
            "retry_delay_ms",
            "error_status",
            "error",
            "task_id",
            "task_type",
            "tool_use_id",
        ],
    ),
    ("assistant", &["type", "message", "parent_tool_use_id", "error"]),
    ("user", &["type", "message", "parent_tool_use_id", "isSynthetic"]),
    (
        "result",
        &[
            "type",
            "subtype",
            "is_error",
            "api_error_status",
            "stop_reason",
            "num_turns",
            "duration_ms",
            "duration_api_ms",
            "result",
            "errors",
            "total_cost_usd",
            "usage",
            "modelUsage",
            "permission_denials",
        ],
    ),
];

/// The lines of the program itself that are read.
const READ: [&str; 4] = ["init", "api_retry", "task_started", "task_notification"];

/// Whether the decoder can read the line. One that it cannot read (with a duplicate key, say) must not become readable.
fn is_readable(line: &[u8]) -> bool {
    parse::<LineHead>(line).is_some_and(|head| match head.kind.as_str() {
        "assistant" | "user" => parse::<Assistant>(line).is_some(),
        "result" => parse::<ResultLine>(line).is_some(),
        _ => true,
    })
}

/// The slim line; `None` if nobody needs it.
pub(super) fn line(line: &[u8]) -> Option<Vec<u8>> {
    let (Some(Value::Object(mut value)), true) = (parse(line), is_readable(line)) else {
        // A damaged line is evidence, too.
        return Some([line, b"\n"].concat());
    };
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    // The answer to `initialize` lists every command and model.
    if kind == "control_response" {
        return None;
    }
    // A sub-agent's own file repeats its lines; the ids show which.
    let of_sub_agent = value.get("parent_tool_use_id").is_some_and(Value::is_string);
    // What a line of another kind says, nobody knows.
    let is_known =
        kind != "system" || value.get("subtype").and_then(Value::as_str).is_some_and(|subtype| READ.contains(&subtype));
    if let Some((_, keys)) = KEYS.iter().find(|(known, _)| *known == kind && is_known) {
        value
            .retain(|key, value| (keys.contains(&key.as_str()) || (of_sub_agent && key == "uuid")) && !value.is_null());
    }
    slim_message(&mut value);
    for usage in ["usage", "modelUsage"] {
        if let Some(Value::Object(usage)) = value.get_mut(usage) {
            usage.retain(|_, value| match value {
                Value::Object(tokens) => {
                    tokens.retain(|key, _| key.ends_with("Tokens") || key == "costUSD");
                    tokens.contains_key("inputTokens")
                }
                value => value.is_number(),
            });
        }
    }
    Some(format!("{}\n", Value::Object(value)).into_bytes())
}

/// A slim line of a sub-agent's own file: its conversation. `None` for the rest.
pub(super) fn sub_agents_line(line: &[u8]) -> Option<Vec<u8>> {
    let Some(Value::Object(mut value)) = parse(line) else {
        return Some([line, b"\n"].concat());
    };
    let kind = value.get("type").and_then(Value::as_str);
    kind.filter(|kind| ["assistant", "user"].contains(kind))?;
    value.retain(|key, value| {
        ["type", "uuid", "agentId", "isMeta", "message"].contains(&key.as_str()) && !value.is_null()
    });
    slim_message(&mut value);
    Some(format!("{}\n", Value::Object(value)).into_bytes())
}

fn slim_message(line: &mut Map<String, Value>) {
    let Some(Value::Object(message)) = line.get_mut("message") else { return };
    message.retain(|key, value| {
        !value.is_null() && ["id", "role", "model", "content", "usage", "stop_reason"].contains(&key.as_str())
    });
    if let Some(Value::Object(usage)) = message.get_mut("usage") {
        usage.retain(|_, value| value.is_number());
    }
}
