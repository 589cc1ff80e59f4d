//! How two sides differ: in their mean rate over the cases, and in what they take.

use std::collections::BTreeMap;

use serde::Serialize;

use super::proportion::{Rate, score_high, score_low, wilson};
use super::stratified::Stratum;
use super::{Interval, len, real, t_quantile, t_two_sided, two_sided_z};

/// The mean of these estimates of rates, each of which varies at most as much as the share of so many trials; and its interval, which
/// is that of as many trials. `None` without estimates.
pub fn mean_of_estimates(estimates: &[(f64, u64)], level: f64) -> Option<(f64, Interval)> {
    let count = len(estimates.len());
    let share = estimates.iter().map(|(share, _)| share).sum::<f64>() / count;
    let trials = count * count / estimates.iter().map(|(_, trials)| 1.0 / real(*trials)).sum::<f64>();
    let (all, z) = ([TrialGroup { weight: 1.0, share, trials }], two_sided_z(level));
    let interval = Interval { low: (share - all[0].down(z)).max(0.0), high: (share + all[0].up(z)).min(1.0) };
    (!estimates.is_empty()).then_some((share, interval))
}

/// A case: its result on one side, and its result on all sides together.
#[derive(Clone, Copy)]
struct CaseMean {
    pub own: Rate,
    /// The result on all sides, `own` included.
    pub known: Rate,
}

/// The mean rate of the `cases` with trials, and its interval. `None` if no case has trials. The limits are those of
/// [`of`] for one side. A single case has Wilson's interval.
pub fn mean_of(cases: &[Rate], level: f64) -> Option<(f64, Interval)> {
    let tried = cases.iter().copied().filter(|rate| rate.trials > 0);
    let cases: Vec<CaseMean> = tried.map(|rate| CaseMean { own: rate, known: rate }).collect();
    if cases.is_empty() {
        return None;
    }
    if let [only] = cases.as_slice() {
        return Some((only.own.share()?, wilson(only.own, level)));
    }
    let (parts, z) = (groups_of(&cases), two_sided_z(level));
    let mean = mean_of_groups(&parts);
    let interval = Interval {
        low: (mean - reach_of_limit(&parts, &[], z)).max(0.0),
        high: (mean + reach_of_limit(&[], &parts, z)).min(1.0),
    };
    Some((mean, interval))
}

/// The cases of a side with about equally many trials.
struct TrialGroup {
    /// Their share of all cases.
    weight: f64,
    /// The mean of their rates.
    share: f64,
    /// The effective number of trials: how many trials of a single rate tell as much about the mean.
    trials: f64,
}

impl TrialGroup {
    /// The distance from the weighted mean to its upper limit, at `z` standard errors.
    fn up(&self, z: f64) -> f64 {
        self.weight * (score_high(self.share + 0.5 / self.trials, self.trials, z) - self.share).max(0.0)
    }

    /// The distance to the lower limit.
    fn down(&self, z: f64) -> f64 {
        self.weight * (self.share - score_low(self.share - 0.5 / self.trials, self.trials, z)).max(0.0)
    }
}

/// The distance to the limit if the true rates of the parts in `falling` are lower and those in `rising` are higher
/// than seen.
fn reach_of_limit(falling: &[TrialGroup], rising: &[TrialGroup], z: f64) -> f64 {
    let all = |by: &dyn Fn(usize) -> f64| -> Vec<f64> {
        let down = falling.iter().enumerate().map(|(at, part)| part.down(by(at)));
        down.chain(rising.iter().enumerate().map(|(at, part)| part.up(by(falling.len() + at)))).collect()
    };
    let full = all(&|_| z);
    let root = full.iter().map(|reach| reach * reach).sum::<f64>().sqrt();
    if root == 0.0 { 0.0 } else { all(&|at| z * full[at] / root).iter().sum() }
}

/// The mean of all `parts` together.
fn mean_of_groups(parts: &[TrialGroup]) -> f64 {
    parts.iter().map(|part| part.weight * part.share).sum()
}

