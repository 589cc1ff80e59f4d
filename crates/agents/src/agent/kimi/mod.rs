//! Kimi Code (`kimi --output-format=stream-json`).
//!
//! Standard output (`trace.jsonl`) has the conversation. Its session files (`session.jsonl`), one for each agent, have what the
//! output lacks: the list of skills in the system prompt, the times, the thoughts, the tokens, which calls failed, the texts of
//! loaded skills, what sub-agents did, and why a turn ended.

mod command;
mod lines;
mod login;
mod session;

use std::path::Path;

use serde_json::{Value, json};

use crate::agent::stream::{FillCommand, FindLogin, JsonLinesAgent, ReadSetup, ReadSigns, ResumeSession, SlimSession};
use crate::agent::trial_env::TrialEnv;
use crate::profile::AgentKind;

/// The file with the MCP servers, in the trial's home.
const SERVERS: &str = ".kimi-code/mcp.json";

/// The agent that has the conversation with the user, by its id.
const MAIN: &str = "main";

#[derive(Debug)]
pub struct Kimi;

impl JsonLinesAgent for Kimi {
    const KIND: AgentKind = AgentKind::Kimi;
    type Reader = lines::KimiLines;
    const ARGUMENTS: &[&str] = &["--output-format=stream-json"];
    const LOGIN: FindLogin = login::find;
    const COMMAND: FillCommand = command::fill;
    const SETUP: ReadSetup = login::users_setup;
    const SIGNS: ReadSigns = session::turn_signs;
    const RESUME: ResumeSession = command::resumed;
    const SLIM_SESSION: SlimSession = session::slim;

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
        let text = trial_env.home().join(SERVERS).read(1_000_000).ok()?;
        let file: Value = serde_json::from_slice(&text).ok()?;
        let names: Vec<&String> = file["mcpServers"].as_object()?.keys().collect();
        Some(json!({ "type": "servers", "names": names }))
    }
}
