//! The mean of all cases in a comparison that runs.
//!
//! The quick plan tries what failed again, so only its first round is a fixed number of trials: it gives the estimates. The other
//! plans go on until the rounds show something. What they then show is too high or too low on average, so they print no estimate,
//! only the interval, which holds at every look.

use super::SequentialTest;
use crate::decide::first_round::{FirstRound, MeanRates};
use crate::decide::plan::ComparePlan;
use crate::decide::{MeanDifference, MeanFigures};
use crate::stats::proportion::Rate;
use crate::stats::special::len;
use crate::stats::{Interval, mean};

impl SequentialTest {
    /// The first measured pair of each case.
    pub(super) fn first_round(&self) -> FirstRound {
        let mut is_tried = vec![false; self.names.len()];
        let mut outcomes = Vec::new();
        let mut ends_with_first = false;
        for pair in &self.pairs {
            ends_with_first = false;
            if let (Some(a), Some(b), false) = (pair.baseline, pair.candidate, is_tried[pair.case]) {
                is_tried[pair.case] = true;
                outcomes.push((a, b));
                ends_with_first = true;
            }
        }
        let may_end = self.plan != ComparePlan::UntilDecided;
        let is_hopeless = |case: &usize| !is_tried[*case] && self.cases[*case].lost >= super::HOPELESS;
        let hopeless = (0..self.names.len()).filter(is_hopeless).count();
        FirstRound {
            cases: self.names.len() - hopeless,
            outcomes,
            ended_by_harm: may_end && ends_with_first && self.shows(self.harm),
            alpha: if may_end { self.rule.alpha } else { 0.0 },
        }
    }

    /// The means of all cases. Those of shards are weighted by the cases that each was to compare.
    pub(super) fn mean(&self) -> MeanFigures {
        // If the limit allows no second round, there is nothing that the results of the first could prolong.
        let is_one_round = self.plan == ComparePlan::Quick || self.max_pairs < 2 * self.names.len() as u64;
        if !is_one_round {
            let interval = self.rounds.complete().interval(self.rule.level);
            let cases = self.cases.iter().filter(|tally| tally.baseline.rate.trials > 0).count();
            let difference = MeanDifference { difference: None, interval, cases };
            return MeanFigures { difference, baseline: None, candidate: None };
        }
        let parts = if self.of_shards.is_empty() { vec![self.first_round()] } else { self.of_shards.clone() };
        let rates = weighted(&parts);
        let whole = FirstRound {
            cases: parts.iter().map(|part| part.cases).sum(),
            outcomes: parts.into_iter().flat_map(|part| part.outcomes).collect(),
            ..FirstRound::default()
        };
        // Until every case has its pair, the mean may be anything.
        let known = |of: Interval, else_from: f64| {
            if whole.is_complete() { of } else { Interval { low: else_from, high: 1.0 } }
        };
        let level = self.rule.level;
        let difference = MeanDifference {
            difference: rates.map(MeanRates::difference),
            interval: known(whole.pairs().interval(level), -1.0),
            cases: whole.outcomes.len(),
        };
        let side = |share: fn(&MeanRates) -> f64, passed: fn(&(bool, bool)) -> bool| {
            let trials: Vec<Rate> = whole.outcomes.iter().map(|pair| Rate::new(u64::from(passed(pair)), 1)).collect();
            Some((share(&rates?), known(mean::of(&trials, level)?.1, 0.0)))
        };
        MeanFigures {
            difference,
            baseline: side(|rates| rates.baseline, |pair| pair.0),
            candidate: side(|rates| rates.candidate, |pair| pair.1),
        }
    }
}

/// The mean rates of all parts. A part without a pair has none.
fn weighted(parts: &[FirstRound]) -> Option<MeanRates> {
    let tried: Vec<(f64, MeanRates)> = parts.iter().filter_map(|part| Some((len(part.cases), part.rates()?))).collect();
    let all = tried.iter().map(|(weight, _)| weight).sum::<f64>();
    let mean = |of: fn(&MeanRates) -> f64| tried.iter().map(|(weight, rates)| weight * of(rates)).sum::<f64>() / all;
    (all > 0.0).then(|| MeanRates { baseline: mean(|rates| rates.baseline), candidate: mean(|rates| rates.candidate) })
}
