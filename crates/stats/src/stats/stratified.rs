//! Exact tests of two sides, over cases of different difficulty, and the power of a plan.

use std::collections::BTreeMap;

use serde::Serialize;

use super::proportion::Rate;
use super::{beta_share, binomial_mass, count_up, len, normal_quantile, real};

/// A case on two sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stratum {
    /// The baseline's passes.
    pub baseline: Rate,
    /// The candidate's passes.
    pub candidate: Rate,
}

/// The probabilities of the candidate's number of passes if the sides do not differ. Exact to 1e-12 of the probability
/// or 1e-30, whichever is more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tails {
    /// The probability that the candidate passes as rarely as it did, or more rarely.
    pub less: f64,
    /// The probability that the candidate passes as often as it did, or more often.
    pub greater: f64,
    /// The probability of exactly what happened.
    pub equal: f64,
}

impl Tails {
    /// The exact two-sided p: twice the smaller tail.
    pub fn two_sided(&self) -> f64 {
        (2.0 * self.less.min(self.greater)).min(1.0)
    }
}

/// The tails of the number of the candidate's passes in all `strata`. A case without trials on both sides does not
/// count. Memory grows with the width of the distribution, not with the trials: 10,000 cases with 100 trials on each
/// side take less than a second.
pub fn exact(strata: &[Stratum]) -> Tails {
    let seen = strata.iter().map(|stratum| stratum.candidate.passed).sum();
    Distribution::of_all(strata).map_or(Tails { less: 1.0, greater: 1.0, equal: 1.0 }, |all| all.tails(seen))
}

/// A distribution over whole numbers: `probability[i]` is that of `start + i`.
#[derive(Debug)]
pub(super) struct Distribution {
    start: u64,
    probability: Vec<f64>,
    /// An upper bound of the probability that was cut from the ends.
    cut: f64,
}

/// Ends below this share of the most likely value are cut. This is far below every p and keeps the distribution narrow.
const CUT: f64 = 1e-40;

impl Distribution {
    /// The distribution of the candidate's passes in all `strata`. Both halves have equally many, so that they stay narrow.
    pub(super) fn of_all(strata: &[Stratum]) -> Option<Self> {
        match strata {
            [] => None,
            [only] => Some(Self::of(*only)),
            several => {
                let (some, others) = several.split_at(several.len() / 2);
                Some(Self::of_all(some)?.with(&Self::of_all(others)?))
            }
        }
    }

    /// The distribution of the candidate's passes in one case. It is one number if a side has no trials, or if all
    /// trials ended the same way.
    fn of(stratum: Stratum) -> Self {
        let Stratum { baseline: a, candidate: b } = stratum;
        let passed = a.passed + b.passed;
        let (low, high) = (passed.saturating_sub(a.trials), passed.min(b.trials));
        // Goes from one number to the next by the ratio of their probabilities, outwards from about the most likely one.
        let up = |x: u64| real(passed - x) * real(b.trials - x) / (real(x + 1) * real(a.trials + x + 1 - passed));
        let mode = (passed.saturating_mul(b.trials) / (a.trials + b.trials).max(1)).clamp(low, high);
        let outwards = |xs: &mut dyn Iterator<Item = u64>, step: &dyn Fn(f64, u64) -> f64| {
            let masses = xs.scan(1.0, |mass, x| {
                *mass = step(*mass, x);
                Some(*mass)
            });
            masses.take_while(|mass| *mass >= CUT).collect::<Vec<f64>>()
        };
        let below = outwards(&mut (low..mode).rev(), &|mass, x| mass / up(x));
        let above = outwards(&mut (mode..high), &|mass, x| mass * up(x));
        let start = mode - below.len() as u64;
        let mut probability: Vec<f64> = below.into_iter().rev().chain([1.0]).chain(above).collect();
        let sum: f64 = probability.iter().sum();
        for mass in &mut probability {
            *mass /= sum;
        }
        Self { start, probability, cut: CUT * real(b.trials) }
    }

