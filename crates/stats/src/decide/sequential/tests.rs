use super::*;
use crate::stats::proportion::Rate;
use crate::stats::reference::close;
use crate::stats::sequence::e_broke;

const RULE: Rule = Rule { alpha: 0.05, level: 0.95, margin: Some(0.1) };
const NO_MARGIN: Rule = Rule { margin: None, ..RULE };

fn names(count: usize) -> Vec<String> {
    (0..count).map(|case| format!("case-{case}")).collect()
}

fn test(cases: usize, plan: ComparePlan) -> SequentialTest {
    SequentialTest::new(names(cases), RULE, plan, 1000, 1)
}

fn feed(state: &mut SequentialTest, case: usize, baseline: bool, candidate: bool, times: usize) {
    for _ in 0..times {
        state.feed(Pair { case, baseline: Some(baseline), candidate: Some(candidate) }).expect("a case");
    }
}

/// The case of the next pair, while pairs of these cases run.
fn next(state: &SequentialTest, in_flight: &[usize]) -> Option<usize> {
    let in_flight: Vec<Step> = in_flight.iter().map(|case| pair_of(*case)).collect();
    state.next_step(&in_flight).map(|step| {
        assert!(!step.alone, "a look");
        step.case
    })
}

fn pair_of(case: usize) -> Step {
    Step { case, alone: false }
}

fn look_at(case: usize) -> Step {
    Step { case, alone: true }
}

/// Feeds the first looks at the first cases.
fn looks(state: &mut SequentialTest, passed: &[bool]) {
    for (case, passed) in passed.iter().enumerate() {
        state.feed_look(case, Some(*passed)).expect("a case");
    }
}

/// Runs cases with these rates on both sides until the plan is done.
fn run(rates: &[(f64, f64)], plan: ComparePlan) -> SequentialTest {
    let mut state = test(rates.len(), plan);
    let mut world = fastrand::Rng::with_seed(1001);
    while !state.is_decided() && state.pairs().len() < 500 {
        run_next(&mut state, rates, &mut world);
    }
    state
}

/// Runs what is next of cases with these rates.
fn run_next(state: &mut SequentialTest, rates: &[(f64, f64)], world: &mut fastrand::Rng) {
    let Step { case, alone } = state.next_step(&[]).expect("cases");
    let (a, b) = rates[case];
    if alone {
        state.feed_look(case, Some(world.f64() < b)).expect("a case");
    } else {
        feed(state, case, world.f64() < a, world.f64() < b, 1);
    }
}

#[test]
fn the_case_that_broke_is_named_and_tried_most() {
    let mut rates = vec![(1.0, 1.0); 20];
    rates[7] = (1.0, 0.1);
    let state = run(&rates, ComparePlan::Standard);
    let found = state.comparison();
    assert_eq!((found.results, found.broken), (vec![CompareResult::Broke], vec!["case-7".to_owned()]));
    assert!(found.unequal_trials && found.cases.len() == 20);
    let most = found.cases.iter().max_by_key(|case| case.baseline.rate.trials).expect("cases");
    assert_eq!(most.case, "case-7");
}

/// Runs the cases with these rates in shards, each until its plan is done with its share of alpha.
fn run_shards(shards: &[&[(f64, f64)]], plan: ComparePlan, seed: u64) -> SequentialTest {
    let mut world = fastrand::Rng::with_seed(seed);
    let mut runs = Vec::new();
    for (number, rates) in shards.iter().enumerate() {
        let cases = (0..rates.len()).map(|case| format!("{number}-{case}")).collect();
        let rule = Rule { alpha: RULE.alpha / crate::stats::len(shards.len()), ..RULE };
        let mut state = SequentialTest::new(cases, rule, plan, 120, seed);
        while !state.is_done() {
            run_next(&mut state, rates, &mut world);
        }
        runs.push(state);
    }
    SequentialTest::of_shards(&runs, RULE, plan)
}

