//! Gemini CLI (`gemini --prompt`).
//!
//! Standard output (`trace.jsonl`) has the conversation, with what a terminal shows of each call. Two files in its home, kept
//! together (`session.jsonl`), have the rest: its chat what the model saw of each call, and its telemetry, which stays on this
//! machine, the list of skills, the tools, and the tokens, end or error of each request.

mod command;
mod home;
mod lines;
mod login;
mod telemetry;

use std::path::Path;

use serde_json::{Value, json};

use crate::agent::arguments;
use crate::agent::stream::{FillCommand, FindLogin, JsonLinesAgent, ReadSetup, ReadSigns, ResumeSession, SlimSession};
use crate::agent::trial_env::TrialEnv;
use crate::profile::AgentKind;

#[derive(Debug)]
pub struct Gemini;

impl JsonLinesAgent for Gemini {
    const KIND: AgentKind = AgentKind::Gemini;
    type Reader = lines::GeminiLines;

    // An eval has no user to ask: neither for consent to a skill nor for trust in the workspace.
    const ARGUMENTS: &[&str] = &["--output-format=stream-json", "--approval-mode=yolo", "--skip-trust"];
    const LOGIN: FindLogin = login::find;
    const COMMAND: FillCommand = command::fill;
    const SETUP: ReadSetup = |setup| Ok((login::PROVIDER.map(str::to_owned).to_vec(), home::users_setup(setup)?));
    const SIGNS: ReadSigns = lines::turn_signs;
    const RESUME: ResumeSession = |_, args, message| arguments::resumed(args, message, "--resume=");

    /// `tmp/<project>/chats/session-….jsonl`.
    fn is_session(path: &Path) -> bool {
        path.iter().count() == 3
            && path.extension().is_some_and(|end| end == "jsonl")
            && path.iter().nth(1).is_some_and(|part| part == "chats")
    }

    fn is_evidence(path: &Path) -> bool {
        Self::is_session(path) || path == Path::new(home::TELEMETRY)
    }

    fn more_session(trial_env: &TrialEnv) -> Option<Value> {
        home::program(trial_env)
    }

    fn kept() -> impl FnMut(&[u8]) -> Option<Vec<u8>> {
        let mut values = telemetry::Values::default();
        move |line: &[u8]| values.line(line)
    }

    const SLIM_SESSION: SlimSession = |line, skills| {
        if line.get("attributes").is_some() {
            return Some(telemetry::without_descriptions(line, skills));
        }
        let calls = lines::calls(&line).filter(|call| call.get("result").is_some());
        let calls: Vec<Value> = calls.map(|call| json!({ "id": call["id"], "result": call["result"] })).collect();
        let is_program = line.get("version").is_some();
        is_program.then_some(line).or_else(|| (!calls.is_empty()).then(|| json!({ "toolCalls": calls })))
    };
}
