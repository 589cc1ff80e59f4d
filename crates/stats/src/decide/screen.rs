//! What the quick plan makes of its first looks at cases, each a trial of the candidate alone. The numbers are those of the plans that
//! were simulated that keep the power of pairs for all cases at the least number of trials
//! (docs/contributing/proofs.md#the-quick-plan).

use crate::stats::len;
use crate::stats::proportion::Rate;
use crate::stats::sequence::{e_broke, ln_e_apart};

/// Once the evidence of all pairs has fallen by this factor since several looks failed, no longer all cases get pairs.
pub(super) const FUTILE: f64 = 0.5;

/// How seldom so many looks of cases that did not change fail as several.
const SELDOM: f64 = 0.05;

/// If the base passes where so many looks failed, their pairs are proof. So several are never more, or a drop in all of many cases that
/// always passed would go unseen: it fails no more looks than cases do that often fail.
const PROOF: usize = 5;

/// The part of the stake that is bet on single cases. Of many cases more fail by chance, which costs that bet its stake.
pub(super) fn apart(cases: usize) -> f64 {
    (3.0 / len(cases.max(1))).min(0.3)
}

/// The first look at a case, with the candidate alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum FirstLook {
    #[default]
    None,
    Running,
    /// It was not measured.
    Lost,
    Failed,
    Passed,
}

impl FirstLook {
    pub fn of(passed: Option<bool>) -> Self {
        match passed {
            None => Self::Lost,
            Some(false) => Self::Failed,
            Some(true) => Self::Passed,
        }
    }

    /// As a rate of one trial; of none if nothing was measured.
    pub fn rate(self) -> Rate {
        let (passed, measured) = (self == Self::Passed, matches!(self, Self::Passed | Self::Failed));
        Rate::new(passed.into(), measured.into())
    }
}

/// The number of failed looks from which on all cases get pairs: cases that did not change, and that pass with these rates, seldom
/// fail so many. Five at most.
pub(super) fn several(rates: &[f64]) -> u64 {
    // How probably so many of the first cases fail, by the number that fail.
    let mut failing = vec![1.0];
    for rate in rates {
        failing.push(0.0);
        for failed in (0..failing.len()).rev() {
            let before = if failed > 0 { failing[failed - 1] } else { 0.0 };
            failing[failed] = failing[failed] * rate + before * (1.0 - rate);
        }
    }
    let mut above = 1.0;
    let fewer = failing.iter().take_while(|chance| {
        let is_seldom = above <= SELDOM;
        above -= **chance;
        !is_seldom
    });
    fewer.count().clamp(2, PROOF) as u64
}

/// The evidence of all pairs from which on cases are tried on, although none alone is a suspect.
pub(super) fn near(several: bool) -> f64 {
    if several { 1.0 } else { 2.5 }
}

/// What so many pairs of one of the cases show that only the baseline passed: no others show more.
pub(super) fn most_evidence(cases: usize, pairs: u64) -> f64 {
    let own = ln_e_apart(Rate::new(pairs, pairs), Rate::new(0, pairs)).exp();
    (1.0 - apart(cases)) * e_broke(&[(pairs, 0)]) + apart(cases) * own
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::USUAL_RATE;

    #[test]
    fn several_is_what_one_unchanged_suite_of_twenty_has_at_most_and_five_at_most() {
        // By scipy 1.17.1: binom.sf(several - 1, cases, 0.1) <= 0.05 < binom.sf(several - 2, cases, 0.1).
        for (cases, expected) in [(1, 2), (3, 2), (5, 3), (10, 4), (20, 5), (40, 5), (170, 5)] {
            assert_eq!(several(&vec![USUAL_RATE; cases]), expected, "{cases} cases");
        }
    }

    #[test]
    fn fewer_are_several_of_cases_that_are_known_to_pass() {
        // By scipy 1.17.1: binom.sf(2, 40, 0.02) is 0.046 and sf(1, …) 0.19.
        assert_eq!(several(&[0.98; 40]), 3);
        assert_eq!((several(&[]), several(&[0.5; 10]), several(&[0.0; 3])), (2, 5, 4));
    }
}
