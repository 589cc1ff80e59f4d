//! A scripted stand-in for a model, on 127.0.0.1, that real agent programs can be pointed at.
//!
//! The agent program is genuine: it discovers the skills, offers the tools, runs the commands in its sandbox and
//! prints its trace. Only "the model" is a closure, which sees one [`ScriptedRequest`] and returns one [`ScriptedTurn`], the same for
//! all wire protocols. What it answers is scripted and says nothing about any model's quality, which is why every
//! answer carries the model id [`MODEL`].
//!
//! The server keeps no conversation: [`ScriptedRequest::step`] is counted from the history that the agent sends along, so any
//! number of trials can run against one stand-in at the same time. It lives on a thread of its own with a runtime of
//! its own, for the sake of synchronous tests, and ends when it is dropped, hanging requests included.

mod completions;
mod gemini;
mod messages;
mod responses;
mod server;

use std::fmt::Write as _;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::{Value, json};

pub use server::StandIn;

/// The model id in every answer.
pub const MODEL: &str = "stand-in";

/// Which wire protocol a request came by, and so which vendor's program sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireProtocol {
    /// `OpenAI`'s `POST /v1/responses`: codex.
    Responses,
    /// `OpenAI`'s `POST /v1/chat/completions`: the agents for any provider.
    Completions,
    /// Anthropic's `POST /v1/messages`: claude, by itself or under the Agent SDK, and qwen.
    Messages,
    /// Google's `POST /v1beta/models/MODEL:streamGenerateContent`: Gemini CLI.
    Gemini,
}

/// One model request as the script sees it.
#[derive(Clone, Debug)]
pub struct ScriptedRequest {
    pub protocol: WireProtocol,
    /// The task: the last user message that a user (not the agent program) wrote.
    pub prompt: String,
    /// How many tool results the model has been given since `prompt`: 0 is the first turn.
    pub step: usize,
    /// The tools offered, by the name that [`ScriptedTurn::Call`] takes; codex's namespaces are flattened to
    /// `mcp__server__tool`.
    pub tools: Vec<String>,
    /// Everything that the program put before the model by itself: instructions, developer and system messages, and
    /// what it injects as a user (AGENTS.md, CLAUDE.md reminders, the environment, whole `<skill>` texts).
    pub system: String,
    /// The results of this task's tool calls, oldest first; `step` of them.
    pub tool_results: Vec<String>,
    /// The model that the program asked for.
    pub model: String,
    /// The request as it came.
    pub body: Value,
}

/// What the agent's own tool for skills takes.
pub fn named(request: &ScriptedRequest, tool: &str, skill: &str) -> Value {
    let takes_skill =
        definition(&request.body["tools"], tool).is_some_and(|tool| tool.to_string().contains("\"skill\":{"));
    json!({ (if takes_skill { "skill" } else { "name" }): skill })
}

/// The definition of a tool, as a request of any protocol has it.
fn definition<'a>(tools: &'a Value, name: &str) -> Option<&'a Value> {
    match tools {
        Value::Object(tool) if tool.get("name").is_some_and(|known| known == name) => Some(tools),
        Value::Object(tool) => tool.values().find_map(|value| definition(value, name)),
        Value::Array(list) => list.iter().find_map(|value| definition(value, name)),
        _ => None,
    }
}

/// What the scripted model does next.
#[derive(Clone, Debug)]
pub enum ScriptedTurn {
    /// Plain text; alone it is the final answer.
    Say(String),
    /// What the model thinks before it does something else.
    Think(String),
    /// A shell command, by whichever shell tool this program offers.
    Shell(String),
    /// Any tool, by a name out of [`ScriptedRequest::tools`].
    Call { tool: String, input: Value },
    /// Several of the above in one answer. A `Status` or `Hang` among them is the whole answer.
    Several(Vec<ScriptedTurn>),
    /// An HTTP error with the vendor's body for it.
    Status(u16),
    /// A refusal that asks to wait for this many seconds.
    Wait(u32),
    /// Take the request and never answer.
    Hang,
    /// A final text of this many bytes.
    Flood { bytes: usize },
    /// Another turn, whose answer does not end as it should.
    Faulty(Box<ScriptedTurn>, AnswerFault),
    /// An HTTP error with this body.
    Error { status: u16, body: Value },
}

