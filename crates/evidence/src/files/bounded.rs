//! Reads files that anybody may have written. Opening a pipe can wait forever, a device has no end, and a sparse file can
//! fill the memory. So only regular files are opened, and at most a limit is read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, FileType, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::fcntl::OFlag;
use nix::sys::stat::FileStat;

use crate::files::look::{Walk, WalkStep};

/// The largest file that is read whole, in bytes: prompts.csv, task files, schemas, settings, SKILL.md, answers.
pub const MAX_FILE: u64 = 64 << 20;

/// Opens the regular file at `path`, which may be a link to one. Returns its size in bytes too.
pub fn open(path: &Path) -> io::Result<(File, u64)> {
    // Opening a device can have effects, so its type is checked first.
    check_kind(fs::metadata(path)?.file_type())?;
    // If a pipe has taken its place since, opening must not wait forever.
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    let metadata = file.metadata()?;
    check_kind(metadata.file_type())?;
    Ok((file, metadata.len()))
}

/// The content of the regular file at `path`, at most [`MAX_FILE`] bytes.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_at_most(path, MAX_FILE)
}

/// The content of the regular file at `path`, at most `limit` bytes.
pub fn read_at_most(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let (file, size) = open(path)?;
    read_sized(file, size, limit)
}

/// The content of an open regular file, at most `limit` bytes.
pub fn read_file(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let size = file.metadata()?.len();
    read_sized(file, size, limit)
}

/// The same, for a file of `size` bytes.
pub fn read_sized(file: File, size: u64, limit: u64) -> io::Result<Vec<u8>> {
    if size > limit {
        return Err(too_large(size, limit));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    // The file may have grown since.
    let size = file.take(limit + 1).read_to_end(&mut bytes)? as u64;
    if size > limit { Err(too_large(size, limit)) } else { Ok(bytes) }
}

/// The text of the regular file at `path`, at most [`MAX_FILE`] bytes.
pub fn read_text(path: &Path) -> io::Result<String> {
    utf8(read(path)?)
}

/// The text of a pipe, a device or a file, at most [`MAX_FILE`] bytes.
pub fn read_stream(source: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    source.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE {
        let why = format!("it has more than {}, the most that are read", self::bytes(MAX_FILE));
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    utf8(bytes)
}

/// The text of these bytes.
pub(super) fn utf8(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// The digest of the regular file at `path`, in bounded memory. Bytes that are appended meanwhile are not read.
pub fn digest(path: &Path) -> io::Result<blake3::Hash> {
    digest_file(open(path)?.0)
}

/// The digest of an open regular file.
pub fn digest_file(file: File) -> io::Result<blake3::Hash> {
    let size = file.metadata()?.len();
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file.take(size))?;
    Ok(hasher.finalize())
}

/// Checks that a file of this type is a regular file.
pub fn check_kind(kind: FileType) -> io::Result<()> {
    let what = if kind.is_file() {
        return Ok(());
    } else if kind.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory, not a file"));
    } else if kind.is_fifo() {
        "a named pipe"
    } else if kind.is_socket() {
        "a socket"
    } else if kind.is_symlink() {
        "a symbolic link"
    } else {
        "a device"
    };
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, not a regular file")))
}

fn too_large(size: u64, limit: u64) -> io::Error {
    let why = format!("it has {size} bytes; at most {} are read", bytes(limit));
    io::Error::new(io::ErrorKind::FileTooLarge, why)
}

/// A number of bytes with its unit: `64 MiB`, `300 bytes`.
pub fn bytes(number: u64) -> String {
    for (unit, name) in [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
        if number >= unit && number.is_multiple_of(unit) {
            return format!("{} {name}", number / unit);
        }
    }
    format!("{number} bytes")
}

// Tells whether a file has changed, without reading it.

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
                    return WalkStep::Over;
                }
                add(entry.path());
                WalkStep::Into
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
