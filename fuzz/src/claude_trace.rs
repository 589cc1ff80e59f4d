//! A session, an event stream and the sub-agents of claude, of any bytes, separated by NUL bytes: see `decode`.

use super::trace;
use skill_evals_evidence::settings::mode::AgentKind;

/// Tries one input.
pub fn run(bytes: &[u8]) {
    trace::decode(AgentKind::ClaudeCli, ["session.jsonl", "trace.jsonl", "subagents.jsonl"], bytes);
}
