//! The repository on disk. Reads files; decides nothing about them.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::cases::catalog::Catalog;
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::cases::skill_material::skill_material;
use crate::files::inside;
use crate::files::material::{MaterialProblem, UnusableFile};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, shown_path};
use crate::text::name;

pub use crate::cases::layout::Layout;

/// The repository on disk.
#[derive(Clone, Debug)]
pub struct Repository {
    /// Its root, absolute.
    pub root: PathBuf,
}

/// The part of a repository that is read.
#[derive(Clone, Copy, Debug)]
pub enum Scope<'a> {
    /// All skills and cases.
    All,
    /// The skill and the case with these test name segments, for a process that runs one test.
    Test {
        /// The first segment of the test's name.
        skill: &'a str,
        /// The second.
        case: &'a str,
    },
}

impl Scope<'_> {
    pub(super) fn wants_skill(self, slug: &str) -> bool {
        match self {
            Scope::All => true,
            Scope::Test { skill, .. } => name::segment(slug) == skill,
        }
    }

    pub(super) fn wants_task(self, stem: &str) -> bool {
        match self {
            Scope::All => true,
            Scope::Test { case, .. } => name::segment(stem) == case,
        }
    }
}

impl RepoFiles for Repository {
    fn kind(&self, path: &Path) -> FileKind {
        let mut at = self.root.clone();
        let mut kind = FileKind::Folder;
        for part in path.components() {
            at.push(part);
            kind = match fs::symlink_metadata(&at) {
                Err(_) => return FileKind::Missing,
                Ok(metadata) if metadata.is_symlink() => return FileKind::Symlink,
                Ok(metadata) if metadata.is_dir() => FileKind::Folder,
                Ok(metadata) if metadata.is_file() => FileKind::File,
                Ok(_) => FileKind::Other,
            };
        }
        kind
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        inside::read(&self.root, path)
    }

    fn names(&self, path: &Path) -> io::Result<Vec<OsString>> {
        let folder = inside::real(&self.root, path)?;
        let mut names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<Vec<_>>>()?;
        names.sort();
        Ok(names)
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

impl Repository {
    /// Reads the skills where `layout` says, and the cases in `scope`.
    pub fn catalog(&self, layout: Layout<'_>, scope: Scope<'_>) -> Catalog {
        let mut catalog = Catalog::default();
        self.read_skills(layout.skill_roots, &mut catalog);
        self.read_cases(layout, scope, &mut catalog);
        catalog
    }

    pub(super) fn unreadable(&self, path: &Path, why: &str) -> Diagnostic {
        let place = SourceLocation::file(shown_path(&self.root, path));
        Diagnostic::new(Code::Unreadable, place, format!("cannot be read: {why}"))
    }
}
