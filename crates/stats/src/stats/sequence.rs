//! An interval of one rate that is valid at every look, for trials that run until a case is decided.

use super::Interval;
use super::proportion::Rate;
use super::special::{ln_beta, real};

/// The rates `p` that a bet with Jeffreys' prior has not ruled out: `{p: M_n(p) < 1/α}` with `M_n(p) = B(½+x, ½+n−x) /
/// (B(½, ½) p^x (1−p)^(n−x))`. With probability `level`, the truth is in it after every trial. Wilson's interval,
/// looked at 50 times, misses it in a third of the runs.
///
/// Robbins, AMS 41 (1970) 1397; Howard et al., Annals of Statistics 49 (2021) 1055.
pub fn beta_binomial(rate: Rate, level: f64) -> Interval {
    with_prior(rate, level, 0.5, 0.5)
}

fn with_prior(rate: Rate, level: f64, a: f64, b: f64) -> Interval {
    let Some(share) = rate.share() else { return Interval { low: 0.0, high: 1.0 } };
    let (passed, failed) = (real(rate.passed), real(rate.failed()));
    let bet = ln_beta(a + passed, b + failed) - ln_beta(a, b);
    let power = |count: f64, p: f64| if count == 0.0 { 0.0 } else { count * p.ln() };
    let inside = |p: f64| bet - power(passed, p) - power(failed, 1.0 - p) < -(1.0 - level).ln();
    // The bet pays least at the measured share and more on either side, so bisection finds both ends.
    let end = |mut outside: f64| {
        if inside(outside) {
            return outside;
        }
        let mut within = share;
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(within, outside);
            *(if inside(middle) { &mut within } else { &mut outside }) = middle;
        }
        outside
    };
    Interval { low: end(0.0), high: end(1.0) }
}

/// Enough steps for every digit of a number between 0 and 1.
const HALVINGS: u32 = 60;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::reference::{count, ends, number, rows};

    #[test]
    fn sequences_agree_with_the_reference() {
        for row in rows("beta_binomial_conf_seq_95") {
            let rate = Rate::new(count(&row["x"]), count(&row["n"]));
            let found = with_prior(rate, 0.95, number(&row["prior"][0]), number(&row["prior"][1]));
            ends(found, &row["cs"], &row);
        }
    }

    #[test]
    fn fifty_looks_miss_the_truth_as_seldom_as_an_exact_count_says() {
        let reference = crate::stats::reference::section("peeking_50_looks_prob_ever_excluding_truth");
        let missed = |p: f64, interval: fn(Rate, f64) -> Interval| {
            // The probability of every count of passes on a path that has missed the truth nowhere.
            let mut alive = vec![1.0];
            for n in 1..=50 {
                let from = |x: usize| alive.get(x).copied().unwrap_or(0.0);
                let to = |x: usize| from(x) * (1.0 - p) + if x > 0 { from(x - 1) * p } else { 0.0 };
                let holds = |x: usize| interval(Rate::new(x as u64, n), 0.95).contains(p);
                alive = (0..=alive.len()).map(|x| if holds(x) { to(x) } else { 0.0 }).collect();
            }
            1.0 - alive.iter().sum::<f64>()
        };
        for p in [0.5, 0.8, 0.9] {
            let row = &reference[p.to_string()];
            let wilson = missed(p, super::super::proportion::wilson);
            assert!((wilson - number(&row["wilson95_each_look"])).abs() < 1e-4, "{p}: {wilson}");
            let sequence = missed(p, beta_binomial);
            assert!((sequence - number(&row["beta_binomial_cs95"])).abs() < 1e-4, "{p}: {sequence}");
        }
    }
}
