//! How an agent ended, and why a trial could not be measured. The reason is never the agent's answer.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::files::at::PathError;
use crate::text::problem::Problem;

/// Why a trial could not be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TroubleKind {
    /// The agent's program does not exist or did not start.
    CouldNotStart,
    /// The credentials are missing, invalid or expired.
    Login,
    /// The provider is temporarily unavailable: rate limit, overload.
    RateLimit,
    /// A limit of the credentials that lasts for hours or days is reached: a quota, a plan's limit, credits.
    UsageLimit,
    /// The provider did not answer in any way: nothing listens at its address, or the network is down.
    Unreachable,
    /// The provider returned another error, or the agent aborted the turn.
    Provider,
    /// A signal ended the agent, or its exit status was an error without a message.
    Crashed,
    /// The model did not answer before the timeout.
    NoAnswer,
    /// The agent waited for a CPU for so long that its time limit says nothing about it.
    MachineTooSlow,
    /// The user ended the run.
    Interrupted,
    /// The skills were not made available as the mode requires.
    NotDelivered,
    /// The session is not the recorded one, whose model's answers it was given.
    Diverged,
    /// The evidence is not enough to decide.
    Unobservable,
    /// The judge gave no valid answer.
    NotJudged,
    /// The user who answers the agent could not be played, or told what nobody asked for.
    UserFailed,
    /// A file of the case, the skill or the evidence could not be read or written.
    Files,
    /// A setup command failed or did not end.
    Setup,
    /// The evidence could not be stored. The run starts no more trials.
    NotStored,
}

impl TroubleKind {
    /// The kind as text for messages.
    pub fn as_str(self) -> &'static str {
        match self {
            TroubleKind::CouldNotStart => "the agent could not be started",
            TroubleKind::Login => "the login was refused",
            TroubleKind::RateLimit => "the provider refused for now",
            TroubleKind::UsageLimit => "the usage limit of the login is reached",
            TroubleKind::Unreachable => "the provider cannot be reached",
            TroubleKind::Provider => "the provider failed",
            TroubleKind::Crashed => "the agent crashed",
            TroubleKind::NoAnswer => "the model did not answer",
            TroubleKind::MachineTooSlow => "the machine was too slow",
            TroubleKind::Interrupted => "interrupted",
            TroubleKind::NotDelivered => "the skill was not delivered as the mode says",
            TroubleKind::Diverged => "the session is not the recorded one",
            TroubleKind::Unobservable => "the evidence does not show what was asked",
            TroubleKind::NotJudged => "not judged",
            TroubleKind::UserFailed => "the user failed",
            TroubleKind::Files => "files",
            TroubleKind::Setup => "the setup failed",
            TroubleKind::NotStored => "the result could not be stored",
        }
    }
}

/// Why a trial could not be measured, with a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Trouble {
    /// The kind of trouble.
    pub kind: TroubleKind,
    /// The message of the agent or the system.
    pub detail: String,
    /// Number of seconds to wait, if the provider requests it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_s: Option<u64>,
}

impl Trouble {
    #[doc(hidden)]
    pub fn new(kind: TroubleKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), retry_after_s: None }
    }

    /// Whether the agent was refused or met nobody, which may be otherwise later.
    pub fn is_refused_for_now(&self) -> bool {
        matches!(self.kind, TroubleKind::RateLimit | TroubleKind::UsageLimit | TroubleKind::Unreachable)
    }

    /// How many attempts a trial has of which each ends with it. Who met nobody twice is not started again.
    pub fn attempts(&self, retries: u32) -> u32 {
        let all = retries.saturating_add(1);
        if self.kind == TroubleKind::Unreachable { all.min(2) } else { all }
    }

    /// Whether its attempt may have cost something that was not reported.
    pub fn may_have_spent(&self) -> bool {
        !self.is_refused_for_now()
            && !matches!(self.kind, TroubleKind::CouldNotStart | TroubleKind::Login | TroubleKind::Setup)
    }

    /// Adds the time to wait that the provider requests.
    #[doc(hidden)]
    #[must_use]
    pub fn after(self, wait: Option<Duration>) -> Self {
        // Rounded up: the provider refuses a request that comes too early.
        Self { retry_after_s: wait.map(|wait| wait.as_secs() + u64::from(wait.subsec_nanos() > 0)), ..self }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind.as_str(), self.detail)
    }
}

impl From<Trouble> for Problem {
    fn from(trouble: Trouble) -> Self {
        Self::Said(trouble.to_string())
    }
}

impl From<PathError> for Trouble {
    fn from(error: PathError) -> Self {
        Self::new(TroubleKind::Files, error.to_string())
    }
}

// How a trace ends.

/// What an agent waited for at the end of its event stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum WaitingFor {
    /// Nothing: it had not started, or was done.
    #[default]
    Nothing,
    /// The model's answer.
    Model,
    /// The end of a call of this tool.
    Tool(String),
}

/// Why the model ended its turn early. The trial is graded like any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StopReason {
    /// The model, or a filter of its provider, refused.
    Refusal,
    /// It reached the maximum number of output tokens.
    MaxTokens,
    /// The conversation exceeded its context window.
    ContextWindow,
    /// It reached the maximum number of turns.
    MaxTurns,
    /// It reached the maximum cost.
    MaxBudget,
    /// It made the same call again and again, until its agent stopped it.
    Loop,
    /// It gave no answer that matches the output schema.
    NoStructuredAnswer,
}

impl StopReason {
    /// The reason as text for messages.
    pub fn as_str(self) -> &'static str {
        match self {
            StopReason::Refusal => "the model refused",
            StopReason::MaxTokens => "the model reached the most tokens that it may write",
            StopReason::ContextWindow => "the conversation no longer fitted into the model's context",
            StopReason::MaxTurns => "the model reached the most turns that it may take",
            StopReason::MaxBudget => "the model reached the most that it may spend",
            StopReason::Loop => "the model made one call again and again, until its agent stopped it",
            StopReason::NoStructuredAnswer => "the model gave no answer that follows the output schema",
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
