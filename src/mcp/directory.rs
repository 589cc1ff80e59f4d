//! Files of a skill's folder, and nothing else: followed one name at a time from folders held open, so that neither
//! a link nor a folder that is swapped meanwhile leads out of it.

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

use crate::cases::repo_files::FileKind;
use crate::files::below::{self, WalkControl};
use crate::files::bounded;
use crate::files::stamp::Stamp;
use crate::text::relative_path::RelativePath;

/// Links on the way to one file.
const MAX_LINKS: usize = 40;

/// How many files of one skill are listed.
const MAX_FILES: usize = 1000;

/// Why a path of a skill has no answer. Reads as the end of a sentence that starts with the path.
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
            // What `O_NOFOLLOW` says of a link that was put there a moment ago.
            Errno::ELOOP => Self::LeadsOut,
            errno => Self::Io(errno.into()),
        }
    }
}

/// What stands at a path.
pub(super) enum FoundPath {
    File(Vec<u8>),
    Folder,
}

/// A file below a skill's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListedFile {
    /// Its path below the folder, with `/` between the parts.
    pub path: String,
    /// In bytes.
    pub size: u64,
    pub stamp: Stamp,
}

const FOLDER: OFlag = OFlag::O_DIRECTORY.union(OFlag::O_RDONLY).union(OFlag::O_CLOEXEC);

/// What stands at `path` below the skill's folder `folder` below `root`; of a file at most `limit` bytes. `root` may be
/// a link or lie behind one, the skill's folder may not; links in it are followed as long as they stay in it.
pub(super) fn find(root: &Path, folder: &Path, path: &RelativePath, limit: u64) -> Result<FoundPath, ResourceError> {
    let skill = open_skill(root, folder)?;
    // The folders from the skill's own to where we stand. `..` in a link leads back along them, and never above.
    let mut folders = vec![skill];
    let mut names: Vec<OsString> = path.as_path().iter().rev().map(OsStr::to_owned).collect();
    let mut links = 0;
    while let (Some(name), Some(at)) = (names.pop(), folders.last()) {
        if name == ".." {
            folders.pop();
            continue;
        }
        let path = Path::new(&name);
        match kind(at, path)? {
            FileKind::Folder => folders.push(openat(at, path, FOLDER | OFlag::O_NOFOLLOW, Mode::empty())?),
            FileKind::File if names.is_empty() => return read(at, path, limit).map(FoundPath::File),
            FileKind::File | FileKind::Missing => return Err(ResourceError::Missing),
            FileKind::Symlink if links == MAX_LINKS => return Err(ResourceError::Links),
            FileKind::Symlink => {
                links += 1;
                names.extend(target(at, path)?.into_iter().rev());
            }
            FileKind::Other => return Err(ResourceError::Special),
        }
    }
    if folders.is_empty() { Err(ResourceError::LeadsOut) } else { Ok(FoundPath::Folder) }
}

/// The file `name` of the skill in `folder` below `root`, as [`find`] gives it, where the folder is known to list it.
pub(super) fn read_listed(root: &Path, folder: &Path, name: &str, limit: u64) -> Result<Vec<u8>, ResourceError> {
    read(open_skill(root, folder)?, Path::new(name), limit)
}

/// Whoever names a skill's folder has found it listed: with thousands beside it, to look again would take seconds.
fn open_skill(root: &Path, folder: &Path) -> Result<OwnedFd, ResourceError> {
    let mut skill = open(root, FOLDER, Mode::empty())?;
    for name in folder {
        let name = Path::new(name);
        match unlisted_kind(&skill, name)? {
            FileKind::Folder => skill = openat(&skill, name, FOLDER | OFlag::O_NOFOLLOW, Mode::empty())?,
            FileKind::Symlink => return Err(ResourceError::LeadsOut),
            FileKind::File | FileKind::Missing | FileKind::Other => return Err(ResourceError::Missing),
        }
    }
    Ok(skill)
}

/// The names in the target of the link `name`.
fn target(at: &OwnedFd, name: &Path) -> Result<Vec<OsString>, ResourceError> {
    let target = readlinkat(at, name)?;
    let names = Path::new(&target).components().filter(|part| *part != Component::CurDir);
    names
        .map(|part| match part {
            Component::Normal(name) => Ok(name.to_owned()),
            Component::ParentDir => Ok("..".into()),
            // Even where it leads to the skill's folder: that is elsewhere once the skill is installed.
            _ => Err(ResourceError::LeadsOut),
        })
        .collect()
}

/// What `name` is in the folder `at`, where that lists exactly this name.
fn kind(at: &OwnedFd, name: &Path) -> Result<FileKind, ResourceError> {
    match unlisted_kind(at, name)? {
        FileKind::Missing => Ok(FileKind::Missing),
        kind => Ok(if is_listed(at, name)? { kind } else { FileKind::Missing }),
    }
}

/// What `name` is in the folder `at`, looked at without opening it: opening a pipe or a device has effects.
fn unlisted_kind(at: &OwnedFd, name: &Path) -> Result<FileKind, ResourceError> {
    let status = match fstatat(at, name, AtFlags::AT_SYMLINK_NOFOLLOW) {
        Ok(status) => status,
        Err(Errno::ENOENT) => return Ok(FileKind::Missing),
        Err(errno) => return Err(errno.into()),
    };
    let kind = SFlag::from_bits_truncate(status.st_mode & SFlag::S_IFMT.bits());
    Ok(if kind == SFlag::S_IFDIR {
        FileKind::Folder
    } else if kind == SFlag::S_IFREG {
        FileKind::File
    } else if kind == SFlag::S_IFLNK {
        FileKind::Symlink
    } else {
        FileKind::Other
    })
}

/// Whether the folder lists exactly this name: a file system that ignores case, or that knows several spellings of
/// one letter, opens `skill.MD` too.
fn is_listed(at: &OwnedFd, name: &Path) -> Result<bool, ResourceError> {
    let mut folder = Dir::openat(at, ".", FOLDER, Mode::empty())?;
    for entry in folder.iter() {
        if entry?.file_name().to_bytes() == name.as_os_str().as_bytes() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn read(at: impl AsFd, name: &Path, limit: u64) -> Result<Vec<u8>, ResourceError> {
    // Not to wait for ever, should a pipe stand there by now.
    let flags = OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = File::from(openat(at, name, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(ResourceError::Special);
    }
    let size = metadata.len();
    bounded::read_sized(file, size, limit).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => ResourceError::TooLarge { size, limit },
        _ => ResourceError::Io(error),
    })
}

/// The files below `folder`, by path, at most 1000 of them; links, special files, hidden folders, `node_modules` and
/// names that are not UTF-8 are left out.
pub(super) fn list(folder: &Path) -> Vec<ListedFile> {
    let aside = |name: &OsStr| name.as_bytes().starts_with(b".") || name == "node_modules";
    let mut files = Vec::new();
    // What cannot be opened holds no files that could be handed out.
    let _ = below::walk(folder, Path::new(""), aside, &mut |entry| {
        if let Some(path) = entry.path.to_str() {
            files.push(ListedFile { path: path.to_owned(), size: entry.size, stamp: entry.stamp.clone() });
        }
        if files.len() < MAX_FILES { WalkControl::On } else { WalkControl::Stop }
    });
    files
}
