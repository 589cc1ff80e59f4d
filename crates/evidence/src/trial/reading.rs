//! What is read of an agent's trials, and of which of it the agent's calibration says that it is not read rightly.

use std::collections::BTreeMap;

use crate::text::word_enum::word_enum;

word_enum! {
    /// Something that is read of an agent's output and session files.
    #[derive(PartialOrd, Ord)]
    pub enum Reading {
        /// Which skills the model was shown.
        Delivered = "delivered",
        /// Which skills entered the model's context, and how.
        Activation = "activation",
        /// Which files of skills were loaded.
        Resources = "resources",
        /// Which commands and tools ran.
        Commands = "commands",
        /// How many tokens were used.
        Tokens = "tokens",
        /// Which model answered.
        Model = "model",
        /// The final message.
        Answer = "answer",
        /// How the agent and its model ended.
        End = "end",
        /// That the credentials were refused.
        Login = "login",
        /// That the provider refused for now.
        Limit = "limit",
    }
}

impl Reading {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 10] = [
        Self::Delivered,
        Self::Activation,
        Self::Resources,
        Self::Commands,
        Self::Tokens,
        Self::Model,
        Self::Answer,
        Self::End,
        Self::Login,
        Self::Limit,
    ];

    /// Whether every check depends on it: a trial that ended otherwise than it seems shows nothing.
    pub fn decides_all(self) -> bool {
        matches!(self, Self::End | Self::Login | Self::Limit)
    }
}

/// What is not read rightly, and why.
pub type Doubts = BTreeMap<Reading, String>;
