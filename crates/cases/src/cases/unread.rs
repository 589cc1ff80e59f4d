//! Walks the repository once: for cases of other programs, and for files that look like our own cases and are not read. After a
//! slip in a file's name, the built-in cases would run instead.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsStr;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cases::case::{CaseFile, Files, FoundCase, file_formats, name_certainty, plugin_eval};
use crate::cases::case_folders::{FolderKind, case_folders, is_direct, is_in_cases};
use crate::cases::catalog::{ARTIFACTS, Catalog, EVALS, SkillIndex};
use crate::cases::layout::Layout;
use crate::cases::repo_files::{FileKind, RepoFiles};
use crate::cases::repository::Repository;
use crate::cases::skills;
use crate::files::at::At;
use crate::files::look::{self, Entry, Walk, WalkStep};
use crate::files::{bounded, inside};
use crate::settings::FILE;
use crate::skill::SKILL_FILE;
use crate::text::cut;
use crate::text::diagnostic::{Code, Diagnostic, Severity, SourceLocation, nearest};

/// The directory of recordings, by skill.
const RECORDINGS: &str = "recordings";

/// Our own directory in that of what runs leave.
const PROGRAM: &str = "skill-evals";

/// Endings of files that may hold cases.
const ENDINGS: [&str; 10] = ["json", "jsonl", "jsonc", "json5", "ndjson", "yaml", "yml", "toml", "csv", "tsv"];

/// The names of Markdown files that are a case each.
const MARKDOWN: [&str; 5] = ["case.md", INSTRUCTION, "prompt.md", "scenario.md", "task.md"];

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
    /// The slug of the skill that it is for, if one is known.
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
        Self::around(catalog.skills.iter().map(|found| found.skill().folder.clone()).collect())
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

    /// Whether a directory is in one of cases, or in a skill.
    fn is_of_cases(&self, folder: &Path) -> bool {
        case_folders(folder).next().is_some() || folder.ancestors().any(|part| self.skills.contains(part))
    }

    /// Whether the directory of a skill has this name: our recordings are by skill.
    fn has_skill_named(&self, name: &OsStr) -> bool {
        self.skills.iter().any(|skill| skill.file_name() == Some(name))
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
            let may_hold_cases = is_in_cases && !name.starts_with('.') && FolderKind::may_hold_cases(part)
                || nearest(&name, self.names.iter().copied()).is_some();
            is_in_cases = (is_in_cases || may_hold_cases) && !self.skills.contains(part);
            may_hold_cases || self.leads_to_skills(part)
        })
    }
}

/// What one walk of the repository finds: all that may be a case, hold some, or be a skill.
#[derive(Debug, Default)]
pub(super) struct FoundFiles {
    /// Files that another program's cases may be in, by their names or their places, from the repository's root.
    pub(super) foreign: Vec<PathBuf>,
    /// Those of them that are in a directory of cases.
    pub(super) placed: BTreeSet<PathBuf>,
    /// All others that could hold some, by their endings.
    pub(super) elsewhere: Vec<PathBuf>,
    /// The files named SKILL.md, in any case.
    pub(super) skills: Vec<PathBuf>,
    /// Files where our own cases may be.
    others: Vec<PathBuf>,
    /// Files of which the settings say that they hold no cases.
    pub(super) not_cases: Vec<PathBuf>,
    /// Directories that are not searched.
    pub(super) closed: Vec<PathBuf>,
    /// Cases that are not searched: behind a link, or in a directory that usually has none.
    pub(super) problems: Vec<Diagnostic>,
}

impl FoundFiles {
    /// Takes the files where our own cases may be.
    pub(super) fn others(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.others)
    }

    /// Adds the paths of another program's cases at `entry`, or the warning about a link to some.
    fn add_foreign(&mut self, repository: &Repository, path: &Path, entry: &Entry, leads_out: bool) {
        let paths = foreign_paths(repository, path, entry, leads_out);
        if paths.is_empty() && entry.file_type().is_file() && (may_be_case(path) || is_markdown(path)) {
            return self.elsewhere.push(path.to_path_buf());
        }
        if paths.is_empty() && is_link_to_cases(repository, path, entry, leads_out) {
            let what = if leads_out { "leads out of the repository and" } else { "to a directory" };
            let message = format!("this link {what} is not followed to find cases");
            let problem = Diagnostic::new(Code::LinkedFolder, SourceLocation::file(path), message);
            self.problems.push(problem.help("move the directory here"));
        }
        self.foreign.extend(paths);
    }
}

