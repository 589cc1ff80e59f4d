//! A difference of scores: the permutation test, stratified by case.

use std::collections::BTreeMap;

use super::special::{len, real};
use super::stratified::Tails;

/// Different sums up to which all orders are counted.
const MOST_SUMS: usize = 100_000;

/// Scores and their sums are told apart to this.
const STEP: f64 = 1e-9;

/// Random orders for up to 2,000 trials; fewer for more trials, which need fewer.
const MOST_ORDERS: usize = 19_999;
const FEWEST_ORDERS: usize = 499;
const WORK: usize = 40_000_000;

/// The scores of a case's trials.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaseScores {
    /// The baseline's trials.
    pub baseline: Vec<f64>,
    /// The candidate's trials.
    pub candidate: Vec<f64>,
}

/// The mean of what the candidate scores less the baseline in each case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreDifference {
    /// From −1 to 1, if scores are from 0 to 1.
    pub mean: f64,
    /// Of the mean, if both sides score alike.
    pub tails: Tails,
}

/// The difference of the scores, case by case. If both sides score alike, all ways to give the scores of a case to its two sides are
/// equally likely (Fisher 1935; Phipson, Smyth 2010). The tails are exact, unless there are very many different scores; then they are
/// estimated from random orders, always the same ones. A case with scores on one side only does not count; `None` if no other is
/// there.
pub fn difference(cases: &[CaseScores]) -> Option<ScoreDifference> {
    let pools: Vec<Pool> = cases.iter().filter_map(Pool::of).collect();
    let tails = exact(&pools).unwrap_or_else(|| estimated(pools.clone()));
    (!pools.is_empty()).then(|| ScoreDifference { mean: mean(&pools), tails })
}

/// The tails by all orders; `None` if they have too many different sums.
fn exact(pools: &[Pool]) -> Option<Tails> {
    let mut all = BTreeMap::from([(0, 1.0)]);
    for pool in pools {
        let own = pool.differences()?;
        let mut sums = BTreeMap::new();
        for (sum, of_sum) in &all {
            for (difference, of_difference) in &own {
                *sums.entry(sum + difference).or_insert(0.0) += of_sum * of_difference;
            }
        }
        all = sums;
        if all.len() > MOST_SUMS {
            return None;
        }
    }
    let seen = pools.iter().map(|pool| steps(pool.difference())).sum::<i64>();
    // Each case was rounded once.
    let near = i64::try_from(pools.len()).ok()?;
    let share =
        |of: &dyn Fn(i64) -> bool| all.iter().filter(|(sum, _)| of(**sum)).map(|(_, of_sum)| of_sum).sum::<f64>();
    Some(Tails {
        less: share(&|sum| sum <= seen + near).min(1.0),
        greater: share(&|sum| sum >= seen - near).min(1.0),
        equal: share(&|sum| (sum - seen).abs() <= near).min(1.0),
    })
}

#[expect(clippy::cast_possible_truncation, reason = "sums of scores are far below 2^63 steps")]
fn steps(value: f64) -> i64 {
    (value / STEP).round() as i64
}

/// The tails by random orders.
fn estimated(mut pools: Vec<Pool>) -> Tails {
    let seen = mean(&pools);
    let trials: usize = pools.iter().map(|pool| pool.scores.len()).sum();
    let orders = (WORK / trials).clamp(FEWEST_ORDERS, MOST_ORDERS);
    let mut rng = fastrand::Rng::with_seed(0);
    // What was seen is an order, too.
    let (mut less, mut equal, mut greater) = (0, 1, 0);
    for _ in 0..orders {
        for pool in &mut pools {
            pool.deal(&mut rng);
        }
        let change = mean(&pools) - seen;
        // Sums of the same numbers in another order differ in their last digits.
        match change.abs() < 1e-9 {
            true => equal += 1,
            false if change < 0.0 => less += 1,
            false => greater += 1,
        }
    }
    let share = |orders_of: usize| len(orders_of) / len(orders + 1);
    Tails { less: share(less + equal), greater: share(greater + equal), equal: share(equal) }
}

/// The scores of a case, those of the candidate first.
#[derive(Clone)]
struct Pool {
    scores: Vec<f64>,
    of_candidate: usize,
    sum: f64,
}

impl Pool {
    fn of(case: &CaseScores) -> Option<Self> {
        let CaseScores { baseline, candidate } = case;
        let scores = [candidate.as_slice(), baseline].concat();
        let (of_candidate, sum) = (candidate.len(), scores.iter().sum());
        (!baseline.is_empty() && !candidate.is_empty()).then_some(Self { scores, of_candidate, sum })
    }

