//! The files of a skill that agents get.

use std::path::Path;

use walkdir::WalkDir;

use crate::cases::case::{ForeignFile, file_formats, foreign_formats};
use crate::cases::catalog::{ARTIFACTS, EVALS};
use crate::cases::repo_files::NoFiles;
use crate::cases::unread::may_hold_foreign_cases;
use crate::files::bounded;
use crate::files::material::Material;

/// The directory of our runs in [`ARTIFACTS`].
const PROGRAM: &str = "skill-evals";

/// How deep in a skill's `evals/` cases are searched.
const MAX_DEPTH: usize = 4;

/// The files in the directory of a skill, without those that belong to its repository: agents would read in files of cases, and
/// in `evals/` next to them, what is expected of them.
pub fn skill_material(folder: &Path) -> Material {
    let mut left_out = vec![".git"];
    left_out.extend(has_cases(folder).then_some(EVALS));
    // A repository may be one skill, whose runs are then in its directory.
    left_out.extend(folder.join(ARTIFACTS).join(PROGRAM).is_dir().then_some(ARTIFACTS));
    let mut material = Material::list_without(folder, &left_out);
    material.files.retain(|file| !is_case_file(folder, &file.path));
    material
}

/// Whether the directory `evals/` of a skill holds cases.
pub fn has_cases(folder: &Path) -> bool {
    let walk = WalkDir::new(folder.join(EVALS)).max_depth(MAX_DEPTH).into_iter().filter_map(Result::ok);
    walk.filter(|entry| !entry.file_type().is_dir())
        .any(|entry| is_case_file(folder, entry.path().strip_prefix(folder).unwrap_or(entry.path())))
}

/// Whether the file at `path` in the directory of a skill holds cases: the search for cases reads it as such.
fn is_case_file(folder: &Path, path: &Path) -> bool {
    if file_formats().any(|(_, files)| files.have(path)) {
        return true;
    }
    let is_searched = path.ancestors().skip(1).all(|parent| may_hold_foreign_cases(parent, false));
    let certainty = foreign_formats().filter_map(|(_, files)| files.match_path(path)).max();
    // What the file names decides nothing here.
    let file = ForeignFile { path, is_certain: false, skill: None, skills: &[], directories: &[], tree: &NoFiles };
    certainty.filter(|_| is_searched).is_some_and(|is_certain| match bounded::read(&folder.join(path)) {
        Ok(bytes) => file.read(&bytes).is_some(),
        Err(_) => is_certain,
    })
}
