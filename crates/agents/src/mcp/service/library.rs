//! The skills that are served, and their changes between two scans.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use super::directory::{self, FileContent, ListedFile, ResourceError};
use super::uri::Address;
use crate::cases::repository::{Layout, Repository};
use crate::cases::skills::default_skill_roots;
use crate::files::look;
use crate::files::stamp::Stamp;
use crate::settings::BuiltIn;
use crate::skill::{SKILL_FILE, Skill, SkillFile, USER_ONLY, slug};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::text::relative_path::RelativePath;

/// Names of a skill's file: the name that agents know, and another that the server skilljack also accepts.
const SKILL_FILES: [&str; 2] = [SKILL_FILE, "skill.md"];

/// Maximum size of an answer with several files, in bytes, if a single file may not be larger.
const MAX_ANSWER: u64 = 1024 * 1024;

/// Minimum number of skills per thread of a scan.
const SKILLS_PER_THREAD: usize = 64;

#[derive(Clone, Debug)]
pub(super) enum SkillSource {
    /// A directory that is a skill, or that has skills in it or in its default skill roots.
    Directory(PathBuf),
    /// A directory whose first default skill root with skills is used. The rest is not searched: a client's root may be
    /// too large.
    Repository(PathBuf),
}

#[derive(Clone, Debug)]
pub(super) struct ServedSkill {
    /// Its directory is relative to `root`.
    pub skill: Skill,
    /// The skill root, absolute.
    pub root: PathBuf,
    /// The name of its SKILL.md.
    pub file: &'static str,
    /// All its files, with its SKILL.md.
    pub files: Vec<ListedFile>,
    /// Maximum size of a file that is served, in bytes.
    pub max_file: u64,
    /// Problems that keep models from knowing when to call the skill.
    flaws: Vec<String>,
    stamp: Stamp,
}

/// The skills, by slug. If several skills have the same slug, the first one is served.
#[derive(Clone, Debug, Default)]
pub(super) struct Library {
    pub skills: Vec<ServedSkill>,
    /// What is not served, and why.
    pub problems: Vec<String>,
}

/// The difference between two scans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LibraryChange {
    /// A skill was added or removed, or its SKILL.md changed.
    pub skills: bool,
    /// A file was added or removed.
    pub files: bool,
    /// Addresses of the files that were added, removed or changed, and of everything that contains them.
    pub updated: BTreeSet<Address>,
}

impl SkillSource {
    /// The skills' directories, each with its skill root.
    fn skill_directories(&self, problems: &mut Vec<Diagnostic>) -> Vec<(PathBuf, PathBuf)> {
        match self {
            Self::Directory(directory) if look::is_usable_directory(directory) => {
                let mut found = skills_in(directory, problems);
                // Searching the directory skips hidden skill roots. A skill that is found twice is served once.
                found.extend(default_roots(directory).flat_map(|root| skills_in(&root, problems)));
                found
            }
            Self::Directory(directory) => {
                let location = SourceLocation::file(directory);
                problems.push(Diagnostic::new(Code::SkillRoot, location, "this is not a directory"));
                Vec::new()
            }
            Self::Repository(root) => default_roots(root)
                .map(|root| skills_in(&root, problems))
                .find(|found| !found.is_empty())
                .unwrap_or_default(),
        }
    }
}

fn default_roots(directory: &Path) -> impl Iterator<Item = PathBuf> {
    default_skill_roots().map(|name| directory.join(name)).filter(|root| look::is_usable_directory(root))
}

/// The skills in a directory, or the directory itself if it is a skill.
fn skills_in(directory: &Path, problems: &mut Vec<Diagnostic>) -> Vec<(PathBuf, PathBuf)> {
    // The name of a skill without a `name` is that of its directory, so its path must end with it.
    let skill = directory
        .canonicalize()
        .ok()
        .filter(|path| SKILL_FILES.iter().any(|name| look::is_usable_file(&path.join(name))));
    let (root, searched) = match skill.as_deref().and_then(|skill| Some((skill.parent()?, skill.file_name()?))) {
        Some((parent, name)) => (parent, Path::new(name)),
        // An empty path would be searched as a repository's root.
        None => (directory, Path::new(".")),
    };
    let repository = Repository::new(root);
    let found = repository.skill_folders(searched, &SKILL_FILES, problems);
    problems.extend(repository.unread(Layout::default()));
    found.into_iter().map(|skill| (root.to_path_buf(), skill)).collect()
}

