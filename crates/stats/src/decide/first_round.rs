//! The mean of all cases by the first pair of each. Their number is fixed before they run, so what they show is true on average,
//! however a comparison goes on. The mean over all pairs is not: a case that failed is tried until it passes.

use crate::stats::discordance::{e_together, e_worse};
use crate::stats::rounds::RoundPairs;
use crate::stats::special::{len, real};

/// The first measured pair of each case, in the order in which they ran.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FirstRound {
    /// The cases that count.
    pub cases: usize,
    /// Whether the trials of the baseline and of the candidate passed.
    pub outcomes: Vec<(bool, bool)>,
    /// Whether the comparison ended with the last of them, since it showed that some case broke.
    pub ended_by_harm: bool,
    /// The chance of a false `broke`.
    pub alpha: f64,
}

/// What the mean of all cases is estimated to be.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct MeanRates {
    pub baseline: f64,
    pub candidate: f64,
}

impl MeanRates {
    pub fn difference(self) -> f64 {
        self.candidate - self.baseline
    }
}

impl FirstRound {
    pub fn is_complete(&self) -> bool {
        self.outcomes.len() >= self.cases
    }

    /// Its pairs by outcome.
    pub fn pairs(&self) -> RoundPairs {
        let count = |wanted: (bool, bool)| self.outcomes.iter().filter(|outcome| **outcome == wanted).count() as u64;
        let (losses, wins) = (count((true, false)), count((false, true)));
        RoundPairs { losses, wins, ties: self.outcomes.len() as u64 - losses - wins }
    }

    /// The rates of both sides: what the very first pair yields on average, over all orders of these outcomes in which the
    /// comparison would not have ended before. If none ends it, these are the shares that passed. A comparison that ends with a
    /// loss has seen more losses than are true; this is what corrects it (Girshick, Mosteller, Savage, AMS 17 (1946) 13). `None`
    /// without a pair.
    pub fn rates(&self) -> Option<MeanRates> {
        let RoundPairs { losses, wins, ties } = self.pairs();
        let both = self.outcomes.iter().filter(|outcome| **outcome == (true, true)).count();
        // The loss that ended it was the last in every order.
        let last = u64::from(self.ended_by_harm && losses > 0 && self.outcomes.len() > 1);
        let pairs = self.outcomes.len().checked_sub(usize::from(last > 0)).filter(|pairs| *pairs > 0)?;
        let discordant = losses + wins - last;
        let share = |count: u64| real(count) / len(pairs);
        let of_losses = self.begins_with_a_loss(losses - last, wins);
        let (loss, win) = (share(discordant) * of_losses, share(discordant) * (1.0 - of_losses));
        let both = if ties == 0 { 0.0 } else { share(ties) * len(both) / real(ties) };
        Some(MeanRates { baseline: both + loss, candidate: both + win })
    }

    /// Of the orders of these losses and wins that end no comparison, the share that begins with a loss.
    fn begins_with_a_loss(&self, losses: u64, wins: u64) -> f64 {
        let (losses, wins) = (index(losses), index(wins));
        let ending = self.ending_losses(losses, wins);
        // By the number of losses: the orders of so many pairs, and those of them that begin with a loss. Only their ratio counts,
        // so each step is scaled to 1 at most.
        let mut orders = vec![(0.0, 0.0); losses + 1];
        orders[0] = (1.0, 0.0);
        for pairs in 1..=losses + wins {
            let before = std::mem::replace(&mut orders, vec![(0.0, 0.0); losses + 1]);
            for lost in pairs.saturating_sub(wins)..=losses.min(pairs) {
                let with_win = if pairs > lost { before[lost] } else { (0.0, 0.0) };
                let with_loss = if lost > 0 { before[lost - 1] } else { (0.0, 0.0) };
                let begun = if pairs == 1 { with_loss.0 } else { with_win.1 + with_loss.1 };
                if lost < ending[pairs - lost] {
                    orders[lost] = (with_win.0 + with_loss.0, begun);
                }
            }
            let most = orders.iter().map(|(all, _)| *all).fold(f64::MIN_POSITIVE, f64::max);
            for (all, begun) in &mut orders {
                (*all, *begun) = (*all / most, *begun / most);
            }
        }
        let (all, begun) = orders[losses];
        // No order is possible only if the trials ran in another way; then all orders count.
        if all > 0.0 { begun / all } else { len(losses) / len((losses + wins).max(1)) }
    }

