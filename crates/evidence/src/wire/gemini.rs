//! Gemini's `generateContent`: ai.google.dev/api/generate-content. A call has no id: the n-th answer to a tool is of its n-th call.

use serde_json::{Value, json};

use super::{Item, ModelExchange, array, string, texts};
use crate::trace::{StopReason, Usage};

pub(super) fn read_request(body: &Value, found: &mut ModelExchange) {
    // Code Assist wraps the request.
    let body = if body["request"].is_object() { &body["request"] } else { body };
    found.instructions = texts(&body["systemInstruction"]["parts"]);
    let tools = array(&body["tools"]).iter().flat_map(|tool| array(&tool["functionDeclarations"]));
    found.add_tools(tools.map(|function| &function["name"]));
    for content in array(&body["contents"]) {
        let of_model = content["role"] == "model";
        for part in array(&content["parts"]) {
            add(part, of_model, found, |found| &mut found.history);
        }
    }
}

fn add(part: &Value, of_model: bool, found: &mut ModelExchange, list: fn(&mut ModelExchange) -> &mut Vec<Item>) {
    let has = |key: &str| part[key].is_object();
    let id = |call: &Value| string(&call["id"]);
    let item = if let Some(text) = part["text"].as_str() {
        match (part["thought"] == true, of_model) {
            (true, _) => Item::Thought(text.to_owned()),
            (false, true) => Item::Said(text.to_owned()),
            (false, false) => Item::User(text.to_owned()),
        }
    } else if has("functionCall") {
        let call = &part["functionCall"];
        Item::Called { id: id(call), tool: string(&call["name"]), input: call["args"].clone() }
    } else if has("functionResponse") {
        let answer = &part["functionResponse"];
        let response = &answer["response"];
        let text = ["output", "error", "result"].iter().find_map(|key| response[*key].as_str());
        let output = text.map_or_else(|| response.to_string(), str::to_owned);
        Item::Answered { id: id(answer), output, failed: response["error"].is_string().then_some(true) }
    } else if ["inlineData", "fileData", "thoughtSignature"].iter().any(|key| !part[*key].is_null()) {
        return;
    } else {
        let kind = part.as_object().and_then(|part| part.keys().next()).cloned();
        return found.not_known(&json!(kind));
    };
    list(found).push(item);
}

pub(super) fn read_parts(parts: impl Iterator<Item = Option<Value>>, found: &mut ModelExchange) {
    for part in parts {
        let Some(part) = part else {
            found.not_known(&json!("an event that is no JSON"));
            continue;
        };
        let part = if part["response"].is_object() { &part["response"] } else { &part };
        let candidate = &part["candidates"][0];
        for piece in array(&candidate["content"]["parts"]) {
            add_piece(piece, found);
        }
        found.model = part["modelVersion"].as_str().map(str::to_owned).or(found.model.take());
        found.usage = usage(&part["usageMetadata"]).or(found.usage.take());
        found.error = part["error"]["message"].as_str().map(str::to_owned).or(found.error.take());
        let refused = part["promptFeedback"]["blockReason"].is_string();
        if let Some(reason) = candidate["finishReason"].as_str().or(refused.then_some("SAFETY")) {
            found.is_whole = true;
            found.stopped = match reason {
                "MAX_TOKENS" => Some(StopReason::MaxTokens),
                "SAFETY" | "PROHIBITED_CONTENT" | "BLOCKLIST" | "RECITATION" | "SPII" => Some(StopReason::Refusal),
                _ => None,
            };
        }
    }
}

/// Adds a piece of the answer: a text that goes on is one with what came before it.
fn add_piece(piece: &Value, found: &mut ModelExchange) {
    let is_thought = piece["thought"] == true;
    match (found.answer.last_mut(), piece["text"].as_str()) {
        (Some(Item::Said(text)), Some(more)) if !is_thought => text.push_str(more),
        (Some(Item::Thought(text)), Some(more)) if is_thought => text.push_str(more),
        _ => add(piece, true, found, |found| &mut found.answer),
    }
}

fn usage(usage: &Value) -> Option<Usage> {
    let count = |key: &str| usage[key].as_u64().unwrap_or(0);
    let thoughts = count("thoughtsTokenCount");
    Some(Usage {
        input_tokens: usage["promptTokenCount"].as_u64()?,
        cached_input_tokens: count("cachedContentTokenCount"),
        // Unlike others, the candidates' tokens are without the thoughts'.
        output_tokens: count("candidatesTokenCount").saturating_add(thoughts),
        reasoning_output_tokens: thoughts,
        ..Usage::default()
    })
}