/// The parts of a side: its cases, grouped by the power of two of their number of trials, so that a case with one trial
/// is not in the same part as one with many. Every case has trials.
fn groups_of(cases: &[CaseMean]) -> Vec<TrialGroup> {
    let mut by_size: BTreeMap<u32, Vec<CaseMean>> = BTreeMap::new();
    for case in cases {
        by_size.entry(case.own.trials.ilog2()).or_default().push(*case);
    }
    by_size.values().map(|alike| group_of(alike, len(cases.len()))).collect()
}

fn group_of(cases: &[CaseMean], all: f64) -> TrialGroup {
    let count = len(cases.len());
    let mean = |of: fn(&CaseMean) -> Rate| cases.iter().filter_map(|case| of(case).share()).sum::<f64>() / count;
    let middle = mean(|case| case.known);
    let spread = middle * (1.0 - middle);
    let per_trial = |case: &CaseMean| 1.0 / real(case.own.trials);
    let even: f64 = cases.iter().map(per_trial).sum();
    let own: f64 = cases.iter().map(|case| variance_within(case.known, middle) * per_trial(case)).sum();
    // A single case differs from no other.
    let ratio = if cases.len() > 1 && spread > 0.0 { own / (spread * even) } else { 1.0 };
    TrialGroup { weight: count / all, share: mean(|case| case.own), trials: count * count / even / ratio }
}

/// The variance of a trial of a case, from its trials and one more at the rate of all cases. It is unbiased if all
/// cases are equal, and otherwise too large rather than too small.
fn variance_within(known: Rate, middle: f64) -> f64 {
    let trials = real(known.trials);
    let product = (real(known.passed) + middle) * (real(known.failed()) + 1.0 - middle);
    product / ((trials + 1.0) * (trials + 1.0) - trials)
}

// The difference between the pass rates of two sides, over the given cases.
//
// The estimate is `Δ = mean over cases of (candidate's rate − baseline's rate)`. It is about the given cases, weighted
// equally, not about cases that somebody might write. Cases may be as different as they like and have different
// numbers of trials. Trials of a case are independent.

/// The candidate's rate minus the baseline's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Difference {
    /// The mean rate of the cases on the baseline's side.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub baseline: f64,
    /// The mean rate of the cases on the candidate's side.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub candidate: f64,
    /// `candidate − baseline`.
    pub difference: f64,
    /// The interval of the true difference.
    pub interval: Interval,
    /// The number of cases with trials on both sides.
    pub cases: usize,
}

/// The difference over all strata with trials on both sides. `None` if there are none.
///
/// The interval adds up score limits with a continuity correction, like Newcombe's method 11 (Statistics in Medicine 17
/// (1998) 873). On each side, cases with about equally many trials form a group with an effective number of trials.
/// Newcombe takes the root of the sum of squares of all limits at `z`. Here, each limit is taken at its share of `z`,
/// and the limits are added: this is the same for many trials, and still wide enough for one. In
/// `tests/stats/statistics.rs` it covers at least 94 % of nominal 95 % over rates from 0 to 1, 1 to 50 cases and 1 to
/// 20 trials.
pub fn of(strata: &[Stratum], level: f64) -> Option<Difference> {
    let strata: Vec<Stratum> =
        strata.iter().copied().filter(|stratum| stratum.baseline.trials > 0 && stratum.candidate.trials > 0).collect();
    if strata.is_empty() {
        return None;
    }
    // By the rates of both sides together: a case that always or never passes on both varies little.
    let case = |own: Rate, stratum: &Stratum| CaseMean { own, known: stratum.baseline.plus(stratum.candidate) };
    let side = |side: fn(&Stratum) -> Rate| strata.iter().map(|of| case(side(of), of)).collect::<Vec<CaseMean>>();
    let (in_a, in_b) = (groups_of(&side(|stratum| stratum.baseline)), groups_of(&side(|stratum| stratum.candidate)));
    let (a, b) = (mean_of_groups(&in_a), mean_of_groups(&in_b));
    let z = two_sided_z(level);
    let interval = Interval {
        low: (b - a - reach_of_limit(&in_b, &in_a, z)).max(-1.0),
        high: (b - a + reach_of_limit(&in_a, &in_b, z)).min(1.0),
    };
    Some(Difference { baseline: a, candidate: b, difference: b - a, interval, cases: strata.len() })
}

// Equivalence: that there is no difference worth anything, and what it takes to show that.

