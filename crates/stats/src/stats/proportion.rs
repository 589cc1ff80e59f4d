//! A pass rate and its interval.

use serde::Serialize;

use super::Interval;
use super::special::{real, two_sided_z};

/// `passed` of `trials`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rate {
    /// Trials that passed; never more than `trials`.
    pub passed: u64,
    /// Trials that were measured.
    pub trials: u64,
}

impl Rate {
    /// `passed` of `trials`; at most `trials` passes are counted.
    pub fn new(passed: u64, trials: u64) -> Self {
        Self { passed: passed.min(trials), trials }
    }

    /// The share that passed. `None` without trials.
    pub fn share(self) -> Option<f64> {
        (self.trials > 0).then(|| real(self.passed) / real(self.trials))
    }

    /// Trials that did not pass.
    pub fn failed(self) -> u64 {
        self.trials - self.passed
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { passed: self.passed + other.passed, trials: self.trials + other.trials }
    }

    /// Counts one trial.
    pub fn add(&mut self, passed: bool) {
        self.passed += u64::from(passed);
        self.trials += 1;
    }
}

/// Wilson's score interval, which is shown next to a single rate. Its coverage is near `level` on average, also for few
/// trials and at 0 and 1. Without trials it is 0 to 1.
///
/// `(p̂ + z²/2n ± z √(p̂(1−p̂)/n + z²/4n²)) / (1 + z²/n)`: Wilson, JASA 22 (1927) 209.
pub fn wilson(rate: Rate, level: f64) -> Interval {
    let Some(share) = rate.share() else { return EVERYTHING };
    let (trials, z) = (real(rate.trials), two_sided_z(level));
    Interval { low: score_low(share, trials, z), high: score_high(share, trials, z) }
}

/// Wilson's upper limit, `z` standard errors above the share `share` of `trials`. `trials` does not have to be a whole
/// number.
pub(super) fn score_high(share: f64, trials: f64, z: f64) -> f64 {
    if share >= 1.0 {
        return 1.0;
    }
    let square = z * z / trials;
    let root = (share * (1.0 - share) / trials + square / (4.0 * trials)).sqrt();
    (z.mul_add(root, share + square / 2.0) / (1.0 + square)).clamp(0.0, 1.0)
}

/// Wilson's lower limit: 1 minus the upper limit of the failures.
pub(super) fn score_low(share: f64, trials: f64, z: f64) -> f64 {
    1.0 - score_high(1.0 - share, trials, z)
}

const EVERYTHING: Interval = Interval { low: 0.0, high: 1.0 };

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::reference::{count, ends, rows};

    #[test]
    fn intervals_of_one_rate_agree_with_statsmodels() {
        for row in rows("proportion_95") {
            let rate = Rate::new(count(&row["x"]), count(&row["n"]));
            ends(wilson(rate, 0.95), &row["wilson"], &row);
        }
    }

    #[test]
    fn without_trials_every_rate_is_possible() {
        assert_eq!(wilson(Rate::default(), 0.95), EVERYTHING);
        assert_eq!(Rate::default().share(), None);
    }
}
