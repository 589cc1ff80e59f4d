//! The normal form of a trace: what an agent's own event stream tells, whichever agent wrote it. A repository's own checks
//! are given a [`Trace`] to read.
//!
//! Decoders in [`agent`](crate::agent) turn vendor events into this. It is bounded: a stream of any length gives a
//! trace of at most some megabytes, and what did not fit is counted.

mod builder;
mod calls;
#[doc(hidden)]
pub mod change;
pub mod description;
mod ending;
#[doc(hidden)]
pub mod exposure;
mod marks;
#[doc(hidden)]
pub mod shell;
pub mod trouble;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::text::cut;
use crate::trace::description::DescriptionVisibility;
use crate::trace::trouble::Trouble;
#[doc(hidden)]
pub use builder::{TraceBuilder, TurnBuilder};
#[doc(hidden)]
pub use calls::{OpenCall, OpenCalls};
pub use ending::{StopReason, WaitingFor};
pub use marks::{ChangeVisibility, Mark, Marked, Moment, Request};

/// Most bytes kept of any one text in a step.
#[doc(hidden)]
pub const MAX_TEXT: usize = 4_096;

/// What an agent's event stream tells.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Trace {
    /// The agent's version, as it says.
    pub agent_version: Option<String>,
    /// The model, as the agent says.
    pub model: Option<String>,
    /// How the agent has its models load the skills in its own folder.
    pub loads_by: Mechanism,
    /// The skills that the agent offered to the model; `None` where the evidence does not show it.
    pub offered: Option<OfferedSkills>,
    /// What happened, in order.
    pub steps: Vec<Step>,
    /// When each of `steps` happened, and who took it.
    pub moments: Vec<Moment>,
    /// The answers of the model, in order, where the agent tells of them one by one.
    pub requests: Vec<Request>,
    /// At which steps the activations, resources and the like below were seen.
    pub marks: Vec<Mark>,
    /// Steps that did not fit.
    pub steps_dropped: u64,
    /// Skills that became active, in order, each mechanism once.
    pub activations: Vec<Activation>,
    /// Resources of skills that were loaded, in order, each once.
    pub resources: Vec<Resource>,
    /// Looks at skills that brought no text of theirs: at their files, and at what a search or a list showed of them.
    pub inspections: Vec<String>,
    /// Tool calls that the agent did not allow.
    pub denials: Vec<String>,
    /// Whether the changes to the skills in mid-session came before the model, by their places in the case's list; only of
    /// those that the trace was read for.
    pub changes_seen: BTreeMap<usize, ChangeVisibility>,
    /// Shell commands run.
    pub commands: u64,
    /// Shell commands that did more than open a SKILL.md or look around.
    pub effective_commands: u64,
    /// Commands that may have run beside those: the model's code may run some of which its agent tells nothing.
    pub untold_commands: u64,
    /// The agent's last message.
    pub final_message: Option<String>,
    /// Tokens and cost, where the agent told.
    pub usage: Option<Usage>,
    /// The same by model; empty where the agent does not tell.
    pub models: BTreeMap<String, Usage>,
    /// What the model read before it said anything; see [`TraceBuilder::first_request`].
    pub first_input_tokens: Option<u64>,
    /// Turns, as the agent counts them.
    pub turns: Option<u64>,
    /// How long it took by the agent's own clock, in milliseconds, where it told.
    pub agent_duration_ms: Option<u64>,
    /// Time spent waiting for the model in milliseconds, where the agent told.
    pub api_duration_ms: Option<u64>,
    /// How far the agent got.
    pub progress: AgentProgress,
    /// How often the model has answered.
    pub answers: u64,
    /// What the agent was waiting for when its stream ended.
    pub waiting: WaitingFor,
    /// Whether that is what it was waiting for when it began to be ended: what it said after that tells nothing.
    pub interrupted: bool,
    /// Why the model's turn ended short, where that is its own doing.
    pub stopped: Option<StopReason>,
    /// Calls that were to load a skill and failed, each with the skill's name or folder.
    pub failed_loads: Vec<Activation>,
    /// Why nothing was measured, where the stream says so.
    pub trouble: Option<Trouble>,
    /// Event types that the decoder does not know, with their counts.
    pub unknown_events: BTreeMap<String, u64>,
    /// Lines that are no event: broken JSON, or longer than is read.
    pub damaged_lines: u64,
    /// What could not be read and may have held a call, a command or a skill, in words; each once.
    pub lost: Vec<String>,
}

/// How far the agent got, by its own events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AgentProgress {
    /// No event at all.
    #[default]
    Silent,
    /// It started; the model has not answered.
    Started,
    /// The model has answered.
    Answering,
    /// It said that it is done.
    Done,
}

/// The skills that an agent offered to its model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OfferedSkills {
    /// Names in the agent's own catalogue of skills, its built-in ones included.
    pub native: Vec<String>,
    /// Names of skills that a user can call, whether the model may or not; empty where the evidence does not show them.
    #[serde(default)]
    pub by_user: Vec<String>,
    /// What came by MCP; `None` where the evidence does not show it.
    pub mcp: Option<OfferedMcp>,
    /// How much of their descriptions the model was shown, by the skills' slugs; without those of whose descriptions
    /// nothing is known.
    #[serde(default)]
    pub described: BTreeMap<String, DescriptionVisibility>,
}

