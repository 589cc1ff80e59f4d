//! A rollout's lines as a recording stores them.

use serde_json::{Value, json};

use super::listing;
use super::rollout::{SKILL, may_be_item};
use super::wire::{CompletedItem, RolloutContent, RolloutLine, RolloutPayload};

/// The longest text of a user that a recording stores, in bytes.
const MAX_USER_TEXT: usize = 64 << 10;

/// A line as a recording stores it: what [the decoder](super::rollout::RolloutDecoder) reads, without codex's own prompts, and
/// only with the descriptions of skills with the slugs `skills`. `None` for lines that the decoder does not need.
pub(super) fn slimmed(line: &[u8], skills: &[&str]) -> Option<Vec<u8>> {
    let value = serde_json::from_slice::<RolloutLine<'_>>(line).and_then(|read| {
        // A line that the decoder cannot read (with a duplicate key, say) must not become readable.
        if read.kind == "response_item" {
            serde_json::from_str::<RolloutPayload>(read.payload.get())?;
        }
        serde_json::from_slice::<Value>(line)
    });
    let Ok(value) = value else {
        // A damaged line is evidence, too.
        return Some([line, b"\n"].concat());
    };
    let payload = value.get("payload")?;
    let slim = match (value.get("type")?.as_str()?, payload.get("type").and_then(Value::as_str)) {
        ("session_meta", _) if payload.get("parent_thread_id").is_some() => {
            only(payload, &["id", "parent_thread_id", "agent_path"])
        }
        ("session_meta", _) => json!({ "cli_version": payload.get("cli_version") }),
        ("turn_context", _) => json!({ "model": payload.get("model") }),
        ("token_usage_record", _) => {
            let (usage, session) = (payload.get("usage")?, payload.get("session_id"));
            if session.is_some() && session != payload.get("thread_id") {
                // No other line shows what a sub-agent took.
                only(payload, &["session_id", "thread_id", "usage"])
            } else {
                json!({ "usage": only(usage, &["input_tokens", "output_tokens"]) })
            }
        }
        ("event_msg", Some("error" | "stream_error" | "task_complete")) => {
            let info = payload.pointer("/error/codex_error_info").or_else(|| payload.get("codex_error_info"));
            let duration = payload.get("duration_ms");
            if let Some(info) = info {
                // The message shows whether the model ended its turn early.
                let error = json!({ "codex_error_info": info, "message": payload.pointer("/error/message") });
                json!({ "type": "error", "error": error, "duration_ms": duration })
            } else {
                json!({ "type": "task_complete", "duration_ms": duration? })
            }
        }
        ("event_msg", Some("item_completed")) => {
            json!({ "type": "item_completed", "item": slimmed_item(payload.get("item")?)? })
        }
        ("response_item", Some("additional_tools")) | ("event_msg", _) => return None,
        ("response_item", Some("message")) => {
            let role = payload.get("role").and_then(Value::as_str);
            let Some(content) = payload.get("content").and_then(Value::as_array) else {
                return Some([line, b"\n"].concat());
            };
            let content = content.iter();
            let content: Vec<Value> = content.filter_map(|content| slimmed_content(content, role, skills)).collect();
            // A developer message without a list shows that codex offered no skills.
            if content.is_empty() && role != Some("developer") {
                return None;
            }
            json!({ "type": "message", "role": role, "content": content })
        }
        ("response_item", Some(_)) => {
            only(payload, &["type", "name", "namespace", "arguments", "input", "call_id", "output", "tools"])
        }
        ("compacted", _) => json!({}),
        ("response_item", None) => return Some([line, b"\n"].concat()),
        (_, kind) if may_be_item(kind) => return Some([line, b"\n"].concat()),
        _ => return None,
    };
    Some(format!("{}\n", json!({ "type": value.get("type"), "payload": slim })).into_bytes())
}

/// Keeps a command of the model's code, and whether a call of an MCP server's tool failed.
fn slimmed_item(item: &Value) -> Option<Value> {
    let read: CompletedItem = serde_json::from_str(&item.to_string()).ok()?;
    if read.mcp_call().is_some() {
        return Some(only(item, &["type", "id", "server", "tool", "arguments", "status", "error"]));
    }
    read.is_command_by_code().then(|| only(item, &["type", "id", "command", "aggregated_output", "exit_code"]))
}

fn only(object: &Value, keys: &[&str]) -> Value {
    keys.iter().filter_map(|key| Some(((*key).to_owned(), object.get(key)?.clone()))).collect()
}

/// Keeps the list of skills, the skills that codex put into the conversation, and what the model and its user said. Drops
/// codex's own instructions, and long texts.
fn slimmed_content(content: &Value, role: Option<&str>, skills: &[&str]) -> Option<Value> {
    let read: RolloutContent = serde_json::from_str(&content.to_string()).unwrap_or_default();
    let Ok(text) = read.text() else {
        // What it says, nobody knows.
        return Some(content.clone());
    };
    content.get("text")?;
    let text = match role {
        Some("developer") => listing::slimmed(listing::within(text)?, skills),
        Some("user") if text.starts_with("<environment_context>") => return None,
        Some("user") if text.len() > MAX_USER_TEXT && !text.starts_with(SKILL) => return None,
        _ => text.to_owned(),
    };
    Some(json!({ "text": text }))
}
