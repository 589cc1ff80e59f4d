//! What a comparison can find, before it costs anything; and what more it would take, afterwards.

use serde::Serialize;

use super::result::CompareResult;
use super::{Rule, screen};
use crate::stats::len;
use crate::stats::proportion::Rate;
use crate::stats::sequence::{RoundPairs, e_broke};
use crate::stats::stratified::{self, Discordance, Stratum};

word_enum! {
    /// When a comparison that runs stops.
    #[derive(Default)]
    pub enum ComparePlan {
        /// After one trial of every case with the candidate alone, and pairs of cases that fail mostly with it.
        Quick = "quick",
        /// Once some case broke, or the mean of all cases is decided.
        #[default]
        Standard = "standard",
        /// Once the mean of all cases is decided.
        UntilDecided = "until-decided",
    }
}

impl ComparePlan {
    /// All plans, the cheapest first.
    pub const ALL: [Self; 3] = [Self::Quick, Self::Standard, Self::UntilDecided];

    /// The most trials of both sides together, if no limit is set.
    pub fn default_limit(self, cases: usize) -> u64 {
        let pair_of_each = 2 * cases as u64;
        match self {
            Self::Quick | Self::Standard => (2 * pair_of_each).max(400),
            Self::UntilDecided => (10 * pair_of_each).max(2000),
        }
    }
}

/// The power to plan with.
pub const USUAL_POWER: f64 = 0.8;

/// Pairs beyond which power is not computed: its cost grows with their square.
const MOST_PLANNED: u64 = 4_000;

/// The smallest drop in pass rate, the same in all cases, that stored runs of `pairs` trials on each side show with the
/// probability `power`, by the exact test, which looks once; none if they show none. For more than 4,000 pairs, what 4,000 find.
pub fn detectable_fixed(pairs: u64, before: f64, rule: &Rule, power: f64) -> Option<f64> {
    let pairs = pairs.min(MOST_PLANNED);
    let found = |drop: f64| {
        stratified::power_of_fixed(pairs, Discordance::of(before, before - drop), rule.alpha / 2.0) >= power
    };
    smallest(before, found).map(|drop| drop.max(rule.margin.unwrap_or_default().min(before)))
}

/// The smallest number up to `most` for which `found`, to a thousandth.
fn smallest(most: f64, found: impl Fn(f64) -> bool) -> Option<f64> {
    if !found(most) {
        return None;
    }
    let (mut low, mut high) = (0.0, most);
    while high - low > 0.001 {
        let middle = f64::midpoint(low, high);
        *(if found(middle) { &mut high } else { &mut low }) = middle;
    }
    Some(high)
}

/// A result that cannot be reached, whatever the trials yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct UnreachableResult {
    /// The trials there are: of one case on one side for stored trials, otherwise all of both sides.
    pub have: u64,
    /// How many of them it takes; none if no number up to 10,000 does.
    pub needed: Option<u64>,
}

/// Whether a comparison of `cases` that runs at most `max_trials` can reach `result`: at best one side always passes and the other never,
/// or for `no worse` both always pass.
///
/// # Errors
///
/// With the trials that it takes.
pub fn reach(
    plan: ComparePlan,
    (cases, max_trials): (usize, u64),
    rule: &Rule,
    result: CompareResult,
) -> Result<(), UnreachableResult> {
    let enough = |evidence: f64| evidence >= 1.0 / rule.alpha;
    let of_each = cases.max(1) as u64;
    let is_quick = plan == ComparePlan::Quick;
    // Two looks fail at least before all cases get pairs.
    let looks = if is_quick { of_each.min(2) } else { 0 };
    let rounds = |trials: u64| trials.saturating_sub(looks) / 2 / of_each * of_each;
    let reached_by = |trials: u64| match result {
        // A case that broke fails its look first.
        CompareResult::Broke if is_quick => enough(screen::most_evidence(cases, trials.saturating_sub(1) / 2)),
        CompareResult::Broke => enough(e_broke(&[(trials / 2, 0)])),
        CompareResult::Worse | CompareResult::Better => {
            enough(RoundPairs { wins: rounds(trials), ..RoundPairs::default() }.above(0.0))
        }
        CompareResult::NoWorse => rule
            .margin
            .is_some_and(|margin| enough(RoundPairs { ties: rounds(trials), ..RoundPairs::default() }.above(-margin))),
        CompareResult::NoHarmSeen if is_quick => trials >= of_each,
        CompareResult::NoHarmSeen => plan == ComparePlan::Standard && trials >= 2 * of_each,
        CompareResult::Undecided | CompareResult::NothingMeasured => true,
    };
    // What takes pairs takes an even number of trials.
    reached(max_trials, if is_quick { 1 } else { 2 }, reached_by)
}

