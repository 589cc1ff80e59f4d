//! The answers there are.

use serde::Serialize;

/// How B compares with A.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "result", rename_all = "kebab-case")]
pub enum CompareResult {
    /// B passes more.
    Better,
    /// B passes less.
    Worse,
    /// B passes less by no more than `margin`, if at all.
    NoWorse {
        /// The loss in rate that was said to be tolerated.
        margin: f64,
    },
    /// The trials do not tell.
    Undecided {
        /// How many more trials, both arms together, would find a difference of the size seen with a probability of
        /// 80 %; none where none was seen, or it would take more than a million.
        trials_needed: Option<u64>,
    },
    /// No case has a measured trial in both arms.
    NothingMeasured,
}

impl CompareResult {
    /// The word, as it stands in a sentence; a margin and a number of trials are for the reader to add.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NoWorse { .. } => "no worse",
            Self::Undecided { .. } => "undecided",
            Self::NothingMeasured => "nothing measured",
        }
    }

    /// Whether more trials would change nothing.
    #[must_use]
    pub fn decided(self) -> bool {
        matches!(self, Self::Better | Self::Worse | Self::NoWorse { .. })
    }
}
