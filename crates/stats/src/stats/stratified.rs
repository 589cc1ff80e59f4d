//! Do two sides differ, over cases of different difficulty? One exact test for any numbers of cases and trials.
//!
//! If the sides of a case do not differ, the candidate's passes are hypergeometric, given how many trials of both sides
//! passed. Cases are independent, so the distribution of their number in all cases together is the convolution. With
//! one trial per case and side this is McNemar's exact test, with one case it is Fisher's.
//!
//! Cox, Analysis of Binary Data (1970), section 4.3 (exact conditional inference for several 2×2 tables).

use serde::Serialize;

use super::proportion::Rate;
use super::special::real;

/// A case on two sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stratum {
    /// The baseline's passes.
    pub baseline: Rate,
    /// The candidate's passes.
    pub candidate: Rate,
}

/// The probabilities of the candidate's number of passes if the sides do not differ. Exact to 1e-12 of the probability
/// or 1e-30, whichever is more.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tails {
    /// The probability that the candidate passes as rarely as it did, or more rarely.
    pub less: f64,
    /// The probability that the candidate passes as often as it did, or more often.
    pub greater: f64,
    /// The probability of exactly what happened.
    pub equal: f64,
}

impl Tails {
    /// The exact two-sided p: twice the smaller tail.
    pub fn two_sided(&self) -> f64 {
        (2.0 * self.less.min(self.greater)).min(1.0)
    }
}

/// The tails of the number of the candidate's passes in all `strata`. A case without trials on both sides does not
/// count. Memory grows with the width of the distribution, not with the trials: 10,000 cases with 100 trials on each
/// side take less than a second.
pub fn exact(strata: &[Stratum]) -> Tails {
    let seen = strata.iter().map(|stratum| stratum.candidate.passed).sum();
    Distribution::of_all(strata).map_or(Tails { less: 1.0, greater: 1.0, equal: 1.0 }, |all| all.tails(seen))
}

/// A distribution over whole numbers: `probability[i]` is that of `start + i`.
#[derive(Debug)]
struct Distribution {
    start: u64,
    probability: Vec<f64>,
    /// An upper bound of the probability that was cut from the ends.
    cut: f64,
}

/// Ends below this share of the most likely value are cut. This is far below every p and keeps the distribution narrow.
const CUT: f64 = 1e-40;

impl Distribution {
    /// The distribution of the candidate's passes in all `strata`. Both halves have equally many, so that they stay narrow.
    fn of_all(strata: &[Stratum]) -> Option<Self> {
        match strata {
            [] => None,
            [only] => Some(Self::of(*only)),
            several => {
                let (some, others) = several.split_at(several.len() / 2);
                Some(Self::of_all(some)?.with(&Self::of_all(others)?))
            }
        }
    }

    /// The distribution of the candidate's passes in one case. It is one number if a side has no trials, or if all
    /// trials ended the same way.
    fn of(stratum: Stratum) -> Self {
        let Stratum { baseline: a, candidate: b } = stratum;
        let passed = a.passed + b.passed;
        let (low, high) = (passed.saturating_sub(a.trials), passed.min(b.trials));
        // Goes from one number to the next by the ratio of their probabilities, outwards from about the most likely one.
        let up = |x: u64| real(passed - x) * real(b.trials - x) / (real(x + 1) * real(a.trials + x + 1 - passed));
        let mode = (passed.saturating_mul(b.trials) / (a.trials + b.trials).max(1)).clamp(low, high);
        let outwards = |xs: &mut dyn Iterator<Item = u64>, step: &dyn Fn(f64, u64) -> f64| {
            let masses = xs.scan(1.0, |mass, x| {
                *mass = step(*mass, x);
                Some(*mass)
            });
            masses.take_while(|mass| *mass >= CUT).collect::<Vec<f64>>()
        };
        let below = outwards(&mut (low..mode).rev(), &|mass, x| mass / up(x));
        let above = outwards(&mut (mode..high), &|mass, x| mass * up(x));
        let start = mode - below.len() as u64;
        let mut probability: Vec<f64> = below.into_iter().rev().chain([1.0]).chain(above).collect();
        let sum: f64 = probability.iter().sum();
        for mass in &mut probability {
            *mass /= sum;
        }
        Self { start, probability, cut: CUT * real(b.trials) }
    }

    /// The distribution of the sum of two.
    fn with(&self, other: &Self) -> Self {
        let mut probability = vec![0.0; self.probability.len() + other.probability.len() - 1];
        for (at, factor) in self.probability.iter().enumerate() {
            for (sum, mass) in probability[at..].iter_mut().zip(&other.probability) {
                *sum += factor * mass;
            }
        }
        let most = probability.iter().copied().fold(0.0, f64::max);
        let kept = |mass: &f64| *mass >= most * CUT;
        let first = probability.iter().position(kept).unwrap_or(0);
        let last = probability.iter().rposition(kept).unwrap_or(0);
        let gone: f64 = probability[..first].iter().chain(&probability[last + 1..]).sum();
        Self {
            start: self.start + other.start + first as u64,
            probability: probability[first..=last].to_vec(),
            cut: self.cut + other.cut + gone,
        }
    }

