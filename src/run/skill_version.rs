//! Other versions of the repository's skills than those of the working tree: as a commit of git has them.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::cases::catalog::Catalog;
use crate::cases::repository::{DEFAULT_SKILL_ROOTS, Repository, Scope};
use crate::process::git;
use crate::settings::Settings;

/// The skills of a commit, in a folder of their own that goes with this value.
#[derive(Debug)]
pub struct SkillVersion {
    /// The commit, as a full hash: what [`Mode::commit`](crate::settings::mode::Mode::commit) says.
    pub commit: String,
    /// Its skills; it has no cases.
    pub catalog: Catalog,
    root: PathBuf,
    _folder: TempDir,
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
        let read = |parts: &[PathBuf]| -> Result<(PathBuf, Catalog), String> {
            let exported = git::export(root, commit, parts, folder.path()).map_err(|error| wrong(&error))?;
            let catalog = Repository { root: exported.clone() }.catalog(settings.skill_roots.as_deref(), Scope::All);
            Ok((exported, catalog))
        };
        // A repository may hold far more than skills. All of it counts where they may be anywhere.
        let parts: Vec<PathBuf> = match &settings.skill_roots {
            Some(roots) => roots.iter().map(|root| root.as_path().to_path_buf()).collect(),
            None => DEFAULT_SKILL_ROOTS.map(PathBuf::from).to_vec(),
        };
        let (mut exported, mut catalog) = read(&parts)?;
        // A link leads to what another part holds, or none.
        let by_link = |part: &PathBuf| part.ancestors().any(|at| exported.join(at).is_symlink());
        if catalog.skills.is_empty() || parts.iter().any(by_link) {
            (exported, catalog) = read(&[])?;
        }
        catalog.cases.clear();
        if catalog.skills.is_empty() {
            let looked = settings.skill_roots.as_ref().map_or_else(String::new, |roots| {
                let roots: Vec<String> = roots.iter().map(ToString::to_string).collect();
                format!(" in {}", roots.join(", "))
            });
            return Err(wrong(&format!("there are none{looked}")));
        }
        let inside = fs::canonicalize(folder.path()).map_err(|error| wrong(&error))?;
        let leads_out = |at: &Path| fs::canonicalize(exported.join(at)).is_ok_and(|at| !at.starts_with(&inside));
        if let Some(found) = catalog.skills.iter().find(|found| leads_out(&found.skill().folder)) {
            let at = found.skill().folder.display();
            return Err(wrong(&format!(
                "`{at}` is reached by a link that leads out of the repository; what lies there is today's"
            )));
        }
        Ok(Self { commit: commit.to_owned(), catalog, root: exported, _folder: folder })
    }

    /// Where they are.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }
}
