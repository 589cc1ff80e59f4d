//! The power of a plan: how often it finds a change. Computed from every outcome, because a normal approximation
//! promises 80 % when it is 76 % (Connor, Biometrics 43 (1987) 207, for exact tests).
//!
//! A plan is a number of pairs of trials of the same case, one on each side. A pair is a loss (only the baseline
//! passes) with probability `loss` and a win (only the candidate passes) with probability `win`.

use super::special::{beta_share, binomial_mass, count_up, normal_quantile, real};

/// How often a pair is discordant, and in which direction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Discordance {
    /// The probability that only the baseline passes.
    pub loss: f64,
    /// The probability that only the candidate passes.
    pub win: f64,
}

impl Discordance {
    /// For a case that passes with probability `before` in the baseline and `after` in the candidate.
    pub fn of(before: f64, after: f64) -> Self {
        Self { loss: before * (1.0 - after), win: after * (1.0 - before) }
    }

    /// The probability that a pair is discordant.
    pub fn any(self) -> f64 {
        self.loss + self.win
    }

    /// The probability that a discordant pair is a loss.
    fn direction(self) -> f64 {
        if self.any() > 0.0 { self.loss / self.any() } else { 0.5 }
    }
}

/// The probability that McNemar's exact test, one-sided at `alpha`, finds the candidate worse after `pairs`.
pub fn fixed(pairs: u64, truth: Discordance, alpha: f64) -> f64 {
    over_discordant(pairs, truth.any(), |discordant| {
        losses_needed(discordant, alpha).map_or(0.0, |needed| at_least(discordant, needed, truth.direction()))
    })
}

/// The number of pairs with which [`fixed`] finds the candidate worse with probability `power`. `None` if it is above
/// `most`. Up to 400 pairs, it is computed from all outcomes near the value of the normal formula. Above that, the
/// formula is right to a hundredth and used alone: `((z_α √ψ + z_β √(ψ − δ²)) / δ)² + 1/δ`, where ψ is the probability
/// of a discordant pair and δ the difference.
pub fn pairs_needed(truth: Discordance, alpha: f64, power: f64, most: u64) -> Option<u64> {
    let apart = truth.loss - truth.win;
    if apart <= 0.0 {
        return None;
    }
    let (any, up, down) = (truth.any(), normal_quantile(1.0 - alpha), normal_quantile(power));
    let about = ((up * any.sqrt() + down * (any - apart * apart).max(0.0).sqrt()) / apart).powi(2) + 1.0 / apart;
    let mut high = count_up(about).max(1);
    if about <= COUNTED {
        let enough = |pairs: u64| fixed(pairs, truth, alpha) >= power;
        let mut low = 0;
        while !enough(high) {
            (low, high) = (high, high + 1);
        }
        // Power may fall by a little with a further pair, since losses are whole numbers, so the exact minimum is not
        // searched.
        while high - low > 1 {
            let middle = u64::midpoint(low, high);
            *(if enough(middle) { &mut high } else { &mut low }) = middle;
        }
    }
    (high <= most).then_some(high)
}

/// Above this number of pairs, the normal formula is used.
const COUNTED: f64 = 400.0;

/// The expected value of `of` over the number of discordant pairs among `pairs`.
fn over_discordant(pairs: u64, any: f64, of: impl Fn(u64) -> f64) -> f64 {
    let (fewest, most) = likely(pairs, any);
    (fewest..=most).map(|k| binomial_mass(pairs, k, any) * of(k)).sum()
}

/// The range of the number of discordant pairs that holds nearly all of the probability: eight standard deviations of rare
/// ones to both sides, and no fewer than 40.
fn likely(pairs: u64, any: f64) -> (u64, u64) {
    let mean = real(pairs) * any;
    let reach = (8.0 * mean.sqrt()).max(40.0);
    (count_up(mean - reach), count_up(mean + reach).min(pairs))
}

