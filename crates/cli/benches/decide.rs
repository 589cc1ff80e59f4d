//! How many trials it takes until a drop is found: `cargo bench -p skill-evals-cli --bench decide` prints the tables of
//! docs/contributing/proofs.md and docs/compare.md, and `-- plans` only that of plans. Worlds are drawn from seeds, so that the
//! numbers are the same everywhere.

#[path = "../../stats/tests/stats/worlds.rs"]
mod worlds;

use skill_evals_stats::decide::plan::ComparePlan;
use skill_evals_stats::decide::result::CompareResult;
use skill_evals_stats::decide::sequential::SequentialTest;
use skill_evals_stats::decide::{MARGIN, Rule};
use skill_evals_stats::stats::sequence::e_worse;
use skill_evals_stats::stats::stratified::{self, Stratum};
use worlds::{Kind, Rates, Series, pair, rates};

const RULE: Rule = Rule { alpha: 0.05, level: 0.95, margin: Some(MARGIN) };
const RUNS: u32 = 1000;
/// A run that is not decided by then counts as this long.
const MOST: usize = 3000;

/// What changed, and which share of the cases: at most a third, or more.
const SUITES: [(&str, &[Kind]); 17] = [
    ("20 cases: 1 drops 1 → .2, 19 at .95", &[(1, 1.0, 0.2), (19, 0.95, 0.95)]),
    ("50 cases: 5 drop .95 → .5, 45 at .98", &[(5, 0.95, 0.5), (45, 0.98, 0.98)]),
    ("20 cases: 3 drop 1 → .4, 7 at .9, 10 at 1", &[(3, 1.0, 0.4), (7, 0.9, 0.9), (10, 1.0, 1.0)]),
    ("20 cases: 4 drop 1 → .6, 10 at .5, 6 at 1", &[(4, 1.0, 0.6), (10, 0.5, 0.5), (6, 1.0, 1.0)]),
    ("50 cases: 10 drop 1 → .5, 40 at 1", &[(10, 1.0, 0.5), (40, 1.0, 1.0)]),
    ("20 cases: 5 drop .9 → .5, 15 at 1", &[(5, 0.9, 0.5), (15, 1.0, 1.0)]),
    ("20 cases: 6 drop 1 → .7, 14 at .7", &[(6, 1.0, 0.7), (14, 0.7, 0.7)]),
    ("30 cases: 10 drop .9 → .6, 20 at .9", &[(10, 0.9, 0.6), (20, 0.9, 0.9)]),
    ("12 cases: 4 drop .8 → .4, 8 at .8", &[(4, 0.8, 0.4), (8, 0.8, 0.8)]),
    ("9 cases: 3 drop 1 → .7, 6 at 1", &[(3, 1.0, 0.7), (6, 1.0, 1.0)]),
    ("6 cases: 2 drop .9 → .3, 4 at .9", &[(2, 0.9, 0.3), (4, 0.9, 0.9)]),
    ("20 cases: half drop 1 → .6, half at 1", &[(10, 1.0, 0.6), (10, 1.0, 1.0)]),
    ("8 cases: half drop .9 → .5, half at .5", &[(4, 0.9, 0.5), (4, 0.5, 0.5)]),
    ("10 cases: all drop .9 → .7", &[(10, 0.9, 0.7)]),
    ("10 cases: all drop .9 → .8", &[(10, 0.9, 0.8)]),
    ("5 cases: all drop .95 → .7", &[(5, 0.95, 0.7)]),
    ("1 case: drops .9 → .6", &[(1, 0.9, 0.6)]),
];

fn main() {
    let tables: [(&str, fn()); 6] = [
        ("drops", drops),
        ("unchanged", unchanged),
        ("even-sums", even_sums),
        ("plans", plans),
        ("models", models),
        ("drift", drift),
    ];
    let named: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    for (_, print) in tables.into_iter().filter(|(name, _)| named.is_empty() || named.iter().any(|named| named == name))
    {
        print();
    }
}

/// Pairs until a drop is found. Fixed n and O'Brien–Fleming know the drop and find it in 80 % of runs.
fn drops() {
    println!(
        "| suite | fixed n | O'Brien–Fleming | going round | ours | ours ÷ fixed n | ours ÷ O'Brien–Fleming | broke | interval holds |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (name, kinds) in SUITES {
        let rates = rates(kinds);
        let fixed = fixed_pairs(&rates);
        let group = obrien_fleming(&rates);
        let in_turn = mean((0..RUNS).map(|seed| going_round(&rates, u64::from(seed))));
        let runs: Vec<SequentialTest> = all(&rates, ComparePlan::Standard, MOST).collect();
        let ours = mean(runs.iter().map(|run| run.pairs().len()));
        println!(
            "| {name} | {fixed} | {group:.0} | {in_turn:.0} | **{ours:.0}** | {:.2} | {:.2} | {:.1} % | {:.1} % |",
            ours / count(fixed),
            ours / group,
            share(&runs, CompareResult::Broke),
            held(&runs, worlds::difference(&rates)),
        );
    }
}

