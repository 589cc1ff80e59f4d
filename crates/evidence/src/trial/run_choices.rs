//! What is chosen for a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::settings::trials::Trials;
use crate::settings::{Stop, TestSelection};
use crate::trial::shard::Shard;

/// What was chosen for a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunChoices {
    /// The cases.
    #[serde(flatten)]
    pub selection: TestSelection,
    /// Modes by name.
    pub modes: Vec<String>,
    /// The modes that stand in for default ones, by the names of those.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub default_modes: BTreeMap<String, String>,
    /// The model.
    pub model: Option<String>,
    /// Trials of each case, whatever the case says; absent if not chosen.
    pub trials: Option<Trials>,
    /// The share of a case's trials that must pass, whatever the case says; absent if not chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// Timeout in seconds of cases that set none.
    pub timeout_s: Option<u64>,
    /// When a live trial ends; absent if not chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// Whether every trial is judged, or none; absent if not chosen.
    pub judge: Option<bool>,
    /// Votes of the judge on each trial; absent if not chosen.
    pub judge_votes: Option<u32>,
    /// Whether recordings were replayed.
    pub replay: bool,
    /// Filters of test names, as of `cargo test`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
    /// The trials as `skill/case/mode`, if the other choices do not determine them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trials_by_name: Vec<String>,
    /// The part of these cases that the run has; absent if it has all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
}

impl RunChoices {
    /// These cases, by name.
    pub fn of_cases(cases: Vec<String>) -> Self {
        Self { selection: TestSelection { cases, ..TestSelection::default() }, ..Self::default() }
    }

    /// Whether these choices select cases.
    pub fn selects(&self) -> bool {
        self.selection != TestSelection::default() || !(self.filters.is_empty() && self.trials_by_name.is_empty())
    }

    /// These choices, with those of `earlier` as defaults. The selection of cases is one choice: naming a case drops an earlier
    /// suite.
    #[must_use]
    pub fn or(self, earlier: RunChoices) -> RunChoices {
        let cases = if self.selects() { self.clone() } else { earlier.clone() };
        RunChoices {
            modes: if self.modes.is_empty() { earlier.modes } else { self.modes },
            default_modes: if self.default_modes.is_empty() { earlier.default_modes } else { self.default_modes },
            model: self.model.or(earlier.model),
            trials: self.trials.or(earlier.trials),
            threshold: self.threshold.or(earlier.threshold),
            timeout_s: self.timeout_s.or(earlier.timeout_s),
            stop: self.stop.or(earlier.stop),
            judge: self.judge.or(earlier.judge),
            judge_votes: self.judge_votes.or(earlier.judge_votes),
            replay: self.replay || earlier.replay,
            shard: self.shard.or(earlier.shard),
            ..cases
        }
    }
}
