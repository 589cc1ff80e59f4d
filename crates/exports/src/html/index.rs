//! The data of all trials that the page needs before one is opened.

use std::collections::HashMap;

use serde::Serialize;

use crate::trial::id::TrialId;
use crate::trial::outcome::{Status, Verdict};
use crate::trial::run_record::TrialRecord;

/// A row for each trial. Rows refer to names by their places.
#[derive(Debug, Default, Serialize)]
pub struct Index {
    runs: Vec<String>,
    /// The names of the baseline and the candidate, in a comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    sides: Option<(String, String)>,
    /// The names of skills, cases, modes and checks.
    names: Vec<String>,
    pub rows: Vec<IndexEntry>,
    /// Planned trials that were not run.
    not_run: Vec<UnrunTrial>,
    #[serde(skip)]
    known: HashMap<String, u32>,
}

/// The id of a trial, with places in `Index::runs` and `Index::names`.
#[derive(Debug, Serialize)]
struct IndexedId {
    run: usize,
    skill: u32,
    case: u32,
    mode: u32,
    n: u32,
    /// Of a baseline trial, the mode of its candidate trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<u32>,
}

/// A trial. Checks are places in `Index::names`.
#[derive(Debug, Serialize)]
pub struct IndexEntry {
    #[serde(flatten)]
    id: IndexedId,
    verdict: Verdict,
    failed: Vec<u32>,
    /// Checks with an unknown result.
    unknown: Vec<u32>,
    ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    /// A digest of the final message.
    #[serde(skip_serializing_if = "str::is_empty")]
    answer: String,
    /// A digest of the calls and commands.
    #[serde(skip_serializing_if = "str::is_empty")]
    calls: String,
    /// Whether the page has the session.
    pub kept: bool,
    /// Why nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

#[derive(Debug, Serialize)]
struct UnrunTrial {
    #[serde(flatten)]
    id: IndexedId,
    why: String,
}

impl Index {
    pub fn new(runs: Vec<String>, sides: Option<(String, String)>) -> Self {
        Self { runs, sides, ..Self::default() }
    }

    fn name(&mut self, name: &str) -> u32 {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        let place = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.to_owned());
        self.known.insert(name.to_owned(), place);
        place
    }

    fn id(&mut self, run: usize, id: &TrialId, before: Option<&str>) -> IndexedId {
        IndexedId {
            run,
            skill: self.name(&id.skill),
            case: self.name(&id.case),
            mode: self.name(&id.mode),
            n: id.number,
            before: before.map(|mode| self.name(mode)),
        }
    }

    fn checks(&mut self, record: &TrialRecord, status: Status) -> Vec<u32> {
        record.checks.iter().filter(|(_, found)| *found == status).map(|(check, _)| self.name(check)).collect()
    }

    /// Adds a trial of the run at this place. `before` is the mode of the candidate trial, of a baseline trial.
    pub fn add(&mut self, run: usize, record: &TrialRecord, before: Option<&str>, answer: String, calls: String) {
        let row = IndexEntry {
            id: self.id(run, &record.id, before),
            verdict: record.verdict,
            failed: self.checks(record, Status::Fail),
            unknown: self.checks(record, Status::Unknown),
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

    pub fn add_not_run(&mut self, run: usize, id: &TrialId, before: Option<&str>, why: String) {
        let id = self.id(run, id, before);
        self.not_run.push(UnrunTrial { id, why });
    }
}
