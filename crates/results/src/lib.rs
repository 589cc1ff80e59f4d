#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]
//! Artifacts and recordings on disk, and results of runs as data.
//!
//! Only [`store`] knows the layout of files, and what it has written is whole or absent. [`results`] computes and prints nothing.
//!
//! Read [`store::RunFolder`] and [`store::TrialFolder`] (what a run leaves), [`results::summary::Summary`] (what came of it),
//! [`results::side_results`] and [`results::stored_comparison`] (two runs beside each other), and [`results::timeline`] (one
//! trial, event by event).

pub mod results;
pub mod store;

use skill_evals_agents::process;
use skill_evals_cases::{cases, checks, grade};
use skill_evals_evidence::{files, profile, settings, skill, text, trace, trial};
use skill_evals_stats::{decide, stats};
