//! What a plan finds and takes, found out by running it: the test that will run, in worlds whose rates are known. Always the same
//! worlds, so that a promise is the same each time.

use std::thread;

use serde::Serialize;

use super::plan::{ComparePlan, USUAL_POWER};
use super::result::CompareResult;
use super::sequential::{Pair, SequentialTest, Step};
use super::{Rule, USUAL_RATE, screen};
use crate::stats::proportion::Rate;
use crate::stats::{len, real};

/// What is assumed of the cases to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedCases {
    /// How often each passes now.
    pub rates: Vec<f64>,
    /// Of what people pass and of what they fail, the shares that the judge gets right; both 1 without one.
    pub judge: (f64, f64),
    /// From how many failed looks on the quick plan gives all cases pairs; `None` for the number that fits the rates.
    pub all_from: Option<u64>,
}

impl ExpectedCases {
    /// Cases of which nothing is known.
    pub fn unknown(cases: usize) -> Self {
        Self::by(std::iter::repeat_n(Rate::default(), cases))
    }

    /// Cases by their earlier trials. Two more trials at the usual rate count with those of each, since a few trials say little.
    pub fn by(earlier: impl Iterator<Item = Rate>) -> Self {
        let rate = |rate: Rate| (real(rate.passed) + 2.0 * USUAL_RATE) / (real(rate.trials) + 2.0);
        Self { rates: earlier.map(rate).collect(), judge: (1.0, 1.0), all_from: None }
    }

    /// From how many failed looks on the quick plan gives all cases pairs.
    pub fn all_from(&self) -> u64 {
        self.all_from.unwrap_or_else(|| screen::several(&self.rates))
    }

    /// The mean of their rates.
    pub fn mean(&self) -> f64 {
        self.rates.iter().sum::<f64>() / len(self.rates.len().max(1))
    }

    /// The share of verdicts that pass, if people pass this share.
    fn judged(&self, rate: f64) -> f64 {
        rate * self.judge.0 + (1.0 - rate) * (1.0 - self.judge.1)
    }
}

/// What a plan finds and takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct PlanPromise {
    pub plan: ComparePlan,
    /// Its limit: trials of both sides together.
    pub max_trials: u64,
    /// How many trials it takes on average if nothing changed.
    pub usual_trials: u64,
    /// What it finds.
    #[serde(flatten)]
    pub power: Power,
}

impl PlanPromise {
    /// What `plan` finds of these cases, with at most `max_trials` trials.
    pub fn of(plan: ComparePlan, cases: &ExpectedCases, max_trials: u64, rule: &Rule) -> Self {
        let worlds = Worlds::new(plan, cases, max_trials, rule);
        Self { plan, max_trials, usual_trials: worlds.usual_trials(), power: worlds.power() }
    }
}

/// How many trials a plan takes on average if nothing changed.
pub fn usual_trials(plan: ComparePlan, cases: &ExpectedCases, max_trials: u64, rule: &Rule) -> f64 {
    let ended = Worlds::new(plan, cases, max_trials, rule).unchanged();
    real(ended.trials) / real(ended.runs.max(1))
}

/// What a comparison finds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Power {
    /// How probably it finds that one case went from always to never.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub finds_dead_case: f64,
    /// The mean of the cases' pass rates in the baseline.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub before: f64,
    /// The smallest drop of all cases that it finds with the usual power, to a hundredth; null if it finds none.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub detectable_drop: Option<f64>,
    /// How probably it finds that drop.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub finds_drop: Option<f64>,
}

impl Power {
    /// What `plan` finds of these cases, with at most `max_trials` trials.
    pub fn of(plan: ComparePlan, cases: &ExpectedCases, max_trials: u64, rule: &Rule) -> Self {
        Worlds::new(plan, cases, max_trials, rule).power()
    }

    /// The mean rate after the drop.
    pub fn after(&self) -> Option<f64> {
        Some((self.before - self.detectable_drop?).max(0.0))
    }
}

/// Comparisons in worlds whose rates are known.
struct Worlds<'a> {
    plan: ComparePlan,
    cases: &'a ExpectedCases,
    max_trials: u64,
    all_from: u64,
    rule: &'a Rule,
}

/// Comparisons that are run together, before it is looked whether more are needed.
const AT_ONCE: u64 = 60;

/// Looks that run at once: about as many as the trials of a gate do.
const LOOKS_AT_ONCE: usize = 4;

/// The most comparisons of a world: of 600, the share that finds something is right to three points.
const MOST: u64 = 600;

/// Trials of all comparisons of a world together, times the cases, after which no more are run.
const WORK: u64 = 6_000_000;

