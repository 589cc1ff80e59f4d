//! The protocols of endpoints.

use std::time::Duration;
use std::{fs, io};

use serde_json::{Value, json};
use ureq::http::{HeaderMap, Response};
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};

use super::conversation::{ChatAnswer, ChatCall, ToolResult, Turn, text_of, usage};
use super::tools::Tool;
use crate::agent::chat::{ChatApi, ChatSetup};
use crate::agent::refusal::wait_in;
use crate::text::cut;
use crate::trace::{StopReason, Usage};

// The chat completions of `OpenAI`, which most servers have: `POST /chat/completions`.

/// The name of the action that ends the work on a message.
pub(super) const ANSWER: &str = "answer";

pub(super) fn completions_request(setup: &ChatSetup, system: &str, turns: &[Turn], tools: &[Tool]) -> Value {
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

pub(super) fn read_completion(setup: &ChatSetup, body: &Value) -> Option<ChatAnswer> {
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
    let said = match &message["content"] {
        Value::Null => None,
        written => Some(content(written)?).filter(|text| !text.is_empty()),
    };
    let said = said.or_else(|| text_of(&message["refusal"])).unwrap_or_default();
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

/// A text, or the texts of its parts. `None` for what has another shape.
fn content(content: &Value) -> Option<String> {
    let parts = || Some(content.as_array()?.iter().filter_map(|part| part["text"].as_str()).collect());
    content.as_str().map(str::to_owned).or_else(parts)
}

/// Reads the action that an answer is. `None` if it is none: the server does not keep to the schema.
fn take_action(answer: &mut ChatAnswer) -> Option<()> {
    let mut written = serde_json::from_str::<Value>(&answer.text).ok()?;
    let mut action = written.get_mut("action")?.take();
    let tool = action.get("tool").and_then(Value::as_str).map(str::to_owned)?;
    answer.text = String::new();
    if tool == ANSWER {
        action["text"].as_str()?.clone_into(&mut answer.text);
    } else {
        if let Some(map) = action.as_object_mut() {
            map.remove("tool");
        }
        answer.calls = vec![ChatCall::of_text(&Value::Null, &json!(tool), &action, Value::Null)];
    }
    Some(())
}

// The responses of `OpenAI`: `POST /responses`. Each request has the whole conversation, so that the provider stores none.

pub(super) fn responses_request(setup: &ChatSetup, system: &str, turns: &[Turn], tools: &[Tool]) -> Value {
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

pub(super) fn read_response(body: &Value) -> Option<ChatAnswer> {
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

// Anthropic's messages: `POST /v1/messages`.

/// The most tokens of an answer if the user names no number. The protocol needs one.
const MAX_TOKENS: u64 = 8192;

pub(super) fn messages_request(setup: &ChatSetup, system: &str, turns: &[Turn], tools: &[Tool]) -> Value {
    let messages: Vec<Value> = turns.iter().filter_map(written_message).collect();
    let tools: Vec<Value> = tools
        .iter()
        .map(|tool| json!({ "name": tool.name, "description": tool.about, "input_schema": tool.schema() }))
        .collect();
    let most = setup.max_tokens.unwrap_or(MAX_TOKENS);
    json!({ "model": setup.model, "max_tokens": most, "system": system, "messages": messages, "tools": tools })
}

fn written_message(turn: &Turn) -> Option<Value> {
    let (role, content) =
        match turn {
            Turn::User(text) => ("user", json!(text)),
            Turn::Assistant { text, calls } => {
                let mut blocks = Vec::new();
                if !text.is_empty() {
                    blocks.push(json!({ "type": "text", "text": text }));
                }
                blocks.extend(calls.iter().map(
                    |call| json!({ "type": "tool_use", "id": call.id, "name": call.tool, "input": call.object() }),
                ));
                // The protocol refuses an empty message.
                ("assistant", (!blocks.is_empty()).then(|| json!(blocks))?)
            }
            Turn::Results(results) => {
                let block = |result: &ToolResult| {
                    json!({ "type": "tool_result", "tool_use_id": result.id, "content": result.output,
                    "is_error": result.failed })
                };
                ("user", results.iter().map(block).collect())
            }
        };
    Some(json!({ "role": role, "content": content }))
}

pub(super) fn read_message(body: &Value) -> Option<ChatAnswer> {
    let content = body["content"].as_array()?;
    let mut answer = ChatAnswer { usage: message_usage(&body["usage"]), ..ChatAnswer::default() };
    answer.stopped = match body["stop_reason"].as_str() {
        Some("max_tokens") => Some(StopReason::MaxTokens),
        Some("refusal") => Some(StopReason::Refusal),
        Some("model_context_window_exceeded") => Some(StopReason::ContextWindow),
        Some("end_turn" | "stop_sequence" | "tool_use") => None,
        // `pause_turn`, for one: the answer is not whole.
        _ => return None,
    };
    for block in content {
        match block["type"].as_str() {
            Some("text") => answer.text.extend(text_of(&block["text"])),
            Some("thinking") => answer.thought = text_of(&block["thinking"]),
            Some("tool_use") => {
                answer.calls.push(ChatCall::of_text(&block["id"], &block["name"], &block["input"], Value::Null));
            }
            _ => {}
        }
    }
    Some(answer)
}

fn message_usage(usage: &Value) -> Option<Usage> {
    let cache = |key: &str| usage[key].as_u64().unwrap_or(0);
    let (read, written) = (cache("cache_read_input_tokens"), cache("cache_creation_input_tokens"));
    Some(Usage {
        input_tokens: usage["input_tokens"].as_u64()?.saturating_add(read).saturating_add(written),
        cached_input_tokens: read,
        cache_write_input_tokens: written,
        output_tokens: usage["output_tokens"].as_u64()?,
        ..Usage::default()
    })
}

// Requests to the endpoint: retries, and what a refusal says.

/// Pauses before a request is sent again, unless the provider asks for others.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];

/// The longest pause that is waited for here. For a longer one, the trial ends, and the run waits.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How long a connection may take. The timeout of an answer is that of the trial.
const CONNECT: Duration = Duration::from_secs(20);

/// The largest answer, in bytes.
const MAX_BODY: u64 = 16 * 1024 * 1024;

/// The longest message of a refusal, in characters.
const MAX_MESSAGE: usize = 500;

/// The version of Anthropic's protocol.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// Why a request has no answer.
#[derive(Debug, Default)]
pub(super) struct RequestFailure {
    pub status: Option<u16>,
    /// The error's code or type.
    pub code: Option<String>,
    pub message: String,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// Whether the server was not reached, or the answer broke off.
    pub is_lost: bool,
}

/// Sends requests to the endpoint.
pub(super) struct ModelClient {
    agent: Agent,
    url: String,
    headers: Vec<(&'static str, String)>,
    key: Option<String>,
}

impl ModelClient {
    pub(super) fn new(setup: &ChatSetup) -> io::Result<Self> {
        let (path, header) = match setup.api {
            ChatApi::Completions => ("/chat/completions", "authorization"),
            ChatApi::Responses => ("/responses", "authorization"),
            ChatApi::Messages => ("/v1/messages", "x-api-key"),
        };
        let value = |key: &String| if header == "x-api-key" { key.clone() } else { format!("Bearer {key}") };
        let mut headers = vec![("content-type", "application/json".to_owned())];
        headers.extend(setup.key.iter().map(|key| (header, value(key))));
        if setup.api == ChatApi::Messages {
            headers.push(("anthropic-version", ANTHROPIC_VERSION.to_owned()));
        }
        let tls = TlsConfig::builder().root_certs(certificates()?).build();
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // Another host must not get the key.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECT))
            .tls_config(tls)
            .user_agent(concat!("skill-evals/", env!("CARGO_PKG_VERSION")));
        let url = format!("{}{path}", setup.base_url);
        Ok(Self { agent: config.build().into(), url, headers, key: setup.key.clone() })
    }

    /// The answer to a request.
    pub(super) fn send(&self, body: &Value) -> Result<Value, RequestFailure> {
        let mut request = self.agent.post(&self.url);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        let mut response = request.send(body.to_string()).map_err(|error| self.lost(&error))?;
        let status = response.status().as_u16();
        let text = response.body_mut().with_config().limit(MAX_BODY).lossy_utf8(true).read_to_string();
        let text = text.map_err(|error| self.lost(&error))?;
        let answer = serde_json::from_str::<Value>(&text).ok();
        match answer {
            // Some proxies send an error with the status of a success.
            Some(answer) if status == 200 && answer["error"].is_null() => Ok(answer),
            answer => Err(self.refused(&response, &text, &answer.unwrap_or_default())),
        }
    }

    fn lost(&self, error: &ureq::Error) -> RequestFailure {
        let message = self.shown(&format!("no answer from {}: {error}", self.url));
        RequestFailure { message, is_lost: true, ..RequestFailure::default() }
    }

    fn refused(&self, response: &Response<Body>, text: &str, answer: &Value) -> RequestFailure {
        let (status, error) = (response.status().as_u16(), &answer["error"]);
        let in_body = error["code"].as_u64().and_then(|code| u16::try_from(code).ok()).filter(|_| status == 200);
        let code = ["code", "type"].into_iter().find_map(|key| error[key].as_str()).map(str::to_owned);
        let message = error["message"].as_str().or_else(|| error.as_str()).or_else(|| answer["message"].as_str());
        let message = match (message, response.headers().get("location")) {
            (Some(message), _) => message.to_owned(),
            (None, Some(to)) if (300..400).contains(&status) => {
                let to = to.to_str().unwrap_or_default();
                format!("HTTP {status} from {}: it is at {to}, and redirects are not followed", self.url)
            }
            _ if status == 200 => format!("{} sent no JSON: {text}", self.url),
            _ => format!("HTTP {status} from {}: {text}", self.url),
        };
        let retry_after = seconds(response.headers()).or_else(|| wait_in(&message));
        let status = in_body.or(Some(status).filter(|status| *status != 200));
        RequestFailure { status, code, message: self.shown(&message), retry_after, is_lost: false }
    }

    /// A text of the server on one line, without the key, and cut only after that.
    pub(super) fn shown(&self, text: &str) -> String {
        let key = self.key.as_deref().filter(|key| !key.is_empty());
        let text = key.map_or_else(|| text.to_owned(), |key| text.replace(key, "[key]"));
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        cut::start(&text, MAX_MESSAGE)
    }
}

/// The pauses between requests that fail.
pub(super) fn pauses() -> impl Iterator<Item = Duration> {
    PAUSES.into_iter()
}

impl RequestFailure {
    /// How long to wait before the request is sent again, if that can help: the provider's time, or else `usual`.
    pub(super) fn pause(&self, usual: Option<Duration>) -> Option<Duration> {
        let pause = self.retry_after.unwrap_or(usual?);
        (self.is_temporary() && pause <= LONGEST_PAUSE).then_some(pause)
    }

    fn is_temporary(&self) -> bool {
        self.is_lost || matches!(self.status, Some(408 | 429 | 500 | 502..=504 | 529))
    }

    /// Whether the conversation no longer fits into the model's context.
    pub(super) fn is_too_long(&self) -> bool {
        let codes = ["context_length_exceeded", "exceed_context_size_error"];
        self.code.as_deref().is_some_and(|code| codes.contains(&code))
    }
}

/// The pause in the header `retry-after`, if it is a number of seconds.
fn seconds(headers: &HeaderMap) -> Option<Duration> {
    let seconds: f64 = headers.get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The certificates in the user's file, or those that come with the program.
fn certificates() -> io::Result<RootCerts> {
    let Some(path) = std::env::var_os("SSL_CERT_FILE").filter(|path| !path.is_empty()) else {
        return Ok(RootCerts::WebPki);
    };
    let pem = fs::read(&path)?;
    let certificates: Vec<_> = parse_pem(&pem)
        .filter_map(|item| match item {
            Ok(PemItem::Certificate(certificate)) => Some(certificate),
            _ => None,
        })
        .collect();
    Ok(RootCerts::from(certificates))
}
