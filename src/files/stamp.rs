//! Tells whether a file has changed, without reading it.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

use nix::sys::stat::FileStat;

/// Metadata that changes with the content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
    inode: u64,
    size: u64,
    modified: (i64, i64),
    // Tools can restore the time of modification, but not this time.
    changed: (i64, i64),
}

impl Stamp {
    /// The stamp of a file with this metadata.
    pub fn of(metadata: &Metadata) -> Self {
        Self {
            inode: metadata.ino(),
            size: metadata.size(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// The same from what `fstatat` returns.
    pub(crate) fn of_stat(found: &FileStat) -> Self {
        Self {
            inode: found.st_ino,
            size: u64::try_from(found.st_size).unwrap_or_default(),
            modified: (found.st_mtime, found.st_mtime_nsec),
            changed: (found.st_ctime, found.st_ctime_nsec),
        }
    }
}
