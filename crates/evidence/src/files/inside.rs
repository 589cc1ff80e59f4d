//! Files of a repository, which anybody may have written. A link that stays in the repository is followed. One that leaves it is
//! an error: a checkout must neither show nor change other files of the user.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::files::at::PathError;
use crate::files::bounded::{self, MAX_FILE};
use crate::files::rooted::RootedPath;

pub use crate::files::rooted::{WalkControl, WalkedFile};

/// The place of `path` in the repository at `root`, behind its links. The path is relative, or begins with `root`.
pub fn place(root: &Path, path: &Path) -> io::Result<RootedPath> {
    RootedPath::open(root)?.join(path.strip_prefix(root).unwrap_or(path)).resolved()
}

/// Whether a link leads from `path` out of the repository at `root`. Whoever asks what is behind such a link would see another thing
/// in each copy of the repository.
pub fn leads_out(root: &Path, path: &Path) -> bool {
    matches!(place(root, path), Err(error) if error.kind() == io::ErrorKind::InvalidInput)
}

/// The path of this place, for directories that are walked and files that programs get.
pub fn real(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let place = place(root, path)?;
    let path = place.relative();
    Ok(if path.as_os_str().is_empty() { root.to_path_buf() } else { root.join(path) })
}

/// The content of the regular file at `path`.
pub fn read(root: &Path, path: &Path) -> io::Result<Vec<u8>> {
    place(root, path).and_then(|place| place.read(MAX_FILE)).map_err(|error| of_link(&root.join(path), error))
}

/// The error of reading a file, which says so if it is a link that leads nowhere.
fn of_link(path: &Path, error: io::Error) -> io::Error {
    match fs::read_link(path) {
        Ok(target) if error.kind() == io::ErrorKind::NotFound => {
            io::Error::new(error.kind(), format!("it is a link to {}, which does not exist", target.display()))
        }
        _ => error,
    }
}

/// The text of the regular file at `path`.
pub fn read_text(root: &Path, path: &Path) -> io::Result<String> {
    bounded::utf8(read(root, path)?)
}

/// Writes a file in one step, with the directories above it.
pub fn write(root: &Path, path: &Path, content: &[u8]) -> Result<(), PathError> {
    let place = place(root, path).map_err(|source| PathError { path: root.join(path), source })?;
    place.put(|file| io::Write::write_all(file, content))
}

// Reads what somebody left in a directory, as `rooted` does.

/// Opens the regular file at `path` in the directory `root`. Only the path of `root` itself may go through links.
pub fn open(root: &Path, path: &Path) -> io::Result<File> {
    RootedPath::open(root)?.join(path).file()
}

/// The content of the regular file at `path` in the directory `root`, at most `limit` bytes.
pub fn read_beneath(root: &Path, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    RootedPath::open(root)?.join(path).read(limit)
}

/// Calls `take` for each regular file under the directory `path` of `root`, sorted by name, except in directories that
/// `skip` matches. Returns whether it found all: there may be too many, they may be too deep, or `take` may stop the walk.
pub fn walk_beneath(
    root: &Path,
    path: &Path,
    skip: fn(&OsStr) -> bool,
    take: &mut dyn FnMut(&WalkedFile<'_>) -> WalkControl,
) -> io::Result<bool> {
    Ok(RootedPath::open(root)?.join(path).walk(skip, take)?.is_whole)
}
