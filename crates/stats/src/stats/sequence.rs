//! Evidence that may be looked at after every trial: of one rate, of pairs of one case, and of the mean of all cases.

use std::collections::VecDeque;

use super::proportion::Rate;
use super::{Interval, beta_share, len, ln_beta, real};

/// The rates `p` that a bet with Jeffreys' prior has not ruled out: `{p: M_n(p) < 1/α}` with `M_n(p) = B(½+x, ½+n−x) /
/// (B(½, ½) p^x (1−p)^(n−x))`. With probability `level`, the truth is in it after every trial. Wilson's interval,
/// looked at 50 times, misses it in a third of the runs.
///
/// Robbins, AMS 41 (1970) 1397; Howard et al., Annals of Statistics 49 (2021) 1055.
pub fn beta_binomial(rate: Rate, level: f64) -> Interval {
    with_prior(rate, level, 0.5, 0.5)
}

fn with_prior(rate: Rate, level: f64, a: f64, b: f64) -> Interval {
    let Some(share) = rate.share() else { return Interval { low: 0.0, high: 1.0 } };
    let (passed, failed) = (real(rate.passed), real(rate.failed()));
    let bet = ln_beta(a + passed, b + failed) - ln_beta(a, b);
    let power = |count: f64, p: f64| if count == 0.0 { 0.0 } else { count * p.ln() };
    let inside = |p: f64| bet - power(passed, p) - power(failed, 1.0 - p) < -(1.0 - level).ln();
    // The bet pays least at the measured share and more on either side, so bisection finds both ends.
    let end = |mut outside: f64| {
        if inside(outside) {
            return outside;
        }
        let mut within = share;
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(within, outside);
            *(if inside(middle) { &mut within } else { &mut outside }) = middle;
        }
        outside
    };
    Interval { low: end(0.0), high: end(1.0) }
}

/// Enough steps for every digit of a number between 0 and 1.
const HALVINGS: u32 = 60;

// Evidence from pairs of trials of one case, one on each side. You may look at it after every pair.
//
// Only discordant pairs tell the sides apart: a loss (only the baseline passed) or a win (only the candidate passed).
// If no case got worse, a discordant pair is a loss with probability ½ at most. This holds for any cases in any order,
// as long as the choice of the next case depends on past pairs only. An e-value is a bet against it with an expected
// payout of at most 1. It ever reaches `1/α` with probability `α` at most (Ville's inequality), so you can stop then.
// Unlike a p-value, it needs no plan.
//
// Ramdas, Grünwald, Vovk and Shafer, Statistical Science 38 (2023) 576; the mixtures are of Robbins, AMS 41 (1970) 1397.

/// Against "both sides are equal": `2^(b+c) · B(½+b, ½+c) / B(½, ½)`, a bet on every probability of a loss with
/// Jeffreys' prior.
pub fn e_two_sided(losses: u64, wins: u64) -> f64 {
    let (b, c) = (real(losses), real(wins));
    let ln = (b + c) * std::f64::consts::LN_2 + ln_beta(b + 0.5, c + 0.5) - std::f64::consts::PI.ln();
    ln.exp().min(f64::MAX)
}

/// Against "in no case worse": a bet on every probability θ of a loss above ½, with a density that rises with θ,
/// `2^(b+c) · ∫ θ^b (1−θ)^c 8θ/3 dθ` from ½ to 1, which is `2^(b+c) · 8/3 · B(b+2, c+1) · I_½(c+1, b+2)`. Of the
/// densities that were tried, this one decides soonest, for small and large changes. Jeffreys' takes 5 % more pairs.
pub fn e_worse(losses: u64, wins: u64) -> f64 {
    let (b, c) = (real(losses), real(wins));
    let above_half = beta_share(c + 1.0, b + 2.0, 0.5);
    let ln = (b + c) * std::f64::consts::LN_2 + (8.0 / 3.0_f64).ln() + ln_beta(b + 2.0, c + 1.0) + above_half.ln();
    ln.exp().min(f64::MAX)
}

/// The weight of all discordant pairs together in [`e_broke`]. With it, six losses in a row are enough for α = 0.05.
const TOGETHER: f64 = 0.95;

/// Against "no case got worse", by the losses and wins of each case: `e_worse` of all pairs together, and the mean of the
/// cases' own. A case that broke shows in the mean even if many others got better. Averages of bets are bets.
pub fn e_broke(cases: &[(u64, u64)]) -> f64 {
    let (losses, wins) = cases.iter().fold((0, 0), |sum, case| (sum.0 + case.0, sum.1 + case.1));
    let own = cases.iter().map(|(losses, wins)| e_worse(*losses, *wins) / len(cases.len())).sum::<f64>();
    e_together(losses, wins, own)
}

/// The same by all losses and wins, and the mean of what each case shows by itself.
pub fn e_together(losses: u64, wins: u64, own: f64) -> f64 {
    TOGETHER * e_worse(losses, wins) + (1.0 - TOGETHER) * own.min(f64::MAX)
}

