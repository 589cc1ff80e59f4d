//! The skills in which two trees differ.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use crate::agent::snapshot::plugin_files;
use crate::cases::plugin::Plugin;
use crate::cases::skill_material::skill_material;
use crate::files::look;
use crate::files::material::{Material, MaterialProblem, UnusableFile};
use crate::process::git;
use crate::results::gate::{SkillDifference, SkillEdit};
use crate::run::read_tree::ReadTree;
use crate::skill::SKILL_FILE;

/// A skill as agents see it: in their list of skills, its text, and all of its files.
#[derive(PartialEq)]
struct SkillFacts {
    listed: (String, String, bool),
    text: Vec<u8>,
    /// The digest of its files.
    files: String,
}

/// The skills in which `now` differs from `base`, by slug. Fails if a file of one cannot be read.
pub fn changed_skills(base: ReadTree<'_>, now: ReadTree<'_>) -> io::Result<Vec<SkillDifference>> {
    let (before, now) = (facts(base)?, facts(now)?);
    let mut changed = Vec::new();
    for (slug, skill) in &now {
        let edit = match before.get(slug) {
            None => SkillEdit::Added,
            Some(old) if old.listed != skill.listed => SkillEdit::Description,
            Some(old) if old.text != skill.text => SkillEdit::Body,
            Some(old) if old.files != skill.files => SkillEdit::Files,
            Some(_) => continue,
        };
        changed.push(SkillDifference { slug: slug.clone(), edit });
    }
    let removed = before.into_keys().filter(|slug| !now.contains_key(slug));
    changed.extend(removed.map(|slug| SkillDifference { slug, edit: SkillEdit::Removed }));
    Ok(changed)
}

/// All skills of a tree, to be compared file by file; `None` if one cannot be read.
pub fn readable_skills(tree: ReadTree<'_>) -> Option<impl PartialEq> {
    facts(tree).ok()
}

fn facts(tree: ReadTree<'_>) -> io::Result<BTreeMap<String, SkillFacts>> {
    let folders = tree.catalog.skills.iter().map(|found| (found, tree.place(&found.skill().folder)));
    let folders: Vec<_> = folders.collect();
    // What git ignores is in no commit: build outputs, files of the file manager, skills that were installed.
    let ignored = git::ignored(tree.root, &folders.iter().map(|(_, folder)| folder.as_path()).collect::<Vec<_>>())?;
    let (mut facts, mut plugins) = (BTreeMap::new(), BTreeMap::new());
    for (found, folder) in folders.iter().filter(|(_, folder)| !ignored.contains(&folder.join(SKILL_FILE))) {
        let skill = found.skill();
        let listed = (skill.name.clone(), skill.description.clone(), skill.user_only);
        let mut files = of_skill(tree, folder, &ignored)?;
        if let Some(plugin) = &found.plugin {
            let of_plugin = match plugins.entry(&plugin.folder) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(of_plugin(tree, plugin)?),
            };
            files += of_plugin;
        }
        facts.insert(skill.slug.clone(), SkillFacts { listed, text: found.bytes.clone(), files });
    }
    Ok(facts)
}

/// The digest of the files of a plugin besides those of its skills.
fn of_plugin(tree: ReadTree<'_>, plugin: &Plugin) -> io::Result<String> {
    let mut material = plugin_files(tree.root, plugin);
    material.files.retain(|file| !plugin.has_file_of_skill(&file.path));
    Ok(format!(" {}", digest(tree, &plugin.folder, &material)?))
}

/// The digest of the files of a skill. The SKILL.md counts by its text.
fn of_skill(tree: ReadTree<'_>, folder: &Path, ignored: &BTreeSet<PathBuf>) -> io::Result<String> {
    let mut material = skill_material(&tree.root.join(folder));
    let is_in_commit = |path: &Path| !ignored.contains(&folder.join(path)) && !path.iter().any(|part| part == ".git");
    material.files.retain(|file| file.path != Path::new(SKILL_FILE) && is_in_commit(&file.path));
    material.problems.retain(|problem| is_in_commit(&problem.path));
    digest(tree, folder, &material)
}

/// The digest of the files, with which of them are executable, and with what keeps agents from getting them, as a link out of the
/// skill does.
fn digest(tree: ReadTree<'_>, folder: &Path, material: &Material) -> io::Result<String> {
    let unreadable = |problem: &MaterialProblem| match &problem.why {
        UnusableFile::Unreadable(error) if look::hides(error) => {
            let path = folder.join(&problem.path);
            Some(io::Error::new(
                error.kind(),
                format!("{}: {}", path.display(), tree.without_root(&problem.why.to_string())),
            ))
        }
        _ => None,
    };
    if let Some(error) = material.problems.iter().find_map(unreadable) {
        return Err(error);
    }
    let digest = match material.digest() {
        Ok(digest) => digest,
        Err(problem) => unreadable(&problem).map_or_else(|| Ok(tree.without_root(&problem.to_string())), Err)?,
    };
    let problems: Vec<String> = material.problems.iter().map(|why| tree.without_root(&why.to_string())).collect();
    Ok(format!("{digest} {} {problems:?}", material.programs()))
}