    /// The tails at `seen`. What was cut is added to both, so no p is smaller than the truth.
    fn tails(&self, seen: u64) -> Tails {
        let len = self.probability.len();
        let at = usize::try_from(seen.saturating_sub(self.start)).unwrap_or(len).min(len);
        // Small ones first, so that none is lost to rounding.
        let below: f64 = self.probability[..at].iter().sum();
        let inside = seen >= self.start && at < len;
        let equal = if inside { self.probability[at] } else { 0.0 };
        let above_from = if inside { at + 1 } else { at };
        let above: f64 = self.probability[above_from..].iter().rev().sum();
        let tail = |side: f64| (side + equal + self.cut).min(1.0);
        Tails { less: tail(below), greater: tail(above), equal }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::reference::{close, count, number, rows};

    fn stratum(a: (u64, u64), b: (u64, u64)) -> Stratum {
        Stratum { baseline: Rate::new(a.0, a.1), candidate: Rate::new(b.0, b.1) }
    }

    #[test]
    fn tails_agree_with_those_of_exact_fractions() {
        for row in rows("stratified_exact_difference") {
            let cases = row["cases_xa_na_xb_nb"].as_array().expect("cases");
            let of = |case: &serde_json::Value| {
                let at = |at: usize| count(&case[at]);
                stratum((at(0), at(1)), (at(2), at(3)))
            };
            let strata: Vec<Stratum> = cases.iter().map(of).collect();
            let tails = exact(&strata);
            // The reference counts the first side's passes: the more it passes, the less the second one.
            close(tails.less, number(&row["p_a_greater"]), &row);
            close(tails.greater, number(&row["p_a_less"]), &row);
            close(tails.less - tails.equal / 2.0, number(&row["mid_greater"]), &row);
            close(tails.greater - tails.equal / 2.0, number(&row["mid_less"]), &row);
            close(tails.two_sided(), number(&row["two_sided_doubled"]), &row);
        }
    }

    #[test]
    fn one_trial_a_case_is_mcnemars_exact_test() {
        for row in rows("mcnemar") {
            let (lost, won) = (count(&row["b"]), count(&row["c"]));
            let mut strata = vec![stratum((1, 1), (0, 1)); usize::try_from(lost).expect("few")];
            strata.extend(vec![stratum((0, 1), (1, 1)); usize::try_from(won).expect("few")]);
            strata.push(stratum((1, 1), (1, 1)));
            let tails = exact(&strata);
            close(tails.two_sided(), number(&row["exact"]), &row);
            close(tails.greater, number(&row["one_sided_exact_c_gt_b"]), &row);
        }
    }

    #[test]
    fn one_case_is_fishers_exact_test() {
        for row in rows("fisher_two_runs") {
            let (a, b) = ((count(&row["a"]), count(&row["n1"])), (count(&row["b"]), count(&row["n2"])));
            let tails = exact(&[stratum(a, b)]);
            close(tails.less, number(&row["one_sided_worse"]), &row);
            close(tails.two_sided(), number(&row["two_sided"]), &row);
        }
    }

    #[test]
    fn what_says_nothing_changes_nothing() {
        let told = [stratum((5, 5), (1, 5))];
        let silent = [stratum((5, 5), (5, 5)), stratum((0, 3), (0, 0)), told[0], stratum((0, 0), (2, 2))];
        let (told, silent) = (exact(&told), exact(&silent));
        close(told.less, silent.less, &"less");
        close(told.greater, silent.greater, &"greater");
        assert_eq!(exact(&[]).two_sided().to_bits(), 1.0_f64.to_bits());
    }

    #[test]
    fn tails_stay_right_far_out_and_no_p_is_zero() {
        // C(20, 10)^-3: all trials of three cases were lost.
        let all = exact(&[stratum((10, 10), (0, 10)); 3]);
        let expected = 1.0 / 184_756.0_f64.powi(3);
        assert!((all.less / expected - 1.0).abs() < 1e-9, "{}", all.less);
        let many = exact(&vec![stratum((20, 20), (0, 20)); 40]);
        assert!(many.less > 0.0 && many.less < 1e-30, "{}", many.less);
    }

    #[test]
    fn thousands_of_trials_of_one_case_overflow_nothing() {
        let tails = exact(&[stratum((5000, 10_000), (4900, 10_000))]);
        // By whole numbers: the sum of C(10000, x) C(10000, 9900 − x), divided by C(20000, 9900).
        close(tails.less, 0.080_734_645_754, &"less");
        close(tails.greater, 0.923_416_411_945, &"greater");
        close(tails.equal, 0.004_151_057_700, &"equal");
    }

    #[test]
    fn many_cases_with_many_trials_keep_a_narrow_distribution() {
        let cases = |count: u64| (0..count).map(|case| stratum((50 + case % 51, 100), (49 + case % 47, 100)));
        let tails = exact(&cases(600).collect::<Vec<_>>());
        assert!((tails.less + tails.greater - tails.equal - 1.0).abs() < 1e-9);
    }

    #[test]
    fn what_was_cut_may_be_in_either_tail() {
        let known = |probability: &[f64], cut| Distribution { start: 5, probability: probability.to_vec(), cut };
        let coin = known(&[0.5, 0.5], 0.125);
        assert_eq!(coin.tails(4), Tails { less: 0.125, greater: 1.0, equal: 0.0 });
        assert_eq!(coin.tails(5), Tails { less: 0.625, greater: 1.0, equal: 0.5 });
        assert_eq!(coin.tails(7), Tails { less: 1.0, greater: 0.125, equal: 0.0 });
        assert!((coin.with(&known(&[1.0], 0.25)).cut - 0.375).abs() < 1e-15);
        // What is cut here comes on top.
        let cut = known(&[1e-50, 1.0, 1e-50], 0.0).with(&known(&[1.0], 0.0));
        assert_eq!((cut.start, cut.probability.as_slice()), (11, &[1.0][..]));
        assert!((cut.cut / 2e-50 - 1.0).abs() < 1e-9, "{}", cut.cut);
    }
}
