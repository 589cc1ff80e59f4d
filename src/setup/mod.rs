//! Brings evals into a repository, and says what is missing for them to run.

pub mod doctor;
pub mod generate;
#[cfg(feature = "program")]
pub mod init;