/// The interval that must lie within ±margin for a difference to be shown worth nothing at `alpha`: that of two one-sided tests
/// (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15 (1987) 657). `None` without cases.
pub fn of_two_one_sided_tests(strata: &[Stratum], alpha: f64) -> Option<Interval> {
    of(strata, 1.0 - 2.0 * alpha).map(|difference| difference.interval)
}

/// Nobody pays for more trials of a case.
const MOST_OF_A_CASE: u64 = 100_000;

/// How many trials each case needs on each side for [`of_two_one_sided_tests`] to lie within ±`margin` with probability `power`, if
/// there is no difference and the cases pass as often as they did. `None` without cases, and beyond 100,000.
pub fn trials_to_show_none(strata: &[Stratum], margin: f64, alpha: f64, power: f64) -> Option<u64> {
    let pooled: Vec<Rate> = strata.iter().map(|stratum| stratum.baseline.plus(stratum.candidate)).collect();
    let shares: Vec<f64> = pooled.iter().filter_map(|rate| rate.share()).collect();
    let cases = len(shares.len());
    let middle = shares.iter().sum::<f64>() / cases;
    let spread = middle * (1.0 - middle);
    let variance = pooled.iter().map(|rate| variance_within(*rate, middle)).sum::<f64>() / len(pooled.len());
    let ratio = if cases > 1.0 && spread > 0.0 { variance / spread } else { 1.0 };
    let reaches = |trials: u64| {
        let side = || [TrialGroup { weight: 1.0, share: middle, trials: cases * real(trials) / ratio }];
        let error = (2.0 * variance / (cases * real(trials))).sqrt();
        // It misses either end in half of what is left.
        reach_of_limit(&side(), &side(), two_sided_z(1.0 - 2.0 * alpha)) + two_sided_z(power) * error <= margin
    };
    if shares.is_empty() || !reaches(MOST_OF_A_CASE) {
        return None;
    }
    let (mut low, mut high) = (0, MOST_OF_A_CASE);
    while high - low > 1 {
        let trials = u64::midpoint(low, high);
        *(if reaches(trials) { &mut high } else { &mut low }) = trials;
    }
    Some(high)
}

// How much more the candidate takes than the baseline: tokens, cost, seconds, commands.
//
// Amounts differ by factors from case to case, so they are compared as ratios within a case. The estimate is the mean
// over the given cases of `mean ln candidate − mean ln baseline`; its `exp` is shown.

/// The amounts of a case on both sides, one for each trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Amounts {
    /// The baseline's.
    pub baseline: Vec<f64>,
    /// The candidate's.
    pub candidate: Vec<f64>,
}

/// The candidate's amount divided by the baseline's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Ratio {
    /// The ratio of geometric means, paired by case: 1.12 means 12 % more.
    pub ratio: f64,
    /// The interval of the true ratio. Null for a single case without two trials on each side, or if all cases
    /// changed by exactly the same factor.
    pub interval: Option<Interval>,
    /// The probability of a ratio at least as far from 1 if nothing changed. Null without an interval.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub p: Option<f64>,
    /// The number of cases with amounts on both sides.
    pub cases: usize,
    /// The number of cases with amounts on one side only. They are not counted.
    pub one_side_only: usize,
    /// The number of amounts that are not positive after `plus` is added. They are not counted.
    pub unusable: usize,
}

