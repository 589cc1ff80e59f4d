//! Exports: the formats in which the results of a run are written for people or programs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::results::summary::Summary;
use crate::results::timeline::Timeline;
use crate::text::escape;
use crate::text::problem::Problem;
use crate::trace::Usage;
use crate::trial::evidence::Evidence;
use crate::trial::outcome::{CheckResult, Grade, Status, Verdict};
use crate::trial::run_record::TrialRecord;
use crate::trial_text::scripted;

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

// What the formats get that are written trial by trial, and what they give.

/// What is known before the first trial.
#[derive(Debug)]
pub struct TrialPlan {
    /// The names of the runs.
    pub runs: String,
    /// The modes of the trials, and whether each offers skills.
    pub modes: BTreeMap<String, bool>,
}

#[derive(Debug)]
pub struct ExportedTrial<'a> {
    pub record: &'a TrialRecord,
    pub evidence: Evidence<'a>,
    pub grade: &'a Grade,
    pub timeline: &'a Timeline,
    /// The texts of the files that the agent made or changed, by path.
    pub files: Vec<(PathBuf, String)>,
}

/// A part of an export: the text of a file, or the next text of the only file.
#[derive(Debug)]
pub struct ExportPart {
    /// The path in the directory of the export. `None` for the only file.
    pub file: Option<PathBuf>,
    pub text: String,
}

/// Writes one export. No part holds the trials of a whole run.
pub trait TrialWriter {
    fn trial(&mut self, trial: &ExportedTrial<'_>) -> Vec<ExportPart>;

    /// The parts that come after the last trial.
    fn end(&mut self) -> Vec<ExportPart>;
}

impl ExportPart {
    pub fn next(text: String) -> Self {
        Self { file: None, text }
    }

    /// The next text of the only file, a JSON document.
    pub fn next_json(text: &str) -> Self {
        Self::next(escape::json(text).into_owned())
    }

    pub fn json(file: PathBuf, value: &Value) -> Self {
        Self { file: Some(file), text: escape::json(&format!("{value:#}\n")).into_owned() }
    }
}

impl ExportedTrial<'_> {
    /// `greeting/implicit/codex/1`.
    pub fn name(&self) -> String {
        let id = &self.record.id;
        format!("{}/{}/{}/{}", id.skill, id.case, id.mode, id.number)
    }

    /// Whether it passed. `None` if it could not be measured or judged: no export may make a pass or a failure of it.
    pub fn passed(&self) -> Option<bool> {
        match self.grade.verdict {
            Verdict::Pass => Some(true),
            Verdict::Fail => Some(false),
            Verdict::Error | Verdict::Unscored => None,
        }
    }

    /// The checks with an answer, by name, and whether each passed.
    pub fn answered(&self) -> Vec<(String, &CheckResult, bool)> {
        let named = self.grade.named_checks().into_iter();
        let answered = named.filter(|(_, check)| check.status != Status::Unknown);
        answered.map(|(name, check)| (name, check, check.status == Status::Pass)).collect()
    }

    /// What the reader must know besides the checks: why the trial was not measured, what the evidence does not show, that a
    /// mock model answered, and that amounts are lower bounds.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.passed().is_none() {
            let why = self.grade.trouble.as_ref().map(|trouble| format!(": {trouble}")).unwrap_or_default();
            notes.push(format!("{}, neither a pass nor a failure{why}", self.grade.verdict.as_str()));
        }
        let named = self.grade.named_checks().into_iter();
        for (name, check) in named.filter(|(_, check)| check.status == Status::Unknown) {
            notes.push(format!("unknown: {name}: {}", check.found));
        }
        notes.extend(self.grade.unsupported.iter().map(|part| format!("ran only in part, unsupported: {part}")));
        notes.extend(self.record.scripted.as_deref().map(scripted));
        if self.record.settled {
            notes.push("ended as soon as its verdict was settled: times and tokens are lower bounds".to_owned());
        }
        notes
    }

    /// The agent's own tokens and cost, if it reported them.
    pub fn usage(&self) -> Option<&Usage> {
        self.grade.metrics.usage.as_ref()
    }

    pub fn seconds(&self) -> f64 {
        std::time::Duration::from_millis(self.grade.metrics.duration_ms).as_secs_f64()
    }

    /// What no format has a place for, in our own words.
    pub fn facts(&self) -> Value {
        let (meta, record) = (self.evidence.meta, self.record);
        without_null(json!({
            "run": meta.run_id,
            "skill": record.id.skill,
            "case": record.id.case,
            "mode": record.id.mode,
            "trial": record.id.number,
            "verdict": self.grade.verdict.as_str(),
            "score": self.grade.score,
            "skills_from": meta.delivery.as_str(),
            "should_trigger": meta.case.should_trigger,
            "activated": record.activated,
            "scripted": record.scripted,
            "attempts": record.attempts,
            "settled": record.settled.then_some(true),
        }))
    }
}

/// An object without the keys whose value is unknown.
pub fn without_null(mut object: Value) -> Value {
    if let Some(map) = object.as_object_mut() {
        map.retain(|_, value| !value.is_null());
    }
    object
}
