//! Two arms whose trials exist: stored runs, a baseline that is kept. One look, one exact test.

use super::{Comparison, JoinedCases, ResultBasis, Rule, SideCounts, plan, result::CompareResult};
use crate::stats::difference::{self, Difference};
use crate::stats::stratified::{self, Stratum, Tails};

/// Compares `b` with `a`.
///
/// `better` and `worse` where the exact test, stratified by case, has a two-sided p of at most `rule.alpha`; `no worse`
/// where the interval of the difference at a confidence of 1 − α lies above the margin. A margin that is held outweighs
/// `worse`: a loss that small is what it allows.
#[must_use]
pub fn compare(a: &SideCounts, b: &SideCounts, rule: &Rule) -> Comparison {
    let joined = JoinedCases::new(a, b);
    let strata: Vec<Stratum> =
        joined.both.iter().map(|(_, a, b)| Stratum { baseline: a.rate, candidate: b.rate }).collect();
    let tails = stratified::exact(&strata);
    let difference = difference::of(&strata, rule.level);
    let word =
        difference.map_or(CompareResult::NothingMeasured, |difference| result_of(&strata, &tails, &difference, rule));
    let p: Vec<f64> = strata.iter().map(|stratum| stratified::exact(&[*stratum]).two_sided()).collect();
    let evidence = ResultBasis::Fixed {
        p: tails.two_sided(),
        p_shown: tails.mid_two_sided(),
        p_worse: tails.less,
        p_better: tails.greater,
    };
    joined.comparison(word, evidence, difference, &p, rule)
}

fn result_of(strata: &[Stratum], tails: &Tails, difference: &Difference, rule: &Rule) -> CompareResult {
    let differs = tails.two_sided() <= rule.alpha;
    // The test goes by trials, the difference by cases: where cases were tried unequally often and changed in opposite
    // directions the two may disagree, and then nothing is decided.
    if differs && tails.greater < tails.less && difference.difference > 0.0 {
        return CompareResult::Better;
    }
    if let Some(margin) = rule.held(strata) {
        return CompareResult::NoWorse { margin };
    }
    if differs && tails.less < tails.greater && difference.difference < 0.0 {
        return CompareResult::Worse;
    }
    CompareResult::Undecided { trials_needed: plan::more_trials(strata, difference.difference, rule.alpha / 2.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::CaseCount;
    use crate::stats::proportion::Rate;

    fn arm(cases: &[(&str, u64, u64)]) -> SideCounts {
        let of = |&(name, passed, trials): &(&str, u64, u64)| {
            (name.to_owned(), CaseCount { rate: Rate::new(passed, trials), not_measured: 0 })
        };
        cases.iter().map(of).collect()
    }

    const RULE: Rule = Rule { alpha: 0.05, level: 0.95, margin: None };

    #[test]
    fn a_drop_is_worse_a_rise_is_better_and_the_same_again_is_undecided() {
        let high = arm(&[("a", 10, 10), ("b", 10, 10), ("c", 9, 10), ("d", 10, 10)]);
        let low = arm(&[("a", 3, 10), ("b", 8, 10), ("c", 6, 10), ("d", 10, 10)]);
        let found = compare(&high, &low, &RULE);
        assert_eq!(found.result, CompareResult::Worse);
        let changed: Vec<&str> =
            found.cases.iter().filter(|case| case.changed).map(|case| case.case.as_str()).collect();
        assert_eq!(changed, ["a"], "only one case changed by itself");
        let interval = found.difference.expect("a difference").interval;
        assert!(interval.high < 0.0, "{interval:?}");
        assert_eq!(compare(&low, &high, &RULE).result, CompareResult::Better);
        assert_eq!(compare(&high, &high, &RULE).result, CompareResult::Undecided { trials_needed: None });
    }

    #[test]
    fn five_of_five_against_two_of_five_is_undecided_and_says_what_it_takes() {
        let found = compare(&arm(&[("a", 5, 5)]), &arm(&[("a", 2, 5)]), &RULE);
        let CompareResult::Undecided { trials_needed: Some(more) } = found.result else { panic!("{:?}", found.result) };
        assert!((4..40).contains(&more), "{more}");
    }

    #[test]
    fn a_margin_that_holds_is_no_worse_and_outweighs_a_small_loss() {
        let rule = Rule { margin: Some(0.05), ..RULE };
        let found = compare(&arm(&[("a", 1000, 1000)]), &arm(&[("a", 990, 1000)]), &rule);
        assert_eq!(found.result, CompareResult::NoWorse { margin: 0.05 });
        assert!(matches!(found.evidence, ResultBasis::Fixed { p, .. } if p < 0.05));
        let surer = Rule { alpha: 1e-6, ..rule };
        let found = compare(&arm(&[("a", 100, 100)]), &arm(&[("a", 100, 100)]), &rule);
        assert_eq!(found.result, CompareResult::NoWorse { margin: 0.05 });
        let found = compare(&arm(&[("a", 100, 100)]), &arm(&[("a", 100, 100)]), &surer);
        assert_eq!(found.result, CompareResult::Undecided { trials_needed: None }, "not at one in a million");
        let few = compare(&arm(&[("a", 5, 5)]), &arm(&[("a", 5, 5)]), &rule);
        assert_eq!(few.result, CompareResult::Undecided { trials_needed: None });
    }

    #[test]
    fn cases_of_one_arm_and_lost_trials_are_told_and_in_no_figure() {
        let mut a = arm(&[("a", 1, 2), ("gone", 3, 3), ("lost", 0, 0)]);
        a.get_mut("lost").expect("a case").not_measured = 4;
        let b = arm(&[("a", 1, 2), ("new", 3, 3), ("lost", 2, 2)]);
        let found = compare(&a, &b, &RULE);
        assert_eq!(
            (found.only_baseline, found.only_candidate),
            (vec!["gone".to_owned()], vec!["lost".to_owned(), "new".to_owned()])
        );
        assert_eq!(
            (found.baseline.not_measured, found.candidate.not_measured, found.baseline.rate),
            (4, 0, Rate::new(1, 2))
        );
        assert!(!found.unequal_trials);
        let nothing = compare(&arm(&[("a", 1, 1)]), &arm(&[("b", 1, 1)]), &RULE);
        assert_eq!((nothing.result, nothing.difference), (CompareResult::NothingMeasured, None));
    }
}
