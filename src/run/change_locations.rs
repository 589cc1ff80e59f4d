//! Where annotations of a change point: the lines that it touched.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use crate::cases::case::FoundCase;
use crate::cases::catalog::Catalog;
use crate::process::git;
use crate::report::export::{ChangeLocations, FileLine};
use crate::skill::{SKILL_FILE, Skill};

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
        .filter_map(|found| Some((found.skill().slug.clone(), of_skill(found.skill(), &prefix, &changed)?)))
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
fn of_skill(skill: &Skill, prefix: &Path, changed: &ChangedLines) -> Option<FileLine> {
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
