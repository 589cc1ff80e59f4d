//! Which skill a file is for, by its place.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::cases::case_folders::{SKILL_EVALS, case_folders};
use crate::cases::catalog::Catalog;
use crate::cases::other_skill::NotRead;
use crate::skill::slug;

/// The skills in and under each directory of a repository.
pub(super) struct SkillIndex {
    /// The directories of skills.
    skills: HashMap<PathBuf, SkillPlace>,
    /// The directories above them, without the root: the skill in it, if it is the only one.
    around: HashMap<PathBuf, Option<SkillPlace>>,
    /// The directories directly above them, without the root.
    holders: HashSet<PathBuf>,
}

/// A skill of the catalog by its slug, or the number of one that is not read.
#[derive(Clone, PartialEq)]
enum SkillPlace {
    Skill(String),
    Other(usize),
}

impl SkillIndex {
    pub(super) fn of(catalog: &Catalog) -> Self {
        let mut index = Self { skills: HashMap::new(), around: HashMap::new(), holders: HashSet::new() };
        for found in &catalog.skills {
            index.add(&found.skill().folder, &SkillPlace::Skill(found.skill().slug.clone()));
        }
        for (at, other) in catalog.others.iter().enumerate() {
            // The cases around a fixture are for others.
            if other.why == NotRead::Fixture || other.folder().iter().any(|part| part == "tests" || part == "test") {
                index.skills.insert(other.folder().to_path_buf(), SkillPlace::Other(at));
            } else {
                index.add(other.folder(), &SkillPlace::Other(at));
            }
        }
        index
    }

    fn add(&mut self, folder: &Path, place: &SkillPlace) {
        let holder = folder.parent().filter(|holder| !holder.as_os_str().is_empty());
        self.holders.extend(holder.map(Path::to_path_buf));
        self.skills.entry(folder.to_path_buf()).or_insert_with(|| place.clone());
        for above in folder.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            let only = self.around.entry(above.to_path_buf()).or_insert_with(|| Some(place.clone()));
            if only.as_ref() != Some(place) {
                *only = None;
            }
        }
    }

    /// The skill that a path is for: the one whose directory holds it, whose name is a part of it, or the only one in the nearest
    /// directory around it that has any.
    fn place(&self, path: &Path, catalog: &Catalog) -> Option<SkillPlace> {
        let folders = || path.ancestors().skip(1).filter(|part| !part.as_os_str().is_empty());
        if let Some(place) = folders().find_map(|folder| self.skills.get(folder)) {
            return Some(place.clone());
        }
        let names = path.iter().rev().map(OsStr::to_string_lossy);
        let mut slugs = names.map(|name| slug(name.split('.').next().unwrap_or_default()));
        if let Some(slug) = slugs.find(|slug| catalog.skill(slug).is_some()) {
            return Some(SkillPlace::Skill(slug));
        }
        if self.names_unknown(path) {
            return None;
        }
        match folders().find_map(|folder| self.around.get(folder)) {
            Some(place) => place.clone(),
            None if catalog.skills.len() == 1 => {
                catalog.skills.first().map(|found| SkillPlace::Skill(found.skill().slug.clone()))
            }
            None => None,
        }
    }

    /// Whether a path that no skill's name is a part of has a name where that of a skill belongs.
    fn names_unknown(&self, path: &Path) -> bool {
        let is_known = |folder: &Path| self.skills.contains_key(folder) || self.around.contains_key(folder);
        let is_next_to_skills = |folder: &Path| folder.parent().is_some_and(|holder| self.holders.contains(holder));
        let in_skill_evals = path.strip_prefix(SKILL_EVALS).is_ok_and(|inside| inside.iter().count() > 1);
        let names_file = path.to_str().is_some_and(|path| path.ends_with(".prompts.csv"));
        in_skill_evals || names_file || case_folders(path).any(|folder| !is_known(folder) && is_next_to_skills(folder))
    }

    /// The slug of the skill that the place of a file stands for.
    pub(super) fn skill_of(&self, path: &Path, catalog: &Catalog) -> Option<String> {
        match self.place(path, catalog)? {
            SkillPlace::Skill(slug) => Some(slug),
            SkillPlace::Other(_) => None,
        }
    }

    /// The number of the skill that is not read and that a file is for.
    pub(super) fn other_of(&self, path: &Path, catalog: &Catalog) -> Option<usize> {
        if let SkillPlace::Other(at) = self.place(path, catalog)? { Some(at) } else { None }
    }
}
