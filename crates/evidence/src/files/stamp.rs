//! Tells whether a file has changed, without reading it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::sys::stat::FileStat;

use crate::files::look::{Step, Walk};

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
    pub fn of_stat(found: &FileStat) -> Self {
        Self {
            inode: found.st_ino,
            size: u64::try_from(found.st_size).unwrap_or_default(),
            modified: (found.st_mtime, found.st_mtime_nsec),
            changed: (found.st_ctime, found.st_ctime_nsec),
        }
    }
}

/// The stamps of all files in some directories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stamps(BTreeMap<PathBuf, Stamp>);

impl Stamps {
    /// Those of the files in `places`, which are directories and files. Skips paths for which `is_skipped` is true.
    pub fn of(places: &BTreeSet<PathBuf>, is_skipped: impl Fn(&Path) -> bool) -> Self {
        let mut stamps = BTreeMap::new();
        for place in places {
            let mut add = |path: &Path| {
                // What cannot be read has no stamp until it can be.
                if let Ok(metadata) = fs::symlink_metadata(path)
                    && !metadata.is_dir()
                {
                    stamps.insert(path.to_path_buf(), Stamp::of(&metadata));
                }
            };
            add(place);
            let unread = Walk::new(place).each(|entry| {
                if is_skipped(entry.path()) {
                    return Step::Over;
                }
                add(entry.path());
                Step::Into
            });
            // A run says what it cannot read. This only finds changes.
            unread.report(drop);
        }
        Self(stamps)
    }

    /// The files that are new, gone or changed since `earlier`.
    pub fn changed_since<'a>(&'a self, earlier: &'a Self) -> Vec<&'a PathBuf> {
        let paths: BTreeSet<&PathBuf> = self.0.keys().chain(earlier.0.keys()).collect();
        paths.into_iter().filter(|path| self.0.get(*path) != earlier.0.get(*path)).collect()
    }
}
