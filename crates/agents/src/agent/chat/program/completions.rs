//! The chat completions of `OpenAI`, which most servers have: `POST /chat/completions`.

use serde_json::{Value, json};

use super::super::setup::ChatSetup;
use super::conversation::{ChatAnswer, ChatCall, ToolResult, Turn, text_of, usage};
use super::tools::Tool;
use crate::trace::StopReason;

/// The name of the action that ends the work on a message.
pub(super) const ANSWER: &str = "answer";

pub(super) fn request(setup: &ChatSetup, system: &str, turns: &[Turn], tools: &[Tool]) -> Value {
    let mut messages = vec![json!({ "role": "system", "content": system })];
    for turn in turns {
        match turn {
            Turn::User(text) => messages.push(json!({ "role": "user", "content": text })),
            Turn::Assistant { text, calls } => messages.push(assistant(setup, text, calls)),
            Turn::Results(results) => messages.extend(results.iter().map(|result| given(setup, result))),
        }
    }
    let mut body = json!({ "model": setup.model, "messages": messages });
    if !setup.has_tools {
        let schema = json!({ "name": "action", "strict": true, "schema": action(tools) });
        body["response_format"] = json!({ "type": "json_schema", "json_schema": schema });
    } else if !tools.is_empty() {
        let function =
            |tool: &Tool| json!({ "name": tool.name, "description": tool.about, "parameters": tool.schema() });
        body["tools"] = tools.iter().map(|tool| json!({ "type": "function", "function": function(tool) })).collect();
    }
    if let Some(most) = setup.max_tokens {
        // OpenAI's newer models refuse the older key, and many other servers know no other.
        let key = if setup.base_url.contains("//api.openai.com/") { "max_completion_tokens" } else { "max_tokens" };
        body[key] = json!(most);
    }
    body
}

fn assistant(setup: &ChatSetup, text: &str, calls: &[ChatCall]) -> Value {
    if !setup.has_tools {
        let action = match calls {
            [call, ..] => {
                let mut action = call.object();
                action["tool"] = json!(call.tool);
                action
            }
            [] => json!({ "tool": ANSWER, "text": text }),
        };
        return json!({ "role": "assistant", "content": json!({ "action": action }).to_string() });
    }
    let mut message = json!({ "role": "assistant", "content": text });
    if !calls.is_empty() {
        let sent = |call: &ChatCall| {
            let mut raw = call.raw.clone();
            raw["id"] = json!(call.id);
            raw["type"] = json!("function");
            raw["function"] = json!({ "name": call.tool, "arguments": call.object().to_string() });
            raw
        };
        message["tool_calls"] = calls.iter().map(sent).collect();
    }
    message
}

fn given(setup: &ChatSetup, result: &ToolResult) -> Value {
    if setup.has_tools {
        json!({ "role": "tool", "tool_call_id": result.id, "content": result.output })
    } else {
        json!({ "role": "user", "content": format!("Result of the action:\n{}", result.output) })
    }
}

/// The schema of an answer without tools: one action.
fn action(tools: &[Tool]) -> Value {
    let end = Tool { name: ANSWER, about: "", properties: vec![("text", "the answer to the user", Vec::new())] };
    let one = |tool: &Tool| {
        let mut schema = tool.schema();
        schema["properties"]["tool"] = json!({ "type": "string", "enum": [tool.name] });
        if let Some(required) = schema["required"].as_array_mut() {
            required.insert(0, json!("tool"));
        }
        schema
    };
    let all: Vec<Value> = tools.iter().chain([&end]).map(one).collect();
    json!({
        "type": "object",
        "properties": { "action": { "anyOf": all } },
        "required": ["action"],
        "additionalProperties": false,
    })
}

pub(super) fn read(setup: &ChatSetup, body: &Value) -> Option<ChatAnswer> {
    let choice = body["choices"].get(0)?;
    let message = choice.get("message").filter(|message| message.is_object())?;
    let stopped = match choice["finish_reason"].as_str() {
        Some("length") => Some(StopReason::MaxTokens),
        Some("content_filter") => Some(StopReason::Refusal),
        // Some local servers give no reason.
        None | Some("stop" | "tool_calls" | "function_call") => {
            message["refusal"].is_string().then_some(StopReason::Refusal)
        }
        // `error`, for one: the answer is not whole.
        Some(_) => return None,
    };
    let said = content(&message["content"]).or_else(|| text_of(&message["refusal"])).unwrap_or_default();
    let calls = match &message["tool_calls"] {
        Value::Null => &[][..],
        calls => calls.as_array()?,
    };
    let call = |call: &Value| {
        let function = &call["function"];
        ChatCall::of_text(&call["id"], &function["name"], &function["arguments"], call.clone())
    };
    let mut answer = ChatAnswer {
        text: said,
        thought: text_of(&message["reasoning_content"]).or_else(|| text_of(&message["reasoning"])),
        calls: calls.iter().map(call).collect(),
        usage: usage(&body["usage"], ["prompt_tokens", "completion_tokens"]),
        stopped,
    };
    // An answer that was cut is not a whole action.
    if !setup.has_tools && answer.stopped.is_none() {
        take_action(&mut answer)?;
    }
    Some(answer)
}

/// A text, or the texts of its parts.
fn content(content: &Value) -> Option<String> {
    let parts = || Some(content.as_array()?.iter().filter_map(|part| part["text"].as_str()).collect::<String>());
    text_of(content).or_else(parts).filter(|text| !text.is_empty())
}

/// Reads the action that an answer is. `None` if it is none: the server does not keep to the schema.
fn take_action(answer: &mut ChatAnswer) -> Option<()> {
    let mut written = serde_json::from_str::<Value>(&answer.text).ok()?;
    let mut action = written.get_mut("action")?.take();
    let tool = action.get("tool").and_then(Value::as_str).map(str::to_owned)?;
    answer.text = String::new();
    if tool == ANSWER {
        answer.text = text_of(&action["text"]).unwrap_or_default();
    } else {
        if let Some(map) = action.as_object_mut() {
            map.remove("tool");
        }
        answer.calls = vec![ChatCall::of_text(&Value::Null, &json!(tool), &action, Value::Null)];
    }
    Some(())
}
