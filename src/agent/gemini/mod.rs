//! Gemini CLI (`gemini --prompt`), measured with version 0.61.0.
//!
//! Standard output (`trace.jsonl`) has the conversation, with what a terminal shows of each call. Two files in its home, kept
//! together (`session.jsonl`), have the rest: its chat what the model saw of each call, and its telemetry, which stays on this
//! machine, the list of skills, the tools, and the tokens, end or error of each request.

mod command;
mod home;
mod lines;
mod login;
mod telemetry;

use std::ffi::OsString;
use std::path::Path;

use serde_json::{Value, json};

use crate::agent::arguments;
use crate::agent::assignment::Assignment;
use crate::agent::command::AgentCommand;
use crate::agent::login::{Login, LoginSources};
use crate::agent::stream::EventStream;
use crate::agent::trial_env::TrialEnv;
use crate::agent::turns::TurnSign;
use crate::lint::SkillList;
use crate::profile::AgentKind;
use crate::settings::Home;
use crate::trace::trouble::Trouble;

/// Not measured yet.
pub const LISTINGS: [SkillList; 0] = [];

#[derive(Debug)]
pub struct Gemini;

impl EventStream for Gemini {
    const KIND: AgentKind = AgentKind::Gemini;

    type Reader = lines::GeminiLines;

    /// `tmp/<project>/chats/session-….jsonl`.
    fn is_session(path: &Path) -> bool {
        path.iter().count() == 3
            && path.extension().is_some_and(|end| end == "jsonl")
            && path.iter().nth(1).is_some_and(|part| part == "chats")
    }

    fn is_evidence(path: &Path) -> bool {
        Self::is_session(path) || path == Path::new(home::TELEMETRY) || path == Path::new(home::PROGRAM)
    }

    fn kept() -> impl FnMut(&[u8]) -> Option<Vec<u8>> {
        let mut values = telemetry::Values::default();
        move |line: &[u8]| values.line(line)
    }

    fn signs(line: &Value) -> Vec<TurnSign> {
        lines::turn_signs(line)
    }

    fn slim_session(line: Value, skills: &[&str]) -> Option<Value> {
        if line.get("attributes").is_some() {
            return Some(telemetry::without_descriptions(line, skills));
        }
        let calls = lines::calls(&line).filter(|call| call.get("result").is_some());
        let calls: Vec<Value> = calls.map(|call| json!({ "id": call["id"], "result": call["result"] })).collect();
        let is_program = line.get("version").is_some();
        is_program.then_some(line).or_else(|| (!calls.is_empty()).then(|| json!({ "toolCalls": calls })))
    }

    fn resumed(args: &[OsString], _: &TrialEnv, message: &str) -> Option<Vec<OsString>> {
        arguments::resumed(args, message, "--resume=")
    }

    fn login(around: &LoginSources<'_>) -> Login {
        login::find(around)
    }

    fn command(assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
        command::command(assignment)
    }

    fn users_setup(setup: Home) -> Result<(Vec<String>, String), Trouble> {
        Ok((login::PROVIDER.map(str::to_owned).to_vec(), home::users_setup(setup)?))
    }
}
