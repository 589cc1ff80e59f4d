//! What is chosen for a run.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::settings::trials::Trials;
use crate::settings::{Settings, Stop, TestSelection};
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
    /// What holds for every case.
    #[serde(flatten)]
    pub overrides: Overrides,
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
            overrides: self.overrides.or(earlier.overrides),
            replay: self.replay || earlier.replay,
            shard: self.shard.or(earlier.shard),
            ..cases
        }
    }
}

/// Declares what a run says for all cases: its type, what the settings say of it, and how they get it.
macro_rules! overrides {
    ($($(#[$meta:meta])* $field:ident: $type:ty, |$from:ident| $get:expr, |$to:ident, $value:ident| $set:expr;)*) => {
        /// What a run says for all cases, whatever the repository says; each is absent if not chosen.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Overrides {
            $($(#[$meta])* pub $field: Option<$type>,)*
        }

        impl Overrides {
            /// These, with those of `earlier` as defaults.
            #[must_use]
            pub fn or(self, earlier: Self) -> Self {
                Self { $($field: self.$field.or(earlier.$field),)* }
            }

            /// Makes the settings say the same.
            pub fn apply(&self, settings: &mut Settings) {
                $(if let Some($value) = self.$field.clone() {
                    let $to = &mut *settings;
                    $set;
                })*
            }

            /// What the settings say of all this.
            pub fn of(settings: &Settings) -> Self {
                Self {
                    $($field: {
                        let $from = settings;
                        $get
                    },)*
                }
            }
        }
    };
}

overrides! {
    /// The model.
    model: String, |settings| settings.model.clone(), |settings, model| settings.model = Some(model);
    /// Trials of each case, whatever the case says.
    trials: Trials, |settings| settings.repetition.asked.trials,
        |settings, trials| settings.repetition.asked.trials = Some(trials);
    /// The share of a case's trials that must pass, whatever the case says.
    #[serde(skip_serializing_if = "Option::is_none")]
    threshold: f64, |settings| settings.repetition.asked.threshold,
        |settings, threshold| settings.repetition.asked.threshold = Some(threshold);
    /// Timeout in seconds of cases that set none.
    timeout_s: u64, |settings| Some(settings.timeout.as_secs()),
        |settings, seconds| settings.timeout = Duration::from_secs(seconds);
    /// When a live trial ends. A run that records runs its trials to their end, whatever evals.toml says.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Stop, |settings| settings.stop.map(|_| settings.stops()), |settings, stop| settings.stop = Some(stop);
    /// Whether every trial is judged, or none.
    judge: bool, |settings| settings.judge.wanted, |settings, judge| settings.judge.wanted = Some(judge);
    /// Votes of the judge on each trial.
    judge_votes: u32, |settings| Some(settings.judge.votes), |settings, votes| settings.judge.votes = votes;
}
