//! Reads what somebody left in a directory, as [`rooted`](super::rooted) does.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::Path;

use crate::files::rooted::RootedPath;
pub use crate::files::rooted::{WalkControl, WalkedFile};

/// Opens the regular file at `path` in the directory `root`. Only the path of `root` itself may go through links.
pub fn open(root: &Path, path: &Path) -> io::Result<File> {
    RootedPath::open(root)?.join(path).file()
}

/// The content of the regular file at `path` in the directory `root`, at most `limit` bytes.
pub fn read(root: &Path, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    RootedPath::open(root)?.join(path).read(limit)
}

/// Calls `take` for each regular file under the directory `path` of `root`, sorted by name, except in directories that
/// `skip` matches. Returns whether it found all: there may be too many, they may be too deep, or `take` may stop the walk.
pub fn walk(
    root: &Path,
    path: &Path,
    skip: fn(&OsStr) -> bool,
    take: &mut dyn FnMut(&WalkedFile<'_>) -> WalkControl,
) -> io::Result<bool> {
    Ok(RootedPath::open(root)?.join(path).walk(skip, take)?.is_whole)
}
