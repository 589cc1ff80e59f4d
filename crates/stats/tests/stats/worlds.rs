//! Worlds in which the true rates are known, to hold comparisons against.

use skill_evals_stats::decide::Rule;
use skill_evals_stats::decide::drift::{Watched, watch};
use skill_evals_stats::decide::fixed::{BestResult, standings};
use skill_evals_stats::decide::plan::ComparePlan;
use skill_evals_stats::decide::sequential::{Pair, SequentialTest};
use skill_evals_stats::stats::proportion::Rate;

/// The true rates of every case in A and B.
pub type Rates = Vec<(f64, f64)>;

/// A kind of case: how many there are, and their rates in A and B.
pub type Kind = (u32, f64, f64);

/// Cases of all these kinds, mixed evenly.
pub fn rates(kinds: &[Kind]) -> Rates {
    let places = |&(count, a, b): &Kind| {
        (0..count).map(move |at| ((f64::from(at) + 0.5) / f64::from(count), (a, b))).collect::<Vec<_>>()
    };
    let mut cases: Vec<_> = kinds.iter().flat_map(places).collect();
    cases.sort_by(|one, other| one.0.total_cmp(&other.0));
    cases.into_iter().map(|(_, rates)| rates).collect()
}

/// The mean difference in rate of all cases.
#[allow(dead_code, reason = "not every program that has this module looks at it")]
pub fn difference(rates: &Rates) -> f64 {
    rates.iter().map(|(a, b)| b - a).sum::<f64>() / f64::from(u32::try_from(rates.len()).expect("few cases"))
}

/// A new comparison of such cases.
pub fn state(rates: &Rates, rule: Rule, plan: ComparePlan, most: usize, seed: u64) -> SequentialTest {
    let names = (0..rates.len()).map(|case| format!("{case:03}")).collect();
    SequentialTest::new(names, rule, plan, 2 * most as u64, seed)
}

/// One pair of the case `case`.
pub fn pair(rates: &Rates, case: usize, world: &mut fastrand::Rng) -> Pair {
    let (a, b) = rates[case];
    Pair { case, baseline: Some(world.f64() < a), candidate: Some(world.f64() < b) }
}

/// Trials by the comparison's own choice, until its plan is done or there are `most` pairs, or as many trials.
pub fn run(rates: &Rates, rule: Rule, plan: ComparePlan, seed: u64, most: usize) -> SequentialTest {
    let mut state = state(rates, rule, plan, most, seed);
    let mut world = fastrand::Rng::with_seed(seed ^ 0xA5A5_5A5A);
    while !state.is_decided() {
        let step = state.next_step(&[]).expect("cases");
        if state.trials() + step.trials() > 2 * most as u64 {
            break;
        }
        let pair = pair(rates, step.case, &mut world);
        let fed = if step.alone { state.feed_look(step.case, pair.candidate) } else { state.feed(pair) };
        fed.expect("a case of the list");
    }
    state
}

