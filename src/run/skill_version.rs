//! Other versions of the repository's skills than those of the working tree: as a commit of git has them.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::cases::catalog::Catalog;
use crate::cases::repository::{Layout, Repository, Scope};
use crate::cases::skills::default_skill_roots;
use crate::process::git::{self, CommitFiles};
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
    pub fn of(root: &Path, commit: &str, settings: &Settings) -> Result<Self, String> {
        let short = commit.get(..12).unwrap_or(commit);
        let wrong = |error: &dyn std::fmt::Display| format!("the skills of {short}: {error}");
        let folder = tempfile::tempdir().map_err(|error| wrong(&error))?;
        let read = |parts: &[PathBuf]| -> Result<(CommitFiles, Catalog), String> {
            let exported = git::export(root, commit, parts, folder.path()).map_err(|error| wrong(&error))?;
            let there = Repository { root: exported.folder.clone() };
            let catalog = there.catalog(Layout::of(settings), Scope::All);
            Ok((exported, catalog))
        };
        // A repository may hold far more than skills. All of it counts where they may be anywhere.
        let parts: Vec<PathBuf> = match &settings.skill_roots {
            Some(roots) => roots.iter().map(|root| root.as_path().to_path_buf()).collect(),
            None => default_skill_roots().map(PathBuf::from).collect(),
        };
        let (mut exported, mut catalog) = read(&parts)?;
        // A link leads to what another part holds, or none.
        let by_link = |part: &PathBuf| part.ancestors().any(|at| exported.folder.join(at).is_symlink());
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
        whole(&exported, &catalog, folder.path()).map_err(|why| wrong(&why))?;
        let root = exported.folder;
        Ok(Self { commit: commit.to_owned(), catalog, root, _folder: folder })
    }

    /// Where they are.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }
}

/// Whether a commit's skills are all there as a work tree in `folder` would have them.
fn whole(exported: &CommitFiles, catalog: &Catalog, folder: &Path) -> Result<(), String> {
    let real = |at: &Path| fs::canonicalize(exported.folder.join(at)).ok();
    let inside = fs::canonicalize(folder).map_err(|error| error.to_string())?;
    let skills: Vec<&Path> = catalog.skills.iter().map(|found| found.skill().folder.as_path()).collect();
    if let Some(at) = skills.iter().find(|at| real(at).is_some_and(|at| !at.starts_with(&inside))) {
        return Err(format!(
            "`{}` is reached by a link that leads out of the repository; what lies there is today's",
            at.display()
        ));
    }
    let of_a_skill = |path: &Path| {
        real(path).is_some_and(|path| skills.iter().any(|at| real(at).is_some_and(|at| path.starts_with(at))))
    };
    match exported.filtered.iter().find(|(path, _)| of_a_skill(path)) {
        Some((path, filter)) => Err(format!(
            "the filter `{filter}` writes `{}`, and no program that a repository names is started to read a commit; check \
             it out with `git worktree add`, run the cases there, and compare the two runs",
            path.display()
        )),
        None => Ok(()),
    }
}
