//! A case as found in a file, before all of it is read: enough to list it, cheap enough to list a hundred thousand.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use crate::cases::case::{Case, Repetition};
use crate::cases::repo_files::Tree;
use crate::text::diagnostic::{Diagnostic, Place};

/// A format in which cases are written, and what it means where nobody chose otherwise.
#[derive(Debug, PartialEq, Eq)]
pub struct Format {
    /// Its name in messages.
    pub name: &'static str,
    /// The mode that its cases run in by default: the one that the format was made for.
    pub default_mode: &'static str,
    /// Whether `--task` chooses its cases by name.
    pub is_task: bool,
    /// Whether its cases were written for the skill, rather than built in.
    pub curated: bool,
}

/// Where a case's text is kept until it is wanted: one type for each format.
pub trait Source: fmt::Debug + Send + Sync {
    /// The format.
    fn format(&self) -> &'static Format;

    /// Reads the case; `skill` is the slug of the skill it belongs to. Called once.
    ///
    /// # Errors
    /// Every problem that keeps the case from being run, each at its place.
    fn case(&self, skill: &str) -> Result<Case, Vec<Diagnostic>>;

    /// Whether the skill should trigger, as far as that can be told without reading the whole case.
    fn should_trigger(&self) -> Option<bool>;

    /// What the case says of its repeats, as far as that can be told without reading the whole case.
    fn repetition(&self) -> Repetition {
        Repetition::default()
    }

    /// Where the value of `key` stands, or `text` within it; `None` where the format cannot tell.
    fn place(&self, _key: &str, _text: Option<&str>, _tree: &dyn Tree) -> Option<Place> {
        None
    }
}

/// A case as found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The id as written, cleaned where it cannot be a name.
    pub id: String,
    /// The slug of the skill it belongs to.
    pub skill: String,
    /// The file, relative to the repository's root.
    pub file: PathBuf,
    /// The line on which it starts, from 1.
    pub line: usize,
    /// What to read when the case is wanted.
    pub source: Arc<dyn Source>,
    read: OnceLock<Box<Result<Case, Vec<Diagnostic>>>>,
}

impl Found {
    /// A case that stands in `file` at `line`, both relative to the repository's root and counted from 1.
    #[must_use]
    pub fn new(id: String, skill: String, file: PathBuf, line: usize, source: impl Source + 'static) -> Self {
        Self { id, skill, file, line, source: Arc::new(source), read: OnceLock::new() }
    }

    /// The case itself, read at the first call.
    ///
    /// # Errors
    /// Every problem that keeps it from being run, each at its place.
    pub fn case(&self) -> Result<&Case, &[Diagnostic]> {
        let read = self.read.get_or_init(|| Box::new(self.source.case(&self.skill)));
        read.as_ref().as_ref().map_err(Vec::as_slice)
    }

    /// Whether the skill should trigger, as far as that can be told without reading the whole case.
    #[must_use]
    pub fn should_trigger(&self) -> Option<bool> {
        self.source.should_trigger()
    }

    /// What the case says of its repeats, as far as that can be told without reading the whole case.
    #[must_use]
    pub fn repetition(&self) -> Repetition {
        self.source.repetition()
    }

    /// The format it is written in.
    #[must_use]
    pub fn format(&self) -> &'static Format {
        self.source.format()
    }
}

/// What was found and cannot be a case.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The format it should have.
    pub format: &'static Format,
    /// Why it cannot.
    pub problems: Vec<Diagnostic>,
}

impl Source for Broken {
    fn format(&self) -> &'static Format {
        self.format
    }

    fn case(&self, _skill: &str) -> Result<Case, Vec<Diagnostic>> {
        Err(self.problems.clone())
    }

    fn should_trigger(&self) -> Option<bool> {
        None
    }
}
