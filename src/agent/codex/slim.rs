//! A rollout's lines as a recording keeps them.

use serde_json::{Value, json};

use super::item::CompletedItem;
use super::listing;
use super::rollout::{RolloutLine, RolloutPayload, SKILL};

/// A line as a recording keeps it: what [the decoder](super::rollout::RolloutDecoder) reads, without the vendor's own prompts and
/// the descriptions of other skills than those with the slugs `skills`. `None` for the rest.
pub(super) fn slimmed(line: &[u8], skills: &[&str]) -> Option<Vec<u8>> {
    let read = serde_json::from_slice::<RolloutLine<'_>>(line).and_then(|read| {
        // What the decoder cannot read must not become readable, as a key does that was there twice.
        if read.kind == "response_item" {
            serde_json::from_str::<RolloutPayload>(read.payload.get())?;
        }
        serde_json::from_slice::<Value>(line)
    });
    let Ok(value) = read else {
        // A damaged line is evidence too.
        return Some([line, b"\n"].concat());
    };
    let payload = value.get("payload")?;
    let slim = match (value.get("type")?.as_str()?, payload.get("type").and_then(Value::as_str)) {
        ("session_meta", _) => match payload.get("parent_thread_id") {
            Some(_) => kept(payload, &["id", "parent_thread_id", "agent_path"]),
            None => json!({ "cli_version": payload.get("cli_version") }),
        },
        ("turn_context", _) => json!({ "model": payload.get("model") }),
        ("token_usage_record", _) => {
            let (usage, thread) = (payload.get("usage")?, payload.get("thread_id"));
            match payload.get("session_id") {
                // A sub-agent's: nothing else tells what those took.
                Some(session) if thread != Some(session) => {
                    json!({ "session_id": session, "thread_id": thread, "usage": usage })
                }
                _ => json!({ "usage": kept(usage, &["input_tokens", "output_tokens"]) }),
            }
        }
        ("event_msg", Some("error" | "stream_error" | "task_complete")) => {
            let info = payload.pointer("/error/codex_error_info").or_else(|| payload.get("codex_error_info"));
            match (info, payload.get("duration_ms")) {
                (Some(info), took) => {
                    // Its words tell whether the model ended its turn short.
                    let error = json!({ "codex_error_info": info, "message": payload.pointer("/error/message") });
                    json!({ "type": "error", "error": error, "duration_ms": took })
                }
                (None, took) => json!({ "type": "task_complete", "duration_ms": took? }),
            }
        }
        ("event_msg", Some("item_completed")) => {
            json!({ "type": "item_completed", "item": slimmed_item(payload.get("item")?)? })
        }
        // The vendor's tools.
        ("response_item", Some("additional_tools")) => return None,
        ("response_item", Some("message")) => {
            let role = payload.get("role").and_then(Value::as_str);
            let content = payload.get("content")?.as_array()?.iter();
            let content: Vec<Value> = content.filter_map(|content| slimmed_content(content, role, skills)).collect();
            // That codex spoke to the model at all shows that an absent list means no skills.
            if content.is_empty() && role != Some("developer") {
                return None;
            }
            json!({ "type": "message", "role": role, "content": content })
        }
        ("response_item", Some(_)) => {
            kept(payload, &["type", "name", "namespace", "arguments", "input", "call_id", "output", "tools"])
        }
        _ => return None,
    };
    let mut line = json!({ "type": value.get("type"), "payload": slim }).to_string().into_bytes();
    line.push(b'\n');
    Some(line)
}

/// Keeps a command that the model's code ran, and how a call of an MCP server's tool ended.
fn slimmed_item(item: &Value) -> Option<Value> {
    let read: CompletedItem = serde_json::from_str(&item.to_string()).ok()?;
    if read.mcp_call().is_some() {
        return Some(kept(item, &["type", "id", "server", "tool", "arguments", "status", "error"]));
    }
    read.is_run_by_code().then(|| kept(item, &["type", "id", "command", "aggregated_output", "exit_code"]))
}

/// Those of an object's keys.
fn kept(object: &Value, keys: &[&str]) -> Value {
    let there = keys.iter().filter_map(|key| Some(((*key).to_owned(), object.get(key)?.clone())));
    Value::Object(there.collect())
}

/// Keeps the list of skills, the skills that codex put into the conversation, and what the model and its user said; drops
/// codex's own instructions, and what else is long.
fn slimmed_content(content: &Value, role: Option<&str>, skills: &[&str]) -> Option<Value> {
    let text = content.get("text")?.as_str()?;
    let text = match role {
        Some("developer") => listing::slimmed(listing::within(text)?, skills),
        Some("user") if text.starts_with("<environment_context>") => return None,
        Some("user") if text.len() > 64 << 10 && !text.starts_with(SKILL) => return None,
        _ => text.to_owned(),
    };
    Some(json!({ "text": text }))
}
