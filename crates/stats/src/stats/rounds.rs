//! Evidence about the mean difference of all cases, however different they are. You may look at it after every round.
//!
//! A round is one pair of trials of every case. The difference `D` of a pair is 1 (only the candidate passed), 0 or −1. A
//! bet of the share λ against "the mean difference is `m` or less" pays `1 + λ(D − m)`. If that is true, the product of a
//! round pays 1 on average at most, for every λ: the geometric mean of `1 + λ(Δ_i − m)` is at most the arithmetic mean. So
//! the evidence is valid for the mean at complete rounds, whichever case is tried next. An average over several λ is a bet
//! too.
//!
//! Waudby-Smith and Ramdas, JRSS B 86 (2024) 1, for bets on bounded means.

use std::collections::VecDeque;

use super::Interval;
use super::special::real;

/// The pairs of complete rounds, by their outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoundPairs {
    /// Pairs that only the baseline passed.
    pub losses: u64,
    /// Pairs that only the candidate passed.
    pub wins: u64,
    /// Pairs with the same outcome on both sides.
    pub ties: u64,
}

/// The number of bets that are averaged.
const BETS: u32 = 32;

impl RoundPairs {
    /// The evidence against "the mean difference is `m` or less", for `m` between −1 and 1: enough at `1/alpha`.
    ///
    /// The bets are the shares `u/(1 + m)` for `u` from 0 to 1, weighted by `1 + u`. At `m = 0` this is the bet of
    /// [`e_worse`](super::discordance::e_worse).
    pub fn above(self, m: f64) -> f64 {
        let (losses, wins, ties) = (real(self.losses), real(self.wins), real(self.ties));
        let power = |count: f64, pays: f64| if count == 0.0 { 0.0 } else { count * pays.ln() };
        let bet = |at: u32| {
            let u = (f64::from(at) + 0.5) / f64::from(BETS);
            let won = power(wins, 1.0 + u * (1.0 - m) / (1.0 + m));
            let drawn = power(ties, 1.0 - u * m / (1.0 + m));
            (1.0 + u) * (won + drawn + power(losses, 1.0 - u)).exp().min(f64::MAX / 1e3)
        };
        (0..BETS).map(bet).sum::<f64>() / (1.5 * f64::from(BETS))
    }

    /// The evidence against "the mean difference is `m` or more".
    pub fn below(self, m: f64) -> f64 {
        Self { losses: self.wins, wins: self.losses, ties: self.ties }.above(-m)
    }

    /// The mean differences that no bet has ruled out. The truth is in it after every round with probability `level`.
    pub fn interval(self, level: f64) -> Interval {
        let enough = 2.0 / (1.0 - level);
        Interval { low: -edge(|m| self.above(-m) >= enough), high: edge(|m| self.below(m) >= enough) }
    }
}

/// The smallest number from −1 to 1 that is ruled out, if all larger numbers are too.
fn edge(ruled_out: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (-1.0, 1.0);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        *(if ruled_out(middle) { &mut high } else { &mut low }) = middle;
    }
    high
}

/// Sorts pairs into rounds. Pairs may come in any order.
#[derive(Clone, Debug)]
pub struct Rounds {
    /// The differences of each case that wait for their round; none for a case that is left out.
    waiting: Vec<Option<VecDeque<i8>>>,
    complete: RoundPairs,
}

impl Rounds {
    /// The state before the first pair, for `cases` cases.
    pub fn new(cases: usize) -> Self {
        Self { waiting: vec![Some(VecDeque::new()); cases], complete: RoundPairs::default() }
    }

    /// Takes in a pair of the case `case`: 1 if only the candidate passed, −1 if only the baseline did, else 0. Returns
    /// whether a round is complete now.
    pub fn feed(&mut self, case: usize, difference: i8) -> bool {
        if let Some(Some(queue)) = self.waiting.get_mut(case) {
            queue.push_back(difference);
        }
        self.settle()
    }

    /// Leaves a case out of the rounds from now on. The evidence is then about the other cases, and is valid if the choice
    /// did not look at differences.
    pub fn leave_out(&mut self, case: usize) -> bool {
        if let Some(queue) = self.waiting.get_mut(case) {
            *queue = None;
        }
        self.settle()
    }

    fn settle(&mut self) -> bool {
        let mut settled = false;
        while self.waiting.iter().flatten().map(VecDeque::len).min().is_some_and(|fewest| fewest > 0) {
            settled = true;
            for difference in self.waiting.iter_mut().flatten().filter_map(VecDeque::pop_front) {
                match difference {
                    ..0 => self.complete.losses += 1,
                    0 => self.complete.ties += 1,
                    1.. => self.complete.wins += 1,
                }
            }
        }
        settled
    }

