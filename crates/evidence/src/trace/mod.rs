//! An agent's event stream in one form for all agents. A custom check reads a [`Trace`].
//!
//! Decoders in the crate `skill-evals-agents` convert the events of each agent. The size is bounded: a stream of any length gives a
//! trace of at most some megabytes. Dropped steps are counted.

mod builder;
pub mod exposure;
#[doc(hidden)]
pub mod file;
pub mod shell;
pub mod trouble;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::text::cut;
use crate::text::diagnostic::shorten;
use crate::trace::trouble::Trouble;
#[doc(hidden)]
pub use builder::TraceBuilder;
pub use builder::{ChangeVisibility, Mark, Marked, Moment, Request};
#[doc(hidden)]
pub use builder::{OpenCall, OpenCalls};
use exposure::DescriptionVisibility;
pub use trouble::{StopReason, WaitingFor};

#[doc(hidden)]
pub use crate::text::redact::MAX_TEXT;

/// What an agent's event stream reports.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The agent's version, as the agent reports it.
    pub agent_version: Option<String>,
    /// The model, as the agent reports it.
    pub model: Option<String>,
    /// How the agent's models load the skills in its own directory.
    pub loads_by: Mechanism,
    /// The skills that the agent offered to the model. `None` if the evidence does not show them.
    pub offered: Option<OfferedSkills>,
    /// What happened, in order.
    pub steps: Vec<Step>,
    /// When each of `steps` happened, and which agent did it.
    pub moments: Vec<Moment>,
    /// The answers of the model, in order, if the agent reports each.
    pub requests: Vec<Request>,
    /// The steps that showed the activations, resources, failed loads, inspections and denials.
    pub marks: Vec<Mark>,
    /// Number of steps that were dropped.
    pub steps_dropped: u64,
    /// Skills that were activated, in order, each mechanism once.
    pub activations: Vec<Activation>,
    /// Resources of skills that were loaded, in order, each once.
    pub resources: Vec<Resource>,
    /// Inspections of skills that did not load their text: listings and searches of their files.
    pub inspections: Vec<String>,
    /// Tool calls that the agent did not allow.
    pub denials: Vec<String>,
    /// Whether the changes to skills during the session entered the model's context, by their indexes in the case's list.
    /// Only the changes that the decoder searched for.
    pub changes_seen: BTreeMap<usize, ChangeVisibility>,
    /// Number of shell commands.
    pub commands: u64,
    /// Number of shell commands that did more than inspect or read a SKILL.md.
    pub effective_commands: u64,
    /// Why the agent's sandbox started no command since this one. What the agent would have done is not known.
    pub shell_trouble: Option<String>,
    /// Maximum number of further commands: the model's code may run commands that the agent does not report.
    pub unreported_commands: u64,
    /// The agent's last message.
    pub final_message: Option<String>,
    /// Whether the agent's last message could not be read. Then `final_message` may not be it.
    pub answer_unread: bool,
    /// Tokens and cost, if the agent reported them.
    pub usage: Option<Usage>,
    /// Tokens and cost by model. Empty if the agent does not report them.
    pub models: BTreeMap<String, Usage>,
    /// Tokens of all answered requests that the agent reports, of its sub-agents too: a lower bound of its tokens.
    pub usage_of_requests: Usage,
    /// Input tokens of the first request, which has the system prompt, the tools, every skill list and the prompt.
    pub first_input_tokens: Option<u64>,
    /// Number of turns, as the agent counts them.
    pub turns: Option<u64>,
    /// Duration by the agent's clock in milliseconds, if the agent reported it.
    pub agent_duration_ms: Option<u64>,
    /// Time that the agent waited for the model in milliseconds, if the agent reported it.
    pub api_duration_ms: Option<u64>,
    /// How far the agent got, in answer to the last message of the user.
    pub progress: AgentProgress,
    /// Number of messages of the user that the agent answered to the end, with a final message.
    pub messages_answered: u64,
    /// For each message of the user after the prompt, the number of steps before it.
    pub follow_ups_at: Vec<usize>,
    /// Number of the model's answers.
    pub answers: u64,
    /// What the agent waited for when its stream ended.
    pub waiting: WaitingFor,
    /// Whether `waiting` is from the moment when the agent was asked to end. Later events do not count.
    pub interrupted: bool,
    /// Why the model ended its turn early.
    pub stopped: Option<StopReason>,
    /// Calls that should have loaded a skill and failed, with the skill's name or directory.
    pub failed_loads: Vec<Activation>,
    /// Why the trial could not be measured, if the stream reports it.
    pub trouble: Option<Trouble>,
    /// Unknown event types and their counts.
    pub unknown_events: BTreeMap<String, u64>,
    /// Number of lines that are invalid JSON or too long.
    pub damaged_lines: u64,
    /// The start of the first of them.
    #[doc(hidden)]
    pub damaged_line: Option<String>,
    /// Whether the agent's session file lacks something that its output shows: while the agent works, the file may lag.
    #[doc(hidden)]
    pub session_lags: bool,
    /// Descriptions of parts that could not be read and may contain a call, a command or a skill.
    pub lost: Vec<String>,
}

