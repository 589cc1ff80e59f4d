//! What the statistics promise, held against worlds in which the truth is known: coverage of intervals, false alarms and
//! power. Every world is drawn from a seed of its own, so that a result is the same on every machine.

use skill_evals_stats::decide::plan::{self, ComparePlan};
use skill_evals_stats::decide::promise::{ExpectedCases, Power, usual_trials};
use skill_evals_stats::decide::result::CompareResult;
use skill_evals_stats::decide::threshold::{ThresholdSide, standing};
use skill_evals_stats::decide::{CaseCount, Rule, SideCounts, fixed};
use skill_evals_stats::stats::LEVEL;
use skill_evals_stats::stats::binomial;
use skill_evals_stats::stats::difference;
use skill_evals_stats::stats::proportion::Rate;
use skill_evals_stats::stats::sequence::Rounds;
use skill_evals_stats::stats::stratified::Stratum;

use crate::worlds::{self, Kind, Rates, rates};

const RULE: Rule = Rule { alpha: 0.05, level: 0.95, margin: None };

/// How far a share of `count` draws may be from the truth of `share` by chance: three standard errors.
fn by_chance(share: f64, count: u32) -> f64 {
    3.0 * (share * (1.0 - share) / f64::from(count)).sqrt()
}

fn drawn(trials: u64, rate: f64, world: &mut fastrand::Rng) -> Rate {
    let passed = (0..trials).filter(|_| world.f64() < rate).count();
    Rate::new(passed as u64, trials)
}

#[test]
fn the_interval_of_one_case_covers_its_difference_whatever_the_rates() {
    let truths = [0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 1.0];
    let designs =
        [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (8, 8), (10, 10), (15, 15), (20, 20), (1, 20), (3, 10), (5, 20)];
    for (in_a, in_b) in designs {
        // Every outcome with its probability: no chance is left.
        let interval = |a, b| {
            let stratum = Stratum { baseline: Rate::new(a, in_a), candidate: Rate::new(b, in_b) };
            difference::of(&[stratum], 0.95).expect("trials").interval
        };
        let intervals: Vec<Vec<_>> = (0..=in_a).map(|a| (0..=in_b).map(|b| interval(a, b)).collect()).collect();
        for a in truths {
            for b in truths {
                let (chances_a, chances_b) = (binomial(in_a, a), binomial(in_b, b));
                let mut covered = 0.0;
                for (row, chance_a) in intervals.iter().zip(&chances_a) {
                    for (interval, chance_b) in row.iter().zip(&chances_b) {
                        // The truth itself may be an end, but for rounding.
                        if interval.low - 1e-9 <= b - a && b - a <= interval.high + 1e-9 {
                            covered += chance_a * chance_b;
                        }
                    }
                }
                assert!(covered >= 0.94, "{in_a} trials at {a}, {in_b} at {b}: {covered}");
            }
        }
    }
}

/// The result of a case with this rate that runs until it is decided, with `threshold` and at most `most` trials:
/// exact, over all courses of its trials.
struct Ends {
    above: f64,
    below: f64,
    trials: f64,
}

fn ends(rate: f64, threshold: f64, most: u64) -> Ends {
    let mut found = Ends { above: 0.0, below: 0.0, trials: 0.0 };
    // The probability of every count of passes on a course that is still undecided.
    let mut open = vec![1.0];
    for trials in 1..=most {
        found.trials += open.iter().sum::<f64>();
        let mut next = vec![0.0; open.len() + 1];
        for (passed, chance) in open.iter().enumerate() {
            next[passed] += chance * (1.0 - rate);
            next[passed + 1] += chance * rate;
        }
        for (passed, chance) in (0..).zip(&mut next).filter(|(_, chance)| **chance > 0.0) {
            let ended = match standing(Rate::new(passed, trials), threshold, LEVEL) {
                ThresholdSide::Undecided => continue,
                ThresholdSide::Above => &mut found.above,
                ThresholdSide::Below => &mut found.below,
            };
            *ended += std::mem::take(chance);
        }
        open = next;
    }
    found
}

