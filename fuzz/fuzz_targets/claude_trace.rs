//! A session, an event stream and the sub-agents of claude, of any bytes, separated by NUL bytes: see `decode`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use skill_evals::settings::mode::AgentKind;
use skill_evals_fuzz::trace;

fuzz_target!(|bytes: &[u8]| trace::decode(
    AgentKind::ClaudeCli,
    ["session.jsonl", "trace.jsonl", "subagents.jsonl"],
    bytes
));
