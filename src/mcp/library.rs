//! The skills that are served, as they stood at the last look, and what has changed since the look before.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use super::directory::{self, FoundPath, ListedFile, ResourceError};
use super::uri::Address;
use crate::cases::repository::Repository;
use crate::cases::skills::default_skill_roots;
use crate::files::stamp::Stamp;
use crate::settings::BuiltIn;
use crate::skill::{SKILL_FILE, Skill, SkillFile, USER_ONLY, slug};
use crate::text::diagnostic::{self, Code, Diagnostic};
use crate::text::relative_path::RelativePath;

/// What a skill's file may be called: the name that agents know, and the one that the server skilljack takes too.
const SKILL_FILES: [&str; 2] = [SKILL_FILE, "skill.md"];

/// The most that several files may add up to in one answer, where one alone may not be larger, in bytes.
const MAX_ANSWER: u64 = 1024 * 1024;

/// Skills for which no further thread is started.
const FEW: usize = 64;

/// Where skills are looked for.
#[derive(Clone, Debug)]
pub(super) enum SkillSource {
    /// A folder that holds skills, in its default skill roots too, or is one.
    Skills(PathBuf),
    /// A folder in whose default skill roots they are: the first of them that holds any. The whole of it is not
    /// searched, which a client's root may be too large for.
    Repository(PathBuf),
}

/// A skill in the library.
#[derive(Clone, Debug)]
pub(super) struct ServedSkill {
    /// With its folder relative to `root`.
    pub skill: Skill,
    /// The skill root, absolute.
    pub root: PathBuf,
    /// The name of its SKILL.md.
    pub file: &'static str,
    /// All its files, SKILL.md included.
    pub files: Vec<ListedFile>,
    /// The largest file that is handed out, in bytes.
    pub max_file: u64,
    /// What keeps models from knowing when to call it.
    flaws: Vec<String>,
    stamp: Stamp,
}

/// The skills, by slug; of several with one slug the first found.
#[derive(Clone, Debug, Default)]
pub(super) struct Library {
    pub skills: Vec<ServedSkill>,
    /// A line each: what could not be served, and why.
    pub problems: Vec<String>,
}

/// What two looks at the library differ in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LibraryChange {
    /// A skill came, went, or has another SKILL.md.
    pub skills: bool,
    /// A file came or went.
    pub files: bool,
    /// Addresses of files that came, went or changed, and of all that holds them.
    pub updated: BTreeSet<Address>,
}

impl SkillSource {
    /// The skills' folders, each with the skill root that it is relative to.
    fn folders(&self, problems: &mut Vec<Diagnostic>) -> Vec<(PathBuf, PathBuf)> {
        match self {
            Self::Skills(folder) if folder.is_dir() => {
                let mut folders = folders_below(folder, problems);
                // Hidden ones are not come by in the folder itself; a folder found twice is one skill.
                folders.extend(default_roots(folder).flat_map(|root| folders_below(&root, problems)));
                folders
            }
            Self::Skills(folder) => {
                let place = diagnostic::SourceLocation::file(folder);
                problems.push(Diagnostic::new(Code::SkillRoot, place, "this is not a directory"));
                Vec::new()
            }
            Self::Repository(root) => default_roots(root)
                .map(|folder| folders_below(&folder, problems))
                .find(|folders| !folders.is_empty())
                .unwrap_or_default(),
        }
    }
}

fn default_roots(folder: &Path) -> impl Iterator<Item = PathBuf> {
    default_skill_roots().map(|name| folder.join(name)).filter(|folder| folder.is_dir())
}

