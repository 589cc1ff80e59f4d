//! The repository on disk. Reads files; decides nothing about them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::cases::catalog::Catalog;
use crate::files::at::PathError;
use crate::files::{inside, look};
use crate::settings::Settings;
use crate::text::diagnostic::{Code, Diagnostic, Severity, SourceLocation, shown_path};
use crate::text::name;
use crate::text::name::RelativePath;

pub use crate::cases::layout::Layout;

/// The repository on disk.
#[derive(Clone, Debug)]
pub struct Repository {
    /// Its root, absolute.
    pub root: PathBuf,
    /// What is there and could not be read so far, by its path, with the reason: whatever a reader makes of the error.
    unread: Arc<Mutex<BTreeMap<PathBuf, String>>>,
}

/// The part of a repository that is read.
#[derive(Clone, Copy, Debug)]
pub enum Scope<'a> {
    /// All skills and cases.
    All,
    /// The skill and the case with these test name segments, for a process that runs one test.
    Test {
        /// The first segment of the test's name.
        skill: &'a str,
        /// The second.
        case: &'a str,
    },
}

impl Scope<'_> {
    pub(super) fn wants_skill(self, slug: &str) -> bool {
        match self {
            Scope::All => true,
            Scope::Test { skill, .. } => name::segment(slug) == skill,
        }
    }

    pub(super) fn wants_task(self, stem: &str) -> bool {
        match self {
            Scope::All => true,
            Scope::Test { case, .. } => name::segment(stem) == case,
        }
    }
}

impl Repository {
    /// The repository with this root, which is absolute.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), unread: Arc::default() }
    }

    /// Reads the skills where `layout` says, and the cases in `scope`.
    pub fn catalog(&self, layout: Layout<'_>, scope: Scope<'_>) -> Catalog {
        let written = layout.written.cloned().unwrap_or_default();
        let mut catalog = Catalog { written, ..Catalog::default() };
        self.read_skills(layout.skill_roots, &mut catalog);
        self.read_cases(layout, scope, &mut catalog);
        let unread = self.unread(layout);
        let is_known = |problem: &Diagnostic| {
            let is_same = |known: &Diagnostic| known.code == problem.code && known.place.path == problem.place.path;
            catalog.problems.iter().any(is_same)
        };
        let new: Vec<Diagnostic> = unread.iter().filter(|problem| !is_known(problem)).cloned().collect();
        catalog.problems.extend(new);
        catalog.problems = layout.judged(std::mem::take(&mut catalog.problems));
        catalog.add_unread(unread.iter().filter(|problem| problem.is_error()));
        catalog
    }

    /// What is there and could not be read so far. It is only a warning of what git ignores.
    pub fn unread(&self, layout: Layout<'_>) -> Vec<Diagnostic> {
        let unread = self.unread.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let paths: BTreeSet<PathBuf> = unread.keys().cloned().collect();
        let ask = layout.ignored.filter(|_| !paths.is_empty());
        // If git does not answer, nobody ignores anything.
        let ignored = ask.and_then(|ask| ask(&self.root, &paths).ok()).unwrap_or_default();
        let problem = |(path, why): (PathBuf, String)| {
            let severity = if ignored.contains(&path) { Severity::Warning } else { Severity::Error };
            Diagnostic { severity, ..self.unreadable(&self.root.join(path), &why) }
        };
        unread.into_iter().map(problem).collect()
    }

    /// The result. What could not be read is noted.
    pub(super) fn noting<T>(&self, result: Result<T, PathError>) -> Option<T> {
        result.inspect_err(|error| self.note(&error.path, &error.source)).ok()
    }

    /// Notes that what is at this path could not be read. It is nothing to note that it does not exist, that links lead in a circle,
    /// or that it is of another kind, which is no error of the system.
    pub(super) fn note(&self, path: &Path, error: &io::Error) {
        // Nothing has a name that is too long: a text was taken for a path.
        let is_no_path = error.kind() == io::ErrorKind::InvalidFilename;
        if error.raw_os_error().is_none() || is_no_path || look::is_absent(error) || look::is_loop(error) {
            return;
        }
        let path = path.strip_prefix(&self.root).unwrap_or(path).to_path_buf();
        self.unread.lock().unwrap_or_else(PoisonError::into_inner).entry(path).or_insert_with(|| error.to_string());
    }

    /// Whether a directory is at this path, from the root. One that cannot be asked about is noted.
    pub(super) fn has_directory(&self, path: &Path) -> bool {
        self.noting(look::is_directory(&self.root.join(path))).unwrap_or(false)
    }

    pub(super) fn unreadable(&self, path: &Path, why: &str) -> Diagnostic {
        let place = SourceLocation::file(shown_path(&self.root, path));
        let help = "make it readable for this user, or let git ignore it";
        Diagnostic::new(Code::Unreadable, place, format!("cannot be read: {why}")).help(help)
    }
}

// The judge's template and the schema of its answer in a repository: its own, or the built-in ones.

/// A repository's own template, from its root, unless the settings name another.
pub const TEMPLATE: &str = "evals/judge.md";

/// A repository's own schema of the judge's answer, from its root.
pub const SCHEMA: &str = "evals/schemas/style_rubric.schema.json";

pub const BUILT_IN_TEMPLATE: &str = include_str!("judge.md");

pub const BUILT_IN_SCHEMA: &str = include_str!("style_rubric.schema.json");

/// The texts of the template and of the schema.
pub fn judge_texts(root: &Path, settings: &Settings) -> Result<[String; 2], Box<Diagnostic>> {
    let [template, schema] = judge_paths(settings);
    let template = read_file(root, template, settings.judge.template.is_some(), BUILT_IN_TEMPLATE)?;
    Ok([template, read_file(root, schema, false, BUILT_IN_SCHEMA)?])
}

/// Where a repository has the template and the schema, from its root.
pub fn judge_paths(settings: &Settings) -> [&Path; 2] {
    [settings.judge.template.as_ref().map_or(Path::new(TEMPLATE), RelativePath::as_path), Path::new(SCHEMA)]
}

/// The text of a file of the repository, or `built_in` if an optional file does not exist.
fn read_file(root: &Path, path: &Path, is_required: bool, built_in: &str) -> Result<String, Box<Diagnostic>> {
    match inside::read_text(root, path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && !is_required => Ok(built_in.to_owned()),
        text => text.map_err(|error| {
            let message = format!("the judge cannot be asked: {error}");
            Box::new(Diagnostic::new(Code::Unreadable, SourceLocation::file(path), message))
        }),
    }
}
