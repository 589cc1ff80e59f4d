//! Evidence from pairs of trials of one case, one in each arm, that may be looked at after every pair.
//!
//! Only discordant pairs tell the arms apart: a loss (A alone passed) or a win (B alone passed). Where no case got worse, a
//! discordant pair is a loss with probability ½ at most, whatever the cases and in whatever order they are chosen, as long
//! as the choice looks only back. An e-value is a bet against that whose expected payout is at most 1, so that it reaches
//! `1/α` at any time with probability `α` at most (Ville's inequality): stop there. Unlike a p it needs no plan.
//!
//! Ramdas, Grünwald, Vovk and Shafer, Statistical Science 38 (2023) 576; the mixtures are of Robbins, AMS 41 (1970) 1397.

use super::special::{beta_share, ln_beta, real};

/// Against "both alike": `2^(b+c) · B(½+b, ½+c) / B(½, ½)`, a bet on every probability of a loss with Jeffreys' prior.
#[must_use]
pub fn e_two_sided(losses: u64, wins: u64) -> f64 {
    ln_two_sided(losses, wins).exp().min(f64::MAX)
}

/// Against "in no case worse": the same bet on probabilities of a loss above ½ only,
/// `2^(b+c) · B(½+b, ½+c) / B(½, ½) · 2 · I_½(½+c, ½+b)`.
#[must_use]
pub fn e_worse(losses: u64, wins: u64) -> f64 {
    let above_half = beta_share(real(wins) + 0.5, real(losses) + 0.5, 0.5);
    ((ln_two_sided(losses, wins) + (2.0 * above_half).ln()).exp()).min(f64::MAX)
}

/// Against "in no case better": [`e_worse`] with the arms exchanged.
#[must_use]
pub fn e_better(losses: u64, wins: u64) -> f64 {
    e_worse(wins, losses)
}

fn ln_two_sided(losses: u64, wins: u64) -> f64 {
    let (b, c) = (real(losses), real(wins));
    (b + c) * std::f64::consts::LN_2 + ln_beta(b + 0.5, c + 0.5) - std::f64::consts::PI.ln()
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
    fn a_fair_game_pays_one_on_average_whatever_the_side() {
        for pairs in [1, 2, 7, 40] {
            let weights = binomial(pairs, 0.5);
            let mean = |e: fn(u64, u64) -> f64| -> f64 {
                (0..=pairs).zip(&weights).map(|(losses, weight)| weight * e(losses, pairs - losses)).sum()
            };
            for e in [e_two_sided, e_worse, e_better] {
                close(mean(e), 1.0, &pairs);
            }
        }
    }

    #[test]
    fn both_sides_together_are_the_two_sided_evidence() {
        for (b, c) in [(0, 0), (6, 0), (3, 9), (40, 40)] {
            let mean = f64::midpoint(e_worse(b, c), e_better(b, c));
            assert!((mean / e_two_sided(b, c) - 1.0).abs() < 1e-9);
        }
    }

    #[test]
    fn six_losses_in_a_row_are_worse_at_one_in_twenty_and_nothing_overflows() {
        assert!(e_worse(5, 0) < 20.0 && e_worse(6, 0) > 20.0);
        assert!(e_worse(1_000_000, 0).is_finite());
        assert!(e_worse(0, 1_000_000) >= 0.0);
    }
}
