//! Exports: the formats in which the results of a run are written for people or programs.

pub mod trials;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::export::trials::{TrialPlan, TrialWriter};
use crate::results::summary::Summary;
use crate::text::problem::Problem;

/// A file, relative to the git repository, and a line from 1: CI servers know files so.
pub type FileLine = (PathBuf, usize);

/// Where annotations point: at what a change touched, where that is known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeLocations {
    /// The directory with the skills, relative to the git repository.
    pub prefix: PathBuf,
    /// By `skill/case`: its row if the change touched it, else what it touched of the skill, else the row.
    pub cases: BTreeMap<String, FileLine>,
    /// By slug, the skills whose files the change touched.
    pub skills: BTreeMap<String, FileLine>,
}

impl ChangeLocations {
    /// Where a recorded case can be repaired.
    pub fn of_case(&self, case: &str) -> Option<&FileLine> {
        self.cases.get(case)
    }

    /// What may have changed the results of a case: its own skill if that changed, else the only changed skill, else the case.
    pub fn of_change(&self, case: &str) -> Option<&FileLine> {
        let own = case.split_once('/').and_then(|(skill, _)| self.skills.get(skill));
        own.or_else(|| self.only_skill()).or_else(|| self.of_case(case))
    }

    /// The changed skill, if there is exactly one.
    pub fn only_skill(&self) -> Option<&FileLine> {
        self.skills.values().next().filter(|_| self.skills.len() == 1)
    }
}

pub struct Results<'a> {
    pub summary: &'a Summary,
    /// Whether a case without a recording is an error.
    pub needs_recordings: bool,
    /// Looks up the locations of cases.
    pub locations: &'a dyn Fn() -> ChangeLocations,
}

/// A format. Its name is the option that chooses it, and the value of `export --to`.
#[derive(Debug)]
pub struct Export {
    /// The name, kebab-case.
    pub name: &'static str,
    /// The help of the option.
    pub about: &'static str,
    pub kind: ExportKind,
}

/// Makes the text of an export from the figures alone.
pub type RenderResults = fn(&Results<'_>) -> Result<String, Problem>;

/// Starts an export that is written trial by trial, with the sessions.
pub type StartTrials = fn(&TrialPlan) -> Box<dyn TrialWriter>;

/// How an export is made, and where it goes.
#[derive(Clone, Copy, Debug)]
pub enum ExportKind {
    /// To the file that the option names.
    File(RenderResults),
    /// To standard output, instead of the table.
    Output(RenderResults),
    /// To standard output for the CI server, with a Markdown page if the server shows one.
    Job {
        render: RenderResults,
        /// Makes the page.
        page: fn(&Summary) -> String,
    },
    /// To one file, by `export --to` alone.
    Trials(StartTrials),
    /// To a new directory, by `export --to` alone.
    TrialFolder(StartTrials),
}

impl Export {
    /// Makes the text of an export that needs the figures alone.
    pub fn render(&self) -> Option<RenderResults> {
        match self.kind {
            ExportKind::File(render) | ExportKind::Output(render) | ExportKind::Job { render, .. } => Some(render),
            ExportKind::Trials(_) | ExportKind::TrialFolder(_) => None,
        }
    }
}