#[test]
fn a_case_that_goes_on_until_it_is_decided_is_seldom_called_what_it_is_not() {
    for threshold in [0.5, 0.66, 0.8, 0.9, 0.95] {
        for step in 0..=40 {
            let rate = f64::from(step) / 40.0;
            let Ends { above, below, .. } = ends(rate, threshold, 150);
            let wrong = if rate >= threshold { below } else { above };
            assert!(wrong <= 0.05, "{rate} against {threshold}: {wrong}");
        }
        // Just at the threshold, where it is hardest, to either side.
        let (below, above) = (ends(threshold, threshold, 150).below, ends(threshold - 1e-9, threshold, 150).above);
        assert!(below <= 0.05 && above <= 0.05, "{threshold}: {below}, {above}");
    }
}

#[test]
fn trials_until_decided_are_as_few_as_the_documentation_says() {
    let documented = include_str!("../../../../docs/reference/statistics.md");
    for rate in [1.0, 0.95, 0.9, 0.8, 0.7, 0.5, 0.2, 0.0] {
        let Ends { above, below, trials } = ends(rate, 0.8, 100);
        let percent = |share: f64| format!("{:.0} %", share * 100.0);
        let row = format!(
            "| {} | {trials:.1} | {} | {} | {} |",
            percent(rate),
            percent(above),
            percent(below),
            percent((1.0 - above - below).max(0.0))
        );
        assert!(documented.contains(&row), "docs/reference/statistics.md lacks\n{row}");
    }
}

/// A suite, whose kinds of cases take turns.
type Suite = (&'static str, &'static [Kind]);

const SUITES: [Suite; 18] = [
    ("all pass", &[(1, 1.0, 1.0)]),
    ("none passes", &[(1, 0.0, 0.0)]),
    ("pass or fail for certain, and the other way round", &[(1, 1.0, 0.0)]),
    ("an even chance", &[(1, 0.5, 0.5)]),
    ("nearly all pass", &[(1, 0.95, 0.95)]),
    ("failures are rare", &[(1, 0.99, 0.99)]),
    ("a drop from certain", &[(1, 1.0, 0.9)]),
    ("a large drop", &[(1, 0.9, 0.1)]),
    ("never to nearly always", &[(1, 0.0, 0.98)]),
    ("nearly never to always", &[(1, 0.01, 1.0)]),
    ("opposite chances", &[(1, 0.3, 0.7)]),
    ("a third never passes", &[(1, 0.0, 0.0), (2, 1.0, 1.0)]),
    ("a third stops to pass", &[(1, 1.0, 0.0), (2, 1.0, 1.0)]),
    ("a third is even", &[(1, 0.5, 0.5), (2, 1.0, 1.0)]),
    ("cases change in opposite directions", &[(1, 0.9, 0.1), (2, 0.1, 0.9)]),
    ("hard cases among easy ones", &[(1, 0.2, 0.2), (2, 0.95, 0.9)]),
    ("one shaky, the others nearly certain", &[(1, 0.5, 0.2), (9, 0.99, 0.99)]),
    ("spread out", &[(1, 0.2, 0.3), (1, 0.4, 0.3), (1, 0.6, 0.6), (1, 0.8, 0.7), (1, 1.0, 0.9)]),
];

