//! The events of a trace that decided a check, and the part of their text.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::trace::Step;

/// An event of a trial that a check can point to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EventRef {
    /// The skill list that the agent offered to its model.
    Offered,
    /// The agent put the skill under test into the conversation.
    Injected,
    /// The step with this index in the trace.
    Step(usize),
    /// The final message.
    Answer,
    /// The end of the agent's process.
    End,
}

/// A text of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum EventPart {
    /// The only one.
    Text,
    /// A tool's or a skill's name.
    Name,
    /// The command line, or the input of a call.
    Input,
    /// The output of a command, or the result of a call.
    Output,
    /// The path at this place.
    Path(usize),
}

/// An event that decided a check. The first span of a check is the most important one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Span {
    /// The event.
    pub event: EventRef,
    /// The part of its text that decided the check; absent if the whole event did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<TextRange>,
}

/// A part of a text of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct TextRange {
    /// Which text.
    pub part: EventPart,
    /// The range in it, in bytes of the text in the trace.
    pub bytes: Range<usize>,
}

impl From<EventRef> for Span {
    fn from(event: EventRef) -> Self {
        Self { event, text: None }
    }
}

impl Span {
    /// `bytes` of a text of an event.
    pub fn of_text(event: EventRef, part: EventPart, bytes: Range<usize>) -> Self {
        Self { event, text: Some(TextRange { part, bytes }) }
    }

    /// The call of a step: its command line or its input.
    pub fn of_call(steps: &[Step], at: usize) -> Self {
        let texts = steps.get(at).map(Step::texts).unwrap_or_default();
        let call = texts.iter().find(|(part, _)| *part == EventPart::Input).or(texts.first());
        let text = call.map(|(part, text)| TextRange { part: *part, bytes: 0..text.len() });
        Self { event: EventRef::Step(at), text }
    }
}

impl Step {
    /// Its texts, by part.
    #[doc(hidden)]
    pub fn texts(&self) -> Vec<(EventPart, &str)> {
        match self {
            Self::Message(text) | Self::Thinking(text) | Self::Notice(text) => vec![(EventPart::Text, text)],
            Self::Command { command, output, .. } => vec![(EventPart::Input, command), (EventPart::Output, output)],
            Self::Tool { name, input, output, .. } => {
                vec![(EventPart::Name, name), (EventPart::Input, input), (EventPart::Output, output)]
            }
            Self::FileChange(paths) => {
                paths.iter().enumerate().map(|(at, path)| (EventPart::Path(at), path.as_str())).collect()
            }
        }
    }
}
