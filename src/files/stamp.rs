//! Tells whether a file is the one that was seen before.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;

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
}
