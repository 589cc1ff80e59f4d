//! Kimi Code (`kimi --output-format=stream-json`), measured with version 2.1.0.
//!
//! Standard output (`trace.jsonl`) has the conversation. Its session files (`session.jsonl`), one for each agent, have what the
//! output lacks: the list of skills in the system prompt, the times, the thoughts, the tokens, which calls failed, the texts of
//! loaded skills, what sub-agents did, and why a turn ended.

mod command;
mod lines;
mod login;
mod session;

use std::ffi::OsString;
use std::path::Path;

use serde_json::{Value, json};

use crate::agent::assignment::Assignment;
use crate::agent::command::AgentCommand;
use crate::agent::login::{Login, LoginSources};
use crate::agent::stream::EventStream;
use crate::agent::trial_env::TrialEnv;
use crate::agent::turns::TurnSign;
use crate::files::below;
use crate::lint::SkillList;
use crate::profile::AgentKind;
use crate::settings::Home;
use crate::trace::trouble::Trouble;

/// Not measured yet.
pub const LISTINGS: [SkillList; 0] = [];

/// The file with the MCP servers, in the trial's home.
const SERVERS: &str = ".kimi-code/mcp.json";

/// The agent that has the conversation with the user, by its id.
const MAIN: &str = "main";

#[derive(Debug)]
pub struct Kimi;

impl EventStream for Kimi {
    const KIND: AgentKind = AgentKind::Kimi;

    type Reader = lines::KimiLines;

    /// `<working directory>/<id>/agents/main/wire.jsonl`.
    fn is_session(path: &Path) -> bool {
        Self::is_evidence(path) && path.iter().nth(3).is_some_and(|agent| agent == MAIN)
    }

    /// Sub-agents have such a file, too.
    fn is_evidence(path: &Path) -> bool {
        path.iter().count() == 5 && path.file_name().is_some_and(|name| name == "wire.jsonl")
    }

    /// The names of the MCP servers: Kimi Code notes only those that it reached.
    fn more_session(trial_env: &TrialEnv) -> Option<Value> {
        let text = below::read(&trial_env.home(), Path::new(SERVERS), 1_000_000).ok()?;
        let file: Value = serde_json::from_slice(&text).ok()?;
        let names: Vec<&String> = file["mcpServers"].as_object()?.keys().collect();
        Some(json!({ "type": "servers", "names": names }))
    }

    fn signs(line: &Value) -> Vec<TurnSign> {
        session::turn_signs(line)
    }

    fn slim_session(line: Value, skills: &[&str]) -> Option<Value> {
        session::slim(line, skills)
    }

    fn resumed(args: &[OsString], trial_env: &TrialEnv, message: &str) -> Option<Vec<OsString>> {
        command::resumed(args, trial_env, message)
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
