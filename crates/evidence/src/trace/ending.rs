//! How a trace ends.

use std::fmt;

use serde::{Deserialize, Serialize};

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
