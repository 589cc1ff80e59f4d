//! A trace as JSON, for programs in any language. docs/schemas/trace.json is its schema.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::{Activation, AgentProgress, OfferedSkills, Resource, Step, StopReason, Trace, Usage};

/// The number of the format. It changes if a reader of the format before would misread a trace.
pub const FORMAT: u32 = 1;

/// A trace as it is written.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct TraceFile<'a> {
    /// It changes if a reader of the format before would misread a trace.
    #[cfg_attr(feature = "schemars", schemars(extend("const" = FORMAT)))]
    format: u32,
    agent_version: Option<&'a str>,
    /// As the agent reports it.
    model: Option<&'a str>,
    progress: AgentProgress,
    stopped: Option<StopReason>,
    final_message: Option<&'a str>,
    /// What happened, in order.
    steps: Vec<StepRecord<'a>>,
    steps_dropped: u64,
    /// The skills that the agent offered to its model; null if the evidence does not show them.
    offered: Option<&'a OfferedSkills>,
    activations: &'a [Activation],
    failed_loads: &'a [Activation],
    /// Other files of skills that were loaded.
    resources: &'a [Resource],
    inspections: &'a [String],
    /// Tool calls that the agent did not allow.
    denials: &'a [String],
    /// Shell commands.
    commands: u64,
    effective_commands: u64,
    /// How many more commands there may be.
    unreported_commands: u64,
    turns: Option<u64>,
    usage: Option<Usage>,
    /// Tokens and cost by model.
    models: &'a BTreeMap<String, Usage>,
    /// Why something may have happened that the trace does not show; null if it is complete.
    gap: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct StepRecord<'a> {
    #[serde(flatten)]
    what: StepContent<'a>,
    /// RFC 3339; null if the agent does not report it.
    began: Option<&'a str>,
    ended: Option<&'a str>,
    /// 0 for the agent itself, 1 for its sub-agents, 2 for theirs.
    depth: u32,
}

/// Something that happened. The input of a tool is JSON, or a text if it was too long.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum StepContent<'a> {
    Message { text: &'a str },
    Thinking { text: &'a str },
    Command { command: &'a str, exit_code: Option<i64>, output: &'a str },
    Tool { name: &'a str, input: Value, output: &'a str, failed: bool },
    FileChange { paths: &'a [String] },
    Notice { text: &'a str },
}

impl<'a> TraceFile<'a> {
    /// The trace as it is written.
    pub fn of(trace: &'a Trace) -> Self {
        Self {
            format: FORMAT,
            agent_version: trace.agent_version.as_deref(),
            model: trace.model.as_deref(),
            progress: trace.progress,
            stopped: trace.stopped,
            final_message: trace.final_message.as_deref(),
            steps: trace.steps.iter().enumerate().map(|(at, step)| StepRecord::of(trace, at, step)).collect(),
            steps_dropped: trace.steps_dropped,
            offered: trace.offered.as_ref(),
            activations: &trace.activations,
            failed_loads: &trace.failed_loads,
            resources: &trace.resources,
            inspections: &trace.inspections,
            denials: &trace.denials,
            commands: trace.commands,
            effective_commands: trace.effective_commands,
            unreported_commands: trace.unreported_commands,
            turns: trace.turns,
            usage: trace.usage,
            models: &trace.models,
            gap: trace.gap(),
        }
    }
}

impl<'a> StepRecord<'a> {
    fn of(trace: &'a Trace, at: usize, step: &'a Step) -> Self {
        let moment = trace.moments.get(at);
        Self {
            what: StepContent::of(step),
            began: moment.and_then(|moment| moment.began.as_deref()),
            ended: moment.and_then(|moment| moment.ended.as_deref()),
            depth: moment.map_or(0, |moment| moment.depth),
        }
    }
}

impl<'a> StepContent<'a> {
    fn of(step: &'a Step) -> Self {
        match step {
            Step::Message(text) => Self::Message { text },
            Step::Thinking(text) => Self::Thinking { text },
            Step::Command { command, exit_code, output } => Self::Command { command, exit_code: *exit_code, output },
            Step::Tool { name, input, output, failed } => {
                // An input that was cut does not parse, and stays a text.
                let input = serde_json::from_str(input).unwrap_or_else(|_| Value::String(input.clone()));
                Self::Tool { name, input, output, failed: *failed }
            }
            Step::FileChange(paths) => Self::FileChange { paths },
            Step::Notice(text) => Self::Notice { text },
        }
    }
}
