//! The files that the workspace of a case holds when its agent starts.

use std::path::Path;

use crate::cases::case::Case;
use crate::files::material::Material;
use crate::trial::input_file::InputContent;

/// The fixture of `case` and its own files, which win; `None` if its workspace is empty. `root` is the repository's.
pub fn start_files(root: &Path, case: &Case) -> Option<Material> {
    if case.fixture.is_none() && case.files.is_empty() {
        return None;
    }
    let mut material =
        case.fixture.as_ref().map(|fixture| Material::list_in(root, fixture.as_path())).unwrap_or_default();
    for file in &case.files {
        match &file.content {
            InputContent::Text(text) => material.add_text(file.path.as_path(), text),
            InputContent::Source(source) => {
                material.add(file.path.as_path(), root, source.as_path());
            }
        }
    }
    Some(material)
}