/// Walks the repository. Files with a path of our own cases are left out: those are read by their paths.
pub(super) fn walk(repository: &Repository, catalog: &Catalog, layout: Layout<'_>) -> FoundFiles {
    let scope = SearchScope::of(catalog);
    let mut search = CaseSearch::new(repository, &scope, layout);
    let unread = Walk::new(&repository.root).max_depth(MAX_DEPTH).each(|entry| search.visit(entry));
    let is_left_out = |path: &Path| layout.leaves_out(relative(&repository.root, path));
    unread.report(|error| {
        if !is_left_out(&error.path) {
            repository.note(&error.path, &error.source);
        }
    });
    let CaseSearch { mut found, mut left_out, .. } = search;
    left_out.dedup();
    found.problems.extend(not_searched(&left_out));
    let FoundFiles { foreign, skills, placed, elsewhere, .. } = &mut found;
    let others = skills.iter().flat_map(|skill| skill.ancestors().skip(1)).collect();
    placed.extend(foreign.iter().filter(|path| is_placed(path) && scope.is_in_cases(path, &others)).cloned());
    elsewhere.extend(foreign.extract_if(.., |path| !placed.contains(path) && name_certainty(path).is_none()));
    found
}

/// The walk so far.
struct CaseSearch<'a> {
    repository: &'a Repository,
    scope: &'a SearchScope,
    layout: Layout<'a>,
    /// Of each directory on the way to the current one: whether our own cases and those of other programs may be in it.
    open: Vec<(bool, bool)>,
    found: FoundFiles,
    /// The directories with cases of `claude plugin eval` that are not searched.
    left_out: Vec<String>,
    looked_at: usize,
}

impl<'a> CaseSearch<'a> {
    fn new(repository: &'a Repository, scope: &'a SearchScope, layout: Layout<'a>) -> Self {
        let (found, left_out) = Default::default();
        Self { repository, scope, layout, open: vec![(true, true)], found, left_out, looked_at: 0 }
    }

    fn visit(&mut self, entry: &Entry) -> WalkStep {
        let root = &self.repository.root;
        let path = relative(root, entry.path());
        let is_directory = entry.file_type().is_dir();
        let (own, foreign) = self.open[entry.depth() - 1];
        if is_directory && !self.enter(path, entry, own, foreign) {
            return WalkStep::Over;
        }
        let is_skill = !is_directory && skills::may_be_skill_file(entry.file_name());
        let is_read_skill = is_skill && path.parent().is_some_and(|folder| self.scope.skills.contains(folder));
        if !is_read_skill && self.layout.leaves_out(path) {
            self.found.not_cases.extend((!is_directory).then(|| path.to_path_buf()));
            return WalkStep::Into;
        }
        if path == Path::new(FILE) || file_formats().any(|(_, files)| files.have(path)) {
            return WalkStep::Into;
        }
        let leads_out = entry.file_type().is_symlink() && inside::leads_out(root, path);
        if foreign {
            self.found.add_foreign(self.repository, path, entry, leads_out);
        } else if is_plugin_case(self.repository, path) {
            self.left_out.extend(path.parent().map(|folder| folder.display().to_string()));
        }
        if is_directory {
            return WalkStep::Into;
        }
        if is_skill && (leads_out || self.repository.noting(look::is_file(entry.path())).unwrap_or(false)) {
            self.found.skills.push(path.to_path_buf());
        }
        self.looked_at += 1;
        if self.looked_at > MAX_FILES {
            let message = format!("only the first {MAX_FILES} files are searched for skills and cases");
            self.found.problems.push(Diagnostic::new(Code::UnreadCases, SourceLocation::file(path), message));
            return WalkStep::Stop;
        }
        if own {
            self.found.others.push(path.to_path_buf());
        }
        WalkStep::Into
    }

