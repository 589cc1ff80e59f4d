//! A directory that somebody else may write, as an agent its room: entered by an open descriptor, beneath which every path is
//! resolved without following anything.
//!
//! A [`RootedPath`] is a place in such a directory. It is not a `Path`, and nothing turns it into one: what the runner reads, writes
//! and removes there goes through its methods. Its text is for arguments, variables and messages.
//!
//! ```compile_fail
//! let room = skill_evals_evidence::files::rooted::RootedPath::open(std::path::Path::new("/tmp")).unwrap();
//! std::fs::read(room.join("file"));
//! ```
//!
//! The kernel resolves a path (`openat2` with `RESOLVE_BENEATH` and `RESOLVE_NO_SYMLINKS`). Where it cannot, each name is opened
//! relative to its open parent directory with `O_NOFOLLOW`. The crate `cap-std` follows links that stay in the directory, does not
//! refuse hard links, and removes directories by recursion.

mod descend;
mod walk;

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::thread;

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat, readlinkat, renameat};
use nix::sys::stat::{FileStat, Mode, SFlag, fchmod, fstat};
use nix::unistd::{linkat, symlinkat};
use rustix::fs::{RenameFlags, renameat_with};

use crate::files::at::PathError;
use crate::files::bounded;
use crate::files::bounded::Stamp;
pub use descend::NEW;
use walk::Links;
pub use walk::{WalkControl, Walked, WalkedFile};

/// How many links lead from a path to a file.
const MAX_LINKS: usize = 40;

/// The permissions of files that only their owner reads, and of files and directories like the user's other ones.
pub const PRIVATE: u32 = 0o600;
pub const COMMON: u32 = 0o666;

#[derive(Debug)]
struct Root {
    fd: OwnedFd,
    /// For messages, arguments and variables.
    path: PathBuf,
    /// The paths by which those in it know directories in it, deepest first, for the same.
    known: Vec<(PathBuf, PathBuf)>,
    /// Whether files that have names elsewhere are refused.
    is_closed: bool,
}

/// An open directory: that of a [`Root`] itself, or one beneath it.
enum OpenParent<'a> {
    Root(BorrowedFd<'a>),
    Beneath(OwnedFd),
}

impl AsFd for OpenParent<'_> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Root(fd) => *fd,
            Self::Beneath(fd) => fd.as_fd(),
        }
    }
}

/// A place in a directory that is entered by its descriptor.
#[derive(Clone, Debug)]
pub struct RootedPath {
    root: Arc<Root>,
    path: PathBuf,
}

impl fmt::Display for RootedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.full().display().fmt(f)
    }
}

impl From<RootedPath> for OsString {
    fn from(path: RootedPath) -> Self {
        path.full().into_os_string()
    }
}

impl RootedPath {
    /// Opens a directory, whose own path may go through links.
    pub fn open(directory: &Path) -> io::Result<Self> {
        Self::opened(directory, Vec::new(), false)
    }

    /// The same for a directory that an untrusted program may write: files in it that have names elsewhere are refused.
    pub fn open_closed(directory: &Path) -> io::Result<Self> {
        Self::open_known(directory, Vec::new())
    }

    /// The same where that program knows directories in it, deepest first, by other paths.
    pub fn open_known(directory: &Path, known: Vec<(PathBuf, PathBuf)>) -> io::Result<Self> {
        Self::opened(directory, known, true)
    }

    fn opened(directory: &Path, known: Vec<(PathBuf, PathBuf)>, is_closed: bool) -> io::Result<Self> {
        let fd = open(directory, OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty())?;
        let root = Root { fd, path: directory.to_path_buf(), known, is_closed };
        Ok(Self { root: Arc::new(root), path: PathBuf::new() })
    }

    /// This place as a directory that is entered by a descriptor of its own, wherever it will be moved.
    pub fn pinned(&self) -> io::Result<Self> {
        let root = Root { fd: self.directory()?, path: self.full(), known: Vec::new(), is_closed: self.root.is_closed };
        Ok(Self { root: Arc::new(root), path: PathBuf::new() })
    }

    /// A place in it. A path that leaves it is an error when it is used.
    #[must_use]
    pub fn join(&self, path: impl AsRef<Path>) -> Self {
        Self { root: Arc::clone(&self.root), path: self.path.join(path) }
    }

    fn full(&self) -> PathBuf {
        let join = |at: &Path, path: &Path| if path.as_os_str().is_empty() { at.to_path_buf() } else { at.join(path) };
        let mut known = self.root.known.iter();
        let known = known.find_map(|(inner, outer)| Some(join(outer, self.path.strip_prefix(inner).ok()?)));
        known.unwrap_or_else(|| join(&self.root.path, &self.path))
    }