/// The ratio over `cases`. `None` if no case has amounts on both sides. `plus` is added to every amount before its
/// logarithm: 0 for amounts that are never 0 (tokens, cost, seconds), 1 for counts that may be 0 (commands).
///
/// If every case has two trials on each side, the interval is Welch's on logarithms, stratified by case. The variance
/// is `Σ (s²_A/n_A + s²_B/n_B) / C²`, the degrees of freedom are Satterthwaite's (Biometrics Bulletin 2 (1946) 110).
/// Otherwise the interval is Student's over the differences of the cases. Up to 16 cases, p is then exact: the share of
/// all ways to exchange the sides within cases whose mean is at least as far from 0 (Fisher, The Design of Experiments
/// (1935), section 21).
pub fn amount_ratio(cases: &[Amounts], plus: f64, level: f64) -> Option<Ratio> {
    let usable = |amount: &&f64| amount.is_finite() && **amount + plus > 0.0;
    let logarithms =
        |amounts: &[f64]| AmountSample::of(amounts.iter().filter(usable).map(|amount| (amount + plus).ln()));
    let samples: Vec<(AmountSample, AmountSample)> =
        cases.iter().map(|case| (logarithms(&case.baseline), logarithms(&case.candidate))).collect();
    let given: usize = cases.iter().map(|case| case.baseline.len() + case.candidate.len()).sum();
    let used: usize = samples.iter().map(|(a, b)| a.count + b.count).sum();
    let one_sided = samples.iter().filter(|(a, b)| (a.count == 0) != (b.count == 0)).count();
    let pairs: Vec<(AmountSample, AmountSample)> =
        samples.into_iter().filter(|(a, b)| a.count > 0 && b.count > 0).collect();
    if pairs.is_empty() {
        return None;
    }
    let differences: Vec<f64> = pairs.iter().map(|(a, b)| b.mean - a.mean).collect();
    let all = AmountSample::of(differences.iter().copied());
    let repeated = pairs.iter().all(|(a, b)| a.count > 1 && b.count > 1);
    let error = if repeated { StandardError::within(&pairs) } else { StandardError::between(&all) };
    let error = Some(error).filter(|error| error.deviation > f64::EPSILON);
    let exact = !repeated && differences.len() <= EXACT;
    let p =
        error.map(
            |error| {
                if exact { sign_flip(&differences) } else { t_two_sided(all.mean / error.deviation, error.freedom) }
            },
        );
    let interval = error.map(|error| {
        let reach = t_quantile(0.5 + level / 2.0, error.freedom) * error.deviation;
        Interval { low: (all.mean - reach).exp(), high: (all.mean + reach).exp() }
    });
    let cases = differences.len();
    Some(Ratio { ratio: all.mean.exp(), interval, p, cases, one_side_only: one_sided, unusable: given - used })
}

/// Up to this many cases, all ways to exchange the sides are tried: at most 65,536.
const EXACT: usize = 16;

/// The mean and variance of some numbers.
struct AmountSample {
    count: usize,
    mean: f64,
    /// The variance, divided by `count − 1`; 0 for a single number.
    variance: f64,
}

impl AmountSample {
    fn of(numbers: impl Iterator<Item = f64>) -> Self {
        let numbers: Vec<f64> = numbers.collect();
        let count = numbers.len();
        let mean = if count == 0 { 0.0 } else { numbers.iter().sum::<f64>() / len(count) };
        let squares: f64 = numbers.iter().map(|number| (number - mean).powi(2)).sum();
        Self { count, mean, variance: if count < 2 { 0.0 } else { squares / len(count - 1) } }
    }
}

/// The precision of a mean.
#[derive(Clone, Copy)]
struct StandardError {
    /// Its standard error.
    deviation: f64,
    /// The degrees of freedom of the standard error.
    freedom: f64,
}

impl StandardError {
    /// The precision of the mean difference, by the variance of trials within each case and side.
    fn within(pairs: &[(AmountSample, AmountSample)]) -> Self {
        let samples = pairs.iter().flat_map(|(a, b)| [a, b]);
        let parts: Vec<(f64, f64)> =
            samples.map(|sample| (sample.variance / len(sample.count), len(sample.count - 1))).collect();
        let variance: f64 = parts.iter().map(|(part, _)| part).sum();
        let freedom = variance.powi(2) / parts.iter().map(|(part, free)| part.powi(2) / free).sum::<f64>();
        Self { deviation: variance.sqrt() / len(pairs.len()), freedom }
    }

    /// The precision of the mean difference, by the variance of the differences of the cases.
    fn between(all: &AmountSample) -> Self {
        Self { deviation: (all.variance / len(all.count)).sqrt(), freedom: len(all.count - 1) }
    }
}

