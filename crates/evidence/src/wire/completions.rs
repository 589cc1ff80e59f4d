//! Chat Completions: <https://platform.openai.com/docs/api-reference/chat>, with `reasoning_content` as others have it.

use serde_json::{Value, json};

use super::{Item, ModelExchange, arguments, array, string, texts};
use crate::trace::{StopReason, Usage};

/// Keys under which providers say what the model thinks.
const THOUGHTS: [&str; 2] = ["reasoning_content", "reasoning"];

pub(super) fn read_request(body: &Value, found: &mut ModelExchange) {
    found.add_tools(array(&body["tools"]).iter().map(|tool| &tool["function"]["name"]));
    for message in array(&body["messages"]) {
        let content = texts(&message["content"]);
        match message["role"].as_str() {
            Some("system" | "developer") => found.instructions.extend(content),
            Some("user") => found.history.extend(content.into_iter().map(Item::User)),
            Some("tool" | "function") => {
                let id = string(&message["tool_call_id"]);
                found.history.push(Item::Answered { id, output: content.join("\n"), failed: None });
            }
            Some("assistant") => {
                let said = items(message);
                found.history.extend(said);
            }
            _ => found.not_known(&message["role"]),
        }
    }
}

/// What a message of the model says.
fn items(message: &Value) -> Vec<Item> {
    let thoughts = THOUGHTS.iter().filter_map(|key| message[*key].as_str()).filter(|text| !text.is_empty());
    let mut items: Vec<Item> = thoughts.take(1).map(|text| Item::Thought(text.to_owned())).collect();
    items.extend(texts(&message["content"]).into_iter().filter(|text| !text.is_empty()).map(Item::Said));
    items.extend(array(&message["tool_calls"]).iter().map(|call| {
        let function = &call["function"];
        Item::Called {
            id: string(&call["id"]),
            tool: string(&function["name"]),
            input: arguments(&function["arguments"]),
        }
    }));
    items
}

pub(super) fn read_whole(completion: &Value, found: &mut ModelExchange) {
    if let Some(message) = completion["error"]["message"].as_str() {
        found.error = Some(message.to_owned());
        return;
    }
    let choice = &completion["choices"][0];
    found.answer = items(&choice["message"]);
    end(completion, choice, found);
}

/// Notes the end of a choice, if this has one, and the tokens.
fn end(completion: &Value, choice: &Value, found: &mut ModelExchange) {
    found.model = completion["model"].as_str().map(str::to_owned).or(found.model.take());
    found.usage = usage(&completion["usage"]).or(found.usage.take());
    if let Some(reason) = choice["finish_reason"].as_str() {
        found.is_whole = true;
        found.stopped = match reason {
            "length" => Some(StopReason::MaxTokens),
            "content_filter" => Some(StopReason::Refusal),
            _ => None,
        };
    }
}

fn usage(usage: &Value) -> Option<Usage> {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    Some(Usage {
        input_tokens: usage["prompt_tokens"].as_u64()?,
        cached_input_tokens: count(&usage["prompt_tokens_details"]["cached_tokens"]),
        output_tokens: count(&usage["completion_tokens"]),
        reasoning_output_tokens: count(&usage["completion_tokens_details"]["reasoning_tokens"]),
        ..Usage::default()
    })
}

pub(super) fn read_events(events: impl Iterator<Item = Option<Value>>, found: &mut ModelExchange) {
    let mut message = json!({ "tool_calls": [] });
    for event in events {
        let Some(event) = event else {
            found.not_known(&json!("an event that is no JSON"));
            continue;
        };
        if event == "[DONE]" {
            continue;
        }
        if let Some(error) = event["error"]["message"].as_str() {
            found.error = Some(error.to_owned());
        }
        let choice = &event["choices"][0];
        add_delta(&choice["delta"], &mut message);
        end(&event, choice, found);
    }
    found.answer = items(&message);
}

/// Adds a part of a message to what came before it.
fn add_delta(delta: &Value, message: &mut Value) {
    for key in THOUGHTS.into_iter().chain(["content"]) {
        append(&mut message[key], &delta[key]);
    }
    for (place, part) in array(&delta["tool_calls"]).iter().enumerate() {
        // Some providers leave the index out where each part is whole.
        let at = part["index"].as_u64().map_or(place, |at| usize::try_from(at).unwrap_or(usize::MAX));
        let Some(calls) = message["tool_calls"].as_array_mut() else { return };
        // The calls of an answer come in order.
        if at >= calls.len() {
            calls.push(json!({ "function": {} }));
        }
        let Some(call) = calls.get_mut(at) else { continue };
        append(&mut call["id"], &part["id"]);
        for key in ["name", "arguments"] {
            append(&mut call["function"][key], &part["function"][key]);
        }
    }
}

fn append(text: &mut Value, more: &Value) {
    if let Some(more) = more.as_str() {
        *text = Value::String(string(text) + more);
    }
}
