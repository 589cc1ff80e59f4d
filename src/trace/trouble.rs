//! Why a trial measured nothing: infrastructure, never the agent's answer.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Why a trial measured nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum TroubleKind {
    /// The agent's program is missing or did not start.
    CouldNotStart,
    /// The login is missing, wrong or expired.
    Login,
    /// The provider refused for now: rate, quota, overload.
    RateLimit,
    /// The provider answered with another error, or the agent gave the turn up.
    Provider,
    /// The agent died: a signal, or an exit status without a word of its own.
    Crashed,
    /// The model was asked and did not answer before the timeout.
    NoAnswer,
    /// The run was ended by the user.
    Interrupted,
    /// The skills were not offered in the way that the mode says.
    NotDelivered,
    /// The evidence does not show what the case asks about.
    Unobservable,
    /// The rubric judge gave no answer that counts.
    NotJudged,
    /// A file of the case, the skill or the evidence could not be read or written.
    Files,
    /// What the agent left could not be stored: the run starts nothing more.
    NotStored,
}

impl TroubleKind {
    /// The kind in words, for messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            TroubleKind::CouldNotStart => "the agent could not be started",
            TroubleKind::Login => "the login was refused",
            TroubleKind::RateLimit => "the provider refused for now",
            TroubleKind::Provider => "the provider failed",
            TroubleKind::Crashed => "the agent crashed",
            TroubleKind::NoAnswer => "the model did not answer",
            TroubleKind::Interrupted => "interrupted",
            TroubleKind::NotDelivered => "the skill was not delivered as the mode says",
            TroubleKind::Unobservable => "the evidence does not show what was asked",
            TroubleKind::NotJudged => "not judged",
            TroubleKind::Files => "files",
            TroubleKind::NotStored => "the result could not be stored",
        }
    }
}

/// Why a trial measured nothing, with the words of whoever said so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Trouble {
    /// What kind of trouble.
    pub kind: TroubleKind,
    /// The agent's or the system's own words.
    pub detail: String,
    /// How many seconds the provider asks to wait, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_s: Option<u64>,
}

impl Trouble {
    /// Trouble of this kind, in these words.
    #[doc(hidden)]
    pub fn new(kind: TroubleKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), retry_after_s: None }
    }

    /// The same, with the time that the provider asks to wait.
    #[doc(hidden)]
    #[must_use]
    pub fn after(self, wait: Option<Duration>) -> Self {
        // Rounded up: a little too early is refused again.
        Self { retry_after_s: wait.map(|wait| wait.as_secs() + u64::from(wait.subsec_nanos() > 0)), ..self }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.as_str(), self.detail)
    }
}
