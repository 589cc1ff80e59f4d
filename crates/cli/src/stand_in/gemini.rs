//! Google's protocol as Gemini CLI 0.61 speaks it: `POST /v1beta/models/MODEL:streamGenerateContent?alt=sse`, answered with
//! server-sent events, or with one JSON object for `:generateContent`.

use serde_json::{Value, json};

use super::HttpReply;
use super::{AnswerFault, AnswerPart, MODEL, ScriptedRequest, WireProtocol, array, is_injected, string, texts};

/// How Gemini marks the user texts that it writes itself.
const INJECTED: [&str; 2] = ["<session_context>", "System: Please continue."];

/// Reads the history: everything after the last real user message belongs to the present task.
pub fn read(model: &str, body: Value) -> ScriptedRequest {
    let mut system: Vec<String> = texts(&body["systemInstruction"]["parts"]).into_iter().map(str::to_owned).collect();
    let mut prompt = String::new();
    let mut tool_results = Vec::new();
    for content in array(&body["contents"]).iter().filter(|content| content["role"] == "user") {
        let (own, users): (Vec<_>, Vec<_>) =
            texts(&content["parts"]).into_iter().partition(|text| is_injected(text, &INJECTED));
        system.extend(own.into_iter().map(str::to_owned));
        if !users.is_empty() {
            prompt = users.join("\n");
            tool_results.clear();
        }
        let responses = array(&content["parts"]).iter().filter_map(|part| part.get("functionResponse"));
        tool_results.extend(responses.map(|part| {
            let response = &part["response"];
            string(response.get("output").or_else(|| response.get("error")).unwrap_or(&Value::Null))
        }));
    }
    let groups = array(&body["tools"]).iter().flat_map(|group| array(&group["functionDeclarations"]));
    ScriptedRequest {
        protocol: WireProtocol::Gemini,
        prompt,
        step: tool_results.len(),
        tools: groups.map(|tool| string(&tool["name"])).collect(),
        system: system.join("\n"),
        tool_results,
        model: model.to_owned(),
        body,
    }
}

/// The call that runs `command`.
pub fn shell(command: &str) -> (String, Value) {
    ("run_shell_command".to_owned(), json!({ "command": command, "description": "A command of the script" }))
}

/// A whole answer: the parts, then the reason of its end.
pub fn write(
    request: &ScriptedRequest,
    parts: &[AnswerPart],
    fault: Option<AnswerFault>,
    is_stream: bool,
) -> HttpReply {
    let said: Vec<_> = parts
        .iter()
        .map(|part| match part {
            AnswerPart::Text(text) => json!({ "text": text }),
            AnswerPart::Thought(text) => json!({ "text": text, "thought": true }),
            AnswerPart::Call { tool, input } => json!({ "functionCall": { "name": tool, "args": input } }),
        })
        .collect();
    let reason = match fault {
        Some(AnswerFault::Refusal) => "SAFETY",
        Some(AnswerFault::MaxTokens) => "MAX_TOKENS",
        _ => "STOP",
    };
    let usage = request.usage(parts);
    // Cached tokens are part of this vendor's input tokens.
    let input = usage.fresh + usage.cached;
    let usage = json!({ "promptTokenCount": input, "cachedContentTokenCount": usage.cached,
        "candidatesTokenCount": usage.output, "totalTokenCount": input + usage.output });
    let id = format!("resp_{}", array(&request.body["contents"]).len());
    let chunk = |parts: &[Value]| {
        json!({ "candidates": [{ "index": 0, "content": { "role": "model", "parts": parts } }],
            "usageMetadata": usage, "modelVersion": MODEL, "responseId": id })
    };
    let end = |mut chunk: Value| {
        chunk["candidates"][0]["finishReason"] = json!(reason);
        chunk
    };
    if is_stream {
        HttpReply::events(&[chunk(&said), end(chunk(&[]))], fault)
    } else {
        HttpReply::whole(&end(chunk(&said)), fault)
    }
}

/// An HTTP error as the vendor words it.
pub fn error(status: u16) -> HttpReply {
    let (kind, message) = match status {
        401 => ("UNAUTHENTICATED", "ScriptedRequest had invalid authentication credentials."),
        403 => ("PERMISSION_DENIED", "Permission denied."),
        404 => ("NOT_FOUND", "models/stand-in is not found for API version v1beta."),
        429 => ("RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota)."),
        400..=499 => ("INVALID_ARGUMENT", "The script refuses this request."),
        503 | 529 => ("UNAVAILABLE", "The model is overloaded. Please try again later."),
        _ => ("INTERNAL", "An internal error has occurred. Please retry."),
    };
    HttpReply::json(status, &json!({ "error": { "code": status, "message": message, "status": kind } }))
}
