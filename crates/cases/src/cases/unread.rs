//! Walks the repository once: for cases of other programs, and for files that look like our own cases and are not read. After a
//! slip in a file's name, the built-in cases would run instead.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use walkdir::{DirEntry, WalkDir};

use crate::cases::case::{CaseFile, Files, FoundCase, file_formats, foreign_formats, plugin_eval};
use crate::cases::case_folders::{case_folders, is_direct};
use crate::cases::catalog::{ARTIFACTS, Catalog, EVALS, FoundSkill};
use crate::cases::layout::Layout;
use crate::cases::other_skills;
use crate::files::{bounded, inside};
use crate::settings::FILE;
use crate::skill::{SKILL_FILE, slug};
use crate::text::cut;
use crate::text::diagnostic::{Code, Diagnostic, Severity, SourceLocation, nearest};

/// Directories of eval material without cases: copies for agents, answers in place of commands and servers, what was
/// recorded, built or installed, and results.
const NO_CASES: [&str; 12] = [
    "fixture",
    "fixtures",
    "_fixtures",
    "recordings",
    "node_modules",
    "target",
    "results",
    "runs",
    "outputs",
    "reports",
    "snapshots",
    "mocks",
];

/// Directories that hold no skills of the repository.
const NO_SKILLS: [&str; 4] = [".git", "node_modules", "recordings", "target"];

/// Endings of files that may hold cases.
const ENDINGS: [&str; 10] = ["json", "jsonl", "jsonc", "json5", "ndjson", "yaml", "yml", "toml", "csv", "tsv"];

/// The names of Markdown files that are a case each.
const MARKDOWN: [&str; 5] = ["case.md", INSTRUCTION, "prompt.md", "scenario.md", "task.md"];

/// The files of a task of Harbor, which this program does not run.
pub(super) const HARBOR: [&str; 2] = ["task.toml", INSTRUCTION];
const INSTRUCTION: &str = "instruction.md";

/// How deep is searched.
const MAX_DEPTH: usize = 12;

/// How deep, and how many files, are searched behind a link for files that may be cases.
const LINK_DEPTH: usize = 3;
const MAX_LINKED: usize = 1000;

/// The most directories that a message names.
const MOST_NAMES: usize = 10;

/// Maximum number of files that are looked at.
const MAX_FILES: usize = 100_000;

/// Maximum number of bytes of a file that are searched for the marks of cases.
const MAX_BYTES: u64 = 256 << 10;

/// A file that looks like cases and is not read.
#[derive(Debug)]
pub(super) struct UnreadFile {
    /// The slug of the skill that it names; `None` if it may be for any.
    pub(super) skill: Option<String>,
    /// How it is reported.
    pub(super) problem: Diagnostic,
}

/// The directories that are searched: those on the way to a skill, and those with nearly the name of a directory of cases
/// with all that they hold. Of a skill's own content only such directories: a skill may have examples of anything.
struct SearchScope {
    /// The directories of skills.
    skills: BTreeSet<PathBuf>,
    /// The directories above them.
    above: BTreeSet<PathBuf>,
    /// The names of directories of cases.
    names: BTreeSet<&'static str>,
}

impl SearchScope {
    fn of(catalog: &Catalog) -> Self {
        let skills: BTreeSet<PathBuf> = catalog.skills.iter().map(|found| found.skill().folder.clone()).collect();
        Self::around(skills)
    }

    /// In the directory of a skill.
    fn of_skill() -> Self {
        Self::around([PathBuf::new()].into())
    }

    fn around(skills: BTreeSet<PathBuf>) -> Self {
        let above = skills.iter().flat_map(|folder| folder.ancestors().skip(1)).map(Path::to_path_buf).collect();
        let names = file_formats().flat_map(|(_, files)| files.folder().iter()).filter_map(OsStr::to_str).collect();
        Self { skills, above, names }
    }

    fn leads_to_skills(&self, folder: &Path) -> bool {
        self.skills.contains(folder) || self.above.contains(folder)
    }

    /// Whether a file is in a directory of cases of a skill, of what is around one or next to one, or of the repository. These skills are
    /// not read.
    fn is_in_cases(&self, path: &Path, others: &BTreeSet<&Path>) -> bool {
        let is_next = |around: &Path| {
            let holder = around.parent().filter(|holder| !holder.as_os_str().is_empty());
            holder.is_some() && self.skills.iter().any(|skill| skill.parent() == holder)
        };
        let is_around = |around: &Path| {
            around.as_os_str().is_empty() || self.leads_to_skills(around) || others.contains(around) || is_next(around)
        };
        case_folders(path).any(is_around)
    }