/// Whether stored trials can show `result`; `design` are the trials of the baseline and the candidate in each case.
///
/// # Errors
///
/// With the trials of each case on each side that it takes, if all have the same.
pub fn reach_fixed(design: &[(u64, u64)], rule: &Rule, result: CompareResult) -> Result<(), UnreachableResult> {
    let reached_by = |design: &[(u64, u64)]| {
        let strata = |candidate: fn(u64) -> u64| -> Vec<Stratum> {
            let stratum =
                |&(a, b): &(u64, u64)| Stratum { baseline: Rate::new(a, a), candidate: Rate::new(candidate(b), b) };
            design.iter().map(stratum).collect()
        };
        match result {
            // Holm's test asks the smallest of all p for α by their number.
            CompareResult::Broke => strata(|_| 0)
                .iter()
                .any(|stratum| stratified::exact(&[*stratum]).two_sided() * len(design.len()) <= rule.alpha),
            CompareResult::Better | CompareResult::Worse => stratified::exact(&strata(|_| 0)).two_sided() <= rule.alpha,
            CompareResult::NoWorse => rule.holds_margin(&strata(|trials| trials)),
            CompareResult::NoHarmSeen => false,
            CompareResult::Undecided | CompareResult::NothingMeasured => true,
        }
    };
    if reached_by(design) {
        return Ok(());
    }
    let have = design.iter().map(|(a, b)| *a.min(b)).min().unwrap_or_default();
    reached(have, 1, |trials| trials > have && reached_by(&vec![(trials, trials); design.len().max(1)]))
}

/// Whether `said` holds for `have`, and from which multiple of `step` on it does.
fn reached(have: u64, step: u64, said: impl Fn(u64) -> bool) -> Result<(), UnreachableResult> {
    if said(have) {
        return Ok(());
    }
    if !said(MOST) {
        return Err(UnreachableResult { have, needed: None });
    }
    let (mut low, mut high) = (have / step, MOST / step);
    while high - low > 1 {
        let middle = u64::midpoint(low, high);
        *(if said(step * middle) { &mut high } else { &mut low }) = middle;
    }
    Err(UnreachableResult { have, needed: Some(step * high) })
}

/// Nobody pays for more.
const MOST: u64 = 10_000;

/// How many more trials, both sides together, would find a difference of the size seen with a probability of 80 %: those of
/// McNemar's exact test, one-sided at `alpha`, for pairs as discordant as the cases' rates make them, less those there are,
/// and one of each case on each side at least.
pub(super) fn more_trials(strata: &[Stratum], difference: f64, alpha: f64) -> Option<u64> {
    let tried: Vec<Discordance> = strata
        .iter()
        .filter_map(|stratum| Some(Discordance::of(stratum.baseline.share()?, stratum.candidate.share()?)))
        .collect();
    let mean = |of: fn(&Discordance) -> f64| tried.iter().map(of).sum::<f64>() / len(tried.len());
    let (loss, win) = (mean(|case| case.loss), mean(|case| case.win));
    let truth = if difference < 0.0 { Discordance { loss, win } } else { Discordance { loss: win, win: loss } };
    let needed = 2 * stratified::pairs_needed(truth, alpha, 0.8, MOST_PAIRS)?;
    let have = strata.iter().map(|stratum| stratum.baseline.trials + stratum.candidate.trials).sum::<u64>();
    Some(needed.saturating_sub(have).max(2 * tried.len() as u64))
}