/// How a comparison ended.
#[derive(Clone, Copy, Default)]
struct Ended {
    finds_harm: u64,
    trials: u64,
    runs: u64,
}

impl Ended {
    fn and(self, other: Self) -> Self {
        Self {
            finds_harm: self.finds_harm + other.finds_harm,
            trials: self.trials + other.trials,
            runs: self.runs + other.runs,
        }
    }

    fn share(self) -> f64 {
        real(self.finds_harm) / real(self.runs.max(1))
    }

    /// Whether the share of those that find harm is certainly on one side of `power`.
    fn is_clear(self, power: f64) -> bool {
        (self.share() - power).abs() > 3.5 * (power * (1.0 - power) / real(self.runs.max(1))).sqrt()
    }
}

impl<'a> Worlds<'a> {
    fn new(plan: ComparePlan, cases: &'a ExpectedCases, max_trials: u64, rule: &'a Rule) -> Self {
        Self { plan, cases, max_trials, all_from: cases.all_from(), rule }
    }

    fn power(&self) -> Power {
        let (detectable_drop, finds_drop) = self.detectable_drop().unzip();
        Power { finds_dead_case: self.finds_dead_case(), before: self.cases.mean(), detectable_drop, finds_drop }
    }

    fn unchanged(&self) -> Ended {
        let same = |rate: f64| (rate, rate);
        let rates: Vec<(f64, f64)> = self.cases.rates.iter().map(|rate| same(*rate)).collect();
        self.run(|_| rates.clone(), |ended| ended.runs >= 2 * AT_ONCE)
    }

    fn usual_trials(&self) -> u64 {
        let ended = self.unchanged();
        ended.trials / ended.runs.max(1)
    }

    fn finds_dead_case(&self) -> f64 {
        let cases = self.cases.rates.len();
        if cases == 0 {
            return 0.0;
        }
        let rates = |seed: u64| {
            let mut rates: Vec<(f64, f64)> = self.cases.rates.iter().map(|rate| (*rate, *rate)).collect();
            // Another one each time: its place in the order matters a little.
            rates[usize::try_from(seed).unwrap_or_default() % cases] = (1.0, 0.0);
            rates
        };
        self.run(rates, |ended| ended.runs >= 2 * AT_ONCE && (ended.share() > 0.97 || ended.share() < 0.03)).share()
    }

    /// The smallest drop of all cases that is found, to a hundredth, and how probably. A loss within the margin is none.
    fn detectable_drop(&self) -> Option<(f64, f64)> {
        let most = self.cases.rates.iter().copied().fold(0.0, f64::max);
        let drop = |hundredths: u32| (f64::from(hundredths) / 100.0).min(most);
        let found = |hundredths: u32| {
            let drop = drop(hundredths);
            let rates: Vec<(f64, f64)> = self.cases.rates.iter().map(|rate| (*rate, (rate - drop).max(0.0))).collect();
            self.run(|_| rates.clone(), |ended| ended.is_clear(USUAL_POWER)).share()
        };
        let least = |hundredths: &u32| drop(*hundredths) >= self.rule.margin.unwrap_or_default().min(most);
        let (mut low, mut high) = ((0..100).find(least)?.saturating_sub(1), 100);
        let mut share = Some(found(high)).filter(|share| *share >= USUAL_POWER)?;
        while high - low > 1 {
            let middle = u32::midpoint(low, high);
            match found(middle) {
                enough if enough >= USUAL_POWER => (high, share) = (middle, enough),
                _ => low = middle,
            }
        }
        Some((drop(high), share))
    }