    /// An error about it.
    pub fn error(&self, source: impl Into<io::Error>) -> PathError {
        PathError { path: self.full(), source: source.into() }
    }

    fn directory(&self) -> io::Result<OwnedFd> {
        descend::directory(&self.root.fd, &self.path)
    }

    /// The path of the directory that it is in, and its name there.
    fn split(&self) -> io::Result<(&Path, &OsStr)> {
        descend::check(&self.path)?;
        let name = self.path.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))?;
        Ok((self.path.parent().unwrap_or(Path::new("")), name))
    }

    /// The open directory that it is in, and its name there.
    fn parent(&self) -> io::Result<(OpenParent<'_>, &OsStr)> {
        let (parent, name) = self.split()?;
        if parent.as_os_str().is_empty() {
            return Ok((OpenParent::Root(self.root.fd.as_fd()), name));
        }
        Ok((OpenParent::Beneath(descend::directory(&self.root.fd, parent)?), name))
    }

    fn status(&self) -> io::Result<FileStat> {
        let (parent, name) = self.parent()?;
        descend::status(parent, name)
    }

    /// The stamp of what is there, even of a link.
    pub fn stamp(&self) -> io::Result<Stamp> {
        Ok(Stamp::of_stat(&self.status()?))
    }

    /// The stamps of what is at these paths in the directory. Fast where a path comes after the directories above it, or next to
    /// neighbors.
    pub fn stamps<'a>(&self, paths: impl Iterator<Item = &'a Path>) -> io::Result<Vec<Option<Stamp>>> {
        let root = self.directory()?;
        let mut last: Option<(&Path, OwnedFd)> = None;
        // A path through these follows nothing.
        let mut directories = HashSet::from([Path::new("")]);
        let mut stamp = |path: &'a Path| {
            descend::check(path).ok()?;
            let (parent, name) = (path.parent()?, path.file_name()?);
            let found = if directories.contains(parent) {
                descend::status_at(&root, path).ok()?
            } else {
                if last.as_ref().is_none_or(|(known, _)| *known != parent) {
                    last = Some((parent, self.join(parent).directory().ok()?));
                }
                descend::status(&last.as_ref()?.1, name).ok()?
            };
            if descend::kind(&found) == SFlag::S_IFDIR {
                directories.insert(path);
            }
            Some(Stamp::of_stat(&found))
        };
        Ok(paths.map(&mut stamp).collect())
    }

    fn is(&self, kind: SFlag) -> bool {
        self.status().is_ok_and(|found| descend::kind(&found) == kind)
    }

    /// Whether anything is there, even a link to nothing.
    pub fn exists(&self) -> bool {
        self.status().is_ok()
    }

    /// Whether a directory is there, and not a link to one.
    pub fn is_dir(&self) -> bool {
        self.directory().is_ok()
    }

    /// Whether this is the directory that `other` is, whatever their names are by now.
    pub fn is_same_directory(&self, other: &Self) -> bool {
        let id = |path: &Self| fstat(path.directory().ok()?).ok().map(|found| (found.st_dev, found.st_ino));
        id(self).is_some_and(|own| id(other) == Some(own))
    }

    pub fn is_file(&self) -> bool {
        self.is(SFlag::S_IFREG)
    }

    /// The target of the link that is there, as it is written.
    pub fn link_target(&self) -> io::Result<PathBuf> {
        let (parent, name) = self.parent()?;
        Ok(readlinkat(parent, name)?.into())
    }

    /// Opens the regular file for reading.
    pub fn file(&self) -> io::Result<File> {
        let (parent, name) = self.parent()?;
        Links::new(&self.root).open(parent, name)
    }

    /// The content of the regular file, at most `limit` bytes.
    pub fn read(&self, limit: u64) -> io::Result<Vec<u8>> {
        bounded::read_file(self.file()?, limit)
    }

    /// The names in the directory, sorted.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        Ok(descend::names(&mut Dir::from_fd(self.directory()?)?, &mut true))
    }

    /// Calls `take` for each regular file in the directory, sorted by name, except in directories that `skip` matches. It may
    /// not find all: there may be too many, they may be too deep, or `take` may stop the walk.
    pub fn walk(
        &self,
        skip: fn(&OsStr) -> bool,
        take: &mut dyn FnMut(&WalkedFile<'_>) -> WalkControl,
    ) -> io::Result<Walked> {
        walk::walk(&self.root, self.directory()?, skip, take)
    }

    /// Opens the first file of a [`Self::walk`] for whose path `is_it` holds.
    pub fn first(&self, is_it: impl Fn(&Path) -> bool) -> Option<File> {
        let mut found = None;
        // Without the directory, the file does not exist.
        let _ = self.walk(|_| false, &mut |file| {
            if is_it(file.path) {
                found = file.open().ok();
            }
            if found.is_some() { WalkControl::Stop } else { WalkControl::On }
        });
        found
    }

    /// Where its links lead, if they all stay in the directory that was opened. Nothing is followed later.
    pub fn resolved(&self) -> io::Result<Self> {
        descend::check(&self.path)?;
        // Most paths have no link.
        if self.status().is_ok_and(|found| descend::kind(&found) != SFlag::S_IFLNK) {
            return Ok(self.clone());
        }
        let mut left: Vec<OsString> = self.path.iter().rev().map(OsStr::to_owned).collect();
        let mut at = Self { root: Arc::clone(&self.root), path: PathBuf::new() };
        let mut links = 0;
        // The last link, and its target.
        let mut link = (PathBuf::new(), PathBuf::new());
        let leaves = |(link, target): &(PathBuf, PathBuf)| {
            let (link, target, root) = (link.display(), target.display(), self.root.path.display());
            let why = format!("{link} is a symbolic link to {target}, which is outside {root}");
            io::Error::new(io::ErrorKind::InvalidInput, why)
        };
        while let Some(name) = left.pop() {
            if name == ".." {
                if !at.path.pop() {
                    return Err(leaves(&link));
                }
                continue;
            }
            let next = at.join(&name);
            if !next.is(SFlag::S_IFLNK) {
                at = next;
                continue;
            }
            links += 1;
            if links > MAX_LINKS {
                return Err(Errno::ELOOP.into());
            }
            let mut target = next.link_target()?;
            link = (next.path, target.clone());
            if target.is_absolute() {
                let real = self.root.path.canonicalize().unwrap_or_else(|_| self.root.path.clone());
                let inside = target.strip_prefix(&self.root.path).or_else(|_| target.strip_prefix(real));
                target = inside.map_err(|_| leaves(&link))?.to_path_buf();
                at.path = PathBuf::new();
            }
            let parts = target.components().filter(|part| *part != Component::CurDir);
            left.extend(parts.map(|part| part.as_os_str().to_owned()).collect::<Vec<_>>().into_iter().rev());
        }
        Ok(at)
    }

    /// Exchanges what is here with what is at `other`, in one step. Both must exist.
    pub fn exchange(&self, other: &Self) -> io::Result<()> {
        let ((from, name), (to, new)) = (self.parent()?, other.parent()?);
        Ok(renameat_with(from, name, to, new, RenameFlags::EXCHANGE)?)
    }

    /// Its path in the directory that was opened.
    pub fn relative(&self) -> &Path {
        &self.path
    }

    /// Creates the directory and those above it that do not exist.
    pub fn create_dir_all(&self) -> Result<(), PathError> {
        match self.directory() {
            Ok(_) => Ok(()),
            Err(_) => descend::make(&self.root.fd, &self.path).map(drop).map_err(|error| self.error(error)),
        }
    }

    /// As [`Self::parent`], and creates the directories above it.
    fn made_parent(&self) -> io::Result<(OpenParent<'_>, &OsStr)> {
        match self.parent() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let (parent, name) = self.split()?;
                Ok((OpenParent::Beneath(descend::make(&self.root.fd, parent)?), name))
            }
            parent => parent,
        }
    }

    /// Creates the file and the directories above it. Fails if anything is there.
    pub fn create(&self, mode: u32) -> Result<File, PathError> {
        let create = || {
            let (parent, name) = self.made_parent()?;
            let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
            Ok(openat(parent, name, flags, descend::mode(mode))?)
        };
        create().map(File::from).map_err(|error: io::Error| self.error(error))
    }

    /// Creates a file with this content. Fails if anything is there.
    pub fn write(&self, content: &[u8], mode: u32) -> Result<(), PathError> {
        self.create(mode)?.write_all(content).map_err(|error| self.error(error))
    }

    /// Creates a file with this content in place of a file or link that may be there. Its permissions are `mode`.
    pub fn replace(&self, content: &[u8], mode: u32) -> Result<(), PathError> {
        if self.exists() && !self.is(SFlag::S_IFDIR) {
            self.remove()?;
        }
        let mut file = self.create(mode)?;
        let written = file.write_all(content).and_then(|()| file.set_permissions(Permissions::from_mode(mode)));
        written.map_err(|error| self.error(error))
    }

    /// Writes a file in one step, in place of a file or link that may be there, and creates the directories above it: `write` writes
    /// it piece by piece. A file keeps its permissions.
    pub fn put(&self, write: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), PathError> {
        let put = || {
            let (parent, name) = self.made_parent()?;
            let found = descend::status(&parent, name).ok();
            let is_file = |found: &FileStat| descend::kind(found) == SFlag::S_IFREG;
            let mode = found.filter(is_file).map(|found| Mode::from_bits_truncate(found.st_mode & 0o7777));
            let (new, mut file) = descend::new_file(&parent)?;
            let written = write(&mut file).and_then(|()| {
                mode.map_or(Ok(()), |mode| fchmod(&file, mode))?;
                Ok(renameat(&parent, new.as_os_str(), &parent, name)?)
            });
            written.inspect_err(|_| _ = descend::remove(&parent, &new))
        };
        put().map_err(|error: io::Error| self.error(error))
    }

    /// Links the regular file to `to` if the file system can, or else copies it. Fails if anything is there.
    pub fn copy_to(&self, to: &Self) -> Result<(), PathError> {
        let linked = self.parent().and_then(|(from, name)| {
            let (at, new) = to.parent()?;
            Ok(linkat(from, name, at, new, AtFlags::empty())?)
        });
        match linked {
            Ok(()) => Ok(()),
            // A copy would overwrite what is linked to another run.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(to.error(error)),
            Err(_) => self.duplicate_to(to),
        }
    }

    /// Copies the regular file to `to`, which shares nothing with it. Fails if anything is there.
    pub fn duplicate_to(&self, to: &Self) -> Result<(), PathError> {
        let mut from = self.file().map_err(|error| self.error(error))?;
        let mode = from.metadata().map_or(COMMON, |found| found.permissions().mode() & 0o777);
        io::copy(&mut from, &mut to.create(mode)?).map(drop).map_err(|error| to.error(error))
    }

    /// Creates a link to `target`, and the directories above it. Fails if anything is there.
    pub fn link_to(&self, target: impl AsRef<OsStr>) -> Result<(), PathError> {
        let link = || {
            let (parent, name) = self.made_parent()?;
            Ok(symlinkat(target.as_ref(), parent, name)?)
        };
        link().map_err(|error: io::Error| self.error(error))
    }

    /// Moves what is there to another place, which may be in another directory.
    pub fn rename(&self, to: &Self) -> io::Result<()> {
        let ((from, name), (to, new)) = (self.parent()?, to.parent()?);
        Ok(renameat(from, name, to, new)?)
    }

    /// Removes what is there, if anything is, with all that is in it. What cannot be removed stays; the error is that of the
    /// first such file.
    pub fn remove(&self) -> Result<(), PathError> {
        match self.parent().and_then(|(parent, name)| descend::remove(parent, name)) {
            // There may never have been a directory for it, and another process may remove it too.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed.map_err(|error| self.error(error)),
        }
    }
}