#[test]
fn shards_that_stop_by_themselves_together_seldom_show_what_is_not_there() {
    let same: [&[(f64, f64)]; 3] = [&[(0.5, 0.5); 4], &[(0.8, 0.8)], &[(0.9, 0.9); 3]];
    // One case breaks, and the others rise by as much.
    let even: [&[(f64, f64)]; 2] = [&[(0.9, 0.0), (0.6, 0.9), (0.6, 0.9)], &[(0.6, 0.9)]];
    for plan in ComparePlan::ALL {
        let count = |shards: &[&[(f64, f64)]], result| {
            let runs = (0..200).map(|seed| run_shards(shards, plan, seed));
            runs.filter(|run| run.results().contains(&result)).count()
        };
        for result in [CompareResult::Broke, CompareResult::Worse, CompareResult::Better] {
            // 5 % of 200, and three standard errors.
            let wrong = count(&same, result);
            assert!(wrong <= 19, "{plan:?} {result:?}: {wrong}");
        }
        let worse = count(&even, CompareResult::Worse);
        assert!(worse <= 19, "{plan:?} worse: {worse}");
        assert!(count(&even, CompareResult::Broke) > 180, "{plan:?}");
    }
}

#[test]
fn what_one_shard_shows_all_together_show_whatever_the_others_won() {
    let broken: [&[(f64, f64)]; 3] = [&[(1.0, 0.0)], &[(0.0, 1.0); 6], &[(0.5, 0.8); 4]];
    for seed in 0..50 {
        let run = run_shards(&broken, ComparePlan::Quick, seed);
        assert!(run.results().contains(&CompareResult::Broke), "{seed}");
        assert_eq!(run.comparison().broken[0], "0-0");
    }
}

#[test]
fn good_news_ends_a_comparison_too() {
    assert_eq!(run(&[(1.0, 1.0); 5], ComparePlan::Standard).results(), [CompareResult::NoWorse]);
    assert_eq!(run(&[(0.2, 0.9); 5], ComparePlan::Standard).results(), [CompareResult::Better]);
}

#[test]
fn feeding_the_same_pairs_again_resumes_where_it_was() {
    let done = run(&[(0.9, 0.6); 4], ComparePlan::UntilDecided);
    let mut again = test(4, ComparePlan::UntilDecided);
    for pair in done.pairs() {
        assert_eq!(next(&again, &[]), Some(pair.case));
        again.feed(*pair).expect("a case");
    }
    assert_eq!(again.comparison(), done.comparison());
}

#[test]
fn one_case_that_broke_says_nothing_about_the_mean() {
    let mut state = test(3, ComparePlan::UntilDecided);
    feed(&mut state, 0, true, false, 20);
    feed(&mut state, 1, false, true, 1);
    feed(&mut state, 2, false, true, 1);
    assert_eq!(state.results(), [CompareResult::Broke]);
    // Only the mean is open, so the cases with the fewest pairs are next.
    assert!(!state.is_decided());
    assert_eq!((next(&state, &[]), next(&state, &[1])), (Some(1), Some(2)));
    for case in [1, 2] {
        feed(&mut state, case, false, true, 20);
    }
    assert_eq!(state.results(), [CompareResult::Broke, CompareResult::NoWorse]);
}

