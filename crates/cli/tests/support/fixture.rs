//! A repository in a temporary directory, and the program in it.

pub use skill_evals_testing::fixture::{Fixture, temporary};
pub use skill_evals_testing::program::{Args, Ran, ran, run_in};
