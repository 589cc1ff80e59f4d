//! What users write: skills, cases in both formats, and the repository that holds them.

pub mod case;
pub mod catalog;
pub mod name;
pub mod repo_files;
pub mod repository;
pub mod skill;
