//! `OpenAI`'s responses protocol as codex speaks it: `POST /v1/responses`, answered with server-sent events, or with one
//! JSON object for a request that does not ask for a stream.

use serde_json::{Value, json};

use super::HttpReply;
use super::{AnswerFault, AnswerPart, MODEL, ScriptedRequest, WireProtocol, array, is_injected, string, texts};

/// How the programs mark the user messages that they write themselves.
const INJECTED: [&str; 8] = [
    "<environment_context>",
    "# AGENTS.md instructions",
    "<user_instructions>",
    "<skill>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<user_shell_command>",
    "<skill-context ",
];

/// Reads the history: everything after the last real user message belongs to the present task.
pub fn read(body: Value) -> ScriptedRequest {
    let mut system = vec![string(&body["instructions"])];
    let mut prompt = String::new();
    let mut tool_results = Vec::new();
    for item in array(&body["input"]) {
        let kind = item["type"].as_str().unwrap_or("message");
        if kind.ends_with("_output") {
            tool_results.push(texts(&item["output"]).join("\n"));
        } else if kind == "message" && item["role"] != "assistant" {
            let (own, users): (Vec<_>, Vec<_>) = texts(&item["content"])
                .into_iter()
                .partition(|text| item["role"] != "user" || is_injected(text, &INJECTED));
            system.extend(own.into_iter().map(str::to_owned));
            if !users.is_empty() {
                without_time(&users.join("\n")).clone_into(&mut prompt);
                tool_results.clear();
            }
        }
    }
    ScriptedRequest {
        protocol: WireProtocol::Responses,
        prompt,
        step: tool_results.len(),
        tools: tools(&body).into_iter().map(|tool| tool.flat).collect(),
        system: system.join("\n"),
        tool_results,
        model: string(&body["model"]),
        body,
    }
}

/// What the user wrote: Copilot puts the time before it.
fn without_time(text: &str) -> &str {
    let rest = text.strip_prefix("<current_datetime>").and_then(|text| text.split_once("</current_datetime>"));
    rest.map_or(text, |(_, text)| text.trim_start())
}

/// The call that runs `command` under whichever shell tool this request offers. Which one of codex's it is depends on
/// the version and on what codex believes of the model; the last is Copilot's.
pub fn shell(body: &Value, command: &str) -> (String, Value) {
    let offered = tools(body);
    let has = |name: &str| offered.iter().any(|tool| tool.flat == name);
    if has("shell_command") {
        ("shell_command".to_owned(), json!({ "command": command }))
    } else if has("shell") {
        let words = ["bash", "-lc", command];
        ("shell".to_owned(), json!({ "command": words }))
    } else if has("exec_command") {
        ("exec_command".to_owned(), json!({ "cmd": command }))
    } else {
        ("bash".to_owned(), json!({ "command": command, "description": "A command of the script" }))
    }
}

/// A whole answer.
pub fn write(request: &ScriptedRequest, parts: &[AnswerPart], fault: Option<AnswerFault>) -> HttpReply {
    // Ids only have to differ within one conversation, which grows with every turn.
    let turn = array(&request.body["input"]).len();
    let id = format!("resp_{turn}");
    let mut stream = vec![json!({ "type": "response.created",
        "response": { "id": id, "object": "response", "status": "in_progress", "model": MODEL, "output": [] } })];
    let offered = tools(&request.body);
    let mut output = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let item = item(part, &offered, turn, index);
        let mut added = item.clone();
        added["status"] = json!("in_progress");
        if let AnswerPart::Text(text) = part {
            added["content"] = json!([]);
            stream.push(json!({ "type": "response.output_item.added", "output_index": index, "item": added }));
            stream.push(json!({ "type": "response.output_text.delta", "item_id": item["id"],
                "output_index": index, "content_index": 0, "delta": text }));
        } else {
            stream.push(json!({ "type": "response.output_item.added", "output_index": index, "item": added }));
        }
        stream.push(json!({ "type": "response.output_item.done", "output_index": index, "item": item }));
        output.push(item);
    }
    let usage = request.usage(parts);
    // Cached tokens are part of this vendor's input tokens.
    let input = usage.fresh + usage.cached;
    // A refusal by the provider's filter, or the end of what may be written, is an answer that is not complete.
    let incomplete = match fault {
        Some(AnswerFault::Refusal) => Some("content_filter"),
        Some(AnswerFault::MaxTokens) => Some("max_output_tokens"),
        _ => None,
    };
    let status = if incomplete.is_some() { "incomplete" } else { "completed" };
    let answer = json!({
        "id": id, "object": "response", "status": status, "model": MODEL, "output": output,
        "incomplete_details": incomplete.map(|reason| json!({ "reason": reason })),
        "usage": {
            "input_tokens": input, "input_tokens_details": { "cached_tokens": usage.cached },
            "output_tokens": usage.output, "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": input + usage.output,
        } });
    if request.body["stream"] != true {
        return HttpReply::whole(&answer, fault);
    }
    stream.push(json!({ "type": format!("response.{status}"), "response": answer }));
    HttpReply::events(&stream, fault)
}

