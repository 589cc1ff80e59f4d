//! A case as found in a file, before all of it is read: enough to list it, cheap enough to list a hundred thousand.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use crate::cases::case::Case;
use crate::cases::layout::Layout;
use crate::cases::repo_files::RepoFiles;
use crate::settings::trials::Repetition;
use crate::text::diagnostic::{Diagnostic, SourceLocation};

/// A format in which cases are written, and what it means where nobody chose otherwise.
#[derive(Debug)]
pub struct CaseFormat {
    /// What one of its cases is called in messages.
    pub name: &'static str,
    /// The mode that its cases run in by default: the one that the format was made for.
    pub default_mode: &'static str,
    /// The files that hold its cases; `None` if these were not written for a skill, but are built in.
    pub files: Option<Files>,
}

/// Which files hold the cases of a format.
#[derive(Debug)]
pub struct Files {
    /// Where they are, from the repository's root. One part is open: `<skill>` is the slug of the skill under test, `<case>`
    /// the name of the only case in the file, which `--task` chooses.
    pub path: &'static str,
    /// How the names of files end, in any case, that may hold such cases by mistake.
    pub endings: &'static [&'static str],
    /// Words that every such file has.
    pub marks: &'static [&'static str],
    /// Reads a file.
    pub parse: fn(&CaseFile, Vec<u8>, Layout<'_>) -> FileCases,
}

/// A file of cases, before it is read.
#[derive(Debug)]
pub struct CaseFile {
    /// The file, relative to the repository's root.
    pub path: PathBuf,
    /// The open part of its path, as something that a test can be called.
    pub name: String,
}

/// What a file of cases holds.
#[derive(Debug, Default)]
pub struct FileCases {
    /// The cases, in the order of the file; the skill of one that names none is empty.
    pub cases: Vec<FoundCase>,
    /// Problems of the file as a whole.
    pub problems: Vec<Diagnostic>,
}

impl CaseFormat {
    /// Whether a file holds one case of it, which `--task` chooses by name.
    pub fn is_task(&self) -> bool {
        self.files.as_ref().is_some_and(|files| !files.are_of_skills())
    }
}

impl Files {
    /// What is before the open part of the path, and what is behind it.
    fn around(&self) -> (&'static str, &'static str) {
        let (before, rest) = self.path.split_once('<').unwrap_or((self.path, ""));
        (before, rest.split_once('>').unwrap_or_default().1)
    }

    /// Whether their paths name the skill under test.
    pub fn are_of_skills(&self) -> bool {
        self.path.contains("<skill>")
    }

    /// The folder that is listed to find them.
    pub fn folder(&self) -> &'static Path {
        Path::new(self.around().0)
    }

    /// The file with this name in the open part of its path.
    pub fn path_of(&self, name: &str) -> PathBuf {
        let (before, after) = self.around();
        PathBuf::from([before, name, after].concat())
    }

    /// Of the name of something in [`Files::folder`] the open part of the path, if a file may be found there.
    pub fn open_part<'a>(&self, name: &'a str) -> Option<&'a str> {
        let after = self.around().1;
        if after.starts_with('/') { Some(name) } else { name.strip_suffix(after) }
    }

    /// Whether `path` is one of them.
    pub fn have(&self, path: &Path) -> bool {
        let (before, after) = self.around();
        let open = path.to_str().and_then(|path| path.strip_prefix(before)?.strip_suffix(after));
        open.is_some_and(|open| !open.contains('/'))
    }
}

/// Where a case's text is kept until it is wanted: one type for each format.
pub trait CaseSource: fmt::Debug + Send + Sync {
    /// The format.
    fn format(&self) -> &'static CaseFormat;

    /// Reads the case; `skill` is the slug of the skill it belongs to. Called once.
    fn case(&self, skill: &str) -> Result<Case, Vec<Diagnostic>>;

    /// What keeps the case from being run and was seen when it was found, before it was read.
    fn file_problems(&self) -> &[Diagnostic] {
        &[]
    }

    /// Whether the skill should trigger, as far as that can be told without reading the whole case.
    fn should_trigger(&self) -> Option<bool>;

    /// What the case says of its repeats, as far as that can be told without reading the whole case.
    fn repetition(&self) -> Repetition {
        Repetition::default()
    }

    /// Where the value of `key` stands, or `text` within it; `None` where the format cannot tell.
    fn place(&self, _key: &str, _text: Option<&str>, _tree: &dyn RepoFiles) -> Option<SourceLocation> {
        None
    }
}

/// A case as found.
#[derive(Clone, Debug)]
pub struct FoundCase {
    /// The id as written, cleaned where it cannot be a name.
    pub id: String,
    /// The slug of the skill it belongs to, shared by all cases of a file.
    pub skill: Arc<str>,
    /// The file, relative to the repository's root; shared too.
    pub file: Arc<Path>,
    /// The line on which it starts, from 1.
    pub line: usize,
    /// What to read when the case is wanted.
    pub source: Arc<dyn CaseSource>,
    read: OnceLock<Box<ParsedCase>>,
}

/// A case that was read.
#[derive(Clone, Debug)]
struct ParsedCase {
    case: Result<Case, Vec<Diagnostic>>,
    /// What keeps it from running, once that was asked.
    refused: OnceLock<Vec<Diagnostic>>,
}

impl FoundCase {
    /// A case that stands in `file` at `line`, both relative to the repository's root and counted from 1.
    pub fn new(
        id: String,
        skill: impl Into<Arc<str>>,
        file: impl Into<Arc<Path>>,
        line: usize,
        source: impl CaseSource + 'static,
    ) -> Self {
        let (skill, file) = (skill.into(), file.into());
        Self { id, skill, file, line, source: Arc::new(source), read: OnceLock::new() }
    }

    /// The case itself, read at the first call.
    pub fn case(&self) -> Result<&Case, &[Diagnostic]> {
        self.read().case.as_ref().map_err(Vec::as_slice)
    }

    fn read(&self) -> &ParsedCase {
        let read = || Box::new(ParsedCase { case: self.source.case(&self.skill), refused: OnceLock::new() });
        self.read.get_or_init(read)
    }

    /// What keeps it from running in its repository, as `check` says at the first call: all its trials ask.
    pub fn refused(&self, check: impl FnOnce(&Self) -> Vec<Diagnostic>) -> &[Diagnostic] {
        self.read().refused.get_or_init(|| check(self))
    }

    /// Whether the skill should trigger, as far as that can be told without reading the whole case.
    pub fn should_trigger(&self) -> Option<bool> {
        self.source.should_trigger()
    }

    /// What the case says of its repeats, as far as that can be told without reading the whole case.
    pub fn repetition(&self) -> Repetition {
        self.source.repetition()
    }

    /// The format it is written in.
    pub fn format(&self) -> &'static CaseFormat {
        self.source.format()
    }
}

/// What was found and cannot be a case.
#[derive(Clone, Debug)]
pub struct BrokenCase {
    /// The format it should have.
    pub format: &'static CaseFormat,
    /// Why it cannot.
    pub problems: Vec<Diagnostic>,
}

impl CaseSource for BrokenCase {
    fn format(&self) -> &'static CaseFormat {
        self.format
    }

    fn case(&self, _skill: &str) -> Result<Case, Vec<Diagnostic>> {
        Err(self.problems.clone())
    }

    fn file_problems(&self) -> &[Diagnostic] {
        &self.problems
    }

    fn should_trigger(&self) -> Option<bool> {
        None
    }
}
