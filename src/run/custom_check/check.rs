//! A custom check: what it is about, and its finding.

use std::any::Any;
use std::collections::BTreeMap;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use thiserror::Error;

use crate::agent;
use crate::cases::catalog::Catalog;
use crate::files::look::{self, Walk, WalkStep};
use crate::run::skill_version::TextReader;
use crate::store::{self, TrialFolder};
use crate::text::cut;
use crate::text::diagnostic::suggest;
use crate::text::name::RelativePath;
use crate::trace::{Trace, spoken};
use crate::trial::evidence::{Evidence, Meta};
use crate::trial::outcome::{CheckResult, Goal, Status};
use crate::trial::workspace_file::WorkspaceFile;

/// The most characters of a text of a check that are kept.
const LONGEST: usize = 10_000;

/// The result of a custom check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The check passes; with its evidence.
    Pass(String),
    /// The check fails; with its evidence.
    Fail(String),
    /// There is not enough evidence to decide: the trial could not be measured, unless something else failed.
    Unknown(String),
    /// The check is not about this trial.
    NotAsked,
}

impl Finding {
    /// `Pass` if `passed`, otherwise `Fail`.
    pub fn of(passed: bool, evidence: impl Into<String>) -> Self {
        if passed { Self::Pass(evidence.into()) } else { Self::Fail(evidence.into()) }
    }
}

/// Why a check has no finding: any error, by `?`. The check fails with its text. Only a [`ReadError`] of a file whose content is
/// not known makes it unknown.
pub struct CheckError(Box<dyn Error + Send + Sync>);

// It does not implement `Error`: every error becomes one.
impl<E: Error + Send + Sync + 'static> From<E> for CheckError {
    fn from(error: E) -> Self {
        Self(Box::new(error))
    }
}

impl fmt::Debug for CheckError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl From<CheckError> for Finding {
    fn from(CheckError(error): CheckError) -> Self {
        match error.downcast_ref::<ReadError>() {
            Some(read) if read.is_unknown() => Self::Unknown(read.to_string()),
            _ => Self::Fail(error.to_string()),
        }
    }
}

type CheckBody = dyn Fn(&Trial<'_>) -> Result<Finding, CheckError> + Send + Sync;

/// A custom check of every live or replayed trial, or of those of one skill, case or tag.
///
/// ```
/// use skill_evals::harness::{Check, Finding, TrialSample};
///
/// let check = Check::new("report-is-short", |trial| {
///     let report = trial.read_text("report.md")?;
///     Ok(Finding::of(report.len() < 20, format!("{} bytes", report.len())))
/// });
/// let check = check.skill("report").expecting("a report of less than 20 bytes");
///
/// let trial = TrialSample::new("report", "Write a report.").file("report.md", "All is well.");
/// assert_eq!(check.finding(&trial.trial()), Finding::Pass("12 bytes".to_owned()));
/// ```
#[derive(Clone)]
pub struct Check {
    pub(super) name: String,
    expected: Option<String>,
    skill: Option<String>,
    case: Option<String>,
    tag: Option<String>,
    body: Arc<CheckBody>,
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Check").field(&self.name).finish()
    }
}