/// How far the agent got, by its events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum AgentProgress {
    /// The trace has no event.
    #[default]
    Silent,
    /// It started. The model has not answered.
    Started,
    /// The model has answered.
    Answering,
    /// It reported that it is done.
    Done,
}

/// The skills that an agent offered to its model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct OfferedSkills {
    /// Names in the agent's own skill list, with built-in skills.
    pub native: Vec<String>,
    /// The names in `native` of a plugin's skills that are skills of the repository, with the slugs of these: they are
    /// described alike.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub by_plugin: BTreeMap<String, String>,
    /// Whether `native` has the skills in the agent's directory, or its own list, instead: nothing shows the model's list.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unseen: bool,
    /// Names of skills that a user can call. Empty if the evidence does not show them.
    #[serde(default)]
    pub by_user: Vec<String>,
    /// What the agent offered by MCP. Null if the evidence does not show it.
    pub mcp: Option<OfferedMcp>,
    /// How much of their descriptions the model saw, by slug. Skills without evidence are absent.
    #[serde(default)]
    pub described: BTreeMap<String, DescriptionVisibility>,
}

/// What an agent offered to its model by MCP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct OfferedMcp {
    /// The servers and their states as the agent reports them: `connected`, `failed`.
    pub servers: Vec<(String, String)>,
    /// Their tools, by the names that the model sees: `mcp__server__tool`.
    pub tools: Vec<String>,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The agent wrote a message.
    Message(String),
    /// The model's thoughts or their summary, if the agent reports them.
    Thinking(String),
    /// A shell command ended.
    Command {
        /// The command line.
        command: String,
        /// Its exit status, if it has one.
        exit_code: Option<i64>,
        /// Its output.
        output: String,
    },
    /// A tool was called.
    Tool {
        /// The tool's name.
        name: String,
        /// Its input as JSON.
        input: String,
        /// Its answer.
        output: String,
        /// Whether it returned an error.
        failed: bool,
    },
    /// The agent's editing tool changed files with these paths.
    FileChange(Vec<String>),
    /// The agent reported a problem that did not end the session.
    Notice(String),
}

/// How a skill was activated: how its text entered the model's context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Mechanism {
    /// The agent added the skill to the conversation because the prompt names it.
    Injected,
    /// A command or a general tool showed the SKILL.md.
    #[default]
    ReadSkillFile,
    /// The model called the agent's own skill tool.
    SkillTool,
    /// The model called the MCP server's skill tool.
    McpTool,
}

impl Mechanism {
    /// The mechanism as text for reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Mechanism::Injected => "injected",
            Mechanism::ReadSkillFile => "read SKILL.md",
            Mechanism::SkillTool => "skill tool",
            Mechanism::McpTool => "MCP tool",
        }
    }
}

/// A skill that was activated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Activation {
    /// The skill's name or directory, as the agent wrote it.
    pub skill: String,
    /// How it was activated.
    pub how: Mechanism,
    /// The start of the command or call.
    pub evidence: String,
    /// The share of the file that entered the model's context, from 0 to 1. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub seen: Option<f64>,
}

