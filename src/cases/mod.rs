//! What users write: skills, cases in both formats, schemas of answers, and the repository that holds them.

pub mod case;
pub mod catalog;
pub mod name;
pub mod repo_files;
pub mod repository;
mod root;
pub mod schema;
pub mod skill;