impl Check {
    /// A check of this name, kebab-case. It fails if its body fails or panics.
    pub fn new(
        name: impl Into<String>,
        body: impl Fn(&Trial<'_>) -> Result<Finding, CheckError> + Send + Sync + 'static,
    ) -> Self {
        Self { name: name.into(), expected: None, skill: None, case: None, tag: None, body: Arc::new(body) }
    }

    /// Says what a failure shows as expected.
    #[must_use]
    pub fn expecting(self, expected: impl Into<String>) -> Self {
        Self { expected: Some(expected.into()), ..self }
    }

    /// Only about trials of the skill with this slug.
    #[must_use]
    pub fn skill(self, slug: impl Into<String>) -> Self {
        Self { skill: Some(slug.into()), ..self }
    }

    /// Only about trials of the case with this id.
    #[must_use]
    pub fn case(self, id: impl Into<String>) -> Self {
        Self { case: Some(id.into()), ..self }
    }

    /// Only about trials of cases with this tag.
    #[must_use]
    pub fn tag(self, tag: impl Into<String>) -> Self {
        Self { tag: Some(tag.into()), ..self }
    }

    /// What it finds in this trial.
    pub fn finding(&self, trial: &Trial<'_>) -> Finding {
        if !self.is_about(trial) {
            return Finding::NotAsked;
        }
        // A check written with `assert!` fails by panicking.
        catch_unwind(AssertUnwindSafe(|| (self.body)(trial).unwrap_or_else(Finding::from)))
            .unwrap_or_else(|panic| Finding::Fail(format!("the check panicked: {}", message_of(panic.as_ref()))))
    }

    fn is_about(&self, trial: &Trial<'_>) -> bool {
        let is = |wanted: &Option<String>, value: &str| wanted.as_ref().is_none_or(|wanted| wanted == value);
        let has_tag = |wanted: &String| trial.tags().contains(wanted);
        is(&self.skill, trial.skill()) && is(&self.case, trial.case()) && self.tag.as_ref().is_none_or(has_tag)
    }

    pub(super) fn result(&self, trial: &Trial<'_>) -> Option<CheckResult> {
        let (status, found) = match self.finding(trial) {
            Finding::Pass(evidence) => (Status::Pass, evidence),
            Finding::Fail(evidence) => (Status::Fail, evidence),
            Finding::Unknown(evidence) => (Status::Unknown, evidence),
            Finding::NotAsked => return None,
        };
        Some(result(&self.name, status, self.expected.clone().unwrap_or_else(|| own(&self.name)), found))
    }

    /// Why it is about no case of the whole `catalog`, in words.
    pub(super) fn without_effect(&self, catalog: &Catalog) -> Option<String> {
        let is_of_skill = |slug: &str| self.skill.as_ref().is_none_or(|skill| skill == slug);
        let cases = || catalog.cases.iter().filter(|found| is_of_skill(&found.skill));
        let missing = |what, wanted: &String, known: &[&str]| {
            let hint = suggest(wanted, known);
            format!("the check `{}` is about the {what} `{wanted}`, which is not here; {hint}", self.name)
        };
        if let Some(skill) = &self.skill {
            let slugs = catalog.slugs();
            if !slugs.contains(&skill.as_str()) {
                return Some(missing("skill", skill, &slugs));
            }
        }
        if let Some(case) = &self.case {
            let ids: Vec<&str> = cases().map(|found| found.id.as_str()).collect();
            if !ids.contains(&case.as_str()) {
                return Some(missing("case", case, &ids));
            }
        }
        let tag = self.tag.as_ref()?;
        let of_case = cases().filter_map(|found| found.case().ok());
        let mut tags: Vec<&str> = of_case.flat_map(|case| case.tags.iter().map(String::as_str)).collect();
        tags.sort_unstable();
        tags.dedup();
        (!tags.contains(&tag.as_str())).then(|| missing("tag", tag, &tags))
    }
}

/// What a custom check expects that does not say it.
pub(super) fn own(name: &str) -> String {
    format!("this repository's own check `{name}`")
}

pub(super) fn result(name: &str, status: Status, expected: String, found: String) -> CheckResult {
    let (expected, found) = (cut::text(expected, LONGEST), cut::text(found, LONGEST));
    CheckResult { custom: true, ..CheckResult::new(name, Goal::Outcome, status, expected, found) }
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}

// A trial as a custom check sees it, and trials for tests of checks.

/// A trial, and what it left in its workspace.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    evidence: Evidence<'a>,
    contents: FileContents<'a>,
}

