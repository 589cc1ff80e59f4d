//! How often cases passed, as a share with its interval: one case, and cases together. Whatever shows either takes it from here.

use crate::stats::proportion::{Rate, wilson};
use crate::stats::sequence::beta_binomial;
use crate::stats::{Interval, LEVEL, mean};

/// A case as far as its share goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaseShare {
    /// Trials that passed, of those that were measured.
    pub rate: Rate,
    /// Whether they went on until they decided something, rather than being counted beforehand.
    pub until_decided: bool,
}

impl CaseShare {
    /// Where the true share of passing trials may lie. For trials that were counted beforehand it is Wilson's interval; where
    /// they went on until they decided something, one that holds however often one looks.
    #[must_use]
    pub fn interval(self) -> Interval {
        let of = if self.until_decided { beta_binomial } else { wilson };
        of(self.rate, LEVEL)
    }
}

/// The mean of the shares of these cases, each weighing the same however often it was tried, and where the true mean may lie;
/// none where none was measured. One case has the interval of its own, which no others widen.
#[must_use]
pub fn together(cases: &[CaseShare]) -> Option<(f64, Interval)> {
    let measured: Vec<&CaseShare> = cases.iter().filter(|case| case.rate.trials > 0).collect();
    if let [only] = measured.as_slice() {
        return Some((only.rate.share()?, only.interval()));
    }
    let rates: Vec<Rate> = measured.into_iter().map(|case| case.rate).collect();
    mean::of(&rates, LEVEL)
}
