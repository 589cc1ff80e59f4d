//! The repository's skills in a git commit.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;

use crate::cases::case::{Case, FoundCase, file_formats, foreign_formats};
use crate::cases::case_parts::CasePart;
use crate::cases::catalog::{Catalog, EVALS};
use crate::cases::plugin;
use crate::cases::repository::{Layout, Repository, Scope};
use crate::cases::skills::default_skill_roots;
use crate::files::inside;
use crate::files::look;
use crate::grade::rubric;
use crate::process::git::{self, CommitFiles};
use crate::settings::{FILE, Settings};
use crate::store::RECORDINGS;

/// The skills of a commit, in a temporary directory that is removed with this value.
#[derive(Debug)]
pub struct SkillVersion {
    /// The full hash, as in [`Mode::commit`](crate::settings::mode::Mode::commit).
    pub commit: String,
    /// Its skills, without cases.
    pub catalog: Catalog,
    pub cases: Vec<Arc<FoundCase>>,
    pub settings: Option<String>,
    root: PathBuf,
    _folder: TempDir,
}

impl SkillVersion {
    /// The skills of a commit of the repository at `root`. Fails if the commit has none.
    pub fn of(root: &Path, commit: &str, settings: &Settings) -> Result<Self, String> {
        let version = Self::or_empty(root, commit, settings)?;
        if !version.catalog.skills.is_empty() {
            return Ok(version);
        }
        Err(format!("the skills of {}: there are none", short(commit)))
    }

    /// The same for a commit that may have none.
    pub fn or_empty(root: &Path, commit: &str, settings: &Settings) -> Result<Self, String> {
        Self::read(root, commit, settings).map_err(|why| format!("the skills of {}: {why}", short(commit)))
    }

    fn read(root: &Path, commit: &str, today: &Settings) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let text = git::stored_file(root, commit, FILE).and_then(|bytes| String::from_utf8(bytes).ok());
        // Its own settings say where its skills are, as far as this program can read them.
        let mut own = Settings::default();
        let own = if own.apply_file(text.as_deref().unwrap_or_default()).is_ok() { &own } else { today };
        let submodules = git::submodules(root, commit).map_err(|error| error.to_string())?;
        let read = |parts: &[PathBuf]| -> Result<(CommitFiles, Catalog), String> {
            let exported = git::export(root, commit, parts, folder.path()).map_err(|error| error.to_string())?;
            for (place, commit) in &submodules {
                export_submodule(&root.join(place), commit, &exported.folder.join(place))?;
            }
            let repository = Repository::new(exported.folder.clone());
            let catalog = repository.catalog(Layout::of(own), Scope::All);
            Ok((exported, catalog))
        };
        // Only the skill roots at first: a repository may have far more than skills.
        let parts: Vec<PathBuf> = match &own.skill_roots {
            Some(roots) => roots.iter().map(|root| root.as_path().to_path_buf()).collect(),
            None => default_skill_roots().map(PathBuf::from).collect(),
        };
        let listed = git::files(root, commit).map_err(|error| error.to_string())?;
        let plugins: Vec<PathBuf> =
            listed.iter().filter_map(|file| plugin::directory(file)).map(Path::to_path_buf).collect();
        // A plugin at the root is the whole commit.
        let is_whole = plugins.iter().any(|plugin| plugin.as_os_str().is_empty());
        let (mut exported, mut catalog) = read(&if is_whole { Vec::new() } else { [parts.clone(), plugins].concat() })?;
        // A link may lead to files that were not exported.
        let by_link = |part: &PathBuf| part.ancestors().any(|at| is_link(&exported.folder.join(at)));
        if catalog.skills.is_empty() || parts.iter().any(by_link) {
            (exported, catalog) = read(&[])?;
        }
        let leaving = parts.iter().find(|root| inside::place(&exported.folder, root).is_err());
        if let Some(root) = leaving.filter(|_| catalog.skills.is_empty() || own.skill_roots.is_some()) {
            let root = root.display();
            return Err(format!(
                "`{root}` is reached by a link that leads out of the repository; what lies there is today's"
            ));
        }
        catalog.cases.clear();
        // Apart, since a directory of cases may also have skills.
        let folders = file_formats().filter_map(|(_, files)| files.path.split('<').next()).map(PathBuf::from);
        let cases = read(&folders.chain(foreign_parts(&listed)).collect::<Vec<_>>())?.1.cases;
        // Files that are compared with those of today. No part at all would be the whole commit.
        let mut parts: Vec<PathBuf> =
            cases.iter().filter_map(|found| found.case().ok()).flat_map(named_files).collect();
        parts.extend(rubric::paths(own).map(Path::to_path_buf));
        parts.extend(own.mocks.iter().filter_map(|answer| Some(answer.source()?.as_path().to_path_buf())));
        parts.sort();
        parts.dedup();
        if !parts.is_empty() {
            read(&parts)?;
        }
        check_complete(&exported, &catalog)?;
        let root = exported.folder;
        Ok(Self { commit: commit.to_owned(), catalog, cases, settings: text, root, _folder: folder })
    }

    /// The root of the exported repository.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

