//! The skills in which two trees differ.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::agent::snapshot::plugin_files;
use crate::cases::case::{Case, FoundCase};
use crate::cases::case_parts::SeenBy;
use crate::cases::case_parts::{CaseTree, TreeDigests};
use crate::cases::catalog::Catalog;
use crate::cases::plugin::Plugin;
use crate::cases::skill_material::skill_material;
use crate::files::look;
use crate::files::material::{Material, MaterialProblem, UnusableFile};
use crate::process::git;
use crate::report::export::{ChangeLocations, FileLine};
use crate::results::gate::{DifferenceKind, OtherChange, SkillDifference, SkillEdit};
use crate::run::skill_version::ReadTree;
use crate::settings::mode::Delivery;
use crate::settings::{FILE, Settings, load};
use crate::skill::{SKILL_FILE, Skill};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};

/// A skill as agents see it: in their list of skills, its text, and all of its files.
#[derive(PartialEq)]
struct SkillFacts {
    listed: (String, String, bool),
    text: Vec<u8>,
    /// The digest of its files, or the problem of one that cannot be read.
    files: Result<String, Box<Diagnostic>>,
}

/// What two trees differ in, as far as they can be read.
#[derive(Debug)]
pub struct Differences<T> {
    /// What cannot be read is among them, since it is not known to be the same.
    pub changed: Vec<T>,
    /// What cannot be read.
    pub unread: Vec<Diagnostic>,
}

/// The skills in which `now` differs from `base`, by slug. Fails if git cannot be asked.
pub fn changed_skills(base: ReadTree<'_>, now: ReadTree<'_>) -> io::Result<Differences<SkillDifference>> {
    let (before, now) = (facts(base)?, facts(now)?);
    let unread = before.values().chain(now.values()).filter_map(|skill| skill.files.as_ref().err());
    let unread: Vec<Diagnostic> = unread.map(|problem| (**problem).clone()).collect();
    let mut changed = Vec::new();
    for (slug, skill) in &now {
        let edit = match before.get(slug) {
            None => SkillEdit::Added,
            Some(old) if old.listed != skill.listed => SkillEdit::Description,
            Some(old) if old.text != skill.text => SkillEdit::Body,
            Some(old) if old.files != skill.files || skill.files.is_err() => SkillEdit::Files,
            Some(_) => continue,
        };
        changed.push(SkillDifference { slug: slug.clone(), edit });
    }
    let removed = before.into_keys().filter(|slug| !now.contains_key(slug));
    changed.extend(removed.map(|slug| SkillDifference { slug, edit: SkillEdit::Removed }));
    Ok(Differences { changed, unread })
}

/// All skills of a tree, to be compared file by file; `None` if one cannot be read.
pub fn readable_skills(tree: ReadTree<'_>) -> Option<impl PartialEq> {
    facts(tree).ok().filter(|facts| facts.values().all(|skill| skill.files.is_ok()))
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
        let mut files = of_skill(tree, folder, &ignored);
        if let Some(plugin) = &found.plugin {
            let of_plugin = match plugins.entry(&plugin.folder) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(of_plugin(tree, plugin)),
            };
            files = files.and_then(|files| Ok(files + of_plugin.as_ref().map_err(Clone::clone)?));
        }
        facts.insert(skill.slug.clone(), SkillFacts { listed, text: found.bytes.clone(), files });
    }
    Ok(facts)
}

/// The digest of the files of a plugin besides those of its skills.
fn of_plugin(tree: ReadTree<'_>, plugin: &Plugin) -> Result<String, Box<Diagnostic>> {
    let mut material = plugin_files(tree.root, plugin);
    material.files.retain(|file| !plugin.has_file_of_skill(&file.path));
    Ok(format!(" {}", digest(tree, &plugin.folder, &material)?))
}

/// The digest of the files of a skill. The SKILL.md counts by its text.
fn of_skill(tree: ReadTree<'_>, folder: &Path, ignored: &BTreeSet<PathBuf>) -> Result<String, Box<Diagnostic>> {
    let mut material = skill_material(&tree.root.join(folder));
    let is_in_commit = |path: &Path| !ignored.contains(&folder.join(path)) && !path.iter().any(|part| part == ".git");
    material.files.retain(|file| file.path != Path::new(SKILL_FILE) && is_in_commit(&file.path));
    material.problems.retain(|problem| is_in_commit(&problem.path));
    digest(tree, folder, &material)
}

