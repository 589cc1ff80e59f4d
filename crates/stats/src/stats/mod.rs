//! Statistics of trials that pass or fail, and of what they cost: pure functions, each with its formula and source.
//!
//! Shares are from 0 to 1, differences are candidate − baseline from −1 to 1, and a level of 0.95 is a confidence of 95
//! %. [`decide`](crate::decide) derives results for a skill from these numbers.

pub mod difference;
pub mod proportion;
pub mod sequence;
pub mod spread;
pub mod stratified;

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::beta::{beta_reg, ln_beta as statrs_ln_beta};
use statrs::function::erf::erfc_inv;
use statrs::function::factorial::ln_binomial;

/// The confidence of every interval that is shown, unless another one is set.
pub const LEVEL: f64 = 0.95;

/// From `low` to `high`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    /// Whether `value` is in it.
    pub fn contains(self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

#[cfg(test)]
pub(crate) mod reference {
    //! Values of scipy 1.17.1 and statsmodels 0.15.0, ten digits each.

    /// The section `name` of `tests/fixtures/statistics.json`.
    pub fn section(name: &str) -> serde_json::Value {
        let all: serde_json::Value =
            serde_json::from_str(include_str!("../../../../tests/fixtures/statistics.json")).expect("JSON");
        all[name].clone()
    }

    /// The rows of the section `name`.
    pub fn rows(name: &str) -> Vec<serde_json::Value> {
        section(name).as_array().expect("rows").clone()
    }

    /// The number at `value`.
    #[track_caller]
    pub fn number(value: &serde_json::Value) -> f64 {
        value.as_f64().expect("a number")
    }

    /// The count at `value`.
    #[track_caller]
    pub fn count(value: &serde_json::Value) -> u64 {
        value.as_u64().expect("a count")
    }

    /// Compares `found` with `expected` to 1e-9.
    #[track_caller]
    pub fn close(found: f64, expected: f64, what: &dyn std::fmt::Display) {
        assert!((found - expected).abs() < 1e-9, "{what}: {found} instead of {expected}");
    }

    /// Compares an interval with `[low, high]` to 1e-9.
    #[track_caller]
    pub fn ends(found: super::Interval, expected: &serde_json::Value, what: &dyn std::fmt::Display) {
        close(found.low, number(&expected[0]), what);
        close(found.high, number(&expected[1]), what);
    }
}

// The special functions that the other modules use, all from `statrs`, and counts as real numbers.

/// A count as a real number: exact below 2⁵³.
#[expect(clippy::cast_precision_loss, reason = "nobody counts 2^53 trials")]
pub fn real(count: u64) -> f64 {
    count as f64
}

/// A length as a real number.
pub fn len(of: usize) -> f64 {
    real(of as u64)
}

/// The smallest count that is at least `value`; 0 if `value` is negative or not a number.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast stops at the ends of u64")]
pub fn count_up(value: f64) -> u64 {
    value.ceil() as u64
}

/// The quantile `p` of the standard normal distribution: `Φ⁻¹(p)`, 1.96 for 0.975.
pub fn normal_quantile(p: f64) -> f64 {
    -std::f64::consts::SQRT_2 * erfc_inv(2.0 * p.clamp(0.0, 1.0))
}

/// The number of standard errors from the middle of an interval of confidence `level` to either end: 1.96 for 0.95.
pub fn two_sided_z(level: f64) -> f64 {
    normal_quantile(0.5 + level / 2.0)
}

/// The quantile `p` of Student's t with `freedom` degrees of freedom.
pub fn t_quantile(p: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |t| t.inverse_cdf(p.clamp(0.0, 1.0)))
}

/// The probability that Student's t with `freedom` degrees of freedom is at least as far from 0 as `t`, on either side.
pub fn t_two_sided(t: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |of| (2.0 * of.sf(t.abs())).min(1.0))
}

/// The regularized incomplete beta function `I_x(a, b)`: the share of Beta(a, b) below `x`; `a` and `b` above 0.
pub fn beta_share(a: f64, b: f64, x: f64) -> f64 {
    beta_reg(a, b, x.clamp(0.0, 1.0))
}

/// `ln B(a, b)`; `a` and `b` above 0.
pub fn ln_beta(a: f64, b: f64) -> f64 {
    statrs_ln_beta(a, b)
}

/// `ln C(n, k)`; −∞ if `k` is larger than `n`.
pub fn ln_choose(n: u64, k: u64) -> f64 {
    if k > n { f64::NEG_INFINITY } else { ln_binomial(n, k) }
}

/// The probability of `k` successes in `n` trials that succeed with probability `p`.
pub fn binomial_mass(n: u64, k: u64, p: f64) -> f64 {
    let power = |base: f64, times: u64| if times == 0 { 0.0 } else { real(times) * base.ln() };
    (ln_choose(n, k) + power(p, k) + power(1.0 - p, n.saturating_sub(k))).exp()
}

/// The probabilities of 0 to `n` successes.
pub fn binomial(n: u64, p: f64) -> Vec<f64> {
    (0..=n).map(|k| binomial_mass(n, k, p)).collect()
}

// Adjusts p-values for many questions, so that even one false answer among all is rare.

/// Holm's adjusted p-values, in the order of `p`: if everything at most α is called a change, any call is false with
/// probability α at most, however the questions depend on each other.
///
/// The i-th smallest of m becomes `max over j ≤ i of min(1, (m − j + 1) p_j)`: Holm, Scand. J. Statistics 6 (1979) 65.
pub fn holm_adjusted(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![0.0; p.len()];
    let mut most: f64 = 0.0;
    for (place, at) in order.into_iter().enumerate() {
        most = most.max((len(p.len() - place) * p[at]).min(1.0));
        adjusted[at] = most;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::reference::{close, number, section};
    use super::*;

    #[test]
    fn special_functions_agree_with_scipy() {
        let section = section("special_functions");
        let close = |found: f64, name: &str| close(found, number(&section[name]), &name);
        close(beta_share(2.5, 1.5, 0.3), "betainc(2.5,1.5,.3)");
        close(normal_quantile(0.975), "norm_ppf(.975)");
        close(t_quantile(0.975, 7.0), "t_ppf(.975,7)");
    }

    #[test]
    fn students_t_with_one_and_two_degrees_of_freedom_is_as_its_formulas_say() {
        // 1 − 2 atan(t)/π, and 1 − t/√(2 + t²).
        close(t_two_sided(1.0, 1.0), 0.5, &"one");
        close(t_two_sided(3.0, 2.0), 1.0 - 3.0 / 11.0_f64.sqrt(), &"two");
        close(t_two_sided(-3.0, 2.0), 1.0 - 3.0 / 11.0_f64.sqrt(), &"the other side");
        close(t_two_sided(0.0, 2.0), 1.0, &"the middle");
    }

    #[test]
    fn probabilities_of_a_binomial_sum_to_one_with_rates_at_the_ends_too() {
        for p in [0.0, 1e-9, 0.3, 1.0] {
            close(binomial(40, p).iter().sum(), 1.0, &p);
        }
        close(binomial(3, 1.0)[3], 1.0, &"certain");
    }

    #[test]
    fn adjusted_values_agree_with_statsmodels() {
        let reference = section("multiple");
        let numbers =
            |name: &str| -> Vec<f64> { reference[name].as_array().expect("rows").iter().map(number).collect() };
        let (found, expected) = (holm_adjusted(&numbers("p")), numbers("holm"));
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.into_iter().zip(expected) {
            close(found, expected, &reference);
        }
        assert_eq!(holm_adjusted(&[]), Vec::<f64>::new());
    }
}