impl ServedSkill {
    /// Reads `path` in the skill's directory.
    pub(super) fn read(&self, path: &str) -> Result<FileContent, ResourceError> {
        self.read_up_to(path, self.max_file)
    }

    /// Reads `path` in the skill's directory, at most this many bytes.
    pub(super) fn read_up_to(&self, path: &str, limit: u64) -> Result<FileContent, ResourceError> {
        let path = RelativePath::parse(path).map_err(ResourceError::NotAllowed)?;
        directory::read(&self.root, &self.skill.folder, &path, limit)
    }

    /// Maximum size of an answer with several files, in bytes.
    pub(super) fn max_answer(&self) -> u64 {
        self.max_file.max(MAX_ANSWER)
    }

    /// What is wrong with the skill, and which files are not served.
    fn problems(&self) -> Vec<String> {
        let directory = self.directory();
        let mut problems = Vec::new();
        for flaw in &self.flaws {
            problems.push(format!("{} is served, but {flaw}", directory.display()));
        }
        for file in self.files.iter().filter(|file| file.size > self.max_file) {
            let why = ResourceError::TooLarge { size: file.size, limit: self.max_file };
            problems.push(format!("{} is not served: it {why}", directory.join(&file.path).display()));
        }
        problems
    }

    /// The skill's directory, absolute.
    pub(super) fn directory(&self) -> PathBuf {
        self.root.join(&self.skill.folder)
    }
}

impl Library {
    /// Scans `sources`. Does not read a SKILL.md again that has not changed since `previous`.
    pub(super) fn scan(sources: &[SkillSource], settings: BuiltIn, previous: &Self) -> Self {
        let known: HashMap<PathBuf, &ServedSkill> =
            previous.skills.iter().map(|served| (served.directory(), served)).collect();
        let mut diagnostics = Vec::new();
        let directories: Vec<_> =
            sources.iter().flat_map(|source| source.skill_directories(&mut diagnostics)).collect();
        let loaded = parallel_map(&directories, |(root, skill)| {
            load(root, skill, settings.max_file(), known.get(&root.join(skill)).copied())
        });
        let mut skills: BTreeMap<String, ServedSkill> = BTreeMap::new();
        let mut problems = Vec::new();
        for ((root, skill), loaded) in directories.iter().zip(loaded) {
            match loaded {
                Ok(served) => match skills.entry(served.skill.slug.clone()) {
                    // One skill root may be in another.
                    Entry::Occupied(first) if first.get().directory() == served.directory() => {}
                    Entry::Occupied(first) => problems.push(format!(
                        "{} is not served: its slug `{}` is also that of {}",
                        served.directory().display(),
                        served.skill.slug,
                        first.get().directory().display()
                    )),
                    Entry::Vacant(vacant) => problems.extend(vacant.insert(served).problems()),
                },
                Err(why) => problems.push(format!("{} is not served: {why}", root.join(skill).display())),
            }
        }
        problems.extend(diagnostics.iter().map(ToString::to_string));
        Self { skills: skills.into_values().collect(), problems }
    }

    /// The skill with this name, or with the slug of this name.
    pub(super) fn skill(&self, name: &str) -> Option<&ServedSkill> {
        let by_name = self.skills.iter().find(|served| served.skill.name == name);
        by_name.or_else(|| self.skills.iter().find(|served| served.skill.slug == slug(name)))
    }

    /// The changes since `previous`. `None` if there are none.
    pub(super) fn changes_since(&self, previous: &Self) -> Option<LibraryChange> {
        let (old, new) = (previous.file_stamps(), self.file_stamps());
        let mut change = LibraryChange {
            skills: !previous.skill_stamps().eq(self.skill_stamps()),
            files: !old.keys().eq(new.keys()),
            updated: BTreeSet::new(),
        };
        for key @ (slug, path) in old.keys().chain(new.keys()) {
            if old.get(key) != new.get(key) {
                change.updated.extend(Address::affected_by(slug, path, &SKILL_FILES));
            }
        }
        (change != LibraryChange::default()).then_some(change)
    }

