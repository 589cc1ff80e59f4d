//! Evidence from pairs of trials of one case, one on each side. You may look at it after every pair.
//!
//! Only discordant pairs tell the sides apart: a loss (only the baseline passed) or a win (only the candidate passed).
//! If no case got worse, a discordant pair is a loss with probability ½ at most. This holds for any cases in any order,
//! as long as the choice of the next case depends on past pairs only. An e-value is a bet against it with an expected
//! payout of at most 1. It ever reaches `1/α` with probability `α` at most (Ville's inequality), so you can stop then.
//! Unlike a p-value, it needs no plan.
//!
//! Ramdas, Grünwald, Vovk and Shafer, Statistical Science 38 (2023) 576; the mixtures are of Robbins, AMS 41 (1970) 1397.

use super::special::{beta_share, len, ln_beta, real};

/// Against "both sides are equal": `2^(b+c) · B(½+b, ½+c) / B(½, ½)`, a bet on every probability of a loss with
/// Jeffreys' prior.
pub fn e_two_sided(losses: u64, wins: u64) -> f64 {
    let (b, c) = (real(losses), real(wins));
    let ln = (b + c) * std::f64::consts::LN_2 + ln_beta(b + 0.5, c + 0.5) - std::f64::consts::PI.ln();
    ln.exp().min(f64::MAX)
}

/// Against "in no case worse": a bet on every probability θ of a loss above ½, with a density that rises with θ,
/// `2^(b+c) · ∫ θ^b (1−θ)^c 8θ/3 dθ` from ½ to 1, which is `2^(b+c) · 8/3 · B(b+2, c+1) · I_½(c+1, b+2)`. Of the
/// densities that were tried, this one decides soonest, for small and large changes. Jeffreys' takes 5 % more pairs.
pub fn e_worse(losses: u64, wins: u64) -> f64 {
    let (b, c) = (real(losses), real(wins));
    let above_half = beta_share(c + 1.0, b + 2.0, 0.5);
    let ln = (b + c) * std::f64::consts::LN_2 + (8.0 / 3.0_f64).ln() + ln_beta(b + 2.0, c + 1.0) + above_half.ln();
    ln.exp().min(f64::MAX)
}

/// The weight of all discordant pairs together in [`e_broke`]. With it, six losses in a row are enough for α = 0.05.
pub const TOGETHER: f64 = 0.95;

/// Against "no case got worse", by the losses and wins of each case: `e_worse` of all pairs together, and the mean of the
/// cases' own. A case that broke shows in the mean even if many others got better. Averages of bets are bets.
pub fn e_broke(cases: &[(u64, u64)]) -> f64 {
    let (losses, wins) = cases.iter().fold((0, 0), |sum, case| (sum.0 + case.0, sum.1 + case.1));
    let own = cases.iter().map(|(losses, wins)| e_worse(*losses, *wins) / len(cases.len())).sum::<f64>();
    e_together(losses, wins, own)
}

/// The same by all losses and wins, and the mean of what each case shows by itself.
pub fn e_together(losses: u64, wins: u64, own: f64) -> f64 {
    TOGETHER * e_worse(losses, wins) + (1.0 - TOGETHER) * own.min(f64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::reference::{close, count, number, rows};
    use crate::stats::special::binomial;

    #[test]
    fn two_sided_evidence_agrees_with_the_reference() {
        for row in rows("evalue_paired_mixture_half") {
            let (b, c) = (count(&row["b"]), count(&row["c"]));
            let expected = number(&row["e"]);
            assert!((e_two_sided(b, c) / expected - 1.0).abs() < 1e-8, "{row}: {}", e_two_sided(b, c));
        }
    }

    #[test]
    fn a_fair_game_pays_one_on_average_in_either_direction() {
        for pairs in [1, 2, 7, 40] {
            let weights = binomial(pairs, 0.5);
            let mean = |e: fn(u64, u64) -> f64| -> f64 {
                (0..=pairs).zip(&weights).map(|(losses, weight)| weight * e(losses, pairs - losses)).sum()
            };
            for e in [e_two_sided, e_worse] {
                close(mean(e), 1.0, &pairs);
            }
        }
    }

    #[test]
    fn a_case_that_broke_shows_among_many_that_got_better_and_costs_nothing_otherwise() {
        assert!(e_broke(&[(6, 0), (0, 0), (0, 0)]) >= 20.0);
        let mut cases = vec![(0, 5); 20];
        cases[7] = (16, 0);
        assert!(e_worse(16, 95) < 1.0 && e_broke(&cases) >= 20.0);
    }

    #[test]
    fn evidence_that_a_case_broke_bets_a_twentieth_on_the_cases_alone() {
        // By the formula with whole numbers: of 2 losses and 1 win 13/15, of 2 losses 5/2, of 1 win 4/9.
        let expected = 0.95 * 13.0 / 15.0 + 0.05 * (5.0 / 2.0 + 4.0 / 9.0) / 2.0;
        close(e_broke(&[(2, 0), (0, 1)]), expected, &"two cases");
    }

    #[test]
    fn one_sided_evidence_is_the_integral_it_says() {
        for (b, c) in [(0, 0), (6, 0), (3, 9), (30, 12)] {
            let steps = 200_000;
            let density = |theta: f64| (2.0 * theta).powi(b) * (2.0 - 2.0 * theta).powi(c) * 8.0 * theta / 3.0;
            let width = 0.5 / f64::from(steps);
            let sum: f64 = (0..steps).map(|at| density(0.5 + (f64::from(at) + 0.5) * width) * width).sum();
            let found = e_worse(b.unsigned_abs().into(), c.unsigned_abs().into());
            assert!((found / sum - 1.0).abs() < 1e-6, "{b} {c}: {found} instead of {sum}");
        }
    }

    #[test]
    fn six_losses_in_a_row_are_worse_at_one_in_twenty_and_nothing_overflows() {
        assert!(e_worse(5, 0) < 20.0 && e_worse(6, 0) > 20.0);
        assert!(e_worse(1_000_000, 0).is_finite());
        assert!(e_worse(0, 1_000_000) >= 0.0);
    }
}
