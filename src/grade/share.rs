//! The verdict of a case in a mode, from the share of its trials that passed.

use crate::stats::proportion::Rate;
use crate::trial::outcome::Verdict;

/// How the trials of a case in a mode ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrialTally {
    pub passed: usize,
    pub failed: usize,
    /// Trials that could not be measured.
    pub errors: usize,
    /// Trials whose judge gave no usable answer.
    pub unscored: usize,
}

impl TrialTally {
    pub fn add(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Pass => self.passed += 1,
            Verdict::Fail => self.failed += 1,
            Verdict::Error => self.errors += 1,
            Verdict::Unscored => self.unscored += 1,
        }
    }

    pub fn all(self) -> usize {
        self.passed + self.failed + self.errors + self.unscored
    }

    /// The verdict if the share `threshold` of all trials must pass: pass if enough passed, fail if too many failed for that.
    /// In between, the trials that could not be measured decide.
    pub fn verdict(self, threshold: f64) -> Verdict {
        let needed = needed(self.all(), threshold);
        if self.all() > 0 && self.passed >= needed {
            Verdict::Pass
        } else if self.passed + self.errors + self.unscored < needed {
            Verdict::Fail
        } else if self.errors > 0 || self.all() == 0 {
            Verdict::Error
        } else {
            Verdict::Unscored
        }
    }
}

/// How many of `trials` must pass if the share `threshold` of them must.
pub fn needed(trials: usize, threshold: f64) -> usize {
    // Counted, so that no rounding of a product requires one more: of 3 trials, 0.66 and 2/3 both need 2.
    let share = |passed: &usize| Rate::new(*passed as u64, trials as u64).share().unwrap_or_default();
    (0..=trials).find(|passed| share(passed) >= threshold - 1e-9).unwrap_or(trials)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_passes_by_its_share_and_depends_on_what_was_not_measured() {
        let ended = |passed, failed, errors, unscored| TrialTally { passed, failed, errors, unscored };
        for (counts, threshold, verdict) in [
            (ended(1, 0, 0, 0), 1.0, Verdict::Pass),
            (ended(0, 1, 0, 0), 1.0, Verdict::Fail),
            (ended(1, 1, 0, 0), 0.5, Verdict::Pass),
            (ended(2, 1, 0, 0), 0.66, Verdict::Pass),
            (ended(2, 1, 0, 0), 2.0 / 3.0, Verdict::Pass),
            (ended(2, 1, 0, 0), 0.7, Verdict::Fail),
            (ended(1, 0, 1, 0), 0.5, Verdict::Pass),
            (ended(1, 0, 1, 0), 1.0, Verdict::Error),
            (ended(1, 1, 1, 0), 1.0, Verdict::Fail),
            (ended(1, 0, 0, 1), 1.0, Verdict::Unscored),
            (ended(0, 1, 2, 0), 0.6, Verdict::Error),
            (ended(0, 2, 1, 0), 0.6, Verdict::Fail),
            (ended(0, 0, 0, 0), 0.1, Verdict::Error),
        ] {
            assert_eq!(counts.verdict(threshold), verdict, "{counts:?} at {threshold}");
        }
    }
}