/// A call of a tool.
pub fn call(tool: &str, input: Value) -> ScriptedTurn {
    ScriptedTurn::Call { tool: tool.to_owned(), input }
}

/// The same last answer to everything.
pub fn says(_: &ScriptedRequest) -> ScriptedTurn {
    ScriptedTurn::Say("Ahoy, Ada!".to_owned())
}

/// How an answer ends that does not end well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerFault {
    /// The model refuses: a reason of its own in the answer's end.
    Refusal,
    /// The model reached the most tokens that it may write.
    MaxTokens,
    /// The stream stops in the middle, and the connection stays open.
    Stall,
    /// The stream stops in the middle, and the connection is closed.
    Cut,
}

/// A piece of an answer, with the shell tool already chosen.
enum AnswerPart {
    Text(String),
    Thought(String),
    Call { tool: String, input: Value },
}

enum ScriptedAnswer {
    Parts(Vec<AnswerPart>, Option<AnswerFault>),
    Status(u16),
    /// A refusal, and the seconds that it asks to wait.
    Wait(u32),
    Error(u16, Value),
    Hang,
}

/// What an answer claims to have cost, in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerUsage {
    pub fresh: usize,
    pub cached: usize,
    pub output: usize,
}

impl ScriptedTurn {
    fn add_to(self, answer: &mut ScriptedAnswer, protocol: WireProtocol, body: &Value) {
        let ScriptedAnswer::Parts(parts, fault) = answer else { return };
        match self {
            Self::Say(text) => parts.push(AnswerPart::Text(text)),
            Self::Think(text) => parts.push(AnswerPart::Thought(text)),
            Self::Shell(command) => {
                let (tool, input) = match protocol {
                    WireProtocol::Responses => responses::shell(body, &command),
                    WireProtocol::Completions => completions::shell(body, &command),
                    WireProtocol::Messages => messages::shell(body, &command),
                    WireProtocol::Gemini => gemini::shell(&command),
                };
                parts.push(AnswerPart::Call { tool, input });
            }
            Self::Call { tool, input } => parts.push(AnswerPart::Call { tool, input }),
            Self::Several(turns) => turns.into_iter().for_each(|turn| turn.add_to(answer, protocol, body)),
            Self::Status(status) => *answer = ScriptedAnswer::Status(status),
            Self::Wait(seconds) => *answer = ScriptedAnswer::Wait(seconds),
            Self::Hang => *answer = ScriptedAnswer::Hang,
            Self::Flood { bytes } => parts.push(AnswerPart::Text(flood(bytes))),
            Self::Faulty(turn, how) => {
                *fault = Some(how);
                turn.add_to(answer, protocol, body);
            }
            Self::Error { status, body } => *answer = ScriptedAnswer::Error(status, body),
        }
    }
}

impl ScriptedRequest {
    /// Made-up figures that depend on nothing but the lengths of the task's texts, so that the same run costs the
    /// same everywhere: a token is four bytes, and the instructions and tools, whose real length varies with paths
    /// and versions, count as 1000 tokens, which every turn but the first reads from the cache.
    fn usage(&self, parts: &[AnswerPart]) -> AnswerUsage {
        const INSTRUCTIONS: usize = 1000;
        let results: usize = self.tool_results.iter().map(String::len).sum();
        let task = (self.prompt.len() + results).div_ceil(4);
        let said: usize = parts
            .iter()
            .map(|part| match part {
                AnswerPart::Text(text) | AnswerPart::Thought(text) => text.len(),
                AnswerPart::Call { tool, input } => tool.len() + input.to_string().len(),
            })
            .sum();
        let (fresh, cached) = if self.step == 0 { (INSTRUCTIONS + task, 0) } else { (task, INSTRUCTIONS) };
        AnswerUsage { fresh, cached, output: said.div_ceil(4) }
    }
}

