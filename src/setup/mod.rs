//! Adds evals to a repository, checks whether they can run, and tries other descriptions of a skill.

pub mod doctor;
pub mod generate;
#[cfg(feature = "program")]
pub mod init;
pub mod tune;
