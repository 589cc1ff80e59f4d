//! Where evals go in a repository: the crate of the harness, its workspace, the root.

use std::io;
use std::path::{Path, PathBuf};

use super::relative::{normal, relative};
use super::{InitError, manifest};
use crate::cases::repository::Repository;
use crate::files::at::PathError;
use crate::files::bounded;

/// The directory of a small crate for the harness.
const SMALL_CRATE: &str = "evals";

/// The crate of the harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HarnessCrate {
    /// The crate in the directory.
    Own,
    /// A small crate in `evals`, a member of the workspace in the directory.
    Member,
    /// A small crate in `evals`, with a workspace of its own.
    Alone,
}

/// Where evals go. All paths are absolute.
pub(super) struct InitLayout {
    pub(super) kind: HarnessCrate,
    /// The crate of the harness.
    pub(super) package: PathBuf,
    /// Its workspace: nextest reads its settings there.
    pub(super) workspace: PathBuf,
    /// The repository with the skills.
    pub(super) root: PathBuf,
}

impl InitLayout {
    pub(super) fn of(folder: &Path) -> Result<Self, InitError> {
        let path = folder.join("Cargo.toml");
        let bad = |why| InitError::Manifest { path: relative(folder, &path), why };
        let text = read(&path).map_err(|source| InitError::Io { path: relative(folder, &path), source })?;
        let Some(text) = text else { return Ok(Self::small(folder, HarnessCrate::Alone)) };
        if !manifest::has_package(&text).map_err(bad)? {
            return Ok(Self::small(folder, HarnessCrate::Member));
        }
        Ok(Self {
            kind: HarnessCrate::Own,
            package: folder.to_path_buf(),
            workspace: workspace(folder, &text),
            // The harness finds skills in parent directories too.
            root: Repository::around(folder)
                .map_err(|PathError { path, source }| InitError::Io { path, source })?
                .map_or_else(|| folder.to_path_buf(), |repository| repository.root),
        })
    }

    fn small(folder: &Path, kind: HarnessCrate) -> Self {
        let (package, root) = (folder.join(SMALL_CRATE), folder.to_path_buf());
        let workspace = if kind == HarnessCrate::Member { root.clone() } else { package.clone() };
        Self { kind, package, workspace, root }
    }
}

/// The workspace of the crate in `folder`, as cargo finds it.
fn workspace(folder: &Path, manifest: &str) -> PathBuf {
    if let Some(named) = manifest::names_workspace(manifest) {
        return normal(&folder.join(named));
    }
    for parent in folder.ancestors() {
        let Ok(Some(text)) = read(&parent.join("Cargo.toml")) else { continue };
        if manifest::is_workspace(&text) {
            let is_excluded = manifest::excludes(&text, folder.strip_prefix(parent).unwrap_or(folder));
            return if is_excluded { folder } else { parent }.to_path_buf();
        }
    }
    folder.to_path_buf()
}

/// The text of a file; `None` if it does not exist.
pub(super) fn read(path: &Path) -> io::Result<Option<String>> {
    match bounded::read_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