/// An HTTP error as the vendor words it.
pub fn error(status: u16) -> HttpReply {
    let (kind, code, message) = match status {
        401 => (
            "invalid_request_error",
            json!("invalid_api_key"),
            "Incorrect API key provided: stand-in. You can find your API key at https://platform.openai.com/account/api-keys.",
        ),
        429 => (
            "tokens",
            json!("rate_limit_exceeded"),
            "Rate limit reached for stand-in on tokens per min (TPM): Limit 30000, Used 30000, Requested 1000. Please try again in 2s.",
        ),
        400..=499 => ("invalid_request_error", Value::Null, "The script refuses this request."),
        _ => ("server_error", Value::Null, "The server had an error while processing your request. Sorry about that!"),
    };
    HttpReply::json(status, &json!({ "error": { "message": message, "type": kind, "param": null, "code": code } }))
}

/// A tool on offer. A function in a namespace is called by both names; a custom tool takes bare text.
struct ToolOffer {
    flat: String,
    name: String,
    namespace: Option<String>,
    custom: bool,
}

fn tools(body: &Value) -> Vec<ToolOffer> {
    let mut found = Vec::new();
    for tool in array(&body["tools"]) {
        let name = string(&tool["name"]);
        if tool["type"] == "namespace" {
            found.extend(array(&tool["tools"]).iter().map(|inner| ToolOffer {
                flat: format!("{name}__{}", string(&inner["name"])),
                name: string(&inner["name"]),
                namespace: Some(name.clone()),
                custom: inner["type"] == "custom",
            }));
        } else {
            // A tool that the vendor runs itself (`web_search`) has a type and no name.
            let name = if name.is_empty() { string(&tool["type"]) } else { name };
            found.push(ToolOffer { flat: name.clone(), name, namespace: None, custom: tool["type"] == "custom" });
        }
    }
    found
}

fn item(part: &AnswerPart, offered: &[ToolOffer], turn: usize, index: usize) -> Value {
    let (tool, input) = match part {
        AnswerPart::Text(text) => {
            return json!({ "type": "message", "id": format!("msg_{turn}_{index}"), "role": "assistant",
                "status": "completed",
                "content": [{ "type": "output_text", "text": text, "annotations": [] }] });
        }
        AnswerPart::Thought(text) => {
            return json!({ "type": "reasoning", "id": format!("rs_{turn}_{index}"), "status": "completed",
                "summary": [{ "type": "summary_text", "text": text }] });
        }
        AnswerPart::Call { tool, input } => (tool, input),
    };
    let known = offered.iter().find(|candidate| candidate.flat == *tool);
    let mut item = json!({ "status": "completed", "call_id": format!("call_{turn}_{index}"),
        "name": known.map_or(tool, |known| &known.name) });
    if known.is_some_and(|known| known.custom) {
        item["type"] = json!("custom_tool_call");
        item["id"] = json!(format!("ctc_{turn}_{index}"));
        item["input"] = json!(input.as_str().map_or(input.to_string(), str::to_owned));
    } else if tool == "tool_search" {
        // Run by codex, and yet a kind of its own.
        item["type"] = json!("tool_search_call");
        item["execution"] = json!("client");
        item["arguments"] = input.clone();
    } else {
        item["type"] = json!("function_call");
        item["id"] = json!(format!("fc_{turn}_{index}"));
        item["arguments"] = json!(input.to_string());
    }
    if let Some(namespace) = known.and_then(|known| known.namespace.as_ref()) {
        item["namespace"] = json!(namespace);
    }
    item
}
