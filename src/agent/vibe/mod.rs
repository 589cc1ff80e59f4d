//! Mistral Vibe (`vibe --output=streaming`), measured with version 3.0.3.
//!
//! Its own lines on standard output (`trace.jsonl`) lack the list of skills, the tokens of requests, the refusals, and what code
//! of the model got to see. Its journals have all that, and it cuts them while it works: a script in the trial's environment,
//! `evidence.py`, prints each of their records in place of these lines.

mod command;
mod lines;
mod login;

use std::ffi::OsString;

use serde_json::Value;

use crate::agent::assignment::Assignment;
use crate::agent::command::AgentCommand;
use crate::agent::login::{Login, LoginSources};
use crate::agent::stream::EventStream;
use crate::agent::trial_env::TrialEnv;
use crate::lint::SkillList;
use crate::profile::AgentKind;
use crate::settings::Home;
use crate::trace::trouble::Trouble;

/// Not measured yet.
pub const LISTINGS: [SkillList; 0] = [];

#[derive(Debug)]
pub struct Vibe;

impl EventStream for Vibe {
    const KIND: AgentKind = AgentKind::Vibe;

    type Reader = lines::VibeLines;

    fn slim(line: Value, skills: &[&str]) -> Value {
        lines::slim(line, skills)
    }

    fn resumed(args: &[OsString], _: &TrialEnv, message: &str) -> Option<Vec<OsString>> {
        command::resumed(args, message)
    }

    fn login(around: &LoginSources<'_>) -> Login {
        login::find(around)
    }

    fn command(assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
        command::command(assignment)
    }

    fn users_setup(setup: Home) -> Result<(Vec<String>, String), Trouble> {
        login::users_setup(setup)
    }
}
