//! What a run may cost at most, by what the same cases cost before.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::stats::special::real;
use crate::text::diagnostic::Diagnostic;
use crate::trial::id::{CaseInMode, TrialId};

/// The most that a trial of a case was known to take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct KnownCost {
    /// US dollars.
    pub cost_usd: Option<f64>,
    /// Tokens read and written.
    pub tokens: Option<u64>,
}

impl KnownCost {
    /// Takes what another trial took into account.
    pub fn at_least(&mut self, cost_usd: Option<f64>, tokens: Option<u64>) {
        if let Some(cost) = cost_usd {
            self.cost_usd = Some(self.cost_usd.map_or(cost, |known| known.max(cost)));
        }
        self.tokens = self.tokens.max(tokens);
    }
}

/// What would run, and what it may cost.
#[derive(Clone, Debug, Serialize)]
pub struct Estimate {
    /// The trials that would run, or may.
    pub trials: Vec<String>,
    /// How many of them run in any case, where cases go on until they are decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least: Option<usize>,
    /// The smallest drop, of cases that pass nine times in ten, that comparing the run with another like it would find with
    /// a probability of 80 %; absent where it would find none, and where the number of trials is open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detectable_drop: Option<f64>,
    /// What keeps cases from running; their trials are none of these.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Diagnostic>,
    /// The most that trials with a known cost may cost together, in US dollars.
    pub known_cost_usd: f64,
    /// How many trials have no known cost.
    pub unknown_cost: usize,
    /// The most that trials with known tokens may take together.
    pub known_tokens: u64,
    /// How many trials have no known tokens.
    pub unknown_tokens: usize,
    /// The limit: when the known cost reaches it no further trial starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<f64>,
}

impl Estimate {
    /// What so many trials of these would take, each as much as the mean of those that are known; absent where none is.
    #[must_use]
    pub fn of_trials(&self, trials: u64) -> KnownCost {
        let known = |unknown: usize| Some(self.trials.len() - unknown).filter(|known| *known > 0);
        KnownCost {
            cost_usd: known(self.unknown_cost).map(|known| self.known_cost_usd / real(known as u64) * real(trials)),
            tokens: known(self.unknown_tokens).map(|known| (self.known_tokens / known as u64).saturating_mul(trials)),
        }
    }
}

/// Adds up what is known of these trials.
#[must_use]
pub fn estimate(ids: &[TrialId], known: &BTreeMap<CaseInMode, KnownCost>, max_cost_usd: Option<f64>) -> Estimate {
    let mut estimate = Estimate {
        trials: ids.iter().map(ToString::to_string).collect(),
        at_least: None,
        detectable_drop: None,
        problems: Vec::new(),
        known_cost_usd: 0.0,
        unknown_cost: 0,
        known_tokens: 0,
        unknown_tokens: 0,
        max_cost_usd,
    };
    for id in ids {
        let key = CaseInMode::of(id);
        let known = known.get(&key).copied().unwrap_or_default();
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