/// The worst coverage of `suites` over 2 to 50 cases and 1 to 20 trials, even and uneven ones.
fn worst_coverage(suites: &[Suite], seed: u64) -> (f64, String) {
    const TIMES: u32 = 1000;
    let mut worst = (1.0, String::new());
    let mut world = fastrand::Rng::with_seed(seed);
    for (cases, trials) in
        [(2, 1), (2, 20), (3, 5), (5, 1), (5, 3), (10, 2), (10, 10), (20, 1), (20, 5), (50, 1), (50, 3)]
    {
        for (name, kinds) in suites {
            for uneven in [false, true] {
                let turn = || kinds.iter().flat_map(|&(count, a, b)| (0..count).map(move |_| (a, b)));
                let rates: Rates = std::iter::repeat_with(turn).flatten().take(cases).collect();
                // One case in four is tried once, as where a run stops early.
                let tried = |case: usize| if uneven && case.is_multiple_of(4) { 1 } else { trials };
                let truth = worlds::difference(&rates);
                let mut covered = 0;
                for _ in 0..TIMES {
                    let draw = |(case, (a, b)): (usize, &(f64, f64))| Stratum {
                        baseline: drawn(tried(case), *a, &mut world),
                        candidate: drawn(tried(case), *b, &mut world),
                    };
                    let strata: Vec<Stratum> = rates.iter().enumerate().map(draw).collect();
                    let interval = difference::of(&strata, 0.95).expect("trials").interval;
                    covered += u32::from(interval.low - 1e-9 <= truth && truth <= interval.high + 1e-9);
                }
                let share = f64::from(covered) / f64::from(TIMES);
                if share < worst.0 {
                    worst = (share, format!("{name}: {cases} cases, {trials} trials, uneven {uneven}"));
                }
            }
        }
    }
    worst
}

#[test]
fn the_interval_of_many_cases_covers_their_difference_however_unlike_they_are() {
    // Two threads, so that both cores of a small machine have something to do.
    let halves = std::thread::scope(|scope| {
        let (first, second) = SUITES.split_at(SUITES.len() / 2);
        let other = scope.spawn(|| worst_coverage(second, 2));
        [worst_coverage(first, 1), other.join().expect("a result")]
    });
    for (share, name) in halves {
        assert!(share >= 0.94 - by_chance(0.94, 1000), "{share} of {name}");
    }
}

/// The share of `times` comparisons by this plan, of `most` pairs at most, that have the `result`.
fn share_of(result: CompareResult, rates: &Rates, (rule, plan): (Rule, ComparePlan), most: usize, times: u32) -> f64 {
    let has = |seed: &u32| worlds::run(rates, rule, plan, u64::from(*seed), most).results().contains(&result);
    f64::from(u32::try_from((0..times).filter(has).count()).expect("few")) / f64::from(times)
}

/// Suites whose cases did not change.
fn unchanged() -> Vec<(&'static str, Rates)> {
    vec![
        ("one even case", rates(&[(1, 0.5, 0.5)])),
        ("five nearly certain ones", rates(&[(5, 0.9, 0.9)])),
        ("twelve of all kinds", rates(&[(3, 1.0, 1.0), (3, 0.9, 0.9), (3, 0.5, 0.5), (3, 0.7, 0.7)])),
        ("all pass", rates(&[(8, 1.0, 1.0)])),
    ]
}

#[test]
fn unchanged_suites_are_called_broke_worse_or_better_as_seldom_as_promised_by_every_plan() {
    for (name, rates) in unchanged() {
        for plan in ComparePlan::ALL {
            for result in [CompareResult::Broke, CompareResult::Worse, CompareResult::Better] {
                let found = share_of(result, &rates, (RULE, plan), 150, 150);
                assert!(found <= 0.05 + by_chance(0.05, 150), "{name}, {plan:?}: {result:?} {found}");
            }
        }
    }
}

/// Suites in which cases broke and the others improve by as much: the table of docs/contributing/proofs.md.
fn even_sums() -> Vec<(&'static str, Rates)> {
    vec![
        ("one of ten breaks", rates(&[(1, 0.9, 0.0), (9, 0.8, 0.9)])),
        ("one of twenty breaks", rates(&[(1, 1.0, 0.0), (19, 0.9, 0.9 + 1.0 / 19.0)])),
        ("two of twenty break", rates(&[(2, 0.9, 0.3), (18, 0.8, 0.8 + 1.2 / 18.0)])),
    ]
}

