//! What users write: skills, cases in both formats, schemas of answers, and the repository that holds them.

mod candidate;
pub mod case;
mod case_finder;
pub(crate) mod case_folders;
pub mod case_parts;
pub mod case_places;
pub mod case_tree;
pub mod catalog;
pub mod judge_files;
mod layout;
mod manifests;
pub mod mocks;
pub mod other_skill;
mod other_skills;
pub mod plugin;
pub mod program_content;
pub mod repo_files;
pub mod repository;
mod root;
pub mod rust_case;
pub mod selection;
mod skill_index;
pub mod skill_material;
pub mod skills;
pub mod start_files;
pub mod test_case;
mod unread;
