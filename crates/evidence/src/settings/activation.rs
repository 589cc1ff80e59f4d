//! What counts as an activation of the skill under test.

use crate::text::word_enum::word_enum;

word_enum! {
    /// What counts as an activation of the skill under test.
    #[derive(Default)]
    pub enum ActivationRule {
        /// The agent's own mechanism loaded the skill's text.
        Tool = "tool",
        /// The skill's text entered the model's context by any way.
        #[default]
        Content = "content",
    }
}
