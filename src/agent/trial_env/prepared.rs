//! What an empty room consists of: the folders and links that the next trial of its kind finds.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

/// A folder or a link of a prepared room.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PreparedPath {
    path: PathBuf,
    mode: u32,
    target: Option<PathBuf>,
}

/// Removes everything below `folder` but these pieces. Returns whether that went well and all pieces are as they were.
pub(super) fn clear_all_but(folder: &Path, pieces: &[PreparedPath]) -> bool {
    let mut found = 0;
    for entry in WalkDir::new(folder).min_depth(1).contents_first(true) {
        let Ok(entry) = entry else { return false };
        let is_folder = entry.file_type().is_dir();
        if pieces.iter().any(|piece| piece.path == entry.path()) {
            let same = PreparedPath::read(entry.path()).is_some_and(|piece| pieces.contains(&piece));
            if !same {
                return false;
            }
            found += 1;
            continue;
        }
        let removed = if is_folder { fs::remove_dir(entry.path()) } else { fs::remove_file(entry.path()) };
        if removed.is_err() {
            return false;
        }
    }
    found == pieces.len()
}

impl PreparedPath {
    /// The folder or link at `path`.
    fn read(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        let target = if found.is_symlink() { Some(fs::read_link(path).ok()?) } else { None };
        let (path, mode) = (path.to_path_buf(), found.permissions().mode());
        (found.is_dir() || target.is_some()).then_some(Self { path, mode, target })
    }
}

/// Every folder and link below `folder`, but for the folder `aside` in it, where one is named.
pub(super) fn all_below(folder: &Path, aside: Option<&str>) -> Vec<PreparedPath> {
    let below = WalkDir::new(folder).min_depth(1).into_iter();
    let below = below
        .filter_entry(|entry| entry.depth() != 1 || aside.is_none_or(|aside| entry.file_name() != aside))
        .flatten();
    below.filter_map(|entry| PreparedPath::read(entry.path())).collect()
}
