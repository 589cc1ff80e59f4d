//! Rates and shares as text.

use crate::results::share::CaseShare;
use crate::stats::proportion::{Rate, wilson};
use crate::stats::{Interval, LEVEL};

/// `4/5`.
pub fn fraction(rate: Rate) -> String {
    format!("{}/{}", rate.passed, rate.trials)
}

/// `80 % (38–96)`: a share with its interval.
pub fn share(share: f64, interval: Interval) -> String {
    format!("{} % ({})", points(share), range(interval))
}

/// `80 % (38–96)`. `None` with fewer than two trials: a single trial says no more than its verdict.
pub fn measured(rate: Rate) -> Option<String> {
    rate.share().filter(|_| rate.trials > 1).map(|passed| share(passed, wilson(rate, LEVEL)))
}

/// `4/5, 80 % (38–96)`; `1/1` of a single trial.
pub fn whole(rate: Rate) -> String {
    measured(rate).map_or_else(|| fraction(rate), |share| format!("{}, {share}", fraction(rate)))
}

/// `80 % (38–96)` of a case. `None` with fewer than two trials.
pub fn of_case(case: CaseShare) -> Option<String> {
    case.rate.share().filter(|_| case.rate.trials > 1).map(|passed| share(passed, case.interval()))
}

/// A share in percent, rounded.
pub fn points(share: f64) -> String {
    format!("{:.0}", share * 100.0)
}

/// `38–96`.
pub fn range(interval: Interval) -> String {
    format!("{}–{}", points(interval.low), points(interval.high))
}
