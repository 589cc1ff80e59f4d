//! The responses of `OpenAI`: `POST /responses`. Each request has the whole conversation, so that the provider stores none.

use serde_json::{Value, json};

use super::super::setup::ChatSetup;
use super::conversation::{ChatAnswer, ChatCall, Turn, text_of, usage};
use super::tools::Tool;
use crate::trace::StopReason;

pub(super) fn request(setup: &ChatSetup, system: &str, turns: &[Turn], tools: &[Tool]) -> Value {
    let mut input = Vec::new();
    for turn in turns {
        match turn {
            Turn::User(text) => input.push(json!({ "role": "user", "content": text })),
            Turn::Assistant { text, calls } => {
                if !text.is_empty() {
                    input.push(json!({ "role": "assistant", "content": text }));
                }
                input.extend(calls.iter().map(|call| {
                    json!({ "type": "function_call", "call_id": call.id, "name": call.tool,
                        "arguments": call.object().to_string() })
                }));
            }
            Turn::Results(results) => input.extend(results.iter().map(
                |result| json!({ "type": "function_call_output", "call_id": result.id, "output": result.output }),
            )),
        }
    }
    let function = |tool: &Tool| {
        json!({ "type": "function", "name": tool.name, "description": tool.about, "parameters": tool.schema(),
            "strict": true })
    };
    let tools: Vec<Value> = tools.iter().map(function).collect();
    let mut body =
        json!({ "model": setup.model, "instructions": system, "input": input, "tools": tools, "store": false });
    if let Some(most) = setup.max_tokens {
        body["max_output_tokens"] = json!(most);
    }
    body
}

pub(super) fn read(body: &Value) -> Option<ChatAnswer> {
    let output = body["output"].as_array()?;
    let mut answer =
        ChatAnswer { usage: usage(&body["usage"], ["input_tokens", "output_tokens"]), ..ChatAnswer::default() };
    answer.stopped = match body["incomplete_details"]["reason"].as_str() {
        Some("max_output_tokens") => Some(StopReason::MaxTokens),
        Some("content_filter") => Some(StopReason::Refusal),
        _ if body["status"].is_null() || body["status"] == "completed" => None,
        // `failed`, for one: the answer is not whole.
        _ => return None,
    };
    let mut thoughts = Vec::new();
    for item in output {
        let parts = |key: &str| item[key].as_array().map_or(&[][..], Vec::as_slice);
        match item["type"].as_str() {
            Some("message") => {
                for part in parts("content") {
                    answer.text.extend(text_of(&part["text"]).or_else(|| text_of(&part["refusal"])));
                    if part["type"] == "refusal" {
                        answer.stopped = Some(StopReason::Refusal);
                    }
                }
            }
            Some("reasoning") => thoughts.extend(parts("summary").iter().filter_map(|part| text_of(&part["text"]))),
            Some("function_call") => {
                answer.calls.push(ChatCall::of_text(&item["call_id"], &item["name"], &item["arguments"], Value::Null));
            }
            _ => {}
        }
    }
    answer.thought = Some(thoughts.join("\n")).filter(|text| !text.is_empty());
    Some(answer)
}
