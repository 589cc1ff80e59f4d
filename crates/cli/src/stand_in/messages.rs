//! Anthropic's messages protocol as Claude Code speaks it: `POST /v1/messages?beta=true`, answered with
//! server-sent events, or with one JSON object where the request does not ask for a stream.

use serde_json::{Value, json};

use super::HttpReply;
use super::{AnswerFault, AnswerPart, MODEL, ScriptedRequest, WireProtocol, array, is_injected, string, texts};

/// How claude marks the user texts that it writes itself: reminders and the body of a skill that was launched.
const INJECTED: [&str; 2] = ["<system-reminder>", "Base directory for this skill:"];

/// Reads the history: everything after the last real user message belongs to the present task.
pub fn read(body: Value) -> ScriptedRequest {
    let mut system: Vec<String> = texts(&body["system"]).into_iter().map(str::to_owned).collect();
    let mut prompt = String::new();
    let mut tool_results = Vec::new();
    for message in array(&body["messages"]) {
        let content = &message["content"];
        match message["role"].as_str() {
            Some("system") => system.extend(texts(content).into_iter().map(str::to_owned)),
            Some("user") => {
                let results: Vec<_> = array(content)
                    .iter()
                    .filter(|block| block["type"] == "tool_result")
                    .map(|block| texts(&block["content"]).join("\n"))
                    .collect();
                // Text next to a tool result is the program's comment on it, never a new task.
                let (own, users): (Vec<_>, Vec<_>) =
                    texts(content).into_iter().partition(|text| !results.is_empty() || is_injected(text, &INJECTED));
                system.extend(own.into_iter().map(str::to_owned));
                tool_results.extend(results);
                if !users.is_empty() {
                    prompt = typed(&users.join("\n"));
                    tool_results.clear();
                }
            }
            _ => {}
        }
    }
    ScriptedRequest {
        protocol: WireProtocol::Messages,
        prompt,
        step: tool_results.len(),
        tools: array(&body["tools"]).iter().map(|tool| string(&tool["name"])).collect(),
        system: system.join("\n"),
        tool_results,
        model: string(&body["model"]),
        body,
    }
}

/// What the user typed: claude rewrites `/greeting Ada` into tags, with the skill's body as a text of its own.
fn typed(text: &str) -> String {
    let tag = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0)
    };
    match tag("command-name") {
        Some(name) if text.starts_with("<command-") => {
            let args = tag("command-args").unwrap_or_default();
            format!("{name} {args}").trim_end().to_owned()
        }
        _ => text.to_owned(),
    }
}

/// The answer to a request that is not the task's: unless `CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC` is set, claude
/// also has a title for the session written, at the same time as the task's first request. Scripts never see it.
pub fn side_answer(request: &ScriptedRequest) -> Option<Vec<AnswerPart>> {
    let schema = &request.body["output_config"]["format"]["schema"]["properties"];
    let title = request.tools.is_empty() && schema["title"].is_object();
    title.then(|| vec![AnswerPart::Text(r#"{"title":"A scripted session"}"#.to_owned())])
}

/// The call that runs `command`, by the shell tool that is offered: those of OpenCode and Qwen Code, else that of Claude Code.
pub fn shell(body: &Value, command: &str) -> (String, Value) {
    let input = json!({ "command": command, "description": "A command of the script" });
    let offers = |name: &&str| array(&body["tools"]).iter().any(|tool| tool["name"] == *name);
    (["bash", "run_shell_command"].into_iter().find(offers).unwrap_or("Bash").to_owned(), input)
}

/// A whole answer.
pub fn write(request: &ScriptedRequest, parts: &[AnswerPart], fault: Option<AnswerFault>) -> HttpReply {
    // Ids differ by the turn within a conversation, and by the task between those of an agent and its sub-agents.
    let task = &blake3::hash(request.prompt.as_bytes()).to_hex()[..8];
    let turn = format!("{task}_{}", array(&request.body["messages"]).len());
    let content: Vec<_> = parts
        .iter()
        .enumerate()
        .map(|(index, part)| match part {
            AnswerPart::Text(text) => json!({ "type": "text", "text": text }),
            AnswerPart::Thought(text) => json!({ "type": "thinking", "thinking": text, "signature": "stand-in" }),
            AnswerPart::Call { tool, input } => {
                json!({ "type": "tool_use", "id": format!("toolu_{turn}_{index}"), "name": tool, "input": input })
            }
        })
        .collect();
    let calls = parts.iter().any(|part| matches!(part, AnswerPart::Call { .. }));
    let stop_reason = match fault {
        Some(AnswerFault::Refusal) => "refusal",
        Some(AnswerFault::MaxTokens) => "max_tokens",
        _ if calls => "tool_use",
        _ => "end_turn",
    };
    let usage = request.usage(parts);
    // Cached tokens come on top of this vendor's input tokens.
    let usage = json!({ "input_tokens": usage.fresh, "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": usage.cached, "output_tokens": usage.output });
    let message = json!({ "id": format!("msg_{turn}"), "type": "message", "role": "assistant", "model": MODEL,
        "content": content, "stop_reason": stop_reason, "stop_sequence": null, "usage": usage });
    if request.body["stream"] == true { stream(&message, fault) } else { HttpReply::whole(&message, fault) }
}

fn stream(message: &Value, fault: Option<AnswerFault>) -> HttpReply {
    let mut start = message.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    start["usage"]["output_tokens"] = json!(1);
    let mut stream = vec![json!({ "type": "message_start", "message": start })];
    for (index, block) in array(&message["content"]).iter().enumerate() {
        let mut empty = block.clone();
        let delta = if block["type"] == "text" {
            empty["text"] = json!("");
            json!({ "type": "text_delta", "text": block["text"] })
        } else if block["type"] == "thinking" {
            empty["thinking"] = json!("");
            json!({ "type": "thinking_delta", "thinking": block["thinking"] })
        } else {
            empty["input"] = json!({});
            json!({ "type": "input_json_delta", "partial_json": block["input"].to_string() })
        };
        stream.push(json!({ "type": "content_block_start", "index": index, "content_block": empty }));
        stream.push(json!({ "type": "content_block_delta", "index": index, "delta": delta }));
        stream.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let stopped = json!({ "stop_reason": message["stop_reason"], "stop_sequence": null });
    stream.push(json!({ "type": "message_delta", "delta": stopped, "usage": message["usage"] }));
    stream.push(json!({ "type": "message_stop" }));
    HttpReply::events(&stream, fault)
}

/// An HTTP error as the vendor words it.
pub fn error(status: u16) -> HttpReply {
    let (kind, message) = match status {
        401 => ("authentication_error", "invalid x-api-key"),
        403 => ("permission_error", "Your API key does not have permission to use the specified resource."),
        404 => ("not_found_error", "model: stand-in"),
        429 => ("rate_limit_error", "This request would exceed your account's rate limit. Please try again later."),
        529 => ("overloaded_error", "Overloaded"),
        400..=499 => ("invalid_request_error", "The script refuses this request."),
        _ => ("api_error", "Internal server error"),
    };
    let error = json!({ "type": kind, "message": message });
    let body = json!({ "type": "error", "error": error, "request_id": "req_stand_in" });
    HttpReply::json(status, &body).with_header("request-id", "req_stand_in")
}
