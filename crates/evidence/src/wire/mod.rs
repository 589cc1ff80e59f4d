//! A conversation with a model as it passes on the wire: a request with its answer, in one form for the four protocols that agents
//! speak. Pure: bytes in, [`ModelExchange`] out.
//!
//! What a part of the wire says that is not known is in [`ModelExchange::unknown`], by its kind: a reader must not take its silence
//! for "did not happen".

mod completions;
mod gemini;
mod messages;
pub mod replay;
mod responses;
mod stream;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::trace::{StopReason, Usage};

/// A protocol of a model's provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Anthropic Messages, also behind Vertex AI.
    Messages,
    /// Responses of `OpenAI`, also of Azure.
    Responses,
    /// Chat Completions of `OpenAI`, which most others speak too.
    Completions,
    /// Gemini `generateContent`.
    Gemini,
}

/// A request to a model and its answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelExchange {
    /// The model that was asked, or that says that it answered.
    pub model: Option<String>,
    /// The instructions of the agent: system prompt, developer messages.
    pub instructions: Vec<String>,
    /// The names of the tools that are offered.
    pub tools: Vec<String>,
    /// What the request holds of the conversation, in order.
    pub history: Vec<Item>,
    /// What the model answered, in order. Empty without an answer.
    pub answer: Vec<Item>,
    /// Tokens, if the answer says them.
    pub usage: Option<Usage>,
    /// Why the model ended early; `None` if it ended by itself.
    pub stopped: Option<StopReason>,
    /// Whether the answer is whole by the protocol's own sign.
    pub is_whole: bool,
    /// The provider's own error, instead of an answer or in its midst.
    pub error: Option<String>,
    /// Parts of kinds that are not known, with their counts.
    pub unknown: BTreeMap<String, u64>,
}

/// One part of a conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// What the user said, or the agent in the user's name.
    User(String),
    /// What the model said.
    Said(String),
    Thought(String),
    /// The model's call of a tool.
    Called {
        id: String,
        tool: String,
        input: Value,
    },
    /// What the agent answered to it. `failed` is what the protocol says; most have no sign for it.
    Answered {
        id: String,
        output: String,
        failed: Option<bool>,
    },
}

impl Protocol {
    /// The protocol of a request to this path, which may have a query.
    pub fn of(method: &str, path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
        let ends = |end: &str| path.ends_with(end);
        match method {
            "POST" if ends("/messages") || ends(":rawPredict") || ends(":streamRawPredict") => Some(Self::Messages),
            "POST" if ends("/responses") => Some(Self::Responses),
            "POST" if ends("/chat/completions") => Some(Self::Completions),
            "POST" if ends(":generateContent") || ends(":streamGenerateContent") => Some(Self::Gemini),
            _ => None,
        }
    }

    /// Reads a request's body and the answer to it: one JSON object, or server-sent events. Without a status there was no answer.
    /// `None` if the request is no JSON object.
    pub fn read(self, request: &str, status: Option<u16>, answer: &str) -> Option<ModelExchange> {
        let body: Value = serde_json::from_str(request).ok().filter(Value::is_object)?;
        let mut found = ModelExchange { model: body["model"].as_str().map(str::to_owned), ..ModelExchange::default() };
        match self {
            Self::Messages => messages::read_request(&body, &mut found),
            Self::Responses => responses::read_request(&body, &mut found),
            Self::Completions => completions::read_request(&body, &mut found),
            Self::Gemini => gemini::read_request(&body, &mut found),
        }
        match status {
            Some(200) => self.read_answer(answer, &mut found),
            Some(_) => found.error = Some(error_in(answer)),
            None => {}
        }
        Some(found)
    }

