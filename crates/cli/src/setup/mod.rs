//! Adds evals to a repository, checks whether they can run, prints jobs that run them in shards, and tries other descriptions of
//! a skill.

pub mod calibrate;
pub mod cluster;
pub mod doctor;
pub mod generate;
pub mod init;
pub mod tune;
