//! The directories and links that the next trial finds in an empty trial environment.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

/// A directory or a link of a prepared trial environment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PreparedPath {
    path: PathBuf,
    mode: u32,
    target: Option<PathBuf>,
}

impl PreparedPath {
    fn read(path: &Path) -> Option<Self> {
        let metadata = fs::symlink_metadata(path).ok()?;
        let target = if metadata.is_symlink() { Some(fs::read_link(path).ok()?) } else { None };
        let (path, mode) = (path.to_path_buf(), metadata.permissions().mode());
        (metadata.is_dir() || target.is_some()).then_some(Self { path, mode, target })
    }
}

/// Removes everything in `directory` except these paths. Returns whether that succeeded and they are all unchanged.
pub(super) fn clear_except(directory: &Path, prepared: &[PreparedPath]) -> bool {
    let mut unchanged = 0;
    for entry in WalkDir::new(directory).min_depth(1).contents_first(true) {
        let Ok(entry) = entry else { return false };
        if prepared.iter().any(|known| known.path == entry.path()) {
            if !PreparedPath::read(entry.path()).is_some_and(|path| prepared.contains(&path)) {
                return false;
            }
            unchanged += 1;
            continue;
        }
        let is_directory = entry.file_type().is_dir();
        let removed = if is_directory { fs::remove_dir(entry.path()) } else { fs::remove_file(entry.path()) };
        if removed.is_err() {
            return false;
        }
    }
    unchanged == prepared.len()
}

/// Every directory and link in `directory`, except what is in the directory `except` there.
pub(super) fn all_in(directory: &Path, except: Option<&str>) -> Vec<PreparedPath> {
    let entries = WalkDir::new(directory).min_depth(1).into_iter();
    let entries =
        entries.filter_entry(|entry| entry.depth() != 1 || except.is_none_or(|name| entry.file_name() != name));
    entries.flatten().filter_map(|entry| PreparedPath::read(entry.path())).collect()
}
