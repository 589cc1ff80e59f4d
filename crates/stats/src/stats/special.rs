//! The special functions that the other modules use, all from `statrs`, and counts as real numbers.

use statrs::distribution::{ContinuousCDF, StudentsT};
use statrs::function::beta::{beta_reg, ln_beta as statrs_ln_beta};
use statrs::function::erf::erfc_inv;
use statrs::function::factorial::ln_binomial;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::reference::{close, number, section};

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
}
