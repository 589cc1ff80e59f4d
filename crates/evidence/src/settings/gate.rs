//! `[gate]`: what `skill-evals gate` compares, what fails it, and what it may cost.

use std::time::Duration;

use toml::Spanned;

use crate::decide::plan::ComparePlan;
use crate::decide::result::CompareResult;
use crate::decide::{MARGIN, Rule};
use crate::settings::Settings;
use crate::settings::keys::{defaults, keys};
use crate::text::word_enum::word_enum;

/// How many gates a year has if the settings do not say.
const GATES_A_YEAR: u32 = 500;

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

defaults! {
    /// What a gate does if its command line does not say.
    #[derive(Clone, Debug, PartialEq)]
    pub struct GateSettings {
        /// The git reference to compare with; `None` for the last commit in common with the default branch.
        pub base: Option<String> = None,
        /// The results that fail it; none for `broke` and `worse`.
        pub fail_on: Vec<CompareResult> = Vec::new(),
        /// When its comparison stops.
        pub plan: ComparePlan = ComparePlan::Quick,
        /// Maximum number of trials; `None` for that of the plan.
        pub max_trials: Option<u64> = None,
        /// How old a trial of an earlier gate may be that stands for one of the base.
        pub max_age: Duration = days(7),
        /// Number of similar skills whose positive cases run too if a description changed.
        pub neighbors: usize = 2,
        /// For how many gates together a false alarm has the chance of 5 % at most.
        pub promised_for: u32 = 1,
        pub nothing_compared: NothingCompared = NothingCompared::default(),
        max_cost_usd: Option<f64> = None,
        require_recordings: Option<bool> = None,
    }
}

keys! {
    GateKeys of "[gate]" {
        base: String, "the last commit in common with the default branch",
            "git reference that a [gate](../gate.md) compares with", |to, base, _| to.gate.base = Some(base);
        fail_on: Spanned<Vec<Spanned<String>>>, "`broke` and `worse`", "results of the comparison that fail the gate",
            |to, names, problems| {
                if names.get_ref().is_empty() {
                    let write = "write `fail_on = [\"broke\", \"worse\"]`, or leave it out for the same";
                    problems.add(names.span(), format!("`fail_on` is empty, so nothing would fail the gate; {write}"));
                }
                for name in names.get_ref() {
                    let known = || CompareResult::GATED.map(|known| known.as_str().replace(' ', "-"));
                    let result = problems.word("result", name, |name| name.parse::<CompareResult>().ok(), known);
                    to.gate.fail_on.extend(result);
                }
            };
        plan: Spanned<String>, "`\"quick\"`", "when its comparison stops: `quick`, `standard` or `until-decided`",
            |to, plan, problems| {
                let known = problems.word("plan", &plan, ComparePlan::named, || ComparePlan::WORDS);
                to.gate.plan = known.unwrap_or(to.gate.plan);
            };
        max_trials: Spanned<i64>, "by the plan and the number of cases", "maximum number of trials of both sides",
            |to, most, problems| to.gate.max_trials = problems.number("max_trials", &most, 2..=1_000_000);
        max_cost_usd: Spanned<f64>, "`max_cost_usd` at the top of the file; 5 if nothing limits the gate", "the same for a gate",
            |to, cost, problems| {
                to.gate.max_cost_usd = Some(*cost.get_ref()).filter(|cost| *cost > 0.0 && cost.is_finite());
                if to.gate.max_cost_usd.is_none() {
                    problems.add(cost.span(), format!("`max_cost_usd` is {}; expected above 0", cost.get_ref()));
                }
            };
        max_age_days: Spanned<i64>, "`7`", "days for which trials of earlier gates are used; `0` measures all",
            |to, most, problems| if let Some(most) = problems.number("max_age_days", &most, 0..=365) {
                to.gate.max_age = days(most);
            };
        require_recordings: bool, "`require_recordings` at the top of the file", "the same for a gate",
            |to, flag, _| to.gate.require_recordings = Some(flag);
        neighbors: Spanned<i64>, "`2`", "number of similar skills whose positive cases run too if a description changed",
            |to, number, problems| {
                to.gate.neighbors = problems.number("neighbors", &number, 0..=1000).unwrap_or(to.gate.neighbors);
            };
        promise: Spanned<String>, "`\"gate\"`",
            "for which gates together a false alarm has a chance of 5 % at most: each gate by itself, or all gates of a `\"year\"`",
            |to, promise, problems| {
                let gates = |word: &str| [("gate", 1), ("year", GATES_A_YEAR)].into_iter().find(|known| known.0 == word);
                let known = problems.word("promise", &promise, gates, || ["gate", "year"]);
                to.gate.promised_for = known.map_or(1, |(_, gates)| gates);
            };
        gates_a_year: Spanned<i64>, "`500`", "how many gates a year has, with `promise = \"year\"`",
            |to, gates, problems| {
                if to.gate.promised_for == 1 {
                    problems.add(gates.span(), "`gates_a_year` is only read with `promise = \"year\"`".to_owned());
                }
                to.gate.promised_for = problems.number("gates_a_year", &gates, 1..=100_000).unwrap_or(GATES_A_YEAR);
            };
        nothing_compared: Spanned<String>, "`\"fail\"`",
            "what becomes of a gate that measured no case although the change touches a skill that has some: exit code 5, or `\"pass\"`",
            |to, written, problems| {
                let known = problems.word("nothing_compared", &written, NothingCompared::named, || NothingCompared::WORDS);
                to.gate.nothing_compared = known.unwrap_or_default();
            };
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

impl Settings {
    /// The settings of the file for a gate: its table overrides the rest.
    #[must_use]
    pub fn for_gate(mut self) -> Self {
        self.max_cost_usd = self.gate.max_cost_usd.or(self.max_cost_usd);
        self.require_recordings = self.gate.require_recordings.or(self.require_recordings);
        self
    }
}

fn days(days: u64) -> Duration {
    Duration::from_secs(days * 24 * 3600)
}
