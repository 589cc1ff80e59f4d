//! A line of claude's output as a recording keeps it: what grading reads and a reader wants, without ids and the long
//! lists that are the same in every run.

use serde_json::{Map, Value};

use super::wire::{Assistant, LineHead, ResultLine, UserLine};

/// Keys that are kept of each kind of line; of other kinds everything is.
const KEPT: [(&str, &[&str]); 4] = [
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

/// Whether a line is what it says that it is: one that has a key twice, say, is none, and would be one once it is written
/// anew.
fn reads(line: &[u8]) -> bool {
    fn is<'a, T: serde::Deserialize<'a>>(line: &'a [u8]) -> bool {
        serde_json::from_slice::<T>(line).is_ok()
    }
    serde_json::from_slice::<LineHead>(line).is_ok_and(|head| match head.kind.as_str() {
        "assistant" => is::<Assistant>(line),
        "user" => is::<UserLine>(line),
        "result" => is::<ResultLine>(line),
        _ => true,
    })
}

/// The line, or `None` where it is of no use later.
pub(super) fn line(line: &[u8]) -> Option<Vec<u8>> {
    let (Ok(Value::Object(mut value)), true) = (serde_json::from_slice(line), reads(line)) else {
        // A damaged line is evidence too.
        return Some([line, b"\n"].concat());
    };
    let kind = value.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    // The answer to `initialize` lists every command and model that there is.
    if kind == "control_response" {
        return None;
    }
    // A sub-agent's own file has the same lines, and only their ids tell.
    let of_sub_agent = value.get("parent_tool_use_id").is_some_and(Value::is_string);
    if let Some((_, kept)) = KEPT.iter().find(|(known, _)| *known == kind) {
        let is_kept = |key: &str| kept.contains(&key) || (of_sub_agent && key == "uuid");
        value.retain(|key, value| is_kept(key) && !value.is_null());
    }
    let is_built_in = |tool: &Value| tool.as_str().is_none_or(|tool| tool != "Skill" && !tool.starts_with("mcp__"));
    if let Some(Value::Array(tools)) = value.get_mut("tools") {
        tools.retain(|tool| !is_built_in(tool));
    }
    if let Some(Value::Object(message)) = value.get_mut("message") {
        slim_message(message);
    }
    for usage in ["usage", "modelUsage"] {
        if let Some(Value::Object(usage)) = value.get_mut(usage) {
            usage.values_mut().for_each(keep_counts);
            usage.retain(|_, value| value.is_number() || value.is_object());
            usage.retain(|_, value| value.as_object().is_none_or(|map| map.contains_key("inputTokens")));
        }
    }
    Some(format!("{}\n", Value::Object(value)).into_bytes())
}

/// A line of a sub-agent's own file: its conversation. `None` for the rest.
pub(super) fn sub_agents_line(line: &[u8]) -> Option<Vec<u8>> {
    let Ok(Value::Object(mut value)) = serde_json::from_slice(line) else {
        return Some([line, b"\n"].concat());
    };
    let kind = value.get("type").and_then(Value::as_str);
    kind.filter(|kind| ["assistant", "user"].contains(kind))?;
    value.retain(|key, value| {
        ["type", "uuid", "agentId", "isMeta", "message"].contains(&key.as_str()) && !value.is_null()
    });
    if let Some(Value::Object(message)) = value.get_mut("message") {
        slim_message(message);
    }
    Some(format!("{}\n", Value::Object(value)).into_bytes())
}

fn slim_message(message: &mut Map<String, Value>) {
    message.retain(|key, value| {
        !value.is_null() && ["id", "role", "model", "content", "usage", "stop_reason"].contains(&key.as_str())
    });
    if let Some(Value::Object(usage)) = message.get_mut("usage") {
        usage.retain(|_, value| value.is_number());
    }
}

fn keep_counts(value: &mut Value) {
    if let Value::Object(map) = value {
        map.retain(|key, _| key.ends_with("Tokens") || key == "costUSD");
    }
}
