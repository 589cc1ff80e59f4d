//! Where in a trace something happened: what a reader of the session needs, and no verdict depends on.

use serde::{Deserialize, Serialize};

/// When a step happened, and who took it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Moment {
    /// When it began, RFC 3339; of calls only, where the agent told.
    pub began: Option<String>,
    /// When it ended, RFC 3339, where the agent told.
    pub ended: Option<String>,
    /// 0 for the agent itself, 1 for its sub-agents, 2 for theirs.
    pub depth: u32,
}

/// An answer of the model, by the steps that it led to, and what it took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Request {
    /// The first step of it.
    pub step: usize,
    /// Tokens read, cached ones included.
    pub input_tokens: u64,
    /// Tokens written, where the agent told.
    pub output_tokens: Option<u64>,
}

/// Something that the trace notes apart from its steps, at the step that showed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Mark {
    /// The step; one past the last where none shows it.
    pub step: usize,
    /// What it is.
    pub what: Marked,
}

/// What is noted at a step: a place in the list of the trace that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Marked {
    /// Of [`Trace::activations`](super::Trace::activations).
    Activation(usize),
    /// Of [`Trace::resources`](super::Trace::resources).
    Resource(usize),
    /// Of [`Trace::failed_loads`](super::Trace::failed_loads).
    FailedLoad(usize),
    /// Of [`Trace::explorations`](super::Trace::explorations).
    Exploration(usize),
    /// Of [`Trace::denials`](super::Trace::denials).
    Denial(usize),
}

/// Whether a change to the skills in mid-session came before the model, once it was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ChangeVisibility {
    /// The agent told it, in a list of skills.
    List,
    /// By the skill's own text.
    Text,
    /// A call that was to load the skill failed, which is gone.
    Missed,
    /// Nothing shows it.
    No,
    /// Nothing could show it: the skill has no text or description that is new.
    Alike,
}
