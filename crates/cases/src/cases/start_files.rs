//! The files that the workspace of a case holds when its agent starts.

use std::path::{Path, PathBuf};

use crate::cases::case::Case;
use crate::cases::catalog::evals_folder;
use crate::files::material::Material;
use crate::trial::input_file::InputContent;

/// The fixture of `case` and its own files, which win; `None` if its workspace is empty. `root` is the repository's.
pub fn start_files(root: &Path, case: &Case) -> Option<Material> {
    let fixture = case.fixture.as_ref().map(|fixture| evals_folder(&case.skill).join(fixture.as_path()));
    if fixture.is_none() && case.files.is_empty() {
        return None;
    }
    let mut material = fixture.map(|fixture| Material::list_in(root, &fixture)).unwrap_or_default();
    for file in &case.files {
        match &file.content {
            InputContent::Text(text) => material.add_text(file.path.as_path(), text),
            InputContent::Source(source) | InputContent::Near(source) => {
                material.add(file.path.as_path(), root, source.as_path());
            }
        }
    }
    Some(material)
}

/// The files and directories of the repository that are copied for the agent of `case`, in its root.
pub fn sources(case: &Case) -> impl Iterator<Item = PathBuf> {
    let fixture = case.fixture.iter().map(|fixture| evals_folder(&case.skill).join(fixture.as_path()));
    let files = case.files.iter().filter_map(|file| match &file.content {
        InputContent::Text(_) => None,
        InputContent::Source(source) | InputContent::Near(source) => Some(source.as_path().to_path_buf()),
    });
    let changes = case.during.iter().filter_map(|change| Some(change.folder.as_ref()?.as_path().to_path_buf()));
    fixture.chain(files).chain(changes)
}
