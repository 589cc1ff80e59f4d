//! A rollout, an event stream and the sub-agents of codex, of any bytes, separated by NUL bytes: see `decode`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use skill_evals::settings::mode::AgentKind;
use skill_evals_fuzz::trace;

fuzz_target!(|bytes: &[u8]| trace::decode(
    AgentKind::Codex,
    ["rollout.jsonl", "trace.jsonl", "subagents.jsonl"],
    bytes
));