    /// The distribution of the sum of two.
    pub(super) fn with(&self, other: &Self) -> Self {
        let mut probability = vec![0.0; self.probability.len() + other.probability.len() - 1];
        for (at, factor) in self.probability.iter().enumerate() {
            for (sum, mass) in probability[at..].iter_mut().zip(&other.probability) {
                *sum += factor * mass;
            }
        }
        let most = probability.iter().copied().fold(0.0, f64::max);
        let kept = |mass: &f64| *mass >= most * CUT;
        let first = probability.iter().position(kept).unwrap_or(0);
        let last = probability.iter().rposition(kept).unwrap_or(0);
        let gone: f64 = probability[..first].iter().chain(&probability[last + 1..]).sum();
        Self {
            start: self.start + other.start + first as u64,
            probability: probability[first..=last].to_vec(),
            cut: self.cut + other.cut + gone,
        }
    }

    /// Each value with its probability.
    pub(super) fn values(&self) -> impl ExactSizeIterator<Item = (u64, f64)> {
        self.probability.iter().enumerate().map(|(at, mass)| (self.start + at as u64, *mass))
    }

    /// The probability of a value.
    pub(super) fn mass(&self, value: u64) -> f64 {
        let at = value.checked_sub(self.start).and_then(|at| usize::try_from(at).ok());
        at.and_then(|at| self.probability.get(at)).copied().unwrap_or_default()
    }

    /// The tails at `seen`. What was cut is added to both, so no p is smaller than the truth.
    fn tails(&self, seen: u64) -> Tails {
        let len = self.probability.len();
        let at = usize::try_from(seen.saturating_sub(self.start)).unwrap_or(len).min(len);
        // Small ones first, so that none is lost to rounding.
        let below: f64 = self.probability[..at].iter().sum();
        let inside = seen >= self.start && at < len;
        let equal = if inside { self.probability[at] } else { 0.0 };
        let above_from = if inside { at + 1 } else { at };
        let above: f64 = self.probability[above_from..].iter().rev().sum();
        let tail = |side: f64| (side + equal + self.cut).min(1.0);
        Tails { less: tail(below), greater: tail(above), equal }
    }
}

// A difference of scores: the permutation test, stratified by case.

/// Different sums up to which all orders are counted.
const MOST_SUMS: usize = 100_000;

/// Scores and their sums are told apart to this.
const STEP: f64 = 1e-9;

/// Random orders for up to 2,000 trials; fewer for more trials, which need fewer.
const MOST_ORDERS: usize = 19_999;
const FEWEST_ORDERS: usize = 499;
const WORK: usize = 40_000_000;

/// The scores of a case's trials.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseScores {
    /// The baseline's trials.
    pub baseline: Vec<f64>,
    /// The candidate's trials.
    pub candidate: Vec<f64>,
}

/// The mean of what the candidate scores less the baseline in each case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreDifference {
    /// From −1 to 1, if scores are from 0 to 1.
    pub mean: f64,
    /// Of the mean, if both sides score alike.
    pub tails: Tails,
}

/// The difference of the scores, case by case. If both sides score alike, all ways to give the scores of a case to its two sides are
/// equally likely (Fisher 1935; Phipson, Smyth 2010). The tails are exact, unless there are very many different scores; then they are
/// estimated from random orders, always the same ones. A case with scores on one side only does not count; `None` if no other is
/// there.
pub fn score_difference(cases: &[CaseScores]) -> Option<ScoreDifference> {
    let pools: Vec<Pool> = cases.iter().filter_map(Pool::of).collect();
    let tails = exact_sums(&pools).unwrap_or_else(|| estimated_tails(pools.clone()));
    (!pools.is_empty()).then(|| ScoreDifference { mean: mean(&pools), tails })
}

/// The tails by all orders; `None` if they have too many different sums.
fn exact_sums(pools: &[Pool]) -> Option<Tails> {
    let mut all = BTreeMap::from([(0, 1.0)]);
    for pool in pools {
        let own = pool.differences()?;
        let mut sums = BTreeMap::new();
        for (sum, of_sum) in &all {
            for (difference, of_difference) in &own {
                *sums.entry(sum + difference).or_insert(0.0) += of_sum * of_difference;
            }
        }
        all = sums;
        if all.len() > MOST_SUMS {
            return None;
        }
    }
    let seen = pools.iter().map(|pool| steps(pool.difference())).sum::<i64>();
    // Each case was rounded once.
    let near = i64::try_from(pools.len()).ok()?;
    let share =
        |of: &dyn Fn(i64) -> bool| all.iter().filter(|(sum, _)| of(**sum)).map(|(_, of_sum)| of_sum).sum::<f64>();
    Some(Tails {
        less: share(&|sum| sum <= seen + near).min(1.0),
        greater: share(&|sum| sum >= seen - near).min(1.0),
        equal: share(&|sum| (sum - seen).abs() <= near).min(1.0),
    })
}