    /// Whether the walk enters this directory. `own` and `foreign` are of the one above.
    fn enter(&mut self, path: &Path, entry: &Entry, own: bool, foreign: bool) -> bool {
        // No link is on the way here.
        let own_kind = |name: &str| self.repository.noting(look::own_kind(&entry.path().join(name)));
        let has = |name: &str| !matches!(own_kind(name), Some(None));
        let leads = self.scope.leads_to_skills(path);
        let name = entry.file_name();
        if name == ".git" || !leads && has(".git") || path == Path::new(ARTIFACTS).join(PROGRAM) {
            return false;
        }
        let is_closed = match FolderKind::of(name) {
            Some(FolderKind::Packages) => true,
            Some(FolderKind::Builds) => !leads && !self.scope.is_of_cases(path),
            _ => false,
        };
        if is_closed {
            self.found.closed.push(path.to_path_buf());
            return false;
        }
        if path.parent() == Some(&Path::new(EVALS).join(RECORDINGS)) && self.scope.has_skill_named(name) {
            return false;
        }
        let own = own && self.scope.has(path) && (leads || !self.repository.has_directory(&path.join(EVALS)));
        let may_hold_cases = FolderKind::may_hold_cases(path);
        if foreign && !may_hold_cases {
            self.found.closed.push(path.to_path_buf());
        }
        let foreign = foreign && may_hold_cases || self.are_evals_of_skill(path);
        self.open.truncate(entry.depth());
        self.open.push((own, foreign));
        true
    }

    /// Whether it is the directory of cases in one that is named as a skill and is none, wherever that is: `tests/fixtures/tea/evals`.
    fn are_evals_of_skill(&self, path: &Path) -> bool {
        let around = path.parent().filter(|_| is_direct(&path.join("case")));
        let named = around.filter(|around| around.file_name().is_some_and(|name| self.scope.has_skill_named(name)));
        named.is_some_and(|around| self.repository.kind(&around.join(SKILL_FILE)) == FileKind::Missing)
    }
}

/// Whether a file may hold cases because it is in a directory of cases.
pub(super) fn is_placed(path: &Path) -> bool {
    (may_be_case(path) || is_markdown(path)) && case_folders(path).next().is_some()
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|end| end.eq_ignore_ascii_case("md"))
}

/// The paths of another program's cases at `entry`. What has the name of cases for certain need not be a file, so that its reader says
/// why it is none. The walk follows no links, so a linked directory is looked into here.
fn foreign_paths(repository: &Repository, path: &Path, entry: &Entry, leads_out: bool) -> Vec<PathBuf> {
    let is_link = entry.file_type().is_symlink();
    let leads_to_file = || is_link && repository.noting(look::is_file(entry.path())).unwrap_or(false);
    let is_file = entry.file_type().is_file() || leads_out || leads_to_file();
    // A link that leads nowhere, or a pipe: where cases lie, its reader says so.
    let is_other = || {
        let kind = repository.noting(look::kind(entry.path())).flatten();
        !kind.is_some_and(|kind| kind.is_dir()) && is_direct(path)
    };
    if is_placed(path) && (is_file || is_other())
        || name_certainty(path).is_some_and(|is_certain| is_certain || is_file)
    {
        return vec![path.to_path_buf()];
    }
    // Nobody looks into it: the reader of this file says why.
    let unseen = path.join("evals.json");
    if leads_out || !is_link {
        return if leads_out && is_direct(&unseen) { vec![unseen] } else { Vec::new() };
    }
    // Only the names count here: a file that is read through a link that leaves the repository is an error.
    let entries = repository.noting(look::entries(entry.path())).unwrap_or_default();
    let mut paths: Vec<PathBuf> = entries.iter().map(|entry| path.join(entry.file_name())).collect();
    paths.retain(|path| name_certainty(path) == Some(true));
    paths
}

/// Whether a link to a directory is one of cases, or is in one, and has files that may be cases.
fn is_link_to_cases(repository: &Repository, path: &Path, entry: &Entry, leads_out: bool) -> bool {
    if !entry.file_type().is_symlink() || case_folders(&path.join("case")).next().is_none() {
        return false;
    }
    if leads_out {
        return true;
    }
    let (mut seen, mut has_cases) = (0, false);
    let unread = Walk::new(entry.path()).max_depth(LINK_DEPTH).each(|file| {
        seen += 1;
        has_cases |= file.file_type().is_file() && may_be_case(file.path());
        if has_cases || seen == MAX_LINKED { WalkStep::Stop } else { WalkStep::Into }
    });
    unread.report(|error| repository.note(&error.path, &error.source));
    has_cases
}