/// The share of all ways to choose the signs of `differences` whose sum is at least as far from 0.
fn sign_flip(differences: &[f64]) -> f64 {
    let seen = differences.iter().sum::<f64>().abs() * (1.0 - 1e-12);
    let mut sums = vec![0.0];
    for difference in differences {
        sums = sums.iter().flat_map(|sum| [sum + difference, sum - difference]).collect();
    }
    len(sums.iter().filter(|sum: &&f64| sum.abs() >= seen).count()) / len(sums.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::proportion::{score_high, score_low};
    use crate::stats::reference::{close, number, section};

    #[test]
    fn cases_that_are_alike_have_nearly_wilsons_interval_of_all_their_trials() {
        let (mean, found) = mean_of(&[Rate::new(15, 25); 4], 0.95).expect("trials");
        close(mean, 0.6, &"mean");
        let together = wilson(Rate::new(60, 100), 0.95);
        assert!(found.low < together.low && together.high < found.high, "{found:?}");
        // One more trial of each case at the rate of all: since cases might differ, 100 trials count as a few less.
        let variance = 15.6 * 10.4 / (26.0 * 26.0 - 25.0);
        let (trials, z) = (100.0 * 0.6 * 0.4 / variance, two_sided_z(0.95));
        close(found.low, score_low(0.6 - 0.5 / trials, trials, z), &"low");
        close(found.high, score_high(0.6 + 0.5 / trials, trials, z), &"high");
    }

    #[test]
    fn as_many_trials_as_are_said_show_that_there_is_no_difference_and_seldom_hide_one() {
        let mut world = fastrand::Rng::with_seed(5);
        let rates = [0.9, 0.9, 0.8, 0.5, 0.3, 1.0];
        let mut tried = |trials: u64, loss: f64| -> Vec<Stratum> {
            let mut rate = |share: f64| Rate::new((0..trials).filter(|_| world.f64() < share).count() as u64, trials);
            rates.iter().map(|share| Stratum { baseline: rate(*share), candidate: rate(share - loss) }).collect()
        };
        let needed = trials_to_show_none(&tried(200, 0.0), 0.1, 0.05, 0.8).expect("a number");
        assert!((20..=100).contains(&needed), "{needed}");
        let mut shown = |loss: f64| {
            let is_shown = |_: &u64| {
                let found = of_two_one_sided_tests(&tried(needed, loss), 0.05).expect("cases");
                found.low > -0.1 && found.high < 0.1
            };
            (0..500).filter(is_shown).count()
        };
        // 80 and 5 % of 500, and three standard errors.
        let (without, with) = (shown(0.0), shown(0.1));
        assert!((373..=450).contains(&without) && with <= 40, "{without} {with}");
        assert_eq!(trials_to_show_none(&[], 0.1, 0.05, 0.8), None);
        assert_eq!(trials_to_show_none(&tried(5, 0.0), 1e-4, 0.05, 0.8), None);
    }

    #[test]
    fn cases_that_all_passed_leave_doubt() {
        let (_, found) = mean_of(&[Rate::new(5, 5); 3], 0.95).expect("trials");
        close(found.low, score_low(1.0 - 0.5 / 15.0, 15.0, two_sided_z(0.95)), &"as one case of 15 trials");
    }

    #[test]
    fn cases_with_few_and_with_many_trials_are_parts_whose_limits_share_the_error() {
        let (mean, found) = mean_of(&[Rate::new(1, 2), Rate::new(60, 100)], 0.95).expect("trials");
        close(mean, 0.55, &"mean");
        let of_few = |z: f64| 0.5 * (score_high(0.5 + 0.25, 2.0, z) - 0.5);
        let of_many = |z: f64| 0.5 * (score_high(0.6 + 0.005, 100.0, z) - 0.6);
        let z = two_sided_z(0.95);
        let (few, many) = (of_few(z), of_many(z));
        let root = few.hypot(many);
        close(found.high, 0.55 + of_few(z * few / root) + of_many(z * many / root), &"high");
    }

    #[test]
    fn estimates_have_the_interval_of_as_many_trials() {
        let (share, found) = mean_of_estimates(&[(0.5, 3), (0.9, 6)], 0.95).expect("estimates");
        close(share, 0.7, &"mean");
        let (trials, z) = (4.0 / (1.0 / 3.0 + 1.0 / 6.0), two_sided_z(0.95));
        close(found.low, score_low(0.7 - 0.5 / trials, trials, z), &"low");
        close(found.high, score_high(0.7 + 0.5 / trials, trials, z), &"high");
        assert_eq!(mean_of_estimates(&[], 0.95), None);
    }

    #[test]
    fn a_case_without_trials_is_not_counted() {
        let one = Rate::new(7, 10);
        assert_eq!(mean_of(&[one, Rate::default()], 0.95), Some((0.7, wilson(one, 0.95))));
        assert_eq!(mean_of(&[Rate::default()], 0.95), None);
    }

    fn strata(cases: &[(u64, u64, u64, u64)]) -> Vec<Stratum> {
        let of = |&(xa, na, xb, nb): &(u64, u64, u64, u64)| Stratum {
            baseline: Rate::new(xa, na),
            candidate: Rate::new(xb, nb),
        };
        cases.iter().map(of).collect()
    }

    fn interval(cases: &[(u64, u64, u64, u64)]) -> Interval {
        of(&strata(cases), 0.95).expect("cases").interval
    }

    #[test]
    fn five_of_five_against_five_of_five_leaves_room_for_a_difference() {
        let found = interval(&[(5, 5, 5, 5)]);
        assert!(found.low < -0.4 && found.high > 0.4, "{found:?}");
    }

    #[test]
    fn many_trials_come_to_newcombes_interval() {
        // The continuity correction is half a trial on each side.
        let wilson = |x: f64, n: f64| {
            let z = two_sided_z(0.95);
            (score_low(x / n, n, z), score_high(x / n, n, z))
        };
        let ((xa, na), (xb, nb)) = ((5600.0, 7000.0), (4800.0, 8000.0));
        let ((la, ua), (lb, ub)) = (wilson(xa, na), wilson(xb, nb));
        let (pa, pb): (f64, f64) = (xa / na, xb / nb);
        let low = pb - pa - (pb - lb).hypot(ua - pa);
        let high = pb - pa + (ub - pb).hypot(pa - la);
        let found = interval(&[(5600, 7000, 4800, 8000)]);
        assert!((found.low - low).abs() < 3e-4 && (found.high - high).abs() < 3e-4, "{found:?} {low} {high}");
    }

    #[test]
    fn exchanging_the_arms_mirrors_the_interval() {
        let one = interval(&[(5, 5, 1, 4), (3, 5, 2, 3), (9, 30, 5, 10)]);
        let other = interval(&[(1, 4, 5, 5), (2, 3, 3, 5), (5, 10, 9, 30)]);
        assert!((one.low + other.high).abs() < 1e-12 && (one.high + other.low).abs() < 1e-12);
    }

    #[test]
    fn cases_that_always_pass_or_always_fail_tell_more_than_ones_that_do_either() {
        let steady = interval(&[(10, 10, 10, 10), (0, 10, 0, 10)]);
        let shaky = interval(&[(5, 10, 5, 10), (5, 10, 5, 10)]);
        assert!(steady.high < shaky.high / 1.5, "{steady:?} {shaky:?}");
    }

    #[test]
    fn cases_weigh_the_same_however_often_they_were_tried() {
        let found = of(&strata(&[(1, 1, 0, 1), (100, 100, 100, 100), (0, 0, 1, 1)]), 0.95).expect("cases");
        assert_eq!((found.cases, found.difference.to_bits()), (2, (-0.5_f64).to_bits()));
        assert_eq!(of(&strata(&[(1, 1, 0, 0)]), 0.95), None);
    }

    fn case(a: &[f64], b: &[f64]) -> Amounts {
        Amounts { baseline: a.to_vec(), candidate: b.to_vec() }
    }

    #[test]
    fn one_trial_a_case_is_students_interval_and_the_exact_sign_flip() {
        let reference = section("paired_amounts");
        let differences: Vec<f64> = reference["diffs"].as_array().expect("rows").iter().map(number).collect();
        // Amounts whose logarithms differ by a thousandth of the reference's differences.
        let cases: Vec<Amounts> = differences.iter().map(|by| case(&[7.0], &[7.0 * (by / 1000.0).exp()])).collect();
        let found = amount_ratio(&cases, 0.0, 0.95).expect("cases");
        close(found.ratio.ln() * 1000.0, number(&reference["mean"]), &"mean");
        close(found.p.expect("a p"), number(&reference["signflip_exact_two_sided_p"]), &"p");
        let interval = found.interval.expect("an interval");
        for (end, expected) in [interval.low, interval.high].into_iter().zip([0, 1]) {
            close(end.ln() * 1000.0, number(&reference["t_ci"][expected]), &"interval");
        }
    }

    #[test]
    fn repeated_trials_of_one_case_are_welchs_test() {
        let of = |numbers: &[f64]| numbers.iter().map(|number: &f64| number.exp()).collect::<Vec<f64>>();
        let found =
            amount_ratio(&[case(&of(&[1.0, 2.0, 4.0, 3.0]), &of(&[6.0, 5.0, 10.0]))], 0.0, 0.95).expect("a case");
        // Means 2.5 and 7, variances 5/3 and 7.
        let (in_a, in_b): (f64, f64) = (5.0 / 3.0 / 4.0, 7.0 / 3.0);
        let freedom = (in_a + in_b).powi(2) / (in_a.powi(2) / 3.0 + in_b.powi(2) / 2.0);
        let reach = t_quantile(0.975, freedom) * (in_a + in_b).sqrt();
        let interval = found.interval.expect("an interval");
        close(found.ratio.ln(), 4.5, &"difference");
        close(interval.low.ln(), 4.5 - reach, &"low");
        close(interval.high.ln(), 4.5 + reach, &"high");
        close(found.p.expect("a p"), t_two_sided(4.5 / (in_a + in_b).sqrt(), freedom), &"p");
    }

    #[test]
    fn repeated_trials_of_several_cases_are_welchs_test_within_cases() {
        let of = |numbers: [f64; 2]| numbers.map(f64::exp);
        let cases = [case(&of([0.0, 2.0]), &of([1.0, 5.0])), case(&of([1.0, 2.0]), &of([3.0, 6.0]))];
        let found = amount_ratio(&cases, 0.0, 0.95).expect("cases");
        // The differences are 2 and 3. The variances are 2, 8, 1/2 and 9/2, each of two trials.
        let (error, freedom) = (7.5_f64.sqrt() / 2.0, 7.5 * 7.5 / (1.0 + 16.0 + 1.0 / 16.0 + 81.0 / 16.0));
        close(found.ratio.ln(), 2.5, &"difference");
        close(found.p.expect("a p"), t_two_sided(2.5 / error, freedom), &"p");
        let interval = found.interval.expect("an interval");
        close(interval.high.ln(), 2.5 + t_quantile(0.975, freedom) * error, &"high");
    }

    #[test]
    fn one_trial_on_one_side_leaves_only_the_differences_of_cases() {
        let twice = [case(&[1.0, 2.0], &[4.0]), case(&[1.0, 3.0], &[8.0]), case(&[2.0, 3.0], &[9.0])];
        let turned: Vec<Amounts> = twice.iter().map(|both| case(&both.candidate, &both.baseline)).collect();
        for cases in [&twice[..], &turned] {
            close(
                amount_ratio(cases, 0.0, 0.95).expect("cases").p.expect("a p"),
                0.25,
                &"2 of 8 ways to choose the signs",
            );
        }
    }

    #[test]
    fn what_cannot_be_compared_is_counted_and_in_no_figure() {
        let one_sided = [case(&[3.0], &[]), case(&[], &[5.0]), case(&[], &[0.0, 6.0])];
        let mut cases = vec![case(&[1.0, 0.0], &[2.0]), case(&[4.0], &[8.0, f64::NAN])];
        cases.extend(one_sided.clone());
        let found = amount_ratio(&cases, 0.0, 0.95).expect("cases");
        assert_eq!((found.cases, found.one_side_only, found.unusable), (2, 3, 3));
        close(found.ratio, 2.0, &"ratio");
        assert_eq!(found.interval, None, "both doubled to the last digit");
        let counted = amount_ratio(&cases[..1], 1.0, 0.95).expect("a case");
        assert_eq!(counted.unusable, 0);
        close(counted.ratio, 3.0 / 2_f64.sqrt(), &"one more of each: 3 against the geometric mean of 2 and 1");
        assert_eq!(amount_ratio(&one_sided, 0.0, 0.95), None);
    }
}