// Evidence from trials of one case that need not be paired. Pairs throw away what the passes of one side alone tell: three
// failures of the candidate and three passes of the baseline are enough here, where pairs take six of each.
//
// The likelihood of all trials, averaged over rates that a case which broke may have, is divided by the largest that is possible
// if the candidate passes no less often. The denominator is at least the likelihood of the true rates, so the quotient is at most
// a bet whose expected payout is 1, after every trial and whichever trial comes next by what came before (Wasserman, Ramdas,
// Balakrishnan, Universal inference, PNAS 117 (2020) 16880).

/// The logarithm of the evidence against "the candidate passes no less often", by x of n trials of the baseline and y of m of the
/// candidate: `ln[B(x+5, n−x+½)/B(5, ½)] + ln[B(y+½, m−y+1)/B(½, 1)]`, less the logarithm of the largest likelihood with q ≥ p.
/// The averages are for a case that passed nearly always and now fails mostly.
pub fn ln_e_apart(baseline: Rate, candidate: Rate) -> f64 {
    let average = |rate: Rate, a: f64, b: f64| ln_beta(real(rate.passed) + a, real(rate.failed()) + b) - ln_beta(a, b);
    let likelihood = |rate: Rate, p: f64| {
        let power = |count: u64, p: f64| if count == 0 { 0.0 } else { real(count) * p.ln() };
        power(rate.passed, p) + power(rate.failed(), 1.0 - p)
    };
    let (p, q) = (baseline.share().unwrap_or(0.0), candidate.share().unwrap_or(1.0));
    // If the candidate passed less often, the likelihood is largest where both rates are the same.
    let both = baseline.plus(candidate).share().filter(|_| q < p);
    let most = likelihood(baseline, both.unwrap_or(p)) + likelihood(candidate, both.unwrap_or(q));
    average(baseline, 5.0, 0.5) + average(candidate, 0.5, 1.0) - most
}