    /// By the number of wins, the losses that end the comparison; one more than `losses` if those do not.
    fn ending_losses(&self, losses: usize, wins: usize) -> Vec<usize> {
        let mut ending = 0;
        let of_wins = |won: usize| {
            while ending <= losses && !self.ends(ending, won) {
                ending += 1;
            }
            ending
        };
        (0..=wins).map(of_wins).collect()
    }

    /// Whether so many losses and wins, of a case each, show that some case broke.
    fn ends(&self, losses: usize, wins: usize) -> bool {
        let (lost, won) = (losses as u64, wins as u64);
        let own =
            len(losses) * e_worse(1, 0) + len(wins) * e_worse(0, 1) + len(self.cases.saturating_sub(losses + wins));
        e_together(lost, won, own / len(self.cases.max(1))) >= 1.0 / self.alpha
    }
}

fn index(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::reference::close;

    const OUTCOMES: [(bool, bool); 4] = [(true, true), (true, false), (false, true), (false, false)];

    /// Every end that the first look at `cases` cases can take, with its probability if these are the chances of the four outcomes.
    fn ends(cases: usize, alpha: f64, chances: [f64; 4]) -> Vec<(FirstRound, f64)> {
        let (mut open, mut ended) = (vec![(FirstRound { cases, alpha, ..FirstRound::default() }, 1.0)], Vec::new());
        while let Some((round, chance)) = open.pop() {
            for (outcome, of_outcome) in OUTCOMES.into_iter().zip(chances) {
                let mut next = round.clone();
                next.outcomes.push(outcome);
                let RoundPairs { losses, wins, .. } = next.pairs();
                next.ended_by_harm = outcome == (true, false) && next.ends(index(losses), index(wins));
                let list = if next.ended_by_harm || next.is_complete() { &mut ended } else { &mut open };
                list.push((next, chance * of_outcome));
            }
        }
        ended
    }

    #[test]
    fn over_all_courses_of_a_first_look_the_mean_rates_are_the_true_ones_whether_it_ends_early_or_not() {
        for (before, after) in [(0.9, 0.9), (0.9, 0.3), (1.0, 0.0), (0.5, 0.4), (0.6, 0.9)] {
            let chances =
                [before * after, before * (1.0 - after), (1.0 - before) * after, (1.0 - before) * (1.0 - after)];
            // At 0.4, two losses are enough: nearly every course of a drop ends early.
            for (cases, alpha) in [(1, 0.05), (5, 0.4), (8, 0.4), (8, 0.05)] {
                let all = ends(cases, alpha, chances);
                let mean = |of: fn(MeanRates) -> f64| -> f64 {
                    all.iter().map(|(round, chance)| chance * of(round.rates().expect("pairs"))).sum()
                };
                close(mean(|rates| rates.baseline), before, &format!("{before} {after} {cases} {alpha}"));
                close(mean(|rates| rates.candidate), after, &format!("{before} {after} {cases} {alpha}"));
            }
        }
    }

    #[test]
    fn the_mean_of_a_first_look_is_inside_the_interval_of_its_pairs() {
        for cases in [1, 2, 3, 6, 12, 30] {
            for losses in 0..=cases {
                for wins in 0..=cases - losses {
                    let outcome = |at: usize| match at {
                        at if at < losses => (true, false),
                        at if at < losses + wins => (false, true),
                        _ => (true, true),
                    };
                    let outcomes = (0..cases).map(outcome).collect();
                    let round = FirstRound { cases, outcomes, ended_by_harm: false, alpha: 0.05 };
                    let found = round.rates().expect("pairs").difference();
                    let interval = round.pairs().interval(0.95);
                    assert!(
                        interval.low - 1e-9 <= found && found <= interval.high + 1e-9,
                        "{losses} {wins} of {cases}: {found} {interval:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn many_losses_and_wins_overflow_nothing() {
        let outcomes = (0..3_000).map(|at| (at % 2 == 0, at % 2 == 1)).collect();
        let round = FirstRound { cases: 3_000, outcomes, ended_by_harm: false, alpha: 0.05 };
        let found = round.rates().expect("pairs");
        assert!(found.baseline > 0.3 && found.difference().abs() < 0.05, "{found:?}");
    }
}
