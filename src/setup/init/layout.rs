//! Where evals go in a repository: which crate has the harness, which folder is the workspace's, which the repository's.

use std::io;
use std::path::{Path, PathBuf};

use super::way::{normal, relative};
use super::{InitError, manifest};
use crate::cases::repository::Repository;
use crate::files::bounded;

/// Where a repository without a crate of its own gets one.
const OWN_CRATE: &str = "evals";

/// Which crate has the harness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HarnessCrate {
    /// The one in the folder.
    Own,
    /// A small one in `evals`, of the workspace in the folder.
    Member,
    /// A small one in `evals`, which is a workspace of its own.
    Alone,
}

/// Where evals go. All folders are absolute.
pub(super) struct InitLayout {
    pub(super) kind: HarnessCrate,
    /// The crate that has the harness.
    pub(super) package: PathBuf,
    /// Its workspace, where nextest looks for its settings.
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
            // The skills may lie further up, where the harness finds them as well.
            root: Repository::around(folder).map_or_else(|| folder.to_path_buf(), |repository| repository.root),
        })
    }

    fn small(folder: &Path, kind: HarnessCrate) -> Self {
        let (package, root) = (folder.join(OWN_CRATE), folder.to_path_buf());
        let workspace = if kind == HarnessCrate::Member { root.clone() } else { package.clone() };
        Self { kind, package, workspace, root }
    }
}

/// The folder of the workspace that the crate in `folder` belongs to, as cargo finds it.
fn workspace(folder: &Path, manifest: &str) -> PathBuf {
    if let Some(named) = manifest::names_workspace(manifest) {
        return normal(&folder.join(named));
    }
    let mut above = folder.ancestors().filter_map(|above| Some((above, read(&above.join("Cargo.toml")).ok()??)));
    let found = above.find(|(_, text)| manifest::is_workspace(text));
    let found = found.filter(|(above, text)| !manifest::excludes(text, folder.strip_prefix(above).unwrap_or(folder)));
    found.map_or(folder, |(above, _)| above).to_path_buf()
}

/// The text of a file, if there is one.
pub(super) fn read(path: &Path) -> io::Result<Option<String>> {
    match bounded::read_text(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
