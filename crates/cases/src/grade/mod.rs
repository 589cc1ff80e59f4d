//! Decides the verdict of a trial from its evidence alone. Reads no disk and starts nothing.
#![allow(clippy::must_use_candidate, reason = "hidden from users")]

pub mod checks;
mod delivered;
pub mod general;
pub mod rubric;
pub mod session;
pub mod user;
pub mod verdict;
