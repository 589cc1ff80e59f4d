//! `OpenAI`'s chat completions protocol: `POST /v1/chat/completions`, answered with server-sent events, or with one JSON
//! object for a request that does not ask for a stream.

use serde_json::{Value, json};

use super::HttpReply;
use super::{AnswerFault, AnswerPart, MODEL, ScriptedRequest, WireProtocol, array, is_injected, string, texts};

/// How the programs mark the user messages that they write themselves.
const INJECTED: [&str; 3] =
    ["<system-reminder>", "<environment_context>", "Skill tool loaded instructions for this request."];

/// The shell tools of the programs. The first one that a request offers runs a command.
const SHELLS: [&str; 6] = ["bash", "Bash", "Execute", "run_shell_command", "run_commands", "execute_command"];

/// Reads the history: everything after the last real user message belongs to the present task.
pub fn read(body: Value) -> ScriptedRequest {
    let mut system = Vec::new();
    let mut prompt = String::new();
    let mut tool_results = Vec::new();
    for message in array(&body["messages"]) {
        let content = texts(&message["content"]);
        match message["role"].as_str() {
            Some("tool") => tool_results.push(content.join("\n")),
            Some("user") => {
                let (own, users): (Vec<_>, Vec<_>) = content.into_iter().partition(|text| is_injected(text, &INJECTED));
                system.extend(own.into_iter().map(str::to_owned));
                if !users.is_empty() {
                    prompt = users.join("\n");
                    tool_results.clear();
                }
            }
            Some("system" | "developer") => system.extend(content.into_iter().map(str::to_owned)),
            _ => {}
        }
    }
    ScriptedRequest {
        protocol: WireProtocol::Completions,
        prompt,
        step: tool_results.len(),
        tools: array(&body["tools"]).iter().map(|tool| string(&tool["function"]["name"])).collect(),
        system: system.join("\n"),
        tool_results,
        model: string(&body["model"]),
        body,
    }
}

/// The call that runs `command`, by the shell tool that is offered.
pub fn shell(body: &Value, command: &str) -> (String, Value) {
    let offers = |name: &&str| array(&body["tools"]).iter().any(|tool| tool["function"]["name"] == *name);
    let tool = SHELLS.into_iter().find(offers).unwrap_or(SHELLS[0]);
    let mut input = json!({ "command": command, "description": "A command of the script" });
    // Vibe refuses a call with what its tool does not take.
    if tool == "bash" && offers(&"run_typescript") {
        input = json!({ "command": command });
    }
    (tool.to_owned(), input)
}

/// A whole answer.
pub fn write(request: &ScriptedRequest, parts: &[AnswerPart], fault: Option<AnswerFault>) -> HttpReply {
    // Ids only have to differ within one conversation, which grows with every turn.
    let turn = array(&request.body["messages"]).len();
    let (mut text, mut thoughts) = (String::new(), String::new());
    let mut calls = Vec::new();
    for part in parts {
        match part {
            AnswerPart::Text(said) => text.push_str(said),
            AnswerPart::Thought(thought) => thoughts.push_str(thought),
            AnswerPart::Call { tool, input } => {
                let function = json!({ "name": tool, "arguments": input.to_string() });
                let id = format!("call_{turn}_{}", calls.len());
                calls.push(json!({ "index": calls.len(), "id": id, "type": "function", "function": function }));
            }
        }
    }
    let reason = match fault {
        Some(AnswerFault::Refusal) => "content_filter",
        Some(AnswerFault::MaxTokens) => "length",
        _ if calls.is_empty() => "stop",
        _ => "tool_calls",
    };
    let usage = request.usage(parts);
    // Cached tokens are part of this vendor's input tokens.
    let input = usage.fresh + usage.cached;
    let usage = json!({ "prompt_tokens": input, "prompt_tokens_details": { "cached_tokens": usage.cached },
        "completion_tokens": usage.output, "total_tokens": input + usage.output });
    let mut message = json!({ "role": "assistant", "content": text });
    if !thoughts.is_empty() {
        message["reasoning_content"] = json!(thoughts);
    }
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let object = |kind: &str, choices: Value| json!({ "id": format!("chatcmpl_{turn}"), "object": kind, "created": 0, "model": MODEL, "choices": choices });
    if request.body["stream"] != true {
        let choice = json!({ "index": 0, "message": message, "finish_reason": reason });
        let mut answer = object("chat.completion", json!([choice]));
        answer["usage"] = usage;
        return HttpReply::whole(&answer, fault);
    }
    let chunk = |choice: Value| object("chat.completion.chunk", json!([choice]));
    let said = chunk(json!({ "index": 0, "delta": message, "finish_reason": null }));
    let ended = chunk(json!({ "index": 0, "delta": {}, "finish_reason": reason }));
    let mut costs = object("chat.completion.chunk", json!([]));
    costs["usage"] = usage;
    HttpReply::events(&[said, ended, costs, json!("[DONE]")], fault)
}
