//! The share of trials that passed, with its interval. Every report takes both from here.

use serde::Serialize;

use crate::decide::threshold::{fewest, rate_on_average};
use crate::stats::proportion::{Rate, wilson};
use crate::stats::sequence::beta_binomial;
use crate::stats::{Interval, LEVEL, difference};

/// A rate with its share and Wilson's interval.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Share {
    #[serde(flatten)]
    pub rate: Rate,
    /// 0 to 1; null without trials.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub share: Option<f64>,
    /// The 95 % confidence interval of the share.
    pub interval: Interval,
}

impl From<Rate> for Share {
    fn from(rate: Rate) -> Self {
        Self { rate, share: rate.share(), interval: wilson(rate, LEVEL) }
    }
}

/// The measured trials of a case.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CaseShare {
    pub rate: Rate,
    /// The threshold about which trials ran until they decided. None if their number was fixed before they began.
    pub until_decided: Option<f64>,
}

impl CaseShare {
    /// The rate that is true on average. If trials ran until they decided something, this is not the share that passed.
    pub fn share(self) -> Option<f64> {
        match self.until_decided {
            Some(threshold) => rate_on_average(self.rate, threshold),
            None => self.rate.share(),
        }
    }

    /// So many trials that were fixed in advance tell as much about the rate, or less.
    fn fixed_trials(self) -> u64 {
        self.until_decided.map_or(self.rate.trials, |threshold| fewest(threshold).min(self.rate.trials))
    }

    /// The 95 % confidence interval. If trials run until they decide something, the interval holds after each of them.
    pub fn interval(self) -> Interval {
        let interval = if self.until_decided.is_some() { beta_binomial } else { wilson };
        interval(self.rate, LEVEL)
    }
}

/// The mean of the shares of these cases, weighted equally, with its interval; `None` if no case was measured, or if the rate of
/// one is not known. The mean of one case has the interval of that case.
pub fn together(cases: &[CaseShare]) -> Option<(f64, Interval)> {
    let measured: Vec<&CaseShare> = cases.iter().filter(|case| case.rate.trials > 0).collect();
    if let [only] = measured.as_slice() {
        return Some((only.share()?, only.interval()));
    }
    if measured.iter().any(|case| case.until_decided.is_some()) {
        let estimates: Option<Vec<(f64, u64)>> =
            measured.into_iter().map(|case| Some((case.share()?, case.fixed_trials()))).collect();
        return difference::mean_of_estimates(&estimates?, LEVEL);
    }
    let rates: Vec<Rate> = measured.into_iter().map(|case| case.rate).collect();
    difference::mean_of(&rates, LEVEL)
}

/// How many of `trials` must pass if the share `threshold` of them must.
pub fn needed(trials: usize, threshold: f64) -> usize {
    // Counted, so that no rounding of a product requires one more: of 3 trials, 0.66 and 2/3 both need 2.
    let share = |passed: &usize| Rate::new(*passed as u64, trials as u64).share().unwrap_or_default();
    (0..=trials).find(|passed| share(passed) >= threshold - 1e-9).unwrap_or(trials)
}
