//! The repository as it is in a git commit, and the texts of skills by which what an agent read is recognized.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, io};

use tempfile::TempDir;

use crate::cases::case::FoundCase;
use crate::cases::case_parts::CasePart;
use crate::cases::catalog::Catalog;
use crate::cases::plugin::PLUGINS;
use crate::cases::repository::{self, Layout, Repository, Scope};
use crate::files::at::{At, PathError};
use crate::files::material::{Material, UnusableFile};
use crate::files::{bounded, inside, look};
use crate::process::git::{self, CommitPart};
use crate::run::digests::opened_skills;
use crate::settings::load::{self, ConfigError};
use crate::settings::{CommandAnswer, FILE, Settings, Trust};
use crate::skill::SKILL_FILE;
use crate::store::{RECORDINGS, StoreError, TrialFolder};
use crate::text::name::RelativePath;
use crate::text::problem::{About, Problem};
use crate::trace::exposure::{Reference, SkillTexts, TextIndex, TextIndexBuilder};
use crate::trial::evidence::Meta;

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
    pub fn of(root: &Path, commit: &str, today: &Settings) -> Result<Self, Problem> {
        let version = Self::or_empty(root, commit, today)?;
        if !version.catalog.skills.is_empty() {
            return Ok(version);
        }
        Err(format!("the skills of {}: there are none", short(commit)).into())
    }

    /// The same for a commit that may have none.
    pub fn or_empty(root: &Path, commit: &str, today: &Settings) -> Result<Self, Problem> {
        Self::read(root, commit, today).about(format_args!("the skills of {}", short(commit)))
    }

    fn read(root: &Path, commit: &str, today: &Settings) -> Result<Self, Problem> {
        let folder = tempfile::tempdir()?;
        // A skill may have the name of the repository's directory.
        let to = folder.path().join(root.file_name().unwrap_or(OsStr::new("repository")));
        fs::create_dir(&to)?;
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
    pub fn add_recordings(&self) -> Result<(), Problem> {
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
fn export(repository: &Path, commit: &str, part: CommitPart<'_>, to: &Path) -> Result<ExportedFiles, Problem> {
    let failed = |error: std::io::Error| error.to_string();
    let exported = git::export(repository, commit, part, to).map_err(failed)?;
    let mut filtered = exported.filtered;
    for (place, commit) in exported.submodules {
        let (from, to) = (repository.join(&place), exported.folder.join(&place));
        if look::exists(&from.join(".git"))? {
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
fn check_complete(exported: &ExportedFiles, catalog: &Catalog) -> Result<(), Problem> {
    let real = |path: &Path| fs::canonicalize(exported.folder.join(path)).ok();
    let skills: Vec<PathBuf> = catalog.skills.iter().filter_map(|found| real(&found.skill().folder)).collect();
    let is_of_skill = |path: &Path| real(path).is_some_and(|path| skills.iter().any(|skill| path.starts_with(skill)));
    match exported.filtered.iter().find(|(path, _)| is_of_skill(path)) {
        Some((path, filter)) => Err(format!(
            "the filter `{filter}` writes `{}`, and no program that a repository names is started to read a commit; check \
             it out with `git worktree add`, run the cases there, and compare the two runs",
            path.display()
        ).into()),
        None => Ok(()),
    }
}

// A repository as it is read, and the content of the files that are read besides its skills.

/// The working tree or a commit, with what was read of it.
#[derive(Clone, Copy, Debug)]
pub struct ReadTree<'a> {
    pub root: &'a Path,
    pub settings: &'a Settings,
    pub catalog: &'a Catalog,
}

impl ReadTree<'_> {
    /// Where a path is behind its links.
    pub(super) fn place(&self, path: &Path) -> PathBuf {
        inside::place(self.root, path).map_or_else(|_| path.to_path_buf(), |place| place.relative().to_path_buf())
    }

    /// Those of these files that git ignores: they are in no commit.
    pub(super) fn ignored<'p>(&self, files: impl IntoIterator<Item = &'p Path>) -> io::Result<BTreeSet<&'p Path>> {
        let mut places: BTreeMap<PathBuf, Vec<&Path>> = BTreeMap::new();
        files.into_iter().for_each(|file| places.entry(self.place(file)).or_default().push(file));
        let ignored = git::ignored_of(self.root, &places.keys().cloned().collect())?;
        Ok(ignored.iter().flat_map(|place| places.remove(place).unwrap_or_default()).collect())
    }

    /// The files and directories that these cases are made of: their files, what belongs to them, and what they name.
    pub(super) fn of_cases<'c>(&self, cases: impl IntoIterator<Item = &'c FoundCase>) -> BTreeSet<PathBuf> {
        let mut paths = BTreeSet::new();
        for found in cases {
            paths.extend((!found.format().is_built_in()).then(|| found.file.to_path_buf()));
            if let Ok(case) = found.case() {
                paths.extend(case.parts().iter().flat_map(CasePart::files));
            }
        }
        let sources = &self.catalog.sources;
        let leads: BTreeSet<&Path> = paths.iter().filter_map(|path| sources.get(path)).map(AsRef::as_ref).collect();
        let of_leads = sources.iter().filter(|(_, lead)| leads.contains(&***lead)).map(|(path, _)| path.clone());
        let of_leads: Vec<PathBuf> = of_leads.collect();
        paths.extend(of_leads);
        paths
    }

    /// The files that the settings name: the judge's template and schema, and what is answered in every case.
    pub(super) fn of_settings(&self) -> BTreeSet<PathBuf> {
        let answers = self.settings.mocks.iter().flat_map(CommandAnswer::sources).map(RelativePath::as_path);
        repository::judge_paths(self.settings).into_iter().chain(answers).map(Path::to_path_buf).collect()
    }

    /// Whether a file that was read has this text.
    pub(super) fn names(&self, text: &str) -> bool {
        let of_cases = self.catalog.cases.iter().map(|found| found.file.to_path_buf());
        let files: BTreeSet<PathBuf> = of_cases.chain(self.catalog.sources.keys().cloned()).collect();
        let has = |path: &Path| {
            inside::read(self.root, path).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains(text))
        };
        has(Path::new(FILE)) || files.iter().any(|path| has(path))
    }

    /// All files and directories that are read besides those of skills.
    pub(super) fn files(&self) -> BTreeSet<PathBuf> {
        let mut files = self.of_cases(self.catalog.cases.iter().map(AsRef::as_ref));
        files.extend(self.catalog.sources.keys().cloned());
        files.extend(self.of_settings());
        files.insert(PathBuf::from(FILE));
        files
    }

    /// What is said of this tree, without where it is.
    pub fn without_root(&self, text: &str) -> String {
        text.replace(&*self.root.to_string_lossy(), "")
    }

    /// The content of what is at these paths and in them, as digests. What does not exist has none.
    pub(super) fn contents(&self, paths: &BTreeSet<PathBuf>) -> BTreeMap<PathBuf, FileContent> {
        let mut contents = BTreeMap::new();
        // The whole repository is more than a file that is read.
        for path in paths.iter().filter(|path| !path.as_os_str().is_empty()) {
            match inside::real(self.root, path) {
                Ok(real) if look::is_usable_directory(&real) => {
                    let material = Material::list(&real);
                    for problem in material.problems {
                        let content = match problem.why {
                            UnusableFile::Unreadable(error) if look::hides(&error) => Err(error),
                            why => Ok(self.without_root(&why.to_string())),
                        };
                        contents.insert(path.join(&problem.path), content);
                    }
                    for file in &material.files {
                        let content = content(bounded::digest(&real.join(&file.path)), file.executable);
                        contents.insert(path.join(&file.path), content);
                    }
                }
                Ok(real) => match bounded::digest(&real) {
                    Err(error) if look::is_absent(&error) => {}
                    digest => _ = contents.insert(path.clone(), content(digest, is_executable(&real))),
                },
                Err(error) if look::is_absent(&error) => {}
                Err(error) => _ = contents.insert(path.clone(), told(error)),
            }
        }
        contents
    }
}