/// A loaded file of a skill other than its SKILL.md.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Resource {
    /// The skill's name or directory, as the agent wrote it.
    pub skill: String,
    /// The file's path in the skill's directory.
    pub path: String,
    /// The start of the command or call.
    pub evidence: String,
    /// The share of the file that entered the model's context, from 0 to 1. Absent if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub seen: Option<f64>,
}

/// Tokens and cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Usage {
    /// Input tokens, with cached ones.
    pub input_tokens: u64,
    /// The part of `input_tokens` that was read from a cache.
    pub cached_input_tokens: u64,
    /// The part of `input_tokens` that was written to a cache.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cache_write_input_tokens: u64,
    /// Output tokens, with reasoning.
    pub output_tokens: u64,
    /// The part of `output_tokens` that was reasoning.
    pub reasoning_output_tokens: u64,
    /// US dollars, if the agent reported them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Usage {
    /// Input and output tokens.
    pub fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// The sum of both. The cost is unknown if one of them is.
    #[must_use]
    pub fn plus(self, other: Usage) -> Usage {
        Usage {
            input_tokens: self.input_tokens.saturating_add(other.input_tokens),
            cached_input_tokens: self.cached_input_tokens.saturating_add(other.cached_input_tokens),
            cache_write_input_tokens: self.cache_write_input_tokens.saturating_add(other.cache_write_input_tokens),
            output_tokens: self.output_tokens.saturating_add(other.output_tokens),
            reasoning_output_tokens: self.reasoning_output_tokens.saturating_add(other.reasoning_output_tokens),
            cost_usd: self.cost_usd.zip(other.cost_usd).map(|(cost, other)| cost + other),
        }
    }
}

impl Trace {
    /// The step of the first call of this tool with this input.
    pub fn call(&self, tool: &str, call: &str) -> Option<usize> {
        // Events and session files may format the same JSON differently.
        let json: Option<Value> = serde_json::from_str(call).ok();
        let shell_command = json.as_ref().and_then(|json| json.get("command")?.as_str());
        self.steps.iter().position(|step| match step {
            Step::Tool { name, input, .. } if name == tool => {
                input == call
                    || json
                        .as_ref()
                        .is_some_and(|json| serde_json::from_str(input).is_ok_and(|input: Value| input == *json))
            }
            Step::Command { command, .. } => shell_command == Some(command),
            _ => false,
        })
    }

    /// Whether the skill is activated.
    pub fn is_active(&self, skill: &str) -> bool {
        self.activations.iter().any(|activation| activation.skill == skill)
    }

    /// Why something may have happened that this trace does not show. `None` if the trace is complete.
    pub fn gap(&self) -> Option<String> {
        let first = self.damaged_line.as_ref().map(|line| format!(": {line:?}")).unwrap_or_default();
        match self.damaged_lines {
            0 => (!self.lost.is_empty())
                .then(|| format!("the trace holds what cannot be read: {}", self.lost.join(", "))),
            1 => Some(format!("a line of the trace is damaged{first}")),
            lines => Some(format!("{lines} lines of the trace are damaged; the first{first}")),
        }
    }

    /// Counts a line that is not JSON or too long.
    #[doc(hidden)]
    pub fn damaged(&mut self, line: &[u8]) {
        self.damaged_lines += 1;
        self.damaged_line.get_or_insert_with(|| shorten(String::from_utf8_lossy(line).trim()));
    }

    /// Whether the agent finished: it reported so, or the model ended its turn early.
    pub fn ended(&self) -> bool {
        self.progress == AgentProgress::Done || self.stopped.is_some()
    }
}

/// What of a step's text is not our own note that it was cut, and whether it was.
pub fn kept_part(text: &str) -> (&str, bool) {
    // An uncut text is not longer.
    let is_cut = text.len() > MAX_TEXT;
    let kept = if is_cut { text.rsplit_once("… (").map_or(text, |(kept, _)| kept) } else { text };
    (kept, is_cut)
}

/// A text as a message of an agent: blanks alone are none.
#[doc(hidden)]
pub fn spoken<T: AsRef<str>>(text: T) -> Option<T> {
    Some(text).filter(|text| !text.as_ref().trim().is_empty())
}

/// The start of `text` on one line, as evidence.
#[doc(hidden)]
pub fn excerpt(text: &str) -> String {
    cut::start(text, 200).replace(char::is_control, " ")
}