    /// Every difference that an order of the scores makes, in steps, with its probability; `None` if there are too many.
    fn differences(&self) -> Option<BTreeMap<i64, f64>> {
        // By the number of scores that the candidate has so far: their sums, each with the probability to choose them.
        let mut chosen = vec![BTreeMap::new(); self.of_candidate + 1];
        chosen[0] = BTreeMap::from([(0, 1.0)]);
        for (before, score) in self.scores.iter().enumerate() {
            for count in (0..=self.of_candidate.min(before)).rev() {
                let left = self.scores.len() - before;
                let chance = len(self.of_candidate - count) / len(left);
                let sums: Vec<(i64, f64)> = std::mem::take(&mut chosen[count]).into_iter().collect();
                for (sum, of_sum) in sums {
                    if chance < 1.0 {
                        *chosen[count].entry(sum).or_insert(0.0) += of_sum * (1.0 - chance);
                    }
                    if chance > 0.0 {
                        *chosen[count + 1].entry(sum + steps(*score)).or_insert(0.0) += of_sum * chance;
                    }
                }
            }
            if chosen.iter().map(BTreeMap::len).sum::<usize>() > MOST_SUMS {
                return None;
            }
        }
        let others = len(self.scores.len() - self.of_candidate);
        let mut differences = BTreeMap::new();
        for (sum, chance) in std::mem::take(&mut chosen[self.of_candidate]) {
            let of_candidate = real(sum.unsigned_abs()) * STEP * if sum < 0 { -1.0 } else { 1.0 };
            let difference = of_candidate / len(self.of_candidate) - (self.sum - of_candidate) / others;
            *differences.entry(steps(difference)).or_insert(0.0) += chance;
        }
        Some(differences)
    }

    /// Gives the candidate as many scores as before, chosen anew.
    fn deal(&mut self, rng: &mut fastrand::Rng) {
        for at in 0..self.of_candidate {
            let chosen = rng.usize(at..self.scores.len());
            self.scores.swap(at, chosen);
        }
    }

    fn difference(&self) -> f64 {
        let candidate: f64 = self.scores[..self.of_candidate].iter().sum();
        candidate / len(self.of_candidate) - (self.sum - candidate) / len(self.scores.len() - self.of_candidate)
    }
}

fn mean(pools: &[Pool]) -> f64 {
    pools.iter().map(Pool::difference).sum::<f64>() / len(pools.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::proportion::Rate;
    use crate::stats::stratified::{Stratum, exact};

    fn case(baseline: &[f64], candidate: &[f64]) -> CaseScores {
        CaseScores { baseline: baseline.to_vec(), candidate: candidate.to_vec() }
    }

    #[test]
    fn one_trial_a_case_is_the_sign_flip() {
        let pairs = [(0.6, 1.0), (1.0, 1.0), (0.2, 0.8), (0.6, 0.8), (0.2, 1.0), (0.4, 1.0), (0.4, 0.8), (0.2, 0.0)];
        let cases: Vec<CaseScores> = pairs.iter().map(|(a, b)| case(&[*a], &[*b])).collect();
        // Of 128 ways to choose the signs of the seven differences, three sum to 2.8 or more.
        let p = difference(&cases).expect("cases").tails.greater;
        assert!((p - 3.0 / 128.0).abs() < 1e-12, "{p}");
    }

    #[test]
    fn passes_and_failures_are_the_exact_test() {
        let side = |passes: usize, trials: usize| [vec![1.0; passes], vec![0.0; trials - passes]].concat();
        let cases = [case(&side(2, 6), &side(5, 6)), case(&side(3, 6), &side(4, 6))];
        let strata = [[2, 6, 5, 6], [3, 6, 4, 6]]
            .map(|[a, of_a, b, of_b]| Stratum { baseline: Rate::new(a, of_a), candidate: Rate::new(b, of_b) });
        let (found, expected) = (difference(&cases).expect("cases").tails, exact(&strata));
        for (found, expected) in [(found.greater, expected.greater), (found.less, expected.less)] {
            assert!((found - expected).abs() < 1e-12, "{found}, exactly {expected}");
        }
    }

    #[test]
    fn a_worse_candidate_is_as_unlikely_as_a_better_one() {
        let (low, high) = ([0.1, 0.2, 0.3], [0.7, 0.8, 0.9]);
        let better = difference(&[case(&low, &high)]).expect("cases").tails.greater;
        let worse = difference(&[case(&high, &low)]).expect("cases").tails.less;
        assert!((better - 0.05).abs() < 1e-12 && (worse - 0.05).abs() < 1e-12, "{better} {worse}");
    }

    #[test]
    fn of_very_many_different_scores_random_orders_say_nearly_the_same() {
        let score = |at: u32| f64::from(at).sqrt().fract();
        let cases: Vec<CaseScores> = (1..9)
            .map(|at| {
                case(&[score(at), score(at + 10), score(at + 30)], &[score(at + 50), score(at + 70), score(at + 99)])
            })
            .collect();
        let pools: Vec<Pool> = cases.iter().filter_map(Pool::of).collect();
        let few = &pools[..3];
        let (all, some) = (super::exact(few).expect("20³ sums"), estimated(few.to_vec()));
        assert!((all.less - some.less).abs() < 0.01 && (all.greater - some.greater).abs() < 0.01);
        assert!(super::exact(&pools).is_none() && difference(&cases).is_some());
    }

    #[test]
    fn equal_scores_are_always_as_far_apart_and_cases_of_one_side_say_nothing() {
        let equal = difference(&[case(&[0.5], &[0.5])]).expect("cases");
        assert_eq!(equal, ScoreDifference { mean: 0.0, tails: Tails { less: 1.0, greater: 1.0, equal: 1.0 } });
        assert_eq!(difference(&[case(&[0.5], &[]), case(&[], &[1.0])]), None);
    }
}
