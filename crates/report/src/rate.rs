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
    share_to(share, interval, 0)
}

/// The same, the share with so many decimals.
pub fn share_to(share: f64, interval: Interval, decimals: usize) -> String {
    format!("{} % ({})", points_to(share, decimals), range(interval))
}

/// How many decimals two shares need next to their difference: in whole numbers, equal shares may have one, and others none.
pub fn decimals(before: f64, after: f64, difference: f64) -> usize {
    usize::from((points(before) == points(after)) != (signed(difference) == signed(0.0)))
}

/// `80 % (38–96)`. `None` with fewer than two trials: a single trial says no more than its verdict.
pub fn measured(rate: Rate) -> Option<String> {
    rate.share().filter(|_| rate.trials > 1).map(|passed| share(passed, wilson(rate, LEVEL)))
}

/// `4/5, 80 % (38–96)`; `1/1` of a single trial.
pub fn whole(rate: Rate) -> String {
    measured(rate).map_or_else(|| fraction(rate), |share| format!("{}, {share}", fraction(rate)))
}

/// `80 % (38–96)` of a case; `about 80 % (38–96)` if that is not the share of its trials. `None` with fewer than two trials.
pub fn of_case(case: CaseShare) -> Option<String> {
    let passed = case.share().filter(|_| case.rate.trials > 1)?;
    let is_of_trials = case.rate.share().is_some_and(|of_trials| points(of_trials) == points(passed));
    Some(format!("{}{}", if is_of_trials { "" } else { "about " }, share(passed, case.interval())))
}

/// A share in percent, rounded.
pub fn points(share: f64) -> String {
    points_to(share, 0)
}

/// The same with so many decimals.
pub fn points_to(share: f64, decimals: usize) -> String {
    format!("{:.decimals$}", share * 100.0)
}

/// A share in percent, with as many decimals as it has.
pub fn percent(share: f64) -> String {
    ((share * 1e6).round() / 1e4).to_string()
}

/// `38–96`.
pub fn range(interval: Interval) -> String {
    format!("{}–{}", points(interval.low), points(interval.high))
}

/// A difference in points, with its sign.
pub fn signed(difference: f64) -> String {
    signed_to(difference, 0)
}

/// The same with so many decimals.
pub fn signed_to(difference: f64, decimals: usize) -> String {
    with_sign(difference * 100.0, decimals)
}

/// A number with its sign, rounded.
pub fn with_sign(number: f64, decimals: usize) -> String {
    let scale = 10_f64.powi(i32::try_from(decimals).unwrap_or_default());
    match (number * scale).round() / scale {
        0.0 => "±0".to_owned(),
        less if less < 0.0 => format!("−{:.decimals$}", -less),
        more => format!("+{more:.decimals$}"),
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
    fn shares_that_look_equal_next_to_a_difference_have_a_decimal() {
        for (before, after, shown) in [
            (0.5025, 0.495, "50.2 49.5 −0.7"),
            (0.494, 0.4955, "49.4 49.5 +0.2"),
            (0.5, 0.5, "50 50 ±0"),
            (0.5, 0.5004, "50 50 ±0"),
            (1.0 / 3.0, 2.0 / 3.0, "33 67 +33"),
        ] {
            let places = decimals(before, after, after - before);
            let [a, b] = [before, after].map(|share| points_to(share, places));
            assert_eq!(format!("{a} {b} {}", signed_to(after - before, places)), shown);
        }
    }

    #[test]
    fn a_bound_is_never_quoted_below_itself() {
        for (p, quoted) in
            [(0.0346, "0.035"), (0.0341, "0.035"), (0.101, "0.11"), (0.05, "0.050"), (0.00012, "2e-4"), (1.0, "1.00")]
        {
            assert_eq!(probability(up(p)), quoted, "{p}");
        }
    }
}
