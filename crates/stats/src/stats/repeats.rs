//! Repeats of one case: the result of k trials, and the rate that trials show if all pass.

use super::proportion::Rate;
use super::special::{count_up, ln_choose, real};

/// The probability that at least one of `k` trials passes, without bias. `None` if `k` is 0 or larger than the number
/// of measured trials.
///
/// `1 − C(n−c, k) / C(n, k)`: Chen et al., arXiv 2107.03374, section 2.1.
pub fn pass_at_k(rate: Rate, k: u64) -> Option<f64> {
    all_k(Rate { passed: rate.failed(), trials: rate.trials }, k).map(|all_fail| 1.0 - all_fail)
}

/// The probability that all of `k` trials pass, without bias. `None` if `k` is 0 or larger than the number of measured
/// trials.
///
/// `C(c, k) / C(n, k)`: Yao et al., arXiv 2406.12045 (pass^k). The plain `(c/n)^k` is too high.
pub fn pass_hat_k(rate: Rate, k: u64) -> Option<f64> {
    all_k(rate, k)
}

fn all_k(rate: Rate, k: u64) -> Option<f64> {
    if k == 0 || k > rate.trials {
        return None;
    }
    Some((ln_choose(rate.passed, k) - ln_choose(rate.trials, k)).exp().min(1.0))
}

/// The smallest rate that `n` passes of `n` trials show with a one-sided `confidence`: 0.55 for 5 trials and 0.95.
///
/// `(1 − confidence)^(1/n)`, the lower limit of Clopper and Pearson; 0 without trials.
pub fn shown_by_all_passing(n: u64, confidence: f64) -> f64 {
    if n == 0 { 0.0 } else { (1.0 - confidence).powf(1.0 / real(n)) }
}

/// The number of trials that shows a rate of at least `threshold` if all pass: 14 for 0.8 and a confidence of 0.95.
/// `None` for a threshold of 1, which no number of trials shows.
pub fn needed_all_passing(threshold: f64, confidence: f64) -> Option<u64> {
    if threshold <= 0.0 {
        return Some(0);
    }
    (threshold < 1.0).then(|| count_up((1.0 - confidence).ln() / threshold.ln()).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::reference::{close, count, number, rows};

    #[test]
    fn k_of_n_agrees_with_the_reference_and_is_undefined_beyond_n() {
        for row in rows("pass_at_k") {
            let rate = Rate::new(count(&row["c"]), count(&row["n"]));
            let k = count(&row["k"]);
            close(pass_at_k(rate, k).expect("defined"), number(&row["pass@k"]), &row);
            close(pass_hat_k(rate, k).expect("defined"), number(&row["pass^k"]), &row);
            assert_eq!(pass_at_k(rate, rate.trials + 1), None);
            assert_eq!(pass_hat_k(rate, 0), None);
        }
    }

    #[test]
    fn passes_needed_for_a_threshold_agree_with_the_reference() {
        for row in rows("min_all_pass_runs_for_one_sided_lower_bound") {
            let threshold = number(&row["threshold"]);
            for (confidence, name) in [(0.95, "n_95"), (0.9, "n_90")] {
                let needed = needed_all_passing(threshold, confidence);
                assert_eq!(needed, Some(count(&row[name])), "{row}");
                let needed = needed.expect("a number");
                assert!(shown_by_all_passing(needed, confidence) >= threshold, "{row}");
                assert!(shown_by_all_passing(needed - 1, confidence) < threshold, "{row}");
            }
        }
        assert_eq!(needed_all_passing(1.0, 0.95), None);
    }
}
