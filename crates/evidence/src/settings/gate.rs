//! `[gate]`: what `skill-evals gate` compares, what fails it, and what it may cost.

use std::time::Duration;

use serde::Deserialize;
use toml::Spanned;

use crate::decide::plan::ComparePlan;
use crate::decide::result::CompareResult;
use crate::decide::{MARGIN, Rule};
use crate::settings::{Problems, Settings};
use crate::text::word_enum::word_enum;

/// How old a trial of an earlier gate may be that stands for one of the base.
const MAX_AGE_DAYS: i64 = 7;

/// How many similar skills run if a description changed.
const NEIGHBORS: usize = 2;

/// How many gates a year has if the settings do not say.
const GATES_A_YEAR: u32 = 500;

word_enum! {
    /// For which gates together a false alarm has the chance of 5 % at most.
    #[derive(Default)]
    pub enum GatePromise {
        /// For each gate by itself.
        #[default]
        Gate = "gate",
        /// For all gates of a year.
        Year = "year",
    }
}

word_enum! {
    /// What becomes of a gate that could have compared something, and did not.
    #[derive(Default)]
    pub enum NothingCompared {
        /// It has an answer and an exit code of its own.
        #[default]
        Fail = "fail",
        Pass = "pass",
    }
}

/// What a gate does if its command line does not say.
#[derive(Clone, Debug, PartialEq)]
pub struct GateSettings {
    /// The git reference to compare with; `None` for the last commit in common with the default branch.
    pub base: Option<String>,
    /// The results that fail it; none for `broke` and `worse`.
    pub fail_on: Vec<CompareResult>,
    /// When its comparison stops.
    pub plan: ComparePlan,
    /// Maximum number of trials; `None` for that of the plan.
    pub max_trials: Option<u64>,
    /// How old a trial of an earlier gate may be that stands for one of the base.
    pub max_age: Duration,
    /// Number of similar skills whose positive cases run too if a description changed.
    pub neighbors: usize,
    /// For how many gates together a false alarm has the chance of 5 % at most.
    pub promised_for: u32,
    pub nothing_compared: NothingCompared,
    max_cost_usd: Option<f64>,
    require_recordings: Option<bool>,
}

impl Default for GateSettings {
    fn default() -> Self {
        Self {
            base: None,
            fail_on: Vec::new(),
            plan: ComparePlan::Quick,
            max_trials: None,
            max_age: days(MAX_AGE_DAYS),
            neighbors: NEIGHBORS,
            promised_for: 1,
            nothing_compared: NothingCompared::default(),
            max_cost_usd: None,
            require_recordings: None,
        }
    }
}

impl GateSettings {
    /// The chance of a false alarm of one gate. By Bonferroni's inequality the sum over the gates of the promise is 5 %, whatever they
    /// share: kept trials, the provider's bad days. So nothing about earlier gates has to be stored.
    pub fn alpha(&self) -> f64 {
        Rule::default().alpha / f64::from(self.promised_for)
    }

    /// How sure a gate is.
    pub fn rule(&self) -> Rule {
        Rule { alpha: self.alpha(), margin: Some(MARGIN), ..Rule::default() }
    }

    /// Refuses to fail on a result that the plan never has. `quick` and `standard` are undecided only for lost trials, which are
    /// `not measured`.
    pub fn check_reachable(&self) -> Result<(), String> {
        let never = match self.plan {
            ComparePlan::UntilDecided => CompareResult::NoHarmSeen,
            _ => CompareResult::Undecided,
        };
        if !self.fail_on.contains(&never) {
            return Ok(());
        }
        let (plan, result) = (self.plan.as_str(), never.as_str().replace(' ', "-"));
        Err(format!(
            "`{result}` never fails a gate with the plan `{plan}`: take it out of what fails the gate, or choose another plan"
        ))
    }
}

/// `[gate]` as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GateTable {
    base: Option<String>,
    fail_on: Option<Spanned<Vec<Spanned<String>>>>,
    plan: Option<Spanned<String>>,
    max_trials: Option<Spanned<i64>>,
    max_cost_usd: Option<Spanned<f64>>,
    max_age_days: Option<Spanned<i64>>,
    require_recordings: Option<bool>,
    neighbors: Option<Spanned<i64>>,
    promise: Option<Spanned<String>>,
    gates_a_year: Option<Spanned<i64>>,
    nothing_compared: Option<Spanned<String>>,
}

