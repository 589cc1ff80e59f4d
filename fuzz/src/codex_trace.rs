//! A rollout, an event stream and the sub-agents of codex, of any bytes, separated by NUL bytes: see `decode`.

use super::trace;
use skill_evals_evidence::settings::mode::AgentKind;

/// Tries one input.
pub fn run(bytes: &[u8]) {
    trace::decode(AgentKind::Codex, ["rollout.jsonl", "trace.jsonl", "subagents.jsonl"], bytes);
}
