//! What a month of gates is expected to take.

use crate::results::estimate::AmountRange;
use crate::stats::proportion::poisson;
use crate::stats::{LEVEL, real};

/// Weeks of a month.
const MONTH: f64 = 52.0 / 12.0;

/// By the changes of some weeks.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// The branch that has the changes.
    pub base: String,
    pub weeks: u64,
    /// Changes that touched a skill with cases.
    pub changes: u64,
    /// Trials of a month, and their 95 % range by the number of changes.
    pub trials: f64,
    pub range: AmountRange<f64>,
    /// The cost of a trial in US dollars, if it is known.
    pub of_trial: Option<AmountRange<f64>>,
    /// Whether earlier trials say what one costs. Otherwise it is estimated.
    pub is_measured: bool,
}

impl Forecast {
    /// By this number of weeks and changes, of which each takes so many trials.
    pub fn new(
        base: String,
        (weeks, changes): (u64, u64),
        of_change: f64,
        of_trial: Option<AmountRange<f64>>,
        is_measured: bool,
    ) -> Self {
        let a_month = |changes: f64| changes / real(weeks.max(1)) * MONTH * of_change;
        let counted = poisson(changes, LEVEL);
        let range = AmountRange { low: a_month(counted.low), high: a_month(counted.high) };
        Self { base, weeks, changes, trials: a_month(real(changes)), range, of_trial, is_measured }
    }

    /// The cost of a month in US dollars: the middle, and the range.
    pub fn cost_usd(&self) -> Option<(f64, AmountRange<f64>)> {
        let AmountRange { low, high } = self.of_trial?;
        let range = AmountRange { low: self.range.low * low, high: self.range.high * high };
        Some((self.trials * f64::midpoint(low, high), range))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_has_the_changes_of_its_weeks_with_a_range() {
        let cost = AmountRange { low: 0.05, high: 0.05 };
        let forecast = Forecast::new("main".to_owned(), (12, 30), 10.0, Some(cost), true);
        assert!((forecast.trials - 108.33).abs() < 0.01, "{forecast:?}");
        assert!((forecast.range.low - 73.1).abs() < 1.0 && (forecast.range.high - 154.7).abs() < 1.0, "{forecast:?}");
        assert!(forecast.cost_usd().is_some_and(|(cost, _)| (cost - 5.42).abs() < 0.01), "{forecast:?}");
        let none = Forecast::new("main".to_owned(), (12, 0), 0.0, None, false);
        assert_eq!((none.trials, none.cost_usd()), (0.0, None));
    }
}