// Evidence about the mean difference of all cases, however different they are. You may look at it after every round.
//
// A round is one pair of trials of every case. The difference `D` of a pair is 1 (only the candidate passed), 0 or −1. A
// bet of the share λ against "the mean difference is `m` or less" pays `1 + λ(D − m)`. If that is true, the product of a
// round pays 1 on average at most, for every λ: the geometric mean of `1 + λ(Δ_i − m)` is at most the arithmetic mean. So
// the evidence is valid for the mean at complete rounds, whichever case is tried next. An average over several λ is a bet
// too.
//
// Waudby-Smith and Ramdas, JRSS B 86 (2024) 1, for bets on bounded means.

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
    /// [`e_worse`].
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
    use crate::stats::binomial;
    use crate::stats::reference::{close, count, ends, number, rows};

    #[test]
    fn sequences_agree_with_the_reference() {
        for row in rows("beta_binomial_conf_seq_95") {
            let rate = Rate::new(count(&row["x"]), count(&row["n"]));
            let found = with_prior(rate, 0.95, number(&row["prior"][0]), number(&row["prior"][1]));
            ends(found, &row["cs"], &row);
        }
    }

    #[test]
    fn fifty_looks_miss_the_truth_as_seldom_as_an_exact_count_says() {
        let reference = crate::stats::reference::section("peeking_50_looks_prob_ever_excluding_truth");
        let missed = |p: f64, interval: fn(Rate, f64) -> Interval| {
            // The probability of every count of passes on a path that has missed the truth nowhere.
            let mut alive = vec![1.0];
            for n in 1..=50 {
                let from = |x: usize| alive.get(x).copied().unwrap_or(0.0);
                let to = |x: usize| from(x) * (1.0 - p) + if x > 0 { from(x - 1) * p } else { 0.0 };
                let holds = |x: usize| interval(Rate::new(x as u64, n), 0.95).contains(p);
                alive = (0..=alive.len()).map(|x| if holds(x) { to(x) } else { 0.0 }).collect();
            }
            1.0 - alive.iter().sum::<f64>()
        };
        for p in [0.5, 0.8, 0.9] {
            let row = &reference[p.to_string()];
            let wilson = missed(p, super::super::proportion::wilson);
            assert!((wilson - number(&row["wilson95_each_look"])).abs() < 1e-4, "{p}: {wilson}");
            let sequence = missed(p, beta_binomial);
            assert!((sequence - number(&row["beta_binomial_cs95"])).abs() < 1e-4, "{p}: {sequence}");
        }
    }

    #[test]
    fn two_sided_evidence_agrees_with_the_reference() {
        for row in rows("evalue_paired_mixture_half") {
            let (b, c) = (count(&row["b"]), count(&row["c"]));
            let expected = number(&row["e"]);
            assert!((e_two_sided(b, c) / expected - 1.0).abs() < 1e-8, "{row}: {}", e_two_sided(b, c));
        }
    }

    #[test]
    fn a_fair_game_pays_one_on_average_in_either_direction() {
        for pairs in [1, 2, 7, 40] {
            let weights = binomial(pairs, 0.5);
            let mean = |e: fn(u64, u64) -> f64| -> f64 {
                (0..=pairs).zip(&weights).map(|(losses, weight)| weight * e(losses, pairs - losses)).sum()
            };
            for e in [e_two_sided, e_worse] {
                close(mean(e), 1.0, &pairs);
            }
        }
    }

    #[test]
    fn a_case_that_broke_shows_among_many_that_got_better_and_costs_nothing_otherwise() {
        assert!(e_broke(&[(6, 0), (0, 0), (0, 0)]) >= 20.0);
        let mut cases = vec![(0, 5); 20];
        cases[7] = (16, 0);
        assert!(e_worse(16, 95) < 1.0 && e_broke(&cases) >= 20.0);
    }

    #[test]
    fn evidence_that_a_case_broke_bets_a_twentieth_on_the_cases_alone() {
        // By the formula with whole numbers: of 2 losses and 1 win 13/15, of 2 losses 5/2, of 1 win 4/9.
        let expected = 0.95 * 13.0 / 15.0 + 0.05 * (5.0 / 2.0 + 4.0 / 9.0) / 2.0;
        close(e_broke(&[(2, 0), (0, 1)]), expected, &"two cases");
    }

    #[test]
    fn evidence_of_trials_that_are_not_paired_pays_one_on_average_at_most_if_the_candidate_passes_no_less_often() {
        // Every course of 14 trials. What comes next depends on what came before: the baseline runs if the candidate failed more often.
        fn mean(baseline: Rate, candidate: Rate, left: u32, (p, q): (f64, f64)) -> f64 {
            if left == 0 {
                return ln_e_apart(baseline, candidate).exp();
            }
            let of_baseline = candidate.failed() > baseline.trials;
            let rate = if of_baseline { p } else { q };
            let after = |passed: bool| {
                let (mut baseline, mut candidate) = (baseline, candidate);
                if of_baseline {
                    baseline.add(passed);
                } else {
                    candidate.add(passed);
                }
                mean(baseline, candidate, left - 1, (p, q))
            };
            let weighted = |weight: f64, passed| if weight > 0.0 { weight * after(passed) } else { 0.0 };
            weighted(rate, true) + weighted(1.0 - rate, false)
        }
        for rates in [(0.0, 0.0), (0.5, 0.5), (0.9, 0.9), (1.0, 1.0), (0.3, 0.6), (0.6, 0.7)] {
            let found = mean(Rate::default(), Rate::default(), 14, rates);
            assert!(found <= 1.0 + 1e-9, "{rates:?}: {found}");
        }
        let broke = mean(Rate::default(), Rate::default(), 14, (1.0, 0.1));
        assert!(broke > 100.0, "{broke}");
    }

    /// Passed trials of all, of the baseline and of the candidate, and the logarithm of the evidence.
    const APART: [([u64; 4], f64); 8] = [
        ([3, 3, 0, 3], 3.131_777_985_1),
        ([4, 4, 0, 4], 4.339_664_688_8),
        ([20, 20, 0, 2], 5.248_707_373_9),
        ([18, 20, 1, 6], 4.158_088_201_8),
        ([5, 9, 7, 8], -4.051_107_481_6),
        ([1, 2, 1, 3], -1.869_720_010_7),
        ([0, 0, 0, 2], -0.628_608_659_4),
        ([3, 3, 0, 0], -0.244_345_759_0),
    ];

    #[test]
    fn evidence_of_trials_that_are_not_paired_agrees_with_another_computation() {
        // By scipy 1.17.1: betaln, and the likelihood maximized numerically.
        for ([x, n, y, m], expected) in APART {
            let found = ln_e_apart(Rate::new(x, n), Rate::new(y, m));
            assert!((found - expected).abs() < 1e-8, "{x}/{n} {y}/{m}: {found}");
        }
    }

    #[test]
    fn one_sided_evidence_is_the_integral_it_says() {
        for (b, c) in [(0, 0), (6, 0), (3, 9), (30, 12)] {
            let steps = 200_000;
            let density = |theta: f64| (2.0 * theta).powi(b) * (2.0 - 2.0 * theta).powi(c) * 8.0 * theta / 3.0;
            let width = 0.5 / f64::from(steps);
            let sum: f64 = (0..steps).map(|at| density(0.5 + (f64::from(at) + 0.5) * width) * width).sum();
            let found = e_worse(b.unsigned_abs().into(), c.unsigned_abs().into());
            assert!((found / sum - 1.0).abs() < 1e-6, "{b} {c}: {found} instead of {sum}");
        }
    }

    #[test]
    fn six_losses_in_a_row_are_worse_at_one_in_twenty_and_nothing_overflows() {
        assert!(e_worse(5, 0) < 20.0 && e_worse(6, 0) > 20.0);
        assert!(e_worse(1_000_000, 0).is_finite());
        assert!(e_worse(0, 1_000_000) >= 0.0);
    }

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
