//! When and at which step something happened. Reports show this; no verdict depends on it.

use serde::{Deserialize, Serialize};

/// When a step happened, and which agent did it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// When a call began, RFC 3339, if the agent reported it.
    pub began: Option<String>,
    /// When it ended, RFC 3339, if the agent reported it.
    pub ended: Option<String>,
    /// 0 for the agent itself, 1 for its sub-agents, 2 for their sub-agents.
    pub depth: u32,
    /// The tool of a command or of a change of files, by the name that the model sees, if the agent reported it.
    pub tool: Option<String>,
    /// The input of that tool, usually as JSON.
    pub input: Option<String>,
}

/// An answer of the model: its steps and its tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Its first step.
    pub step: usize,
    /// Input tokens, with cached ones.
    pub input_tokens: u64,
    /// Output tokens, if the agent reported them.
    pub output_tokens: Option<u64>,
}

/// Connects an activation, a resource or the like to the step that showed it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The step's index. The number of steps if no step shows it.
    pub step: usize,
    /// What the step showed.
    pub what: Marked,
}

/// What a step showed: an index in a list of the trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Marked {
    /// In [`Trace::activations`](super::Trace::activations).
    Activation(usize),
    /// In [`Trace::resources`](super::Trace::resources).
    Resource(usize),
    /// In [`Trace::failed_loads`](super::Trace::failed_loads).
    FailedLoad(usize),
    /// In [`Trace::inspections`](super::Trace::inspections).
    Inspection(usize),
    /// In [`Trace::denials`](super::Trace::denials).
    Denial(usize),
}

/// Whether a change to a skill during a session entered the model's context.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeVisibility {
    /// Yes, in a skill list.
    List,
    /// Yes, by the skill's text.
    Text,
    /// Yes: a call for a removed skill failed.
    Missed,
    /// No evidence shows it.
    No,
    /// No evidence could show it: the skill has no new text or description.
    Alike,
}
