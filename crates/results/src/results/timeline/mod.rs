//! A session as a reader follows it: its events in order, and the events that decided each check. Made from the evidence
//! and the grade of a trial; it decides nothing.

mod events;
mod findings;
#[cfg(test)]
mod tests;

use std::ops::Range;

use serde::Serialize;

use crate::results::is_default;
use crate::trace::Mechanism;
use crate::trial::evidence::Evidence;
use crate::trial::history::Speaker;
use crate::trial::outcome::Grade;
pub use crate::trial::span::EventPart;
use crate::trial::span::EventRef;

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Timeline {
    /// In order of time.
    pub entries: Vec<TimelineEvent>,
    /// One for each check of the grade, in the same order.
    pub findings: Vec<CheckFinding>,
    /// The number of steps that the trace did not keep.
    pub dropped: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct TimelineEvent {
    #[serde(flatten)]
    pub what: EventKind,
    /// When the event ended, RFC 3339, if the agent reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// Milliseconds between the end of the previous timed event and the start of this one, or its end if it has no start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_ms: Option<u64>,
    /// How many milliseconds a call took, if the agent reported it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
    /// 0 for the agent itself, 1 for its sub-agents, 2 for their sub-agents.
    #[serde(skip_serializing_if = "is_default")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub depth: u32,
    /// The tokens of the model's answers that began here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<AnswerTokens>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Note>,
    /// The step of the trace, if the event is one.
    #[serde(skip)]
    pub step: Option<EventRef>,
}

/// The kind of an event, with its texts. The trace may have cut the texts; then they say so.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum EventKind {
    /// The case's addition to the system prompt.
    System { text: String },
    /// A message of the conversation before the prompt. The trial begins after it.
    History { role: Speaker, text: String },
    /// The prompt of the case, or a further message of its user.
    Prompt { text: String },
    /// The names in the agent's skill list, its own skills included, and the tools of MCP servers.
    Offered {
        native: Vec<String>,
        /// Whether `native` has the skills in its directory, or its own list, since nothing shows what its model was offered.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        unseen: bool,
        mcp: Vec<String>,
    },
    /// The agent put a skill into the conversation, since the prompt named it.
    Injected { skill: String },
    /// A message of the agent. `answer` marks the final message, which is never cut.
    Said { text: String, answer: bool },
    /// The model's thinking.
    Thought { text: String },
    /// A shell command. `effective`: it did more than inspect.
    Command { command: String, exit: Option<i64>, output: String, effective: bool },
    /// A call of another tool.
    Tool { name: String, input: String, output: String, failed: bool },
    /// The agent's editing tool changed files.
    Files { paths: Vec<String> },
    /// A notice of the agent.
    Notice { text: String },
    /// The end of the agent's process.
    End { text: String },
}

impl EventKind {
    /// Whether the case gave it to the agent.
    pub fn is_given(&self) -> bool {
        matches!(self, Self::System { .. } | Self::History { .. } | Self::Prompt { .. })
    }

    /// Its texts, each with its part of the event.
    pub fn texts(&self) -> Vec<(EventPart, &str)> {
        match self {
            Self::System { text }
            | Self::History { text, .. }
            | Self::Prompt { text }
            | Self::Said { text, .. }
            | Self::Thought { text }
            | Self::Notice { text }
            | Self::End { text } => vec![(EventPart::Text, text)],
            Self::Command { command, output, .. } => vec![(EventPart::Input, command), (EventPart::Output, output)],
            Self::Tool { name, input, output, .. } => {
                vec![(EventPart::Name, name), (EventPart::Input, input), (EventPart::Output, output)]
            }
            Self::Files { paths } => {
                paths.iter().enumerate().map(|(at, path)| (EventPart::Path(at), path.as_str())).collect()
            }
            Self::Injected { skill } => vec![(EventPart::Name, skill)],
            Self::Offered { .. } => Vec::new(),
        }
    }

    fn text(&self, part: EventPart) -> Option<&str> {
        self.texts().into_iter().find(|(own, _)| *own == part).map(|(_, text)| text)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct AnswerTokens {
    /// Tokens read, cached ones included.
    pub read: u64,
    /// Tokens written, if the agent reported them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<u64>,
}

/// A note at an event. `seen` is the share of a file's text that entered the model's context.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "note", rename_all = "kebab-case")]
pub enum Note {
    /// A skill activated.
    Loaded {
        skill: String,
        how: Mechanism,
        #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
        seen: Option<f64>,
        under_test: bool,
    },
    /// The model read a file of a skill.
    Resource {
        skill: String,
        path: String,
        #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
        seen: Option<f64>,
    },
    /// A call to load a skill failed.
    FailedLoad { skill: String },
    /// The agent inspected skills, which activated none.
    Looked,
    /// The agent did not allow the call.
    Denied,
}

/// The events that decided a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CheckFinding {
    /// The place of the event to look at; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<usize>,
    /// The pieces of text that decided it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pieces: Vec<TextPiece>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct TextPiece {
    /// The place of the event.
    pub entry: usize,
    /// Which text of the event.
    pub part: EventPart,
    /// The range in that part of the event.
    pub bytes: Range<usize>,
}

impl Timeline {
    pub fn new(evidence: &Evidence<'_>, grade: &Grade) -> Self {
        let entries = events::of(evidence);
        let findings = findings::of(&entries, evidence, grade);
        Self { entries, findings, dropped: evidence.trace.steps_dropped }
    }

    /// The pieces of an event's text that decided any check.
    pub fn pieces_of(&self, place: usize) -> impl Iterator<Item = &TextPiece> {
        self.findings.iter().flat_map(|finding| &finding.pieces).filter(move |piece| piece.entry == place)
    }

    pub fn text_of(&self, piece: &TextPiece) -> Option<&str> {
        self.entries.get(piece.entry)?.what.text(piece.part)
    }
}
