#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]
//! Statistics of trials, and decisions about two sides.
//!
//! Everything here is a pure function of numbers: no disk, no clock, no environment, no agent. Each function names its formula and
//! its source, and is held against reference values. Random numbers come from the caller's seed.
//!
//! Read [`stats::proportion`] (a share and its interval), [`stats::difference`] and [`stats::mean`] (two sides), [`stats::sequence`]
//! (evidence that may be looked at after every trial), then [`decide::fixed`] and [`decide::sequential`] (broke, worse, better, no
//! worse), and [`decide::plan`] (which pair of trials is next).

#[macro_use]
mod word_enum;
pub mod decide;
pub mod stats;