fn unchanged() {
    println!("\n| unchanged suite, up to 300 pairs | broke | worse | better | going round | interval holds |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let suites: [(&str, &[Kind]); 4] = [
        ("20 cases at 1, .9, .7 and .5", &[(5, 1.0, 1.0), (5, 0.9, 0.9), (5, 0.7, 0.7), (5, 0.5, 0.5)]),
        ("5 cases at .9", &[(5, 0.9, 0.9)]),
        ("1 case at .5", &[(1, 0.5, 0.5)]),
        ("50 cases at .98", &[(50, 0.98, 0.98)]),
    ];
    for (name, kinds) in suites {
        let rates = rates(kinds);
        let runs: Vec<SequentialTest> = all(&rates, ComparePlan::Standard, 300).collect();
        let in_turn = (0..RUNS).filter(|seed| going_round(&rates, u64::from(*seed)) <= 300).count();
        let [broke, worse, better] =
            [CompareResult::Broke, CompareResult::Worse, CompareResult::Better].map(|result| share(&runs, result));
        let in_turn = 100.0 * count(in_turn) / f64::from(RUNS);
        let held = held(&runs, 0.0);
        println!("| {name} | {broke:.1} % | {worse:.1} % | {better:.1} % | {in_turn:.1} % | {held:.1} % |");
    }
}

/// Suites in which cases broke and the others rise by as much.
fn even_sums() {
    println!("\n| suite, up to 200 pairs | broke | worse | better | interval holds |");
    println!("| --- | --- | --- | --- | --- |");
    let suites: [(&str, &[Kind]); 4] = [
        ("1 breaks .9 → 0, 9 rise, sum 0", &[(1, 0.9, 0.0), (9, 0.8, 0.9)]),
        ("1 breaks 1 → 0, 19 rise, sum 0", &[(1, 1.0, 0.0), (19, 0.9, 0.9 + 1.0 / 19.0)]),
        ("2 break .9 → .3, 18 rise, sum 0", &[(2, 0.9, 0.3), (18, 0.8, 0.8 + 1.2 / 18.0)]),
        ("1 breaks .9 → 0, 9 rise, sum +9 points", &[(1, 0.9, 0.0), (9, 0.7, 0.9)]),
    ];
    for (name, kinds) in suites {
        let rates = rates(kinds);
        let standard: Vec<SequentialTest> = all(&rates, ComparePlan::Standard, 200).collect();
        let until: Vec<SequentialTest> = all(&rates, ComparePlan::UntilDecided, 200).collect();
        println!(
            "| {name} | {:.1} % | {:.1} % | {:.1} % | {:.1} % |",
            share(&standard, CompareResult::Broke),
            share(&until, CompareResult::Worse),
            share(&until, CompareResult::Better),
            held(&until, worlds::difference(&rates)),
        );
    }
}

/// How often `compare --models` says something false, and how often it finds the cheapest model.
fn models() {
    println!("\n| models, the cheapest first | trials of each | false `no worse` | false `worse` | cheapest found |");
    println!("| --- | --- | --- | --- | --- |");
    for world in &worlds::MODELS {
        let [no_worse, worse, found] = worlds::of_models(world, RUNS).map(|share| share * 100.0);
        let (name, models, trials) = world;
        let trials = trials * models[0].iter().map(|(cases, ..)| u64::from(*cases)).sum::<u64>();
        println!("| {name} | {trials} | {no_worse:.1} % | {worse:.1} % | {found:.1} % |");
    }
}

