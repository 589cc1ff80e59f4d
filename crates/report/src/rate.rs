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

/// A difference in points, with its sign.
pub fn signed(difference: f64) -> String {
    with_sign(difference * 100.0)
}

/// A number with its sign, rounded.
pub fn with_sign(number: f64) -> String {
    let rounded = number.round();
    match rounded {
        0.0 => "±0".to_owned(),
        less if less < 0.0 => format!("−{:.0}", -less),
        more => format!("+{more:.0}"),
    }
}

/// A bound, rounded up to as many digits as are quoted.
pub fn up(p: f64) -> f64 {
    let digit = match p {
        p if p >= 0.1 => 0.01,
        p if p >= 0.001 => 0.001,
        p => 10.0_f64.powf(p.log10().floor()),
    };
    // What is a whole number of digits but for the last bit stays that.
    (p / digit - 1e-9).ceil() * digit
}

/// A probability as it is quoted: two digits that count.
pub fn probability(p: f64) -> String {
    match p {
        p if p >= 0.1 => format!("{p:.2}"),
        p if p >= 0.001 => format!("{p:.3}"),
        p => format!("{p:.0e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_is_never_quoted_below_itself() {
        for (p, quoted) in
            [(0.0346, "0.035"), (0.0341, "0.035"), (0.101, "0.11"), (0.05, "0.050"), (0.00012, "2e-4"), (1.0, "1.00")]
        {
            assert_eq!(probability(up(p)), quoted, "{p}");
        }
    }
}
