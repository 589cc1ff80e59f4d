//! Reads what an agent left in a directory. Each name is opened relative to its open parent directory, so that no link
//! leads out of it, even if the agent replaces a directory meanwhile.

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

/// The deepest level of a walk. Each level keeps one directory open.
const MAX_DEPTH: usize = 100;

/// The most names of one directory that a walk reads.
const MAX_NAMES: usize = 100_000;

/// A regular file that a walk has found.
#[derive(Debug)]
pub struct WalkedFile<'a> {
    /// Its path, relative to the directory of the walk.
    pub path: &'a Path,
    /// Its size in bytes.
    pub size: u64,
    /// Its stamp now.
    pub stamp: Stamp,
    directory: BorrowedFd<'a>,
    name: &'a OsStr,
}

impl WalkedFile<'_> {
    /// Opens the file.
    pub fn open(&self) -> io::Result<File> {
        open_file(self.directory, self.name)
    }
}

/// Whether a walk continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WalkControl {
    /// Continue with the next file.
    On,
    /// End the walk.
    Stop,
}

/// The end of a walk.
#[derive(Debug)]
pub struct Walked {
    /// Whether it found all.
    pub is_whole: bool,
    /// The paths of links, pipes, sockets and devices, which are not followed or read.
    pub others: Vec<PathBuf>,
}

/// Opens the regular file at `path` in the directory `root`. Only the path of `root` itself may go through links.
pub fn open(root: &Path, path: &Path) -> io::Result<File> {
    let mut at = open_directory(root)?;
    let mut names = path.iter().peekable();
    while let Some(name) = names.next() {
        if names.peek().is_none() {
            return open_file(&at, name);
        }
        at = open_directory_in(&at, name)?;
    }
    Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory, not a file"))
}

/// The content of the regular file at `path` in the directory `root`, at most `limit` bytes.
pub fn read(root: &Path, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    bounded::read_file(open(root, path)?, limit)
}

/// Calls `take` for each regular file under the directory `path` of `root`, sorted by name, except in directories that
/// `skip` matches. Returns whether it found all: there may be too many, they may be too deep, or `take` may stop the walk.
pub fn walk(
    root: &Path,
    path: &Path,
    skip: fn(&OsStr) -> bool,
    take: &mut dyn FnMut(&WalkedFile<'_>) -> WalkControl,
) -> io::Result<bool> {
    Ok(walk_all(root, path, skip, take)?.is_whole)
}

/// As [`walk`], and returns what is neither a regular file nor a directory.
pub fn walk_all(
    root: &Path,
    path: &Path,
    skip: fn(&OsStr) -> bool,
    take: &mut dyn FnMut(&WalkedFile<'_>) -> WalkControl,
) -> io::Result<Walked> {
    let mut at = open_directory(root)?;
    for name in path {
        at = open_directory_in(&at, name)?;
    }
    let mut walker = Walker { skip, take, whole: true, stopped: false, others: Vec::new() };
    walker.directory(Dir::from_fd(at)?, &mut PathBuf::new(), 0);
    Ok(Walked { is_whole: walker.whole && !walker.stopped, others: walker.others })
}

/// Opens the first file of a [`walk`] for whose path `is_it` holds.
pub fn first(root: &Path, path: &Path, is_it: impl Fn(&Path) -> bool) -> Option<File> {
    let mut found = None;
    // Without the directory, the file does not exist.
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
    others: Vec<PathBuf>,
}

impl Walker<'_> {
    fn directory(&mut self, mut at: Dir, path: &mut PathBuf, depth: usize) {
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
                    let entry = WalkedFile { path: path.as_path(), size, stamp, directory: at.as_fd(), name: &name };
                    self.stopped = (self.take)(&entry) == WalkControl::Stop;
                }
                SFlag::S_IFDIR if !(self.skip)(&name) => {
                    if depth == MAX_DEPTH {
                        self.whole = false;
                    } else if let Ok(below) = open_directory_in(&at, &name).and_then(|below| Ok(Dir::from_fd(below)?)) {
                        self.directory(below, path, depth + 1);
                    } else {
                        self.whole = false;
                    }
                }
                SFlag::S_IFDIR => {}
                _ if self.others.len() == MAX_NAMES => self.whole = false,
                _ => self.others.push(path.clone()),
            }
            path.pop();
        }
    }

    /// The names in a directory, sorted.
    fn names(&mut self, directory: &mut Dir) -> Vec<OsString> {
        let names = directory.iter().flatten().map(|entry| OsStr::from_bytes(entry.file_name().to_bytes()).to_owned());
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

fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    Ok(open_at_root(path, OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())?)
}

fn open_directory_in(at: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
    openat(at, plain(name)?, flags, Mode::empty()).map_err(|errno| match errno {
        // The error of `O_NOFOLLOW` for a link.
        Errno::ELOOP => link(),
        errno => errno.into(),
    })
}

fn open_file(at: impl AsFd, name: &OsStr) -> io::Result<File> {
    let name = plain(name)?;
    // Opening a device can have effects, so its type is checked first.
    let found = fstatat(at.as_fd(), name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
    if kind(&found) == SFlag::S_IFLNK {
        return Err(link());
    }
    if kind(&found) != SFlag::S_IFREG && kind(&found) != SFlag::S_IFIFO {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    // Opening a pipe must not wait forever.
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = File::from(openat(at, name, flags, Mode::empty())?);
    bounded::check_kind(file.metadata()?.file_type())?;
    Ok(file)
}

/// Checks that a name does not lead out of its directory, as `..` does.
fn plain(name: &OsStr) -> io::Result<&OsStr> {
    let leads_out = name == ".." || name.as_bytes().contains(&b'/');
    if leads_out { Err(io::Error::new(io::ErrorKind::InvalidInput, "it leaves its directory")) } else { Ok(name) }
}

fn link() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is a symbolic link, or lies behind one; it is not followed")
}