#[test]
fn a_case_that_broke_is_found_and_says_nothing_about_a_mean_that_is_even() {
    for (name, rates) in even_sums() {
        for plan in [ComparePlan::Standard, ComparePlan::UntilDecided] {
            for result in [CompareResult::Worse, CompareResult::Better] {
                let found = share_of(result, &rates, (RULE, plan), 200, 150);
                assert!(found <= 0.05 + by_chance(0.05, 150), "{name}, {plan:?}: {result:?} {found}");
            }
        }
        let broke = share_of(CompareResult::Broke, &rates, (RULE, ComparePlan::Standard), 200, 150);
        assert!(broke > 0.5, "{name}: {broke}");
    }
}

#[test]
fn a_case_that_broke_and_good_news_about_the_mean_are_both_found() {
    let rates = rates(&[(1, 0.9, 0.0), (9, 0.7, 0.9)]);
    let until_decided = (Rule { margin: Some(0.05), ..RULE }, ComparePlan::UntilDecided);
    for (result, fewest, most) in [
        (CompareResult::Worse, 0.0, 0.0),
        (CompareResult::NoWorse, 0.6, 1.0),
        (CompareResult::Better, 0.05, 1.0),
        (CompareResult::Broke, 0.5, 1.0),
    ] {
        let found = share_of(result, &rates, until_decided, 400, 100);
        assert!((fewest..=most).contains(&found), "{result:?} {found}");
    }
}

#[test]
fn no_worse_is_reported_as_seldom_as_promised_if_the_loss_is_the_margin() {
    let rule = Rule { margin: Some(0.1), ..RULE };
    let suites = [
        ("all cases lose the margin", rates(&[(4, 1.0, 0.9)])),
        ("one loses it for all", rates(&[(1, 1.0, 0.5), (4, 1.0, 1.0)])),
        ("some win and some lose", rates(&[(2, 0.6, 0.3), (1, 0.5, 0.8)])),
    ];
    for (name, rates) in suites {
        let found = share_of(CompareResult::NoWorse, &rates, (rule, ComparePlan::UntilDecided), 150, 150);
        assert!(found <= 0.05 + by_chance(0.05, 150), "{name}: {found}");
    }
}

#[test]
fn a_plan_finds_the_drop_that_it_promised_to_as_often_as_it_said() {
    let tolerant = Rule { margin: Some(0.1), ..RULE };
    for (plan, cases, pairs, before, rule) in [
        (ComparePlan::Quick, 10, 200, 0.9, RULE),
        (ComparePlan::Quick, 24, 200, 0.8, tolerant),
        (ComparePlan::Standard, 1, 60, 0.9, RULE),
        (ComparePlan::Standard, 6, 80, 0.8, RULE),
        (ComparePlan::Standard, 10, 150, 0.95, tolerant),
    ] {
        let many = u32::try_from(cases).expect("few");
        let expected = ExpectedCases { rates: vec![before; cases], ..ExpectedCases::unknown(cases) };
        let said = Power::of(plan, &expected, 2 * pairs, &rule);
        let (drop, share) = said.detectable_drop.zip(said.finds_drop).expect("a drop");
        let rates = rates(&[(many, before, before - drop)]);
        let most = usize::try_from(pairs).expect("few");
        let found = share_of(CompareResult::Broke, &rates, (rule, plan), most, 400);
        // Both are counts of comparisons.
        let by_chance = by_chance(0.8, 400) + by_chance(0.8, 600);
        assert!((found - share).abs() < by_chance, "{plan:?} {cases} cases, {pairs} pairs, {said:?}: {found}");
    }
}

const TIMES: u32 = 4_000;