    fn read_answer(self, answer: &str, found: &mut ModelExchange) {
        let whole = serde_json::from_str::<Value>(answer).ok();
        match (self, whole) {
            (Self::Messages, Some(message)) => messages::read_whole(&message, found),
            (Self::Messages, None) => messages::read_events(stream::events(answer), found),
            (Self::Responses, Some(response)) => responses::read_whole(&response, found),
            (Self::Responses, None) => responses::read_events(stream::events(answer), found),
            (Self::Completions, Some(completion)) => completions::read_whole(&completion, found),
            (Self::Completions, None) => completions::read_events(stream::events(answer), found),
            // Without `alt=sse`, a stream is one array.
            (Self::Gemini, Some(Value::Array(parts))) => gemini::read_parts(parts.into_iter().map(Some), found),
            (Self::Gemini, Some(part)) => gemini::read_parts(std::iter::once(Some(part)), found),
            (Self::Gemini, None) => gemini::read_parts(stream::events(answer), found),
        }
    }
}

impl ModelExchange {
    fn not_known(&mut self, kind: &Value) {
        let kind = kind.as_str().unwrap_or("without a type");
        *self.unknown.entry(kind.to_owned()).or_default() += 1;
    }

    fn add_tools<'a>(&mut self, names: impl IntoIterator<Item = &'a Value>) {
        self.tools.extend(names.into_iter().filter_map(Value::as_str).map(str::to_owned));
    }
}

/// The items of an array; none if it is something else.
fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// The texts of a content that is one text, or parts of which some have a `text`.
fn texts(content: &Value) -> Vec<String> {
    match content {
        Value::String(text) => vec![text.clone()],
        _ => array(content).iter().filter_map(|part| part["text"].as_str()).map(str::to_owned).collect(),
    }
}

/// The arguments of a call, which three protocols write as a text of JSON.
fn arguments(text: &Value) -> Value {
    match text {
        Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone())),
        other => other.clone(),
    }
}

