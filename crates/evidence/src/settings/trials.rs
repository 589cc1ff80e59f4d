//! How often a case runs, and which share of its trials must pass.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Maximum number of trials of a case in a mode.
pub const MOST_TRIALS: u32 = 1000;

/// The default maximum number of trials of a case that runs until it is decided: by then, nine of ten cases that pass 95 % of
/// the time are found to be above a threshold of 0.8.
const MOST_UNTIL_DECIDED: u32 = 100;

/// The valid numbers of trials, in words.
pub const TRIALS: &str = "1 to 1000, `until decided` or `until decided at most N`";

/// The valid thresholds, in words.
pub const A_SHARE: &str = "a share above 0 and up to 1";

/// How often a case runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trials {
    /// This often, 1 to [`MOST_TRIALS`].
    Times(u32),
    /// Until its trials show on which side of the threshold it is, and at most this often.
    UntilDecided(u32),
}

/// How often a case runs and how many trials must pass, as far as one source says so.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Repetition {
    /// How often it runs.
    pub trials: Option<Trials>,
    /// The share of its trials that must pass, above 0 and up to 1.
    pub threshold: Option<f64>,
}

impl Trials {
    /// Maximum number of trials.
    pub fn most(self) -> u32 {
        let (Self::Times(most) | Self::UntilDecided(most)) = self;
        most
    }
}

impl Repetition {
    /// The values of this source, and those of `other` where it has none.
    #[must_use]
    pub fn or(self, other: Repetition) -> Repetition {
        Repetition { trials: self.trials.or(other.trials), threshold: self.threshold.or(other.threshold) }
    }
}

impl FromStr for Trials {
    type Err = String;

    /// `5`, `until decided`, `until decided at most 40`; a comma before `at most` and dashes for spaces are fine.
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            // u32's own parser accepts a leading `+`.
            let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|number| is_digits && (1..=MOST_TRIALS).contains(number))
        };
        let words: Vec<&str> = text.split([' ', ',', '-']).filter(|word| !word.is_empty()).collect();
        let read = match words.as_slice() {
            ["until", "decided"] => Some(Self::UntilDecided(MOST_UNTIL_DECIDED)),
            ["until", "decided", "at", "most", most] => number(most).map(Self::UntilDecided),
            _ => number(text.trim()).map(Self::Times),
        };
        read.ok_or_else(|| format!("expected {TRIALS}"))
    }
}

impl fmt::Display for Trials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Times(number) => write!(f, "{number}"),
            Self::UntilDecided(most) => write!(f, "until decided at most {most}"),
        }
    }
}

/// A number, or the words.
impl Serialize for Trials {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Times(number) => serializer.serialize_u32(*number),
            Self::UntilDecided(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Trials {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = serde_json::Value::deserialize(deserializer)?;
        let text = written.as_str().map_or_else(|| written.to_string(), str::to_owned);
        text.parse().map_err(|_| de::Error::custom(format!("`{text}` is not a number of trials; expected {TRIALS}")))
    }
}

/// The share if it is a valid threshold.
pub fn threshold(share: f64) -> Option<f64> {
    Some(share).filter(|share| *share > 0.0 && *share <= 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_are_a_number_or_go_on_until_it_is_decided() {
        for (text, trials) in [
            ("5", Trials::Times(5)),
            (" 1000 ", Trials::Times(1000)),
            ("until decided", Trials::UntilDecided(MOST_UNTIL_DECIDED)),
            ("until-decided", Trials::UntilDecided(MOST_UNTIL_DECIDED)),
            ("until decided, at most 40", Trials::UntilDecided(40)),
        ] {
            assert_eq!(text.parse(), Ok(trials), "{text}");
            assert_eq!(trials.to_string().parse(), Ok(trials), "{text}");
            let json = serde_json::to_string(&trials).expect("JSON");
            assert_eq!(serde_json::from_str::<Trials>(&json).expect("trials"), trials, "{json}");
        }
        for text in
            ["", "0", "1001", "+5", "-5", "2.5", "decided", "until decided 5", "until decided at most 0", "5 at most"]
        {
            assert_eq!(text.parse::<Trials>(), Err(format!("expected {TRIALS}")), "{text}");
        }
    }
}