/// Each estimate that is printed: of the difference and of both sides.
#[test]
fn what_a_comparison_of_one_round_estimates_is_true_on_average_over_all_comparisons_whatever_they_answer() {
    let suites = [
        ("nothing changed", rates(&[(3, 1.0, 1.0), (4, 0.9, 0.9), (3, 0.5, 0.5)])),
        ("one of ten breaks", rates(&[(1, 1.0, 0.0), (9, 0.9, 0.9)])),
        ("all lose a little", rates(&[(10, 0.9, 0.8)])),
        ("all lose much, so that half end in the first round", rates(&[(10, 0.9, 0.3)])),
        ("all are even and lose", rates(&[(10, 0.5, 0.4)])),
        ("all gain", rates(&[(16, 0.5, 0.6)])),
        ("many lose", rates(&[(40, 0.9, 0.7)])),
        ("one case", rates(&[(1, 0.9, 0.6)])),
    ];
    for (name, rates) in suites {
        let mut sums = [[0.0; 2]; 3];
        for seed in 0..TIMES {
            let found = worlds::run(&rates, RULE, ComparePlan::Standard, u64::from(seed), rates.len()).comparison();
            let difference = found.difference.and_then(|found| found.difference);
            let all =
                [difference, found.baseline.share, found.candidate.share].map(|found| found.expect("an estimate"));
            let interval = found.difference.expect("an interval").interval;
            assert!(interval.low - 1e-9 <= all[0] && all[0] <= interval.high + 1e-9, "{name}: {found:?}");
            for (sum, found) in sums.iter_mut().zip(all) {
                *sum = [sum[0] + found, sum[1] + found * found];
            }
        }
        let mean = |of: fn(&(f64, f64)) -> f64| {
            rates.iter().map(of).sum::<f64>() / f64::from(u32::try_from(rates.len()).expect("few"))
        };
        let truths = [worlds::difference(&rates), mean(|case| case.0), mean(|case| case.1)];
        for (sum, truth) in sums.into_iter().zip(truths) {
            let found = sum[0] / f64::from(TIMES);
            let error = ((sum[1] / f64::from(TIMES) - found * found) / f64::from(TIMES)).sqrt();
            assert!((found - truth).abs() < 0.01_f64.max(3.0 * error), "{name}: {found}, truly {truth}");
        }
    }
}

#[test]
fn plans_that_go_on_until_rounds_show_something_estimate_nothing_and_their_interval_holds() {
    let rates = rates(&[(10, 0.9, 0.8)]);
    for plan in [ComparePlan::Standard, ComparePlan::UntilDecided] {
        for seed in 0..20 {
            let found = worlds::run(&rates, RULE, plan, seed, 200).comparison();
            assert_eq!((found.baseline.share, found.candidate.share), (None, None));
            assert!(found.difference.is_some_and(|found| found.difference.is_none()), "{found:?}");
        }
        // With a limit of one round, nothing can prolong it.
        let found = worlds::run(&rates, RULE, plan, 1, 10).comparison();
        assert!(found.difference.is_some_and(|found| found.difference.is_some()), "{found:?}");
    }
}

#[test]
fn the_quick_plan_finds_a_case_that_went_from_always_to_never_and_ends_soon_if_none_did() {
    let of_year = Rule { alpha: RULE.alpha / 500.0, ..RULE };
    for (cases, before, rule) in
        [(10, 0.9, RULE), (40, 0.9, RULE), (170, 0.9, RULE), (40, 1.0, RULE), (10, 0.9, of_year), (40, 0.9, of_year)]
    {
        let most = 400;
        let broken = rates(&[(1, 1.0, 0.0), (cases - 1, before, before)]);
        let quick = (Rule { margin: Some(0.05), ..rule }, ComparePlan::Quick);
        let found = share_of(CompareResult::Broke, &broken, quick, most, 100);
        assert!(found >= 0.95, "{cases} cases at {before}: {found}");
        let same = rates(&[(cases, before, before)]);
        let trials: u64 = (0..100).map(|seed| worlds::run(&same, quick.0, quick.1, seed, most).trials()).sum();
        let expected = ExpectedCases { rates: vec![before; cases as usize], ..ExpectedCases::unknown(cases as usize) };
        let promised = usual_trials(ComparePlan::Quick, &expected, 800, &quick.0);
        let mean = f64::from(u32::try_from(trials).expect("few")) / 100.0;
        assert!((mean / promised - 1.0).abs() < 0.1, "{cases} cases at {before}: {mean} trials instead of {promised}");
    }
}

