//! A case as found in a file. Finding is cheap enough to list a hundred thousand cases; a case is read when it is needed.

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::cases::case::{Case, CaseFormat};
use crate::cases::repo_files::RepoFiles;
use crate::checks::{self, CaseCheck, Origin};
use crate::settings::NamedScript;
use crate::settings::trials::Repetition;
use crate::text::diagnostic::{Diagnostic, SourceLocation};

/// A case that is read when it is needed.
pub trait CaseSource: fmt::Debug + Send + Sync {
    fn format(&self) -> &'static CaseFormat;

    /// Reads the case of the skill with this slug, or says every problem that keeps it from running. Called once.
    fn case(&self, skill: &str) -> Result<Case, Vec<Diagnostic>>;

    /// The problems that keep the case from running and are known before it is read.
    fn file_problems(&self) -> &[Diagnostic] {
        &[]
    }

    /// Whether the skill should trigger, if that is known before the case is read.
    fn should_trigger(&self) -> Option<bool>;

    /// The trials and threshold of the case, if they are known before it is read.
    fn repetition(&self) -> Repetition {
        Repetition::default()
    }

    /// The place of the value of `key`, or of `text` in it; `None` if the format cannot tell.
    fn place(&self, _key: &str, _text: Option<&str>, _tree: &dyn RepoFiles) -> Option<SourceLocation> {
        None
    }
}

/// A case that was read when it was found, or the problems that keep it from running.
#[derive(Clone, Debug)]
pub struct ReadCase {
    /// The format that it has, or should have.
    pub format: &'static CaseFormat,
    pub case: Result<Case, Vec<Diagnostic>>,
    /// The places of its fields' values, if its format cannot find them again.
    pub places: Vec<(&'static str, SourceLocation)>,
}

impl ReadCase {
    /// A case of this format whose places the format finds.
    pub fn new(format: &'static CaseFormat, case: Result<Case, Vec<Diagnostic>>) -> Self {
        Self { format, case, places: Vec::new() }
    }
}

impl CaseSource for ReadCase {
    fn format(&self) -> &'static CaseFormat {
        self.format
    }

    fn case(&self, _skill: &str) -> Result<Case, Vec<Diagnostic>> {
        self.case.clone()
    }

    fn file_problems(&self) -> &[Diagnostic] {
        self.case.as_ref().err().map_or(&[], Vec::as_slice)
    }

    fn should_trigger(&self) -> Option<bool> {
        self.case.as_ref().ok().filter(|case| case.asks_for_trigger()).map(|case| case.should_trigger)
    }

    fn repetition(&self) -> Repetition {
        self.case.as_ref().map(|case| case.repetition).unwrap_or_default()
    }

    fn place(&self, key: &str, _text: Option<&str>, tree: &dyn RepoFiles) -> Option<SourceLocation> {
        let case = self.case.as_ref().ok()?;
        if let Some(place) = self.places.iter().find(|(name, _)| *name == key) {
            return Some(place.1.clone());
        }
        let path = &case.origin.path;
        (self.format.files.as_ref()?.place)(path, &tree.read(path).ok()?, key)
    }
}

#[derive(Clone, Debug)]
pub struct FoundCase {
    /// The id as written, or another one if that cannot be a name.
    pub id: String,
    /// The slug of the skill it belongs to, shared by all cases of a file.
    pub skill: Arc<str>,
    /// The file, from the repository's root, shared too.
    pub file: Arc<Path>,
    /// The line on which it starts, from 1.
    pub line: usize,
    /// Scripts that check it although it does not name them.
    pub scripts: Vec<NamedScript>,
    /// Reads the case.
    pub source: Arc<dyn CaseSource>,
    parsed: OnceLock<Box<ParsedCase>>,
}

#[derive(Clone, Debug)]
struct ParsedCase {
    case: Result<Case, Vec<Diagnostic>>,
    /// The errors that lint finds in it.
    errors: OnceLock<Vec<Diagnostic>>,
}

impl FoundCase {
    /// A case in `file` at `line`, from 1.
    pub fn new(
        id: String,
        skill: impl Into<Arc<str>>,
        file: impl Into<Arc<Path>>,
        line: usize,
        source: impl CaseSource + 'static,
    ) -> Self {
        let (skill, file) = (skill.into(), file.into());
        Self { id, skill, file, line, scripts: Vec::new(), source: Arc::new(source), parsed: OnceLock::new() }
    }

    /// The case, or every problem that keeps it from running. It is read at the first call.
    pub fn case(&self) -> Result<&Case, &[Diagnostic]> {
        self.parsed().case.as_ref().map_err(Vec::as_slice)
    }

    /// Adds the scripts of its skill and of the repository to its checks, each once.
    fn add_scripts(&self, case: &mut Case) {
        for NamedScript { path, place } in &self.scripts {
            if !case.checks.iter().any(|check| check.script() == Some(path)) {
                let origin = Origin { elsewhere: Some(place.clone()), ..Origin::default() };
                case.checks.push(CaseCheck { origin, ..checks::script(path.clone()) });
            }
        }
    }

    fn parsed(&self) -> &ParsedCase {
        self.parsed.get_or_init(|| {
            let mut case = self.source.case(&self.skill);
            if let Ok(case) = &mut case {
                self.add_scripts(case);
            }
            Box::new(ParsedCase { case, errors: OnceLock::new() })
        })
    }

    /// The problems that keep it from running in its repository. `check` finds them at the first call, for all its trials.
    pub fn refused(&self, check: impl FnOnce(&Self) -> Vec<Diagnostic>) -> &[Diagnostic] {
        self.parsed().errors.get_or_init(|| check(self))
    }

    /// Whether the skill should trigger, if that is known before the case is read.
    pub fn should_trigger(&self) -> Option<bool> {
        self.source.should_trigger()
    }

    /// The trials and threshold of the case, if they are known before it is read.
    pub fn repetition(&self) -> Repetition {
        self.source.repetition()
    }

    /// The format it is written in.
    pub fn format(&self) -> &'static CaseFormat {
        self.source.format()
    }
}