#[test]
fn the_quick_plan_looks_at_each_case_with_the_candidate_alone_and_pairs_what_failed_at_once() {
    let mut state = test(4, ComparePlan::Quick);
    let running = [0, 1, 2, 3].map(look_at);
    assert_eq!((state.next_step(&[]), state.next_step(&running[..2])), (Some(look_at(0)), Some(look_at(2))));
    assert_eq!(state.next_step(&running), None, "their looks are running");
    looks(&mut state, &[true, false]);
    assert_eq!(state.next_step(&[]), Some(pair_of(1)), "before the other looks");
    assert_eq!(state.next_step(&[pair_of(1)]), Some(look_at(2)), "while its pair is running");
    // One pass of two: it may be a case that fails now and then.
    feed(&mut state, 1, true, true, 1);
    assert_eq!((state.next_step(&[]), state.results()), (Some(look_at(2)), vec![CompareResult::Undecided]));
    state.feed_look(2, Some(true)).expect("a case");
    state.feed_look(3, Some(true)).expect("a case");
    assert!(state.takes_kept(1) && !state.takes_kept(2) && test(1, ComparePlan::Standard).takes_kept(2));
    assert!(state.is_decided() && state.next_step(&[]).is_none());
    assert_eq!((state.results(), state.trials(), state.steps()), (vec![CompareResult::NoHarmSeen], 6, 5));
    let found = state.comparison();
    let named = |cases: &[usize]| -> Vec<String> { cases.iter().map(|case| format!("case-{case}")).collect() };
    let expected = FirstLooks {
        cases: 4,
        all_from: Some(3),
        all_from_if_unknown: 3,
        passed: named(&[0, 2, 3]),
        failed: named(&[1]),
        several: false,
    };
    assert_eq!((found.looks, found.neither, found.difference), (Some(expected), Vec::new(), None));
    // The look is in no rate.
    assert_eq!(found.candidate.rate, Rate::new(1, 1));
}

#[test]
fn the_quick_plan_finds_a_case_that_broke_by_its_pairs_and_never_by_its_look() {
    let mut state = test(3, ComparePlan::Quick);
    looks(&mut state, &[false]);
    close(evidence(&state).broke, 1.0, &"a look is no evidence");
    for pairs in 1..=4 {
        assert!(!state.is_decided());
        assert_eq!(state.next_step(&[]), Some(pair_of(0)));
        feed(&mut state, 0, true, false, 1);
        let apart = ln_e_apart(Rate::new(pairs, pairs), Rate::new(0, pairs)).exp();
        let expected = 0.7 * e_broke(&[(pairs, 0), (0, 0), (0, 0)]) + 0.3 * apart;
        assert!((evidence(&state).broke / expected - 1.0).abs() < 1e-9, "{pairs}");
    }
    assert_eq!((state.results(), state.trials()), (vec![CompareResult::Broke], 9));
    let found = state.comparison();
    assert_eq!((found.broken, found.neither), (names(1), vec!["case-1".to_owned(), "case-2".to_owned()]));
}

#[test]
fn a_limit_that_leaves_open_whether_a_case_broke_is_no_good_news() {
    let mut state = SequentialTest::new(names(4), RULE, ComparePlan::Quick, 14, 1);
    looks(&mut state, &[false; 4]);
    for case in [0, 0, 0, 1, 2] {
        feed(&mut state, case, true, false, 1);
    }
    assert!(state.is_done() && !state.is_decided());
    assert_eq!(state.results(), [CompareResult::Undecided]);
}

#[test]
fn all_cases_get_pairs_from_so_many_failed_looks_on_as_was_chosen_and_kept_trials_stand_for_none_from_half_of_them() {
    // Four of ten, if nothing is known of them.
    for (chosen, all_get_pairs, takes_kept) in [(None, false, true), (Some(2), true, false), (Some(3), false, false)] {
        let mut state = test(10, ComparePlan::Quick).with_all_from(chosen);
        looks(&mut state, &[false, false]);
        assert_eq!(state.takes_kept(1), takes_kept, "{chosen:?}");
        for case in [0, 1] {
            feed(&mut state, case, true, true, 1);
        }
        let next = state.next_step(&[]).expect("a step");
        assert_eq!((next.case, next.alone), (2, !all_get_pairs), "{chosen:?}");
    }
    assert!(!test(10, ComparePlan::Quick).takes_kept(2) && test(10, ComparePlan::Standard).takes_kept(2));
}

