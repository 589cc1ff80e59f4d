//! A difference of scores: the permutation test, stratified by case.

use super::special::len;
use super::stratified::Tails;

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
/// equally likely (Fisher 1935; Phipson, Smyth 2010). The tails are estimated from random orders, always the same ones. A case with
/// scores on one side only does not count; `None` if no other is there.
pub fn difference(cases: &[CaseScores]) -> Option<ScoreDifference> {
    let mut pools: Vec<Pool> = cases.iter().filter_map(Pool::of).collect();
    if pools.is_empty() {
        return None;
    }
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
    let tails = Tails { less: share(less + equal), greater: share(greater + equal), equal: share(equal) };
    Some(ScoreDifference { mean: seen, tails })
}

/// The scores of a case, those of the candidate first.
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
        assert!((p - 3.0 / 128.0).abs() < 0.004, "{p}");
    }

    #[test]
    fn passes_and_failures_are_the_exact_test() {
        let side = |passes: usize, trials: usize| [vec![1.0; passes], vec![0.0; trials - passes]].concat();
        let cases = [case(&side(2, 6), &side(5, 6)), case(&side(3, 6), &side(4, 6))];
        let strata = [[2, 6, 5, 6], [3, 6, 4, 6]]
            .map(|[a, of_a, b, of_b]| Stratum { baseline: Rate::new(a, of_a), candidate: Rate::new(b, of_b) });
        let (found, expected) = (difference(&cases).expect("cases").tails, exact(&strata));
        for (found, expected) in [(found.greater, expected.greater), (found.less, expected.less)] {
            assert!((found - expected).abs() < 0.01, "{found}, exactly {expected}");
        }
    }

    #[test]
    fn a_worse_candidate_is_as_unlikely_as_a_better_one() {
        let (low, high) = ([0.1, 0.2, 0.3], [0.7, 0.8, 0.9]);
        let better = difference(&[case(&low, &high)]).expect("cases").tails.greater;
        let worse = difference(&[case(&high, &low)]).expect("cases").tails.less;
        assert!((better - 0.05).abs() < 0.006 && (worse - 0.05).abs() < 0.006, "{better} {worse}");
    }

    #[test]
    fn equal_scores_are_always_as_far_apart_and_cases_of_one_side_say_nothing() {
        let equal = difference(&[case(&[0.5], &[0.5])]).expect("cases");
        assert_eq!(equal, ScoreDifference { mean: 0.0, tails: Tails { less: 1.0, greater: 1.0, equal: 1.0 } });
        assert_eq!(difference(&[case(&[0.5], &[]), case(&[], &[1.0])]), None);
    }
}