impl GateTable {
    pub(super) fn settings(self, problems: &mut Problems<'_>) -> GateSettings {
        let mut settings = GateSettings { base: self.base, ..GateSettings::default() };
        settings.require_recordings = self.require_recordings;
        if let Some(empty) = self.fail_on.as_ref().filter(|names| names.get_ref().is_empty()) {
            let write = "write `fail_on = [\"broke\", \"worse\"]`, or leave it out for the same";
            problems.add(empty.span(), format!("`fail_on` is empty, so nothing would fail the gate; {write}"));
        }
        for name in self.fail_on.iter().flat_map(Spanned::get_ref) {
            if let Ok(result) = name.get_ref().parse() {
                settings.fail_on.push(result);
            } else {
                let known = CompareResult::GATED.map(|known| known.as_str().replace(' ', "-")).join(", ");
                problems.add(name.span(), format!("unknown result `{}`; known: {known}", name.get_ref()));
            }
        }
        let plan = word(problems, "plan", self.plan.as_ref(), ComparePlan::named, &ComparePlan::WORDS);
        settings.plan = plan.unwrap_or(settings.plan);
        let promise = word(problems, "promise", self.promise.as_ref(), GatePromise::named, &GatePromise::WORDS);
        let written = self.nothing_compared.as_ref();
        let known = word(problems, "nothing_compared", written, NothingCompared::named, &NothingCompared::WORDS);
        settings.nothing_compared = known.unwrap_or_default();
        if let Some(gates) = self.gates_a_year.as_ref().filter(|_| promise != Some(GatePromise::Year)) {
            problems.add(gates.span(), "`gates_a_year` is only read with `promise = \"year\"`".to_owned());
        }
        let mut number = |key: &str, written: Option<Spanned<i64>>, least: i64, most: i64| {
            let written = written?;
            let found = Some(*written.get_ref()).filter(|number| (least..=most).contains(number));
            if found.is_none() {
                problems.add(written.span(), format!("`{key}` is {}; expected {least} to {most}", written.get_ref()));
            }
            found
        };
        settings.max_trials = number("max_trials", self.max_trials, 2, 1_000_000).and_then(|n| u64::try_from(n).ok());
        settings.max_age = number("max_age_days", self.max_age_days, 0, 365).map_or(settings.max_age, days);
        if let Some(neighbors) = number("neighbors", self.neighbors, 0, 1000) {
            settings.neighbors = usize::try_from(neighbors).unwrap_or_default();
        }
        let gates = number("gates_a_year", self.gates_a_year, 1, 100_000).and_then(|n| u32::try_from(n).ok());
        if promise == Some(GatePromise::Year) {
            settings.promised_for = gates.unwrap_or(GATES_A_YEAR);
        }
        if let Some(cost) = self.max_cost_usd {
            settings.max_cost_usd = Some(*cost.get_ref()).filter(|cost| *cost > 0.0 && cost.is_finite());
            if settings.max_cost_usd.is_none() {
                problems.add(cost.span(), format!("`max_cost_usd` is {}; expected above 0", cost.get_ref()));
            }
        }
        settings
    }
}

impl Settings {
    /// The settings of the file for a gate: its table overrides the rest.
    #[must_use]
    pub fn for_gate(mut self) -> Self {
        self.max_cost_usd = self.gate.max_cost_usd.or(self.max_cost_usd);
        self.require_recordings = self.gate.require_recordings.or(self.require_recordings);
        self
    }
}

/// The value of a key that has one of these words.
fn word<T>(
    problems: &mut Problems<'_>,
    key: &str,
    written: Option<&Spanned<String>>,
    named: fn(&str) -> Option<T>,
    words: &[&str],
) -> Option<T> {
    let written = written?;
    let known = named(written.get_ref());
    if known.is_none() {
        problems.add(written.span(), format!("unknown {key} `{}`; known: {}", written.get_ref(), words.join(", ")));
    }
    known
}

fn days(days: i64) -> Duration {
    Duration::from_secs(u64::try_from(days).unwrap_or_default() * 24 * 3600)
}
