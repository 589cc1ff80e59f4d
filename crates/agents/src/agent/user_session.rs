//! A session of the user's own machine, read from the file in which an agent keeps it.

use serde_json::Value;

/// What a session file shows of the chosen prompts.
#[derive(Debug, Default, PartialEq)]
pub struct UserSession {
    /// What the user asked, in order: of the whole session. `None` is a prompt that could not be read.
    pub prompts: Vec<Option<String>>,
    /// Whether a line up to the end of the chosen prompt could not be read. It may be a prompt: then the chosen one is not known.
    pub is_unclear: bool,
    /// The directory in which the agent worked.
    pub folder: Option<String>,
    /// When the first chosen prompt was written.
    pub started: Option<String>,
    pub version: Option<String>,
    pub model: Option<String>,
    /// The lines of the agent's own session file that count.
    pub session: Vec<Value>,
    /// The same as the events that the agent prints in a trial.
    pub events: Vec<Value>,
    /// The lines of sub-agents.
    pub sub_agents: Vec<Value>,
}

/// The text of a prompt could not be read.
#[derive(Debug, PartialEq)]
pub(super) struct UnreadPrompt;

/// Whether some of these lines are not known: of no type, or not even JSON.
pub(super) fn has_unread(lines: &[Value]) -> bool {
    lines.iter().any(|line| !line["type"].is_string())
}

/// The place of the lines of the chosen prompt, of all without a choice. `starts` has the place of each prompt's first line.
pub(super) fn chosen(starts: &[usize], end: usize, turn: Option<usize>) -> std::ops::Range<usize> {
    let Some(turn) = turn else { return starts.first().copied().unwrap_or(end)..end };
    let at = |turn: usize| starts.get(turn).copied().unwrap_or(end);
    at(turn.saturating_sub(1))..at(turn)
}
