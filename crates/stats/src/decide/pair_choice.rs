//! Which case the next pair of trials goes to, and what the first pair of each shows.

use crate::stats::sequence::{RoundPairs, e_together, e_worse};
use crate::stats::{len, real};

/// What is known of a case before the next pair starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaseTally {
    /// Pairs that only the baseline passed.
    pub losses: u64,
    /// Pairs that only the candidate passed.
    pub wins: u64,
    /// Pairs of any outcome, also those that were not measured or are running.
    pub tried: u64,
}

/// What the next pair is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairPurpose {
    /// To find the cases that broke.
    Harm,
    /// To complete the next round, since only rounds tell about the mean of all cases.
    Mean,
}

/// The case to try next, one of `open`; none if that is empty. It depends on past pairs only, so that evidence stays valid.
///
/// Each case is tried once, in their order. Then, to find harm, the case is chosen whose next pair adds most to the
/// evidence: the growth of its logarithm by a loss and by a win, each times how often the case yields it. How often is drawn
/// from what it may be (Thompson, Biometrika 25 (1933) 285): losses, wins and ties of a case from
/// `Dirichlet(1/16 + losses, 1/16 + wins, ½ + ties)`.
///
/// The rate of discordance alone would lead to cases that pass now and then on both sides, whose pairs are not
/// evidence.
pub fn next(seen: &[CaseTally], open: &[usize], purpose: PairPurpose, rng: &mut fastrand::Rng) -> Option<usize> {
    let least = open.iter().copied().min_by_key(|case| seen[*case].tried)?;
    if purpose == PairPurpose::Mean || seen[least].tried == 0 {
        return Some(least);
    }
    let all = |of: fn(&CaseTally) -> u64| seen.iter().map(of).sum::<u64>();
    let (losses, wins) = (all(|case| case.losses), all(|case| case.wins));
    let now = e_worse(losses, wins).ln();
    let (of_loss, of_win) = (e_worse(losses + 1, wins).ln() - now, e_worse(losses, wins + 1).ln() - now);
    let mut best = None;
    for &case in open {
        let tally = &seen[case];
        let loss = gamma(RARE + real(tally.losses), rng);
        let win = gamma(RARE + real(tally.wins), rng);
        let tie = gamma(0.5 + real(tally.tried - tally.losses - tally.wins), rng);
        let adds = (loss * of_loss + win * of_win) / (loss + win + tie);
        if best.is_none_or(|(_, most)| adds > most) {
            best = Some((case, adds));
        }
    }
    best.map(|(case, _)| case)
}

/// Before its first pair, a case is assumed to have hardly changed; one discordant pair outweighs that.
const RARE: f64 = 1.0 / 16.0;

/// A draw from Gamma(shape): that of `shape + 1` (Marsaglia and Tsang, ACM TOMS 26 (2000) 363), taken down by
/// `U^(1/shape)`.
fn gamma(shape: f64, rng: &mut fastrand::Rng) -> f64 {
    let d = shape + 1.0 - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let normal = normal(rng);
        let v = (1.0 + c * normal).powi(3);
        if is_kept(d, v, normal, rng) {
            return (d * v * open(rng).powf(1.0 / shape)).max(f64::MIN_POSITIVE);
        }
    }
}

/// Whether the draw `v` is not rejected; few are.
fn is_kept(d: f64, v: f64, normal: f64, rng: &mut fastrand::Rng) -> bool {
    v > 0.0 && open(rng).ln() < 0.5 * normal * normal + d - d * v + d * v.ln()
}

/// A standard normal draw: Box and Muller.
fn normal(rng: &mut fastrand::Rng) -> f64 {
    (-2.0 * open(rng).ln()).sqrt() * (std::f64::consts::TAU * rng.f64()).cos()
}

/// A draw above 0 and up to 1.
fn open(rng: &mut fastrand::Rng) -> f64 {
    1.0 - rng.f64()
}

