//! What a change touches besides skills: cases, checks and settings.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use crate::cases::case::{Case, FoundCase};
use crate::cases::catalog::Catalog;
use crate::cases::start_files::start_files;
use crate::files::inside;
use crate::results::gate::{DifferenceKind, OtherChange};
use crate::run::case_digests;
use crate::run::skill_version::SkillVersion;
use crate::settings::FILE;

/// The cases and settings that differ between a commit and the working tree at `root`.
pub fn other_changes(base: &SkillVersion, root: &Path, catalog: &Catalog) -> Vec<OtherChange> {
    let named = |found: &FoundCase| format!("{}/{}", found.skill, found.id);
    // A file that cannot be read stands for its cases under its own name. `lint` reports it.
    let is_case = |found: &&FoundCase| found.case().is_ok() || !found.file.ends_with(&found.id);
    let before: BTreeMap<String, &FoundCase> =
        base.cases.iter().map(|found| &**found).filter(is_case).map(|found| (named(found), found)).collect();
    let now: BTreeMap<String, &FoundCase> =
        catalog.cases.iter().map(|found| &**found).filter(is_case).map(|found| (named(found), found)).collect();
    let mut changes = Vec::new();
    let mut change = |kind, name: &str| changes.push(OtherChange { kind, name: name.to_owned() });
    for (name, found) in &now {
        let Some(old) = before.get(name) else {
            change(DifferenceKind::CaseAdded, name);
            continue;
        };
        match (old.case(), found.case()) {
            (Ok(old), Ok(new)) if asked(base.root(), old) != asked(root, new) => change(DifferenceKind::Prompt, name),
            (Ok(old), Ok(new)) if checked(base.root(), old) != checked(root, new) => {
                change(DifferenceKind::Checks, name);
            }
            (Ok(_), Ok(_)) | (Err(_), Err(_)) => {}
            (Ok(_), Err(_)) | (Err(_), Ok(_)) => change(DifferenceKind::Prompt, name),
        }
    }
    before.keys().filter(|name| !now.contains_key(*name)).for_each(|name| change(DifferenceKind::CaseRemoved, name));
    let today = inside::read_text(root, Path::new(FILE)).unwrap_or_default();
    let (old, new) = (keys(base.settings.as_deref().unwrap_or_default()), keys(&today));
    for key in old.keys().chain(new.keys().filter(|key| !old.contains_key(*key))) {
        if old.get(key) != new.get(key) {
            change(DifferenceKind::Setting, key);
        }
    }
    changes
}

/// What the agent gets of a case.
fn asked(root: &Path, case: &Case) -> String {
    let Case { prompt, system_prompt, sandbox, timeout, max_turns, output_schema, during, setup, .. } = case;
    let mut text = format!("{:?}", (prompt, system_prompt, sandbox, timeout, max_turns, output_schema, during, setup));
    let _ = write!(text, "{:?}", (&case.history, &case.follow_ups, &case.user, &case.tools, &case.env));
    if let Some(files) = start_files(root, case) {
        let _ = write!(text, "{}", files.whole().and_then(|files| files.digest()).unwrap_or_default());
    }
    let schema = output_schema.as_ref().and_then(|path| inside::read_text(root, path.as_path()).ok());
    text + &schema.unwrap_or_default()
}

/// What is expected of its trials.
fn checked(root: &Path, case: &Case) -> String {
    format!("{:?}\n{}", case.repetition, case_digests::expected(root, case))
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
