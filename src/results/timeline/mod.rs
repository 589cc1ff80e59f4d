//! A session as a reader follows it, on a page or in a terminal: what happened, in order, and where each check looked.
//! It is made from the evidence and the grade of a trial, and decides nothing.

mod entries;
mod findings;
#[cfg(test)]
mod tests;

use std::ops::Range;

use serde::Serialize;

use crate::trace::Mechanism;
use crate::trial::evidence::Evidence;
use crate::trial::outcome::Grade;
pub use crate::trial::span::EventPart;
use crate::trial::span::EventRef;

/// A session.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Timeline {
    /// What happened, in order.
    pub entries: Vec<TimelineEvent>,
    /// For each check of the grade, in its order, what it is about.
    pub findings: Vec<CheckFinding>,
    /// Steps that the trace did not keep.
    pub dropped: u64,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimelineEvent {
    /// What.
    #[serde(flatten)]
    pub what: EventKind,
    /// When it ended, RFC 3339, where the agent told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    /// From the end of what came before to this one's beginning, or else to its end, in milliseconds; where both are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_ms: Option<u64>,
    /// How long a call took, in milliseconds, where the agent told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
    /// 0 for the agent itself, 1 for its sub-agents, 2 for theirs.
    #[serde(skip_serializing_if = "is_zero")]
    pub depth: u32,
    /// What the model's answers that began here took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens: Option<AnswerTokens>,
    /// What of the skills was seen here, and what was not allowed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<Note>,
    /// The step of the trace that it is, if it is one.
    #[serde(skip)]
    pub step: Option<EventRef>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What an entry is. Texts of the trace come cut, as it keeps them, and say so.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum EventKind {
    /// What the system prompt said besides.
    System { text: String },
    /// What the agent was asked.
    Prompt { text: String },
    /// The skills that were offered, the agent's own included.
    Offered {
        /// Names in the agent's catalogue.
        native: Vec<String>,
        /// Tools of MCP servers.
        mcp: Vec<String>,
    },
    /// The agent put a skill into the conversation, since the prompt named it.
    Injected { skill: String },
    /// The agent said something; `answer`: it is the final message, and whole.
    Said { text: String, answer: bool },
    /// The model thought.
    Thought { text: String },
    /// A shell command.
    Command {
        command: String,
        /// Absent where there was none.
        exit: Option<i64>,
        output: String,
        /// Whether it did more than look.
        effective: bool,
    },
    /// Another tool.
    Tool { name: String, input: String, output: String, failed: bool },
    /// Files were changed by the agent's own editing tool.
    Files { paths: Vec<String> },
    /// The agent reported something.
    Notice { text: String },
    /// How the agent's process ended.
    End { text: String },
}

impl EventKind {
    /// Its texts, with the part of the entry that each is.
    #[must_use]
    pub fn texts(&self) -> Vec<(EventPart, &str)> {
        match self {
            Self::System { text }
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
}

/// Tokens of the model's answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct AnswerTokens {
    /// Tokens read, cached ones included.
    pub read: u64,
    /// Tokens written, where the agent told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<u64>,
}

/// Something noted at an entry.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "note", rename_all = "kebab-case")]
pub enum Note {
    /// A skill became active.
    Loaded { skill: String, how: Mechanism, seen: Option<f64>, under_test: bool },
    /// A file of a skill was loaded.
    Resource { skill: String, path: String, seen: Option<f64> },
    /// A call that was to load a skill failed.
    FailedLoad { skill: String },
    /// Skills were looked at, which made none active.
    Looked,
    /// The agent did not allow the call.
    Denied,
}

/// What a check is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CheckFinding {
    /// The entry to look at; absent where nothing happened that it could be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entry: Option<usize>,
    /// The pieces of text that decided it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pieces: Vec<TextPiece>,
}

/// A piece of an entry's text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TextPiece {
    /// Whose.
    pub entry: usize,
    /// Which text of it.
    pub part: EventPart,
    /// Where in that text, in bytes.
    pub bytes: Range<usize>,
}

impl Timeline {
    /// The session of a trial.
    #[must_use]
    pub fn new(evidence: &Evidence<'_>, grade: &Grade) -> Self {
        let entries = entries::of(evidence);
        let findings = findings::of(&entries, evidence, grade);
        Self { entries, findings, dropped: evidence.trace.steps_dropped }
    }

    /// The pieces of this entry's text that any check looked at.
    pub fn pieces_of(&self, entry: usize) -> impl Iterator<Item = &TextPiece> {
        self.findings.iter().flat_map(|finding| &finding.pieces).filter(move |piece| piece.entry == entry)
    }
}