#[expect(clippy::cast_possible_truncation, reason = "sums of scores are far below 2^63 steps")]
fn steps(value: f64) -> i64 {
    (value / STEP).round() as i64
}

/// The tails by random orders.
fn estimated_tails(mut pools: Vec<Pool>) -> Tails {
    let seen = mean(&pools);
    let trials: usize = pools.iter().map(|pool| pool.scores.len()).sum();
    let orders = (WORK / trials).clamp(FEWEST_ORDERS, MOST_ORDERS);
    let mut rng = fastrand::Rng::with_seed(0);
    // What was seen is an order, too.
    let (mut less, mut equal, mut greater) = (0, 1, 0);
    for _ in 0..orders {
        for pool in &mut pools {
            pool.deal(&mut rng);
        }
        let change = mean(&pools) - seen;
        // Sums of the same numbers in another order differ in their last digits.
        match change.abs() < 1e-9 {
            true => equal += 1,
            false if change < 0.0 => less += 1,
            false => greater += 1,
        }
    }
    let share = |orders_of: usize| len(orders_of) / len(orders + 1);
    Tails { less: share(less + equal), greater: share(greater + equal), equal: share(equal) }
}

/// The scores of a case, those of the candidate first.
#[derive(Clone)]
struct Pool {
    scores: Vec<f64>,
    of_candidate: usize,
    sum: f64,
}

impl Pool {
    fn of(case: &CaseScores) -> Option<Self> {
        let CaseScores { baseline, candidate } = case;
        let scores = [candidate.as_slice(), baseline].concat();
        let (of_candidate, sum) = (candidate.len(), scores.iter().sum());
        (!baseline.is_empty() && !candidate.is_empty()).then_some(Self { scores, of_candidate, sum })
    }

    /// Every difference that an order of the scores makes, in steps, with its probability; `None` if there are too many.
    fn differences(&self) -> Option<BTreeMap<i64, f64>> {
        // By the number of scores that the candidate has so far: their sums, each with the probability to choose them.
        let mut chosen = vec![BTreeMap::new(); self.of_candidate + 1];
        chosen[0] = BTreeMap::from([(0, 1.0)]);
        for (before, score) in self.scores.iter().enumerate() {
            for count in (0..=self.of_candidate.min(before)).rev() {
                let left = self.scores.len() - before;
                let chance = len(self.of_candidate - count) / len(left);
                let sums: Vec<(i64, f64)> = std::mem::take(&mut chosen[count]).into_iter().collect();
                for (sum, of_sum) in sums {
                    if chance < 1.0 {
                        *chosen[count].entry(sum).or_insert(0.0) += of_sum * (1.0 - chance);
                    }
                    if chance > 0.0 {
                        *chosen[count + 1].entry(sum + steps(*score)).or_insert(0.0) += of_sum * chance;
                    }
                }
            }
            if chosen.iter().map(BTreeMap::len).sum::<usize>() > MOST_SUMS {
                return None;
            }
        }
        let others = len(self.scores.len() - self.of_candidate);
        let mut differences = BTreeMap::new();
        for (sum, chance) in std::mem::take(&mut chosen[self.of_candidate]) {
            let of_candidate = real(sum.unsigned_abs()) * STEP * if sum < 0 { -1.0 } else { 1.0 };
            let difference = of_candidate / len(self.of_candidate) - (self.sum - of_candidate) / others;
            *differences.entry(steps(difference)).or_insert(0.0) += chance;
        }
        Some(differences)
    }

    /// Gives the candidate as many scores as before, chosen anew.
    fn deal(&mut self, rng: &mut fastrand::Rng) {
        for at in 0..self.of_candidate {
            let chosen = rng.usize(at..self.scores.len());
            self.scores.swap(at, chosen);
        }
    }