// The mean of all cases by the first pair of each. Their number is fixed before they run, so what they show is true on average,
// however a comparison goes on. The mean over all pairs is not: a case that failed is tried until it passes.

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

    #[test]
    fn draws_have_the_mean_the_spread_and_the_quantiles_of_their_distribution() {
        let mut rng = fastrand::Rng::with_seed(1);
        for shape in [0.0625, 0.5, 3.0, 40.5] {
            let mut draws: Vec<f64> = (0..40_000).map(|_| gamma(shape, &mut rng)).collect();
            draws.sort_by(f64::total_cmp);
            for (place, draw) in (0..).zip(&draws).step_by(400) {
                let share = statrs::function::gamma::gamma_lr(shape, *draw);
                assert!((share - f64::from(place) / 40_000.0).abs() < 0.01, "{shape}: {share} at {place}");
            }
            let mean = draws.iter().sum::<f64>() / 40_000.0;
            let variance = draws.iter().map(|draw| (draw - mean).powi(2)).sum::<f64>() / 40_000.0;
            assert!((mean - shape).abs() < 4.0 * (shape / 40_000.0).sqrt(), "{shape}: {mean}");
            assert!((variance / shape - 1.0).abs() < 0.15, "{shape}: {variance}");
        }
    }

    /// The case that `next` chooses of all.
    fn choice(seen: &[CaseTally], purpose: PairPurpose, rng: &mut fastrand::Rng) -> usize {
        let all: Vec<usize> = (0..seen.len()).collect();
        next(seen, &all, purpose, rng).expect("a case")
    }

    #[test]
    fn every_case_is_tried_once_before_any_is_tried_again() {
        let mut rng = fastrand::Rng::with_seed(2);
        let mut seen = vec![CaseTally::default(); 7];
        for expected in 0..7 {
            let at = choice(&seen, PairPurpose::Harm, &mut rng);
            assert_eq!(at, expected);
            seen[at].tried += 1;
            seen[0].losses = seen[0].tried;
        }
        assert_eq!(next(&seen, &[], PairPurpose::Harm, &mut rng), None);
        assert_eq!(next(&seen, &[3], PairPurpose::Harm, &mut rng), Some(3));
    }

    /// How many of 200 choices are `case`.
    fn chosen(seen: &[CaseTally], purpose: PairPurpose, case: usize) -> usize {
        let mut rng = fastrand::Rng::with_seed(3);
        (0..200).filter(|_| choice(seen, purpose, &mut rng) == case).count()
    }

    #[test]
    fn trials_go_to_what_broke_and_not_to_what_passes_now_and_then_on_both_sides() {
        let mut seen = vec![CaseTally { tried: 12, ..CaseTally::default() }; 20];
        seen[13].losses = 6;
        assert!(chosen(&seen, PairPurpose::Harm, 13) > 150);
        for flaky in &mut seen[..8] {
            (flaky.losses, flaky.wins) = (3, 3);
        }
        assert!(chosen(&seen, PairPurpose::Harm, 13) > 120, "{}", chosen(&seen, PairPurpose::Harm, 13));
        // Nor to what got better, however much did.
        for better in &mut seen[14..] {
            better.wins = 12;
        }
        assert!(chosen(&seen, PairPurpose::Harm, 13) > 120, "{}", chosen(&seen, PairPurpose::Harm, 13));
    }

    #[test]
    fn for_the_mean_all_cases_take_turns() {
        let mut seen = vec![CaseTally { tried: 4, ..CaseTally::default() }; 6];
        seen[2] = CaseTally { losses: 2, wins: 0, tried: 3 };
        assert_eq!(chosen(&seen, PairPurpose::Mean, 2), 200);
        seen[2].tried = 5;
        assert_eq!(chosen(&seen, PairPurpose::Mean, 0), 200);
    }

    /// The case that is chosen of the first two of `cases`, given by losses, wins and ties; always the same.
    fn always_chosen(cases: [(u64, u64, u64); 3]) -> Option<usize> {
        let seen = cases.map(|(losses, wins, ties)| CaseTally { losses, wins, tried: losses + wins + ties });
        let mut rng = fastrand::Rng::with_seed(4);
        let mut chosen: Vec<_> = (0..20).map(|_| next(&seen, &[0, 1], PairPurpose::Harm, &mut rng)).collect();
        chosen.dedup();
        assert_eq!(chosen.len(), 1, "{chosen:?}");
        chosen[0]
    }

    #[test]
    fn of_two_well_known_cases_the_one_is_chosen_whose_next_pair_adds_more() {
        // With 45,800 losses and 39,000 wins, the logarithm grows by 0.077 with a loss and falls by 0.084 with a win.
        // 0.4 · 0.077 − 0.3 · 0.084 is more than 0.058 · 0.077.
        assert_eq!(always_chosen([(5_800, 0, 94_200), (40_000, 30_000, 30_000), (0, 9_000, 0)]), Some(1));
        // And 0.3 · 0.074 − 0.3 · 0.080 is less than nothing.
        assert_eq!(always_chosen([(30_000, 30_000, 40_000), (5_000, 0, 95_000), (0, 0, 1)]), Some(1));
    }

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
