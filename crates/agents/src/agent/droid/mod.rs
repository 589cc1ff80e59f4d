//! Droid (`droid exec`).
//!
//! Standard output (`trace.jsonl`) has the conversation. Its session file has the times, the list of skills in the reminders
//! before the first message, and what sub-agents did. Its log has the tokens of each request, and the requests that failed.
//! Both are kept together (`session.jsonl`), of the log only these lines.

mod command;
mod lines;
mod log;
mod login;

use std::path::Path;

use serde_json::{Value, json};

use crate::agent::stream::{FillCommand, FindLogin, JsonLinesAgent, ReadSetup, ReadSigns, ResumeSession, SlimSession};
use crate::agent::trial_env::TrialEnv;
use crate::profile::AgentKind;

/// The name of the log, in the directory of sessions.
const LOG: &str = "droid.log";

/// The key of the session that called a sub-agent.
const CALLER: &str = "callingSessionId";

#[derive(Debug)]
pub struct Droid;

impl JsonLinesAgent for Droid {
    const KIND: AgentKind = AgentKind::Droid;
    type Reader = lines::DroidLines;
    const ARGUMENTS: &[&str] =
        &["exec", "--output-format=stream-json", "--skip-permissions-unsafe", "--disable-builtin-skills"];

    const LOGIN: FindLogin = login::find;
    const COMMAND: FillCommand = command::fill;
    const SETUP: ReadSetup = login::users_setup;
    const SIGNS: ReadSigns = lines::turn_signs;
    const RESUME: ResumeSession = command::resumed;
    const SLIM_SESSION: SlimSession = lines::slim_session;

    /// `<working directory>/<id>.jsonl`.
    fn is_session(path: &Path) -> bool {
        path.iter().count() == 2 && path.extension().is_some_and(|end| end == "jsonl")
    }

    fn is_evidence(path: &Path) -> bool {
        Self::is_session(path) || path == Path::new(LOG)
    }

    fn kept() -> impl FnMut(&[u8]) -> Option<Vec<u8>> {
        let mut log = log::LogReader::default();
        move |line: &[u8]| if line.starts_with(b"{") { Some(line.to_vec()) } else { log.line(line) }
    }

    /// The version, of which Droid says nothing elsewhere.
    fn more_session(trial_env: &TrialEnv) -> Option<Value> {
        let version = trial_env.home().join(".factory/last-startup-version").read(100).ok()?;
        Some(json!({ "type": "program", "version": String::from_utf8_lossy(&version).trim() }))
    }
}
