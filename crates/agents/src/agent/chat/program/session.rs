//! A session: each message of the user is answered by as many requests as the model's calls need.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::PathBuf;
use std::thread;

use serde_json::{Value, json};

use super::super::setup::{ChatApi, ChatSetup};
use super::conversation::{ChatAnswer, Turn};
use super::http::{ModelClient, RequestFailure};
use super::tools::{self, Tool};
use super::{completions, http, messages, prompt, responses, skills};
use crate::profile::AgentKind;
use crate::trace::StopReason;
use crate::trial::history::Speaker;

/// The conversation with the model.
pub(super) struct ChatSession {
    setup: ChatSetup,
    client: ModelClient,
    system: String,
    tools: Vec<Tool>,
    turns: Vec<Turn>,
    answers: u64,
    /// A copy of the output, by which the run counts turns.
    copy: File,
}

/// How the work on a message ended.
pub(super) enum Progress {
    Answered,
    Stopped(StopReason),
    Refused,
}

impl ChatSession {
    /// Prints the first line.
    pub(super) fn begin(setup: ChatSetup) -> io::Result<Self> {
        let skills = skills::found();
        let tools = tools::offered(&skills, setup.writes);
        let system = prompt::system(&setup, &skills, &tools);
        let turn = |message: &crate::trial::history::HistoryMessage| match message.role {
            Speaker::User => Turn::User(message.content.clone()),
            Speaker::Assistant => Turn::Assistant { text: message.content.clone(), calls: Vec::new() },
        };
        let turns = setup.history.iter().map(turn).collect();
        let (client, copy) = (ModelClient::new(&setup)?, copy()?);
        let first = json!({ "version": env!("CARGO_PKG_VERSION"), "model": setup.model, "system": system });
        let mut session = Self { setup, client, system, tools, turns, answers: 0, copy };
        session.emit("begin", &first)?;
        Ok(session)
    }

    /// Prints that a message was answered. How often the model answered shows whether lines are lost.
    pub(super) fn done(&mut self) -> io::Result<()> {
        let answers = self.answers;
        self.emit("done", &json!({ "answers": answers }))
    }

    /// Prints a line of this type.
    #[expect(clippy::disallowed_methods, reason = "the runner reads it")]
    pub(super) fn emit(&mut self, kind: &str, line: &Value) -> io::Result<()> {
        let mut text = format!("{{\"type\":\"{kind}\",\"timestamp\":\"{}\"", jiff::Timestamp::now());
        for (key, value) in line.as_object().into_iter().flatten() {
            let _ = write!(text, ",{}:{value}", Value::from(key.as_str()));
        }
        text.push_str("}\n");
        self.copy.write_all(text.as_bytes())?;
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        out.flush()
    }

    /// Works on a message until the model answers without a call.
    pub(super) fn answer(&mut self, message: String) -> io::Result<Progress> {
        self.turns.push(Turn::User(message));
        loop {
            if self.setup.max_turns.is_some_and(|most| self.answers >= most) {
                return Ok(Progress::Stopped(StopReason::MaxTurns));
            }
            let mut answer = match self.ask()? {
                Ok(answer) => answer,
                Err(failure) if failure.is_too_long() => return Ok(Progress::Stopped(StopReason::ContextWindow)),
                Err(failure) => {
                    let wait = failure.retry_after.map(|wait| wait.as_secs_f64());
                    self.emit("refused", &failure.described("retry_after_s", wait))?;
                    return Ok(Progress::Refused);
                }
            };
            self.answers += 1;
            answer.name_calls(self.answers);
            self.emit("answer", &shown(&answer))?;
            let ChatAnswer { text, calls, stopped, .. } = answer;
            if let Some(reason) = stopped {
                return Ok(Progress::Stopped(reason));
            }
            self.turns.push(Turn::Assistant { text, calls: calls.clone() });
            if calls.is_empty() {
                return Ok(Progress::Answered);
            }
            let mut results = Vec::new();
            for call in &calls {
                let result = tools::run(call, &self.tools);
                let (id, output) = (&result.id, &result.output);
                let (failed, exit_code) = (result.failed, result.exit_code);
                self.emit(
                    "tool_result",
                    &json!({ "id": id, "output": output, "failed": failed, "exit_code": exit_code }),
                )?;
                results.push(result);
            }
            self.turns.push(Turn::Results(results));
        }
    }

    fn ask(&mut self) -> io::Result<Result<ChatAnswer, RequestFailure>> {
        let Self { setup, system, turns, tools, .. } = &*self;
        let body = match setup.api {
            ChatApi::Completions => completions::request(setup, system, turns, tools),
            ChatApi::Responses => responses::request(setup, system, turns, tools),
            ChatApi::Messages => messages::request(setup, system, turns, tools),
        };
        let mut pauses = http::pauses();
        let answer = loop {
            let failure = match self.client.send(&body) {
                Ok(answer) => break Ok(answer),
                Err(failure) => failure,
            };
            let Some(pause) = failure.pause(pauses.next()) else { break Err(failure) };
            self.emit("retry", &failure.described("wait_s", Some(pause.as_secs_f64())))?;
            thread::sleep(pause);
        };
        let answer = answer.and_then(|body| {
            let read = match self.setup.api {
                ChatApi::Completions => completions::read(&self.setup, &body),
                ChatApi::Responses => responses::read(&body),
                ChatApi::Messages => messages::read(&body),
            };
            read.ok_or_else(|| RequestFailure {
                message: self.client.shown(&format!("the provider's answer is not whole, or not as asked for: {body}")),
                ..RequestFailure::default()
            })
        });
        Ok(answer)
    }
}

fn shown(answer: &ChatAnswer) -> Value {
    let calls: Vec<Value> =
        answer.calls.iter().map(|call| json!({ "id": call.id, "tool": call.tool, "input": call.written() })).collect();
    let mut line = json!({ "usage": answer.usage, "calls": calls });
    if let Some(thought) = &answer.thought {
        line["thought"] = json!(thought);
    }
    if !answer.text.is_empty() {
        line["text"] = json!(answer.text);
    }
    line
}

impl RequestFailure {
    /// The failure as a line, with seconds under this key.
    fn described(&self, key: &str, seconds: Option<f64>) -> Value {
        json!({ "status": self.status, "code": self.code, "message": self.message, key: seconds })
    }
}

/// The session's file in the home of the trial.
fn copy() -> io::Result<File> {
    let profile = AgentKind::Chat.profile();
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let folder = home.join(profile.home).join(profile.sessions);
    fs::create_dir_all(&folder)?;
    File::create(folder.join("session.jsonl"))
}
