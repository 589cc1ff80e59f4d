//! The conversation that a session starts from, as lines of an agent's own session file. The agent continues that session, so
//! the model gets the messages as if it had been there.
//!
//! These lines are not evidence of the trial. They begin as no line of an agent does, and are left out of what is stored.

use std::path::Path;

use serde_json::Value;

use crate::agent::files::write_private;
use crate::agent::trial_env::TrialEnv;
use crate::trace::trouble::Trouble;

/// The start of each line: all of it was said long before any trial.
const START: &str = r#"{"timestamp":"1970-01-01T00:00:00.000Z","#;

/// An id for the session, a UUID: providers may cache by it, so each trial has another one.
pub(super) fn session_id(trial_env: &TrialEnv) -> String {
    let seed = format!("{} {}", trial_env.path().display(), jiff::Timestamp::now());
    let hash = blake3::hash(seed.as_bytes()).to_hex();
    format!("{}-{}-4{}-8{}-{}", &hash[..8], &hash[8..12], &hash[13..16], &hash[17..20], &hash[20..32])
}

/// Writes a session file with these objects, a line each. `head` are the lines before them.
pub(super) fn write(path: &Path, head: &str, lines: impl Iterator<Item = Value>) -> Result<(), Trouble> {
    let lines = lines.map(|line| format!("{START}{}\n", &line.to_string()[1..]));
    let text: String = std::iter::once(head.to_owned()).chain(lines).collect();
    write_private(path, text.as_bytes())
}

/// Whether a line of a session file is of the history.
pub(super) fn is_history(line: &[u8]) -> bool {
    line.starts_with(START.as_bytes())
}
