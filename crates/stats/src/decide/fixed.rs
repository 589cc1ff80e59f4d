//! Compares stored trials: one look, exact tests; and several candidates with the best of them.

use serde::Serialize;

use super::result::CompareResult;
use super::{CaseChange, Comparison, JoinedCases, MeanDifference, MeanFigures, ResultBasis, Rule, SideCounts, plan};
use crate::stats::difference::{self, Difference};
use crate::stats::len;
use crate::stats::proportion::Rate;
use crate::stats::stratified::{self, Stratum};

/// Compares `candidate` with `baseline`.
///
/// - `broke`: the exact test of a case, adjusted for the number of cases, shows that it got worse.
/// - `better`, `worse`: the exact test over all cases has a two-sided p of at most `rule.alpha`.
/// - `no worse`: the interval of the difference at a confidence of 1 − α is above the margin. It excludes `worse`, since a
///   loss that small is tolerated.
pub fn compare(baseline: &SideCounts, candidate: &SideCounts, rule: &Rule) -> Comparison {
    let found = as_measured(baseline, candidate, rule);
    if found.baseline.not_measured + found.candidate.not_measured == 0 {
        return Comparison { at_worst: found.results.clone(), ..found };
    }
    let with_lost = |side: &SideCounts, passed| -> SideCounts {
        side.iter().map(|(case, counts)| (case.clone(), counts.with_lost(passed))).collect()
    };
    let at_worst = as_measured(&with_lost(baseline, true), &with_lost(candidate, false), rule).results;
    Comparison { at_worst, ..found }
}

/// The comparison of the trials that were measured.
fn as_measured(baseline: &SideCounts, candidate: &SideCounts, rule: &Rule) -> Comparison {
    let joined = JoinedCases::new(baseline, candidate);
    let strata = joined.strata();
    let tails = stratified::exact(&strata);
    let difference = difference::of(&strata, rule.level);
    let p: Vec<f64> = strata.iter().map(|stratum| stratified::exact(&[*stratum]).two_sided()).collect();
    let basis = ResultBasis::Fixed { p: tails.two_sided(), p_worse: tails.less, p_better: tails.greater };
    let side = |of: fn(&Stratum) -> Rate| difference::mean_of(&strata.iter().map(of).collect::<Vec<_>>(), rule.level);
    let figures = difference.map(|found| MeanFigures {
        difference: MeanDifference { difference: Some(found.difference), interval: found.interval, cases: found.cases },
        baseline: side(|stratum| stratum.baseline),
        candidate: side(|stratum| stratum.candidate),
    });
    let mut comparison = joined.comparison(Vec::new(), basis, figures, &p, rule);
    let Some(difference) = difference else {
        comparison.results.push(CompareResult::NothingMeasured);
        return comparison;
    };
    let mut broken: Vec<&CaseChange> =
        comparison.cases.iter().filter(|case| case.changed && case.difference() < 0.0).collect();
    broken.sort_by(|x, y| x.p.total_cmp(&y.p));
    comparison.broken = broken.into_iter().map(|case| case.case.clone()).collect();
    if !comparison.broken.is_empty() {
        comparison.results.push(CompareResult::Broke);
    }
    let differs = tails.two_sided() <= rule.alpha;
    // The test counts trials, the difference counts cases. If cases with different numbers of trials changed in opposite
    // directions, the two may disagree, and then nothing is decided.
    if differs && tails.greater < tails.less && difference.difference > 0.0 {
        comparison.results.push(CompareResult::Better);
    } else if rule.holds_margin(&strata) {
        comparison.results.push(CompareResult::NoWorse);
    } else if differs && tails.less < tails.greater && difference.difference < 0.0 {
        comparison.results.push(CompareResult::Worse);
    }
    if comparison.results.is_empty() {
        comparison.results.push(CompareResult::Undecided);
        comparison.trials_needed = plan::more_trials(&strata, difference.difference, rule.alpha / 2.0);
    }
    comparison
}

// Compares several candidates with the best of them: which are not worse by more than a margin, and which are worse.
//
// The number of trials is fixed beforehand. Every statement rests on intervals of differences of two candidates at a time.
//
// - `no worse` needs all differences from the others above the margin. If it is false of a candidate, one of these
// intervals must be wrong, with a probability of at most its one-sided error. It is never false of the best. With
// `k` candidates, the error α/(k−1) of each keeps the probability of any false `no worse` at α.
// - `worse` needs one difference below 0. There are k(k−1) of them, and each gets α/(k(k−1)).

