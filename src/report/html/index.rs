//! What the page knows of every trial before one is opened.

use std::collections::HashMap;

use serde::Serialize;

use crate::trial::id::TrialId;
use crate::trial::outcome::{Status, Verdict};
use crate::trial::run_record::TrialRecord;

/// The index: names once, and a row for each trial that refers to them by place.
#[derive(Debug, Default, Serialize)]
pub struct Index {
    /// The runs.
    runs: Vec<String>,
    /// Whether some trials are what the others are compared with.
    compares: bool,
    /// Skills, cases, modes and checks by name.
    names: Vec<String>,
    /// The trials.
    pub rows: Vec<IndexEntry>,
    /// Trials of the plan that were not run.
    not_run: Vec<UnrunTrial>,
    #[serde(skip)]
    known: HashMap<String, u32>,
}

/// A trial. Names are places in `Index::names`.
#[derive(Debug, Serialize)]
pub struct IndexEntry {
    run: usize,
    skill: u32,
    case: u32,
    mode: u32,
    n: u32,
    /// The mode of the trial that it is compared with, where it is what that one is compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<u32>,
    verdict: Verdict,
    /// Checks that failed.
    failed: Vec<u32>,
    /// Checks of which the evidence does not show what they found.
    unknown: Vec<u32>,
    ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    /// What tells equal final messages from others.
    #[serde(skip_serializing_if = "str::is_empty")]
    answer: String,
    /// What tells equal calls and commands from others.
    #[serde(skip_serializing_if = "str::is_empty")]
    calls: String,
    /// Whether its session is in the page.
    pub kept: bool,
    /// Why it is not, where nothing could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// A trial that was not run. Names are places in `Index::names`.
#[derive(Debug, Serialize)]
struct UnrunTrial {
    run: usize,
    skill: u32,
    case: u32,
    mode: u32,
    n: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<u32>,
    why: String,
}

impl Index {
    /// An index without trials yet.
    #[must_use]
    pub fn new(runs: Vec<String>, compares: bool) -> Self {
        Self { runs, compares, ..Self::default() }
    }

    /// The place of a name.
    fn name(&mut self, name: &str) -> u32 {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let place = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.to_owned());
        self.known.insert(name.to_owned(), place);
        place
    }

    /// Adds a trial of the run at this place of the runs. `before`: the mode of its counterpart, of a trial that others are
    /// compared with.
    pub fn add(&mut self, run: usize, record: &TrialRecord, before: Option<&str>, answer: String, calls: String) {
        let of = |status: Status| record.checks.iter().filter(move |(_, found)| *found == status);
        let failed: Vec<&String> = of(Status::Fail).map(|(check, _)| check).collect();
        let unknown: Vec<&String> = of(Status::Unknown).map(|(check, _)| check).collect();
        let row = IndexEntry {
            run,
            skill: self.name(&record.id.skill),
            case: self.name(&record.id.case),
            mode: self.name(&record.id.mode),
            n: record.id.number,
            before: before.map(|mode| self.name(mode)),
            verdict: record.verdict,
            failed: failed.into_iter().map(|check| self.name(check)).collect(),
            unknown: unknown.into_iter().map(|check| self.name(check)).collect(),
            ms: record.duration_ms,
            tokens: record.spent.tokens,
            cost: record.spent.cost_usd,
            answer,
            calls,
            kept: true,
            why: record.trouble.as_ref().map(ToString::to_string),
        };
        self.rows.push(row);
    }

    /// Adds a trial that was not run, with the reason.
    pub fn add_not_run(&mut self, run: usize, id: &TrialId, before: Option<&str>, why: String) {
        let row = UnrunTrial {
            run,
            skill: self.name(&id.skill),
            case: self.name(&id.case),
            mode: self.name(&id.mode),
            n: id.number,
            before: before.map(|mode| self.name(mode)),
            why,
        };
        self.not_run.push(row);
    }
}