    fn has(&self, folder: &Path) -> bool {
        let mut is_in_cases = false;
        let parts: Vec<&Path> = folder.ancestors().filter(|part| !part.as_os_str().is_empty()).collect();
        parts.into_iter().rev().all(|part| {
            let name = name_of(part);
            let may_hold_cases = is_in_cases && !name.starts_with('.') && !NO_CASES.contains(&&*name)
                || nearest(&name, self.names.iter().copied()).is_some();
            is_in_cases = (is_in_cases || may_hold_cases) && !self.skills.contains(part);
            may_hold_cases || self.leads_to_skills(part)
        })
    }
}

/// The files that may hold cases, by one walk of the repository.
#[derive(Debug, Default)]
pub(super) struct CaseFiles {
    /// Files that another program's cases may be in, by their names or their places, from the repository's root.
    pub(super) foreign: Vec<PathBuf>,
    /// Those of them that are in a directory of cases.
    pub(super) placed: BTreeSet<PathBuf>,
    /// The files named SKILL.md, in any case.
    pub(super) skills: Vec<PathBuf>,
    /// Files where our own cases may be.
    others: Vec<DirEntry>,
    /// Cases that are not searched: behind a link, or in a directory that usually has none.
    pub(super) problems: Vec<Diagnostic>,
}

impl CaseFiles {
    /// Adds the paths of another program's cases at `entry`, or the warning about a link to some.
    fn add_foreign(&mut self, path: &Path, entry: &DirEntry) {
        let paths = foreign_paths(path, entry);
        if paths.is_empty() && is_link_to_cases(path, entry) {
            let message = "this link to a directory is not followed to find cases";
            let problem = Diagnostic::new(Code::LinkedFolder, SourceLocation::file(path), message);
            self.problems.push(problem.help("move the directory here"));
        }
        self.foreign.extend(paths);
    }
}

/// Walks the repository. Files with a path of our own cases are left out: those are read by their paths.
pub(super) fn walk(root: &Path, catalog: &Catalog) -> CaseFiles {
    let scope = SearchScope::of(catalog);
    let walk = WalkDir::new(root).max_depth(MAX_DEPTH).sort_by_file_name().into_iter();
    // Of each directory on the way to the current one: whether our own cases and those of other programs may be in it.
    let open: RefCell<Vec<(bool, bool)>> = RefCell::default();
    let of_parent =
        |entry: &DirEntry| entry.depth().checked_sub(1).map_or((true, true), |parent| open.borrow()[parent]);
    let walk = walk.filter_entry(|entry| {
        let (own, foreign) = of_parent(entry);
        if !entry.file_type().is_dir() {
            return true;
        }
        let path = relative(root, entry);
        let leads = entry.depth() == 0 || scope.leads_to_skills(path);
        let own = own && scope.has(path) && (leads || !is_repository(entry.path()));
        let is_other_repository = || !leads && entry.path().join(".git").exists();
        let foreign = foreign && may_hold_foreign_cases(path, leads) && !is_other_repository();
        open.borrow_mut().truncate(entry.depth());
        open.borrow_mut().push((own, foreign));
        own || foreign || may_hold_skills(path) && !is_other_repository()
    });
    let mut found = CaseFiles::default();
    let mut left_out = Vec::new();
    let mut looked_at = 0;
    for entry in walk.filter_map(Result::ok) {
        let path = relative(root, &entry);
        if path == Path::new(FILE) || file_formats().any(|(_, files)| files.have(path)) {
            continue;
        }
        let (own, foreign) = of_parent(&entry);
        if foreign {
            found.add_foreign(path, &entry);
        } else if is_plugin_case(root, path) {
            left_out.extend(path.parent().map(|folder| folder.display().to_string()));
        }
        if entry.file_type().is_dir() {
            continue;
        }
        if name_of(path) == SKILL_FILE.to_lowercase() && may_hold_skills(path) && entry.path().is_file() {
            found.skills.push(path.to_path_buf());
        }
        looked_at += 1;
        if looked_at > MAX_FILES {
            let message = format!("only the first {MAX_FILES} files are searched for skills and cases");
            found.problems.push(Diagnostic::new(Code::UnreadCases, SourceLocation::file(path), message));
            break;
        }
        if own {
            found.others.push(entry);
        }
    }
    left_out.dedup();
    found.problems.extend(not_searched(&left_out));
    let CaseFiles { foreign, skills, placed, .. } = &mut found;
    let others = skills.iter().flat_map(|skill| skill.ancestors().skip(1)).collect();
    placed.extend(foreign.iter().filter(|path| is_placed(path) && scope.is_in_cases(path, &others)).cloned());
    let is_named = |path: &Path| foreign_formats().any(|(_, files)| files.match_path(path).is_some());
    foreign.retain(|path| is_named(path) || placed.contains(path));
    found
}

