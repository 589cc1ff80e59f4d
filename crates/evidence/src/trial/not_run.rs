//! Why a trial has no result.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use serde::{Serialize, Serializer};

/// Why a trial has no result. Two with the same text are the same, since runs are stored with the text.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(with = "String"))]
pub enum NotRun {
    /// The case, or something that it needs, is invalid.
    BadCase,
    /// The case asks for what this program does not do.
    Unsupported,
    /// No recording was found.
    NotRecorded,
    /// The case or the skills have changed since the recording.
    Stale,
    /// The recording, or the result of an earlier part of the run, cannot be read or graded.
    Unreadable,
    /// The run could not be opened.
    NotOpened,
    /// The run was interrupted.
    Interrupted,
    /// The run reached its cost limit, in US dollars.
    CostLimit(f64),
    /// The run reached its token limit.
    TokenLimit(u64),
    /// This many attempts used tokens without a price, so a limit in dollars cannot be enforced.
    NoPrice(u32),
    /// None of this many attempts reported its usage, so a limit cannot be enforced.
    UsageUnknown(u32),
    /// The result of an earlier trial could not be stored.
    NotStored,
    /// Its credentials have a limit that lasts longer than the run waits.
    UsageLimit,
    /// The provider of its credentials could not be reached.
    Unreachable,
    /// What a stored run says, on which nothing depends.
    Other(String),
}

impl NotRun {
    /// Why, as a stored run says it.
    pub fn of_text(text: String) -> Self {
        let known =
            [Self::BadCase, Self::Unsupported, Self::NotRecorded, Self::Stale, Self::Unreadable, Self::NotOpened];
        known.into_iter().find(|why| why.text() == text).unwrap_or(Self::Other(text))
    }

    /// Why, in words.
    pub fn text(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Self::BadCase => "the case is wrong",
            Self::Unsupported => "the case asks for something unsupported",
            Self::NotRecorded => "no recording",
            Self::Stale => "the recording is stale",
            Self::Unreadable => "a file cannot be read",
            Self::NotOpened => "the run could not be opened",
            Self::Interrupted => "the run was interrupted",
            Self::NotStored => "an earlier result of the run could not be stored",
            Self::UsageLimit => "the usage limit of its login is reached",
            Self::Unreachable => "its provider cannot be reached",
            Self::Other(text) => text,
            Self::CostLimit(limit) => return format!("the run has cost its limit of ${limit}").into(),
            Self::TokenLimit(limit) => return format!("the run has taken its limit of {limit} tokens").into(),
            Self::NoPrice(attempts) => {
                let used = if *attempts == 1 { "1 attempt used" } else { &format!("{attempts} attempts used") };
                return format!(
                    "the limit in dollars cannot be enforced: {used} a model without a price; set it under [prices] in \
                     evals/evals.toml, or limit tokens"
                )
                .into();
            }
            Self::UsageUnknown(attempts) => {
                return format!(
                    "the limit cannot be enforced: none of {attempts} attempts reported its usage; to run without a \
                     limit, leave out --max-tokens and --max-cost-usd"
                )
                .into();
            }
        })
    }
}

impl fmt::Display for NotRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl PartialEq for NotRun {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for NotRun {}

impl PartialOrd for NotRun {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for NotRun {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text().cmp(&other.text())
    }
}

impl Serialize for NotRun {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::NotRun;

    #[test]
    fn what_decides_an_exit_code_is_known_again_in_a_stored_run() {
        let deciding = [NotRun::BadCase, NotRun::NotRecorded, NotRun::Stale, NotRun::Unreadable, NotRun::NotOpened];
        for why in deciding {
            let stored = NotRun::of_text(why.to_string());
            assert!(!matches!(stored, NotRun::Other(_)), "{why}");
            assert_eq!(stored, why);
        }
        assert!(matches!(NotRun::of_text("the run was killed".to_owned()), NotRun::Other(_)));
    }
}
