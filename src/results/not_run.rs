//! Why trials of a stored run's plan have no result.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::results::run_status::{self, RunState};
use crate::store::RunFolder;
use crate::trial::id::{CaseInMode, TrialId};

/// What summaries once had in the place of a reason.
const NO_REASON: &str = "not run";

/// Why trials were not run: what the run noted of their case, else how the run stands.
#[derive(Debug)]
pub struct NotRunReasons {
    noted: BTreeMap<CaseInMode, String>,
    /// Why those were not of which the run noted nothing.
    pub otherwise: &'static str,
}

/// What a stored summary says of a case.
#[derive(Deserialize)]
struct StoredReason {
    #[serde(flatten)]
    key: CaseInMode,
    #[serde(default)]
    not_run: BTreeMap<String, usize>,
}

impl NotRunReasons {
    /// The reasons of this run. What of its files cannot be read tells none.
    #[must_use]
    pub fn of(run: &RunFolder) -> Self {
        let state = run_status::standing(run).map_or(RunState::Finished, |standing| standing.state);
        let otherwise = match state {
            RunState::Running => "the run is still running",
            RunState::Finished => "it has no result in the run's directory",
            RunState::Interrupted => "the run was interrupted",
            RunState::Stopped => "the run was stopped",
            RunState::NotStored => "an earlier result of the run could not be stored",
            RunState::Killed => "the run was killed",
        };
        let mut summary = run.summary().unwrap_or_default();
        let cases = summary["cases"].take();
        let cases: Vec<serde_json::Value> = serde_json::from_value(cases).unwrap_or_default();
        let cases = cases.into_iter().filter_map(|case| serde_json::from_value::<StoredReason>(case).ok());
        let noted = cases.filter_map(|case| {
            let reasons: Vec<String> = case.not_run.into_keys().filter(|why| why != NO_REASON).collect();
            (!reasons.is_empty()).then(|| (case.key, reasons.join(" or ")))
        });
        Self { noted: noted.collect(), otherwise }
    }

    /// Why this trial was not run.
    #[must_use]
    pub fn why(&self, id: &TrialId) -> &str {
        self.noted.get(&CaseInMode::of(id)).map_or(self.otherwise, String::as_str)
    }
}