/// What the trials show of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
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
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
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
    use crate::decide::CaseCount;

    fn side(cases: &[(&str, u64, u64)]) -> SideCounts {
        let of = |&(name, passed, trials): &(&str, u64, u64)| {
            (name.to_owned(), CaseCount { rate: Rate::new(passed, trials), not_measured: 0 })
        };
        cases.iter().map(of).collect()
    }

    const RULE: Rule = Rule { alpha: 0.05, level: 0.95, margin: None };

    #[test]
    fn a_drop_is_worse_a_rise_is_better_and_the_same_again_is_undecided() {
        let high = side(&[("a", 10, 10), ("b", 10, 10), ("c", 9, 10), ("d", 10, 10)]);
        let low = side(&[("a", 3, 10), ("b", 8, 10), ("c", 6, 10), ("d", 10, 10)]);
        let found = compare(&high, &low, &RULE);
        assert_eq!(
            (found.results, found.broken),
            (vec![CompareResult::Broke, CompareResult::Worse], vec!["a".to_owned()])
        );
        let changed: Vec<&str> =
            found.cases.iter().filter(|case| case.changed).map(|case| case.case.as_str()).collect();
        assert_eq!(changed, ["a"], "only one case changed by itself");
        let interval = found.difference.expect("a difference").interval;
        assert!(interval.high < 0.0, "{interval:?}");
        assert_eq!(compare(&low, &high, &RULE).results, [CompareResult::Better]);
        assert!(compare(&low, &high, &RULE).is_decided());
        let same = compare(&high, &high, &RULE);
        assert!(!same.is_decided());
        assert_eq!((same.results, same.trials_needed), (vec![CompareResult::Undecided], None));
    }

    #[test]
    fn five_of_five_against_two_of_five_is_undecided_and_says_what_it_takes() {
        let found = compare(&side(&[("a", 5, 5)]), &side(&[("a", 2, 5)]), &RULE);
        assert_eq!(found.results, [CompareResult::Undecided]);
        assert!(found.trials_needed.is_some_and(|more| (4..40).contains(&more)), "{:?}", found.trials_needed);
        let stratum = Stratum { baseline: Rate::new(5, 5), candidate: Rate::new(2, 5) };
        assert_eq!(found.trials_needed, plan::more_trials(&[stratum], -0.6, 0.025));
    }

    #[test]
    fn nothing_is_decided_if_more_trials_pass_and_fewer_cases_or_as_many() {
        // The case with many trials rises by a quarter. Others drop with so few trials that the test barely sees them.
        let even = [side(&[("a", 512, 1024), ("b", 4, 4)]), side(&[("a", 768, 1024), ("b", 3, 4)])];
        let fewer =
            [side(&[("a", 512, 1024), ("b", 2, 2), ("c", 2, 2)]), side(&[("a", 768, 1024), ("b", 0, 2), ("c", 0, 2)])];
        for [low, high] in [even, fewer] {
            let rise = compare(&low, &high, &RULE);
            assert!(matches!(rise.evidence, ResultBasis::Fixed { p, .. } if p < 0.001));
            assert_eq!(rise.results, [CompareResult::Undecided]);
            // The other way round case a broke, and that is all.
            assert_eq!(compare(&high, &low, &RULE).results, [CompareResult::Broke]);
        }
    }

    #[test]
    fn a_margin_that_holds_is_no_worse_and_excludes_worse() {
        let rule = Rule { margin: Some(0.05), ..RULE };
        let found = compare(&side(&[("a", 1000, 1000)]), &side(&[("a", 990, 1000)]), &rule);
        assert_eq!(found.results, [CompareResult::Broke, CompareResult::NoWorse], "by a point, for certain");
        assert!(matches!(found.evidence, ResultBasis::Fixed { p, .. } if p < 0.05));
        let surer = Rule { alpha: 1e-6, ..rule };
        let found = compare(&side(&[("a", 100, 100)]), &side(&[("a", 100, 100)]), &rule);
        assert_eq!(found.results, [CompareResult::NoWorse]);
        let found = compare(&side(&[("a", 100, 100)]), &side(&[("a", 100, 100)]), &surer);
        assert_eq!(found.results, [CompareResult::Undecided], "not at one in a million");
        let few = compare(&side(&[("a", 5, 5)]), &side(&[("a", 5, 5)]), &rule);
        assert_eq!(few.results, [CompareResult::Undecided]);
    }

    #[test]
    fn cases_of_one_side_and_trials_that_were_not_measured_are_not_counted() {
        let mut a = side(&[("a", 1, 2), ("gone", 3, 3), ("lost", 0, 0)]);
        a.get_mut("lost").expect("a case").not_measured = 4;
        let b = side(&[("a", 1, 2), ("new", 3, 3), ("lost", 2, 2)]);
        let found = compare(&a, &b, &RULE);
        assert_eq!(
            (found.only_baseline, found.only_candidate, found.lost),
            (vec!["gone".to_owned()], vec!["new".to_owned()], vec!["lost".to_owned()])
        );
        assert_eq!(
            (found.baseline.not_measured, found.candidate.not_measured, found.baseline.rate),
            (4, 0, Rate::new(1, 2))
        );
        assert!(!found.unequal_trials);
        let nothing = compare(&side(&[("a", 1, 1)]), &side(&[("b", 1, 1)]), &RULE);
        assert_eq!((nothing.results, nothing.difference), (vec![CompareResult::NothingMeasured], None));
    }

    #[test]
    fn what_was_not_measured_might_have_spoken_against_the_candidate() {
        let rule = Rule { margin: Some(0.05), ..RULE };
        let with_lost = |not_measured| {
            let mut candidate = side(&[("a", 1000, 1000)]);
            candidate.get_mut("a").expect("a case").not_measured = not_measured;
            compare(&side(&[("a", 1000, 1000)]), &candidate, &rule)
        };
        assert_eq!((with_lost(5).results, with_lost(5).lost_trials()), (vec![CompareResult::NoWorse], 0));
        assert_eq!((with_lost(100).results, with_lost(100).lost_trials()), (vec![CompareResult::NoWorse], 100));
        assert_eq!(with_lost(100).at_worst, [CompareResult::Broke, CompareResult::Worse]);
    }

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