#[test]
fn a_failed_look_at_a_case_whose_base_is_never_measured_is_no_good_news() {
    let mut state = test(2, ComparePlan::Quick);
    looks(&mut state, &[false, true]);
    while !state.is_decided() {
        let case = state.next_step(&[]).expect("a step").case;
        state.feed(Pair { case, baseline: None, candidate: Some(false) }).expect("a case");
    }
    assert_eq!(state.results(), [CompareResult::Undecided]);
}

#[test]
fn a_look_that_was_not_measured_is_not_counted_among_those_that_were() {
    let mut state = test(3, ComparePlan::Quick);
    state.feed_look(0, None).expect("a case");
    assert_eq!(state.comparison().looks, None);
    state.feed_look(1, Some(true)).expect("a case");
    state.feed_look(2, Some(true)).expect("a case");
    assert_eq!(state.comparison().looks.map(|looks| (looks.cases, looks.passed.len())), Some((2, 2)));
}

#[test]
fn a_case_that_failed_twice_needs_two_passes_of_four() {
    let mut state = test(1, ComparePlan::Quick);
    looks(&mut state, &[false]);
    for (passed, next) in [(false, Some(pair_of(0))), (true, Some(pair_of(0))), (true, None)] {
        feed(&mut state, 0, true, passed, 1);
        assert_eq!((state.next_step(&[]), state.is_decided()), (next, next.is_none()), "{passed}");
    }
    assert_eq!(state.results(), [CompareResult::NoHarmSeen]);
}

#[test]
fn if_several_looks_fail_all_cases_get_pairs_as_long_as_these_speak_against_the_candidate() {
    let several = || {
        let mut state = test(10, ComparePlan::Quick);
        looks(&mut state, &[true, false, false, true, false]);
        feed(&mut state, 1, true, true, 1);
        feed(&mut state, 2, true, true, 1);
        feed(&mut state, 4, true, true, 1);
        assert_eq!(state.next_step(&[]), Some(look_at(5)), "three fail now and then");
        state.feed_look(5, Some(false)).expect("a case");
        feed(&mut state, 5, true, true, 1);
        assert!(state.comparison().looks.is_some_and(|looks| looks.several));
        assert!(!state.takes_kept(1), "the provider may have moved");
        // Of those that passed their look and those that had none.
        assert_eq!(state.next_step(&[]), Some(pair_of(0)));
        assert_eq!(state.next_step(&[pair_of(0)]), Some(pair_of(3)));
        assert_eq!(state.next_step(&[pair_of(0), pair_of(3)]), Some(pair_of(6)));
        state
    };
    let mut harmless = several();
    feed(&mut harmless, 0, false, true, 1);
    assert_eq!(harmless.next_step(&[]), Some(look_at(6)), "the pairs speak for the candidate");
    // What was gathered before is bet on pairs.
    let mut harm = several();
    let (before, switched) = (evidence(&harm).broke, harm.several.expect("several").1);
    let together = |losses: u64| {
        let cases: Vec<(u64, u64)> = (0..10).map(|case| (u64::from(case < losses), 0)).collect();
        e_broke(&cases)
    };
    for (losses, case) in (1..).zip([0, 3, 6, 7, 8, 9]) {
        feed(&mut harm, case, true, false, 1);
        close(evidence(&harm).broke, (switched * together(losses)).max(before), &losses);
    }
    assert!(together(6) > 20.0 && evidence(&harm).broke < 20.0, "a part of the stake was lost on single cases");
}

#[test]
fn a_look_that_was_not_measured_leads_to_a_pair_and_counts_as_a_failure_at_worst() {
    let mut state = test(2, ComparePlan::Quick);
    state.feed_look(0, None).expect("a case");
    assert_eq!((state.next_step(&[]), state.results()), (Some(pair_of(0)), vec![CompareResult::NothingMeasured]));
    feed(&mut state, 0, true, true, 1);
    state.feed_look(1, Some(true)).expect("a case");
    assert!(state.is_decided(), "{:?}", state.next_step(&[]));
    let found = state.comparison();
    assert_eq!((found.results, found.candidate.not_measured), (vec![CompareResult::NoHarmSeen], 1));
    assert_eq!((found.at_worst, found.lost), (vec![CompareResult::NoHarmSeen], Vec::new()));
    let wrong = state.feed_look(2, None).expect_err("no such case");
    assert_eq!((wrong.case, wrong.cases), (2, 2));
}