/// Where the contents of its files are.
#[derive(Clone, Copy, Debug)]
enum FileContents<'a> {
    Stored(&'a TrialFolder),
    Given(&'a BTreeMap<String, Vec<u8>>),
}

/// Why a file of a workspace was not read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The workspace has no such file.
    #[error("`{0}` is not there")]
    Missing(String),
    /// The file is there, or may be. Its content was not kept: recordings have only small contents that the agent wrote.
    #[error("the content of `{0}` was not kept")]
    NotKept(String),
    /// No file of a workspace has such a path.
    #[error("`{path}` {why}")]
    BadPath {
        /// The path.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// An error of the system.
    #[error("`{path}`: {source}")]
    Io {
        /// The path.
        path: String,
        /// The error.
        source: io::Error,
    },
}

impl ReadError {
    /// Whether the file may be there: then nothing follows from the error.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::NotKept(_) | Self::Io { .. })
    }
}

impl<'a> Trial<'a> {
    pub fn stored(evidence: Evidence<'a>, folder: &'a TrialFolder) -> Self {
        Self { evidence, contents: FileContents::Stored(folder) }
    }

    /// The slug of the skill under test.
    pub fn skill(&self) -> &'a str {
        &self.evidence.meta.skill.slug
    }

    /// The case's id.
    pub fn case(&self) -> &'a str {
        &self.evidence.meta.case.id
    }

    /// The mode's name.
    pub fn mode(&self) -> &'a str {
        &self.evidence.meta.mode
    }

    /// What the agent was asked.
    pub fn prompt(&self) -> &'a str {
        &self.evidence.meta.case.prompt
    }

    /// The tags of the case.
    pub fn tags(&self) -> &'a [String] {
        &self.evidence.meta.case.tags
    }

    /// Whether the case expects the skill to be activated; `None` if it was not recorded.
    pub fn should_trigger(&self) -> Option<bool> {
        self.evidence.meta.case.should_trigger
    }

    /// What the agent did, in the same form for all agents.
    pub fn trace(&self) -> &'a Trace {
        self.evidence.trace
    }

    /// The agent's final message.
    pub fn final_text(&self) -> Option<&'a str> {
        self.evidence.final_text
    }

    /// The files at the end, by path. Also known in replay.
    pub fn files(&self) -> &'a [WorkspaceFile] {
        &self.evidence.meta.files
    }

    /// Whether this file exists at the end.
    pub fn has(&self, path: &str) -> bool {
        self.files().iter().any(|file| file.path == Path::new(path))
    }

    /// The content of a file that the agent created or changed.
    ///
    /// # Errors
    ///
    /// If the file does not exist, or its content was not kept.
    pub fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        let inner = RelativePath::parse(path)
            .map_err(|why| ReadError::BadPath { path: path.to_owned(), why: why.to_string() })?;
        let read = match self.contents {
            FileContents::Stored(folder) => folder.workspace_file(inner.as_path()),
            FileContents::Given(contents) => {
                contents.get(path).cloned().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
            }
        };
        read.map_err(|source| match source.kind() {
            io::ErrorKind::NotFound if self.has(path) || self.evidence.meta.files_truncated => {
                ReadError::NotKept(path.to_owned())
            }
            io::ErrorKind::NotFound => ReadError::Missing(path.to_owned()),
            _ => ReadError::Io { path: path.to_owned(), source },
        })
    }

    /// The same as text; bytes that are not UTF-8 become U+FFFD.
    ///
    /// # Errors
    ///
    /// As [`read`](Self::read).
    pub fn read_text(&self, path: &str) -> Result<String, ReadError> {
        Ok(String::from_utf8_lossy(&self.read(path)?).into_owned())
    }
}

/// A stored trial, to try a check with.
///
/// ```no_run
/// # use skill_evals::harness::{Check, Finding, Recording, RecordingError};
/// # fn main() -> Result<(), RecordingError> {
/// # let check = Check::new("brief", |trial| Ok(Finding::of(trial.trace().commands < 20, "")));
/// let recording = Recording::open("evals/recordings/greeting/explicit/codex/1")?;
/// assert!(matches!(check.finding(&recording.trial()), Finding::Pass(_)));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Recording {
    folder: TrialFolder,
    meta: Meta,
    trace: Trace,
    final_text: Option<String>,
}

/// Why a stored trial was not read: which file, and what is wrong with it.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct RecordingError(String);

