//! The files that another file names by patterns of their paths.

use std::path::{Component, Path, PathBuf};

use globset::GlobBuilder;

use crate::cases::repo_files::{FileKind, RepoFiles};

/// Maximum number of paths that one pattern may name.
const MOST_PATHS: usize = 10_000;

/// Characters with a meaning of their own in a pattern.
const SIGNS: [char; 3] = ['*', '?', '['];

/// The part of a pattern that stands for any directories.
const ANY_DEPTH: &str = "**";

/// The rules of patterns, which differ between programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathPatterns {
    /// Those of Go: each part stands for one name.
    Go,
    /// Those of Node: also `**` and `{a,b}`. A hidden file is named only by a part with its dot.
    Node,
}

impl PathPatterns {
    /// The files that `pattern` names, relative to this directory, sorted. Some may not be readable.
    pub fn files(self, pattern: &str, directory: &Path, tree: &dyn RepoFiles) -> Result<Vec<PathBuf>, String> {
        let mut paths = vec![directory.to_path_buf()];
        for part in Path::new(pattern).components() {
            let part = match part {
                Component::CurDir => continue,
                Component::ParentDir if paths.iter_mut().all(PathBuf::pop) => continue,
                Component::Normal(name) => name.to_str().unwrap_or_default(),
                _ => return Err("is absolute, or leaves the repository".to_owned()),
            };
            if self == Self::Node && part == ANY_DEPTH {
                paths = inside(paths, tree)?;
            } else if part.contains(SIGNS) || self == Self::Node && part.contains('{') {
                paths = self.matching(part, &paths, tree)?;
            } else {
                for path in &mut paths {
                    path.push(part);
                }
            }
        }
        // A directory is not a case.
        paths.retain(|path| !matches!(tree.kind(path), FileKind::Folder | FileKind::Missing));
        paths.sort();
        paths.dedup();
        Ok(paths)
    }

    /// The paths in these directories whose last part matches.
    fn matching(self, part: &str, folders: &[PathBuf], tree: &dyn RepoFiles) -> Result<Vec<PathBuf>, String> {
        let literal = |c: char| self == Self::Go && "{}".contains(c);
        let glob: String = part.chars().map(|c| if literal(c) { format!("[{c}]") } else { c.to_string() }).collect();
        let glob = GlobBuilder::new(&glob).literal_separator(true).build();
        let glob = glob.map_err(|error| format!("is not a pattern: {}", error.kind()))?.compile_matcher();
        let sees = |name: &str| self == Self::Go || !name.starts_with('.') || part.starts_with('.');
        let mut paths = Vec::new();
        for folder in folders {
            // Only a directory holds names.
            for name in tree.names(folder).unwrap_or_default() {
                if glob.is_match(&name) && sees(&name.to_string_lossy()) {
                    paths.push(folder.join(name));
                }
            }
            not_too_many(&paths)?;
        }
        Ok(paths)
    }
}

/// These directories and all in them. Those that are hidden or behind a link are not searched.
fn inside(mut folders: Vec<PathBuf>, tree: &dyn RepoFiles) -> Result<Vec<PathBuf>, String> {
    if folders.iter().any(|folder| tree.kind(folder) == FileKind::Symlink) {
        return Err(format!("has `{ANY_DEPTH}` behind a link"));
    }
    let mut next = 0;
    while let Some(folder) = folders.get(next).cloned() {
        next += 1;
        let names = tree.names(&folder).unwrap_or_default();
        let seen = names.into_iter().filter(|name| !name.to_string_lossy().starts_with('.'));
        folders.extend(seen.map(|name| folder.join(name)).filter(|path| tree.kind(path) == FileKind::Folder));
        not_too_many(&folders)?;
    }
    Ok(folders)
}

fn not_too_many(paths: &[PathBuf]) -> Result<(), String> {
    if paths.len() > MOST_PATHS { Err(format!("names more than {MOST_PATHS} paths")) } else { Ok(()) }
}
