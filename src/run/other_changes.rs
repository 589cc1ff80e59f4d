//! What a change touches besides skills: cases, checks and settings.

use std::collections::BTreeMap;
use std::path::Path;

use crate::cases::case::{Case, FoundCase};
use crate::cases::case_parts::SeenBy;
use crate::cases::case_tree::{CaseTree, TreeDigests};
use crate::cases::catalog::Catalog;
use crate::files::inside;
use crate::results::gate::{DifferenceKind, OtherChange};
use crate::run::skill_version::SkillVersion;
use crate::settings::mode::Delivery;
use crate::settings::{FILE, Settings};

/// The cases and settings that differ between a commit and the working tree at `root`.
pub fn other_changes(base: &SkillVersion, root: &Path, catalog: &Catalog) -> Vec<OtherChange> {
    let named = |found: &FoundCase| format!("{}/{}", found.skill, found.id);
    // A file that cannot be read stands for its cases under its own name. `lint` reports it.
    let is_case = |found: &&FoundCase| found.case().is_ok() || !found.file.ends_with(&found.id);
    let before: BTreeMap<String, &FoundCase> =
        base.cases.iter().map(|found| &**found).filter(is_case).map(|found| (named(found), found)).collect();
    let now: BTreeMap<String, &FoundCase> =
        catalog.cases.iter().map(|found| &**found).filter(is_case).map(|found| (named(found), found)).collect();
    let before_text = base.settings.as_deref().unwrap_or_default();
    let today = inside::read_text(root, Path::new(FILE)).unwrap_or_default();
    let (then, here) = (Side::new(base.root(), &base.catalog, before_text), Side::new(root, catalog, &today));
    let mut changes = Vec::new();
    let mut change = |kind, name: &str| changes.push(OtherChange { kind, name: name.to_owned() });
    for (name, found) in &now {
        let Some(old) = before.get(name) else {
            change(DifferenceKind::CaseAdded, name);
            continue;
        };
        match (old.case(), found.case()) {
            (Ok(old), Ok(new)) if then.asked(old) != here.asked(new) => change(DifferenceKind::Prompt, name),
            (Ok(old), Ok(new)) if then.checked(old) != here.checked(new) => change(DifferenceKind::Checks, name),
            (Ok(_), Ok(_)) | (Err(_), Err(_)) => {}
            (Ok(_), Err(_)) | (Err(_), Ok(_)) => change(DifferenceKind::Prompt, name),
        }
    }
    before.keys().filter(|name| !now.contains_key(*name)).for_each(|name| change(DifferenceKind::CaseRemoved, name));
    let (old, new) = (keys(before_text), keys(&today));
    for key in old.keys().chain(new.keys().filter(|key| !old.contains_key(*key))) {
        if old.get(key) != new.get(key) {
            change(DifferenceKind::Setting, key);
        }
    }
    changes
}

/// A tree with what is known of it.
struct Side<'a> {
    root: &'a Path,
    catalog: &'a Catalog,
    settings: Settings,
    known: TreeDigests,
}

impl<'a> Side<'a> {
    /// The tree at `root` with this settings file. What is wrong with the file, `lint` reports.
    fn new(root: &'a Path, catalog: &'a Catalog, file: &str) -> Self {
        let mut settings = Settings::default();
        let _ = settings.apply_file(file);
        Self { root, catalog, settings, known: TreeDigests::default() }
    }

    /// What the agent gets of a case, with its skills in its own directory.
    fn asked(&self, case: &Case) -> String {
        case.digest_of(SeenBy::Agent, &self.tree())
    }

    /// What decides the verdict of its trials besides.
    fn checked(&self, case: &Case) -> String {
        case.digest_of(SeenBy::Checks, &self.tree())
    }

    fn tree(&self) -> CaseTree<'_> {
        let Self { root, catalog, settings, known } = self;
        CaseTree { root, settings, delivery: Delivery::Native, mock_servers: &catalog.mock_servers, known }
    }
}

/// The keys of a settings file with their values. A file that is not TOML has none.
fn keys(text: &str) -> BTreeMap<String, String> {
    let mut keys = BTreeMap::new();
    flatten("", toml::Value::Table(toml::from_str(text).unwrap_or_default()), &mut keys);
    keys
}

fn flatten(prefix: &str, value: toml::Value, keys: &mut BTreeMap<String, String>) {
    match value {
        toml::Value::Table(table) => {
            for (key, value) in table {
                let key = if prefix.is_empty() { key } else { format!("{prefix}.{key}") };
                flatten(&key, value, keys);
            }
        }
        value => {
            keys.insert(prefix.to_owned(), value.to_string());
        }
    }
}
