#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]
//! Results as text: for a terminal, as Markdown, as a test's failure message.
//!
//! Pure: what is shown comes from `skill-evals-results`, and nothing here reads the disk or prints. Text of users and agents is
//! escaped.
//!
//! Read [`paint::Paint`] (colors or none), [`diagnostics`], [`trial_text`] (a trial), [`table`] (a run), [`compared`] (two sides) and
//! [`export::Export`] (a format of results; those that are files are in `skill-evals-exports`).

pub mod calibration;
pub mod columns;
pub mod compared;
pub mod diagnosis;
pub mod diagnostics;
pub mod drift;
pub mod estimate;
pub mod export;
pub mod gate;
pub mod judges;
pub mod listing;
pub mod markdown;
pub mod paint;
pub mod progress;
pub mod rate;
pub mod run_status;
pub mod session;
pub mod show;
pub mod table;
pub mod trial_text;

use skill_evals_cases::{cases, lint};
use skill_evals_evidence::{settings, skill, text, trace, trial};
use skill_evals_results::{results, store};
use skill_evals_stats::{decide, stats};