/// What an answer that is an error says.
fn error_in(answer: &str) -> String {
    let value = serde_json::from_str::<Value>(answer).unwrap_or_default();
    let value = value.get(0).unwrap_or(&value);
    let message = [&value["error"]["message"], &value["message"], &value["error"]].into_iter().find_map(Value::as_str);
    message.unwrap_or(answer).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn sse(events: &[Value]) -> String {
        let written =
            events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or("x")));
        written.collect::<Vec<_>>().concat()
    }

    /// The same turn, as each protocol says it: the model thinks, says, and calls; the request has a result.
    #[test]
    fn a_turn_is_the_same_in_every_protocol() {
        let input = json!({ "skill": "greeting" });
        let expected = [
            Item::Thought("I greet.".to_owned()),
            Item::Said("Let me see.".to_owned()),
            Item::Called { id: "c1".to_owned(), tool: "Skill".to_owned(), input: input.clone() },
        ];
        for (protocol, request, answer) in [messages_turn(), responses_turn(), completions_turn(), gemini_turn()] {
            let found = protocol.read(&request.to_string(), Some(200), &answer).expect("a request");
            let [Item::User(prompt), Item::Called { tool, .. }, Item::Answered { output, .. }] =
                found.history.as_slice()
            else {
                panic!("{protocol:?}: {:?}", found.history)
            };
            assert_eq!(
                (prompt.as_str(), tool.as_str(), output.as_str()),
                ("Greet Ada", "Shell", "done"),
                "{protocol:?}"
            );
            assert_eq!(
                (found.instructions.as_slice(), found.tools.as_slice()),
                (&["Be kind.".to_owned()][..], &["Skill".to_owned()][..])
            );
            let answered: Vec<Item> = found
                .answer
                .iter()
                .cloned()
                .map(|item| match item {
                    // Gemini's calls have no id.
                    Item::Called { tool, input, .. } => Item::Called { id: "c1".to_owned(), tool, input },
                    other => other,
                })
                .collect();
            assert_eq!(answered, expected, "{protocol:?}");
            let usage = found.usage.expect("tokens");
            assert_eq!(
                (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens),
                (100, 40, 7),
                "{protocol:?}"
            );
            assert!(found.is_whole && found.stopped.is_none() && found.unknown.is_empty(), "{protocol:?}: {found:?}");
        }
    }

    fn messages_turn() -> (Protocol, Value, String) {
        let request = json!({ "model": "claude", "system": [{ "type": "text", "text": "Be kind." }], "tools": [{ "name": "Skill" }],
            "messages": [
                { "role": "user", "content": "Greet Ada" },
                { "role": "assistant", "content": [{ "type": "tool_use", "id": "c0", "name": "Shell", "input": {} }] },
                { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "c0", "content": [{ "type": "text", "text": "done" }] }] },
            ] });
        let block =
            |index: u64, block: Value| json!({ "type": "content_block_start", "index": index, "content_block": block });
        let delta = |index: u64, delta: Value| json!({ "type": "content_block_delta", "index": index, "delta": delta });
        let usage = json!({ "input_tokens": 40, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 20, "output_tokens": 1 });
        let answer = sse(&[
            json!({ "type": "message_start", "message": { "model": "claude", "usage": usage } }),
            json!({ "type": "ping" }),
            block(0, json!({ "type": "thinking", "thinking": "" })),
            delta(0, json!({ "type": "thinking_delta", "thinking": "I greet." })),
            delta(0, json!({ "type": "signature_delta", "signature": "x" })),
            block(1, json!({ "type": "text", "text": "" })),
            delta(1, json!({ "type": "text_delta", "text": "Let me " })),
            delta(1, json!({ "type": "text_delta", "text": "see." })),
            block(2, json!({ "type": "tool_use", "id": "c1", "name": "Skill", "input": {} })),
            delta(2, json!({ "type": "input_json_delta", "partial_json": "{\"skill\":" })),
            delta(2, json!({ "type": "input_json_delta", "partial_json": "\"greeting\"}" })),
            json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 7 } }),
            json!({ "type": "message_stop" }),
        ]);
        (Protocol::Messages, request, answer)
    }

    fn responses_turn() -> (Protocol, Value, String) {
        let request = json!({ "model": "gpt", "instructions": "Be kind.", "tools": [{ "type": "function", "name": "Skill" }], "input": [
            { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Greet Ada" }] },
            { "type": "function_call", "call_id": "c0", "name": "Shell", "arguments": "{}" },
            { "type": "function_call_output", "call_id": "c0", "output": "done" },
        ] });
        let done = |item: Value| json!({ "type": "response.output_item.done", "item": item });
        let usage = json!({ "input_tokens": 100, "input_tokens_details": { "cached_tokens": 40 }, "output_tokens": 7 });
        let answer = sse(&[
            json!({ "type": "response.created", "response": {} }),
            json!({ "type": "response.output_text.delta", "delta": "Let" }),
            done(json!({ "type": "reasoning", "summary": [{ "type": "summary_text", "text": "I greet." }] })),
            done(
                json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "Let me see." }] }),
            ),
            done(
                json!({ "type": "function_call", "call_id": "c1", "name": "Skill", "arguments": "{\"skill\":\"greeting\"}" }),
            ),
            json!({ "type": "response.completed", "response": { "model": "gpt", "usage": usage } }),
        ]);
        (Protocol::Responses, request, answer)
    }

    fn completions_turn() -> (Protocol, Value, String) {
        let call = |id: &str, name: &str, arguments: &str| json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } });
        let request = json!({ "model": "m", "tools": [{ "type": "function", "function": { "name": "Skill" } }], "messages": [
            { "role": "system", "content": "Be kind." },
            { "role": "user", "content": "Greet Ada" },
            { "role": "assistant", "content": null, "tool_calls": [call("c0", "Shell", "{}")] },
            { "role": "tool", "tool_call_id": "c0", "content": "done" },
        ] });
        let chunk = |delta: Value| json!({ "choices": [{ "index": 0, "delta": delta }] });
        let part = |arguments: &str| json!({ "tool_calls": [{ "index": 0, "function": { "arguments": arguments } }] });
        let usage =
            json!({ "prompt_tokens": 100, "prompt_tokens_details": { "cached_tokens": 40 }, "completion_tokens": 7 });
        let events = [
            chunk(json!({ "role": "assistant", "reasoning_content": "I greet." })),
            chunk(json!({ "content": "Let me " })),
            chunk(json!({ "content": "see." })),
            chunk(
                json!({ "tool_calls": [{ "index": 0, "id": "c1", "function": { "name": "Skill", "arguments": "" } }] }),
            ),
            chunk(part("{\"skill\":")),
            chunk(part("\"greeting\"}")),
            json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }),
            json!({ "choices": [], "usage": usage }),
        ];
        let answer = events.iter().map(|event| format!("data: {event}\n\n")).collect::<Vec<_>>().concat();
        (Protocol::Completions, request, format!(": kept alive\n\n{answer}data: [DONE]\n\n"))
    }

    fn gemini_turn() -> (Protocol, Value, String) {
        let request = json!({ "systemInstruction": { "parts": [{ "text": "Be kind." }] },
            "tools": [{ "functionDeclarations": [{ "name": "Skill" }] }],
            "contents": [
                { "role": "user", "parts": [{ "text": "Greet Ada" }] },
                { "role": "model", "parts": [{ "functionCall": { "name": "Shell", "args": {} } }] },
                { "role": "user", "parts": [{ "functionResponse": { "name": "Shell", "response": { "output": "done" } } }] },
            ] });
        let part = |parts: Value| json!({ "candidates": [{ "content": { "role": "model", "parts": parts } }] });
        let usage = json!({ "promptTokenCount": 100, "cachedContentTokenCount": 40, "candidatesTokenCount": 5, "thoughtsTokenCount": 2 });
        let answer = sse(&[
            part(json!([{ "text": "I greet.", "thought": true }])),
            part(json!([{ "text": "Let me " }])),
            part(json!([{ "text": "see." }])),
            part(
                json!([{ "functionCall": { "name": "Skill", "args": { "skill": "greeting" } }, "thoughtSignature": "x" }]),
            ),
            json!({ "candidates": [{ "content": { "parts": [] }, "finishReason": "STOP" }], "usageMetadata": usage, "modelVersion": "g" }),
        ]);
        (Protocol::Gemini, request, answer)
    }

    #[test]
    fn a_cut_answer_is_not_whole_and_keeps_what_came() {
        for (protocol, request, answer) in [messages_turn(), responses_turn(), completions_turn(), gemini_turn()] {
            let request = request.to_string();
            let whole = protocol.read(&request, Some(200), &answer).expect("a request");
            for (cut, _) in answer.char_indices() {
                let found = protocol.read(&request, Some(200), &answer[..cut]).expect("a request");
                assert!(!found.is_whole || found.answer == whole.answer, "{protocol:?} at {cut}: {found:?}");
            }
        }
    }

    #[test]
    fn what_is_not_known_is_counted_and_an_error_is_told() {
        let request = json!({ "messages": [{ "role": "user", "content": [{ "type": "hologram" }] }] }).to_string();
        let answer =
            json!({ "type": "message", "content": [{ "type": "smell" }], "stop_reason": "max_tokens" }).to_string();
        let found = Protocol::Messages.read(&request, Some(200), &answer).expect("a request");
        assert_eq!(found.unknown, BTreeMap::from([("hologram".to_owned(), 1), ("smell".to_owned(), 1)]));
        assert_eq!(found.stopped, Some(StopReason::MaxTokens));
        let refused =
            json!({ "type": "error", "error": { "type": "rate_limit_error", "message": "slow down" } }).to_string();
        let found = Protocol::Messages.read(&request, Some(429), &refused).expect("a request");
        assert_eq!((found.error.as_deref(), found.is_whole), (Some("slow down"), false));
        assert_eq!(Protocol::Responses.read("no JSON", None, ""), None);
    }

    #[test]
    fn a_path_tells_the_protocol() {
        for (path, protocol) in [
            ("/v1/messages?beta=true", Some(Protocol::Messages)),
            (
                "/v1/projects/p/locations/l/publishers/anthropic/models/claude:streamRawPredict",
                Some(Protocol::Messages),
            ),
            ("/backend-api/codex/responses", Some(Protocol::Responses)),
            ("/openai/deployments/d/chat/completions?api-version=1", Some(Protocol::Completions)),
            ("/v1beta/models/g:streamGenerateContent?alt=sse", Some(Protocol::Gemini)),
            ("/v1/messages/count_tokens", None),
            ("/v1/files", None),
        ] {
            assert_eq!(Protocol::of("POST", path), protocol, "{path}");
        }
        assert_eq!(Protocol::of("GET", "/v1/responses"), None);
    }
}