fn folders_below(folder: &Path, problems: &mut Vec<Diagnostic>) -> Vec<(PathBuf, PathBuf)> {
    // A skill without a `name` is named by its folder, whose name must be part of the path then.
    let whole = folder.canonicalize().ok().filter(|folder| SKILL_FILES.iter().any(|name| folder.join(name).is_file()));
    let (root, below) = match whole.as_deref().and_then(|folder| Some((folder.parent()?, folder.file_name()?))) {
        Some((parent, name)) => (parent, Path::new(name)),
        // Named, so that it is not taken for a repository's root.
        None => (folder, Path::new(".")),
    };
    let folders = Repository { root: root.to_path_buf() }.skill_folders(below, &SKILL_FILES, problems);
    folders.into_iter().map(|found| (root.to_path_buf(), found)).collect()
}

impl ServedSkill {
    /// What stands at `path` in the skill's folder.
    pub(super) fn find(&self, path: &RelativePath) -> Result<FoundPath, ResourceError> {
        directory::find(&self.root, &self.skill.folder, path, self.max_file)
    }

    /// The most that several files may add up to in one answer, in bytes.
    pub(super) fn max_answer(&self) -> u64 {
        self.max_file.max(MAX_ANSWER)
    }

    /// What is wrong with what is served, and what of it is not.
    fn problems(&self) -> impl Iterator<Item = String> {
        let path = self.folder();
        let flaws = self.flaws.iter().map({
            let path = path.clone();
            move |flaw| format!("{} is served, but {flaw}", path.display())
        });
        let large = self.files.iter().filter(|file| file.size > self.max_file);
        flaws.chain(large.map(move |file| {
            let why = ResourceError::TooLarge { size: file.size, limit: self.max_file };
            format!("{} is not served: it {why}", path.join(&file.path).display())
        }))
    }

    /// The skill's folder, absolute.
    pub(super) fn folder(&self) -> PathBuf {
        self.root.join(&self.skill.folder)
    }
}

impl Library {
    /// Looks at `places`. A SKILL.md that is as it was in `before` is not read again.
    pub(super) fn look(places: &[SkillSource], served: BuiltIn, before: &Self) -> Self {
        let known: HashMap<PathBuf, &ServedSkill> =
            before.skills.iter().map(|shelved| (shelved.folder(), shelved)).collect();
        let mut skills: BTreeMap<String, ServedSkill> = BTreeMap::new();
        let (mut said, mut problems) = (Vec::new(), Vec::new());
        let folders: Vec<_> = places.iter().flat_map(|place| place.folders(&mut problems)).collect();
        let shelved = side_by_side(&folders, |(root, folder)| shelve(root, folder, served.max_file(), &known));
        for ((root, folder), shelved) in folders.iter().zip(shelved) {
            match shelved {
                Ok(shelved) => match skills.entry(shelved.skill.slug.clone()) {
                    // Two roots can hold one another.
                    Entry::Occupied(taken) if taken.get().folder() == shelved.folder() => {}
                    Entry::Occupied(taken) => said.push(format!(
                        "{} is not served: its slug `{}` is also that of {}",
                        shelved.folder().display(),
                        shelved.skill.slug,
                        taken.get().folder().display()
                    )),
                    Entry::Vacant(free) => said.extend(free.insert(shelved).problems()),
                },
                Err(why) => said.push(format!("{} is not served: {why}", root.join(folder).display())),
            }
        }
        said.extend(problems.iter().map(ToString::to_string));
        Self { skills: skills.into_values().collect(), problems: said }
    }

    /// The skill of this name: as it is written, or its slug.
    pub(super) fn skill(&self, name: &str) -> Option<&ServedSkill> {
        let by_name = self.skills.iter().find(|shelved| shelved.skill.name == name);
        by_name.or_else(|| self.skills.iter().find(|shelved| shelved.skill.slug == slug(name)))
    }

