//! The agent's process: asks the model, runs its calls, and prints what happens.

mod conversation;
mod protocols;
mod tools;

use std::error::Error;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, BufRead, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use serde_json::{Value, json};

use super::{ChatApi, ChatSetup, PROGRAM_ARGUMENT};
use crate::agent::skill_list::TAGS;
use crate::profile::AgentKind;
use crate::trace::StopReason;
use crate::trial::input_file::Speaker;
use conversation::{ChatAnswer, Turn};
use protocols::{ANSWER, ModelClient, RequestFailure};
use tools::{LoadableSkill, Tool};

/// Runs as the agent if this process was started as that.
#[expect(clippy::disallowed_methods, reason = "the runner reads it")]
pub fn take_over() -> Option<ExitCode> {
    let mut args = std::env::args_os().skip(1);
    (args.next()? == PROGRAM_ARGUMENT && args.next().is_none()).then(|| match run() {
        Ok(code) => code,
        Err(error) => {
            use std::io::Write;
            // If standard error is closed, the exit code is left.
            let _ = writeln!(io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    })
}

fn run() -> Result<ExitCode, Box<dyn Error>> {
    // Otherwise the model's commands could read the key in this process's memory.
    #[cfg(target_os = "linux")]
    nix::sys::prctl::set_dumpable(false)?;
    let mut lines = io::stdin().lock().lines();
    let mut setup: ChatSetup = serde_json::from_str(&lines.next().ok_or("standard input has no setup")??)?;
    setup.key = setup.key.or_else(|| std::env::var(setup.api.variables().key).ok());
    let mut session = ChatSession::begin(setup)?;
    for line in lines {
        let message: String = serde_json::from_str(&line?)?;
        session.emit("message", &json!({}))?;
        match session.answer(message)? {
            Progress::Answered => session.done()?,
            Progress::Stopped(reason) => {
                session.emit("stopped", &json!({ "reason": reason }))?;
                break;
            }
            Progress::Refused => return Ok(ExitCode::FAILURE),
        }
    }
    Ok(ExitCode::SUCCESS)
}

// A session: each message of the user is answered by as many requests as the model's calls need.

/// The conversation with the model.
struct ChatSession {
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
enum Progress {
    Answered,
    Stopped(StopReason),
    Refused,
}

impl ChatSession {
    /// Prints the first line.
    fn begin(setup: ChatSetup) -> io::Result<Self> {
        let skills = tools::found_skills();
        let tools = tools::offered(&skills, setup.writes);
        let system = system_prompt(&setup, &skills, &tools);
        let turn = |message: &crate::trial::input_file::HistoryMessage| match message.role {
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
    fn done(&mut self) -> io::Result<()> {
        let answers = self.answers;
        self.emit("done", &json!({ "answers": answers }))
    }

    /// Prints a line of this type.
    #[expect(clippy::disallowed_methods, reason = "the runner reads it")]
    fn emit(&mut self, kind: &str, line: &Value) -> io::Result<()> {
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
    fn answer(&mut self, message: String) -> io::Result<Progress> {
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
            ChatApi::Completions => protocols::completions_request(setup, system, turns, tools),
            ChatApi::Responses => protocols::responses_request(setup, system, turns, tools),
            ChatApi::Messages => protocols::messages_request(setup, system, turns, tools),
        };
        let mut pauses = protocols::pauses();
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
                ChatApi::Completions => protocols::read_completion(&self.setup, &body),
                ChatApi::Responses => protocols::read_response(&body),
                ChatApi::Messages => protocols::read_message(&body),
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
    let home = std::env::var_os("HOME").map(PathBuf::from).ok_or_else(|| io::Error::other("HOME is not set"))?;
    let folder = home.join(profile.home).join(profile.sessions);
    fs::create_dir_all(&folder)?;
    File::create(folder.join("session.jsonl"))
}

// The system prompt: the task, the list of skills as agentskills.io describes it, and what the case adds.

const TASK: &str = "You are an agent. Your working directory is the user's workspace. Do what the user asks with the tools that \
                    you have, and then answer.";

const ABOUT_SKILLS: &str = "Skills have instructions for special tasks. If a task fits the description of a skill, first load \
                            the skill with the tool `skill` and then follow its instructions.";

fn system_prompt(setup: &ChatSetup, skills: &[LoadableSkill], tools: &[Tool]) -> String {
    let mut parts = vec![TASK.to_owned()];
    if !setup.has_tools {
        parts.push(tool_list(tools));
    }
    if !skills.is_empty() {
        parts.push(format!("{ABOUT_SKILLS}\n\n{}", skill_list(skills)));
    }
    parts.extend(setup.system_prompt.clone());
    parts.join("\n\n")
}

fn skill_list(skills: &[LoadableSkill]) -> String {
    let mut text = format!("{}\n", TAGS[0]);
    for skill in skills {
        let (name, description) = (escaped(&skill.name), escaped(&skill.description));
        let location = escaped(&skill.location().display().to_string());
        let _ = write!(
            text,
            "<skill>\n<name>{name}</name>\n<description>{description}</description>\n<location>{location}</location>\n\
             </skill>\n"
        );
    }
    text + TAGS[1]
}

/// The tools in words, for a model that is offered none.
fn tool_list(tools: &[Tool]) -> String {
    let mut text =
        "Each of your answers is one action, as JSON: {\"action\":{\"tool\":NAME, …}}. The tools:\n".to_owned();
    for tool in tools {
        let inputs: Vec<String> = tool.properties.iter().map(|(name, about, _)| format!("{name} ({about})")).collect();
        let _ = writeln!(text, "- {}: {}. Inputs: {}", tool.name, tool.about, inputs.join(", "));
    }
    let _ = write!(text, "- {ANSWER}: ends your work. Inputs: text (the answer to the user)");
    text
}

/// A text as XML escapes it.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