#[test]
fn no_harm_is_seen_only_once_the_plan_is_done() {
    for (plan, expected) in
        [(ComparePlan::Standard, CompareResult::NoHarmSeen), (ComparePlan::UntilDecided, CompareResult::Undecided)]
    {
        let mut state = SequentialTest::new(names(2), RULE, plan, 18, 1);
        feed(&mut state, 0, true, true, 8);
        assert_eq!(state.results(), [CompareResult::Undecided]);
        feed(&mut state, 1, true, true, 1);
        assert_eq!(state.results(), [expected]);
    }
    let mut state = SequentialTest::new(names(2), RULE, ComparePlan::Standard, 8, 1);
    feed(&mut state, 0, true, true, 4);
    assert_eq!(state.results(), [CompareResult::Undecided], "a case was never tried");
    let mut state = SequentialTest::new(names(1), RULE, ComparePlan::Standard, 8, 1);
    feed(&mut state, 0, true, true, 3);
    state.feed(Pair { case: 0, baseline: Some(true), candidate: None }).expect("a case");
    assert_eq!(state.results(), [CompareResult::Undecided], "a pair was not measured");
    assert_eq!(SequentialTest::of_shards(&[state.clone()], RULE, ComparePlan::Standard).results(), state.results());
    feed(&mut state, 0, true, true, 1);
    assert_eq!(state.results(), [CompareResult::NoHarmSeen]);
    assert_eq!(SequentialTest::of_shards(&[state.clone()], RULE, ComparePlan::Standard).results(), state.results());
}

#[test]
fn pairs_that_were_not_measured_are_counted_separately_and_keep_no_case_busy() {
    let mut state = test(2, ComparePlan::Standard);
    assert_eq!(state.results(), [CompareResult::NothingMeasured]);
    for _ in 0..10 {
        let case = next(&state, &[]).expect("cases");
        let candidate = (case == 1).then_some(true);
        state.feed(Pair { case, baseline: Some(true), candidate }).expect("a case");
    }
    let found = state.comparison();
    assert_eq!((found.baseline.not_measured, found.only_baseline.len(), found.cases.len()), (0, 0, 1));
    assert!(found.candidate.not_measured > 0 && found.baseline.rate.trials > 1, "{found:?}");
}

#[test]
fn a_case_that_is_never_measured_prevents_no_result() {
    for (plan, expected) in
        [(ComparePlan::Standard, CompareResult::NoWorse), (ComparePlan::Quick, CompareResult::NoHarmSeen)]
    {
        let mut state = test(3, plan);
        while !state.is_decided() && state.pairs().len() < 400 {
            let Step { case, alone } = state.next_step(&[]).expect("cases");
            let candidate = (case != 1).then_some(true);
            let fed = if alone {
                state.feed_look(case, candidate)
            } else {
                state.feed(Pair { case, baseline: Some(true), candidate })
            };
            fed.expect("a case");
        }
        assert_eq!(state.results(), [expected]);
    }
}

#[test]
fn pairs_in_flight_go_to_different_cases_and_unknown_ones_are_refused() {
    let mut state = test(3, ComparePlan::Standard);
    assert_eq!((next(&state, &[0]), next(&state, &[0, 1])), (Some(1), Some(2)));
    let wrong = state.feed(Pair { case: 3, baseline: None, candidate: None }).expect_err("no such case");
    assert_eq!(wrong.to_string(), "a pair is of case number 3, and only 3 cases are compared");
    assert_eq!(next(&test(0, ComparePlan::Standard), &[]), None);
}

