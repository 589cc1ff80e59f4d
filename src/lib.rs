#![forbid(unsafe_code)]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]
//! Evals of agent skills as ordinary Rust tests.
pub mod agent;
pub mod case;
pub mod catalog;
pub mod config;
pub mod delivery;
pub mod diagnostic;
pub mod discovery;
pub mod engine;
pub mod event;
pub mod evidence;
pub mod grade;
pub mod harness;
pub mod inputs;
pub mod lines;
pub mod lint;
pub mod mode;
pub mod outcome;
pub mod own_check;
pub mod plan;
pub mod process;
pub mod recording;
pub mod redact;
pub mod relative_path;
pub mod report;
pub mod run;
pub mod selection;
pub mod settings;
pub mod skill;
pub mod store;
pub mod stubs;
pub mod trace;
pub mod tree;
pub mod trial;
pub mod trouble;
pub mod workspace;