fn flood(bytes: usize) -> String {
    let line = "The stand-in has nothing to say and says it at great length.\n";
    let mut text = line.repeat(bytes / line.len() + 1);
    text.truncate(bytes);
    text
}

/// Whether the agent program, not a user, wrote this text of a user message: it starts with one of the marks that
/// the program puts on what it injects.
fn is_injected(text: &str, marks: &[&str]) -> bool {
    let text = text.trim_start();
    text.is_empty() || marks.iter().any(|mark| text.starts_with(mark))
}

/// The texts in a `content` or `output` that is either a string or a list of blocks; other blocks are skipped.
fn texts(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        Value::Array(blocks) => blocks.iter().filter_map(|b| b["text"].as_str()).collect(),
        _ => Vec::new(),
    }
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

// An answer of the server as it is sent, whole or with an end that does not come.

/// How a body ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BodyEnd {
    Whole,
    /// Nothing follows, and the connection stays open.
    Never,
    /// The connection is closed in the middle.
    Broken,
}

/// An answer before it is sent.
struct HttpReply {
    status: u16,
    kind: &'static str,
    header: Option<(&'static str, String)>,
    text: String,
    end: BodyEnd,
}

impl HttpReply {
    fn json(status: u16, body: &Value) -> Self {
        Self { status, kind: "application/json", header: None, text: body.to_string(), end: BodyEnd::Whole }
    }

    fn with_header(self, name: &'static str, value: impl Into<String>) -> Self {
        Self { header: Some((name, value.into())), ..self }
    }

    /// Server-sent events, named after their `type` if they have one. A string is sent as it is.
    fn events(events: &[Value], fault: Option<AnswerFault>) -> Self {
        let end = end(fault);
        // Half an answer: what was begun is not ended.
        let sent = if end == BodyEnd::Whole { events.len() } else { events.len().div_ceil(2) };
        let mut text = String::new();
        for event in &events[..sent] {
            if let Some(name) = event["type"].as_str() {
                let _ = writeln!(text, "event: {name}");
            }
            let _ = match event {
                Value::String(data) => write!(text, "data: {data}\n\n"),
                event => write!(text, "data: {event}\n\n"),
            };
        }
        Self { status: 200, kind: "text/event-stream", header: None, text, end }
    }

    /// The answer to a program that asks for no events.
    fn whole(answer: &Value, fault: Option<AnswerFault>) -> Self {
        let mut reply = Self { end: end(fault), ..Self::json(200, answer) };
        if reply.end != BodyEnd::Whole {
            reply.text.truncate(reply.text.find("content").unwrap_or_default());
        }
        reply
    }

    fn response(self) -> Response<ReplyBody> {
        let mut response = Response::new(ReplyBody { text: Some(self.text.into()), end: self.end });
        *response.status_mut() = StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(self.kind));
        if let Some((name, value)) = self.header
            && let Ok(value) = HeaderValue::from_str(&value)
        {
            response.headers_mut().insert(HeaderName::from_static(name), value);
        }
        response
    }
}

fn end(fault: Option<AnswerFault>) -> BodyEnd {
    match fault {
        Some(AnswerFault::Stall) => BodyEnd::Never,
        Some(AnswerFault::Cut) => BodyEnd::Broken,
        Some(AnswerFault::Refusal | AnswerFault::MaxTokens) | None => BodyEnd::Whole,
    }
}

struct ReplyBody {
    text: Option<Bytes>,
    end: BodyEnd,
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match (self.text.take(), self.end) {
            (Some(text), _) => Poll::Ready(Some(Ok(Frame::data(text)))),
            (None, BodyEnd::Whole) => Poll::Ready(None),
            (None, BodyEnd::Never) => Poll::Pending,
            (None, BodyEnd::Broken) => Poll::Ready(Some(Err(io::Error::other("cut by the script")))),
        }
    }

    fn size_hint(&self) -> SizeHint {
        let left = self.text.as_ref().map_or(0, |text| text.len() as u64);
        if self.end == BodyEnd::Whole { SizeHint::with_exact(left) } else { SizeHint::new() }
    }
}
