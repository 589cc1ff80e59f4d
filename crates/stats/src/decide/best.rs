//! Compares several candidates with the best of them: which are not worse by more than a margin, and which are worse.
//!
//! The number of trials is fixed beforehand. Every statement rests on intervals of differences of two candidates at a time.
//!
//! - `no worse` needs all differences from the others above the margin. If it is false of a candidate, one of these
//!   intervals must be wrong, with a probability of at most its one-sided error. It is never false of the best. With
//!   `k` candidates, the error α/(k−1) of each keeps the probability of any false `no worse` at α.
//! - `worse` needs one difference below 0. There are k(k−1) of them, and each gets α/(k(k−1)).

use serde::Serialize;

use crate::stats::difference::{self, Difference};
use crate::stats::proportion::Rate;
use crate::stats::special::len;
use crate::stats::stratified::Stratum;

/// What the trials show of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum BestResult {
    /// It is not worse than the best by more than the margin.
    NoWorse,
    /// It is worse than another.
    Worse,
    /// The trials do not tell.
    Undecided,
}

/// A candidate held against the others.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BestStanding {
    /// What the trials show.
    pub result: BestResult,
    /// Its pass rate less that of the candidate from which it may be furthest behind, with the interval for `no worse`.
    pub behind: Difference,
}

/// The standing of each candidate by its rates, the same cases in the same order. `None` for fewer than two candidates or
/// no cases.
pub fn standings(candidates: &[Vec<Rate>], margin: f64, alpha: f64) -> Option<Vec<BestStanding>> {
    let others = len(candidates.len().checked_sub(1)?);
    let (no_worse, worse) = (alpha / others, alpha / (others * (others + 1.0)));
    let difference = |own: &[Rate], other: &[Rate], error: f64| {
        let both = own.iter().zip(other);
        let strata: Vec<Stratum> = both.map(|(own, other)| Stratum { baseline: *other, candidate: *own }).collect();
        difference::of(&strata, 1.0 - 2.0 * error)
    };
    let standing = |(at, own): (usize, &Vec<Rate>)| {
        let mut furthest: Option<Difference> = None;
        let mut is_worse = false;
        for (_, other) in candidates.iter().enumerate().filter(|(place, _)| *place != at) {
            let behind = difference(own, other, no_worse)?;
            if furthest.is_none_or(|furthest| behind.interval.low < furthest.interval.low) {
                furthest = Some(behind);
            }
            is_worse |= difference(own, other, worse)?.interval.high < 0.0;
        }
        let behind = furthest?;
        let result = match (behind.interval.low > -margin, is_worse) {
            (true, _) => BestResult::NoWorse,
            (false, true) => BestResult::Worse,
            (false, false) => BestResult::Undecided,
        };
        Some(BestStanding { result, behind })
    };
    candidates.iter().enumerate().map(standing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn results(passed: &[u64], trials: u64) -> Vec<BestResult> {
        let candidates: Vec<Vec<Rate>> = passed.iter().map(|passed| vec![Rate::new(*passed, trials)]).collect();
        let standings = standings(&candidates, 0.1, 0.05).expect("candidates");
        standings.into_iter().map(|standing| standing.result).collect()
    }

    #[test]
    fn equal_candidates_are_no_worse_once_there_are_enough_trials() {
        assert_eq!(results(&[10, 10], 10), [BestResult::Undecided; 2]);
        assert_eq!(results(&[380, 380, 380], 400), [BestResult::NoWorse; 3]);
    }

    #[test]
    fn a_candidate_far_behind_is_worse_and_the_best_is_no_worse() {
        assert_eq!(results(&[40, 20, 39], 40), [BestResult::NoWorse, BestResult::Worse, BestResult::Undecided]);
    }

    #[test]
    fn the_figure_shown_is_the_one_against_whom_a_candidate_may_be_furthest_behind() {
        let of = |passed| vec![Rate::new(passed, 40)];
        let against = |other| {
            let stratum = Stratum { baseline: Rate::new(other, 40), candidate: Rate::new(20, 40) };
            // Each of two comparisons may be wrong half as often.
            difference::of(&[stratum], 1.0 - 2.0 * 0.05 / 2.0)
        };
        for candidates in [[of(20), of(40), of(30)], [of(20), of(30), of(40)]] {
            let standings = standings(&candidates, 0.1, 0.05).expect("candidates");
            assert_eq!(Some(standings[0].behind), against(40));
        }
    }

    #[test]
    fn of_three_candidates_one_is_worse_if_an_interval_at_a_sixth_of_the_error_says_so() {
        let trials = 4000;
        let worse = |passed: u64| {
            let stratum = Stratum { baseline: Rate::new(3600, trials), candidate: Rate::new(passed, trials) };
            difference::of(&[stratum], 1.0 - 2.0 * 0.05 / 6.0).is_some_and(|found| found.interval.high < 0.0)
        };
        for passed in 3500..3600 {
            let candidates = [3600, passed, 3600].map(|passed| vec![Rate::new(passed, trials)]);
            let found = standings(&candidates, 0.001, 0.05).expect("candidates")[1].result;
            assert_eq!(found == BestResult::Worse, worse(passed), "{passed}");
        }
    }

    #[test]
    fn one_candidate_has_no_other_to_be_compared_with() {
        assert_eq!(standings(&[vec![Rate::new(1, 1)]], 0.1, 0.05), None);
        assert_eq!(standings(&[], 0.1, 0.05), None);
        assert_eq!(standings(&[vec![], vec![]], 0.1, 0.05), None);
    }
}
