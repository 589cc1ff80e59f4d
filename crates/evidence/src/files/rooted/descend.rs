//! Opens and removes what is beneath an open directory, and follows nothing.

use std::collections::{BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, openat};
use nix::libc::mode_t;
use nix::sys::stat::{FileStat, Mode, SFlag, dev_t, fchmod, fstat, fstatat, mkdirat};
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

// Removes a directory that anybody may have filled: without recursion, with two directories open at a time however deep it
// is, and never outside it.

/// How many names of a directory are read before they are removed.
const CHUNK: usize = 1_000;

/// The most names of a directory that are tried although they cannot be removed.
const MAX_KEPT: usize = 10_000;

/// The most files and directories that are removed. Somebody may create them as fast.
const MAX_REMOVED: u64 = 100_000_000;

/// A directory that is being removed.
struct RemovedLevel {
    name: OsString,
    /// Its device and inode: the way back to it is by `..`.
    identity: (dev_t, u64),
    /// Whether all its names were read.
    is_listed: bool,
    /// Directories in it that are not empty.
    filled: Vec<OsString>,
    /// What cannot be removed, and is not tried again.
    kept: HashSet<OsString>,
}

impl RemovedLevel {
    fn new(name: &OsStr, found: &FileStat) -> Self {
        let (identity, name) = (identity(found), name.to_owned());
        Self { name, identity, is_listed: false, filled: Vec::new(), kept: HashSet::new() }
    }
}

fn identity(found: &FileStat) -> (dev_t, u64) {
    (found.st_dev, found.st_ino)
}

/// Removes `name` in the open directory `parent`, with all that is in it. What cannot be removed stays; then the error is that of
/// the first such file.
pub(super) fn remove(parent: impl AsFd, name: &OsStr) -> io::Result<()> {
    let found = status(parent.as_fd(), name)?;
    if kind(&found) != SFlag::S_IFDIR {
        return Ok(unlinkat(parent, name, UnlinkatFlags::NoRemoveDir)?);
    }
    let mut removal = Removal { failed: None, left: MAX_REMOVED };
    let (mut at, found) = entered(parent.as_fd(), name)?;
    let mut levels = vec![RemovedLevel::new(name, &found)];
    while let Some(level) = levels.last_mut() {
        if level.filled.is_empty() && !level.is_listed {
            removal.empty(&mut at, level)?;
        }
        if let Some(name) = level.filled.pop() {
            // An agent may have put something else there.
            match entered(&at, &name) {
                Ok((next, found)) => {
                    levels.push(RemovedLevel::new(&name, &found));
                    at = next;
                }
                Err(error) => {
                    level.kept.insert(name);
                    removal.failed(error);
                }
            }
            continue;
        }
        let Some(done) = levels.pop() else { break };
        let Some(above) = levels.last_mut() else {
            removal.directory(parent.as_fd(), &done.name);
            break;
        };
        at = Dir::openat(&at, "..", DIRECTORY, Mode::empty())?;
        if identity(&fstat(&at)?) != above.identity {
            return Err(io::Error::other("it was moved while it was removed"));
        }
        if !removal.directory(&at, &done.name) {
            above.kept.insert(done.name);
        }
    }
    removal.failed.map_or(Ok(()), Err)
}

struct Removal {
    /// The first error.
    failed: Option<io::Error>,
    left: u64,
}

impl Removal {
    fn failed(&mut self, error: io::Error) {
        if error.kind() != io::ErrorKind::NotFound {
            self.failed.get_or_insert(error);
        }
    }

    fn directory(&mut self, at: impl AsFd, name: &OsStr) -> bool {
        let removed = unlinkat(at, name, UnlinkatFlags::RemoveDir);
        removed.map_err(|error| self.failed(error.into())).is_ok()
    }

    /// Removes the files and the empty directories in `at`, until none is left or some directories are not empty.
    fn empty(&mut self, at: &mut Dir, level: &mut RemovedLevel) -> io::Result<()> {
        while level.filled.is_empty() && !level.is_listed {
            let entries = at.iter().map_while(Result::ok);
            let entries = entries.map(|entry| {
                let is_directory = entry.file_type().map(|kind| kind == Type::Directory);
                (OsStr::from_bytes(entry.file_name().to_bytes()).to_owned(), is_directory)
            });
            let entries = entries.filter(|(name, _)| name != "." && name != ".." && !level.kept.contains(name));
            let entries: Vec<(OsString, Option<bool>)> = entries.take(CHUNK).collect();
            level.is_listed = entries.len() < CHUNK || level.kept.len() > MAX_KEPT;
            for (name, is_directory) in entries {
                self.left = self.left.checked_sub(1).ok_or_else(|| io::Error::other("it has too many files"))?;
                let found = || status(&*at, &name).map(|found| kind(&found) == SFlag::S_IFDIR);
                // Not every file system says what an entry is.
                let Ok(is_directory) = is_directory.map_or_else(found, Ok) else { continue };
                let how = if is_directory { UnlinkatFlags::RemoveDir } else { UnlinkatFlags::NoRemoveDir };
                match unlinkat(&*at, name.as_os_str(), how) {
                    Ok(()) | Err(Errno::ENOENT) => {}
                    Err(_) if is_directory => level.filled.push(name),
                    Err(errno) => {
                        level.kept.insert(name);
                        self.failed(errno.into());
                    }
                }
            }
        }
        Ok(())
    }
}

/// Opens a directory in which everything may be removed.
fn entered(at: impl AsFd, name: &OsStr) -> io::Result<(Dir, FileStat)> {
    let opened = if let Ok(opened) = openat(at.as_fd(), name, DIRECTORY, Mode::empty()) {
        opened
    } else {
        allow(at.as_fd(), name)?;
        openat(at, name, DIRECTORY, Mode::empty())?
    };
    let found = fstat(&opened)?;
    if !Mode::from_bits_truncate(found.st_mode).contains(Mode::S_IRWXU) {
        // Root does not need it, and the owner may do it.
        let _ = fchmod(&opened, Mode::S_IRWXU);
    }
    Ok((Dir::from_fd(opened)?, found))
}

/// Lets the owner enter a directory, by its descriptor: the name may be a link by now.
#[cfg(target_os = "linux")]
fn allow(at: impl AsFd, name: &OsStr) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::PermissionsExt;

    use nix::fcntl::OFlag;
    let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
    let found = openat(at, name, flags, Mode::empty())?;
    let path = format!("/proc/self/fd/{}", found.as_raw_fd());
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o700))
}

#[cfg(not(target_os = "linux"))]
fn allow(at: impl AsFd, name: &OsStr) -> io::Result<()> {
    use nix::sys::stat::{FchmodatFlags, fchmodat};
    Ok(fchmodat(at, name, Mode::S_IRWXU, FchmodatFlags::NoFollowSymlink)?)
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
