//! The trial that a check looks at, with its files and the programs that ran for it, and the answer of the check.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::path::Path;
use std::time::Duration;
use std::{fmt, io};

use serde::Serialize;
use serde_json::Value;

use crate::checks::PrintedOnce;
use crate::checks::pattern::SearchError;
use crate::settings::{ActivationRule, Prices};
use crate::skill::Skill;
use crate::text::name::RelativePath;
use crate::text::problem::Problem;
use crate::trace::{Marked, excerpt};
use crate::trial::evidence::{Evidence, FinalAnswer};
use crate::trial::outcome::Status;
use crate::trial::span::{EventRef, Span};

/// The finding without a final message.
const NO_MESSAGE: &str = "no final message";

/// A trial to be checked.
#[derive(Clone, Copy, Debug)]
pub struct GradingInput<'a> {
    /// The skill under test.
    pub skill: &'a Skill,
    /// The content of the case's output schema.
    pub schema: Option<&'a Value>,
    /// What counts as an activation of the skill.
    pub activation: ActivationRule,
    /// The evidence of the trial.
    pub evidence: &'a Evidence<'a>,
    pub contents: &'a dyn Contents,
    /// What tokens cost.
    pub prices: &'a Prices,
    /// The runs of the case's programs; empty while the agent is running.
    pub programs: &'a ProgramRuns,
    /// What the agent printed, once a check has read it.
    pub printed: &'a PrintedOnce,
}

#[derive(Clone, Debug, PartialEq)]
pub struct CheckAnswer {
    /// The name of the result, if that is not the id of the check's kind.
    pub id: Option<String>,
    /// Pass, fail or unknown.
    pub status: Status,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
    /// The share of its weight that it reached, for an answer between pass and fail, 0 to 1.
    pub score: Option<f64>,
    /// The events that decided it, the one to look at first.
    pub spans: Vec<Span>,
}

impl CheckAnswer {
    /// A pass if `holds`, else a failure.
    pub fn holds(holds: bool, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::new(if holds { Status::Pass } else { Status::Fail }, expected, found)
    }

    /// An answer that points to no event yet.
    pub fn new(status: Status, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self { id: None, status, expected: expected.into(), found: found.into(), score: None, spans: Vec::new() }
    }

    /// Gives its result a name of its own.
    #[must_use]
    pub fn named(self, id: String) -> Self {
        Self { id: Some(id), ..self }
    }

    /// Adds an event that decided the answer.
    #[must_use]
    pub fn at(mut self, event: impl Into<Span>) -> Self {
        self.spans.push(event.into());
        self
    }

    /// Adds events that decided the answer.
    #[must_use]
    pub fn with(mut self, spans: impl IntoIterator<Item = Span>) -> Self {
        self.spans.extend(spans);
        self
    }
}

impl<'a> GradingInput<'a> {
    /// How a program of the case ended, or why it has no result.
    pub fn ending_of(&self, program: &WorkspaceProgram) -> Result<&ProgramEnding, Unknown> {
        let run = self.programs.get(program).ok_or("it has not run")?;
        run.ending.as_ref().map_err(Clone::clone)
    }

    /// The final message; without one, the status of a check that needs it, and why.
    pub fn final_text(&self) -> Result<&'a str, (Status, String)> {
        match self.evidence.answer() {
            FinalAnswer::Text(text) => Ok(text),
            FinalAnswer::None => Err((self.missing(), NO_MESSAGE.to_owned())),
            FinalAnswer::Unread(why) => Err((Status::Unknown, format!("{NO_MESSAGE} that could be read: {why}"))),
        }
    }

    /// The event of the final message; without a message, the end of the process.
    pub fn final_event(&self) -> EventRef {
        if self.final_text().is_ok() { EventRef::Answer } else { EventRef::End }
    }

    /// The status if something is missing at the end: unknown if the agent did not finish, or could run no command.
    pub fn missing(&self) -> Status {
        if self.unfinished().is_none() { Status::Fail } else { Status::Unknown }
    }

    /// Why the agent may have done more, or would have.
    fn unfinished(&self) -> Option<String> {
        let trace = self.evidence.trace;
        if trace.ended() { trace.shell_trouble.clone() } else { Some("the agent did not finish".to_owned()) }
    }

    /// The answer about something that `should` have happened or not. The evidence proves that it happened; it proves that it
    /// did not happen only if it is complete and reaches the agent's end.
    pub fn proved(&self, happened: bool, should: bool, expected: String, found: String) -> CheckAnswer {
        let doubt = if happened { None } else { self.evidence.gap().or_else(|| self.unfinished()) };
        match doubt {
            Some(doubt) => CheckAnswer::new(Status::Unknown, expected, format!("{found}; {doubt}")),
            None => CheckAnswer::holds(happened == should, expected, found),
        }
    }

    /// The answer about the state at the end: it `holds` there. If the agent did not finish, it may have changed later.
    pub fn at_end(&self, holds: bool, expected: String, found: String) -> CheckAnswer {
        match self.unfinished().filter(|_| holds) {
            Some(doubt) => CheckAnswer::new(Status::Unknown, expected, format!("{found}; {doubt}")),
            None => CheckAnswer::holds(holds, expected, found),
        }
    }

    /// As [`GradingInput::proved`], about something that an agent does only if the skill was offered.
    pub fn happened(&self, happened: bool, should: bool, expected: String, found: String) -> CheckAnswer {
        let answer = self.proved(happened, should, expected, found);
        if answer.status != Status::Fail || !should || self.evidence.trace.offered.is_some() {
            return answer;
        }
        let CheckAnswer { expected, found, .. } = answer;
        CheckAnswer::new(Status::Unknown, expected, format!("{found}; whether the skill was offered is not known"))
    }

    /// Whether a name is that of the skill under test.
    pub fn is_under_test(&self, name: &str) -> bool {
        crate::skill::slug(name) == self.skill.slug
    }

    /// The first step with such a mark.
    pub fn marked(&self, is_it: impl Fn(Marked) -> bool) -> Option<usize> {
        let trace = self.evidence.trace;
        let mark = trace.marks.iter().filter(|mark| is_it(mark.what)).map(|mark| mark.step).min();
        mark.map(|step| step.min(trace.steps.len().saturating_sub(1)))
    }
}