/// Whether a file may hold cases because it is in a directory of cases.
fn is_placed(path: &Path) -> bool {
    (may_be_case(path) || path.extension().is_some_and(|end| end.eq_ignore_ascii_case("md")))
        && case_folders(path).next().is_some()
}

/// The paths of another program's cases at `entry`. What has the name of cases for certain need not be a file, so that its reader says
/// why it is none. The walk follows no links, so a linked directory is looked into here.
fn foreign_paths(path: &Path, entry: &DirEntry) -> Vec<PathBuf> {
    let certainty = |path: &Path| foreign_formats().filter_map(|(_, files)| files.match_path(path)).max();
    let is_file = entry.file_type().is_file() || entry.path().is_file();
    if is_file && is_placed(path) || certainty(path).is_some_and(|is_certain| is_certain || is_file) {
        return vec![path.to_path_buf()];
    }
    if !entry.path_is_symlink() {
        return Vec::new();
    }
    // Only the names count here: a file that is read through a link that leaves the repository is an error.
    let names = fs::read_dir(entry.path()).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.file_name());
    let mut paths: Vec<PathBuf> = names.map(|name| path.join(name)).collect();
    paths.retain(|path| certainty(path) == Some(true));
    paths.sort();
    paths
}

/// Whether a link to a directory is one of cases, or is in one, and has files that may be cases.
fn is_link_to_cases(path: &Path, entry: &DirEntry) -> bool {
    let is_in_cases = || case_folders(&path.join("case")).next().is_some();
    let files = || WalkDir::new(entry.path()).follow_root_links(true).max_depth(LINK_DEPTH).into_iter().flatten();
    entry.path_is_symlink()
        && is_in_cases()
        && files().take(MAX_LINKED).any(|file| file.file_type().is_file() && may_be_case(file.path()))
}

/// Whether a file is one of a case of `claude plugin eval`, in a directory of cases where that program searches and this one does not.
fn is_plugin_case(root: &Path, path: &Path) -> bool {
    let exists = |name: &str| root.join(path.with_file_name(name)).exists();
    let is_skipped = |part: &OsStr| [".git", "mocks", "results"].iter().any(|name| part == *name);
    let is_in_fixture = || {
        let above = path.ancestors().skip(1).filter(|part| case_folders(&part.join("case")).next().is_none());
        above.filter_map(Path::file_name).any(other_skills::is_fixture)
    };
    let is_case = match path.file_name().and_then(OsStr::to_str) {
        Some(plugin_eval::PROMPT) => exists(plugin_eval::GRADERS) && !exists(plugin_eval::CASE),
        Some(plugin_eval::CASE) => {
            fs::read_to_string(root.join(path)).is_ok_and(|text| text.contains(plugin_eval::VERSION))
        }
        _ => false,
    };
    is_case && case_folders(path).next().is_some() && !path.iter().any(is_skipped) && !is_in_fixture()
}

/// The warning about cases in these directories.
fn not_searched(folders: &[String]) -> Option<Diagnostic> {
    let first = folders.first()?;
    let message = format!(
        "cases in prompt.md or case.yaml are in directories that are not searched: {}",
        cut::names(folders, MOST_NAMES)
    );
    let problem = Diagnostic::new(Code::UnreadCases, SourceLocation::file(first), message);
    let help = format!("move them: hidden directories are not searched, nor those named {}", NO_CASES.join(", "));
    Some(Diagnostic { severity: Severity::Warning, ..problem.help(help) })
}

/// Whether cases of other programs are searched in a directory. `leads` says that it leads to skills.
pub(super) fn may_hold_foreign_cases(path: &Path, leads: bool) -> bool {
    let name = name_of(path);
    let is_hidden = name.starts_with('.') && !leads;
    !is_hidden && !NO_CASES.contains(&&*name) && path != Path::new(ARTIFACTS)
}

/// Whether the repository's skills are searched in a directory.
fn may_hold_skills(path: &Path) -> bool {
    path != Path::new(ARTIFACTS) && !NO_SKILLS.contains(&&*name_of(path))
}