    fn skill_stamps(&self) -> impl Iterator<Item = (PathBuf, &Stamp)> {
        self.skills.iter().map(|served| (served.directory(), &served.stamp))
    }

    /// The stamps of all files, by slug and path.
    fn file_stamps(&self) -> BTreeMap<(&str, &str), &Stamp> {
        let mut stamps = BTreeMap::new();
        for served in &self.skills {
            for file in &served.files {
                stamps.insert((served.skill.slug.as_str(), file.path.as_str()), &file.stamp);
            }
        }
        stamps
    }
}

/// Maps all items in order, on all processors: a scan of thousands of skills mostly waits for the file system.
fn parallel_map<T: Sync, R: Send>(items: &[T], map: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let chunks = items.chunks(items.len().div_ceil(threads).max(SKILLS_PER_THREAD));
    std::thread::scope(|scope| {
        let map = &map;
        let part = move |chunk: &'_ [T]| chunk.iter().map(map).collect::<Vec<R>>();
        let start = |chunk| std::thread::Builder::new().spawn_scoped(scope, move || part(chunk));
        // Where the system has no more threads, this one does the part.
        let threads: Vec<_> = chunks.map(|chunk| start(chunk).map_err(|_| part(chunk))).collect();
        let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().flat_map(|part| part.map_or_else(std::convert::identity, join)).collect()
    })
}

/// Loads the skill in the directory `skill` of `root`. `known` is the skill as the previous scan found it. The error is the
/// reason why the skill is not served.
fn load(root: &Path, skill: &Path, max_file: u64, known: Option<&ServedSkill>) -> Result<ServedSkill, String> {
    let unchanged = |file: &str, stamp: &Stamp| known.filter(|known| known.file == file && known.stamp == *stamp);
    let mut listed = None;
    let files = directory::list(root, skill, |file| {
        let name = SKILL_FILES.into_iter().find(|name| file.path == Path::new(name));
        if let (Some(name), None) = (name, &listed) {
            let content = unchanged(name, &file.stamp).ok_or_else(|| directory::read_walked(file, max_file));
            listed = Some((name, file.stamp.clone(), content));
        }
    });
    let (file, stamp, content) = if let Some(listed) = listed {
        listed
    } else {
        // The stamp is that of the link's target, which may change while the link does not.
        let target = |name| Some((name, Stamp::of(&fs::metadata(root.join(skill).join(name)).ok()?)));
        let linked = SKILL_FILES.into_iter().find_map(target);
        let (name, stamp) = linked.ok_or_else(|| format!("its {SKILL_FILE} cannot be read"))?;
        let path = RelativePath::parse(name)?;
        let content = unchanged(name, &stamp).ok_or_else(|| directory::read(root, skill, &path, max_file));
        (name, stamp, content)
    };
    let (skill, flaws) = match content {
        Ok(known) => (Skill { folder: skill.to_path_buf(), ..known.skill.clone() }, known.flaws.clone()),
        Err(Ok(FileContent::File(bytes))) => {
            let skill_file = SkillFile::parse(skill, &bytes);
            (skill_file.skill.clone(), flaws(&skill_file))
        }
        Err(Ok(FileContent::Directory)) => return Err(format!("its {file} is a directory")),
        Err(Err(error)) => return Err(format!("its {file} {error}")),
    };
    if skill.slug.is_empty() {
        return Err("neither its `name` nor its directory gives a name to call it by".to_owned());
    }
    if skill.user_only {
        return Err(format!("`{USER_ONLY}` keeps models from calling it"));
    }
    Ok(ServedSkill { skill, root: root.to_path_buf(), file, files, max_file, flaws, stamp })
}

/// Problems that keep models from knowing when to call a skill.
fn flaws(skill_file: &SkillFile) -> Vec<String> {
    let mut flaws: Vec<String> = skill_file.problems.iter().map(|problem| problem.message.clone()).collect();
    if flaws.is_empty() && skill_file.skill.description.is_empty() {
        flaws.push(format!("its {SKILL_FILE} has no `description`"));
    }
    flaws
}