impl Recording {
    /// Reads a recording in `evals/recordings/`, or a trial of a run in `artifacts/skill-evals/`.
    ///
    /// # Errors
    ///
    /// If no trial is stored there, or a file of it is damaged or missing.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, RecordingError> {
        let path = path.as_ref();
        let failed = |error: &dyn std::fmt::Display| RecordingError(error.to_string());
        if !look::exists(&path.join(store::META)).map_err(|error| failed(&error))? {
            return Err(failed(&no_trial(path)));
        }
        let folder = store::trial_at(path);
        let meta = folder.meta().map_err(|error| failed(&error))?;
        let (kind, agent) = (meta.agent.kind, meta.agent.kind.as_str());
        if kind.is_read_in_rust() && !agent::is_read_here(agent) {
            return Err(failed(&format!(
                "{}: the agent `{agent}` is read in Rust: open its trials with the harness that reads it, \
                 `Harness::new().agent(\"{agent}\", …).recording(…)`",
                path.display()
            )));
        }
        let texts = TextReader::default();
        let reference = texts.reference_at(&meta, &folder);
        texts.whole().map_err(|error| failed(&error))?;
        let trace = agent::of(meta.agent.kind).decode(&reference, path).map_err(|error| failed(&error))?;
        let final_text = folder.final_text().map_err(|error| failed(&error))?;
        Ok(Self { folder, meta, trace, final_text })
    }

    /// The trial as a check sees it.
    pub fn trial(&self) -> Trial<'_> {
        let final_text = self.final_text.as_deref();
        Trial {
            evidence: Evidence { meta: &self.meta, trace: &self.trace, final_text },
            contents: FileContents::Stored(&self.folder),
        }
    }
}

/// Why the directory is none of a trial, with one below it that is: a path often ends too early.
fn no_trial(path: &Path) -> String {
    let mut near = None;
    let unread = Walk::new(path).max_depth(4).each(|entry| {
        if entry.file_name() != store::META {
            return WalkStep::Into;
        }
        near = entry.path().parent().map(Path::to_path_buf);
        WalkStep::Stop
    });
    // It is only a hint.
    unread.report(drop);
    let path = path.display();
    match near {
        Some(near) => format!("{path}: no trial is stored there; one below it is `{}`", near.display()),
        None => format!("{path}: no trial is stored there: its meta.json is missing"),
    }
}

/// A trial that no agent ran, to try a check with.
#[derive(Clone, Debug, Default)]
pub struct TrialSample {
    meta: Meta,
    trace: Trace,
    final_text: Option<String>,
    contents: BTreeMap<String, Vec<u8>>,
}

impl TrialSample {
    /// A trial of the skill with this slug and this prompt, in which nothing happened.
    #[must_use]
    pub fn new(skill: impl Into<String>, prompt: impl Into<String>) -> Self {
        let mut sample = Self::default();
        sample.meta.skill.slug = skill.into();
        sample.meta.case.prompt = prompt.into();
        sample
    }

    /// Sets the id of the case.
    #[must_use]
    pub fn case(mut self, id: impl Into<String>) -> Self {
        self.meta.case.id = id.into();
        self
    }

    /// Adds a tag to the case.
    #[must_use]
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.meta.case.tags.push(tag.into());
        self
    }

    /// Sets what the agent did.
    #[must_use]
    pub fn trace(mut self, trace: Trace) -> Self {
        self.trace = trace;
        self
    }

    /// Sets the agent's final message.
    #[must_use]
    pub fn final_text(mut self, text: impl Into<String>) -> Self {
        self.final_text = spoken(text.into());
        self
    }

    /// Adds a file that the agent created.
    #[must_use]
    pub fn file(mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        let (path, content) = (path.into(), content.into());
        self.meta.files.push(WorkspaceFile::new(PathBuf::from(&path), content.len() as u64, true));
        self.contents.insert(path, content);
        self
    }

    /// The trial as a check sees it.
    pub fn trial(&self) -> Trial<'_> {
        let final_text = self.final_text.as_deref();
        Trial {
            evidence: Evidence { meta: &self.meta, trace: &self.trace, final_text },
            contents: FileContents::Given(&self.contents),
        }
    }
}