/// A million trials.
const MOST_PAIRS: u64 = 500_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::sequential::{Pair, SequentialTest};

    const RULE: Rule = Rule { alpha: 0.05, level: 0.95, margin: Some(0.05) };

    #[test]
    fn stored_runs_find_a_drop_just_as_large_as_is_said() {
        let rule = Rule { margin: None, ..RULE };
        let drop = detectable_fixed(200, 0.9, &rule, 0.8).expect("a drop");
        let found = |drop| stratified::power_of_fixed(200, Discordance::of(0.9, 0.9 - drop), 0.025);
        assert!(found(drop) >= 0.8 && found(drop - 0.002) < 0.8, "{drop}");
        let tolerant = Rule { margin: Some(0.4), ..RULE };
        assert_eq!(
            detectable_fixed(200, 0.9, &tolerant, 0.8),
            Some(0.4),
            "a smaller one may be no worse by the margin"
        );
    }

    #[test]
    fn limits_are_two_or_ten_pairs_of_each_case_and_never_few() {
        let limits = |cases| ComparePlan::ALL.map(|plan| plan.default_limit(cases));
        assert_eq!(limits(3), [400, 400, 2000]);
        assert_eq!(limits(1000), [4000, 4000, 20_000]);
    }

    #[test]
    fn a_result_out_of_reach_comes_with_the_numbers_that_would_do() {
        let reach = |trials, result| reach(ComparePlan::Standard, (5, trials), &RULE, result);
        assert_eq!(reach(11, CompareResult::Broke), Err(UnreachableResult { have: 11, needed: Some(12) }));
        assert_eq!(reach(12, CompareResult::Broke), Ok(()));
        // The mean takes complete rounds.
        for result in [CompareResult::Worse, CompareResult::Better] {
            assert_eq!(reach(18, result), Err(UnreachableResult { have: 18, needed: Some(20) }));
        }
        let needed = reach(40, CompareResult::NoWorse).expect_err("too few").needed.expect("some number");
        assert!(needed > 100 && reach(needed, CompareResult::NoWorse).is_ok(), "{needed}");
        assert_eq!(reach(8, CompareResult::NoHarmSeen), Err(UnreachableResult { have: 8, needed: Some(10) }));
        let none = Rule { margin: None, ..RULE };
        assert_eq!(
            super::reach(ComparePlan::Standard, (5, 1000), &none, CompareResult::NoWorse),
            Err(UnreachableResult { have: 1000, needed: None })
        );
    }

    #[test]
    fn the_quick_plan_takes_a_look_at_each_case_and_four_pairs_of_the_one_that_fails() {
        let reach = |cases, trials, result| reach(ComparePlan::Quick, (cases, trials), &RULE, result);
        for cases in [1, 9] {
            let nine = UnreachableResult { have: 8, needed: Some(9) };
            assert_eq!(reach(cases, 8, CompareResult::Broke), Err(nine));
            assert_eq!(reach(cases, 9, CompareResult::Broke), Ok(()));
        }
        assert_eq!(reach(9, 8, CompareResult::NoHarmSeen), Err(UnreachableResult { have: 8, needed: Some(9) }));
        assert_eq!(reach(9, 9, CompareResult::NoHarmSeen), Ok(()));
        // It is what the plan does.
        for (trials, expected) in [(8, CompareResult::Undecided), (9, CompareResult::Broke)] {
            let mut state = SequentialTest::new(vec!["a".to_owned()], RULE, ComparePlan::Quick, trials, 1);
            state.feed_look(0, Some(false)).expect("a case");
            while state.trials() + 2 <= trials {
                let pair = Pair { case: 0, baseline: Some(true), candidate: Some(false) };
                state.feed(pair).expect("a case");
            }
            assert_eq!(state.results(), [expected], "{trials}");
        }
    }

    #[test]
    fn stored_trials_reach_what_their_exact_tests_can_show() {
        // Two-sided: C(6, 3) is 20, twice 1/20 is more than 0.05; C(8, 4) is 70.
        let four = UnreachableResult { have: 3, needed: Some(4) };
        assert_eq!(reach_fixed(&[(3, 3)], &RULE, CompareResult::Worse), Err(four));
        assert_eq!(reach_fixed(&[(1, 1); 6], &RULE, CompareResult::Worse), Ok(()));
        // By itself, each of two cases needs 1/40: 2/C(10, 5) is less.
        let five = UnreachableResult { have: 4, needed: Some(5) };
        assert_eq!(reach_fixed(&[(4, 4); 2], &RULE, CompareResult::Broke), Err(five));
        let short = reach_fixed(&[(5, 5); 4], &RULE, CompareResult::NoWorse).expect_err("too few");
        let needed = short.needed.expect("some number");
        assert_eq!(reach_fixed(&[(needed, needed); 4], &RULE, CompareResult::NoWorse), Ok(()));
        // Uneven trials may tell less than fewer even ones. They do not become even by themselves.
        let tolerant = Rule { margin: Some(0.5), ..RULE };
        assert_eq!(reach_fixed(&[(3, 3); 2], &tolerant, CompareResult::NoWorse), Ok(()));
        assert_eq!(reach_fixed(&[(3, 3), (4, 4)], &tolerant, CompareResult::NoWorse), Err(four));
    }

    #[test]
    fn more_trials_are_those_that_a_difference_of_the_size_seen_needs() {
        let stratum = Stratum { baseline: Rate::new(9, 10), candidate: Rate::new(6, 10) };
        let more = more_trials(&[stratum], -0.3, 0.05).expect("a number");
        let needed = stratified::pairs_needed(Discordance::of(0.9, 0.6), 0.05, 0.8, 1000).expect("a number");
        assert_eq!(more, 2 * needed - 20);
        let alike = Stratum { baseline: Rate::new(9, 10), candidate: Rate::new(9, 10) };
        assert_eq!(more_trials(&[alike], 0.0, 0.05), None);
        // Six pairs would do, but there are twenty cases.
        let dead = Stratum { baseline: Rate::new(1, 1), candidate: Rate::new(0, 1) };
        assert_eq!(more_trials(&[dead; 20], -1.0, 0.05), Some(40));
    }
}
