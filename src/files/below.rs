//! What an agent left below a folder of ours: looked at one name at a time, from a folder that is kept open, so that no
//! link leads out, wherever the agent put one, the folder itself in its place included.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open as open_at_root, openat};
use nix::sys::stat::{FileStat, Mode, SFlag, fstatat};

use crate::files::bounded;
use crate::files::stamp::Stamp;

/// How deep folders are looked into: one handle each is open meanwhile.
const MAX_DEPTH: usize = 100;

/// Most names of one folder that are looked at.
const MAX_NAMES: usize = 100_000;

/// A regular file that a walk has come to.
#[derive(Debug)]
pub struct WalkedFile<'a> {
    /// Below the folder of the walk.
    pub path: &'a Path,
    /// In bytes.
    pub size: u64,
    /// As it stands now.
    pub stamp: Stamp,
    folder: BorrowedFd<'a>,
    name: &'a OsStr,
}

impl WalkedFile<'_> {
    /// Opens it.
    ///
    /// # Errors
    /// As opening a file does, and where something else stands there by now.
    pub fn open(&self) -> io::Result<File> {
        open_file(self.folder, self.name)
    }
}

/// Whether a walk is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkControl {
    /// On to the next file.
    On,
    /// No further.
    Stop,
}

/// Opens the regular file at `path` below the folder `root`, which may be reached through links; nothing behind it may.
///
/// # Errors
/// As opening a file does; `InvalidInput` for a link or whatever else is no regular file.
pub fn open(root: &Path, path: &Path) -> io::Result<File> {
    let mut at = open_folder(root)?;
    let mut names = path.iter().peekable();
    while let Some(name) = names.next() {
        if names.peek().is_none() {
            return open_file(&at, name);
        }
        at = open_folder_in(&at, name)?;
    }
    Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory, not a file"))
}

/// The content of the regular file at `path` below the folder `root`, at most `limit` bytes.
///
/// # Errors
/// As [`open`]; of kind `FileTooLarge` where it has more.
pub fn read(root: &Path, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    bounded::read_file(open(root, path)?, limit)
}

/// Hands the regular files below the folder `path` below `root` to `take`, by name, but for what is in folders that
/// `skip` names. Says whether all were seen: not where there are too many, too deep, or `take` stopped.
///
/// # Errors
/// When the folder cannot be opened. What cannot be opened below it is passed over.
pub fn walk(
    root: &Path,
    path: &Path,
    skip: fn(&OsStr) -> bool,
    take: &mut dyn FnMut(&WalkedFile<'_>) -> WalkControl,
) -> io::Result<bool> {
    let mut at = open_folder(root)?;
    for name in path {
        at = open_folder_in(&at, name)?;
    }
    let mut walker = Walker { skip, take, whole: true, stopped: false };
    walker.folder(Dir::from_fd(at)?, &mut PathBuf::new(), 0);
    Ok(walker.whole && !walker.stopped)
}

/// Opens the first file of such a [`walk`] whose path is the one looked for.
#[must_use]
pub fn first(root: &Path, path: &Path, is_it: impl Fn(&Path) -> bool) -> Option<File> {
    let mut found = None;
    // Where there is no folder there is no file.
    let _ = walk(root, path, |_| false, &mut |entry| {
        if is_it(entry.path) {
            found = entry.open().ok();
        }
        if found.is_some() { WalkControl::Stop } else { WalkControl::On }
    });
    found
}

struct Walker<'a> {
    skip: fn(&OsStr) -> bool,
    take: &'a mut dyn FnMut(&WalkedFile<'_>) -> WalkControl,
    whole: bool,
    stopped: bool,
}

impl Walker<'_> {
    fn folder(&mut self, mut at: Dir, path: &mut PathBuf, depth: usize) {
        for name in self.names(&mut at) {
            if self.stopped {
                return;
            }
            let Ok(found) = fstatat(&at, name.as_os_str(), AtFlags::AT_SYMLINK_NOFOLLOW) else { continue };
            path.push(&name);
            match kind(&found) {
                SFlag::S_IFREG => {
                    let size = u64::try_from(found.st_size).unwrap_or_default();
                    let stamp = Stamp::of_stat(&found);
                    let entry = WalkedFile { path: path.as_path(), size, stamp, folder: at.as_fd(), name: &name };
                    self.stopped = (self.take)(&entry) == WalkControl::Stop;
                }
                SFlag::S_IFDIR if !(self.skip)(&name) => {
                    if depth == MAX_DEPTH {
                        self.whole = false;
                    } else if let Ok(below) = open_folder_in(&at, &name).and_then(|below| Ok(Dir::from_fd(below)?)) {
                        self.folder(below, path, depth + 1);
                    }
                }
                _ => {}
            }
            path.pop();
        }
    }

    /// The names in a folder, sorted.
    fn names(&mut self, folder: &mut Dir) -> Vec<OsString> {
        let names = folder.iter().flatten().map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned());
        let mut names: Vec<OsString> = names.filter(|name| name != "." && name != "..").take(MAX_NAMES + 1).collect();
        if names.len() > MAX_NAMES {
            self.whole = false;
            names.truncate(MAX_NAMES);
        }
        names.sort();
        names
    }
}

fn kind(found: &FileStat) -> SFlag {
    SFlag::from_bits_truncate(found.st_mode & SFlag::S_IFMT.bits())
}

fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    Ok(open_at_root(path, OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())?)
}

fn open_folder_in(at: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
    openat(at, plain(name)?, flags, Mode::empty()).map_err(|errno| match errno {
        // What `O_NOFOLLOW` says of a link.
        Errno::ELOOP => link(),
        errno => errno.into(),
    })
}

fn open_file(at: impl AsFd, name: &OsStr) -> io::Result<File> {
    let name = plain(name)?;
    // Looked at before: opening a device can have effects.
    let found = fstatat(at.as_fd(), name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
    if kind(&found) == SFlag::S_IFLNK {
        return Err(link());
    }
    if kind(&found) != SFlag::S_IFREG && kind(&found) != SFlag::S_IFIFO {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    // Not to wait for ever where a pipe stands there.
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = File::from(openat(at, name, flags, Mode::empty())?);
    bounded::check_kind(file.metadata()?.file_type())?;
    Ok(file)
}

/// `..` is a name that leads out.
fn plain(name: &OsStr) -> io::Result<&OsStr> {
    let leads_out = name == ".." || name.as_bytes().contains(&b'/');
    if leads_out { Err(io::Error::new(io::ErrorKind::InvalidInput, "it leaves its directory")) } else { Ok(name) }
}

fn link() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is a symbolic link, or lies behind one; it is not followed")
}
