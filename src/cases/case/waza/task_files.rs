//! The files that another file names by patterns of their paths.

use std::path::{Component, Path, PathBuf};

use globset::GlobBuilder;

use crate::cases::case::ForeignFile;
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::text::relative_path::resolved;

/// Maximum number of paths that one pattern may name.
const MOST_PATHS: usize = 10_000;

/// Characters with a meaning of their own in a pattern.
const SIGNS: [char; 3] = ['*', '?', '['];

/// The files that `pattern` names, relative to the directory of `file`, sorted. Each part of a pattern stands for one name.
pub(super) fn named(pattern: &str, file: &ForeignFile<'_>) -> Result<Vec<PathBuf>, String> {
    let folder = file.path.parent().unwrap_or(Path::new(""));
    let path = resolved(&folder.join(pattern)).ok_or("is absolute, or leaves the repository")?;
    let mut paths = vec![PathBuf::new()];
    for part in path.components().filter_map(|part| match part {
        Component::Normal(name) => name.to_str(),
        _ => None,
    }) {
        if part.contains(SIGNS) {
            paths = matching(part, &paths, file.tree)?;
        } else {
            for path in &mut paths {
                path.push(part);
            }
        }
    }
    // A directory is not a case.
    paths.retain(|path| matches!(file.tree.kind(path), FileKind::File | FileKind::Symlink));
    Ok(paths)
}

/// The paths in these directories whose last part matches.
fn matching(part: &str, folders: &[PathBuf], tree: &dyn RepoFiles) -> Result<Vec<PathBuf>, String> {
    // Braces are nothing special there.
    let glob: String = part.chars().map(|c| if "{}".contains(c) { format!("[{c}]") } else { c.to_string() }).collect();
    let glob = GlobBuilder::new(&glob).literal_separator(true).build();
    let glob = glob.map_err(|error| format!("is not a pattern: {}", error.kind()))?.compile_matcher();
    let mut paths = Vec::new();
    for folder in folders {
        // Only a directory holds names.
        for name in tree.names(folder).unwrap_or_default() {
            if glob.is_match(&name) {
                paths.push(folder.join(name));
            }
        }
        if paths.len() > MOST_PATHS {
            return Err(format!("names more than {MOST_PATHS} paths"));
        }
    }
    Ok(paths)
}