fn feed_unmeasured(state: &mut SequentialTest, case: usize, times: usize) {
    for _ in 0..times {
        state.feed(Pair { case, baseline: None, candidate: None }).expect("a case");
    }
}

fn evidence(state: &SequentialTest) -> SequentialEvidence {
    let ResultBasis::Sequential(evidence) = state.comparison().evidence else { panic!("not of stored trials") };
    evidence
}

#[test]
fn the_quick_plan_tries_a_case_that_is_never_measured_five_times_and_one_that_failed_on_both_sides_twice() {
    for (look, pair, times) in
        [(None, (None, None), 5), (Some(false), (Some(true), None), 5), (Some(false), (Some(false), Some(false)), 2)]
    {
        let mut state = test(1, ComparePlan::Quick);
        state.feed_look(0, look).expect("a case");
        for _ in 0..times {
            assert_eq!(next(&state, &[]), Some(0), "{pair:?}");
            state.feed(Pair { case: 0, baseline: pair.0, candidate: pair.1 }).expect("a case");
        }
        assert_eq!(state.next_step(&[]), None, "{pair:?}");
    }
}

#[test]
fn each_side_counts_its_own_trials_that_were_not_measured() {
    let mut state = test(1, ComparePlan::Standard);
    feed_unmeasured(&mut state, 0, 1);
    for (baseline, candidate) in [(None, Some(true)), (None, Some(false)), (Some(true), None)] {
        state.feed(Pair { case: 0, baseline, candidate }).expect("a case");
    }
    let found = state.comparison();
    assert_eq!((found.baseline.not_measured, found.candidate.not_measured), (3, 2));
}

#[test]
fn rounds_wait_for_a_case_until_five_pairs_of_it_were_not_measured() {
    let mut state = test(2, ComparePlan::Standard);
    feed(&mut state, 0, true, true, 3);
    feed_unmeasured(&mut state, 1, 4);
    assert_eq!(evidence(&state).no_worse, Some(1.0));
    feed_unmeasured(&mut state, 1, 1);
    let three = RoundPairs { ties: 3, ..RoundPairs::default() };
    assert_eq!(evidence(&state).no_worse, Some(three.above(-0.1)));
    // They wait for a case that was measured once.
    let mut state = test(2, ComparePlan::Standard);
    feed(&mut state, 1, true, true, 1);
    feed_unmeasured(&mut state, 1, 10);
    feed(&mut state, 0, true, true, 3);
    let one = RoundPairs { ties: 2, ..RoundPairs::default() };
    assert_eq!(evidence(&state).no_worse, Some(one.above(-0.1)));
}

#[test]
fn the_p_of_a_case_is_one_by_the_evidence_of_its_losses_and_wins() {
    let mut state = test(3, ComparePlan::UntilDecided);
    feed(&mut state, 0, true, false, 8);
    feed(&mut state, 0, false, true, 1);
    feed(&mut state, 1, false, true, 7);
    feed(&mut state, 2, true, true, 9);
    for (case, expected) in state.comparison().cases.iter().zip([1.0 / e_two_sided(8, 1), 1.0 / e_two_sided(0, 7), 1.0])
    {
        assert!((case.p - expected).abs() < 1e-12, "{case:?}");
    }
    assert!(evidence(&state).broke >= e_broke(&[(8, 1), (0, 0), (0, 0)]));
}

