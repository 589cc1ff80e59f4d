//! Programs that answer checks. Each runs after the agent, in a copy of the workspace. A check reads how it ended.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use serde::Serialize;

use crate::checks::contents::Unknown;
use crate::text::relative_path::RelativePath;
use crate::trace::excerpt;

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
