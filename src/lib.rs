#![forbid(unsafe_code)]
//! Evals of agent skills as ordinary Rust tests.
pub mod case;
pub mod catalog;
pub mod diagnostic;
pub mod discovery;
pub mod lint;
pub mod mode;
pub mod outcome;
pub mod plan;
pub mod relative_path;
pub mod report;
pub mod skill;
pub mod trace;
pub mod tree;
