//! A trace as JSON, for programs in any language. docs/schemas/trace.json is its schema.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Activation, AgentProgress, ChangeVisibility, OfferedSkills, Resource, Step, StopReason, Trace, Usage};
use crate::text::diagnostic::SourceLocation;
use crate::text::name::RelativePath;
use crate::text::word_enum::word_enum;

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

// Changes to skills during a session.

/// Maximum number of changes in a case.
pub const MOST_CHANGES: usize = 100;

/// A change to a skill during a session, as a case requests it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SkillChange {
    /// The model's turn after which the change is made, from 1. A turn is an answer and the calls in it.
    pub after_turn: u64,
    /// The kind of change.
    pub kind: ChangeKind,
    /// The skill's slug.
    pub skill: String,
    /// The directory with the skill's new version, relative to the repository's root. `None` if the skill is removed. It has
    /// the skill's name.
    pub folder: Option<RelativePath>,
    /// Whether the change is expected to enter the model's context.
    pub expect_seen: bool,
    /// Where the case has it.
    #[serde(skip)]
    pub origin: SourceLocation,
}

word_enum! {
    /// The kind of a change to a skill.
    #[derive(Default)]
    pub enum ChangeKind {
        /// Adds a skill.
        Add = "add",
        /// Replaces a skill's files.
        #[default]
        Edit = "edit",
        /// Removes a skill.
        Remove = "remove",
    }
}

impl ChangeKind {
    /// The past participle, for messages.
    pub fn done(self) -> &'static str {
        match self {
            Self::Add => "added",
            Self::Edit => "edited",
            Self::Remove => "removed",
        }
    }
}

/// A requested change to a skill, and its result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeMeta {
    /// The model's turn after which the change was to be made, from 1.
    pub after_turn: u64,
    /// The kind of change.
    pub kind: ChangeKind,
    /// The skill's slug.
    pub skill: String,
    /// The directory with the skill's new version, relative to the repository's root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// When it was made, in milliseconds after the agent's start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_ms: Option<u64>,
    /// When it was made, RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<String>,
    /// The model's turns that ended after it, without a last turn that has no calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns_after: Option<u64>,
    /// The lists that the agent requested from our MCP server after the server notified it of the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Vec<String>>,
    /// Whether it entered the model's context. Recordings lack some of the files that show this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<ChangeVisibility>,
    /// Why it was not made. Absent also if the agent finished before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_from: Option<String>,
}

impl From<&SkillChange> for ChangeMeta {
    fn from(change: &SkillChange) -> Self {
        Self {
            after_turn: change.after_turn,
            kind: change.kind,
            skill: change.skill.clone(),
            folder: change.folder.as_ref().map(|directory| directory.as_path().to_path_buf()),
            ..Self::default()
        }
    }
}

impl ChangeMeta {
    /// What was changed and when, or why it was not.
    pub fn summary(&self) -> String {
        let Self { after_turn, skill, .. } = self;
        let done = self.kind.done();
        match (self.made_ms, &self.kept_from) {
            (Some(ms), _) => {
                let seconds = Duration::from_millis(ms).as_secs_f64();
                format!("`{skill}` {done} after turn {after_turn}, at {seconds:.1} s")
            }
            (None, Some(why)) => format!("`{skill}` not {done}: {why}"),
            (None, None) => format!("`{skill}` not {done}: the agent was done before its turn {after_turn} was over"),
        }
    }
}