#[test]
fn shards_together_keep_the_counts_of_each_case_and_weigh_the_evidence_that_one_broke() {
    let shard = |number: usize, alpha: f64, losses: [usize; 2]| {
        let names = (0..2).map(|case| format!("{number}-{case}")).collect();
        let mut state = SequentialTest::new(names, Rule { alpha, ..RULE }, ComparePlan::Standard, 120, 1);
        for (case, losses) in losses.into_iter().enumerate() {
            feed(&mut state, case, true, true, 1);
            feed(&mut state, case, true, false, losses);
        }
        state
    };
    let shards = [shard(0, 0.02, [0, 1]), shard(1, 0.015, [2, 0]), shard(2, 0.015, [3, 4])];
    let whole = SequentialTest::of_shards(&shards, RULE, ComparePlan::Standard);
    let counted: Vec<(String, u64)> =
        whole.comparison().cases.into_iter().map(|case| (case.case, case.candidate.rate.failed())).collect();
    let expected = [("0-0", 0), ("0-1", 1), ("1-0", 2), ("1-1", 0), ("2-0", 3), ("2-1", 4)];
    assert_eq!(counted, expected.map(|(name, failed)| (name.to_owned(), failed)));
    let [first, second, third] = shards.each_ref().map(|shard| evidence(shard).broke);
    assert!((evidence(&whole).broke - (0.4 * first + 0.3 * second + 0.3 * third)).abs() < 1e-9);
}

/// The cases that comparisons with 50 seeds try next, after pairs that both sides passed, and losses after those.
fn next_cases(rule: Rule, pairs: &[(usize, usize)]) -> Vec<usize> {
    let next = |seed| {
        let mut state = SequentialTest::new(names(pairs.len()), rule, ComparePlan::Standard, 1000, seed);
        for (case, (losses, ties)) in pairs.iter().enumerate() {
            feed(&mut state, case, true, false, *losses);
            feed(&mut state, case, true, true, *ties);
        }
        next(&state, &[]).expect("a case")
    };
    (0..50).map(next).collect()
}

#[test]
fn pairs_go_to_what_may_have_broken_until_the_mean_shows_more() {
    // Case 0 lost two of five pairs. It is not a suspect, but tells most.
    let harm = next_cases(RULE, &[(2, 3), (0, 2), (0, 3)]);
    assert!(harm.iter().filter(|case| **case == 0).count() > 40, "{harm:?}");
    // Without a loss, only the margin is near: the next round is completed.
    assert_eq!(next_cases(RULE, &[(0, 4), (0, 3), (0, 2)]), [2; 50]);
    // Without a margin nothing is near, and any case may show harm.
    let any = next_cases(NO_MARGIN, &[(0, 4), (0, 3), (0, 2)]);
    assert!((0..3).all(|case| any.contains(&case)), "{any:?}");
}

#[test]
fn cases_that_tell_the_same_are_chosen_by_chance_at_every_step() {
    let mut state = SequentialTest::new(names(3), RULE, ComparePlan::Standard, 1000, u64::MAX);
    feed(&mut state, 0, true, false, 1);
    feed(&mut state, 1, true, false, 1);
    feed_unmeasured(&mut state, 2, 5);
    let mut chosen = [0; 3];
    for _ in 0..50 {
        chosen[next(&state, &[]).expect("a case")] += 1;
        feed_unmeasured(&mut state, 2, 1);
    }
    assert!(chosen[0] > 10 && chosen[1] > 10 && chosen[2] == 0, "{chosen:?}");
}

#[test]
fn the_mean_is_decided_by_worse_or_better_without_a_margin_and_by_no_worse_unless_better_is_near() {
    let decided = |rule, (losses, wins, ties): (usize, usize, usize)| {
        let mut state = SequentialTest::new(names(1), rule, ComparePlan::UntilDecided, 1000, 1);
        feed(&mut state, 0, true, true, ties);
        feed(&mut state, 0, true, false, losses);
        feed(&mut state, 0, false, true, wins);
        (state.is_decided(), state.results().pop().expect("a result"))
    };
    assert_eq!(decided(NO_MARGIN, (7, 0, 0)), (true, CompareResult::Worse));
    assert_eq!(decided(NO_MARGIN, (0, 7, 0)), (true, CompareResult::Better));
    assert_eq!(decided(NO_MARGIN, (0, 0, 100)), (false, CompareResult::Undecided));
    assert_eq!(decided(RULE, (0, 0, 60)), (true, CompareResult::NoWorse));
    // Four wins are evidence of 7 for `better`: more than the root of 20.
    assert_eq!(decided(RULE, (0, 4, 60)), (false, CompareResult::NoWorse));
    assert_eq!(decided(RULE, (0, 7, 60)), (true, CompareResult::Better));
}

