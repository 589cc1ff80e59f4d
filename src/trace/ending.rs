//! How a trace ends: what the agent was waiting for, and whether the model's turn ended short by its own doing.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What an agent was waiting for at the end of its event stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WaitingFor {
    /// Nothing that the stream tells of: it had not begun, or had said that it is done.
    #[default]
    Nothing,
    /// The model's answer, or the rest of it.
    Model,
    /// The end of a tool call; with the tool's name.
    Tool(String),
}

/// Why the model's turn ended before the task's end, where that is the model's own doing and a result like any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum StopReason {
    /// The model, or the filter in front of it, refused.
    Refusal,
    /// It wrote as many tokens as it may.
    MaxTokens,
    /// The conversation no longer fits into its context.
    ContextWindow,
    /// It took as many turns as it may.
    MaxTurns,
    /// It spent as much as it may.
    MaxBudget,
    /// It gave no answer that follows the output schema.
    NoStructuredAnswer,
}

impl StopReason {
    /// The reason in words, for messages.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            StopReason::Refusal => "the model refused",
            StopReason::MaxTokens => "the model reached the most tokens that it may write",
            StopReason::ContextWindow => "the conversation no longer fitted into the model's context",
            StopReason::MaxTurns => "the model reached the most turns that it may take",
            StopReason::MaxBudget => "the model reached the most that it may spend",
            StopReason::NoStructuredAnswer => "the model gave no answer that follows the output schema",
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
