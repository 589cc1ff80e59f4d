#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]
//! The program `skill-evals`: reads its arguments, calls the other crates, prints.
//!
//! Only this crate prints to standard output and decides exit codes. It has no API for others: what a Rust program needs is in the
//! crate `skill-evals`.
//!
//! Read [`cli`] (one file for each command), [`setup`] (what `init`, `doctor` and `generate` do) and [`stand_in`] (the scripted model
//! of `doctor --calibrate`, which tests use too).

pub mod cli;
pub mod setup;
pub mod stand_in;

use skill_evals::{engine, harness, run};
use skill_evals_agents::{agent, mcp, process};
use skill_evals_cases::{cases, grade, lint};
use skill_evals_evidence::{files, profile, settings, skill, text, trace, trial};
use skill_evals_exports as exports;
use skill_evals_report as report;
use skill_evals_results::{results, store};
use skill_evals_stats::decide;
