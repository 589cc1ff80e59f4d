//! Reads files of a skill's directory. Each name is opened in an open parent directory, so neither a link nor a directory
//! that is replaced meanwhile leads out of the skill.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat, readlinkat};
use nix::sys::stat::{Mode, SFlag, fstatat};
use thiserror::Error;

use crate::files::beneath::{self, WalkControl, WalkedFile};
use crate::files::bounded;
use crate::files::stamp::Stamp;
use crate::text::relative_path::RelativePath;

/// Maximum number of links on the way to one file.
const MAX_LINKS: usize = 40;

/// Maximum number of listed files of one skill.
const MAX_FILES: usize = 1000;

/// Why a file of a skill cannot be read. The message completes a sentence that starts with the path.
#[derive(Debug, Error)]
pub(super) enum ResourceError {
    #[error("{0}")]
    NotAllowed(&'static str),
    #[error("is not there")]
    Missing,
    #[error("is a symbolic link or lies behind one that leads out of the skill's directory")]
    LeadsOut,
    #[error("lies behind more than {MAX_LINKS} symbolic links")]
    Links,
    #[error("is neither a file nor a directory and is not opened")]
    Special,
    #[error("is a file of {size} bytes; the limit is {limit} bytes")]
    TooLarge { size: u64, limit: u64 },
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
}

impl From<Errno> for ResourceError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::ENOENT | Errno::ENOTDIR | Errno::ENAMETOOLONG => Self::Missing,
            // `O_NOFOLLOW` reports a link that was created a moment ago.
            Errno::ELOOP => Self::LeadsOut,
            errno => Self::Io(errno.into()),
        }
    }
}

pub(super) enum FileContent {
    File(Vec<u8>),
    Directory,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListedFile {
    /// Relative to the skill's directory, with `/` between the parts.
    pub path: String,
    /// In bytes.
    pub size: u64,
    pub stamp: Stamp,
}

const DIRECTORY: OFlag = OFlag::O_DIRECTORY.union(OFlag::O_RDONLY).union(OFlag::O_CLOEXEC);

/// Reads `path` in the skill's directory `skill` of `root`, at most `limit` bytes. `root` may be behind a link, `skill` may
/// not. A link in the skill is followed if it stays in the skill.
pub(super) fn read(root: &Path, skill: &Path, path: &RelativePath, limit: u64) -> Result<FileContent, ResourceError> {
    // From the skill's directory to the current one. `..` in a link goes back along them, never above the skill.
    let mut directories = vec![open_skill(root, skill)?];
    let mut names: Vec<OsString> = path.as_path().iter().rev().map(OsStr::to_owned).collect();
    let mut links = 0;
    while let (Some(name), Some(parent)) = (names.pop(), directories.last()) {
        if name == ".." {
            directories.pop();
            continue;
        }
        let name = Path::new(&name);
        let kind = kind(parent, name)?;
        if !is_listed(parent, name)? {
            return Err(ResourceError::Missing);
        }
        match kind {
            SFlag::S_IFDIR => directories.push(openat(parent, name, DIRECTORY | OFlag::O_NOFOLLOW, Mode::empty())?),
            SFlag::S_IFREG if names.is_empty() => return read_file(parent, name, limit).map(FileContent::File),
            SFlag::S_IFREG => return Err(ResourceError::Missing),
            SFlag::S_IFLNK if links == MAX_LINKS => return Err(ResourceError::Links),
            SFlag::S_IFLNK => {
                links += 1;
                names.extend(link_target(parent, name)?.into_iter().rev());
            }
            _ => return Err(ResourceError::Special),
        }
    }
    if directories.is_empty() { Err(ResourceError::LeadsOut) } else { Ok(FileContent::Directory) }
}

fn open_skill(root: &Path, skill: &Path) -> Result<OwnedFd, ResourceError> {
    let mut directory = open(root, DIRECTORY, Mode::empty())?;
    for name in skill {
        // Does not check the exact name: the skill was found by listing, and `root` may list thousands of skills.
        match kind(&directory, Path::new(name))? {
            SFlag::S_IFDIR => directory = openat(&directory, name, DIRECTORY | OFlag::O_NOFOLLOW, Mode::empty())?,
            SFlag::S_IFLNK => return Err(ResourceError::LeadsOut),
            _ => return Err(ResourceError::Missing),
        }
    }
    Ok(directory)
}

/// The names in the target of the link `name`.
fn link_target(parent: &OwnedFd, name: &Path) -> Result<Vec<OsString>, ResourceError> {
    let target = readlinkat(parent, name)?;
    let mut names = Vec::new();
    for part in Path::new(&target).components() {
        match part {
            Component::Normal(_) | Component::ParentDir => names.push(part.as_os_str().to_owned()),
            Component::CurDir => {}
            // An absolute path leads elsewhere once the skill is installed, even if it leads to the skill now.
            Component::RootDir | Component::Prefix(_) => return Err(ResourceError::LeadsOut),
        }
    }
    Ok(names)
}

/// The kind of the file `name`, without opening it: opening a pipe or a device has effects.
fn kind(parent: &OwnedFd, name: &Path) -> Result<SFlag, ResourceError> {
    let status = fstatat(parent, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
    Ok(SFlag::from_bits_truncate(status.st_mode & SFlag::S_IFMT.bits()))
}

/// Whether the directory lists exactly this name. Some file systems ignore case, or have several spellings of a letter.
fn is_listed(parent: &OwnedFd, name: &Path) -> Result<bool, ResourceError> {
    let mut directory = Dir::openat(parent, ".", DIRECTORY, Mode::empty())?;
    for entry in directory.iter() {
        if entry?.file_name().to_bytes() == name.as_os_str().as_bytes() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn read_file(parent: impl AsFd, name: &Path, limit: u64) -> Result<Vec<u8>, ResourceError> {
    // `O_NONBLOCK` does not wait for ever if the file is now a pipe.
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = File::from(openat(parent, name, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(ResourceError::Special);
    }
    read_open(file, metadata.len(), limit)
}

fn read_open(file: File, size: u64, limit: u64) -> Result<Vec<u8>, ResourceError> {
    bounded::read_sized(file, size, limit).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => ResourceError::TooLarge { size, limit },
        _ => ResourceError::Io(error),
    })
}

/// Reads a file during [`list`], at most `limit` bytes.
pub(super) fn read_walked(file: &WalkedFile<'_>, limit: u64) -> Result<FileContent, ResourceError> {
    read_open(file.open()?, file.size, limit).map(FileContent::File)
}

/// Lists the files of the skill's directory `skill` of `root` by path, at most 1000. Leaves out links, special files, hidden
/// directories, `node_modules` and names that are not UTF-8. Calls `visit` with each file.
pub(super) fn list(root: &Path, skill: &Path, mut visit: impl FnMut(&WalkedFile<'_>)) -> Vec<ListedFile> {
    let is_skipped = |name: &OsStr| name.as_bytes().starts_with(b".") || name == "node_modules";
    let mut files = Vec::new();
    // A directory that cannot be opened has no files to serve.
    let _ = beneath::walk(root, skill, is_skipped, &mut |file| {
        if let Some(path) = file.path.to_str() {
            files.push(ListedFile { path: path.to_owned(), size: file.size, stamp: file.stamp.clone() });
            visit(file);
        }
        if files.len() < MAX_FILES { WalkControl::On } else { WalkControl::Stop }
    });
    files
}
