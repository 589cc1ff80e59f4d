//! Stored trials as the two sides of a comparison.

use std::collections::BTreeSet;

use thiserror::Error;

use crate::results::side_results::{SideReader, SideResults};
use crate::text::problem::Problem;

/// The stored trials of one side.
#[derive(Default)]
pub struct TrialSide {
    /// The name that users gave it.
    pub label: String,
    pub trials: SideReader,
    /// If set, only trials in this mode count.
    pub mode: Option<String>,
}

/// Why two sides cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Incomparable {
    #[error("{side} holds no trials that ended")]
    NoTrials { side: String },
    /// The sides share no mode, and at least one has several.
    #[error("the runs have no mode in common ({baseline} against {candidate})")]
    NoCommonMode { baseline: String, candidate: String },
}

impl From<Incomparable> for Problem {
    fn from(error: Incomparable) -> Self {
        Self::Said(error.to_string())
    }
}

impl TrialSide {
    fn counts(&self, mode: &str) -> bool {
        self.mode.as_deref().is_none_or(|only| only == mode)
    }

    fn modes(&self) -> BTreeSet<&str> {
        self.trials.modes().into_iter().filter(|mode| self.counts(mode)).collect()
    }

    fn asks_for_the_skill(&self) -> bool {
        self.trials.asks_for_the_skill(|mode| self.counts(mode))
    }
}

/// Whether the sides are compared mode by mode. Otherwise each side has a single mode, and the modes may differ.
pub fn by_mode(baseline: &BTreeSet<&str>, candidate: &BTreeSet<&str>) -> Result<bool, Incomparable> {
    let several = baseline.len() > 1 || candidate.len() > 1;
    if several && baseline.is_disjoint(candidate) {
        let [baseline, candidate] =
            [baseline, candidate].map(|modes| modes.iter().copied().collect::<Vec<_>>().join(", "));
        return Err(Incomparable::NoCommonMode { baseline, candidate });
    }
    Ok(several)
}

/// The results of both sides in the cases that are `chosen`, by skill and id.
pub fn counts(
    baseline: &TrialSide,
    candidate: &TrialSide,
    chosen: impl Fn(&str, &str) -> bool,
) -> Result<(SideResults, SideResults), Incomparable> {
    for side in [baseline, candidate] {
        if side.modes().is_empty() {
            return Err(Incomparable::NoTrials { side: side.label.clone() });
        }
    }
    let several = by_mode(&baseline.modes(), &candidate.modes())?;
    let outcome_only = baseline.asks_for_the_skill() != candidate.asks_for_the_skill();
    let [mut baseline, mut candidate] = [baseline, candidate].map(|side| {
        let mut results = SideResults { outcome_only, ..SideResults::default() };
        side.trials.add_to(&mut results, |case| {
            let counts = side.counts(&case.mode) && chosen(&case.skill, &case.case);
            counts.then(|| case.compared_as(several))
        });
        results
    });
    if outcome_only {
        let needs_skill = |side: &SideResults, case: &String| {
            side.counts.get(case).is_some_and(|counts| counts.rate.trials > 0) && !side.answerable.contains(case)
        };
        let cases = baseline.counts.keys().chain(candidate.counts.keys());
        let left_out: BTreeSet<String> =
            cases.filter(|case| needs_skill(&baseline, case) || needs_skill(&candidate, case)).cloned().collect();
        for side in [&mut baseline, &mut candidate] {
            side.counts.retain(|case, _| !left_out.contains(case));
            side.took.retain(|case, _| !left_out.contains(case));
        }
        baseline.left_out = left_out;
    }
    Ok((baseline, candidate))
}
