//! The skills in which the working tree differs from a commit.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use crate::agent::snapshot::plugin_files;
use crate::cases::catalog::Catalog;
use crate::cases::plugin::Plugin;
use crate::cases::skill_material::skill_material;
use crate::process::git;
use crate::results::gate::{SkillDifference, SkillEdit};
use crate::run::skill_version::SkillVersion;
use crate::skill::SKILL_FILE;

/// A skill as agents see it: in their list of skills, its text, and all of its files.
#[derive(PartialEq)]
struct SkillFacts {
    listed: (String, String, bool),
    text: Vec<u8>,
    /// The digest of its files; `None` if they cannot be read.
    files: Option<String>,
}

/// The skills that differ between a commit and the working tree at `root`, by slug. A skill that cannot be read differs.
pub fn changed_skills(base: &SkillVersion, root: &Path, catalog: &Catalog) -> io::Result<Vec<SkillDifference>> {
    let (before, now) = (facts(base.root(), &base.catalog)?, facts(root, catalog)?);
    let mut changed = Vec::new();
    for (slug, skill) in &now {
        let edit = match before.get(slug) {
            None => SkillEdit::Added,
            Some(old) if old.listed != skill.listed => SkillEdit::Description,
            Some(old) if old.text != skill.text => SkillEdit::Body,
            Some(old) if old.files != skill.files || skill.files.is_none() => SkillEdit::Files,
            Some(_) => continue,
        };
        changed.push(SkillDifference { slug: slug.clone(), edit });
    }
    let removed = before.into_keys().filter(|slug| !now.contains_key(slug));
    changed.extend(removed.map(|slug| SkillDifference { slug, edit: SkillEdit::Removed }));
    Ok(changed)
}

/// All skills of the repository at `root`, to be compared file by file; `None` if one cannot be read.
pub fn readable_skills(root: &Path, catalog: &Catalog) -> Option<impl PartialEq> {
    let all = facts(root, catalog).ok()?;
    all.values().all(|skill| skill.files.is_some()).then_some(all)
}

fn facts(root: &Path, catalog: &Catalog) -> io::Result<BTreeMap<String, SkillFacts>> {
    let folders: Vec<&Path> = catalog.skills.iter().map(|found| found.skill().folder.as_path()).collect();
    // What git ignores is in no commit: build outputs, files of the file manager.
    let ignored = git::ignored(root, &folders)?;
    let (mut facts, mut plugins) = (BTreeMap::new(), BTreeMap::new());
    for found in &catalog.skills {
        let skill = found.skill();
        let listed = (skill.name.clone(), skill.description.clone(), skill.user_only);
        let files = digest(root, &skill.folder, &ignored);
        let files = match &found.plugin {
            Some(plugin) => files.and_then(|files| {
                Some(files + plugins.entry(&plugin.folder).or_insert_with(|| of_plugin(root, plugin)).as_ref()?)
            }),
            None => files,
        };
        facts.insert(skill.slug.clone(), SkillFacts { listed, text: found.bytes.clone(), files });
    }
    Ok(facts)
}

/// The digest of the files of a plugin besides those of its skills.
fn of_plugin(root: &Path, plugin: &Plugin) -> Option<String> {
    let mut material = plugin_files(root, plugin).whole().ok()?;
    material.files.retain(|file| !plugin.has_file_of_skill(&file.path));
    Some(format!(" {} {}", material.digest().ok()?, material.programs()))
}

/// The digest of the files of a skill, with which of them are executable. The SKILL.md counts by its text.
fn digest(root: &Path, folder: &Path, ignored: &BTreeSet<PathBuf>) -> Option<String> {
    let mut material = skill_material(&root.join(folder)).whole().ok()?;
    material.files.retain(|file| file.path != Path::new(SKILL_FILE) && !ignored.contains(&folder.join(&file.path)));
    Some(format!("{} {}", material.digest().ok()?, material.programs()))
}