/// What is in a file, as a digest; or why it cannot be read.
pub(super) type FileContent = io::Result<String>;

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|found| found.permissions().mode() & 0o111 != 0)
}

fn content(digest: io::Result<impl Display>, is_executable: bool) -> FileContent {
    digest.map_or_else(told, |digest| Ok(format!("{digest} {is_executable}")))
}

fn told(error: io::Error) -> FileContent {
    if look::hides(&error) { Err(error) } else { Ok(error.kind().to_string()) }
}

// The texts of skills, read once for all trials of a run. A trace is compared with them to find what entered the model's
// context.
//
// A trial of a run is compared with the run's own copy of the skills. A recording is compared with the repository, because
// it is stale anyway if a skill that it opened has changed. The same applies to changes of skills during a session.

/// Longest file that is read, in bytes; no agent shows a longer text to its model.
const MAX_FILE: u64 = 8 << 20;

#[derive(Debug, Default)]
pub struct TextReader {
    indexes: Mutex<HashMap<PathBuf, Arc<TextIndex>>>,
    /// The first error. Without a text, nothing shows that it entered the context.
    unread: Mutex<Option<(PathBuf, String)>>,
}

impl TextReader {
    /// All skills in a run's own copy, `<slug>/…`.
    pub fn snapshot(&self, folder: &Path) -> SkillTexts {
        SkillTexts::new(vec![self.once(folder.to_path_buf(), |texts| {
            let entries = self.noting(look::entries(folder)).unwrap_or_default();
            // The skills of plugins are there, too.
            for entry in entries.iter().filter(|entry| entry.file_name() != PLUGINS) {
                self.add_folder(texts, &entry.file_name().to_string_lossy(), entry.path(), |_| true);
            }
        })])
    }

