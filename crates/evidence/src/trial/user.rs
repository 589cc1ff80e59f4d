//! A user who answers the agent: who that is in a case, and what became of it in a trial.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::text::word_enum::word_enum;
use crate::trace::Usage;
use crate::trial::agent_meta::AgentMeta;

/// The user of a case, whom a model plays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Persona {
    /// Who it is and how it writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// What it wants.
    pub goal: String,
    /// What it knows and tells only if it is asked: values by names.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
    /// Maximum number of its messages after the prompt.
    pub max_turns: u64,
}

word_enum! {
    /// How a user ended the conversation.
    pub enum UserEnding {
        /// It has what it wants.
        Done = "done",
        /// It does not expect to get what it wants.
        GaveUp = "give-up",
        /// It has written as many messages as it may.
        MaxTurns = "max-turns",
    }
}

/// The user of a trial. Its messages are among the follow-ups of the trial's case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserMeta {
    /// The agent that played it.
    pub player: AgentMeta,
    /// How it ended; absent if the agent or the player failed before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ending: Option<UserEnding>,
    /// Why it gave up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The facts that it told, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub told: Vec<ToldFact>,
    /// The player's tokens, which are not the agent's; absent if not all are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

/// A fact whose value is in a message of the user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToldFact {
    /// Its name.
    pub fact: String,
    /// The number of the message that tells it first, from 1; the prompt is message 1.
    pub message: usize,
    /// The words of the agent that asked for it; absent if its value was already in the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
}

/// Whether a text has the value of a fact: its words in their order, whatever their case and what is between them.
#[doc(hidden)]
pub fn has_value(text: &str, value: &str) -> bool {
    let (text, value) = (normal(text), normal(value));
    // Scripts that put no space between words have no ends of words.
    let is_in_word = |c: char| c.is_alphanumeric() && c < '\u{2e80}';
    let is_cut =
        |left: Option<char>, right: Option<char>| left.is_some_and(is_in_word) && right.is_some_and(is_in_word);
    !value.is_empty()
        && text.match_indices(&value).any(|(at, found)| {
            let (before, after) = (&text[..at], &text[at + found.len()..]);
            !is_cut(before.chars().next_back(), found.chars().next())
                && !is_cut(found.chars().next_back(), after.chars().next())
        })
}

/// The letters and digits of a text, in lower case; anything between them is one space.
#[doc(hidden)]
pub fn normal(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.collect::<Vec<_>>().join(" ").to_lowercase()
}
