//! Mistral Vibe (`vibe --output=streaming`).
//!
//! Its own lines on standard output (`trace.jsonl`) lack the list of skills, the tokens of requests, the refusals, and what code
//! of the model got to see. Its journals have all that, and it cuts them while it works: a script in the trial's environment,
//! `evidence.py`, prints each of their records in place of these lines.

mod command;
mod lines;
mod login;

use serde_json::Value;

use crate::agent::stream::{FillCommand, FindLogin, JsonLinesAgent, ReadSetup, ResumeSession};
use crate::profile::AgentKind;

#[derive(Debug)]
pub struct Vibe;

impl JsonLinesAgent for Vibe {
    const KIND: AgentKind = AgentKind::Vibe;
    type Reader = lines::VibeLines;
    const ARGUMENTS: &[&str] = &["--output=streaming", "--auto-approve", "--trust"];
    const LOGIN: FindLogin = login::find;
    const COMMAND: FillCommand = command::fill;
    const SETUP: ReadSetup = login::users_setup;
    const RESUME: ResumeSession = |_, args, message| command::resumed(args, message);

    fn slim(line: Value, skills: &[&str]) -> Value {
        lines::slim(line, skills)
    }
}
