//! What users write: skills, cases in both formats, schemas of answers, and the repository that holds them.

pub mod case;
mod case_finder;
pub mod catalog;
mod layout;
pub mod repo_files;
pub mod repository;
mod root;
pub mod rust_case;
pub mod selection;
pub mod skill_material;
pub mod skills;
pub mod start_files;
pub mod test_case;
mod unread;
