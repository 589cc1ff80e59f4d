//! Stored trials of two sides, made the arms of a comparison.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::results::side_results::{SideReader, SideResults};

/// The stored trials of one side.
#[derive(Default)]
pub struct TrialSide {
    /// What users call it.
    pub label: String,
    /// Its trials.
    pub trials: SideReader,
    /// Only those in this mode count.
    pub mode: Option<String>,
}

/// Why two sides cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Incomparable {
    /// A side is empty.
    #[error("{side} holds no trials that ended")]
    NoTrials {
        /// What users call it.
        side: String,
    },
    /// Neither have they a mode in common nor have they one each.
    #[error("the runs have no mode in common ({baseline} against {candidate})")]
    NoCommonMode {
        /// The modes of one side.
        baseline: String,
        /// Those of the other.
        candidate: String,
    },
}

impl TrialSide {
    fn counts(&self, mode: &str) -> bool {
        self.mode.as_deref().is_none_or(|only| only == mode)
    }

    fn modes(&self) -> BTreeSet<&str> {
        self.trials.modes().into_iter().filter(|mode| self.counts(mode)).collect()
    }
}

/// Whether trials are held against each other mode by mode; else each side has a single mode, and that may be what differs.
///
/// # Errors
/// When nothing can be held against anything so.
pub fn by_mode(a: &BTreeSet<&str>, b: &BTreeSet<&str>) -> Result<bool, Incomparable> {
    let several = a.len() > 1 || b.len() > 1;
    if several && a.is_disjoint(b) {
        let list = |modes: &BTreeSet<&str>| modes.iter().copied().collect::<Vec<_>>().join(", ");
        return Err(Incomparable::NoCommonMode { baseline: list(a), candidate: list(b) });
    }
    Ok(several)
}

/// The arms that the sides make: their trials of the cases that are `chosen`, by skill and id.
///
/// # Errors
/// When they cannot be compared.
pub fn counts(
    a: &TrialSide,
    b: &TrialSide,
    chosen: impl Fn(&str, &str) -> bool,
) -> Result<(SideResults, SideResults), Incomparable> {
    let (in_a, in_b) = (a.modes(), b.modes());
    for (side, modes) in [(a, &in_a), (b, &in_b)] {
        if modes.is_empty() {
            return Err(Incomparable::NoTrials { side: side.label.clone() });
        }
    }
    let several = by_mode(&in_a, &in_b)?;
    let asks = |side: &TrialSide| side.trials.asks_for_the_skill(|mode| side.counts(mode));
    let outcome_only = asks(a) != asks(b);
    let arm = |side: &TrialSide| {
        let mut arm = SideResults { outcome_only, ..SideResults::default() };
        side.trials.add_to(&mut arm, |case| {
            let wanted = side.counts(&case.mode) && chosen(&case.skill, &case.case);
            wanted.then(|| case.compared_as(several))
        });
        arm
    };
    Ok((arm(a), arm(b)))
}
