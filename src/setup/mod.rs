//! Adds evals to a repository, and checks whether they can run.

pub mod doctor;
pub mod generate;
#[cfg(feature = "program")]
pub mod init;