/// What each plan finds with its default limit, and what that costs.
fn plans() {
    println!(
        "\n| cases | plan | trials if nothing changed | one case 1 → 0 | one case 1 → .1 | one case 1 → .5 | all .9 → .8 |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for cases in [10, 40, 170] {
        for plan in ComparePlan::ALL {
            let most = usize::try_from(plan.default_limit(cases) / 2).expect("few");
            let cases = u32::try_from(cases).expect("few");
            let runs = |kinds: &[Kind]| -> Vec<SequentialTest> {
                let rates = rates(kinds);
                (0..300).map(|seed| worlds::run(&rates, RULE, plan, seed, most)).collect()
            };
            let trials =
                |runs: &[SequentialTest]| mean(runs.iter().map(|run| usize::try_from(run.trials()).expect("few")));
            let found = |kinds: &[Kind]| {
                let runs = runs(kinds);
                format!("{:.0} %, {:.0} trials", share(&runs, CompareResult::Broke), trials(&runs))
            };
            let steady = (cases - 1, 0.9, 0.9);
            println!(
                "| {cases} | `{}` | {:.0} of {} | {} | {} | {} | {} |",
                plan.as_str(),
                trials(&runs(&[(cases, 0.9, 0.9)])),
                2 * most,
                found(&[(1, 1.0, 0.0), steady]),
                found(&[(1, 1.0, 0.1), steady]),
                found(&[(1, 1.0, 0.5), steady]),
                found(&[(cases, 0.9, 0.8)]),
            );
        }
    }
}

fn count(of: usize) -> f64 {
    f64::from(u32::try_from(of).expect("few"))
}

fn mean(pairs: impl Iterator<Item = usize>) -> f64 {
    let pairs: Vec<usize> = pairs.collect();
    count(pairs.iter().sum()) / count(pairs.len())
}

/// `RUNS` comparisons by this plan.
fn all(rates: &Rates, plan: ComparePlan, most: usize) -> impl Iterator<Item = SequentialTest> {
    (0..RUNS).map(move |seed| worlds::run(rates, RULE, plan, u64::from(seed), most))
}

/// How many of 100 runs have the result.
fn share(runs: &[SequentialTest], result: CompareResult) -> f64 {
    100.0 * count(runs.iter().filter(|run| run.results().contains(&result)).count()) / count(runs.len())
}

/// How many of 100 runs have the truth in their interval.
fn held(runs: &[SequentialTest], truth: f64) -> f64 {
    let holds = |run: &&SequentialTest| {
        let interval = run.comparison().difference.expect("trials").interval;
        interval.low - 1e-9 <= truth && truth <= interval.high + 1e-9
    };
    100.0 * count(runs.iter().filter(holds).count()) / count(runs.len())
}

/// Losses and wins of pairs, case by case in turn, after each of `most` pairs.
fn course(rates: &Rates, seed: u64, most: usize) -> impl Iterator<Item = (u64, u64)> {
    let mut world = fastrand::Rng::with_seed(seed ^ 0x5A5A_A5A5);
    let (mut losses, mut wins) = (0, 0);
    (0..most).map(move |pairs| {
        let drawn = pair(rates, pairs % rates.len(), &mut world);
        losses += u64::from(drawn.baseline == Some(true) && drawn.candidate == Some(false));
        wins += u64::from(drawn.baseline == Some(false) && drawn.candidate == Some(true));
        (losses, wins)
    })
}

/// Pairs until the evidence is 20.
fn going_round(rates: &Rates, seed: u64) -> usize {
    let found = course(rates, seed, MOST).position(|(losses, wins)| e_worse(losses, wins) >= 20.0);
    found.map_or(MOST, |at| at + 1)
}

/// The mean number of pairs of O'Brien and Fleming's test with five looks, one-sided at 0.05 (Jennison and Turnbull 2000,
/// table 2.3: 1.751), with as many pairs as find the drop in 80 % of runs.
fn obrien_fleming(rates: &Rates) -> f64 {
    let stops = |most: usize| -> Vec<Option<usize>> {
        let looks: Vec<usize> = (1..=5).map(|look| most * look / 5).collect();
        let stop = |seed: u32| {
            let course: Vec<(u64, u64)> = course(rates, u64::from(seed), most).collect();
            (1_u32..=5).zip(&looks).find_map(|(look, at)| {
                let (losses, wins) = *course.get(at.checked_sub(1)?)?;
                let (losses, wins) = (count(losses.try_into().ok()?), count(wins.try_into().ok()?));
                let z = (losses - wins) / (losses + wins).max(1.0).sqrt();
                (z >= 1.751 * (5.0 / f64::from(look)).sqrt()).then_some(*at)
            })
        };
        (0..RUNS).map(stop).collect()
    };
    let found = |most: usize| count(stops(most).iter().flatten().count()) >= 0.8 * f64::from(RUNS);
    let most = smallest(found);
    mean(stops(most).into_iter().map(|stop| stop.unwrap_or(most)))
}