    /// The pairs of all complete rounds.
    pub fn complete(&self) -> RoundPairs {
        self.complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::discordance::e_worse;
    use crate::stats::reference::close;

    #[test]
    fn a_round_pays_at_most_one_where_the_null_just_holds_however_unlike_the_cases() {
        // Chances of −1, 0 and 1 whose mean difference is −0.1.
        for truth in [[[0.1, 0.9, 0.0]; 2], [[0.2, 0.8, 0.0], [0.0, 1.0, 0.0]], [[0.5, 0.5, 0.0], [0.1, 0.5, 0.4]]] {
            let mut outcomes = vec![(RoundPairs::default(), 1.0)];
            for chances in truth.iter().cycle().take(6) {
                let one = |(pairs, weight): &(RoundPairs, f64)| {
                    let (pairs, weight) = (*pairs, *weight);
                    [
                        (RoundPairs { losses: pairs.losses + 1, ..pairs }, weight * chances[0]),
                        (RoundPairs { ties: pairs.ties + 1, ..pairs }, weight * chances[1]),
                        (RoundPairs { wins: pairs.wins + 1, ..pairs }, weight * chances[2]),
                    ]
                };
                outcomes = outcomes.iter().flat_map(one).collect();
            }
            let mean =
                |of: fn(RoundPairs) -> f64| outcomes.iter().map(|(pairs, weight)| weight * of(*pairs)).sum::<f64>();
            assert!(mean(|pairs| pairs.above(-0.1)) <= 1.0 + 1e-9, "{truth:?}");
            assert!(mean(|pairs| pairs.below(-0.1)) <= 1.0 + 1e-9, "{truth:?}");
        }
    }

    #[test]
    fn against_no_change_it_is_the_evidence_of_discordant_pairs() {
        for (losses, wins) in [(6, 0), (12, 3), (40, 20)] {
            let found = RoundPairs { losses, wins, ties: 50 }.below(0.0);
            assert!((found / e_worse(losses, wins) - 1.0).abs() < 0.01, "{losses} {wins}: {found}");
        }
    }

    #[test]
    fn only_complete_rounds_count() {
        let mut rounds = Rounds::new(3);
        assert!(!(0..50).any(|_| rounds.feed(0, 0) || rounds.feed(1, -1)));
        close(rounds.complete().above(-0.1), 1.0, &"no round is complete");
        assert!(rounds.feed(2, 1));
        assert_eq!(rounds.complete(), RoundPairs { losses: 1, wins: 1, ties: 1 });
        assert!(rounds.leave_out(2), "the other cases no longer wait");
        assert_eq!(rounds.complete(), RoundPairs { losses: 50, wins: 1, ties: 50 });
    }

    #[test]
    fn the_interval_is_wide_without_rounds_and_narrow_with_many() {
        let none = RoundPairs::default().interval(0.95);
        close(none.low, -1.0, &"low");
        close(none.high, 1.0, &"high");
        let many = RoundPairs { losses: 200, wins: 200, ties: 1600 }.interval(0.95);
        assert!(many.low < 0.0 && many.low > -0.04 && (many.low + many.high).abs() < 1e-9, "{many:?}");
        let only = RoundPairs { wins: 5000, ..RoundPairs::default() };
        assert!(only.above(0.5).is_finite() && only.interval(0.95).low > 0.99);
    }

    #[test]
    fn evidence_is_the_weighted_mean_of_32_bets_on_every_pair() {
        let pairs = RoundPairs { losses: 2, wins: 3, ties: 4 };
        for m in [-0.5, -0.1, 0.0, 0.3] {
            let (mut paid, mut weights) = (0.0, 0.0);
            for u in (0..32).map(|at| (f64::from(at) + 0.5) / 32.0) {
                let pays = |difference: f64, times| (1.0 + u / (1.0 + m) * (difference - m)).powi(times);
                paid += (1.0 + u) * pays(-1.0, 2) * pays(1.0, 3) * pays(0.0, 4);
                weights += 1.0 + u;
            }
            close(pairs.above(m), paid / weights, &m);
        }
        assert!(RoundPairs { wins: 100, ..RoundPairs::default() }.above(0.0) > 1e20);
    }

    #[test]
    fn at_the_ends_of_an_interval_the_evidence_is_just_enough_for_half_of_the_error() {
        let pairs = RoundPairs { losses: 20, wins: 35, ties: 45 };
        for (level, enough) in [(0.95, 40.0), (0.8, 10.0)] {
            let Interval { low, high } = pairs.interval(level);
            assert!((pairs.above(low) / enough - 1.0).abs() < 1e-6, "{low}");
            assert!((pairs.below(high) / enough - 1.0).abs() < 1e-6, "{high}");
        }
    }
}