/// Models by the rates of their cases, the cheapest first, and how many trials each case of each gets.
pub type ModelWorld = (&'static str, &'static [&'static [Kind]], u64);

/// The margin in these worlds.
pub const MODEL_MARGIN: f64 = 0.1;

/// Models whose order by cost is known. Of the first three, no cheap one is good enough, if only by a hair.
pub const MODELS: [ModelWorld; 8] = [
    ("3 models, 10 cases: .8, .8, .9", &[&[(10, 0.8, 0.0)], &[(10, 0.8, 0.0)], &[(10, 0.9, 0.0)]], 20),
    (
        "5 models, 10 cases: four at .5, .6",
        &[&[(10, 0.5, 0.0)], &[(10, 0.5, 0.0)], &[(10, 0.5, 0.0)], &[(10, 0.5, 0.0)], &[(10, 0.6, 0.0)]],
        10,
    ),
    (
        "3 models, 20 cases: 2 of them 1 → 0, the same, all at 1",
        &[&[(2, 0.0, 0.0), (18, 1.0, 0.0)], &[(2, 0.0, 0.0), (18, 1.0, 0.0)], &[(20, 1.0, 0.0)]],
        3,
    ),
    ("3 models, 10 cases: all at .5", &[&[(10, 0.5, 0.0)], &[(10, 0.5, 0.0)], &[(10, 0.5, 0.0)]], 10),
    (
        "5 models, 5 cases: all at .9",
        &[&[(5, 0.9, 0.0)], &[(5, 0.9, 0.0)], &[(5, 0.9, 0.0)], &[(5, 0.9, 0.0)], &[(5, 0.9, 0.0)]],
        4,
    ),
    ("3 models, 10 cases: .6, .9, .9", &[&[(10, 0.6, 0.0)], &[(10, 0.9, 0.0)], &[(10, 0.9, 0.0)]], 13),
    ("3 models, 10 cases: .6, .9, .9", &[&[(10, 0.6, 0.0)], &[(10, 0.9, 0.0)], &[(10, 0.9, 0.0)]], 40),
    ("3 models, 20 cases: .9, .98, .98", &[&[(20, 0.9, 0.0)], &[(20, 0.98, 0.0)], &[(20, 0.98, 0.0)]], 7),
];

/// The share of runs with any false `no worse`, with any false `worse`, and in which the right model is found.
pub fn of_models((_, models, trials): &ModelWorld, times: u32) -> [f64; 3] {
    let models: Vec<Rates> = models.iter().map(|kinds| rates(kinds)).collect();
    let mean = |rates: &Rates| {
        rates.iter().map(|(rate, _)| rate).sum::<f64>() / f64::from(u32::try_from(rates.len()).expect("few"))
    };
    let truth: Vec<f64> = models.iter().map(mean).collect();
    let best = truth.iter().copied().fold(0.0, f64::max);
    let is_good = |at: usize| truth[at] > best - MODEL_MARGIN + 1e-9;
    let mut found = [0_u32; 3];
    for seed in 0..times {
        let mut world = fastrand::Rng::with_seed(u64::from(seed));
        let mut rate = |share: f64| Rate::new((0..*trials).filter(|_| world.f64() < share).count() as u64, *trials);
        let drawn: Vec<Vec<Rate>> =
            models.iter().map(|rates| rates.iter().map(|(share, _)| rate(*share)).collect()).collect();
        let results: Vec<BestResult> =
            standings(&drawn, MODEL_MARGIN, 0.05).expect("models").into_iter().map(|model| model.result).collect();
        let all = results.iter().enumerate();
        let first = results.iter().position(|result| *result == BestResult::NoWorse);
        found[0] += u32::from(all.clone().any(|(at, result)| *result == BestResult::NoWorse && !is_good(at)));
        found[1] += u32::from(all.clone().any(|(at, result)| *result == BestResult::Worse && truth[at] > best - 1e-9));
        found[2] += u32::from(first.is_some() && first == (0..truth.len()).find(|at| is_good(*at)));
    }
    found.map(|count| f64::from(count) / f64::from(times))
}

/// A series of nights: the rates of the cases of a series before and since a night, and how far a night moves them all by chance.
#[derive(Clone, Copy, Debug)]
pub struct Series {
    pub before: &'static [f64],
    pub since: &'static [f64],
    /// Trials of each case in a night.
    pub trials: u64,
    /// The night of the change.
    pub night: usize,
    /// The rates of a night are up to this much higher or lower.
    pub moves: f64,
}

impl Series {
    /// These rates, which never change.
    pub const fn steady(rates: &'static [f64], trials: u64) -> Self {
        Self { before: rates, since: rates, trials, night: usize::MAX, moves: 0.0 }
    }

    /// Its first `nights` nights.
    pub fn nights(&self, nights: usize, seed: u64) -> Vec<Vec<Rate>> {
        let mut world = fastrand::Rng::with_seed(seed);
        let mut night = |night: usize| {
            let rates = if night < self.night { self.before } else { self.since };
            let moved = self.moves * (2.0 * world.f64() - 1.0);
            let mut passed = |rate: f64| (0..self.trials).filter(|_| world.f64() < rate + moved).count() as u64;
            rates.iter().map(|rate| Rate::new(passed(*rate), self.trials)).collect()
        };
        (0..nights).map(&mut night).collect()
    }

    /// What such a series shows among `series` like it.
    pub fn watched(&self, nights: usize, series: usize, seed: u64) -> Watched {
        watch(&self.nights(nights, seed), |_| false, series)
    }
}