/// Whether a file may be a case, or hold some, by its name alone.
pub(super) fn may_be_case(path: &Path) -> bool {
    let has_values = |end: &str| ENDINGS.contains(&&*end.to_ascii_lowercase());
    path.extension().and_then(OsStr::to_str).is_some_and(has_values) || MARKDOWN.contains(&&*name_of(path))
}

/// Whether a case of a file of this name has other files in its directory: two such directories may share the file by a link.
pub(super) fn is_part_of_case(path: &Path) -> bool {
    let name = name_of(path);
    name == plugin_eval::CASE || MARKDOWN.contains(&&*name)
}

/// The directories of tasks of Harbor among those of these files, and the warning about all of them.
pub(super) fn harbor_tasks(files: &[PathBuf]) -> (BTreeSet<PathBuf>, Option<Diagnostic>) {
    let folders = |name: &'static str| {
        let files = files.iter().filter(move |path| name_of(path) == name && !is_direct(path));
        files.filter_map(|path| path.parent()).map(Path::to_path_buf).collect::<BTreeSet<_>>()
    };
    let tasks = &folders(HARBOR[0]) & &folders(INSTRUCTION);
    let warning = tasks.first().map(|first| {
        let names: Vec<String> = tasks.iter().map(|task| task.display().to_string()).collect();
        let message = format!("tasks of Harbor are not read: {}", cut::names(&names, MOST_NAMES));
        let problem = Diagnostic::new(Code::UnreadCases, SourceLocation::file(first), message);
        let help = "run them with Harbor, or write their instructions as cases: docs/formats.md lists the formats";
        Diagnostic { severity: Severity::Warning, ..problem.help(help) }
    });
    (tasks, warning)
}

/// The files that look like our own cases and are not read: those of the walk that are not among the `read` ones.
pub(super) fn find(root: &Path, catalog: &Catalog, files: CaseFiles, read: &BTreeSet<PathBuf>) -> Vec<UnreadFile> {
    let mut unread = Vec::new();
    for entry in files.others {
        let path = relative(root, &entry);
        if path.ancestors().any(|part| read.contains(part)) {
            continue;
        }
        let format = file_formats().find(|(_, files)| has_near_name(files, path) || has_marks(files, entry.path()));
        if let Some((_, files)) = format.filter(|_| !is_read_by_link(root, entry.path())) {
            let (skill, name) = right_place(root, path, files, catalog);
            unread.push(UnreadFile { skill, problem: unread_problem(path, &name) });
        }
    }
    unread
}

/// Files that look like the settings and are not read: they would have no effect.
pub(super) fn settings(root: &Path) -> Vec<Diagnostic> {
    let mut paths = Vec::new();
    for folder in ["", EVALS] {
        let entries = fs::read_dir(root.join(folder)).into_iter().flatten().filter_map(Result::ok);
        paths.extend(entries.map(|entry| Path::new(folder).join(entry.file_name())));
    }
    paths.retain(|path| has_name_of_settings(path) && path != Path::new(FILE));
    // Some file systems ignore case: there, `Evals.toml` is read.
    paths.retain(|path| !is_same(&root.join(path), &root.join(FILE)));
    paths.sort();
    let mut problems = Vec::new();
    for path in paths {
        let message = "this file looks like the settings and is not read";
        let problem = Diagnostic::new(Code::UnreadSettings, SourceLocation::file(path), message);
        problems.push(problem.help(format!("if these are settings of skill-evals, move them to {FILE}")));
    }
    problems
}

fn has_name_of_settings(path: &Path) -> bool {
    let name = name_of(path);
    let is_toml = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("toml"));
    name == "evals.toml" || path.starts_with(EVALS) && is_toml && nearest(&name, ["evals.toml"]).is_some()
}

fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

fn relative<'a>(root: &Path, entry: &'a DirEntry) -> &'a Path {
    entry.path().strip_prefix(root).unwrap_or(entry.path())
}

fn unread_problem(path: &Path, name: &Path) -> Diagnostic {
    let message = "this file looks like cases and is not read";
    let problem = Diagnostic::new(Code::UnreadCases, SourceLocation::file(path), message);
    problem.help(format!("if these are cases, move them to {}", name.display()))
}

/// The slug of the skill that a file is for, and the path at which it would be read.
fn right_place(root: &Path, path: &Path, files: &Files, catalog: &Catalog) -> (Option<String>, PathBuf) {
    let skill = skill_in(root, path, files, catalog).or_else(|| skill_of_path(path, catalog));
    let slug = skill.as_deref().filter(|_| files.are_of_skills());
    let expected = slug.map_or_else(|| PathBuf::from(files.path), |slug| files.path_of(slug));
    (skill, expected)
}

