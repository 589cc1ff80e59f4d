//! The skills in which the working tree differs from a commit.

use std::collections::BTreeMap;
use std::path::Path;

use crate::cases::catalog::Catalog;
use crate::files::material::Material;
use crate::results::gate::{SkillDifference, SkillEdit};
use crate::run::skill_version::SkillVersion;

/// A skill as agents see it: in their list of skills, and all of its files.
#[derive(PartialEq)]
struct SkillFacts {
    listed: (String, String, bool),
    /// The digest of its files; `None` if they cannot be read.
    files: Option<String>,
}

/// The skills that differ between a commit and the working tree at `root`, by slug. A skill that cannot be read differs.
pub fn changed_skills(base: &SkillVersion, root: &Path, catalog: &Catalog) -> Vec<SkillDifference> {
    let (before, now) = (facts(base.root(), &base.catalog), facts(root, catalog));
    let mut changed = Vec::new();
    for (slug, skill) in &now {
        let edit = match before.get(slug) {
            None => SkillEdit::Added,
            Some(old) if old.listed != skill.listed => SkillEdit::Description,
            Some(old) if old.files != skill.files || skill.files.is_none() => SkillEdit::Body,
            Some(_) => continue,
        };
        changed.push(SkillDifference { slug: slug.clone(), edit });
    }
    let removed = before.into_keys().filter(|slug| !now.contains_key(slug));
    changed.extend(removed.map(|slug| SkillDifference { slug, edit: SkillEdit::Removed }));
    changed
}

fn facts(root: &Path, catalog: &Catalog) -> BTreeMap<String, SkillFacts> {
    let mut facts = BTreeMap::new();
    for found in &catalog.skills {
        let skill = found.skill();
        let files = Material::list(&root.join(&skill.folder)).whole().ok().and_then(|files| files.digest().ok());
        let listed = (skill.name.clone(), skill.description.clone(), skill.user_only);
        facts.insert(skill.slug.clone(), SkillFacts { listed, files });
    }
    facts
}
