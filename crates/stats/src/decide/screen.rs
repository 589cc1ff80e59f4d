//! What the quick plan makes of its first looks at cases, each a trial of the candidate alone. The numbers are those of the plans that
//! were simulated that keep the power of pairs for all cases at the least number of trials
//! (docs/contributing/proofs.md#the-quick-plan).

use crate::decide::USUAL_RATE;
use crate::stats::binomial_mass;
use crate::stats::proportion::Rate;
use crate::stats::sequence::{e_broke, ln_e_apart};

/// The part of the stake that is bet on single cases.
pub(super) const APART: f64 = 0.3;

/// Once the evidence of all pairs has fallen by this factor since several looks failed, no longer all cases get pairs.
pub(super) const FUTILE: f64 = 0.7;

/// How seldom so many looks fail as several, if cases pass as often as usual.
const SELDOM: f64 = 0.05;

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

/// The number of failed looks from which on all cases get pairs: of cases that did not change, so many seldom fail.
pub(super) fn several(cases: usize) -> usize {
    let cases = cases as u64;
    let mut above = 1.0;
    let mut failed = 0;
    while above > SELDOM && failed <= cases {
        above -= binomial_mass(cases, failed, 1.0 - USUAL_RATE);
        failed += 1;
    }
    usize::try_from(failed).unwrap_or(usize::MAX).max(2)
}

/// The evidence of all pairs from which on cases are tried on, although none alone is a suspect.
pub(super) fn near(several: bool) -> f64 {
    if several { 1.0 } else { 2.5 }
}

/// What so many pairs of one case show that only the baseline passed: no others show more.
pub(super) fn most_evidence(pairs: u64) -> f64 {
    let apart = ln_e_apart(Rate::new(pairs, pairs), Rate::new(0, pairs)).exp();
    (1.0 - APART) * e_broke(&[(pairs, 0)]) + APART * apart
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_is_what_one_unchanged_suite_of_twenty_has_at_most() {
        // By scipy 1.17.1: binom.sf(several - 1, cases, 0.1) <= 0.05 < binom.sf(several - 2, cases, 0.1).
        for (cases, expected) in [(1, 2), (3, 2), (5, 3), (10, 4), (40, 8), (170, 25)] {
            assert_eq!(several(cases), expected, "{cases} cases");
        }
    }
}
