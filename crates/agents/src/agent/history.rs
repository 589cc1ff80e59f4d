//! The conversation that a session starts from, as lines of an agent's own session file. The agent continues that session, so
//! the model gets the messages as if it had been there.
//!
//! These lines are not evidence of the trial. They have a time that no line of an agent has, and are left out of what is stored.

use serde::Deserialize;
use serde_json::Value;

use crate::agent::files::write_private;
use crate::agent::lenient::Lenient;
use crate::files::rooted::RootedPath;
use crate::trace::trouble::Trouble;

/// The time of each line: all of it was said long before any trial.
const LONG_AGO: &str = "1970-01-01T00:00:00.000Z";

/// Writes a session file with these objects, a line each. `head` are the lines before them.
pub(super) fn write(path: &RootedPath, head: &str, lines: impl Iterator<Item = Value>) -> Result<(), Trouble> {
    let lines = lines.map(|line| format!("{{\"timestamp\":\"{LONG_AGO}\",{}\n", &line.to_string()[1..]));
    let text: String = std::iter::once(head.to_owned()).chain(lines).collect();
    write_private(path, text.as_bytes())
}

/// Whether a line of a session file is of the history.
pub(super) fn is_history(line: &[u8]) -> bool {
    let time = serde_json::from_slice::<Dated>(line).ok().and_then(|line| line.timestamp.0);
    time.as_deref() == Some(LONG_AGO)
}

#[derive(Deserialize)]
struct Dated {
    timestamp: Lenient<String>,
}