/// Whether [`RootedPath::exchange`] failed because the file system or the kernel has no exchange.
pub fn cannot_exchange(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw);
    matches!(errno, Some(Errno::EINVAL | Errno::ENOSYS | Errno::EOPNOTSUPP | Errno::EPERM))
}

/// How many threads remove the entries of a directory.
const REMOVERS: usize = 16;

/// As [`remove`], for a directory with many entries. Some file systems take milliseconds for each file whose blocks they free, and
/// many at the same time.
pub fn remove_many(path: &Path) -> Result<(), PathError> {
    let names = RootedPath::open(path).and_then(|root| Ok((root.names()?, root)));
    if let Ok((names, root)) = names.as_ref().map_err(io::Error::kind) {
        thread::scope(|scope| {
            for names in names.chunks(names.len().div_ceil(REMOVERS).max(1)) {
                let each = || names.iter().for_each(|name| _ = root.join(name).remove());
                // What is left where the system has no more threads is removed below.
                let _ = thread::Builder::new().spawn_scoped(scope, each);
            }
        });
    }
    remove(path)
}

/// Removes what is at `path`, as [`RootedPath::remove`] does.
pub fn remove(path: &Path) -> Result<(), PathError> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { return Ok(()) };
    let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
    match RootedPath::open(parent) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(PathError { path: path.to_path_buf(), source }),
        Ok(parent) => parent.join(name).remove(),
    }
}
