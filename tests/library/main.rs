//! The crate from within: what its modules make of texts, traces, numbers and processes.

mod agents;
mod check_list;
mod claude_traces;
mod codex_traces;
mod comparison;
mod described;
mod documents;
mod exposure;
mod exposure_corpus;
mod foreign_assertions;
mod fuzz_seeds;
mod grade;
mod parsers;
mod process;
mod project;
mod redact;
mod score;
mod settled;
mod shell;
mod stand_in;
mod statistics;
#[path = "../support/mod.rs"]
mod support;
mod waza_assertions;
mod work;
