//! The repository's files as the pure rooms see them: through a trait, so that checks need no disk.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use crate::files::material::MaterialProblem;

/// What stands at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Nothing.
    Missing,
    /// A file.
    File,
    /// A folder.
    Folder,
    /// Something else: a device, a socket, a pipe.
    Other,
    /// A symbolic link stands at the path or on the way to it.
    Symlink,
}

/// Read access to a repository, by paths relative to its root.
pub trait RepoFiles {
    /// What stands at `path`.
    fn kind(&self, path: &Path) -> FileKind;

    /// The content of the file at `path`.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// The names in the folder at `path`, sorted.
    fn names(&self, path: &Path) -> io::Result<Vec<OsString>>;

    /// What keeps the folder at `path`, a skill or a fixture, from being given to an agent.
    fn material_problems(&self, path: &Path) -> Vec<MaterialProblem>;
}