/// The slug of the skill that a file names in its content.
fn skill_in(root: &Path, path: &Path, files: &Files, catalog: &Catalog) -> Option<String> {
    if files.are_of_skills() {
        return None;
    }
    let file = CaseFile { root: root.into(), path: path.to_path_buf(), name: String::new() };
    let bytes = inside::read(root, path).ok()?;
    let case = (files.parse)(&file, bytes, Layout::default()).cases.into_iter().next()?;
    catalog.skill(&case.skill).map(|skill| skill.skill().slug.clone())
}

/// The cases of unknown skills, for the skill with nearly the same name.
pub(super) fn orphans(catalog: &Catalog, cases: &HashMap<Arc<str>, Vec<FoundCase>>) -> Vec<UnreadFile> {
    let mut orphans = Vec::new();
    for (slug, cases) in cases {
        let mut problems = cases.iter().flat_map(|case| case.source.file_problems());
        // First, because the search for a name compares it with all skills.
        if let Some(problem) = problems.find(|problem| problem.code == Code::OrphanCases)
            && let Some(near) = nearest(slug, catalog.slugs())
        {
            orphans.push(UnreadFile { skill: Some(near.to_owned()), problem: problem.clone() });
        }
    }
    orphans
}

/// The slug of the skill that a path names: the skill whose directory holds the file, or whose name is a part of the path.
fn skill_of_path(path: &Path, catalog: &Catalog) -> Option<String> {
    let mut skills = catalog.skills.iter().map(FoundSkill::skill);
    let inside = skills.find(|skill| !skill.folder.as_os_str().is_empty() && path.starts_with(&skill.folder));
    inside.map(|skill| skill.slug.clone()).or_else(|| {
        let names = path.iter().rev().map(OsStr::to_string_lossy);
        let mut slugs = names.map(|name| slug(name.split('.').next().unwrap_or_default()));
        slugs.find(|slug| catalog.skill(slug).is_some())
    })
}

/// The name of a file in lowercase.
fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().to_lowercase()
}

/// Whether a directory is a repository of its own: its cases are read with it.
fn is_repository(path: &Path) -> bool {
    path.join(EVALS).is_dir() || path.join(".git").exists()
}

/// Whether a file is read under another name: a path of cases may be a link to it.
fn is_read_by_link(root: &Path, path: &Path) -> bool {
    file_formats().any(|(_, files)| {
        let entries = fs::read_dir(root.join(files.folder())).into_iter().flatten().filter_map(Result::ok);
        let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.any(|name| files.open_part(&name).is_some_and(|open| is_same(&root.join(files.path_of(open)), path)))
    })
}

fn has_ending(files: &Files, name: &str) -> bool {
    files.endings.iter().any(|ending| name.contains(ending)) && !name.ends_with('~')
}

/// Whether a file has nearly the name of a file of cases, nearly where such files are.
fn has_near_name(files: &Files, path: &Path) -> bool {
    let name = name_of(path);
    if !files.are_of_skills() {
        return path.starts_with(files.folder()) && has_ending(files, &name);
    }
    let expected = files.path_of("-");
    path.starts_with(EVALS)
        && path.components().count() <= expected.components().count()
        && nearest(stem(&name), [stem(&name_of(&expected))]).is_some()
        // `prompt.txt` is more often a prompt than a table of some.
        && (has_ending(files, &name) && (name.contains(".csv") || Path::new(&name).extension() != Some(OsStr::new("txt"))) || !name.contains('.'))
}

fn stem(name: &str) -> &str {
    name.split('.').next().unwrap_or_default().trim()
}

/// Whether a file in the directory of a skill holds the words that files of our own cases have, and is where they are searched.
pub(super) fn looks_like_cases(folder: &Path, path: &Path) -> bool {
    let is_searched = || SearchScope::of_skill().has(path.parent().unwrap_or(path));
    is_searched() && file_formats().any(|(_, files)| has_marks(files, &folder.join(path)))
}

/// Whether a file holds the words that files of cases have.
fn has_marks(files: &Files, path: &Path) -> bool {
    if !has_ending(files, &name_of(path)) || path.is_symlink() {
        return false;
    }
    let Ok((file, _)) = bounded::open(path) else { return false };
    let mut text = Vec::new();
    let read = file.take(MAX_BYTES).read_to_end(&mut text);
    // Half of the bytes of UTF-16 are zeros.
    text.retain(|byte| *byte != 0);
    let has = |word: &&str| text.windows(word.len()).any(|part| part == word.as_bytes());
    read.is_ok() && files.marks.iter().all(has)
}
