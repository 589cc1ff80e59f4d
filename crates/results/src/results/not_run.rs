//! Why planned trials of a stored run have no result.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::results::run_status::{self, RunState};
use crate::store::RunFolder;
use crate::trial::id::{CaseInMode, TrialId};
use crate::trial::not_run::NotRun;

/// The reasons of a run's trials without a result.
#[derive(Debug)]
pub struct NotRunReasons {
    by_case: BTreeMap<CaseInMode, NotRun>,
    /// The reason of trials whose case the run's summary does not explain.
    pub otherwise: NotRun,
}

/// The part of a case in a stored summary that is needed here.
#[derive(Deserialize)]
struct StoredReason {
    #[serde(flatten)]
    key: CaseInMode,
    #[serde(default)]
    not_run: BTreeMap<String, usize>,
}

impl NotRunReasons {
    /// Files that cannot be read give no reasons.
    pub fn of(run: &RunFolder) -> Self {
        let state = run_status::standing(run).map_or(RunState::Finished, |status| status.state);
        let otherwise = match state {
            RunState::Running => NotRun::Other("the run is still running".to_owned()),
            RunState::Finished => NotRun::Other("it has no result in the run's directory".to_owned()),
            RunState::Interrupted => NotRun::Interrupted,
            RunState::Stopped => NotRun::Other("the run was stopped".to_owned()),
            RunState::NotStored => NotRun::NotStored,
            RunState::Killed => NotRun::Other("the run was killed".to_owned()),
        };
        let mut summary = run.summary().unwrap_or_default();
        let cases: Vec<serde_json::Value> = serde_json::from_value(summary["cases"].take()).unwrap_or_default();
        let mut by_case = BTreeMap::new();
        for case in cases {
            let Ok(case) = serde_json::from_value::<StoredReason>(case) else { continue };
            if !case.not_run.is_empty() {
                let why = case.not_run.into_keys().collect::<Vec<_>>().join(" or ");
                by_case.insert(case.key, NotRun::of_text(why));
            }
        }
        Self { by_case, otherwise }
    }

    pub fn why(&self, id: &TrialId) -> &NotRun {
        self.by_case.get(&CaseInMode::of(id)).unwrap_or(&self.otherwise)
    }
}
