//! The mean rate over the cases at hand, each weighing the same: in parts of cases that were tried about equally often, and
//! how far the truth may be from the results of all parts.

use std::collections::BTreeMap;

use super::Interval;
use super::proportion::{Rate, score_high, score_low, wilson};
use super::special::{len, real, two_sided_z};

/// A case: the result of a side in it, and what is known of it by all sides.
#[derive(Clone, Copy)]
pub(super) struct CaseMean {
    pub own: Rate,
    /// Holds `own`.
    pub known: Rate,
}

/// The mean of the rates of `cases` that were tried, and where it may lie; none where none was. The limits are those of
/// [`difference`](super::difference::of), of one side; one case alone has Wilson's.
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

/// The cases of a side that were tried about equally often.
pub(super) struct TrialGroup {
    /// The share of all cases.
    weight: f64,
    /// The mean of their rates.
    share: f64,
    /// How many trials of one rate would tell as much about that mean.
    trials: f64,
}

impl TrialGroup {
    /// How far up its weighted mean may be above what was seen, `z` standard errors off.
    fn up(&self, z: f64) -> f64 {
        self.weight * (score_high(self.share + 0.5 / self.trials, self.trials, z) - self.share).max(0.0)
    }

    /// How far down.
    fn down(&self, z: f64) -> f64 {
        self.weight * (self.share - score_low(self.share - 0.5 / self.trials, self.trials, z)).max(0.0)
    }
}

/// How far the truth may be from what was seen where the parts of `falling` are lower than seen and those of `rising`
/// higher.
pub(super) fn reach(falling: &[TrialGroup], rising: &[TrialGroup], z: f64) -> f64 {
    let all = |by: &dyn Fn(usize) -> f64| -> Vec<f64> {
        let down = falling.iter().enumerate().map(|(at, part)| part.down(by(at)));
        down.chain(rising.iter().enumerate().map(|(at, part)| part.up(by(falling.len() + at)))).collect()
    };
    let full = all(&|_| z);
    let root = full.iter().map(|reach| reach * reach).sum::<f64>().sqrt();
    if root == 0.0 { 0.0 } else { all(&|at| z * full[at] / root).iter().sum() }
}

/// The mean that `parts` come to together.
pub(super) fn mean(parts: &[TrialGroup]) -> f64 {
    parts.iter().map(|part| part.weight * part.share).sum()
}

/// The parts of a side: its cases by the power of two of their trials, so that a case that was tried once is not taken to
/// be like one that was tried often. Every case was tried.
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
    // One case has no other to be unlike to.
    let ratio = if cases.len() > 1 && spread > 0.0 { own / (spread * even) } else { 1.0 };
    TrialGroup { weight: count / all, share: mean(|case| case.own), trials: count * count / even / ratio }
}

/// The variance of one trial of a case, by its trials and one more at the rate of all cases: without bias where all cases
/// are alike, and too large rather than too small where they are not.
fn within(known: Rate, middle: f64) -> f64 {
    let trials = real(known.trials);
    let product = (real(known.passed) + middle) * (real(known.failed()) + 1.0 - middle);
    product / ((trials + 1.0) * (trials + 1.0) - trials)
}
