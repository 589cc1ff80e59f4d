//! Messages: <https://docs.anthropic.com/en/api/messages>, and its streams.

use serde_json::{Value, json};

use super::{Item, ModelExchange, array, string, texts};
use crate::trace::{StopReason, Usage};

pub(super) fn read_request(body: &Value, found: &mut ModelExchange) {
    found.instructions = texts(&body["system"]);
    found.add_tools(array(&body["tools"]).iter().map(|tool| &tool["name"]));
    for message in array(&body["messages"]) {
        let content = &message["content"];
        let whole = json!({ "type": "text", "text": content });
        let blocks = if content.is_string() { std::slice::from_ref(&whole) } else { array(content) };
        match message["role"].as_str() {
            Some("system") => found.instructions.extend(texts(content)),
            role => {
                for block in blocks {
                    let item = block_of(block, role == Some("assistant"));
                    add(item, block, found, |found| &mut found.history);
                }
            }
        }
    }
}

/// What a block says, if anything; `None` if its kind is not known.
fn block_of(block: &Value, of_model: bool) -> Option<Vec<Item>> {
    let text = || string(&block["text"]);
    Some(vec![match block["type"].as_str()? {
        "text" if of_model => Item::Said(text()),
        "text" => Item::User(text()),
        "thinking" => Item::Thought(string(&block["thinking"])),
        "tool_use" | "server_tool_use" | "mcp_tool_use" => {
            Item::Called { id: string(&block["id"]), tool: string(&block["name"]), input: block["input"].clone() }
        }
        "tool_result" | "web_search_tool_result" | "web_fetch_tool_result" | "mcp_tool_result" => Item::Answered {
            id: string(&block["tool_use_id"]),
            output: texts(&block["content"]).join("\n"),
            failed: block["is_error"].as_bool(),
        },
        "redacted_thinking" | "image" | "document" => return Some(Vec::new()),
        _ => return None,
    }])
}

fn add(
    items: Option<Vec<Item>>,
    block: &Value,
    found: &mut ModelExchange,
    list: fn(&mut ModelExchange) -> &mut Vec<Item>,
) {
    match items {
        Some(items) => list(found).extend(items),
        None => found.not_known(&block["type"]),
    }
}

pub(super) fn read_whole(message: &Value, found: &mut ModelExchange) {
    if message["type"] == "error" {
        found.error = Some(string(&message["error"]["message"]));
        return;
    }
    begin(message, found);
    for block in array(&message["content"]) {
        add(block_of(block, true), block, found, |found| &mut found.answer);
    }
    end(&message["stop_reason"], &message["usage"], found);
    found.is_whole = message["stop_reason"].is_string();
}

fn begin(message: &Value, found: &mut ModelExchange) {
    found.model = message["model"].as_str().map(str::to_owned).or(found.model.take());
    found.usage = usage(&message["usage"]);
}

fn end(reason: &Value, usage: &Value, found: &mut ModelExchange) {
    found.stopped = match reason.as_str() {
        Some("max_tokens") => Some(StopReason::MaxTokens),
        Some("refusal") => Some(StopReason::Refusal),
        Some("model_context_window_exceeded") => Some(StopReason::ContextWindow),
        _ => None,
    };
    // The last event has the whole count of output tokens, and may have the others.
    if let (Some(all), Some(output)) = (&mut found.usage, usage["output_tokens"].as_u64()) {
        all.output_tokens = output;
    }
}

fn usage(usage: &Value) -> Option<Usage> {
    let count = |key: &str| usage[key].as_u64();
    let fresh = count("input_tokens")?;
    let (cached, written) =
        (count("cache_read_input_tokens").unwrap_or(0), count("cache_creation_input_tokens").unwrap_or(0));
    Some(Usage {
        input_tokens: fresh.saturating_add(cached).saturating_add(written),
        cached_input_tokens: cached,
        cache_write_input_tokens: written,
        output_tokens: count("output_tokens").unwrap_or(0),
        ..Usage::default()
    })
}

pub(super) fn read_events(events: impl Iterator<Item = Option<Value>>, found: &mut ModelExchange) {
    let mut blocks: Vec<(u64, Value, String)> = Vec::new();
    for event in events {
        let Some(event) = event else {
            found.not_known(&json!("an event that is no JSON"));
            continue;
        };
        let index = event["index"].as_u64().unwrap_or_default();
        match event["type"].as_str() {
            Some("message_start") => begin(&event["message"], found),
            Some("content_block_start") => blocks.push((index, event["content_block"].clone(), String::new())),
            Some("content_block_delta") => {
                let delta = &event["delta"];
                let Some((_, block, input)) = blocks.iter_mut().rfind(|(at, ..)| *at == index) else {
                    found.not_known(&json!("a part of a block that did not begin"));
                    continue;
                };
                match delta["type"].as_str() {
                    Some("text_delta") => append(&mut block["text"], &delta["text"]),
                    Some("thinking_delta") => append(&mut block["thinking"], &delta["thinking"]),
                    Some("input_json_delta") => input.push_str(delta["partial_json"].as_str().unwrap_or_default()),
                    Some("signature_delta" | "citations_delta") => {}
                    _ => found.not_known(&delta["type"]),
                }
            }
            Some("message_delta") => end(&event["delta"]["stop_reason"], &event["usage"], found),
            Some("message_stop") => found.is_whole = true,
            Some("error") => found.error = Some(string(&event["error"]["message"])),
            Some("ping" | "content_block_stop") => {}
            _ => found.not_known(&event["type"]),
        }
    }
    for (_, mut block, input) in blocks {
        if !input.is_empty() {
            block["input"] = super::arguments(&Value::String(input));
        }
        add(block_of(&block, true), &block, found, |found| &mut found.answer);
    }
}

fn append(text: &mut Value, more: &Value) {
    *text = Value::String(string(text) + more.as_str().unwrap_or_default());
}
