//! Opens what is beneath an open directory, and follows nothing.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::libc::mode_t;
use nix::sys::stat::{FileStat, Mode, SFlag, fstatat, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use crate::files::bounded;

/// The most names of one directory that are read.
pub(super) const MAX_NAMES: usize = 100_000;

/// How a directory is opened.
pub(super) const DIRECTORY: OFlag =
    OFlag::O_DIRECTORY.union(OFlag::O_RDONLY).union(OFlag::O_CLOEXEC).union(OFlag::O_NOFOLLOW);

/// The permissions of a directory like the user's other ones.
const NEW_DIRECTORY: Mode = Mode::S_IRWXU.union(Mode::S_IRWXG).union(Mode::S_IRWXO);

/// Checks that a path names something beneath a directory: no `..`, not absolute.
pub(super) fn check(path: &Path) -> io::Result<()> {
    if path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir)) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it leaves its directory"))
}

/// Opens the directory at `path` beneath `root`, or `root` itself if the path is empty.
pub(super) fn directory(root: impl AsFd, path: &Path) -> io::Result<OwnedFd> {
    check(path)?;
    let root = root.as_fd();
    // A descriptor of its own: copies of one share their position.
    let own = |at: BorrowedFd<'_>| openat(at, ".", DIRECTORY, Mode::empty()).map_err(io::Error::from);
    if path.as_os_str().is_empty() {
        return own(root);
    }
    match at_once(root, path) {
        // An old kernel, a filter of system calls, a path that is too long: name by name.
        Err(Errno::ENOSYS | Errno::EPERM | Errno::EINVAL | Errno::E2BIG | Errno::EAGAIN | Errno::ENAMETOOLONG) => {}
        opened => return opened.map_err(described),
    }
    let mut at = own(root)?;
    for name in path {
        at = directory_in(&at, name)?;
    }
    Ok(at)
}

#[cfg(target_os = "linux")]
fn at_once(root: impl AsFd, path: &Path) -> nix::Result<OwnedFd> {
    use nix::fcntl::{OpenHow, ResolveFlag, openat2};
    let resolve = ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS;
    openat2(root, path, OpenHow::new().flags(DIRECTORY).resolve(resolve))
}

#[cfg(not(target_os = "linux"))]
fn at_once(_: impl AsFd, _: &Path) -> nix::Result<OwnedFd> {
    Err(Errno::ENOSYS)
}

/// Opens the directory `name` in the open directory `at`.
pub(super) fn directory_in(at: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    check(Path::new(name))?;
    openat(at, name, DIRECTORY, Mode::empty()).map_err(described)
}

/// Creates the directory at `path` beneath `root` and those above it that do not exist, and opens it.
pub(super) fn make(root: impl AsFd, path: &Path) -> io::Result<OwnedFd> {
    check(path)?;
    let mut at = None;
    for name in path {
        let above = at.as_ref().map_or(root.as_fd(), OwnedFd::as_fd);
        match mkdirat(above, name, NEW_DIRECTORY) {
            Err(Errno::EEXIST) | Ok(()) => at = Some(directory_in(above, name)?),
            Err(errno) => return Err(errno.into()),
        }
    }
    at.map_or_else(|| directory(root, Path::new("")), Ok)
}

/// What `name` in the open directory `at` is; a link is a link.
pub(super) fn status(at: impl AsFd, name: &OsStr) -> io::Result<FileStat> {
    status_at(at, Path::new(name))
}

/// What is at `path` beneath the open directory `at`, behind directories that the caller found there.
pub(super) fn status_at(at: impl AsFd, path: &Path) -> io::Result<FileStat> {
    check(path)?;
    Ok(fstatat(at, path, AtFlags::AT_SYMLINK_NOFOLLOW)?)
}

/// Opens the regular file `name` in the open directory `at` for reading.
pub(super) fn file_in(at: impl AsFd, name: &OsStr) -> io::Result<File> {
    // Opening a device can have effects, so its type is checked first.
    let found = status(at.as_fd(), name)?;
    match kind(&found) {
        SFlag::S_IFREG | SFlag::S_IFIFO => {}
        SFlag::S_IFLNK => return Err(link()),
        SFlag::S_IFDIR => return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory, not a file")),
        kind => {
            let what = if kind == SFlag::S_IFSOCK { "a socket" } else { "a device" };
            return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("it is {what}, not a regular file")));
        }
    }
    // Opening a pipe must not wait forever.
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = File::from(openat(at, name, flags, Mode::empty()).map_err(described)?);
    bounded::check_kind(file.metadata()?.file_type())?;
    Ok(file)
}

pub(super) fn kind(found: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(found.st_mode & SFlag::S_IFMT.bits())
}

