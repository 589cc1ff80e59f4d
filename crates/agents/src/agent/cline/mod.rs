//! Cline (`cline --json`).
//!
//! Standard output (`trace.jsonl`) has the conversation. It lacks the list of skills, the states of the MCP servers, the
//! refusals, and how answers end: a script in the trial's environment, `evidence.js`, prints these as lines of the same output.
//! The list has only the skills' names. `session.jsonl` has the version and the model. Lines do not say which agent they are
//! from, so the work of sub-agents counts as its own. Cline continues no session without a terminal.

mod command;
mod lines;
mod login;

use std::path::Path;

use serde_json::{Value, json};

use crate::agent::stream::{FillCommand, FindLogin, JsonLinesAgent, ReadSetup, SlimSession};
use crate::agent::trial_env::TrialEnv;
use crate::files::bounded;
use crate::profile::AgentKind;

#[derive(Debug)]
pub struct Cline;

impl JsonLinesAgent for Cline {
    const KIND: AgentKind = AgentKind::Cline;
    type Reader = lines::ClineLines;
    const ARGUMENTS: &[&str] = &["--json"];
    const LOGIN: FindLogin = login::find;
    const COMMAND: FillCommand = command::fill;
    const SETUP: ReadSetup = |_| {
        let providers = login::without_secrets(login::users_providers()?);
        Ok((login::KEYS.map(str::to_owned).to_vec(), providers.to_string()))
    };

    const SLIM_SESSION: SlimSession = |line, _| Some(line);

    /// From `data/sessions/<id>/<id>.json`.
    fn more_session(trial_env: &TrialEnv) -> Option<Value> {
        let profile = Self::KIND.profile();
        let directory = trial_env.home().join(profile.home).join(profile.sessions);
        let is_session =
            |path: &Path| path.parent().and_then(Path::file_name) == path.file_stem() && path.extension().is_some();
        let file = directory.first(is_session)?;
        let session: Value = serde_json::from_slice(&bounded::read_file(file, bounded::MAX_FILE).ok()?).ok()?;
        let version = session.pointer("/metadata/sessionHistoryOrigin/version")?;
        Some(json!({ "type": "session", "version": version, "model": session["model"] }))
    }

    /// Each piece of an answer has the whole answer so far.
    fn slim(mut line: Value, _: &[&str]) -> Value {
        if let Some(event) = line.get_mut("event").and_then(Value::as_object_mut) {
            event.remove("accumulated");
        }
        line
    }
}
