//! Files that anybody may have written. Opening a pipe waits for ever, a device has no end, and a sparse file of no
//! blocks may fill the memory: only regular files are opened, and of those a bounded part is read.

use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use nix::fcntl::OFlag;

/// The largest file that is read as a whole, in bytes: tables of cases, tasks, schemas, settings, SKILL.md, answers.
pub const MAX_FILE: u64 = 64 << 20;

/// Opens the regular file at `path`, through links, and says how many bytes it has.
///
/// # Errors
/// As opening a file does; of kind `IsADirectory` for a folder and `InvalidInput` for whatever else is no file.
pub fn open(path: &Path) -> io::Result<(File, u64)> {
    // Opening a device can have effects: looked at before.
    check_kind(fs::metadata(path)?.file_type())?;
    // Not to wait for ever, should a pipe stand there by now.
    let file = OpenOptions::new().read(true).custom_flags(OFlag::O_NONBLOCK.bits()).open(path)?;
    let metadata = file.metadata()?;
    check_kind(metadata.file_type())?;
    Ok((file, metadata.len()))
}

/// The content of the regular file at `path`, at most [`MAX_FILE`] bytes.
///
/// # Errors
/// As [`open`]; of kind `FileTooLarge` where it has more.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_at_most(path, MAX_FILE)
}

/// The content of the regular file at `path`, at most `limit` bytes.
///
/// # Errors
/// As [`open`]; of kind `FileTooLarge` where it has more.
pub fn read_at_most(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let (file, size) = open(path)?;
    read_sized(file, size, limit)
}

/// The content of an open regular file, at most `limit` bytes.
///
/// # Errors
/// As reading does; of kind `FileTooLarge` where it has more.
pub fn read_file(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let size = file.metadata()?.len();
    read_sized(file, size, limit)
}

/// The same of a file that is known to have `size` bytes.
pub(crate) fn read_sized(file: File, size: u64, limit: u64) -> io::Result<Vec<u8>> {
    if size > limit {
        return Err(too_large(size, limit));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    // It may have grown since.
    let size = file.take(limit + 1).read_to_end(&mut bytes)? as u64;
    if size > limit { Err(too_large(size, limit)) } else { Ok(bytes) }
}

/// The text of the regular file at `path`, at most [`MAX_FILE`] bytes.
///
/// # Errors
/// As [`read`]; of kind `InvalidData` where it is not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8"))
}

/// The digest of the regular file at `path`, in bounded memory. Not more than it has now is read.
///
/// # Errors
/// As [`open`].
pub fn digest(path: &Path) -> io::Result<blake3::Hash> {
    digest_file(open(path)?.0)
}

/// The digest of an open regular file.
///
/// # Errors
/// As reading does.
pub fn digest_file(file: File) -> io::Result<blake3::Hash> {
    let size = file.metadata()?.len();
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file.take(size))?;
    Ok(hasher.finalize())
}

/// Whether a file of this type can be read to an end.
pub(crate) fn check_kind(kind: FileType) -> io::Result<()> {
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

/// A number of bytes in words: `64 MiB`, `300 bytes`.
#[must_use]
pub fn bytes(number: u64) -> String {
    for (unit, name) in [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
        if number >= unit && number.is_multiple_of(unit) {
            return format!("{} {name}", number / unit);
        }
    }
    format!("{number} bytes")
}
