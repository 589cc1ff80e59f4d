//! The repository's files behind a trait, so that lint needs no disk.

use std::ffi::OsString;
use std::fs::FileType;
use std::io;
use std::path::Path;

use thiserror::Error;

use crate::files::material::MaterialProblem;

/// The kind of file at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// The file does not exist.
    Missing,
    /// A regular file.
    File,
    /// A directory.
    Folder,
    /// A device, a socket or a pipe.
    Other,
    /// A symbolic link, at the path or on the way to it.
    Symlink,
    /// Whatever is there, if anything is, cannot be asked about.
    Unreadable,
}

impl From<Option<FileType>> for FileKind {
    /// What `files::look::own_kind` found.
    fn from(found: Option<FileType>) -> Self {
        match found {
            None => Self::Missing,
            Some(kind) if kind.is_symlink() => Self::Symlink,
            Some(kind) if kind.is_file() => Self::File,
            Some(kind) if kind.is_dir() => Self::Folder,
            Some(_) => Self::Other,
        }
    }
}

/// Read access to a repository, by paths relative to its root.
pub trait RepoFiles {
    fn kind(&self, path: &Path) -> FileKind;

    /// The content of the file at `path`, which may be a link to another file of the repository.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// The names in the directory at `path`, sorted.
    fn names(&self, path: &Path) -> io::Result<Vec<OsString>>;

    /// Whether somebody may execute the file at `path`.
    fn is_executable(&self, _path: &Path) -> bool {
        true
    }

    /// The problems that keep the directory at `path`, a skill or a fixture, from being given to an agent.
    fn material_problems(&self, path: &Path) -> Vec<MaterialProblem>;
}

/// Why a file of the repository cannot be used, for the end of a sentence about it.
#[derive(Debug, Error)]
pub enum NoPlainFile {
    #[error("does not exist")]
    Missing,
    #[error("is reached through a symbolic link")]
    Symlink,
    #[error("is not a file")]
    NoFile,
    #[error("cannot be read: {0}")]
    Unreadable(io::Error),
}

/// The content of the file at `path`, which no link leads to.
pub fn plain_file(tree: &dyn RepoFiles, path: &Path) -> Result<Vec<u8>, NoPlainFile> {
    match tree.kind(path) {
        FileKind::File | FileKind::Unreadable => tree.read(path).map_err(NoPlainFile::Unreadable),
        FileKind::Missing => Err(NoPlainFile::Missing),
        FileKind::Symlink => Err(NoPlainFile::Symlink),
        FileKind::Folder | FileKind::Other => Err(NoPlainFile::NoFile),
    }
}
