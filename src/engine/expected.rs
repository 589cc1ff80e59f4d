//! What a comparison is expected to find and to cost, before its first trial.

use crate::decide::plan::USUAL_RATE;
use crate::decide::promise::{ExpectedCases, PlanPromise};
use crate::report::{diagnostics, rate};
use crate::results::estimate::Estimate;
use crate::results::stored_comparison;
use crate::run::context::RunContext;
use crate::run::history;
use crate::run::pairing::Pairing;
use crate::trial::id::TrialId;
use crate::trial::run_record::ComparedSides;

/// What a comparison is expected to find and to cost.
pub struct Expectation {
    pub promise: PlanPromise,
    /// With as many trials as the limit of cost pays, if that is fewer.
    pub within_cost: Option<PlanPromise>,
    /// What the first look at every case takes.
    pub first_pass: Estimate,
    /// The earlier trials that say how often the cases pass, and the number of cases that have none.
    pub earlier: u64,
    pub unknown: usize,
}

impl Expectation {
    pub(super) fn of(run: &RunContext, pairing: &Pairing, sides: &ComparedSides) -> Self {
        let ids: Vec<TrialId> = run.plan.ids().collect();
        let first_pass = history::estimate(run, &ids);
        let rates = history::rates(run, pairing.cases.iter().map(|case| &case.baseline));
        let cases = ExpectedCases::by(rates.iter().copied());
        let rule = stored_comparison::rule(sides);
        let promise = |max_trials| PlanPromise::of(sides.plan, &cases, max_trials, &rule);
        let paid = run.settings.max_cost_usd.and_then(|limit| first_pass.trials_for(limit));
        Self {
            promise: promise(sides.max_trials),
            within_cost: paid.filter(|paid| *paid < sides.max_trials).map(promise),
            first_pass,
            earlier: rates.iter().map(|rate| rate.trials).sum(),
            unknown: rates.iter().filter(|rate| rate.trials == 0).count(),
        }
    }

    /// What the promise rests on, in words.
    pub fn basis(&self) -> String {
        let usual = rate::points(USUAL_RATE);
        let unknown = diagnostics::counted(self.unknown, "case");
        match (self.earlier, self.unknown) {
            (0, _) => format!("this assumes that the cases pass {usual} % now, since no earlier trial of them is here"),
            (earlier, 0) => {
                format!("this rests on {} of these cases", diagnostics::counted(earlier, "earlier trial"))
            }
            (earlier, _) => {
                let earlier = diagnostics::counted(earlier, "earlier trial");
                format!("this rests on {earlier}, and takes {unknown} without any to pass {usual} %")
            }
        }
    }
}