    /// Fails if a text could not be read so far.
    pub fn whole(&self) -> Result<(), StoreError> {
        let unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner).clone();
        unread.map_or(Ok(()), |(path, why)| Err(PathError { path, source: io::Error::other(why) }.into()))
    }

    fn noting<T>(&self, result: Result<T, PathError>) -> Option<T> {
        let note = |error: &PathError| {
            let mut unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner);
            unread.get_or_insert_with(|| (error.path.clone(), error.source.to_string()));
        };
        result.inspect_err(note).ok()
    }

    /// What the trace of a stored trial is compared with.
    pub fn reference(&self, root: &Path, catalog: &Catalog, meta: &Meta, folder: &TrialFolder) -> Reference {
        let texts = match self.snapshot_of(meta, folder) {
            Some(snapshot) => self.snapshot(&snapshot),
            None => self.of_repository(root, catalog, meta),
        };
        let changes = meta.changes.iter().enumerate();
        let stored = folder.changes();
        let texts = if self.noting(look::is_directory(&stored)).unwrap_or(false) {
            texts.and(self.of_changes(&stored, changes.map(|(number, change)| (number, change.skill.as_str()))))
        } else {
            texts.and(changes.filter_map(|(number, change)| {
                // A stored path must not lead out of the repository.
                let folder = RelativePath::parse(change.folder.as_ref()?.to_str()?).ok()?;
                Some(self.of_change(number, &change.skill, &inside::real(root, folder.as_path()).ok()?))
            }))
        };
        let in_plugin = meta.skill.in_plugin.clone().map(|name| (name, meta.skill.slug.clone()));
        Reference {
            names: meta.tool_names(),
            served: meta.server.as_ref().map(|server| server.tools.clone()).unwrap_or_default(),
            texts,
            changes: Vec::new(),
            follow_ups: meta.case.follow_ups.len(),
            in_plugin,
        }
    }

    /// As [`reference`](Self::reference), if only the trial's directory is known: a recording's repository contains it.
    pub fn reference_at(&self, meta: &Meta, folder: &TrialFolder) -> Reference {
        // The recording is evals/recordings/<skill>/<case>/<mode>/<number>.
        let root = folder.path().ancestors().nth(6).unwrap_or(folder.path()).to_path_buf();
        let catalog = match self.snapshot_of(meta, folder) {
            Some(_) => Catalog::default(),
            None => Repository::new(root.clone()).catalog(Layout::default(), Scope::All),
        };
        self.reference(&root, &catalog, meta, folder)
    }

    /// Every SKILL.md of the repository, and the other files of the skill under test and of those that were opened.
    fn of_repository(&self, root: &Path, catalog: &Catalog, meta: &Meta) -> SkillTexts {
        let mut parts = vec![self.once(root.to_path_buf(), |texts| {
            for found in &catalog.skills {
                texts.add(&found.skill().slug, SKILL_FILE, &found.bytes);
            }
        })];
        let mut slugs = opened_skills(&meta.inputs);
        slugs.push(meta.skill.slug.clone());
        slugs.sort_unstable();
        slugs.dedup();
        for found in slugs.iter().filter_map(|slug| catalog.skill(slug)) {
            let skill = found.skill();
            let folder = root.join(&skill.folder);
            parts.push(self.once(folder.clone(), |texts| {
                self.add_folder(texts, &skill.slug, &folder, |path| path != SKILL_FILE);
            }));
        }
        SkillTexts::new(parts)
    }

    fn once(&self, key: PathBuf, read: impl FnOnce(&mut TextIndexBuilder)) -> Arc<TextIndex> {
        let mut indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        let index = indexes.entry(key).or_insert_with(|| {
            let mut texts = TextIndexBuilder::default();
            read(&mut texts);
            texts.build()
        });
        Arc::clone(index)
    }

    fn snapshot_of(&self, meta: &Meta, folder: &TrialFolder) -> Option<PathBuf> {
        let snapshot = folder.snapshot(meta.skills_copy.as_deref().or(meta.commit.as_deref()));
        snapshot.unwrap_or_else(|error| {
            self.noting::<()>(Err(io::Error::other(error)).at(folder.path()));
            None
        })
    }

    /// The skills after changes, which a trial stores in the directory `stored`. Each change has its number and the slug of its
    /// skill.
    pub fn of_changes<'a>(
        &self,
        stored: &Path,
        changes: impl Iterator<Item = (usize, &'a str)>,
    ) -> impl Iterator<Item = Arc<TextIndex>> {
        changes.map(move |(number, slug)| self.of_change(number, slug, &stored.join(number.to_string())))
    }

    fn of_change(&self, number: usize, slug: &str, folder: &Path) -> Arc<TextIndex> {
        let mut texts = TextIndexBuilder::of_change(number);
        self.add_folder(&mut texts, slug, folder, |_| true);
        texts.build()
    }

    /// Adds the plain files in a skill's directory. A file that is too long has an empty text.
    fn add_folder(&self, texts: &mut TextIndexBuilder, slug: &str, folder: &Path, wanted: impl Fn(&str) -> bool) {
        for entry in self.noting(look::Walk::new(folder).all()).unwrap_or_default() {
            let path = entry.path().strip_prefix(folder).unwrap_or(entry.path()).to_string_lossy().into_owned();
            if entry.file_type().is_file() && wanted(&path) {
                let length = fs::metadata(entry.path()).map(|file| file.len());
                let content =
                    length.and_then(|length| if length <= MAX_FILE { fs::read(entry.path()) } else { Ok(Vec::new()) });
                texts.add(slug, &path, &self.noting(content.at(entry.path())).unwrap_or_default());
            }
        }
    }
}
