//! Removes a directory that anybody may have filled: without recursion, with two directories open at a time however deep it
//! is, and never outside it.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::openat;
use nix::sys::stat::{FileStat, Mode, SFlag, dev_t, fchmod, fstat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use super::descend::{DIRECTORY, kind, status};

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
