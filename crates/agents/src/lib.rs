#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]
//! Agents: how they are started, where they run, and what they say.
//!
//! Only [`process`] starts programs. What a repository names, or an agent's program, starts in a trial's room or not at all. No
//! other crate names a vendor. Nothing here plans, grades or stores.
//!
//! Read [`agent::Agent`] (one agent), `agent::trial_env` (its room), [`process::Start`] (a program and its place), [`mcp`] (the
//! server that offers skills) and [`mock`] (commands that are answered from files). The features
//! `mcp`, `chat` and `door` bring the server, the HTTP client of our own agent, and a limited network.

pub mod agent;
pub mod mcp;
pub mod mock;
pub mod process;

use skill_evals_cases::{cases, checks, lint};
use skill_evals_evidence::{files, profile, settings, skill, text, trace, trial, wire};