/// The smallest number of pairs that is enough, to a hundredth.
fn smallest(enough: impl Fn(usize) -> bool) -> usize {
    let (mut few, mut many) = (0, 8);
    while !enough(many) {
        (few, many) = (many, many * 2);
    }
    while many - few > 1 + many / 100 {
        let middle = usize::midpoint(few, many);
        *(if enough(middle) { &mut many } else { &mut few }) = middle;
    }
    many
}

/// The number of pairs, case by case in turn, after which the exact test finds the drop in 80 % of runs: a plan that knew
/// the drop beforehand.
fn fixed_pairs(rates: &Rates) -> usize {
    smallest(|pairs| {
        let found = (0..RUNS).filter(|seed| {
            let mut world = fastrand::Rng::with_seed(u64::from(*seed));
            let mut strata = vec![Stratum::default(); rates.len()];
            for case in (0..rates.len()).cycle().take(pairs) {
                let drawn = pair(rates, case, &mut world);
                strata[case].baseline.add(drawn.baseline == Some(true));
                strata[case].candidate.add(drawn.candidate == Some(true));
            }
            stratified::exact(&strata).less <= RULE.alpha
        });
        count(found.count()) >= 0.8 * f64::from(RUNS)
    })
}

/// Cases as repositories have them.
const MIXED: &[f64] = &[1.0, 0.95, 0.9, 0.8, 0.5];

/// Years of nights: false alarms, and how soon a drop is found.
fn drift() {
    println!(
        "\n| series | cases | trials of each case in a night | rates move by night | years | with a false alarm |"
    );
    println!("| --- | --- | --- | --- | --- | --- |");
    let steady: [(usize, &'static [f64], u64, f64, u64); 8] = [
        (1, &[0.5], 3, 0.0, 200),
        (10, &[0.9, 0.9, 0.9], 2, 0.0, 40),
        (40, MIXED, 1, 0.0, 20),
        (80, MIXED, 1, 0.0, 10),
        (40, MIXED, 1, 0.05, 20),
        (40, MIXED, 1, 0.1, 20),
        (40, MIXED, 3, 0.05, 10),
        (40, MIXED, 3, 0.1, 10),
    ];
    for (series, cases, trials, moves, years) in steady {
        let one = Series { moves, ..Series::steady(cases, trials) };
        let has_alarm =
            |year: u64| (0..series as u64).any(|of| !one.watched(365, series, 1000 * year + of).shifts.is_empty());
        let alarms = (0..years).filter(|year| has_alarm(*year)).count();
        let (how, moves) = (cases.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "), 100.0 * moves);
        println!("| {series} | {how} | {trials} | ±{moves} points | {years} | {alarms} |");
    }
    println!(
        "\n| cases | trials of each case in a night | series | found in 7 nights | 14 | 28 | 56 | dated to the night ±1 |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    let drops: [(&str, &'static [f64], &'static [f64], u64); 6] = [
        ("5 cases: all .95 → .5", &[0.95; 5], &[0.5; 5], 1),
        ("5 cases: all .95 → .8", &[0.95; 5], &[0.8; 5], 1),
        ("5 cases: all .95 → .8", &[0.95; 5], &[0.8; 5], 3),
        ("5 cases: 1 drops 1 → .2, 4 at .9", &[1.0, 0.9, 0.9, 0.9, 0.9], &[0.2, 0.9, 0.9, 0.9, 0.9], 1),
        ("5 cases: 1 drops 1 → .2, 4 at .9", &[1.0, 0.9, 0.9, 0.9, 0.9], &[0.2, 0.9, 0.9, 0.9, 0.9], 3),
        ("10 cases: all .8 → .5", &[0.8; 10], &[0.5; 10], 1),
    ];
    for (name, before, since, trials) in drops {
        for series in [1, 40] {
            let world = Series { since, night: 30, ..Series::steady(before, trials) };
            let runs: Vec<_> = (0..400).map(|seed| world.watched(86, series, seed)).collect();
            let within = |nights: usize| {
                let found = (0..400).filter(|seed| world.watched(30 + nights, series, *seed).worse().is_some()).count();
                format!("{:.0} %", 100.0 * count(found) / 400.0)
            };
            let shifts: Vec<_> = runs.iter().filter_map(|run| run.shifts.first()).collect();
            let dated = shifts.iter().filter(|shift| (29..=31).contains(&shift.since)).count();
            let dated = 100.0 * count(dated) / count(shifts.len().max(1));
            let [a, b, c, d] = [7, 14, 28, 56].map(within);
            println!("| {name} | {trials} | {series} | {a} | {b} | {c} | {d} | {dated:.0} % |");
        }
    }
}
