//! What counts as an activation of the skill under test.

use serde::Deserialize;

/// What counts as an activation of the skill under test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ActivationRule {
    /// The agent's own mechanism brought the skill's text.
    Tool,
    /// The skill's text came, whatever brought it.
    #[default]
    Content,
}

impl ActivationRule {
    /// The words for them.
    pub const WORDS: [&'static str; 2] = ["tool", "content"];
}
