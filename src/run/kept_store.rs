//! What a run keeps for later ones, and what earlier ones kept for it.

use crate::cases::selection::TestCase;
use crate::settings::mode::AgentKind;
use crate::store::{KeptTrial, KeptTrials, RunningComparison, StoreError};
use crate::trial::id::CaseInMode;
use std::collections::HashMap;
use std::sync::Mutex;

/// What a run keeps, and what it may use of earlier ones.
#[derive(Debug)]
pub struct KeptStore {
    pub(super) trials: KeptTrials,
    /// What decides the trials of each case that may stand for trials of a base.
    pub(super) keys: HashMap<CaseInMode, String>,
    pub(super) comparison: Option<RunningComparison>,
    /// What the agents of the run have reported, by agent and requested model: the first of each.
    pub(super) reported: Mutex<HashMap<(AgentKind, Option<String>), ReportedAgent>>,
}

/// What an agent reports of itself, as far as it does.
#[derive(Clone, Debug, Default)]
pub(super) struct ReportedAgent {
    pub(super) version: Option<String>,
    /// Its model, if it is not the one that was requested.
    pub(super) model: Option<String>,
}

impl ReportedAgent {
    /// Whether this version and model do not contradict what it reports.
    pub(super) fn agrees(&self, version: Option<&String>, model: Option<&String>) -> bool {
        let agree = |one: &Option<String>, other: Option<&String>| {
            one.as_ref().zip(other).is_none_or(|(one, other)| one == other)
        };
        agree(&self.version, version) && agree(&self.model, model)
    }
}

impl KeptStore {
    /// Continues the comparison of these contents. `waits` is called while another process has it. Returns which measurement of
    /// them it is.
    pub fn continue_with(&mut self, contents: &str, waits: &mut dyn FnMut()) -> Result<u32, StoreError> {
        let comparison = self.trials.comparison(contents, waits)?;
        let measurement = comparison.measurement;
        self.comparison = Some(comparison);
        Ok(measurement)
    }

    /// From how many failed looks on the comparison that it continues gives all cases pairs, if it has begun.
    pub fn all_from(&self) -> Option<u64> {
        self.comparison.as_ref()?.pairs.first()?.all_from
    }

    /// How many trials of the comparison of these contents have been measured.
    pub fn measured(&self, contents: &str) -> usize {
        self.trials.measured(contents)
    }

    /// The kept trials that may stand for the next trial of this case.
    pub fn unused(&self, planned: &TestCase) -> Vec<KeptTrial> {
        self.keys.get(&planned.case_in_mode()).map(|key| self.trials.unused(key)).unwrap_or_default()
    }
}
