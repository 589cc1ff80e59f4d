//! The conversation that a session starts from, before its prompt.

use serde::{Deserialize, Serialize};

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Speaker {
    /// The user.
    User,
    /// The agent.
    Assistant,
}

impl Speaker {
    /// The words for both, in the order in which they speak.
    pub const WORDS: [&'static str; 2] = ["user", "assistant"];

    /// It as a word.
    pub fn as_str(self) -> &'static str {
        Self::WORDS[usize::from(self == Self::Assistant)]
    }

    /// Who writes the message with this index: the user begins, and each message is answered.
    pub fn of_message(index: usize) -> Self {
        if index.is_multiple_of(2) { Self::User } else { Self::Assistant }
    }
}

/// A message of the conversation before the prompt, in the form that model APIs use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HistoryMessage {
    /// Who wrote it.
    pub role: Speaker,
    /// Its text.
    pub content: String,
}
