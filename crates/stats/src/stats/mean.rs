//! The mean rate over the given cases, weighted equally, and its interval. Cases with about equally many trials form a
//! part.

use std::collections::BTreeMap;

use super::Interval;
use super::proportion::{Rate, score_high, score_low, wilson};
use super::special::{len, real, two_sided_z};

/// The mean of these estimates of rates, each of which varies at most as much as the share of so many trials; and its interval, which
/// is that of as many trials. `None` without estimates.
pub fn of_estimates(estimates: &[(f64, u64)], level: f64) -> Option<(f64, Interval)> {
    let count = len(estimates.len());
    let share = estimates.iter().map(|(share, _)| share).sum::<f64>() / count;
    let trials = count * count / estimates.iter().map(|(_, trials)| 1.0 / real(*trials)).sum::<f64>();
    let (all, z) = ([TrialGroup { weight: 1.0, share, trials }], two_sided_z(level));
    let interval = Interval { low: (share - all[0].down(z)).max(0.0), high: (share + all[0].up(z)).min(1.0) };
    (!estimates.is_empty()).then_some((share, interval))
}

/// A case: its result on one side, and its result on all sides together.
#[derive(Clone, Copy)]
pub(super) struct CaseMean {
    pub own: Rate,
    /// The result on all sides, `own` included.
    pub known: Rate,
}

/// The mean rate of the `cases` with trials, and its interval. `None` if no case has trials. The limits are those of
/// [`difference`](super::difference::of) for one side. A single case has Wilson's interval.
pub fn of(cases: &[Rate], level: f64) -> Option<(f64, Interval)> {
    let tried = cases.iter().copied().filter(|rate| rate.trials > 0);
    let cases: Vec<CaseMean> = tried.map(|rate| CaseMean { own: rate, known: rate }).collect();
    if cases.is_empty() {
        return None;
    }
    if let [only] = cases.as_slice() {
        return Some((only.own.share()?, wilson(only.own, level)));
    }
    let (parts, z) = (parts(&cases), two_sided_z(level));
    let mean = mean(&parts);
    let interval =
        Interval { low: (mean - reach(&parts, &[], z)).max(0.0), high: (mean + reach(&[], &parts, z)).min(1.0) };
    Some((mean, interval))
}

/// The cases of a side with about equally many trials.
pub(super) struct TrialGroup {
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
pub(super) fn reach(falling: &[TrialGroup], rising: &[TrialGroup], z: f64) -> f64 {
    let all = |by: &dyn Fn(usize) -> f64| -> Vec<f64> {
        let down = falling.iter().enumerate().map(|(at, part)| part.down(by(at)));
        down.chain(rising.iter().enumerate().map(|(at, part)| part.up(by(falling.len() + at)))).collect()
    };
    let full = all(&|_| z);
    let root = full.iter().map(|reach| reach * reach).sum::<f64>().sqrt();
    if root == 0.0 { 0.0 } else { all(&|at| z * full[at] / root).iter().sum() }
}

/// The mean of all `parts` together.
pub(super) fn mean(parts: &[TrialGroup]) -> f64 {
    parts.iter().map(|part| part.weight * part.share).sum()
}

/// The parts of a side: its cases, grouped by the power of two of their number of trials, so that a case with one trial
/// is not in the same part as one with many. Every case has trials.
pub(super) fn parts(cases: &[CaseMean]) -> Vec<TrialGroup> {
    let mut by_size: BTreeMap<u32, Vec<CaseMean>> = BTreeMap::new();
    for case in cases {
        by_size.entry(case.own.trials.ilog2()).or_default().push(*case);
    }
    by_size.values().map(|alike| part(alike, len(cases.len()))).collect()
}

fn part(cases: &[CaseMean], all: f64) -> TrialGroup {
    let count = len(cases.len());
    let mean = |of: fn(&CaseMean) -> Rate| cases.iter().filter_map(|case| of(case).share()).sum::<f64>() / count;
    let middle = mean(|case| case.known);
    let spread = middle * (1.0 - middle);
    let per_trial = |case: &CaseMean| 1.0 / real(case.own.trials);
    let even: f64 = cases.iter().map(per_trial).sum();
    let own: f64 = cases.iter().map(|case| within(case.known, middle) * per_trial(case)).sum();
    // A single case differs from no other.
    let ratio = if cases.len() > 1 && spread > 0.0 { own / (spread * even) } else { 1.0 };
    TrialGroup { weight: count / all, share: mean(|case| case.own), trials: count * count / even / ratio }
}

/// The variance of a trial of a case, from its trials and one more at the rate of all cases. It is unbiased if all
/// cases are equal, and otherwise too large rather than too small.
fn within(known: Rate, middle: f64) -> f64 {
    let trials = real(known.trials);
    let product = (real(known.passed) + middle) * (real(known.failed()) + 1.0 - middle);
    product / ((trials + 1.0) * (trials + 1.0) - trials)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::reference::close;

    #[test]
    fn cases_that_are_alike_have_nearly_wilsons_interval_of_all_their_trials() {
        let (mean, found) = of(&[Rate::new(15, 25); 4], 0.95).expect("trials");
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
    fn cases_that_all_passed_leave_doubt() {
        let (_, found) = of(&[Rate::new(5, 5); 3], 0.95).expect("trials");
        close(found.low, score_low(1.0 - 0.5 / 15.0, 15.0, two_sided_z(0.95)), &"as one case of 15 trials");
    }

    #[test]
    fn cases_with_few_and_with_many_trials_are_parts_whose_limits_share_the_error() {
        let (mean, found) = of(&[Rate::new(1, 2), Rate::new(60, 100)], 0.95).expect("trials");
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
        let (share, found) = of_estimates(&[(0.5, 3), (0.9, 6)], 0.95).expect("estimates");
        close(share, 0.7, &"mean");
        let (trials, z) = (4.0 / (1.0 / 3.0 + 1.0 / 6.0), two_sided_z(0.95));
        close(found.low, score_low(0.7 - 0.5 / trials, trials, z), &"low");
        close(found.high, score_high(0.7 + 0.5 / trials, trials, z), &"high");
        assert_eq!(of_estimates(&[], 0.95), None);
    }

    #[test]
    fn a_case_without_trials_is_not_counted() {
        let one = Rate::new(7, 10);
        assert_eq!(of(&[one, Rate::default()], 0.95), Some((0.7, wilson(one, 0.95))));
        assert_eq!(of(&[Rate::default()], 0.95), None);
    }
}
