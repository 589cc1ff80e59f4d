//! Anthropic's messages: `POST /v1/messages`.

use serde_json::{Value, json};

use super::super::setup::ChatSetup;
use super::conversation::{ChatAnswer, ChatCall, Turn, text_of};
use super::tools::Tool;
use crate::trace::{StopReason, Usage};

/// The most tokens of an answer if the user names no number. The protocol needs one.
const MAX_TOKENS: u64 = 8192;

pub(super) fn request(setup: &ChatSetup, system: &str, turns: &[Turn], tools: &[Tool]) -> Value {
    let messages: Vec<Value> = turns.iter().filter_map(message).collect();
    let tools: Vec<Value> = tools
        .iter()
        .map(|tool| json!({ "name": tool.name, "description": tool.about, "input_schema": tool.schema() }))
        .collect();
    let most = setup.max_tokens.unwrap_or(MAX_TOKENS);
    json!({ "model": setup.model, "max_tokens": most, "system": system, "messages": messages, "tools": tools })
}

fn message(turn: &Turn) -> Option<Value> {
    let (role, content) =
        match turn {
            Turn::User(text) => ("user", json!(text)),
            Turn::Assistant { text, calls } => {
                let mut blocks = Vec::new();
                if !text.is_empty() {
                    blocks.push(json!({ "type": "text", "text": text }));
                }
                blocks.extend(calls.iter().map(
                    |call| json!({ "type": "tool_use", "id": call.id, "name": call.tool, "input": call.object() }),
                ));
                // The protocol refuses an empty message.
                ("assistant", (!blocks.is_empty()).then(|| json!(blocks))?)
            }
            Turn::Results(results) => {
                let block = |result: &super::conversation::ToolResult| {
                    json!({ "type": "tool_result", "tool_use_id": result.id, "content": result.output,
                    "is_error": result.failed })
                };
                ("user", results.iter().map(block).collect())
            }
        };
    Some(json!({ "role": role, "content": content }))
}

pub(super) fn read(body: &Value) -> Option<ChatAnswer> {
    let content = body["content"].as_array()?;
    let mut answer = ChatAnswer { usage: usage(&body["usage"]), ..ChatAnswer::default() };
    answer.stopped = match body["stop_reason"].as_str() {
        Some("max_tokens") => Some(StopReason::MaxTokens),
        Some("refusal") => Some(StopReason::Refusal),
        Some("model_context_window_exceeded") => Some(StopReason::ContextWindow),
        Some("end_turn" | "stop_sequence" | "tool_use") => None,
        // `pause_turn`, for one: the answer is not whole.
        _ => return None,
    };
    for block in content {
        match block["type"].as_str() {
            Some("text") => answer.text.extend(text_of(&block["text"])),
            Some("thinking") => answer.thought = text_of(&block["thinking"]),
            Some("tool_use") => {
                answer.calls.push(ChatCall::of_text(&block["id"], &block["name"], &block["input"], Value::Null));
            }
            _ => {}
        }
    }
    Some(answer)
}

fn usage(usage: &Value) -> Option<Usage> {
    let cache = |key: &str| usage[key].as_u64().unwrap_or(0);
    let (read, written) = (cache("cache_read_input_tokens"), cache("cache_creation_input_tokens"));
    Some(Usage {
        input_tokens: usage["input_tokens"].as_u64()?.saturating_add(read).saturating_add(written),
        cached_input_tokens: read,
        cache_write_input_tokens: written,
        output_tokens: usage["output_tokens"].as_u64()?,
        ..Usage::default()
    })
}