/// What an agent offered to its model by MCP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct OfferedMcp {
    /// The servers and what the agent says of each: `connected`, `failed`.
    pub servers: Vec<(String, String)>,
    /// Their tools by the names that the model sees, `mcp__server__tool`.
    pub tools: Vec<String>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// The agent said something.
    Message(String),
    /// The model's thoughts, or its summary of them, where the agent tells.
    Thinking(String),
    /// A shell command ended.
    Command {
        /// The command line.
        command: String,
        /// Its exit status, where there was one.
        exit_code: Option<i64>,
        /// What it printed.
        output: String,
    },
    /// A tool was called.
    Tool {
        /// The tool's name.
        name: String,
        /// Its input as JSON.
        input: String,
        /// What it answered.
        output: String,
        /// Whether it reported an error.
        failed: bool,
    },
    /// Files were changed by the agent's own editing tool.
    FileChange(Vec<String>),
    /// The agent reported something that did not end the run.
    Notice(String),
}

/// How a skill became active: what brought its text before the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Mechanism {
    /// The agent put the skill into the conversation since the prompt named it.
    Injected,
    /// A command or a tool that is not for skills showed the SKILL.md.
    #[default]
    ReadSkillFile,
    /// The model called the agent's own skill tool.
    SkillTool,
    /// The model called the MCP server's skill tool.
    McpTool,
}

impl Mechanism {
    /// The mechanism in words.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Mechanism::Injected => "injected",
            Mechanism::ReadSkillFile => "read SKILL.md",
            Mechanism::SkillTool => "skill tool",
            Mechanism::McpTool => "MCP tool",
        }
    }
}

/// A skill that became active.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Activation {
    /// The skill's name or folder, as the agent had it.
    pub skill: String,
    /// How.
    pub how: Mechanism,
    /// The command or call, cut short.
    pub evidence: String,
    /// The share of the file that came before the model, from 0 to 1; absent where that cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<f64>,
}

/// A skill's file, other than its SKILL.md, that was loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Resource {
    /// The skill's name or folder, as the agent had it.
    pub skill: String,
    /// The file below the skill's folder.
    pub path: String,
    /// The command or call, cut short.
    pub evidence: String,
    /// The share of the file that came before the model, from 0 to 1; absent where that cannot be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<f64>,
}

/// Tokens and cost of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens read, cached ones included.
    pub input_tokens: u64,
    /// Those of `input_tokens` that came from a cache.
    pub cached_input_tokens: u64,
    /// Those of `input_tokens` that were put into a cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_input_tokens: u64,
    /// Tokens written, reasoning included.
    pub output_tokens: u64,
    /// Those of `output_tokens` that were reasoning.
    pub reasoning_output_tokens: u64,
    /// US dollars, where the agent told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// Input and output together.
    #[must_use]
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl Trace {
    /// The tokens of the requests that were answered, so far as those are told one by one.
    #[must_use]
    pub fn tokens_of_requests(&self) -> u64 {
        let of = |request: &Request| request.input_tokens.saturating_add(request.output_tokens.unwrap_or(0));
        self.requests.iter().map(of).fold(0, u64::saturating_add)
    }

    /// The first call of this tool with this input, as a step.
    #[must_use]
    pub fn call(&self, tool: &str, call: &str) -> Option<usize> {
        // Events and session files may write the same JSON in other words.
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        let wanted = value(call);
        let same = |input: &str| input == call || (wanted.is_some() && value(input) == wanted);
        let line = wanted.as_ref().and_then(|wanted| wanted.get("command")?.as_str());
        self.steps.iter().position(|step| match step {
            Step::Tool { name, input, .. } => name == tool && same(input),
            Step::Command { command, .. } => line == Some(command),
            _ => false,
        })
    }

    /// Whether the skill has become active so far.
    #[must_use]
    pub fn is_active(&self, skill: &str) -> bool {
        self.activations.iter().any(|activation| activation.skill == skill)
    }

    /// Why what this trace does not show may have happened all the same; `None` where the trace is whole.
    #[must_use]
    pub fn gap(&self) -> Option<String> {
        match self.damaged_lines {
            0 => (!self.lost.is_empty())
                .then(|| format!("the trace holds what cannot be read: {}", self.lost.join(", "))),
            1 => Some("a line of the trace is damaged".to_owned()),
            lines => Some(format!("{lines} lines of the trace are damaged")),
        }
    }

    /// Whether the agent came to its end, by its own word or since the model's turn ended short.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.progress == AgentProgress::Done || self.stopped.is_some()
    }
}

/// `text` cut to [`MAX_TEXT`], saying how much is missing.
#[doc(hidden)]
#[must_use]
pub fn cut(text: String) -> String {
    match cut::bytes(&text, MAX_TEXT) {
        (_, 0) => text,
        (kept, missing) => format!("{kept}… ({missing} bytes more)"),
    }
}

/// The start of `text` on one line, for evidence.
#[doc(hidden)]
#[must_use]
pub fn excerpt(text: &str) -> String {
    cut::start(text, 200).replace(char::is_control, " ")
}
