//! Corrects a judge's pass rate by how often the judge is right.

use serde::Serialize;

use super::Interval;
use super::proportion::Rate;
use super::special::{real, two_sided_z};

/// A judge compared with human labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct JudgeAccuracy {
    /// The judge's passes, of the trials that people passed: its sensitivity.
    pub passed_right: Rate,
    /// The judge's failures, of the trials that people failed: its specificity.
    pub failed_right: Rate,
}

/// A judge's corrected pass rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CorrectedRate {
    /// The estimated pass rate by people, from 0 to 1.
    pub rate: f64,
    /// Its standard error.
    pub error: f64,
    /// Its interval, from 0 to 1.
    pub interval: Interval,
}

impl JudgeAccuracy {
    /// The estimated pass rate by people if this judge passed `raw`. `None` if a rate has no trials, or if the judge is
    /// not better than a coin.
    ///
    /// `θ = (q + sp − 1) / (se + sp − 1)`: Rogan and Gladen, American Journal of Epidemiology 107 (1978) 71; the
    /// variance is `(q(1−q)/n + θ² se(1−se)/n_se + (1−θ)² sp(1−sp)/n_sp) / (se + sp − 1)²`. For a rate of 0 or 1, the
    /// variance is computed with one more trial of each outcome, because a few labels are not certain.
    pub fn correct(self, raw: Rate, level: f64) -> Option<CorrectedRate> {
        let (q, se, sp) = (raw.share()?, self.passed_right.share()?, self.failed_right.share()?);
        let better = se + sp - 1.0;
        if better <= 0.0 {
            return None;
        }
        let rate = (q + sp - 1.0) / better;
        let parts = variance(raw)
            + rate.powi(2) * variance(self.passed_right)
            + (1.0 - rate).powi(2) * variance(self.failed_right);
        let error = parts.sqrt() / better;
        let reach = two_sided_z(level) * error;
        let within = |value: f64| value.clamp(0.0, 1.0);
        let interval = Interval { low: within(rate - reach), high: within(rate + reach) };
        Some(CorrectedRate { rate: within(rate), error, interval })
    }
}

fn variance(rate: Rate) -> f64 {
    let sure = rate.passed == 0 || rate.failed() == 0;
    let (passed, trials) = (real(rate.passed), real(rate.trials));
    let (passed, trials) = if sure { (passed + 0.5, trials + 1.0) } else { (passed, trials) };
    passed * (trials - passed) / trials.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::reference::{close, count, ends, number, section};

    #[test]
    fn a_corrected_rate_agrees_with_the_reference() {
        let reference = section("rogan_gladen");
        let rate = |share: &str, trials: &str| {
            let trials = count(&reference[trials]);
            let passed = number(&reference[share]) * real(trials);
            Rate::new(super::super::special::count_up(passed - 0.5), trials)
        };
        let judge = JudgeAccuracy { passed_right: rate("sens", "n_sens"), failed_right: rate("spec", "n_spec") };
        let found = judge.correct(rate("raw_rate", "n"), 0.95).expect("a judge better than a coin");
        close(found.rate, number(&reference["corrected"]), &"rate");
        close(found.error, number(&reference["se"]), &"error");
        ends(found.interval, &reference["ci95"], &"interval");
    }

    #[test]
    fn a_judge_that_was_never_wrong_on_five_labels_leaves_doubt_and_a_coin_says_nothing() {
        let judge = JudgeAccuracy { passed_right: Rate::new(5, 5), failed_right: Rate::new(5, 5) };
        let found = judge.correct(Rate::new(10, 10), 0.95).expect("a judge");
        assert!((found.rate - 1.0).abs() < 1e-12 && found.interval.low < 0.9, "{found:?}");
        // A half is added to 10 of 10 and to 5 of 5.
        let variance: f64 = 10.5 * 0.5 / 11_f64.powi(3) + 5.5 * 0.5 / 6_f64.powi(3);
        close(found.error, variance.sqrt(), &"error");
        let coin = JudgeAccuracy { passed_right: Rate::new(5, 10), failed_right: Rate::new(5, 10) };
        assert_eq!(coin.correct(Rate::new(5, 10), 0.95), None);
        assert_eq!(judge.correct(Rate::default(), 0.95), None);
    }
}
