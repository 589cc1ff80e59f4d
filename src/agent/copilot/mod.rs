//! GitHub Copilot CLI (`copilot -p`), measured with version 1.0.102.
//!
//! Standard output (`trace.jsonl`) has the conversation, the skills that it loaded and the states of the MCP servers. Its
//! session file (`session.jsonl`) also has its version, the system message with the list of skills, and the tokens of each
//! request.

mod command;
mod lines;
mod login;

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
pub struct Copilot;

impl EventStream for Copilot {
    const KIND: AgentKind = AgentKind::Copilot;

    type Reader = lines::CopilotLines;

    /// `session-state/<id>/events.jsonl`.
    fn is_session(path: &Path) -> bool {
        path.iter().count() == 2 && path.ends_with("events.jsonl")
    }

    fn signs(line: &Value) -> Vec<TurnSign> {
        lines::turn_sign(line).into_iter().collect()
    }

    fn slim_session(line: Value, skills: &[&str]) -> Option<Value> {
        lines::slim_session(&line, skills)
    }

    fn slim(mut line: Value, _: &[&str]) -> Value {
        for skill in line.pointer_mut("/data/skills").and_then(Value::as_array_mut).into_iter().flatten() {
            *skill = json!({ "name": skill["name"], "userInvocable": skill["userInvocable"] });
        }
        line
    }

    fn resumed(args: &[OsString], _: &TrialEnv, message: &str) -> Option<Vec<OsString>> {
        arguments::resumed(args, message, arguments::SESSION)
    }

    fn login(around: &LoginSources<'_>) -> Login {
        login::find(around)
    }

    fn command(assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
        command::command(assignment)
    }

    fn users_setup(_: Home) -> Result<(Vec<String>, String), Trouble> {
        Ok((login::PROVIDER.map(str::to_owned).to_vec(), String::new()))
    }
}