    /// Runs comparisons in worlds with these rates by number, until their results are `clear`, or there are enough.
    fn run(&self, rates: impl Fn(u64) -> Vec<(f64, f64)> + Sync, clear: impl Fn(Ended) -> bool) -> Ended {
        let workers = thread::available_parallelism().map_or(1, usize::from).min(16) as u64;
        let (cases, mut all) = (self.cases.rates.len() as u64, Ended::default());
        while all.runs == 0 || all.runs < MOST && !clear(all) && all.trials * cases.max(1) < WORK {
            let (from, rates) = (all.runs, &rates);
            let some = |worker: u64| {
                let numbers = (from..from + AT_ONCE).filter(|number| number % workers == worker);
                numbers.map(|number| self.compare(&rates(number), number)).fold(Ended::default(), Ended::and)
            };
            all = thread::scope(|scope| {
                let spawn =
                    |worker| thread::Builder::new().spawn_scoped(scope, move || some(worker)).map_err(|_| worker);
                let others: Vec<_> = (1..workers).map(spawn).collect();
                let own = some(0);
                // What no thread could be had for is done here.
                let join = |other: Result<thread::ScopedJoinHandle<'_, Ended>, u64>| match other {
                    Ok(thread) => thread.join().unwrap_or_default(),
                    Err(worker) => some(worker),
                };
                others.into_iter().map(join).fold(all.and(own), Ended::and)
            });
        }
        all
    }

    /// A comparison of cases that people pass with these rates.
    fn compare(&self, rates: &[(f64, f64)], seed: u64) -> Ended {
        let names = vec![String::new(); rates.len()];
        let mut state =
            SequentialTest::new(names, *self.rule, self.plan, self.max_trials, seed).with_all_from(Some(self.all_from));
        let mut world = fastrand::Rng::with_seed(seed ^ 0x5EED);
        let finds_harm = |state: &SequentialTest| state.results().iter().any(|of| CompareResult::HARM.contains(of));
        while !state.is_decided() {
            let mut steps = Vec::new();
            let mut trials = state.trials();
            // Some looks run at once, so a limit may be used up by them. A pair comes by itself.
            while steps.len() < LOOKS_AT_ONCE
                && let Some(step) = state.next_step(&steps)
                && trials + step.trials() <= self.max_trials
                && (step.alone || steps.is_empty())
            {
                trials += step.trials();
                steps.push(step);
                if !step.alone {
                    break;
                }
            }
            if steps.is_empty() {
                break;
            }
            for Step { case, alone } in steps {
                let (before, after) = rates[case];
                let mut passes = |rate: f64| Some(world.f64() < self.cases.judged(rate));
                let candidate = passes(after);
                // Every case is in the list.
                let _ = if alone {
                    state.feed_look(case, candidate)
                } else {
                    state.feed(Pair { case, baseline: passes(before), candidate })
                };
            }
        }
        Ended { finds_harm: u64::from(finds_harm(&state)), trials: state.trials(), runs: 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: Rule = Rule { alpha: 0.05, level: 0.95, margin: Some(0.05) };

    #[test]
    fn the_drop_that_the_quick_plan_is_said_to_find_is_the_one_that_another_program_found() {
        // In points: `crates/cli/benches/gates.c`.
        for (cases, points) in [(3, 58), (5, 51), (10, 39), (20, 28), (40, 21)] {
            let found = Power::of(ComparePlan::Quick, &ExpectedCases::unknown(cases), 400, &RULE);
            let drop = found.detectable_drop.expect("a drop");
            assert!((drop - f64::from(points) / 100.0).abs() < 0.03, "{cases} cases: {found:?}");
            assert!(found.finds_drop.is_some_and(|share| (0.8..0.86).contains(&share)), "{found:?}");
            assert!(found.finds_dead_case > 0.99, "{found:?}");
        }
    }

    #[test]
    fn a_promise_is_of_the_pairs_that_the_plan_has_and_of_the_rates_that_are_known() {
        let promise = |cases: &ExpectedCases, trials| PlanPromise::of(ComparePlan::Quick, cases, trials, &RULE);
        let unknown = ExpectedCases::unknown(9);
        let [enough, few, none] = [400, 12, 8].map(|trials| promise(&unknown, trials));
        assert!((10..14).contains(&enough.usual_trials) && (7..=8).contains(&none.usual_trials), "{enough:?} {none:?}");
        assert!(enough.power.finds_dead_case > few.power.finds_dead_case + 0.3, "{enough:?} {few:?}");
        assert_eq!((none.power.finds_dead_case, none.power.detectable_drop), (0.0, None));
        // What never passes cannot drop, and what passes now and then is tried again and again.
        let dead = ExpectedCases { rates: vec![0.0; 9], ..unknown.clone() };
        assert_eq!(promise(&dead, 400).power.detectable_drop, None);
        let shaky = ExpectedCases { rates: vec![0.5; 9], ..unknown };
        assert!(promise(&shaky, 400).usual_trials > 25);
    }

    #[test]
    fn a_judge_that_is_wrong_one_time_in_ten_finds_less() {
        let judged = ExpectedCases { judge: (0.9, 0.9), ..ExpectedCases::unknown(10) };
        let found = Power::of(ComparePlan::Quick, &judged, 200, &RULE).finds_dead_case;
        assert!((found - 0.74).abs() < 0.05, "{found}");
    }

    #[test]
    fn a_loss_within_the_margin_is_no_drop_that_is_found() {
        let tolerant = Rule { margin: Some(0.3), ..RULE };
        let found = Power::of(ComparePlan::Standard, &ExpectedCases::unknown(5), 60, &tolerant);
        assert!(found.detectable_drop.is_some_and(|drop| drop >= 0.3), "{found:?}");
        assert!(found.after().is_some_and(|after| after <= 0.6001), "{found:?}");
    }
}