/// Whether a file is one of a case of `claude plugin eval`, in a directory of cases where that program searches and this one does not.
fn is_plugin_case(repository: &Repository, path: &Path) -> bool {
    let exists = |name: &str| repository.kind(&path.with_file_name(name)) != FileKind::Missing;
    let is_skipped = |part: &OsStr| [".git", "mocks", "results"].iter().any(|name| part == *name);
    let is_in_fixture = || {
        let above = path.ancestors().skip(1).filter(|part| case_folders(&part.join("case")).next().is_none());
        above.filter_map(Path::file_name).any(skills::is_fixture)
    };
    let is_case = match path.file_name().and_then(OsStr::to_str) {
        Some(plugin_eval::PROMPT) => exists(plugin_eval::GRADERS) && !exists(plugin_eval::CASE),
        Some(plugin_eval::CASE) => {
            repository.read(path).is_ok_and(|text| String::from_utf8_lossy(&text).contains(plugin_eval::VERSION))
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
    let names = [FolderKind::Fixtures.names(), FolderKind::Results.names()].concat().join(", ");
    let help = format!("move them: directories of these names are not searched: {names}");
    Some(Diagnostic { severity: Severity::Warning, ..problem.help(help) })
}

/// Whether a file may be a case, or hold some, by its name alone.
pub(super) fn may_be_case(path: &Path) -> bool {
    let is_ending = |end: &OsStr| ENDINGS.iter().any(|known| end.eq_ignore_ascii_case(known));
    path.extension().is_some_and(is_ending) || is_named(path, &MARKDOWN)
}

/// Whether a file has one of these names, in any case.
fn is_named(path: &Path, names: &[&str]) -> bool {
    path.file_name().is_some_and(|name| names.iter().any(|known| name.eq_ignore_ascii_case(known)))
}

/// Whether a case of a file of this name has other files in its directory: two such directories may share the file by a link.
pub(super) fn is_part_of_case(path: &Path) -> bool {
    is_named(path, &[plugin_eval::CASE]) || is_named(path, &MARKDOWN)
}

/// The files that look like our own cases and are not read: those of the walk that are not among the `read` ones.
pub(super) fn misplaced(
    repository: &Repository,
    catalog: &Catalog,
    files: Vec<PathBuf>,
    read: &BTreeSet<PathBuf>,
    index: &SkillIndex,
) -> Vec<UnreadFile> {
    let mut unread = Vec::new();
    let mut linked = None;
    for path in files {
        if path.ancestors().any(|part| read.contains(part)) {
            continue;
        }
        let has_marks = |files: &Files| {
            let found = has_marks(files, &repository.root.join(&path)).at(&path);
            repository.noting(found).unwrap_or(false)
        };
        let Some((_, files)) = file_formats().find(|(_, files)| has_near_name(files, &path) || has_marks(files)) else {
            continue;
        };
        let linked = linked.get_or_insert_with(|| read_by_links(repository));
        if linked.is_empty() || !repository.root.join(&path).canonicalize().is_ok_and(|real| linked.contains(&real)) {
            let skill = skill_in(repository, &path, files, catalog).or_else(|| index.skill_of(&path, catalog));
            let slug = skill.as_deref().filter(|_| files.are_of_skills());
            let expected = slug.map_or_else(|| PathBuf::from(files.path), |slug| files.path_of(slug));
            unread.push(UnreadFile { skill, problem: misplaced_file(&path, &expected) });
        }
    }
    unread
}

/// What is said of a file that is not where cases are read.
fn misplaced_file(path: &Path, expected: &Path) -> Diagnostic {
    let (file, expected) = (name_of(path), expected.display());
    let is_workbook = [".xls", ".xlsx", ".ods"].iter().any(|end| file.ends_with(end));
    let (what, help) = match file.strip_prefix("~$") {
        Some(open) => ("this is a lock file of Excel and has no cases", format!("close {open}, or remove this file")),
        None if is_workbook => {
            let help = format!("save it as \"CSV UTF-8\" to {expected}, and remove this file");
            ("this workbook looks like cases and is not read", help)
        }
        None => ("this file looks like cases and is not read", format!("if these are cases, move them to {expected}")),
    };
    Diagnostic::new(Code::MisplacedCases, SourceLocation::file(path), what).help(help)
}

/// What to leave out for a file which holds no cases of skills: the directory around it in one of cases, if that has more of the `same`
/// kind and nothing of what is read, or the file.
pub(super) fn left_out<'p>(path: &'p Path, same: &BTreeSet<PathBuf>, read: &BTreeSet<PathBuf>) -> &'p Path {
    let inside = |folder: &&Path| is_in_cases(folder) && !read.iter().any(|file| file.starts_with(folder));
    let has_more = |folder: &&Path| same.iter().filter(|file| file.starts_with(folder)).count() > 1;
    path.ancestors().skip(1).take_while(inside).filter(has_more).last().unwrap_or(path)
}