fn described(errno: Errno) -> io::Error {
    match errno {
        // The error of `O_NOFOLLOW` and of `RESOLVE_NO_SYMLINKS` for a link.
        Errno::ELOOP => link(),
        errno => errno.into(),
    }
}

fn link() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is a symbolic link, or lies behind one; it is not followed")
}

/// Permissions for the kernel.
#[allow(clippy::cast_possible_truncation, reason = "macOS has 16 bits for them, which are enough")]
pub(super) fn mode(permissions: u32) -> Mode {
    Mode::from_bits_truncate(permissions as mode_t)
}

/// The prefix of a file or directory that gets its name when it is written. What a killed process left is removed by the next one
/// that writes to the same directory.
pub const NEW: &str = ".skill-evals-new-";

/// How many names are tried for one.
const TRIES: usize = 100;

/// The names in a directory, sorted.
pub(super) fn names(directory: &mut Dir, is_whole: &mut bool) -> Vec<OsString> {
    let names = directory.iter().map_while(|entry| {
        *is_whole &= entry.is_ok();
        Some(OsStr::from_bytes(entry.ok()?.file_name().to_bytes()).to_owned())
    });
    let mut names: Vec<OsString> = names.filter(|name| name != "." && name != "..").take(MAX_NAMES + 1).collect();
    if names.len() > MAX_NAMES {
        *is_whole = false;
        names.truncate(MAX_NAMES);
    }
    names.sort();
    names
}

/// Removes the new files of killed processes from an open directory, once in a process.
fn remove_left_over(at: BorrowedFd<'_>) {
    static DONE: Mutex<BTreeSet<(u64, u64)>> = Mutex::new(BTreeSet::new());
    let Ok(opened) = directory(at, Path::new("")).map(File::from) else { return };
    let Ok(id) = opened.metadata().map(|found| (found.dev(), found.ino())) else { return };
    if !DONE.lock().unwrap_or_else(PoisonError::into_inner).insert(id) {
        return;
    }
    let Ok(mut listed) = Dir::from_fd(opened.into()) else { return };
    for name in names(&mut listed, &mut true) {
        if !name.as_bytes().starts_with(NEW.as_bytes()) {
            continue;
        }
        // A directory is not one of these, and a locked file is being written.
        if file_in(at, &name).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = unlinkat(at, name.as_os_str(), UnlinkatFlags::NoRemoveDir);
        }
    }
}

/// Creates a file with a name that nothing in the open directory has.
pub(super) fn new_file(at: impl AsFd) -> io::Result<(OsString, File)> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    remove_left_over(at.as_fd());
    for _ in 0..TRIES {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = OsString::from(format!("{NEW}{}-{number}", std::process::id()));
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        match openat(at.as_fd(), name.as_os_str(), flags, mode(super::COMMON)) {
            Ok(file) => {
                let file = File::from(file);
                // Locked while this process lives. Where there are no locks, nothing is removed.
                let _ = file.lock();
                // Another process may have removed it just before.
                if file.metadata()?.nlink() > 0 {
                    return Ok((name, file));
                }
            }
            Err(Errno::EEXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_next_process_removes_the_new_file_of_a_killed_one_and_no_other() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = |name: &str| directory.path().join(name);
        let [left, written, users] = [".skill-evals-new-1-0", ".skill-evals-new-2-0", ".new-1-0"].map(path);
        for file in [&left, &written, &users] {
            std::fs::write(file, "half").expect("a file");
        }
        let lock = File::open(&written).expect("a file");
        lock.lock().expect("a lock");
        let root = super::super::RootedPath::open(directory.path()).expect("a directory");
        root.join("file").put(|file| file.write_all(b"whole")).expect("a file");
        assert!(!left.exists() && written.exists() && users.exists());
        assert_eq!(std::fs::read_to_string(path("file")).expect("a file"), "whole");
    }

    #[test]
    fn two_directories_are_exchanged_in_one_step() {
        let directory = tempfile::tempdir().expect("a directory");
        for name in ["old", "new"] {
            std::fs::create_dir(directory.path().join(name)).expect("a directory");
            std::fs::write(directory.path().join(name).join("file"), name).expect("a file");
        }
        let root = super::super::RootedPath::open(directory.path()).expect("a directory");
        if let Err(error) = root.join("new").exchange(&root.join("old")) {
            assert!(super::super::cannot_exchange(&error), "{error}");
        } else {
            let content = |name: &str| std::fs::read_to_string(directory.path().join(name).join("file"));
            assert_eq!(content("old").expect("a file"), "new");
            assert_eq!(content("new").expect("a file"), "old");
        }
        let none = root.join("new").exchange(&root.join("none")).expect_err("nothing is there");
        assert_eq!(none.kind(), io::ErrorKind::NotFound);
    }
}