    /// What has changed since `before`; nothing where nothing has.
    pub(super) fn changes_since(&self, before: &Self) -> Option<LibraryChange> {
        let skill_files = |library: &Self| -> Vec<(PathBuf, Stamp)> {
            library.skills.iter().map(|shelved| (shelved.folder(), shelved.stamp.clone())).collect()
        };
        let (old, new) = (before.stamps(), self.stamps());
        let touched = old.iter().filter(|(file, stamp)| new.get(*file) != Some(stamp));
        let touched = touched.chain(new.iter().filter(|(file, _)| !old.contains_key(*file)));
        let change = LibraryChange {
            skills: skill_files(before) != skill_files(self),
            files: !old.keys().eq(new.keys()),
            updated: touched.flat_map(|((slug, path), _)| Address::affected_by(slug, path, &SKILL_FILES)).collect(),
        };
        (change != LibraryChange::default()).then_some(change)
    }

    /// How every file stands, by its skill's slug and its path.
    fn stamps(&self) -> BTreeMap<(&str, &str), &Stamp> {
        let mut stamps = BTreeMap::new();
        for shelved in &self.skills {
            for file in &shelved.files {
                stamps.insert((shelved.skill.slug.as_str(), file.path.as_str()), &file.stamp);
            }
        }
        stamps
    }
}

/// What `make` makes of each, in order, on all processors: looking at thousands of skills is waiting for the file system.
fn side_by_side<T: Sync, R: Send>(all: &[T], make: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let parts = all.chunks(all.len().div_ceil(threads).max(FEW));
    std::thread::scope(|scope| {
        let make = &make;
        let parts: Vec<_> = parts.map(|part| scope.spawn(move || part.iter().map(make).collect::<Vec<R>>())).collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// Takes the skill in `folder` below `root` from `known`, where its SKILL.md is as it was, or reads it. An error is the
/// reason why it is not served.
fn shelve(
    root: &Path,
    folder: &Path,
    max_file: u64,
    known: &HashMap<PathBuf, &ServedSkill>,
) -> Result<ServedSkill, String> {
    let path = root.join(folder);
    let files = directory::list(&path);
    let listed = |name: &'static str| Some((name, files.iter().find(|file| file.path == name)?.stamp.clone()));
    // Not that of a link: what it leads to may change while it does not.
    let linked = |name: &'static str| Some((name, Stamp::of(&fs::metadata(path.join(name)).ok()?)));
    let found = SKILL_FILES.into_iter().find_map(|name| listed(name).or_else(|| linked(name)));
    let (file, stamp) = found.ok_or_else(|| format!("its {SKILL_FILE} cannot be read"))?;
    let unchanged = known.get(&path).filter(|known| known.file == file && known.stamp == stamp);
    let (skill, flaws) = if let Some(known) = unchanged {
        (Skill { folder: folder.to_path_buf(), ..known.skill.clone() }, known.flaws.clone())
    } else {
        let read = read(root, folder, file, max_file, listed(file).is_some())?;
        (read.skill.clone(), flaws(&read))
    };
    if skill.slug.is_empty() {
        return Err("neither its `name` nor its directory gives a name to call it by".to_owned());
    }
    if skill.user_only {
        return Err(format!("`{USER_ONLY}` keeps models from calling it"));
    }
    Ok(ServedSkill { skill, root: root.to_path_buf(), file, files, max_file, flaws, stamp })
}

/// What keeps models from knowing when to call a skill.
fn flaws(read: &SkillFile) -> Vec<String> {
    let mut flaws: Vec<String> = read.problems.iter().map(|problem| problem.message.clone()).collect();
    if flaws.is_empty() && read.skill.description.is_empty() {
        flaws.push(format!("its {SKILL_FILE} has no `description`"));
    }
    flaws
}

fn read(root: &Path, folder: &Path, file: &str, max_file: u64, listed: bool) -> Result<SkillFile, String> {
    let path = RelativePath::parse(file)?;
    let found = if listed {
        directory::read_listed(root, folder, file, max_file).map(FoundPath::File)
    } else {
        directory::find(root, folder, &path, max_file)
    };
    match found {
        Ok(FoundPath::File(bytes)) => Ok(SkillFile::parse(folder, &bytes)),
        Ok(FoundPath::Folder) => Err(format!("its {file} is a directory")),
        Err(error) => Err(format!("its {file} {error}")),
    }
}