fn relative<'a>(root: &Path, path: &'a Path) -> &'a Path {
    path.strip_prefix(root).unwrap_or(path)
}

/// The slug of the skill that a file names in its content.
fn skill_in(repository: &Repository, path: &Path, files: &Files, catalog: &Catalog) -> Option<String> {
    if files.are_of_skills() {
        return None;
    }
    let root = &*repository.root;
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

/// The name of a file in lowercase.
fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().to_lowercase()
}

/// The files that are read under another name, as a path of cases is a link to them, without links.
fn read_by_links(repository: &Repository) -> BTreeSet<PathBuf> {
    let mut linked = BTreeSet::new();
    for (_, files) in file_formats() {
        let entries = repository.noting(look::entries(&repository.root.join(files.folder()))).unwrap_or_default();
        let open = entries.iter().filter_map(|entry| files.open_part(entry.file_name().to_str()?));
        let paths = open.map(|open| repository.root.join(files.path_of(open)));
        linked.extend(paths.filter_map(|path| path.canonicalize().ok()));
    }
    linked
}

fn has_ending(files: &Files, name: &str) -> bool {
    files.endings.iter().any(|ending| name.contains(ending)) && !name.ends_with('~')
}

/// Whether a file has nearly the name of a file of our own cases.
pub(super) fn is_nearly_ours(path: &Path) -> bool {
    let has_near_stem = |files: &Files| {
        files.are_of_skills() && nearest(stem(&name_of(path)), [stem(&name_of(&files.path_of("-")))]).is_some()
    };
    file_formats().any(|(_, files)| has_near_stem(files) || has_near_name(files, path))
}

/// The same for the files of one format.
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
    // What cannot be read is not given to an agent either.
    is_searched() && file_formats().any(|(_, files)| has_marks(files, &folder.join(path)).unwrap_or(false))
}

/// Whether a file holds the words that files of cases have.
fn has_marks(files: &Files, path: &Path) -> io::Result<bool> {
    if !has_ending(files, &name_of(path)) || !look::own_kind(path)?.is_some_and(|kind| kind.is_file()) {
        return Ok(false);
    }
    let (file, _) = bounded::open(path)?;
    let mut text = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut text)?;
    // Half of the bytes of UTF-16 are zeros.
    text.retain(|byte| *byte != 0);
    let has = |word: &&str| text.windows(word.len()).any(|part| part == word.as_bytes());
    Ok(files.marks.iter().all(has))
}

// Tasks of Harbor, which this program does not run.

/// The files of a task.
pub(super) const HARBOR: [&str; 2] = ["task.toml", INSTRUCTION];
pub(super) const INSTRUCTION: &str = "instruction.md";

/// The most directories that a message names.
const MOST_HARBOR_NAMES: usize = 10;

/// The directories of tasks of Harbor among those of these files, and the warning about all of them.
pub(super) fn harbor_tasks(files: &[PathBuf]) -> (BTreeSet<PathBuf>, Option<Diagnostic>) {
    let folders = |name: &'static str| {
        let files = files.iter().filter(move |path| is_named(path, &[name]) && !is_direct(path));
        files.filter_map(|path| path.parent()).map(Path::to_path_buf).collect::<BTreeSet<_>>()
    };
    let tasks = &folders(HARBOR[0]) & &folders(INSTRUCTION);
    let warning = tasks.first().map(|first| {
        let names: Vec<String> = tasks.iter().map(|task| task.display().to_string()).collect();
        let message = format!("tasks of Harbor are not read: {}", cut::names(&names, MOST_HARBOR_NAMES));
        let problem = Diagnostic::new(Code::UnreadCases, SourceLocation::file(first), message);
        let help = "run them with Harbor, or write their instructions as cases: docs/formats.md lists the formats";
        Diagnostic { severity: Severity::Warning, ..problem.help(help) }
    });
    (tasks, warning)
}
