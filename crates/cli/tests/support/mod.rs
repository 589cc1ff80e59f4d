//! What the test programs share. Each uses its own part.
#![allow(dead_code, unused_imports, reason = "every test program uses its own part of this")]

pub mod catalogue;
pub mod comments;
pub mod downstream;
pub mod examples;
pub mod fake_codex;
pub mod fixture;
pub mod harness;
pub mod live;
pub mod lsp;
pub mod machine;
pub mod one_agent;
pub mod page;
pub mod prompt_cache;
pub mod pull_requests;
pub mod real;
pub mod stand_in;
pub mod stored;
pub mod stub;

pub use skill_evals_testing::repository;
