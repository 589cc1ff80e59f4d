//! The files of a skill that agents get.

use std::path::Path;

use walkdir::WalkDir;

use crate::cases::case::{file_formats, foreign_formats};
use crate::cases::catalog::{ARTIFACTS, EVALS};
use crate::files::material::Material;

/// The directory of our runs in [`ARTIFACTS`].
const PROGRAM: &str = "skill-evals";

/// How deep in a skill's `evals/` cases are searched.
const MAX_DEPTH: usize = 4;

/// The files in the directory of a skill, without those that belong to its repository: agents would
/// read in `evals/` what is expected of them.
pub fn skill_material(folder: &Path) -> Material {
    let mut left_out = vec![".git"];
    left_out.extend(has_cases(folder).then_some(EVALS));
    // A repository may be one skill, whose runs are then in its directory.
    left_out.extend(folder.join(ARTIFACTS).join(PROGRAM).is_dir().then_some(ARTIFACTS));
    Material::list_without(folder, &left_out)
}

/// Whether the directory `evals/` of a skill holds cases, by the names of its files: those that one process reads as cases, another
/// may not look at.
pub fn has_cases(folder: &Path) -> bool {
    let walk = WalkDir::new(folder.join(EVALS)).max_depth(MAX_DEPTH).into_iter().filter_map(Result::ok);
    walk.filter(|entry| entry.file_type().is_file()).any(|entry| {
        let path = entry.path().strip_prefix(folder).unwrap_or(entry.path());
        foreign_formats().any(|(_, files)| files.match_path(path) == Some(true))
            || file_formats().any(|(_, files)| files.have(path))
    })
}
