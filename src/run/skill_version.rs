//! The repository as it is in a git commit.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::cases::catalog::Catalog;
use crate::cases::repository::{Layout, Repository, Scope};
use crate::files::look;
use crate::process::git::{self, CommitPart};
use crate::run::read_tree::ReadTree;
use crate::settings::load::{self, ConfigError};
use crate::settings::{FILE, Settings, Trust};
use crate::store::RECORDINGS;

/// The last part of [`RECORDINGS`]: a path into them has it.
const RECORDINGS_NAME: &str = "recordings";

/// A commit, read as a working tree is, in a temporary directory that is removed with this value.
#[derive(Debug)]
pub struct SkillVersion {
    /// The full hash, as in [`Mode::commit`](crate::settings::mode::Mode::commit).
    pub commit: String,
    pub repository: Repository,
    /// What its own settings file says, without the environment and the command line.
    pub settings: Settings,
    pub catalog: Catalog,
    /// That its settings file does not count, if it cannot be read.
    pub warning: Option<String>,
    /// The repository whose commit it is.
    origin: PathBuf,
    /// The directory to which its work tree is exported.
    to: PathBuf,
    _folder: TempDir,
}

impl SkillVersion {
    /// A commit of the repository at `root`. Fails if it has no skills.
    pub fn of(root: &Path, commit: &str, today: &Settings) -> Result<Self, String> {
        let version = Self::or_empty(root, commit, today)?;
        if !version.catalog.skills.is_empty() {
            return Ok(version);
        }
        Err(format!("the skills of {}: there are none", short(commit)))
    }

    /// The same for a commit that may have none.
    pub fn or_empty(root: &Path, commit: &str, today: &Settings) -> Result<Self, String> {
        Self::read(root, commit, today).map_err(|why| format!("the skills of {}: {why}", short(commit)))
    }

    fn read(root: &Path, commit: &str, today: &Settings) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        // A skill may have the name of the repository's directory.
        let to = folder.path().join(root.file_name().unwrap_or(OsStr::new("repository")));
        fs::create_dir(&to).map_err(|error| error.to_string())?;
        let exported = export(root, commit, CommitPart::Without(Path::new(RECORDINGS)), &to)?;
        let (settings, warning) = match load::read_file(&exported.folder, Trust::Trusted) {
            Ok(own) => (own, None),
            Err(why) => {
                let today = Settings { root: Some(exported.folder.clone()), ..today.clone() };
                let why = not_counted(commit, &why);
                // Where the commit is exported to says nothing to anybody.
                (today, Some(why.replace(&format!("{}/", exported.folder.display()), "")))
            }
        };
        let repository = Repository::new(exported.folder.clone());
        let catalog = repository.catalog(Layout::of(&settings), Scope::All);
        let commit = commit.to_owned();
        let mut version =
            Self { commit, repository, settings, catalog, warning, origin: root.to_path_buf(), to, _folder: folder };
        if version.tree().names(RECORDINGS_NAME) || exported.links_to(RECORDINGS_NAME) {
            version.add_recordings()?;
            version.catalog = version.repository.catalog(Layout::of(&version.settings), Scope::All);
        }
        check_complete(&exported, &version.catalog)?;
        Ok(version)
    }

    /// Adds the recordings, which can be large: no skill or case is read in them, but one may name a file there.
    pub fn add_recordings(&self) -> Result<(), String> {
        export(&self.origin, &self.commit, CommitPart::Only(Path::new(RECORDINGS)), &self.to).map(drop)
    }

    /// The root of the exported repository.
    pub fn root(&self) -> &Path {
        &self.repository.root
    }

    pub fn tree(&self) -> ReadTree<'_> {
        ReadTree { root: self.root(), settings: &self.settings, catalog: &self.catalog }
    }
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

fn not_counted(commit: &str, why: &ConfigError) -> String {
    let why = match why {
        ConfigError::File(problems) => problems.first().map(ToString::to_string),
        _ => None,
    }
    .unwrap_or_else(|| why.to_string());
    format!("{FILE} of {} is invalid, so its skills and cases are where today's settings say: {why}", short(commit))
}

/// A commit and its submodules as files.
struct ExportedFiles {
    folder: PathBuf,
    links: Vec<PathBuf>,
    /// The files that a filter program would change, with the names of their filters.
    filtered: Vec<(PathBuf, String)>,
}

impl ExportedFiles {
    fn links_to(&self, name: &str) -> bool {
        let target = |link| fs::read_link(self.folder.join(link)).ok();
        self.links.iter().filter_map(target).any(|target| target.iter().any(|part| part == name))
    }
}

/// Exports a part of a commit with the submodules that the working tree has: another one has no files now either.
fn export(repository: &Path, commit: &str, part: CommitPart<'_>, to: &Path) -> Result<ExportedFiles, String> {
    let failed = |error: std::io::Error| error.to_string();
    let exported = git::export(repository, commit, part, to).map_err(failed)?;
    let mut filtered = exported.filtered;
    for (place, commit) in exported.submodules {
        let (from, to) = (repository.join(&place), exported.folder.join(&place));
        if look::exists(&from.join(".git")).map_err(|error| error.to_string())? {
            let lacks = |error| {
                let (place, commit) = (from.display(), short(&commit));
                format!("the submodule `{place}` lacks the commit {commit}: fetch it there ({error})")
            };
            let inside = export(&from, &commit, CommitPart::Without(Path::new(".git")), &to).map_err(lacks)?;
            // As in a working tree, where readers leave out what is a repository of its own.
            fs::create_dir_all(to.join(".git")).map_err(failed)?;
            filtered.extend(inside.filtered.into_iter().map(|(file, filter)| (place.join(file), filter)));
        }
    }
    Ok(ExportedFiles { folder: exported.folder, links: exported.links, filtered })
}

/// Checks that the exported skills are as in a working tree of the commit.
fn check_complete(exported: &ExportedFiles, catalog: &Catalog) -> Result<(), String> {
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
