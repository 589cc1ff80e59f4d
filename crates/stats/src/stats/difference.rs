//! The difference between the pass rates of two sides, over the given cases.
//!
//! The estimate is `Δ = mean over cases of (candidate's rate − baseline's rate)`. It is about the given cases, weighted
//! equally, not about cases that somebody might write. Cases may be as different as they like and have different
//! numbers of trials. Trials of a case are independent.

use serde::Serialize;

use super::Interval;
use super::mean::{CaseMean, mean, parts, reach};
use super::proportion::Rate;
use super::special::two_sided_z;
use super::stratified::Stratum;

/// The candidate's rate minus the baseline's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The mean rate of the cases on the baseline's side.
    pub baseline: f64,
    /// The mean rate of the cases on the candidate's side.
    pub candidate: f64,
    /// `candidate − baseline`.
    pub difference: f64,
    /// The interval of the true difference.
    pub interval: Interval,
    /// The number of cases with trials on both sides.
    pub cases: usize,
}

/// The difference over all strata with trials on both sides. `None` if there are none.
///
/// The interval adds up score limits with a continuity correction, like Newcombe's method 11 (Statistics in Medicine 17
/// (1998) 873). On each side, cases with about equally many trials form a group with an effective number of trials.
/// Newcombe takes the root of the sum of squares of all limits at `z`. Here, each limit is taken at its share of `z`,
/// and the limits are added: this is the same for many trials, and still wide enough for one. In
/// `tests/stats/statistics.rs` it covers at least 94 % of nominal 95 % over rates from 0 to 1, 1 to 50 cases and 1 to
/// 20 trials.
pub fn of(strata: &[Stratum], level: f64) -> Option<Difference> {
    let strata: Vec<Stratum> =
        strata.iter().copied().filter(|stratum| stratum.baseline.trials > 0 && stratum.candidate.trials > 0).collect();
    if strata.is_empty() {
        return None;
    }
    // By the rates of both sides together: a case that always or never passes on both varies little.
    let case = |own: Rate, stratum: &Stratum| CaseMean { own, known: stratum.baseline.plus(stratum.candidate) };
    let side = |side: fn(&Stratum) -> Rate| strata.iter().map(|of| case(side(of), of)).collect::<Vec<CaseMean>>();
    let (in_a, in_b) = (parts(&side(|stratum| stratum.baseline)), parts(&side(|stratum| stratum.candidate)));
    let (a, b) = (mean(&in_a), mean(&in_b));
    let z = two_sided_z(level);
    let interval =
        Interval { low: (b - a - reach(&in_b, &in_a, z)).max(-1.0), high: (b - a + reach(&in_a, &in_b, z)).min(1.0) };
    Some(Difference { baseline: a, candidate: b, difference: b - a, interval, cases: strata.len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::proportion::{score_high, score_low};

    fn strata(cases: &[(u64, u64, u64, u64)]) -> Vec<Stratum> {
        let of = |&(xa, na, xb, nb): &(u64, u64, u64, u64)| Stratum {
            baseline: Rate::new(xa, na),
            candidate: Rate::new(xb, nb),
        };
        cases.iter().map(of).collect()
    }

    fn interval(cases: &[(u64, u64, u64, u64)]) -> Interval {
        of(&strata(cases), 0.95).expect("cases").interval
    }

    #[test]
    fn five_of_five_against_five_of_five_leaves_room_for_a_difference() {
        let found = interval(&[(5, 5, 5, 5)]);
        assert!(found.low < -0.4 && found.high > 0.4, "{found:?}");
    }

    #[test]
    fn many_trials_come_to_newcombes_interval() {
        // The continuity correction is half a trial on each side.
        let wilson = |x: f64, n: f64| {
            let z = two_sided_z(0.95);
            (score_low(x / n, n, z), score_high(x / n, n, z))
        };
        let ((xa, na), (xb, nb)) = ((5600.0, 7000.0), (4800.0, 8000.0));
        let ((la, ua), (lb, ub)) = (wilson(xa, na), wilson(xb, nb));
        let (pa, pb): (f64, f64) = (xa / na, xb / nb);
        let low = pb - pa - (pb - lb).hypot(ua - pa);
        let high = pb - pa + (ub - pb).hypot(pa - la);
        let found = interval(&[(5600, 7000, 4800, 8000)]);
        assert!((found.low - low).abs() < 3e-4 && (found.high - high).abs() < 3e-4, "{found:?} {low} {high}");
    }

    #[test]
    fn exchanging_the_arms_mirrors_the_interval() {
        let one = interval(&[(5, 5, 1, 4), (3, 5, 2, 3), (9, 30, 5, 10)]);
        let other = interval(&[(1, 4, 5, 5), (2, 3, 3, 5), (5, 10, 9, 30)]);
        assert!((one.low + other.high).abs() < 1e-12 && (one.high + other.low).abs() < 1e-12);
    }

    #[test]
    fn cases_that_always_pass_or_always_fail_tell_more_than_ones_that_do_either() {
        let steady = interval(&[(10, 10, 10, 10), (0, 10, 0, 10)]);
        let shaky = interval(&[(5, 10, 5, 10), (5, 10, 5, 10)]);
        assert!(steady.high < shaky.high / 1.5, "{steady:?} {shaky:?}");
    }

    #[test]
    fn cases_weigh_the_same_however_often_they_were_tried() {
        let found = of(&strata(&[(1, 1, 0, 1), (100, 100, 100, 100), (0, 0, 1, 1)]), 0.95).expect("cases");
        assert_eq!((found.cases, found.difference.to_bits()), (2, (-0.5_f64).to_bits()));
        assert_eq!(of(&strata(&[(1, 1, 0, 0)]), 0.95), None);
    }
}
