//! Tells whether a file is the one that was seen before.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use nix::sys::stat::FileStat;

/// What tells a file from the same file at another time, without reading it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    // Tools that keep the time of modification cannot keep this one.
    changed: (i64, i64),
}

impl Stamp {
    /// That of the file with this metadata.
    #[must_use]
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// That of the file that this was said of.
    pub(crate) fn of_stat(found: &FileStat) -> Self {
        Self {
            inode: found.st_ino,
            size: u64::try_from(found.st_size).unwrap_or_default(),
            modified: (found.st_mtime, found.st_mtime_nsec),
            changed: (found.st_ctime, found.st_ctime_nsec),
        }
    }
}
