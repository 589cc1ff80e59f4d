//! What a run may cost: by what the same cases cost before, else an estimate.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::stats::{count_up, real};
use crate::text::diagnostic::Diagnostic;
use crate::trial::id::{CaseInMode, TrialId};

/// The most that a trial of a case cost before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct KnownCost {
    /// US dollars.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0)))]
    pub cost_usd: Option<f64>,
    /// Tokens read and written.
    pub tokens: Option<u64>,
}

impl KnownCost {
    /// Takes the cost of another trial into account.
    pub fn at_least(&mut self, cost_usd: Option<f64>, tokens: Option<u64>) {
        if let Some(cost) = cost_usd {
            self.cost_usd = Some(self.cost_usd.map_or(cost, |known| known.max(cost)));
        }
        self.tokens = self.tokens.max(tokens);
    }
}

/// From the least to the most that something may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct AmountRange<T> {
    #[cfg_attr(feature = "schemars", schemars(range(min = 0)))]
    pub low: T,
    #[cfg_attr(feature = "schemars", schemars(range(min = 0)))]
    pub high: T,
}

/// An estimate of what trials take whose cases never ran, by the requests that their agents send.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ExpectedCost {
    /// The number of trials that are estimated.
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub trials: u64,
    pub tokens: AmountRange<u64>,
    /// US dollars; absent if the price of a model is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<AmountRange<f64>>,
    /// What it rests on, in words.
    pub basis: Vec<String>,
}

/// The trials that would run, and what they may cost.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Estimate {
    pub trials: Vec<String>,
    /// The number of trials that run in any case, if cases run until they are decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<usize>,
    /// The smallest drop that a comparison with a similar run finds with 80 % probability, if the cases pass nine times
    /// in ten. Absent if it finds none, or if the number of trials is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub detectable_drop: Option<f64>,
    /// Why cases cannot run; `trials` does not include them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Diagnostic>,
    /// The most that the trials with a known cost cost together, in US dollars.
    pub known_cost_usd: f64,
    /// The number of trials without a known cost.
    pub unknown_cost: usize,
    /// The most tokens that the trials with known tokens use together.
    pub known_tokens: u64,
    /// The number of trials without known tokens.
    pub unknown_tokens: usize,
    /// What the trials without known tokens may take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<ExpectedCost>,
    /// No further trial starts once the known cost reaches this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
}

impl Estimate {
    /// The cost of this many trials, at the mean of the trials with a known cost.
    pub fn of_trials(&self, trials: u64) -> KnownCost {
        let [with_cost, with_tokens] = [self.unknown_cost, self.unknown_tokens]
            .map(|unknown| Some((self.trials.len() - unknown) as u64).filter(|known| *known > 0));
        KnownCost {
            cost_usd: with_cost.map(|known| self.known_cost_usd / real(known) * real(trials)),
            tokens: with_tokens.map(|known| (self.known_tokens / known).saturating_mul(trials)),
        }
    }

    /// About how many trials this many US dollars pay, by what trials cost before, else by the middle of the estimate; `None` if
    /// neither is known.
    pub fn trials_for(&self, dollars: f64) -> Option<u64> {
        let estimated = || {
            let (expected, cost) = self.expected.as_ref().and_then(|of| Some((of, of.cost_usd?)))?;
            Some(f64::midpoint(cost.low, cost.high) / real(expected.trials.max(1)))
        };
        let cost = self.of_trials(1).cost_usd.or_else(estimated).filter(|cost| *cost > 0.0)?;
        Some(count_up(dollars / cost - 0.999_999))
    }
}

/// Adds up the known costs of these trials.
pub fn estimate(ids: &[TrialId], known: &BTreeMap<CaseInMode, KnownCost>, max_cost_usd: Option<f64>) -> Estimate {
    let trials = ids.iter().map(ToString::to_string).collect();
    let mut estimate = Estimate { trials, max_cost_usd, ..Estimate::default() };
    for id in ids {
        let known = known.get(&CaseInMode::of(id)).copied().unwrap_or_default();
        match known.cost_usd {
            Some(cost) => estimate.known_cost_usd += cost,
            None => estimate.unknown_cost += 1,
        }
        match known.tokens {
            Some(tokens) => estimate.known_tokens = estimate.known_tokens.saturating_add(tokens),
            None => estimate.unknown_tokens += 1,
        }
    }
    estimate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_pays_as_many_trials_as_they_took_before_or_are_estimated_to_take() {
        let trials = vec![String::new(); 4];
        let known = Estimate { trials: trials.clone(), known_cost_usd: 2.0, ..Estimate::default() };
        assert_eq!(
            (known.trials_for(5.0), known.trials_for(5.4), known.trials_for(0.4)),
            (Some(10), Some(10), Some(0))
        );
        let cost_usd = Some(AmountRange { low: 0.4, high: 1.2 });
        let expected = Some(ExpectedCost { trials: 4, cost_usd, ..ExpectedCost::default() });
        let unknown = Estimate { trials, unknown_cost: 4, expected, ..Estimate::default() };
        assert_eq!(unknown.trials_for(5.0), Some(25));
        assert_eq!(Estimate { expected: None, ..unknown }.trials_for(5.0), None);
    }
}