    fn difference(&self) -> f64 {
        let candidate: f64 = self.scores[..self.of_candidate].iter().sum();
        candidate / len(self.of_candidate) - (self.sum - candidate) / len(self.scores.len() - self.of_candidate)
    }
}

fn mean(pools: &[Pool]) -> f64 {
    pools.iter().map(Pool::difference).sum::<f64>() / len(pools.len())
}

// The power of a plan: how often it finds a change. Computed from every outcome, because a normal approximation
// promises 80 % when it is 76 % (Connor, Biometrics 43 (1987) 207, for exact tests).
//
// A plan is a number of pairs of trials of the same case, one on each side. A pair is a loss (only the baseline
// passes) with probability `loss` and a win (only the candidate passes) with probability `win`.

/// How often a pair is discordant, and in which direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Discordance {
    /// The probability that only the baseline passes.
    pub loss: f64,
    /// The probability that only the candidate passes.
    pub win: f64,
}

impl Discordance {
    /// For a case that passes with probability `before` in the baseline and `after` in the candidate.
    pub fn of(before: f64, after: f64) -> Self {
        Self { loss: before * (1.0 - after), win: after * (1.0 - before) }
    }

    /// The probability that a pair is discordant.
    pub fn any(self) -> f64 {
        self.loss + self.win
    }

    /// The probability that a discordant pair is a loss.
    fn direction(self) -> f64 {
        if self.any() > 0.0 { self.loss / self.any() } else { 0.5 }
    }
}

/// The probability that McNemar's exact test, one-sided at `alpha`, finds the candidate worse after `pairs`.
pub fn power_of_fixed(pairs: u64, truth: Discordance, alpha: f64) -> f64 {
    over_discordant(pairs, truth.any(), |discordant| {
        losses_needed(discordant, alpha).map_or(0.0, |needed| at_least(discordant, needed, truth.direction()))
    })
}

/// The number of pairs with which [`power_of_fixed`] finds the candidate worse with probability `power`. `None` if it is above
/// `most`. Up to 400 pairs, it is computed from all outcomes near the value of the normal formula. Above that, the
/// formula is right to a hundredth and used alone: `((z_α √ψ + z_β √(ψ − δ²)) / δ)² + 1/δ`, where ψ is the probability
/// of a discordant pair and δ the difference.
pub fn pairs_needed(truth: Discordance, alpha: f64, power: f64, most: u64) -> Option<u64> {
    let apart = truth.loss - truth.win;
    if apart <= 0.0 {
        return None;
    }
    let (any, up, down) = (truth.any(), normal_quantile(1.0 - alpha), normal_quantile(power));
    let about = ((up * any.sqrt() + down * (any - apart * apart).max(0.0).sqrt()) / apart).powi(2) + 1.0 / apart;
    let mut high = count_up(about).max(1);
    if about <= COUNTED {
        let enough = |pairs: u64| power_of_fixed(pairs, truth, alpha) >= power;
        let mut low = 0;
        while !enough(high) {
            (low, high) = (high, high + 1);
        }
        // Power may fall by a little with a further pair, since losses are whole numbers, so the exact minimum is not
        // searched.
        while high - low > 1 {
            let middle = u64::midpoint(low, high);
            *(if enough(middle) { &mut high } else { &mut low }) = middle;
        }
    }
    (high <= most).then_some(high)
}

/// Above this number of pairs, the normal formula is used.
const COUNTED: f64 = 400.0;

/// The expected value of `of` over the number of discordant pairs among `pairs`.
fn over_discordant(pairs: u64, any: f64, of: impl Fn(u64) -> f64) -> f64 {
    let (fewest, most) = likely(pairs, any);
    (fewest..=most).map(|k| binomial_mass(pairs, k, any) * of(k)).sum()
}

/// The range of the number of discordant pairs that holds nearly all of the probability: eight standard deviations of rare
/// ones to both sides, and no fewer than 40.
fn likely(pairs: u64, any: f64) -> (u64, u64) {
    let mean = real(pairs) * any;
    let reach = (8.0 * mean.sqrt()).max(40.0);
    (count_up(mean - reach), count_up(mean + reach).min(pairs))
}

