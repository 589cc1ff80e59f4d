//! What users write: skills, cases in every format, schemas of answers, and the repository that holds them.

mod candidate;
pub mod case;
mod case_finder;
pub(crate) mod case_folders;
pub mod case_parts;
pub mod case_places;
mod cases_in_markdown;
pub mod catalog;
pub mod census;
mod layout;
pub mod mocks;
pub mod other_skill;
pub mod plugin;
pub mod repo_files;
pub mod repository;
mod root;
pub mod selection;
pub mod skill_material;
pub mod skills;
mod unread;
mod unread_settings;
mod work_tree;