/// The parts of a commit with these files that hold cases of other programs: their directories, since cases name files there.
fn foreign_parts(files: &[PathBuf]) -> BTreeSet<PathBuf> {
    let foreign = files.iter().filter(|file| foreign_formats().any(|(_, files)| files.match_path(file).is_some()));
    let directory = |file: &PathBuf| file.parent().filter(|parent| *parent != Path::new("")).map(Path::to_path_buf);
    let mut parts: BTreeSet<PathBuf> = foreign.map(|file| directory(file).unwrap_or_else(|| file.clone())).collect();
    // Recordings can be large, and no case names them.
    if parts.remove(Path::new(EVALS)) {
        let inside = files.iter().filter_map(|file| file.strip_prefix(EVALS).ok()?.components().next());
        parts.extend(inside.map(|name| Path::new(EVALS).join(name)));
    }
    parts.remove(Path::new(RECORDINGS));
    parts
}

/// The files outside of the directories of cases that decide the result of a case.
fn named_files(case: &Case) -> Vec<PathBuf> {
    case.parts().iter().flat_map(CasePart::files).collect()
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

/// Whether a link is there. Everything that was exported can be read.
fn is_link(path: &Path) -> bool {
    look::own_kind(path).is_ok_and(|kind| kind.is_some_and(|kind| kind.is_symlink()))
}

/// Exports the commit of a submodule, if the working tree has the submodule: without it, it has no skills now either.
fn export_submodule(submodule: &Path, commit: &str, to: &Path) -> Result<(), String> {
    if !look::exists(&submodule.join(".git")).map_err(|error| error.to_string())? {
        return Ok(());
    }
    fs::create_dir_all(to).map_err(|error| error.to_string())?;
    git::export(submodule, commit, &[], to).map(drop).map_err(|error| {
        let place = submodule.display();
        format!("the submodule `{place}` lacks the commit {}: fetch it there ({error})", short(commit))
    })
}

/// Checks that the exported skills are as in a working tree of the commit.
fn check_complete(exported: &CommitFiles, catalog: &Catalog) -> Result<(), String> {
    let real = |path: &Path| fs::canonicalize(exported.folder.join(path)).ok();
    let skills: Vec<PathBuf> = catalog.skills.iter().filter_map(|found| real(&found.skill().folder)).collect();
    let is_of_skill = |path: &Path| real(path).is_some_and(|path| skills.iter().any(|skill| path.starts_with(skill)));
    match exported.filtered.iter().find(|(path, _)| is_of_skill(path)) {
        Some((path, filter)) => Err(format!(
            "the filter `{filter}` writes `{}`, and no program that a repository names is started to read a commit; check \
             it out with `git worktree add`, run the cases there, and compare the two runs",
            path.display()
        )),
        None => Ok(()),
    }
}
