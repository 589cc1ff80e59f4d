//! What a change touches besides skills: cases, checks, settings, and other files that are read.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use crate::cases::case::{Case, FoundCase};
use crate::cases::case_parts::SeenBy;
use crate::cases::case_tree::{CaseTree, TreeDigests};
use crate::results::gate::{DifferenceKind, OtherChange};
use crate::run::read_tree::ReadTree;
use crate::settings::mode::Delivery;
use crate::settings::{FILE, Settings, load};

/// The cases, settings and other files in which `now` differs from `base`.
pub fn other_changes(base: ReadTree<'_>, now: ReadTree<'_>) -> io::Result<Vec<OtherChange>> {
    let (before, after) = (cases(base)?, cases(now)?);
    let (then, here) = (Side::new(base)?, Side::new(now)?);
    let mut changes = Vec::new();
    let (mut old_cases, mut new_cases): (Vec<&FoundCase>, Vec<&FoundCase>) = (Vec::new(), Vec::new());
    for name in before.keys().chain(after.keys().filter(|name| !before.contains_key(*name))) {
        let (old, new) = (before.get(name).copied(), after.get(name).copied());
        if let Some(kind) = difference((&then, old), (&here, new))? {
            changes.push(OtherChange { kind, name: name.clone() });
            old_cases.extend(old);
            new_cases.extend(new);
        }
    }
    let (old, new) = (keys(base)?, keys(now)?);
    let named = old.keys().chain(new.keys().filter(|key| !old.contains_key(*key)));
    let changed_keys = named.filter(|key| old.get(*key) != new.get(*key));
    let settings: Vec<OtherChange> =
        changed_keys.map(|key| OtherChange { kind: DifferenceKind::Setting, name: key.clone() }).collect();
    // A file is named if nothing that is named already says that it differs.
    let mut known = base.of_cases(old_cases);
    known.extend(now.of_cases(new_cases));
    known.extend((!settings.is_empty()).then(|| PathBuf::from(FILE)));
    let adds_or_removes =
        |change: &OtherChange| [DifferenceKind::CaseAdded, DifferenceKind::CaseRemoved].contains(&change.kind);
    // Manifests say which skills there are.
    if changes.iter().any(adds_or_removes) {
        let of_cases = [base, now].map(|tree| tree.of_cases(tree.catalog.cases.iter().map(AsRef::as_ref)));
        let is_manifest = |path: &&PathBuf| !of_cases.iter().any(|files| files.contains(*path));
        known.extend([base, now].iter().flat_map(|tree| tree.catalog.sources.keys().filter(is_manifest)).cloned());
    }
    changes.extend(settings);
    changes.extend(files(base, now, &known)?);
    Ok(changes)
}

/// The cases of a tree by their names, as `skill/id`, without those of files that are in no commit.
fn cases(tree: ReadTree<'_>) -> io::Result<BTreeMap<String, &FoundCase>> {
    let files: BTreeSet<&Path> = tree.catalog.cases.iter().map(|found| &*found.file).collect();
    let ignored = tree.ignored(files)?;
    // A file that cannot be read stands for its cases under its own name. `lint` reports it.
    let is_case = |found: &&FoundCase| found.case().is_ok() || !found.file.ends_with(&found.id);
    let all = tree.catalog.cases.iter().map(AsRef::as_ref);
    let all = all.filter(is_case).filter(|found| !ignored.contains(&*found.file));
    Ok(all.map(|found| (format!("{}/{}", found.skill, found.id), found)).collect())
}