/// The number of losses among `discordant` pairs that makes the exact p at most `alpha`. `None` if even all are not
/// enough.
fn losses_needed(discordant: u64, alpha: f64) -> Option<u64> {
    let enough = |losses: u64| at_least(discordant, losses, 0.5) <= alpha;
    if !enough(discordant) {
        return None;
    }
    let (mut low, mut high) = (0, discordant);
    while high - low > 1 {
        let middle = u64::midpoint(low, high);
        *(if enough(middle) { &mut high } else { &mut low }) = middle;
    }
    Some(high)
}

/// The probability of at least `k` successes in `n` trials of probability `p`: `I_p(k, n−k+1)`.
fn at_least(n: u64, k: u64, p: f64) -> f64 {
    if k == 0 { 1.0 } else { beta_share(real(k), real(n - k) + 1.0, p) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::reference::{close, count, number, rows};

    #[test]
    fn exact_power_agrees_with_enumeration_and_shows_what_the_normal_formula_lacks() {
        for row in rows("paired_sample_size_connor_1987") {
            let (loss, win) = (number(&row["p10"]), number(&row["p01"]));
            let pairs = count(&row["n_ceil"]);
            // Two-sided: found worse, or found better by mistake.
            let power = fixed(pairs, Discordance { loss, win }, 0.025)
                + fixed(pairs, Discordance { loss: win, win: loss }, 0.025);
            assert!((power - number(&row["exact_mcnemar_power_at_n"])).abs() < 1e-6, "{row}: {power}");
        }
    }

    #[test]
    fn pairs_needed_have_the_power_and_one_less_has_not() {
        for (before, after) in [(0.95, 0.7), (0.9, 0.6), (0.8, 0.5)] {
            let truth = Discordance::of(before, after);
            let needed = pairs_needed(truth, 0.05, 0.8, 10_000).expect("some");
            assert!(fixed(needed, truth, 0.05) >= 0.8);
            assert!(fixed(needed - 1, truth, 0.05) < 0.8);
        }
        // Fewer than the formula says, by Wilks's table: of 181 trials, five fail that fail one time in twenty, to 95 %.
        assert_eq!(pairs_needed(Discordance { loss: 0.05, win: 0.0 }, 0.05, 0.95, 10_000), Some(181));
        assert_eq!(pairs_needed(Discordance::of(0.5, 0.5), 0.05, 0.8, 10_000), None);
        assert_eq!(pairs_needed(Discordance::of(0.9, 0.89), 0.05, 0.8, 100), None);
        let many = pairs_needed(Discordance::of(0.9, 0.87), 0.05, 0.8, 10_000).expect("a number");
        let power = fixed(many, Discordance::of(0.9, 0.87), 0.05);
        assert!(many > 1000 && (power - 0.8).abs() < 0.01, "{many}: {power}");
    }

    #[test]
    fn many_pairs_needed_are_those_of_the_normal_formula() {
        // ((z_α √ψ + z_β √(ψ − δ²)) / δ)² + 1/δ: 11721.1 and 12759.8.
        assert_eq!(pairs_needed(Discordance::of(0.9, 0.89), 0.05, 0.8, 20_000), Some(11_722));
        assert_eq!(pairs_needed(Discordance::of(0.6, 0.58), 0.025, 0.9, 20_000), Some(12_760));
        assert_eq!(pairs_needed(Discordance::of(0.6, 0.58), 0.025, 0.9, 12_760), Some(12_760));
        assert_eq!(pairs_needed(Discordance::of(0.6, 0.58), 0.025, 0.9, 12_759), None);
    }

    #[test]
    fn where_one_loss_is_enough_the_power_is_that_of_any_loss() {
        // The exact p of one loss is a half.
        for (loss, pairs) in [(0.001, 100), (0.1, 3), (0.3, 400)] {
            let (truth, expected) = (Discordance { loss, win: 0.0 }, 1.0 - (1.0 - loss).powi(pairs));
            let pairs = u64::from(pairs.unsigned_abs());
            close(fixed(pairs, truth, 0.5), expected, &"one look");
        }
    }
}
