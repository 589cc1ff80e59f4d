//! Worlds in which the true rates are known, to hold comparisons against.

use skill_evals::decide::Rule;
use skill_evals::decide::plan::ComparePlan;
use skill_evals::decide::sequential::{Pair, SequentialTest};

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
    SequentialTest::new(names, rule, plan, most as u64, seed)
}

/// One pair of the case `case`.
pub fn pair(rates: &Rates, case: usize, world: &mut fastrand::Rng) -> Pair {
    let (a, b) = rates[case];
    Pair { case, baseline: Some(world.f64() < a), candidate: Some(world.f64() < b) }
}

/// Pairs by the comparison's own choice, until its plan is done or there are `most`.
pub fn run(rates: &Rates, rule: Rule, plan: ComparePlan, seed: u64, most: usize) -> SequentialTest {
    let mut state = state(rates, rule, plan, most, seed);
    let mut world = fastrand::Rng::with_seed(seed ^ 0xA5A5_5A5A);
    while state.pairs().len() < most && !state.is_decided() {
        let case = state.next_case(&[]).expect("cases");
        state.feed(pair(rates, case, &mut world)).expect("a case of the list");
    }
    state
}