/// How the case of one name differs between two trees.
fn difference(
    (then, old): (&Side<'_>, Option<&FoundCase>),
    (here, new): (&Side<'_>, Option<&FoundCase>),
) -> io::Result<Option<DifferenceKind>> {
    let (Some(old), Some(new)) = (old, new) else {
        return Ok(Some(if old.is_some() { DifferenceKind::CaseRemoved } else { DifferenceKind::CaseAdded }));
    };
    Ok(match (old.case(), new.case()) {
        (Ok(old), Ok(new)) if then.asked(old)? != here.asked(new)? => Some(DifferenceKind::Prompt),
        (Ok(old), Ok(new)) if then.checked(old)? != here.checked(new)? => Some(DifferenceKind::Checks),
        (Ok(_), Ok(_)) | (Err(_), Err(_)) => None,
        (Ok(_), Err(_)) | (Err(_), Ok(_)) => Some(DifferenceKind::Prompt),
    })
}

/// The files that are read and differ, without those that are known already.
fn files(base: ReadTree<'_>, now: ReadTree<'_>, known: &BTreeSet<PathBuf>) -> io::Result<Vec<OtherChange>> {
    let mut paths = base.files();
    paths.extend(now.files());
    let (old, new) = (base.contents(&paths), now.contents(&paths));
    let is_known = |path: &PathBuf| path.ancestors().any(|part| known.contains(part));
    let is_same = |path: &PathBuf| match (old.get(path), new.get(path)) {
        (Some(Ok(old)), Some(Ok(new))) => old == new,
        _ => false,
    };
    let paths = old.keys().chain(new.keys()).filter(|path| !is_same(path) && !is_known(path));
    let differing: BTreeSet<&Path> = paths.map(PathBuf::as_path).collect();
    let ignored = now.ignored(differing.iter().copied())?;
    // What cannot be read is not known to differ.
    let unreadable = |path: &&Path| [&old, &new].into_iter().find_map(|side| side.get(*path)?.as_ref().err());
    if let Some((path, error)) = differing.difference(&ignored).find_map(|path| Some((path, unreadable(path)?))) {
        return Err(io::Error::new(error.kind(), format!("{}: cannot be read: {error}", path.display())));
    }
    let of_settings: BTreeSet<PathBuf> = base.of_settings().into_iter().chain(now.of_settings()).collect();
    let change = |path: &Path| {
        let kind = if of_settings.contains(path) { DifferenceKind::Setting } else { DifferenceKind::File };
        OtherChange { kind, name: path.display().to_string() }
    };
    Ok(differing.difference(&ignored).map(|path| change(path)).collect())
}

/// A tree with what is known of it.
struct Side<'a> {
    tree: ReadTree<'a>,
    settings: Settings,
    known: TreeDigests,
}

impl<'a> Side<'a> {
    /// A tree with what its settings file says. If that is not valid, the settings by which the tree was read count.
    fn new(tree: ReadTree<'a>) -> io::Result<Self> {
        let mut settings = Settings::default();
        let is_valid = load::text(tree.root)?.is_none_or(|text| settings.apply_file(&text).is_ok());
        let settings = if is_valid { settings } else { tree.settings.clone() };
        Ok(Self { tree, settings, known: TreeDigests::default() })
    }

    /// What the agent gets of a case, with its skills in its own directory.
    fn asked(&self, case: &Case) -> io::Result<String> {
        case.digest_of(SeenBy::Agent, &self.of_case())
    }

    /// What decides the verdict of its trials besides.
    fn checked(&self, case: &Case) -> io::Result<String> {
        case.digest_of(SeenBy::Checks, &self.of_case())
    }

    fn of_case(&self) -> CaseTree<'_> {
        let Self { tree: ReadTree { root, catalog, .. }, settings, known } = self;
        CaseTree { root, settings, delivery: Delivery::Native, mock_servers: &catalog.mock_servers, known }
    }
}

/// The keys of the settings file with their values. A file that is not TOML has none.
fn keys(tree: ReadTree<'_>) -> io::Result<BTreeMap<String, String>> {
    let text = load::text(tree.root)?.unwrap_or_default();
    let mut keys = BTreeMap::new();
    flatten("", toml::Value::Table(toml::from_str(&text).unwrap_or_default()), &mut keys);
    Ok(keys)
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
