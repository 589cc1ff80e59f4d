//! How many trials it takes until a drop is found: `cargo bench --bench decide` prints the tables of docs/contributing/proofs.md.
//!
//! Every way has the same errors: an unchanged suite is called worse in 5 % of runs at most, a drop is found in 80 %. A way
//! that looks after every pair is given as many pairs as it needs for that, and its mean is taken: a run that is decided
//! early ends early. Ours has the rule of `compare`, with its margin: where a drop is so small that it says `no worse` of it
//! in more than 20 % of runs, no number of pairs finds it in 80 %, and the mean is that until either word.
//! Worlds are drawn from seeds, so that the numbers are the same everywhere.

#[path = "../tests/support/worlds.rs"]
mod worlds;

use skill_evals::decide::result::CompareResult;
use skill_evals::decide::{Comparison, MARGIN, Rule};
use skill_evals::stats::discordance::e_worse;
use skill_evals::stats::proportion::{Rate, wilson};
use skill_evals::stats::stratified::{self, Stratum};
use worlds::{Kind, Rates, pair, rates};

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
    let z = wilson_level();
    println!(
        "| suite | fixed n | going round | Wilson, peeking | ours | ours ÷ fixed n | says worse | interval holds |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    for (name, kinds) in SUITES {
        let rates = rates(kinds);
        let fixed = fixed_pairs(&rates);
        let in_turn =
            mean(runs(|seed| by_turns(&rates, seed, |losses, wins| e_worse(losses, wins) >= 1.0 / RULE.alpha)));
        let peeking = mean(runs(|seed| by_turns(&rates, seed, |losses, wins| above_half(losses, wins, z))));
        let Ours { pairs, worse, held } = ours(&rates);
        println!(
            "| {name} | {fixed} | {in_turn:.0} | {peeking:.0} | **{pairs:.0}** | {:.2} | {worse:.1} % | {held:.1} % |",
            pairs / count(fixed)
        );
    }
    println!("\n| unchanged suite, up to 300 pairs | ours | going round | Wilson at 95 %, peeking |");
    println!("| --- | --- | --- | --- |");
    let unchanged: [(&str, &[Kind]); 4] = [
        ("20 cases at 1, .9, .7 and .5", &[(5, 1.0, 1.0), (5, 0.9, 0.9), (5, 0.7, 0.7), (5, 0.5, 0.5)]),
        ("5 cases at .9", &[(5, 0.9, 0.9)]),
        ("1 case at .5", &[(1, 0.5, 0.5)]),
        ("50 cases at .98", &[(50, 0.98, 0.98)]),
    ];
    for (name, kinds) in unchanged {
        let rates = rates(kinds);
        let share = |found: &dyn Fn(u64) -> bool| {
            100.0 * count((0..RUNS).filter(|seed| found(u64::from(*seed))).count()) / f64::from(RUNS)
        };
        let ours = share(&|seed| worlds::until_decided(&rates, RULE, seed, 300).result() == CompareResult::Worse);
        let in_turn = share(&|seed| by_turns(&rates, seed, |losses, wins| e_worse(losses, wins) >= 20.0) <= 300);
        let peeking = share(&|seed| by_turns(&rates, seed, |losses, wins| above_half(losses, wins, 0.95)) <= 300);
        println!("| {name} | {ours:.1} % | {in_turn:.1} % | {peeking:.1} % |");
    }
}

fn count(of: usize) -> f64 {
    f64::from(u32::try_from(of).expect("few"))
}

fn runs(of: impl Fn(u64) -> usize) -> Vec<usize> {
    (0..RUNS).map(|seed| of(u64::from(seed))).collect()
}

/// The mean of runs that end where 80 % of them are decided.
fn mean(mut pairs: Vec<usize>) -> f64 {
    pairs.sort_unstable();
    let last = pairs[pairs.len() * 4 / 5];
    pairs.iter().map(|pairs| count(*pairs.min(&last))).sum::<f64>() / count(pairs.len())
}

/// What our own way comes to.
struct Ours {
    /// The mean number of pairs until it is decided.
    pairs: f64,
    /// In how many of 100 runs it says `worse`.
    worse: f64,
    /// In how many of 100 runs the interval then holds the truth.
    held: f64,
}

fn ours(rates: &Rates) -> Ours {
    let truth = worlds::difference(rates);
    let states: Vec<_> =
        (0..RUNS).map(|seed| worlds::until_decided(rates, RULE, u64::from(seed), MOST).comparison()).collect();
    let held = states.iter().filter(|found| {
        let interval = found.difference.expect("trials").interval;
        interval.low - 1e-9 <= truth && truth <= interval.high + 1e-9
    });
    let share = |runs: usize| 100.0 * count(runs) / f64::from(RUNS);
    let worse = share(states.iter().filter(|found| found.result == CompareResult::Worse).count());
    let trials = |found: &Comparison| usize::try_from(found.baseline.rate.trials).expect("few");
    let pairs = if worse >= 80.0 {
        // What ends in another word has not found the drop, however soon.
        mean(
            states
                .iter()
                .map(|found| if found.result == CompareResult::Worse { trials(found) } else { MOST })
                .collect(),
        )
    } else {
        count(states.iter().map(trials).sum()) / count(states.len())
    };
    Ours { pairs, worse, held: share(held.count()) }
}

/// Pairs, case by case in turn, until `found` by losses and wins.
fn by_turns(rates: &Rates, seed: u64, found: impl Fn(u64, u64) -> bool) -> usize {
    let mut world = fastrand::Rng::with_seed(seed ^ 0x5A5A_A5A5);
    let (mut losses, mut wins) = (0, 0);
    for pairs in 1..=MOST {
        let drawn = pair(rates, (pairs - 1) % rates.len(), &mut world);
        losses += u64::from(drawn.baseline == Some(true) && drawn.candidate == Some(false));
        wins += u64::from(drawn.baseline == Some(false) && drawn.candidate == Some(true));
        if found(losses, wins) {
            return pairs;
        }
    }
    MOST
}

/// Whether Wilson's interval of the share of losses lies above one half.
fn above_half(losses: u64, wins: u64, level: f64) -> bool {
    losses + wins > 0 && wilson(Rate::new(losses, losses + wins), level).low > 0.5
}

/// The level at which Wilson's interval, looked at after each of 200 discordant pairs, misses the truth to one side in 5 %
/// of runs.
fn wilson_level() -> f64 {
    let alarms = |level: f64| {
        let mut alive = vec![1.0];
        for pairs in 1..=200_u64 {
            let from = |losses: u64| usize::try_from(losses).ok().and_then(|at| alive.get(at)).copied().unwrap_or(0.0);
            let to = |losses: u64| {
                let found = above_half(losses, pairs - losses, level);
                let below = if losses > 0 { from(losses - 1) } else { 0.0 };
                if found { 0.0 } else { f64::midpoint(from(losses), below) }
            };
            alive = (0..=pairs).map(to).collect();
        }
        1.0 - alive.iter().sum::<f64>()
    };
    let (mut loose, mut strict) = (0.5, 1.0);
    for _ in 0..30 {
        let middle = f64::midpoint(loose, strict);
        *(if alarms(middle) > 0.05 { &mut loose } else { &mut strict }) = middle;
    }
    strict
}

/// The number of pairs, case by case in turn, after which the exact test finds the drop in 80 % of runs: a plan that knew
/// the drop beforehand. Found by halving, over the same worlds.
fn fixed_pairs(rates: &Rates) -> usize {
    let enough = |pairs: usize| {
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
    };
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