#[test]
fn the_quick_plan_finds_most_cases_that_went_from_always_to_one_time_in_ten() {
    let quick = (Rule { margin: Some(0.05), ..RULE }, ComparePlan::Quick);
    for cases in [5, 10, 40] {
        let broken = rates(&[(1, 1.0, 0.1), (cases - 1, 0.9, 0.9)]);
        let found = share_of(CompareResult::Broke, &broken, quick, 400, 400);
        assert!(found >= 0.75, "{cases} cases: {found}");
    }
}

#[test]
fn the_interval_holds_whatever_stops_a_comparison() {
    let mut suites = unchanged();
    suites.extend(even_sums());
    suites.extend([
        ("few cases drop", rates(&[(2, 0.9, 0.4), (6, 0.95, 0.95)])),
        ("all drop", rates(&[(6, 0.9, 0.7)])),
        ("cases that are even hide a drop", rates(&[(2, 1.0, 0.6), (4, 0.5, 0.5)])),
        ("all rise", rates(&[(4, 0.3, 0.9)])),
    ]);
    for (name, rates) in suites {
        let truth = worlds::difference(&rates);
        // Whoever stops at the worst moment stops after a round whose interval misses the truth.
        let ever_missed = |seed: &u32| {
            let (mut world, mut rounds) = (fastrand::Rng::with_seed(u64::from(*seed)), Rounds::new(rates.len()));
            (0..200).any(|at| {
                let pair = worlds::pair(&rates, at % rates.len(), &mut world);
                let difference = i8::from(pair.candidate == Some(true)) - i8::from(pair.baseline == Some(true));
                rounds.feed(pair.case, difference)
                    && rounds.complete().above(truth).max(rounds.complete().below(truth)) >= 2.0 / 0.05
            })
        };
        let missed = f64::from(u32::try_from((0..300).filter(ever_missed).count()).expect("few")) / 300.0;
        assert!(missed <= 0.05 + by_chance(0.05, 300), "{name}: {missed}");
        // The quick plan prints none.
        let holds = |seed: &u32| {
            let found = worlds::run(&rates, RULE, ComparePlan::Standard, u64::from(*seed), 200).comparison();
            found.difference.expect("trials").interval.contains(truth)
        };
        let held = f64::from(u32::try_from((0..100).filter(holds).count()).expect("few")) / 100.0;
        assert!(held >= 0.95 - by_chance(0.95, 100), "{name}: {held}");
    }
}

#[test]
fn one_case_that_got_better_is_no_good_news_if_all_together_lost_the_margin() {
    // One case passes from now on, nine that always passed fail every fifth time.
    let suite = rates(&[(1, 0.0, 1.0), (9, 1.0, 0.8)]);
    let rule = Rule { margin: Some(0.05), ..RULE };
    let better = share_of(CompareResult::Better, &suite, (rule, ComparePlan::UntilDecided), 200, 200);
    assert!(better <= 0.05 + by_chance(0.05, 200), "{better}");
}

/// Two stored runs of `rates`, with `trials` of each case on each side.
fn stored(rates: &Rates, trials: u64, world: &mut fastrand::Rng) -> (SideCounts, SideCounts) {
    let mut arm = |of: fn(&(f64, f64)) -> f64| -> SideCounts {
        let counts = |case: &(f64, f64), world: &mut fastrand::Rng| CaseCount {
            rate: drawn(trials, of(case), world),
            not_measured: 0,
        };
        rates.iter().enumerate().map(|(at, case)| (format!("{at:03}"), counts(case, world))).collect()
    };
    (arm(|case| case.0), arm(|case| case.1))
}

/// The share of `times` comparisons of stored runs that have the `result`.
fn compared(result: CompareResult, rates: &Rates, trials: u64, times: u32) -> f64 {
    let mut world = fastrand::Rng::with_seed(9);
    let mut found = 0;
    for _ in 0..times {
        let (a, b) = stored(rates, trials, &mut world);
        found += u32::from(fixed::compare(&a, &b, &RULE).results.contains(&result));
    }
    f64::from(found) / f64::from(times)
}