#[test]
fn an_undecided_comparison_says_what_it_takes() {
    let mut state = test(1, ComparePlan::UntilDecided);
    feed(&mut state, 0, true, true, 8);
    feed(&mut state, 0, true, false, 2);
    let found = state.comparison();
    let stratum = Stratum { baseline: Rate::new(10, 10), candidate: Rate::new(8, 10) };
    let needed = plan::more_trials(&[stratum], -0.2, RULE.alpha);
    assert_eq!((found.results.as_slice(), found.trials_needed), (&[CompareResult::Undecided][..], needed));
    assert!(needed.is_some());
}

#[test]
fn good_news_that_lost_trials_might_have_turned_is_known_by_their_number() {
    let better = |lost: usize| {
        let names = vec!["a".to_owned(), "b".to_owned()];
        let mut course = SequentialTest::new(names, Rule::default(), ComparePlan::Standard, 400, 0);
        for number in 0..40 {
            let candidate = (number >= lost).then_some(true);
            course.feed(Pair { case: number % 2, baseline: Some(false), candidate }).expect("a known case");
        }
        course.comparison()
    };
    assert_eq!((better(0).results, better(0).lost_trials()), (vec![CompareResult::Better], 0));
    // If these two had failed, it would be better all the same.
    assert_eq!((better(2).results, better(2).at_worst), (vec![CompareResult::Better], vec![CompareResult::Better]));
    assert_eq!(better(2).lost_trials(), 0);
    let half_lost = || {
        let mut course = SequentialTest::new(vec!["a".to_owned()], Rule::default(), ComparePlan::Standard, 400, 0);
        for number in 0..60 {
            let (a, b) = if number % 2 == 1 { (Some(true), None) } else { (Some(number % 3 == 0), Some(true)) };
            course.feed(Pair { case: 0, baseline: a, candidate: b }).expect("a known case");
        }
        course.comparison()
    };
    assert_eq!(half_lost().results, [CompareResult::Better]);
    assert_eq!(half_lost().lost_trials(), 30, "{:?}", half_lost().at_worst);
}

#[test]
fn a_case_that_cannot_be_measured_takes_no_pair_of_another() {
    let mut state =
        SequentialTest::new(names(3), RULE, ComparePlan::UntilDecided, 12, 1).with_pairs_of_each(vec![2, 2, 2]);
    let mut tried = [0; 3];
    while let Some(case) = next(&state, &[]) {
        tried[case] += 1;
        let measured = (case != 0).then_some(true);
        state.feed(Pair { case, baseline: measured, candidate: measured }).expect("a case");
    }
    assert_eq!((tried, state.is_done()), ([2, 2, 2], true));
}

#[test]
fn a_case_that_lost_a_pair_by_chance_is_not_named_next_to_one_that_broke() {
    let mut state = test(3, ComparePlan::UntilDecided);
    feed(&mut state, 0, true, false, 7);
    feed(&mut state, 1, true, false, 1);
    let found = state.comparison();
    assert_eq!(
        (found.results.contains(&CompareResult::Broke), found.broken, found.broke_together),
        (true, names(1), false)
    );
    // Neither shows it alone.
    let mut state = test(3, ComparePlan::UntilDecided);
    feed(&mut state, 0, true, false, 3);
    feed(&mut state, 1, true, false, 3);
    let found = state.comparison();
    assert_eq!(
        (found.results.contains(&CompareResult::Broke), found.broken, found.broke_together),
        (true, names(2), true)
    );
}
