#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]
//! What users write: cases in every format, and the verdict of a trial.
//!
//! It reads repositories and never writes them. It starts no program: checks by scripts are answered by a caller. Grading is a pure
//! function of the evidence.
//!
//! Read [`cases::repository::Repository`] (a directory with skills and cases), [`cases::catalog::Catalog`] (all of them, read),
//! [`cases::case::Case`] and [`cases::case::FORMATS`], [`checks::CaseCheck`] and [`checks::KINDS`], then [`lint`] (what is wrong before
//! a run) and [`grade`] (the verdict after it).

pub mod cases;
pub mod checks;
pub mod grade;
pub mod lint;

use skill_evals_evidence::{files, profile, settings, skill, text, trace, trial};
use skill_evals_stats::{decide, stats};