// The contents of files that checks compare, behind a trait, so that grading needs no disk.

/// Why something that a check needs is not known. The answer of such a check is unknown, and this is what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown(pub String);

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for Unknown {
    fn from(why: String) -> Self {
        Self(why)
    }
}

impl From<&str> for Unknown {
    fn from(why: &str) -> Self {
        Self(why.to_owned())
    }
}

impl From<io::Error> for Unknown {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<Problem> for Unknown {
    fn from(problem: Problem) -> Self {
        Self(problem.to_string())
    }
}

impl From<SearchError> for Unknown {
    fn from(error: SearchError) -> Self {
        Self(error.to_string())
    }
}

impl From<Unknown> for String {
    fn from(why: Unknown) -> Self {
        why.0
    }
}

/// Reads the files that checks compare.
pub trait Contents: fmt::Debug {
    /// The content of a file of the workspace at the end of the trial.
    fn of_workspace(&self, path: &Path) -> Result<Vec<u8>, Unknown>;

    /// The lines that the agent's program printed, as the trial stores them.
    fn of_output(&self) -> Result<Vec<u8>, Unknown> {
        Err("what the agent printed is not stored".into())
    }

    /// The content of a file of the repository.
    fn of_repository(&self, path: &Path) -> Result<Vec<u8>, Unknown>;
}

/// No contents: a trial whose files are not stored.
#[derive(Clone, Copy, Debug)]
pub struct NoContents;

impl Contents for NoContents {
    fn of_workspace(&self, _path: &Path) -> Result<Vec<u8>, Unknown> {
        Err("its content is not stored".into())
    }

    fn of_repository(&self, _path: &Path) -> Result<Vec<u8>, Unknown> {
        Err("the repository is not known".into())
    }
}

// Programs that answer checks. Each runs after the agent, in a copy of the workspace. A check reads how it ended.

/// The exit statuses of shells after a signal: 128, and its number.
const SIGNALS: RangeInclusive<i32> = 129..=192;

/// A program that answers a check.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum WorkspaceProgram {
    /// A script of the repository, by its path from the root.
    Script(RelativePath),
    /// A command line for `/bin/sh`.
    Command {
        line: String,
        /// Maximum duration, if it is not that of the settings.
        timeout: Option<Duration>,
        /// Directories of the repository that are added to the copy, each with its path there: what the agent made stays.
        files: Vec<(RelativePath, RelativePath)>,
    },
}

/// How a program ended by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramEnding {
    /// Its exit status.
    pub exit_code: i32,
    /// Its standard output.
    pub stdout: String,
    /// Whether its standard output is not UTF-8 text, so that `stdout` lacks a part of it.
    pub is_binary: bool,
    /// The last part of its standard error.
    pub stderr: String,
    /// Why it did not do its work, by an exit status of shells: they did not find or could not start a program.
    pub not_started: Option<String>,
}

impl ProgramEnding {
    /// Why its exit status says nothing about the trial: it did not start, or a signal ended it.
    pub(super) fn fault(&self) -> Option<Unknown> {
        let by_signal = || format!("it was ended by the signal {}", self.exit_code - SIGNALS.start() + 1);
        self.not_started.clone().or_else(|| SIGNALS.contains(&self.exit_code).then(by_signal)).map(Unknown)
    }

    /// Its standard output as text. Other bytes, such as those of UTF-16, may hide an answer.
    pub(super) fn text(&self) -> Result<&str, Unknown> {
        let is_text = !self.is_binary && !self.stdout.contains('\0');
        is_text.then_some(&*self.stdout).ok_or_else(|| "its standard output is not UTF-8 text".into())
    }

    /// Its exit status in words, with the last line of its standard error, or of its standard output if it wrote no error.
    pub(super) fn words(&self) -> String {
        let output = if self.stderr.trim().is_empty() { &self.stdout } else { &self.stderr };
        let last = output.lines().rev().find(|line| !line.trim().is_empty());
        let said = last.map_or_else(String::new, |line| format!(": {}", excerpt(line.trim())));
        format!("exit status {}{said}", self.exit_code)
    }
}

/// A run of a program about a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramRun {
    /// A digest of its content.
    pub digest: String,
    /// How it ended, or why it has no result.
    pub ending: Result<ProgramEnding, Unknown>,
}

/// The runs of the programs of a case about a trial.
pub type ProgramRuns = BTreeMap<WorkspaceProgram, ProgramRun>;

impl WorkspaceProgram {
    /// The script, if it is one.
    pub fn script(&self) -> Option<&RelativePath> {
        match self {
            Self::Script(path) => Some(path),
            Self::Command { .. } => None,
        }
    }

    /// The directories that are added to the copy, by their paths from the repository's root.
    pub fn directories(&self) -> impl Iterator<Item = &RelativePath> {
        let files = if let Self::Command { files, .. } = self { files.as_slice() } else { &[] };
        files.iter().map(|(source, _)| source)
    }
}

impl fmt::Display for WorkspaceProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Script(path) => path.fmt(f),
            Self::Command { line, .. } => f.write_str(line),
        }
    }
}
