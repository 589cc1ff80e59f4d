#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]
//! What a trial leaves and what it is about: the vocabulary of all other crates.
//!
//! It starts no program and knows no case format. Only [`files`] reads and writes, within one directory that is entered by a
//! descriptor. The rest is data and pure functions.
//!
//! Read [`skill::Skill`] (what is tested), [`profile::Profile`] and [`settings::mode::Mode`] (by which agent, and how it gets the
//! skill), [`trial::id::TrialId`], [`Trace`](trace::Trace) (what happened), [`trial::evidence::Evidence`] (what is graded),
//! [`trial::outcome::Outcome`] (what came of it) and [`text::diagnostic::Diagnostic`] (what is wrong in a user's file, and where).

pub mod files;
pub mod profile;
pub mod settings;
pub mod skill;
pub mod text;
pub mod trace;
pub mod trial;
pub mod wire;

use skill_evals_stats::{decide, stats};
