//! Adds evals to a repository, checks whether they can run, and prints jobs that run them in shards.

pub mod calibrate;
pub mod cluster;
pub mod doctor;
pub mod generate;
pub mod init;
