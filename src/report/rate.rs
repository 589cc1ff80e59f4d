//! Rates and shares as people read them.

use crate::results::share::CaseShare;
use crate::results::summary::CaseCounts;
use crate::stats::Interval;
use crate::stats::LEVEL;
use crate::stats::proportion::{Rate, wilson};

/// `4/5`.
#[must_use]
pub fn fraction(rate: Rate) -> String {
    format!("{}/{}", rate.passed, rate.trials)
}

/// `80 % (38–96)`: the share, and where the true one may lie.
#[must_use]
pub fn share(share: f64, interval: Interval) -> String {
    format!("{} % ({})", points(share), range(interval))
}

/// `80 % (38–96)` of a rate with more than one trial: one alone says no more than its verdict.
#[must_use]
pub fn measured(rate: Rate) -> Option<String> {
    rate.share().filter(|_| rate.trials > 1).map(|passed| share(passed, wilson(rate, LEVEL)))
}

/// `4/5, 80 % (38–96)`; `1/1` of a single trial.
#[must_use]
pub fn whole(rate: Rate) -> String {
    measured(rate).map_or_else(|| fraction(rate), |share| format!("{}, {share}", fraction(rate)))
}

/// `80 % (38–96)` of a case, by the interval that its trials allow for.
#[must_use]
pub fn of_case(case: &CaseCounts) -> Option<String> {
    tried(case.tried())
}

/// The same of a case of which only that is known.
#[must_use]
pub fn tried(case: CaseShare) -> Option<String> {
    case.rate.share().filter(|_| case.rate.trials > 1).map(|passed| share(passed, case.interval()))
}

/// A share in points: hundredths, rounded.
#[must_use]
pub fn points(share: f64) -> String {
    format!("{:.0}", share * 100.0)
}

/// `38–96`.
#[must_use]
pub fn range(interval: Interval) -> String {
    format!("{}–{}", points(interval.low), points(interval.high))
}
