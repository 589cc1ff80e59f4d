//! Responses: <https://platform.openai.com/docs/api-reference/responses>, and its streams.

use serde_json::{Value, json};

use super::{Item, ModelExchange, arguments, array, string, texts};
use crate::trace::{StopReason, Usage};

pub(super) fn read_request(body: &Value, found: &mut ModelExchange) {
    found.instructions = texts(&body["instructions"]);
    // A tool of OpenAI's own has only a type.
    found.add_tools(
        array(&body["tools"]).iter().map(|tool| if tool["name"].is_null() { &tool["type"] } else { &tool["name"] }),
    );
    if let Value::String(text) = &body["input"] {
        found.history.push(Item::User(text.clone()));
    }
    for item in array(&body["input"]) {
        match (item["type"].as_str(), item["role"].as_str()) {
            // Without a type, an item is a message.
            (None | Some("message"), Some("system" | "developer")) => {
                found.instructions.extend(texts(&item["content"]));
            }
            _ => add(item, found, |found| &mut found.history),
        }
    }
}

fn add(item: &Value, found: &mut ModelExchange, list: fn(&mut ModelExchange) -> &mut Vec<Item>) {
    let id = || string(&item["call_id"]);
    let call = |tool: &str, input: Value| Item::Called { id: id(), tool: tool.to_owned(), input };
    let items = match item["type"].as_str() {
        None | Some("message") => {
            let said = if item["role"] == "assistant" { Item::Said } else { Item::User };
            texts(&item["content"]).into_iter().map(said).collect()
        }
        Some("reasoning") => texts(&item["summary"]).into_iter().map(Item::Thought).collect(),
        Some("function_call") => vec![call(&string(&item["name"]), arguments(&item["arguments"]))],
        Some("custom_tool_call") => vec![call(&string(&item["name"]), item["input"].clone())],
        Some("local_shell_call") => vec![call("local_shell", item["action"].clone())],
        Some("function_call_output" | "custom_tool_call_output" | "local_shell_call_output") => {
            vec![Item::Answered { id: id(), output: output(&item["output"]), failed: None }]
        }
        Some("web_search_call") => {
            vec![Item::Called { id: string(&item["id"]), tool: "web_search".to_owned(), input: item["action"].clone() }]
        }
        Some("item_reference" | "compaction" | "compaction_trigger") => Vec::new(),
        Some(_) => {
            found.not_known(&item["type"]);
            Vec::new()
        }
    };
    list(found).extend(items);
}

/// What a tool answered: a text, or parts, or a text of JSON with the text in it.
fn output(output: &Value) -> String {
    match output {
        Value::String(text) => text.clone(),
        other => texts(other).join("\n"),
    }
}

pub(super) fn read_whole(response: &Value, found: &mut ModelExchange) {
    for item in array(&response["output"]) {
        add(item, found, |found| &mut found.answer);
    }
    end(response, found);
    found.is_whole = matches!(response["status"].as_str(), Some("completed" | "incomplete"));
}

fn end(response: &Value, found: &mut ModelExchange) {
    found.model = response["model"].as_str().map(str::to_owned).or(found.model.take());
    found.error = response["error"]["message"].as_str().map(str::to_owned).or(found.error.take());
    found.usage = usage(&response["usage"]).or(found.usage.take());
    found.stopped = match response["incomplete_details"]["reason"].as_str() {
        Some("max_output_tokens") => Some(StopReason::MaxTokens),
        Some("content_filter") => Some(StopReason::Refusal),
        _ => None,
    };
}

fn usage(usage: &Value) -> Option<Usage> {
    let count = |value: &Value| value.as_u64().unwrap_or(0);
    Some(Usage {
        input_tokens: usage["input_tokens"].as_u64()?,
        cached_input_tokens: count(&usage["input_tokens_details"]["cached_tokens"]),
        output_tokens: count(&usage["output_tokens"]),
        reasoning_output_tokens: count(&usage["output_tokens_details"]["reasoning_tokens"]),
        ..Usage::default()
    })
}

pub(super) fn read_events(events: impl Iterator<Item = Option<Value>>, found: &mut ModelExchange) {
    for event in events {
        let Some(event) = event else {
            found.not_known(&json!("an event that is no JSON"));
            continue;
        };
        match event["type"].as_str() {
            Some("response.output_item.done") => add(&event["item"], found, |found| &mut found.answer),
            Some("response.completed" | "response.incomplete") => {
                end(&event["response"], found);
                found.is_whole = true;
            }
            Some("response.failed") => end(&event["response"], found),
            Some("error") => found.error = Some(string(&event["message"])),
            // What they begin or continue is whole in the end.
            Some(kind) if kind.starts_with("response.") || kind == "keepalive" => {}
            _ if event == "[DONE]" => {}
            _ => found.not_known(&event["type"]),
        }
    }
}
