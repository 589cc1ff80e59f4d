//! The crate from within: what its modules make of texts, traces, numbers and processes.

mod agents;
mod bounds;
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
mod judgments;
mod kinds;
mod offers;
mod parsers;
mod patterns;
mod plugin_evals;
mod process;
mod programs;
mod project;
mod redact;
mod rooted;
mod score;
mod scratch;
mod sentences;
mod settled;
mod shell;
mod stand_in;
mod statistics;
#[path = "../support/mod.rs"]
mod support;
mod verdicts;
mod waza_assertions;
mod work;
