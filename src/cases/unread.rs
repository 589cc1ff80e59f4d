//! Finds files that look like cases and are not read: for a slip in a name, the built-in cases would run in place of them.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use walkdir::{DirEntry, WalkDir};

use crate::cases::case::{CaseFile, Files, FoundCase, file_formats};
use crate::cases::catalog::{Catalog, EVALS, FoundSkill};
use crate::cases::layout::Layout;
use crate::files::bounded;
use crate::settings::FILE;
use crate::skill::slug;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, nearest};

/// What eval material holds besides cases: copies for agents, and what was recorded, built or installed.
const NO_CASES: [&str; 4] = ["fixtures", "recordings", "node_modules", "target"];

/// How deep is searched.
const MAX_DEPTH: usize = 12;

/// Most files and directories that are looked at.
const MAX_ENTRIES: usize = 100_000;

/// Most bytes of a file in which the marks of cases are searched.
const MAX_BYTES: u64 = 256 << 10;

/// A file that looks like cases and is not read.
#[derive(Debug)]
pub(super) struct UnreadFile {
    /// The slug of the skill that it names; `None` if it may be for any.
    pub(super) skill: Option<String>,
    /// What to say of it.
    pub(super) problem: Diagnostic,
}

/// Which directories are searched: those on the way to a skill, those whose names are nearly those of a directory in which
/// cases are read, and all that these hold, but not all that a skill holds: it may have examples of anything.
struct SearchScope {
    /// The skills' own.
    skills: BTreeSet<PathBuf>,
    /// Those that hold skills.
    above: BTreeSet<PathBuf>,
    /// Names in the paths where cases are read.
    names: BTreeSet<&'static str>,
}

impl SearchScope {
    fn of(catalog: &Catalog) -> Self {
        let skills: BTreeSet<PathBuf> = catalog.skills.iter().map(|found| found.skill().folder.clone()).collect();
        let above = skills.iter().flat_map(|folder| folder.ancestors().skip(1)).map(Path::to_path_buf).collect();
        let parts = file_formats().flat_map(|(_, files)| files.folder().iter());
        Self { skills, above, names: parts.filter_map(OsStr::to_str).collect() }
    }

    fn leads_to_skills(&self, folder: &Path) -> bool {
        self.skills.contains(folder) || self.above.contains(folder)
    }

    fn has(&self, folder: &Path) -> bool {
        let mut all = false;
        let parts: Vec<&Path> = folder.ancestors().filter(|part| !part.as_os_str().is_empty()).collect();
        parts.into_iter().rev().all(|part| {
            let name = name_of(part);
            let is_inside = all && !name.starts_with('.') && !NO_CASES.contains(&&*name);
            let is_wanted = is_inside || nearest(&name, self.names.iter().copied()).is_some();
            all = (all || is_wanted) && !self.skills.contains(part);
            is_wanted || self.leads_to_skills(part)
        })
    }
}

/// The files that look like cases and are not read.
pub(super) fn find(root: &Path, catalog: &Catalog) -> Vec<UnreadFile> {
    let searched = SearchScope::of(catalog);
    let walk = WalkDir::new(root).max_depth(MAX_DEPTH).sort_by_file_name().into_iter();
    let walk = walk.filter_entry(|entry| {
        let path = relative(root, entry);
        let is_other = || entry.depth() > 0 && !searched.leads_to_skills(path) && is_repository(entry.path());
        !entry.file_type().is_dir() || searched.has(path) && !is_other()
    });
    let files = walk.take(MAX_ENTRIES).filter_map(Result::ok).filter(|entry| !entry.file_type().is_dir());
    let unread = |entry: DirEntry| {
        let path = relative(root, &entry);
        let is_meant = |(_, files): &(_, &Files)| looks_so_by_name(files, path) || looks_so_by_content(files, &entry);
        let (_, files) = if is_read(path) { None } else { file_formats().find(is_meant) }?;
        (!is_read_by_link(root, entry.path())).then(|| unread_file(root, path, files, catalog))
    };
    files.filter_map(unread).collect()
}

/// Files that look like the settings and are not read: every one of them would be without effect.
pub(super) fn settings(root: &Path) -> Vec<Diagnostic> {
    let names = |folder: &str| fs::read_dir(root.join(folder)).into_iter().flatten().filter_map(Result::ok);
    let beside = ["", EVALS]
        .into_iter()
        .flat_map(|folder| names(folder).map(move |entry| Path::new(folder).join(entry.file_name())));
    let looks_so = |path: &PathBuf| {
        let name = name_of(path);
        let is_near = || {
            nearest(&name, ["evals.toml"]).is_some()
                && path.extension().is_some_and(|end| end.eq_ignore_ascii_case("toml"))
        };
        let is_named = name == "evals.toml" || path.starts_with(EVALS) && is_near();
        // Where case does not count, it is read.
        is_named && path != Path::new(FILE) && !is_same(&root.join(path), &root.join(FILE))
    };
    let mut paths: Vec<PathBuf> = beside.filter(looks_so).collect();
    paths.sort();
    let problem = |path| {
        let problem = Diagnostic::new(
            Code::UnreadSettings,
            SourceLocation::file(path),
            "this file looks like the settings and is not read",
        );
        problem.help(format!("if these are settings of skill-evals, move them to {FILE}"))
    };
    paths.into_iter().map(problem).collect()
}

fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

fn relative<'a>(root: &Path, entry: &'a DirEntry) -> &'a Path {
    entry.path().strip_prefix(root).unwrap_or(entry.path())
}

fn unread_file(root: &Path, path: &Path, files: &Files, catalog: &Catalog) -> UnreadFile {
    let skill = skill_in(root, path, files, catalog).or_else(|| skill_of_path(path, catalog));
    let open = skill.as_deref().filter(|_| files.are_of_skills());
    let wanted = open.map_or_else(|| PathBuf::from(files.path), |slug| files.path_of(slug));
    let message = "this file looks like cases and is not read";
    let problem = Diagnostic::new(Code::UnreadCases, SourceLocation::file(path), message);
    UnreadFile { skill, problem: problem.help(format!("if these are cases, move them to {}", wanted.display())) }
}

/// The skill that a file itself names, by its slug.
fn skill_in(root: &Path, path: &Path, files: &Files, catalog: &Catalog) -> Option<String> {
    let file = CaseFile { path: path.to_path_buf(), name: String::new() };
    let bytes = bounded::read(&root.join(path)).ok().filter(|_| !files.are_of_skills())?;
    let found = (files.parse)(&file, bytes, Layout::default()).cases.into_iter().next()?;
    catalog.skill(&found.skill).map(|skill| skill.skill().slug.clone())
}

/// The cases of skills that are not there, under the skill that has nearly the name.
pub(super) fn orphans(catalog: &Catalog, cases: &HashMap<Arc<str>, Vec<FoundCase>>) -> Vec<UnreadFile> {
    let known = || catalog.skills.iter().map(|found| found.skill().slug.as_str());
    let orphan = |(slug, found): (&Arc<str>, &Vec<FoundCase>)| {
        let mut problems = found.iter().flat_map(|found| found.source.file_problems());
        let problem = problems.find(|problem| problem.code == Code::OrphanCases)?.clone();
        Some(UnreadFile { skill: Some(nearest(slug, known())?.to_owned()), problem })
    };
    cases.iter().filter_map(orphan).collect()
}

/// The skill that a path names, by its slug: the one in whose directory the file is, or one that has the name of a part of the path.
fn skill_of_path(path: &Path, catalog: &Catalog) -> Option<String> {
    let mut skills = catalog.skills.iter().map(FoundSkill::skill);
    let inside = skills.find(|skill| skill.folder.iter().next().is_some() && path.starts_with(&skill.folder));
    let slug_of = |part: Component<'_>| slug(part.as_os_str().to_string_lossy().split('.').next().unwrap_or_default());
    let named = || path.components().rev().map(slug_of).find(|part| catalog.skill(part).is_some());
    inside.map(|skill| skill.slug.clone()).or_else(named)
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().to_lowercase()
}

/// Whether a directory is a repository of its own, whose cases are read with it.
fn is_repository(path: &Path) -> bool {
    path.join(EVALS).is_dir() || path.join(".git").exists()
}

fn is_read(path: &Path) -> bool {
    file_formats().any(|(_, files)| files.have(path))
}

/// Whether a file is read under another name: where cases are read, a link may lead to it.
fn is_read_by_link(root: &Path, path: &Path) -> bool {
    let Ok(file) = fs::canonicalize(path) else { return false };
    file_formats().any(|(_, files)| {
        let names = fs::read_dir(root.join(files.folder())).into_iter().flatten().filter_map(Result::ok);
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        let mut read = names.filter_map(|name| Some(root.join(files.path_of(files.open_part(&name)?))));
        read.any(|read| fs::canonicalize(read).is_ok_and(|read| read == file))
    })
}

fn has_ending(files: &Files, name: &str) -> bool {
    files.endings.iter().any(|ending| name.contains(ending)) && !name.ends_with('~')
}

/// Whether a file has nearly the name of cases, nearly where these are.
fn looks_so_by_name(files: &Files, path: &Path) -> bool {
    let name = name_of(path);
    if !files.are_of_skills() {
        return path.starts_with(files.folder()) && has_ending(files, &name);
    }
    let stem = |name: &str| name.split('.').next().unwrap_or_default().trim().to_owned();
    let read = files.path_of("-");
    let is_near = nearest(&stem(&name), [&*stem(&name_of(&read))]).is_some();
    let is_shallow = path.components().count() <= read.components().count();
    path.starts_with(EVALS) && is_near && is_shallow && (has_ending(files, &name) || !name.contains('.'))
}

/// Whether a file holds the words that cases have.
fn looks_so_by_content(files: &Files, entry: &DirEntry) -> bool {
    if !has_ending(files, &name_of(entry.path())) || !entry.file_type().is_file() {
        return false;
    }
    let Ok((file, _)) = bounded::open(entry.path()) else { return false };
    let mut text = Vec::new();
    let read = file.take(MAX_BYTES).read_to_end(&mut text);
    // In UTF-16 half of the bytes are zeros.
    text.retain(|byte| *byte != 0);
    let has = |word: &&str| text.windows(word.len()).any(|part| part == word.as_bytes());
    read.is_ok() && files.marks.iter().all(has)
}
