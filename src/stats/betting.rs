//! Evidence that B is no worse than A by more than a margin, over cases that may be as different as they like.
//!
//! A pair's difference `D` is 1 (B alone passed), 0 or −1. A bet of the share λ pays `1 + λ(D + M)`. Where the mean of all
//! cases' differences is −M or less, the product of one pair of each case pays 1 on average at most, for every λ: the
//! geometric mean of `1 + λ(Δ_i + M)` is at most the arithmetic one. So pairs count in rounds, the k-th of every case
//! together, and evidence grows whenever a round is complete, in whatever order its pairs came. The mean over several λ
//! is a bet too.
//!
//! Waudby-Smith and Ramdas, JRSS B 86 (2024) 1, for bets on bounded means; in rounds, so that each case weighs the same.

use std::collections::VecDeque;

use super::special::{len, real};

/// Evidence under way.
#[derive(Clone, Debug)]
pub struct NoWorse {
    margin: f64,
    /// The differences of each case that wait for their round; none for a case that is left out.
    waiting: Vec<Option<VecDeque<i8>>>,
    /// What each bet of `BETS` came to.
    wealth: Vec<f64>,
}

/// Bets, as shares of the highest that can be paid.
const BETS: [f64; 10] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.75, 0.9, 1.0];

impl NoWorse {
    /// Before the first pair of `cases` cases; `margin` is 0 or more, and below 1.
    #[must_use]
    pub fn new(cases: usize, margin: f64) -> Self {
        Self { margin, waiting: vec![Some(VecDeque::new()); cases], wealth: vec![1.0; BETS.len()] }
    }

    /// Takes in a pair of the case `case`: 1 where B alone passed, −1 where A alone did, else 0.
    pub fn feed(&mut self, case: usize, difference: i8) {
        let Some(Some(queue)) = self.waiting.get_mut(case) else { return };
        queue.push_back(difference);
        self.settle();
    }

    /// Leaves a case out of the rounds from now on. The evidence is then of the other cases alone, and is valid if the
    /// choice did not look at differences.
    pub fn leave_out(&mut self, case: usize) {
        if let Some(queue) = self.waiting.get_mut(case) {
            *queue = None;
        }
        self.settle();
    }

    /// Pays out every round that is complete.
    fn settle(&mut self) {
        let least = |waiting: &[Option<VecDeque<i8>>]| waiting.iter().flatten().map(VecDeque::len).min();
        while least(&self.waiting).is_some_and(|pairs| pairs > 0) {
            for difference in self.waiting.iter_mut().flatten().filter_map(VecDeque::pop_front) {
                let apart = f64::from(difference) + self.margin;
                for (wealth, bet) in self.wealth.iter_mut().zip(BETS) {
                    *wealth = (*wealth * (1.0 + bet / (1.0 - self.margin) * apart)).min(f64::MAX);
                }
            }
        }
    }

    /// The evidence of all complete rounds: enough at `1/alpha`.
    #[must_use]
    pub fn evidence(&self) -> f64 {
        (self.wealth.iter().map(|wealth| wealth / len(self.wealth.len())).sum::<f64>()).min(f64::MAX)
    }
}

/// The evidence of `pairs` pairs, in complete rounds, that all have this difference: 0 where both arms were always alike, 1
/// where B alone always passed.
#[must_use]
pub fn all_alike(pairs: u64, difference: i8, margin: f64) -> f64 {
    let apart = f64::from(difference) + margin;
    let pays = |bet: &f64| (real(pairs) * (bet / (1.0 - margin) * apart).ln_1p()).exp();
    (BETS.iter().map(pays).sum::<f64>() / len(BETS.len())).min(f64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::reference::close;

    /// The mean evidence after `rounds` rounds of two cases, over every outcome.
    fn mean_evidence(rounds: usize, margin: f64, truth: [[f64; 3]; 2]) -> f64 {
        let mut open = vec![(NoWorse::new(2, margin), 1.0)];
        for _ in 0..rounds {
            for (case, chances) in truth.iter().enumerate() {
                let outcomes = open.iter().flat_map(|(state, weight)| {
                    (-1..=1_i8).zip(chances).map(move |(difference, chance)| {
                        let mut state = state.clone();
                        state.feed(case, difference);
                        (state, weight * chance)
                    })
                });
                open = outcomes.collect();
            }
        }
        open.iter().map(|(state, weight)| weight * state.evidence()).sum()
    }

    #[test]
    fn evidence_pays_at_most_one_where_the_margin_is_just_missed_however_unlike_the_cases() {
        // Chances of −1, 0 and 1 whose mean difference is −0.1.
        for truth in [[[0.1, 0.9, 0.0]; 2], [[0.2, 0.8, 0.0], [0.0, 1.0, 0.0]], [[0.5, 0.5, 0.0], [0.1, 0.5, 0.4]]] {
            let mean = mean_evidence(3, 0.1, truth);
            assert!(mean <= 1.0 + 1e-9, "{truth:?}: {mean}");
        }
        assert!(mean_evidence(3, 0.1, [[0.0, 1.0, 0.0]; 2]) > 1.2);
    }

    #[test]
    fn only_complete_rounds_count() {
        let mut state = NoWorse::new(2, 0.1);
        for _ in 0..50 {
            state.feed(0, 0);
        }
        close(state.evidence(), 1.0, &"no round is complete");
        for _ in 0..50 {
            state.feed(1, 0);
        }
        assert!(state.evidence() > 20.0, "{}", state.evidence());
    }

    #[test]
    fn long_runs_of_good_news_do_not_overflow() {
        let mut state = NoWorse::new(1, 0.5);
        for _ in 0..5000 {
            state.feed(0, 1);
        }
        assert!(state.evidence().is_finite());
    }
}
