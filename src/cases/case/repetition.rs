//! How often a case runs, and which share of its trials must pass.

/// The most trials of a case in a mode.
pub const MOST_TRIALS: u32 = 1000;

/// The shares that a threshold may be, in words.
pub const A_SHARE: &str = "a share above 0 and up to 1";

/// What was said about the repeats of a case, by the case itself or by somebody else; all of it is optional.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Repetition {
    /// How often it runs, 1 to [`MOST_TRIALS`].
    pub trials: Option<u32>,
    /// The share of its trials that must pass, above 0 and up to 1.
    pub threshold: Option<f64>,
}

impl Repetition {
    /// What was said here, and where that is nothing, what was said there.
    #[must_use]
    pub fn or(self, other: Repetition) -> Repetition {
        Repetition { trials: self.trials.or(other.trials), threshold: self.threshold.or(other.threshold) }
    }
}

/// The number where that is as many trials as a case may have.
#[must_use]
pub fn trials(number: i64) -> Option<u32> {
    u32::try_from(number).ok().filter(|number| (1..=MOST_TRIALS).contains(number))
}

/// The number where a threshold can be that.
#[must_use]
pub fn threshold(share: f64) -> Option<f64> {
    Some(share).filter(|share| *share > 0.0 && *share <= 1.0)
}
