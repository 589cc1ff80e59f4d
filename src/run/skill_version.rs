//! Other versions of the repository's skills than those of the working tree: as a commit of git has them.

use std::path::Path;

use tempfile::TempDir;

use crate::cases::catalog::Catalog;
use crate::cases::repository::{Repository, Scope};
use crate::process::git;
use crate::settings::Settings;

/// The skills of a commit, in a folder of their own that goes with this value.
#[derive(Debug)]
pub struct SkillVersion {
    /// The commit, as a full hash: what [`Mode::commit`](crate::settings::mode::Mode::commit) says.
    pub commit: String,
    /// Its skills; it has no cases.
    pub catalog: Catalog,
    folder: TempDir,
}

impl SkillVersion {
    /// The skills of a commit of the repository at `root`.
    ///
    /// # Errors
    /// When git does not give them, or the commit has no skills.
    pub fn of(root: &Path, commit: &str, settings: &Settings) -> Result<Self, String> {
        let short = commit.get(..12).unwrap_or(commit);
        let wrong = |error: &dyn std::fmt::Display| format!("the skills of {short}: {error}");
        let folder = tempfile::tempdir().map_err(|error| wrong(&error))?;
        git::export(root, commit, folder.path()).map_err(|error| wrong(&error))?;
        let repository = Repository { root: folder.path().to_path_buf() };
        let mut catalog = repository.catalog(settings.skill_roots.as_deref(), Scope::All);
        catalog.cases.clear();
        if catalog.skills.is_empty() {
            let looked = settings.skill_roots.as_ref().map_or_else(String::new, |roots| {
                let roots: Vec<String> = roots.iter().map(ToString::to_string).collect();
                format!(" in {}", roots.join(", "))
            });
            return Err(wrong(&format!("there are none{looked}")));
        }
        Ok(Self { commit: commit.to_owned(), catalog, folder })
    }

    /// Where they are.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.folder.path()
    }
}
