//! A repository's work tree as the files of a repository.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::cases::repository::Repository;
use crate::cases::skill_material::skill_material;
use crate::files::material::{MaterialProblem, UnusableFile};
use crate::files::{inside, look};

impl RepoFiles for Repository {
    fn kind(&self, path: &Path) -> FileKind {
        let mut at = self.root.clone();
        let mut kind = FileKind::Folder;
        for part in path.components() {
            at.push(part);
            kind = self.noting(look::own_kind(&at)).map_or(FileKind::Unreadable, FileKind::from);
            if matches!(kind, FileKind::Unreadable | FileKind::Missing | FileKind::Symlink) {
                break;
            }
        }
        kind
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        inside::read(&self.root, path).inspect_err(|error| self.note(path, error))
    }

    fn names(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let names = inside::real(&self.root, path).and_then(|directory| look::names(&directory));
        names.inspect_err(|error| self.note(path, error))
    }

    fn is_executable(&self, path: &Path) -> bool {
        fs::metadata(self.root.join(path)).is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
    }

    fn material_problems(&self, path: &Path) -> Vec<MaterialProblem> {
        match inside::real(&self.root, path) {
            Ok(folder) => skill_material(&folder).problems,
            Err(error) => vec![MaterialProblem { path: path.to_path_buf(), why: UnusableFile::Unreadable(error) }],
        }
    }
}