/// The number of losses among `discordant` pairs that makes the exact p at most `alpha`. `None` if even all are not
/// enough.
fn losses_needed(discordant: u64, alpha: f64) -> Option<u64> {
    let enough = |losses: u64| at_least(discordant, losses, 0.5) <= alpha;
    if !enough(discordant) {
        return None;
    }
    let (mut low, mut high) = (0, discordant);
    while high - low > 1 {
        let middle = u64::midpoint(low, high);
        *(if enough(middle) { &mut high } else { &mut low }) = middle;
    }
    Some(high)
}

/// The probability of at least `k` successes in `n` trials of probability `p`: `I_p(k, n−k+1)`.
fn at_least(n: u64, k: u64, p: f64) -> f64 {
    if k == 0 { 1.0 } else { beta_share(real(k), real(n - k) + 1.0, p) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::proportion::Rate;
    use crate::stats::reference::{close, count, number, rows};

    fn stratum(a: (u64, u64), b: (u64, u64)) -> Stratum {
        Stratum { baseline: Rate::new(a.0, a.1), candidate: Rate::new(b.0, b.1) }
    }

    #[test]
    fn tails_agree_with_those_of_exact_fractions() {
        for row in rows("stratified_exact_difference") {
            let cases = row["cases_xa_na_xb_nb"].as_array().expect("cases");
            let of = |case: &serde_json::Value| {
                let at = |at: usize| count(&case[at]);
                stratum((at(0), at(1)), (at(2), at(3)))
            };
            let strata: Vec<Stratum> = cases.iter().map(of).collect();
            let tails = exact(&strata);
            // The reference counts the first side's passes: the more it passes, the less the second one.
            close(tails.less, number(&row["p_a_greater"]), &row);
            close(tails.greater, number(&row["p_a_less"]), &row);
            close(tails.less - tails.equal / 2.0, number(&row["mid_greater"]), &row);
            close(tails.greater - tails.equal / 2.0, number(&row["mid_less"]), &row);
            close(tails.two_sided(), number(&row["two_sided_doubled"]), &row);
        }
    }

    #[test]
    fn one_trial_a_case_is_mcnemars_exact_test() {
        for row in rows("mcnemar") {
            let (lost, won) = (count(&row["b"]), count(&row["c"]));
            let mut strata = vec![stratum((1, 1), (0, 1)); usize::try_from(lost).expect("few")];
            strata.extend(vec![stratum((0, 1), (1, 1)); usize::try_from(won).expect("few")]);
            strata.push(stratum((1, 1), (1, 1)));
            let tails = exact(&strata);
            close(tails.two_sided(), number(&row["exact"]), &row);
            close(tails.greater, number(&row["one_sided_exact_c_gt_b"]), &row);
        }
    }

    #[test]
    fn one_case_is_fishers_exact_test() {
        for row in rows("fisher_two_runs") {
            let (a, b) = ((count(&row["a"]), count(&row["n1"])), (count(&row["b"]), count(&row["n2"])));
            let tails = exact(&[stratum(a, b)]);
            close(tails.less, number(&row["one_sided_worse"]), &row);
            close(tails.two_sided(), number(&row["two_sided"]), &row);
        }
    }

    #[test]
    fn what_says_nothing_changes_nothing() {
        let told = [stratum((5, 5), (1, 5))];
        let silent = [stratum((5, 5), (5, 5)), stratum((0, 3), (0, 0)), told[0], stratum((0, 0), (2, 2))];
        let (told, silent) = (exact(&told), exact(&silent));
        close(told.less, silent.less, &"less");
        close(told.greater, silent.greater, &"greater");
        assert_eq!(exact(&[]).two_sided().to_bits(), 1.0_f64.to_bits());
    }

    #[test]
    fn tails_stay_right_far_out_and_no_p_is_zero() {
        // C(20, 10)^-3: all trials of three cases were lost.
        let all = exact(&[stratum((10, 10), (0, 10)); 3]);
        let expected = 1.0 / 184_756.0_f64.powi(3);
        assert!((all.less / expected - 1.0).abs() < 1e-9, "{}", all.less);
        let many = exact(&vec![stratum((20, 20), (0, 20)); 40]);
        assert!(many.less > 0.0 && many.less < 1e-30, "{}", many.less);
    }

    #[test]
    fn thousands_of_trials_of_one_case_overflow_nothing() {
        let tails = exact(&[stratum((5000, 10_000), (4900, 10_000))]);
        // By whole numbers: the sum of C(10000, x) C(10000, 9900 − x), divided by C(20000, 9900).
        close(tails.less, 0.080_734_645_754, &"less");
        close(tails.greater, 0.923_416_411_945, &"greater");
        close(tails.equal, 0.004_151_057_700, &"equal");
    }

    #[test]
    fn many_cases_with_many_trials_keep_a_narrow_distribution() {
        let cases = |count: u64| (0..count).map(|case| stratum((50 + case % 51, 100), (49 + case % 47, 100)));
        let tails = exact(&cases(600).collect::<Vec<_>>());
        assert!((tails.less + tails.greater - tails.equal - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_was_cut_may_be_in_either_tail() {
        let known = |probability: &[f64], cut| Distribution { start: 5, probability: probability.to_vec(), cut };
        let coin = known(&[0.5, 0.5], 0.125);
        assert_eq!(coin.tails(4), Tails { less: 0.125, greater: 1.0, equal: 0.0 });
        assert_eq!(coin.tails(5), Tails { less: 0.625, greater: 1.0, equal: 0.5 });
        assert_eq!(coin.tails(7), Tails { less: 1.0, greater: 0.125, equal: 0.0 });
        assert!((coin.with(&known(&[1.0], 0.25)).cut - 0.375).abs() < 1e-15);
        // What is cut here comes on top.
        let cut = known(&[1e-50, 1.0, 1e-50], 0.0).with(&known(&[1.0], 0.0));
        assert_eq!((cut.start, cut.probability.as_slice()), (11, &[1.0][..]));
        assert!((cut.cut / 2e-50 - 1.0).abs() < 1e-9, "{}", cut.cut);
    }

    fn case(baseline: &[f64], candidate: &[f64]) -> CaseScores {
        CaseScores { baseline: baseline.to_vec(), candidate: candidate.to_vec() }
    }

    #[test]
    fn one_trial_a_case_is_the_sign_flip() {
        let pairs = [(0.6, 1.0), (1.0, 1.0), (0.2, 0.8), (0.6, 0.8), (0.2, 1.0), (0.4, 1.0), (0.4, 0.8), (0.2, 0.0)];
        let cases: Vec<CaseScores> = pairs.iter().map(|(a, b)| case(&[*a], &[*b])).collect();
        // Of 128 ways to choose the signs of the seven differences, three sum to 2.8 or more.
        let p = score_difference(&cases).expect("cases").tails.greater;
        assert!((p - 3.0 / 128.0).abs() < 1e-12, "{p}");
    }

    #[test]
    fn passes_and_failures_are_the_exact_test() {
        let side = |passes: usize, trials: usize| [vec![1.0; passes], vec![0.0; trials - passes]].concat();
        let cases = [case(&side(2, 6), &side(5, 6)), case(&side(3, 6), &side(4, 6))];
        let strata = [[2, 6, 5, 6], [3, 6, 4, 6]]
            .map(|[a, of_a, b, of_b]| Stratum { baseline: Rate::new(a, of_a), candidate: Rate::new(b, of_b) });
        let (found, expected) = (score_difference(&cases).expect("cases").tails, exact(&strata));
        for (found, expected) in [(found.greater, expected.greater), (found.less, expected.less)] {
            assert!((found - expected).abs() < 1e-12, "{found}, exactly {expected}");
        }
    }

    #[test]
    fn a_worse_candidate_is_as_unlikely_as_a_better_one() {
        let (low, high) = ([0.1, 0.2, 0.3], [0.7, 0.8, 0.9]);
        let better = score_difference(&[case(&low, &high)]).expect("cases").tails.greater;
        let worse = score_difference(&[case(&high, &low)]).expect("cases").tails.less;
        assert!((better - 0.05).abs() < 1e-12 && (worse - 0.05).abs() < 1e-12, "{better} {worse}");
    }

    #[test]
    fn of_very_many_different_scores_random_orders_say_nearly_the_same() {
        let score = |at: u32| f64::from(at).sqrt().fract();
        let cases: Vec<CaseScores> = (1..9)
            .map(|at| {
                case(&[score(at), score(at + 10), score(at + 30)], &[score(at + 50), score(at + 70), score(at + 99)])
            })
            .collect();
        let pools: Vec<Pool> = cases.iter().filter_map(Pool::of).collect();
        let few = &pools[..3];
        let (all, some) = (super::exact_sums(few).expect("20³ sums"), estimated_tails(few.to_vec()));
        assert!((all.less - some.less).abs() < 0.01 && (all.greater - some.greater).abs() < 0.01);
        assert!(super::exact_sums(&pools).is_none() && score_difference(&cases).is_some());
    }

    #[test]
    fn equal_scores_are_always_as_far_apart_and_cases_of_one_side_say_nothing() {
        let equal = score_difference(&[case(&[0.5], &[0.5])]).expect("cases");
        assert_eq!(equal, ScoreDifference { mean: 0.0, tails: Tails { less: 1.0, greater: 1.0, equal: 1.0 } });
        assert_eq!(score_difference(&[case(&[0.5], &[]), case(&[], &[1.0])]), None);
    }

    #[test]
    fn exact_power_agrees_with_enumeration_and_shows_what_the_normal_formula_lacks() {
        for row in rows("paired_sample_size_connor_1987") {
            let (loss, win) = (number(&row["p10"]), number(&row["p01"]));
            let pairs = count(&row["n_ceil"]);
            // Two-sided: found worse, or found better by mistake.
            let power = power_of_fixed(pairs, Discordance { loss, win }, 0.025)
                + power_of_fixed(pairs, Discordance { loss: win, win: loss }, 0.025);
            assert!((power - number(&row["exact_mcnemar_power_at_n"])).abs() < 1e-6, "{row}: {power}");
        }
    }

    #[test]
    fn pairs_needed_have_the_power_and_one_less_has_not() {
        for (before, after) in [(0.95, 0.7), (0.9, 0.6), (0.8, 0.5)] {
            let truth = Discordance::of(before, after);
            let needed = pairs_needed(truth, 0.05, 0.8, 10_000).expect("some");
            assert!(power_of_fixed(needed, truth, 0.05) >= 0.8);
            assert!(power_of_fixed(needed - 1, truth, 0.05) < 0.8);
        }
        // Fewer than the formula says, by Wilks's table: of 181 trials, five fail that fail one time in twenty, to 95 %.
        assert_eq!(pairs_needed(Discordance { loss: 0.05, win: 0.0 }, 0.05, 0.95, 10_000), Some(181));
        assert_eq!(pairs_needed(Discordance::of(0.5, 0.5), 0.05, 0.8, 10_000), None);
        assert_eq!(pairs_needed(Discordance::of(0.9, 0.89), 0.05, 0.8, 100), None);
        let many = pairs_needed(Discordance::of(0.9, 0.87), 0.05, 0.8, 10_000).expect("a number");
        let power = power_of_fixed(many, Discordance::of(0.9, 0.87), 0.05);
        assert!(many > 1000 && (power - 0.8).abs() < 0.01, "{many}: {power}");
    }

    #[test]
    fn many_pairs_needed_are_those_of_the_normal_formula() {
        // ((z_α √ψ + z_β √(ψ − δ²)) / δ)² + 1/δ: 11721.1 and 12759.8.
        assert_eq!(pairs_needed(Discordance::of(0.9, 0.89), 0.05, 0.8, 20_000), Some(11_722));
        assert_eq!(pairs_needed(Discordance::of(0.6, 0.58), 0.025, 0.9, 20_000), Some(12_760));
        assert_eq!(pairs_needed(Discordance::of(0.6, 0.58), 0.025, 0.9, 12_760), Some(12_760));
        assert_eq!(pairs_needed(Discordance::of(0.6, 0.58), 0.025, 0.9, 12_759), None);
    }

    #[test]
    fn where_one_loss_is_enough_the_power_is_that_of_any_loss() {
        // The exact p of one loss is a half.
        for (loss, pairs) in [(0.001, 100), (0.1, 3), (0.3, 400)] {
            let (truth, expected) = (Discordance { loss, win: 0.0 }, 1.0 - (1.0 - loss).powi(pairs));
            let pairs = u64::from(pairs.unsigned_abs());
            close(power_of_fixed(pairs, truth, 0.5), expected, &"one look");
        }
    }
}