#[test]
fn stored_runs_of_unchanged_suites_are_told_apart_as_seldom_as_promised() {
    let mut suites = unchanged();
    suites.push(("thirty cases that are even", rates(&[(30, 0.5, 0.5)])));
    suites.push(("easy and hard ones", rates(&[(10, 0.95, 0.95), (10, 0.1, 0.1)])));
    for (name, rates) in suites {
        for trials in [1, 5, 12] {
            for result in [CompareResult::Broke, CompareResult::Worse, CompareResult::Better] {
                let found = compared(result, &rates, trials, 300);
                assert!(found <= 0.05 + by_chance(0.05, 300), "{name}, {trials} trials: {result:?} {found}");
            }
        }
    }
}

#[test]
fn in_stored_runs_too_a_case_that_broke_says_nothing_about_a_mean_that_is_even() {
    for (name, rates) in even_sums() {
        for result in [CompareResult::Worse, CompareResult::Better] {
            let found = compared(result, &rates, 12, 300);
            assert!(found <= 0.05 + by_chance(0.05, 300), "{name}: {result:?} {found}");
        }
    }
    assert!(compared(CompareResult::Broke, &even_sums()[0].1, 12, 300) > 0.8);
}

#[test]
fn stored_runs_find_the_drop_that_was_promised() {
    for (cases, trials, before) in [(1, 60, 0.9), (40, 1, 0.9), (10, 6, 0.8)] {
        let drop = plan::detectable_fixed(cases * trials, before, &RULE, 0.8).expect("a drop");
        let rates = rates(&[(u32::try_from(cases).expect("few"), before, before - drop)]);
        let found = compared(CompareResult::Worse, &rates, trials, 300);
        assert!(found >= 0.8 - by_chance(0.8, 300), "{cases} cases, {trials} trials, {before} less {drop}: {found}");
    }
}

#[test]
fn single_cases_are_seldom_named_where_none_changed() {
    let rates = rates(&[(100, 0.9, 0.9)]);
    let mut world = fastrand::Rng::with_seed(4);
    let mut named = 0;
    for _ in 0..100 {
        let (a, b) = stored(&rates, 5, &mut world);
        named += u32::from(fixed::compare(&a, &b, &RULE).cases.iter().any(|case| case.changed));
    }
    // "Anything newly fails" would have named one nearly every time.
    assert!(f64::from(named) / 100.0 <= 0.05 + by_chance(0.05, 100), "{named} of 100");
}

#[test]
fn models_are_seldom_called_no_worse_or_worse_than_the_best_if_they_are_not() {
    let times = 200;
    for world in &worlds::MODELS {
        let [no_worse, worse, found] = worlds::of_models(world, times);
        println!("| {} | {} | {no_worse:.3} | {worse:.3} | {found:.3} |", world.0, world.2);
        let most = 0.05 + by_chance(0.05, times);
        assert!(no_worse <= most && worse <= most, "{}: {no_worse} {worse}", world.0);
    }
    // And they are found, if there are enough trials.
    let [.., found] = worlds::of_models(&worlds::MODELS[6], times);
    assert!(found > 0.8, "{found}");
}

#[test]
fn a_million_stored_trials_are_compared_in_bounded_memory() {
    // 10,000 cases of 50 trials on each side. Only shows that it ends and is right; a bench measures the time.
    let arm = |from: u64| -> SideCounts {
        let counts = |case: u64| CaseCount { rate: Rate::new(from + case % 11, 50), not_measured: 0 };
        (0..10_000).map(|case| (format!("{case:05}"), counts(case))).collect()
    };
    let found = fixed::compare(&arm(35), &arm(34), &RULE);
    assert_eq!((found.results.as_slice(), found.cases.len()), (&[CompareResult::Worse][..], 10_000));
    let difference = found.difference.expect("a difference");
    assert!(
        difference.difference.is_some_and(|found| (found + 0.02).abs() < 1e-9) && difference.interval.contains(-0.02),
        "{difference:?}"
    );
}
