//! The skills that are served, as they stood at the last look, and what has changed since the look before.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use super::folder::{self, Found, Listed, ResourceError};
use super::uri;
use crate::cases::repository::{DEFAULT_SKILL_ROOTS, Repository};
use crate::cases::skill::{SKILL_FILE, Skill, SkillFile, USER_ONLY, slug};
use crate::files::stamp::Stamp;
use crate::text::diagnostic::Diagnostic;
use crate::text::relative_path::RelativePath;

/// Where skills are looked for.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// A folder that holds skills, or is one.
    Skills(PathBuf),
    /// A folder in whose default skill roots they are: the first of them that holds any. The whole of it is not
    /// searched, which a client's root may be too large for.
    Repository(PathBuf),
}

/// A skill in the library.
#[derive(Clone, Debug)]
pub(super) struct Shelved {
    /// With its folder relative to `root`.
    pub skill: Skill,
    /// The skill root, absolute.
    pub root: PathBuf,
    /// All its files, SKILL.md included.
    pub files: Vec<Listed>,
    stamp: Stamp,
}

/// The skills, by slug; of several with one slug the first found.
#[derive(Clone, Debug, Default)]
pub(super) struct Library {
    pub skills: Vec<Shelved>,
    /// A line each: what could not be served, and why.
    pub problems: Vec<String>,
}

/// What two looks at the library differ in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// A skill came, went, or has another SKILL.md.
    pub skills: bool,
    /// A file came or went.
    pub files: bool,
    /// URIs of files that are there still and have changed.
    pub updated: Vec<String>,
}

impl Place {
    /// The skills' folders, each with the skill root that it is relative to.
    fn folders(&self, problems: &mut Vec<Diagnostic>) -> Vec<(PathBuf, PathBuf)> {
        match self {
            Self::Skills(folder) => folders_below(folder, problems),
            Self::Repository(root) => DEFAULT_SKILL_ROOTS
                .iter()
                .map(|name| root.join(name))
                .filter(|folder| folder.is_dir())
                .map(|folder| folders_below(&folder, problems))
                .find(|folders| !folders.is_empty())
                .unwrap_or_default(),
        }
    }
}

fn folders_below(folder: &Path, problems: &mut Vec<Diagnostic>) -> Vec<(PathBuf, PathBuf)> {
    // A skill without a `name` is named by its folder, whose name must be part of the path then.
    let whole = folder.canonicalize().ok().filter(|folder| folder.join(SKILL_FILE).is_file());
    let (root, below) = match whole.as_deref().and_then(|folder| Some((folder.parent()?, folder.file_name()?))) {
        Some((parent, name)) => (parent, Path::new(name)),
        // Named, so that it is not taken for a repository's root.
        None => (folder, Path::new(".")),
    };
    let folders = Repository { root: root.to_path_buf() }.skill_folders(below, problems);
    folders.into_iter().map(|found| (root.to_path_buf(), found)).collect()
}

impl Shelved {
    /// What stands at `path` in the skill's folder.
    pub(super) fn find(&self, path: &RelativePath) -> Result<Found, ResourceError> {
        folder::find(&self.root, &self.skill.folder, path)
    }

    /// The skill's folder, absolute.
    pub(super) fn folder(&self) -> PathBuf {
        self.root.join(&self.skill.folder)
    }
}

impl Library {
    /// Looks at `places`. A SKILL.md that is as it was in `before` is not read again.
    pub(super) fn look(places: &[Place], before: &Self) -> Self {
        let known: HashMap<PathBuf, &Shelved> =
            before.skills.iter().map(|shelved| (shelved.folder(), shelved)).collect();
        let mut library = Self::default();
        let mut problems = Vec::new();
        for (root, folder) in places.iter().flat_map(|place| place.folders(&mut problems)) {
            match shelve(&root, &folder, &known) {
                Ok(shelved) => library.add(shelved),
                Err(why) => {
                    library.problems.push(format!("{} {why}", root.join(&folder).join(SKILL_FILE).display()));
                }
            }
        }
        library.problems.extend(problems.iter().map(ToString::to_string));
        library.skills.sort_by(|a, b| a.skill.slug.cmp(&b.skill.slug));
        library
    }

    fn add(&mut self, shelved: Shelved) {
        let taken = self.skills.iter().find(|other| other.skill.slug == shelved.skill.slug);
        match taken {
            // Two roots can hold one another.
            Some(other) if other.folder() == shelved.folder() => {}
            Some(other) => self.problems.push(format!(
                "{} is not served: its slug `{}` is also that of {}",
                shelved.folder().display(),
                shelved.skill.slug,
                other.folder().display()
            )),
            None => self.skills.push(shelved),
        }
    }

    /// The skill of this name: as it is written, or its slug.
    pub(super) fn skill(&self, name: &str) -> Option<&Shelved> {
        let by_name = self.skills.iter().find(|shelved| shelved.skill.name == name);
        by_name.or_else(|| self.skills.iter().find(|shelved| shelved.skill.slug == slug(name)))
    }

    /// What has changed since `before`; nothing where nothing has.
    pub(super) fn changes_since(&self, before: &Self) -> Option<Change> {
        let skill_files = |library: &Self| -> Vec<(PathBuf, Stamp)> {
            library.skills.iter().map(|shelved| (shelved.folder(), shelved.stamp.clone())).collect()
        };
        let (old, new) = (before.stamps(), self.stamps());
        let change = Change {
            skills: skill_files(before) != skill_files(self),
            files: !old.keys().eq(new.keys()),
            updated: new
                .iter()
                .filter(|(uri, stamp)| old.get(*uri).is_some_and(|before| before != *stamp))
                .map(|(uri, _)| uri.clone())
                .collect(),
        };
        (change != Change::default()).then_some(change)
    }

    fn stamps(&self) -> BTreeMap<String, &Stamp> {
        let mut stamps = BTreeMap::new();
        for shelved in &self.skills {
            for file in &shelved.files {
                stamps.insert(uri::of(&shelved.skill.slug, &file.path), &file.stamp);
            }
        }
        stamps
    }
}

/// Takes the skill in `folder` below `root` from `known`, where its SKILL.md is as it was, or reads it. An error reads
/// as the end of a sentence that starts with the path of its SKILL.md.
fn shelve(root: &Path, folder: &Path, known: &HashMap<PathBuf, &Shelved>) -> Result<Shelved, String> {
    let path = root.join(folder);
    let metadata = fs::symlink_metadata(path.join(SKILL_FILE)).map_err(|error| format!("cannot be read: {error}"))?;
    let stamp = Stamp::of(&metadata);
    let skill = match known.get(&path).filter(|known| known.stamp == stamp) {
        Some(known) => Skill { folder: folder.to_path_buf(), ..known.skill.clone() },
        None => read(root, folder)?.skill,
    };
    if skill.slug.is_empty() {
        return Err("is not served: neither its `name` nor its folder gives a name to call it by".to_owned());
    }
    if skill.user_only {
        return Err(format!("is not served: `{USER_ONLY}` keeps models from calling it"));
    }
    Ok(Shelved { skill, root: root.to_path_buf(), files: folder::list(&path), stamp })
}

fn read(root: &Path, folder: &Path) -> Result<SkillFile, String> {
    let path = RelativePath::parse(SKILL_FILE)?;
    match folder::find(root, folder, &path) {
        Ok(Found::File(bytes)) => Ok(SkillFile::parse(folder, &bytes)),
        Ok(Found::Folder) => Err("is a folder".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}