/// The digest of the files, with which of them are executable, and with what keeps agents from getting them, as a link out of the
/// skill does.
fn digest(tree: ReadTree<'_>, folder: &Path, material: &Material) -> Result<String, Box<Diagnostic>> {
    let unreadable = |problem: &MaterialProblem| match &problem.why {
        UnusableFile::Unreadable(error) if look::hides(error) => {
            let place = SourceLocation::file(folder.join(&problem.path));
            Some(unread(place, &tree.without_root(&problem.why.to_string())))
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

// What a change touches besides skills: cases, checks, settings, and other files that are read.

/// What is said of what cannot be read: nobody knows whether it differs.
fn unread(place: SourceLocation, why: &str) -> Box<Diagnostic> {
    Box::new(Diagnostic::new(Code::Unreadable, place, why).help("make it readable for this user"))
}

/// The cases, settings and other files in which `now` differs from `base`. Fails if git cannot be asked, or the settings not be read.
pub fn other_changes(base: ReadTree<'_>, now: ReadTree<'_>) -> io::Result<Differences<OtherChange>> {
    let (before, after) = (cases(base)?, cases(now)?);
    let (then, here) = (Side::new(base)?, Side::new(now)?);
    let (mut changes, mut unread) = (Vec::new(), Vec::new());
    let (mut old_cases, mut new_cases): (Vec<&FoundCase>, Vec<&FoundCase>) = (Vec::new(), Vec::new());
    for name in before.keys().chain(after.keys().filter(|name| !before.contains_key(*name))) {
        let (old, new) = (before.get(name).copied(), after.get(name).copied());
        if let Some(kind) = difference((&then, old), (&here, new), &mut unread) {
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
    changes.extend(files(base, now, &known, &mut unread)?);
    Ok(Differences { changed: changes, unread })
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
    unread: &mut Vec<Diagnostic>,
) -> Option<DifferenceKind> {
    let (Some(old), Some(new)) = (old, new) else {
        return Some(if old.is_some() { DifferenceKind::CaseRemoved } else { DifferenceKind::CaseAdded });
    };
    let mut differs = |old: io::Result<String>, new: io::Result<String>, case: &Case| match (old, new) {
        (Ok(old), Ok(new)) => old != new,
        (Err(error), _) | (_, Err(error)) => {
            unread.push(*self::unread(case.origin.clone(), &format!("a file of this case cannot be read: {error}")));
            true
        }
    };
    match (old.case(), new.case()) {
        (Ok(old), Ok(new)) if differs(then.asked(old), here.asked(new), new) => Some(DifferenceKind::Prompt),
        (Ok(old), Ok(new)) if differs(then.checked(old), here.checked(new), new) => Some(DifferenceKind::Checks),
        (Ok(old), Ok(new)) if (&old.quarantine, &old.tags) != (&new.quarantine, &new.tags) => {
            Some(DifferenceKind::Labels)
        }
        (Ok(_), Ok(_)) | (Err(_), Err(_)) => None,
        (Ok(_), Err(_)) | (Err(_), Ok(_)) => Some(DifferenceKind::Prompt),
    }
}

/// The files that are read and differ, without those that are known already.
fn files(
    base: ReadTree<'_>,
    now: ReadTree<'_>,
    known: &BTreeSet<PathBuf>,
    unread: &mut Vec<Diagnostic>,
) -> io::Result<Vec<OtherChange>> {
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
    let unreadable = |path: &Path| {
        let error = [&old, &new].into_iter().find_map(|side| side.get(path)?.as_ref().err())?;
        Some(*self::unread(SourceLocation::file(path), &format!("cannot be read: {error}")))
    };
    unread.extend(differing.difference(&ignored).filter_map(|path| unreadable(path)));
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

// Where annotations of a change point: the lines that it touched.

/// The changed lines of a file, by its path from the root of the git repository.
type ChangedLines = BTreeMap<PathBuf, Vec<RangeInclusive<usize>>>;

/// The locations of all cases, with what changed since the commit `base` [default: the last commit in common with the default
/// branch]. Without git, the rows of the cases.
pub fn change_locations(root: &Path, catalog: &Catalog, base: Option<&str>) -> ChangeLocations {
    let prefix = git::place(root).unwrap_or_default();
    let changed = changed_lines(root, catalog, base).unwrap_or_default();
    let skills: BTreeMap<String, FileLine> = catalog
        .skills
        .iter()
        .filter_map(|found| Some((found.skill().slug.clone(), place_in_skill(found.skill(), &prefix, &changed)?)))
        .collect();
    let starts: BTreeSet<(&Path, usize)> = catalog.cases.iter().map(|found| (&*found.file, found.line)).collect();
    let cases = catalog.cases.iter().map(|found| {
        let row = (prefix.join(&found.file), found.line);
        let skill = skills.get(&*found.skill);
        // A built-in case has the whole SKILL.md as its rows.
        let skill = skill.filter(|skill| skill.0 == row.0 || !is_touched(found, &row.0, &starts, &changed));
        (format!("{}/{}", found.skill, found.id), skill.cloned().unwrap_or(row))
    });
    ChangeLocations { cases: cases.collect(), prefix, skills }
}

fn changed_lines(root: &Path, catalog: &Catalog, base: Option<&str>) -> io::Result<ChangedLines> {
    let base = if let Some(base) = base {
        base.to_owned()
    } else {
        let branch = git::default_branch(root).ok_or(io::ErrorKind::NotFound)?;
        git::merge_base(root, &branch)?
    };
    let skills = catalog.skills.iter().map(|found| found.skill().folder.as_path());
    let folders = skills.chain(catalog.cases.iter().map(|found| &*found.file)).filter_map(Path::parent);
    let parts: BTreeSet<PathBuf> =
        folders.map(|folder| if folder == Path::new("") { ".".into() } else { folder.to_path_buf() }).collect();
    git::changed_lines(root, &base, &parts.into_iter().collect::<Vec<_>>())
}

/// The first changed line of a skill: of its SKILL.md if that changed, else of another file.
fn place_in_skill(skill: &Skill, prefix: &Path, changed: &ChangedLines) -> Option<FileLine> {
    let folder = prefix.join(&skill.folder);
    let own = changed.get_key_value(&folder.join(SKILL_FILE));
    let (file, lines) = own.or_else(|| changed.iter().find(|(file, _)| file.starts_with(&folder)))?;
    Some((file.clone(), *lines.first()?.start()))
}

/// Whether a change is in the rows of the case, which end where the next case begins.
fn is_touched(found: &FoundCase, file: &Path, starts: &BTreeSet<(&Path, usize)>, changed: &ChangedLines) -> bool {
    let next = starts.range((&*found.file, found.line + 1)..).next();
    let end = next.filter(|(other, _)| *other == &*found.file).map_or(usize::MAX, |(_, line)| line - 1);
    let lines = changed.get(file).into_iter().flatten();
    lines.into_iter().any(|lines| *lines.start() <= end && found.line <= *lines.end())
}
