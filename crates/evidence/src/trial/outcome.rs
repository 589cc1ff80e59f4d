//! The outcome of a trial: checks, a verdict, and metrics that can be compared over time.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::settings::Isolation;
use crate::settings::mode::AgentKind;
use crate::text::diagnostic::Diagnostic;
use crate::text::problem::Problem;
use crate::text::word_enum::word_enum;
use crate::trace::description::DescriptionVisibility;
pub use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{Activation, Resource, Usage};
use crate::trial::id::TrialId;
use crate::trial::not_run::NotRun;
use crate::trial::span::Span;
use crate::trial::spent::AttemptCost;

/// The number of the `grade.json` format.
pub const GRADE_FORMAT: u32 = 1;

word_enum! {
    /// What a check is about.
    pub enum Goal {
        /// Was the task completed?
        Outcome = "outcome",
        /// Was the skill used as it should be?
        Process = "process",
        /// Does the answer have the requested form?
        Style = "style",
        /// Did it get there without thrashing?
        Efficiency = "efficiency",
    }
}

/// The status of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// As expected.
    Pass,
    /// Not as expected.
    Fail,
    /// The evidence does not show it.
    Unknown,
}

/// The result of a check: one named assertion about a trial, answered by its evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CheckResult {
    /// The check's stable name, kebab-case.
    pub id: String,
    /// What it is about.
    pub goal: Goal,
    /// The status.
    pub status: Status,
    /// What was expected.
    pub expected: String,
    /// What was found, from the evidence.
    pub found: String,
    /// Whether it is a custom check, which only the repository's harness can run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub custom: bool,
    /// A digest of the program that answered, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
    /// What it counts in the score, if the case gives it a weight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<Weight>,
    /// What share of its weight it reached, if the check has more answers than pass and fail, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub score: Option<f64>,
    /// The events that decided it, the most important one first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<Span>,
}

/// What a check, or several together, count in the score of their trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Weight {
    /// How much. A check with 0 is shown and decides nothing.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0)))]
    pub amount: f64,
    /// Checks of the same part count once: it passes if all of them do.
    pub part: u32,
}

impl Weight {
    /// The weight of a part.
    pub fn new(amount: f64, part: u32) -> Self {
        Self { amount, part }
    }
}

impl CheckResult {
    /// The result of a check of this program, without a weight and without events.
    pub fn new(id: impl Into<String>, goal: Goal, status: Status, expected: String, found: String) -> Self {
        Self {
            id: id.into(),
            goal,
            status,
            expected,
            found,
            custom: false,
            program: None,
            weight: None,
            score: None,
            spans: Vec::new(),
        }
    }

    /// What was asked, without the answer: trials of equal questions can be compared.
    #[doc(hidden)]
    pub fn question(&self) -> String {
        let mut question = match &self.program {
            // The answers of a program may have other names and texts in every trial.
            Some(digest) => format!("{digest}\n"),
            // A custom check that was not asked has no such text.
            None => format!("{}\n{}\n", self.id, if self.custom { "" } else { &self.expected }),
        };
        if let Some(weight) = self.weight {
            question.extend(["weight ", &weight.amount.to_string(), " of part ", &weight.part.to_string(), "\n"]);
        }
        question
    }
}

word_enum! {
    /// The verdict of a trial.
    #[derive(PartialOrd, Ord)]
    pub enum Verdict {
        /// Every check passed.
        Pass = "pass",
        /// At least one check failed.
        Fail = "fail",
        /// The trial could not be measured, because of its infrastructure.
        Error = "error",
        /// The judge gave no usable answer.
        Unscored = "unscored",
    }
}

/// The score of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Score {
    /// The share of the weights whose checks passed, 0 to 1.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub value: f64,
    /// The share of the weights whose checks are unknown: the score is between `value` and the sum of both.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub open: f64,
    /// The score from which on a trial passes. Without it every check with a weight must pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub least: Option<f64>,
    /// The verdict without the checks that need the skill, if the least score decides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_skill: Option<Verdict>,
}

impl Score {
    /// The score before any check is made.
    pub fn new(least: Option<f64>) -> Self {
        Self { value: 0.0, open: 1.0, least, without_skill: None }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(share: &f64) -> bool {
    *share == 0.0
}

/// A graded trial: the content of `grade.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Grade {
    /// The number of the format.
    #[cfg_attr(feature = "schemars", schemars(extend("const" = GRADE_FORMAT)))]
    pub format: u32,
    /// The verdict.
    pub verdict: Verdict,
    /// Why the trial could not be measured if the verdict is `error`, or not judged if it is `unscored`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
    /// Every check, in a fixed order.
    pub checks: Vec<CheckResult>,
    /// The score, if the case gives checks weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<Score>,
    /// What was requested of the programs of checks and not enforced, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_enforced: Vec<String>,
    /// Metrics that can be compared over time.
    pub metrics: Metrics,
    /// The result of the judge, if one was wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Judged>,
    /// The share of the case's trials that must pass; absent if the reader decides that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub threshold: Option<f64>,
    /// Maximum number of trials of the case, if it runs until it is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_trials: Option<u32>,
    /// What the case asks for besides and this program did not do: the verdict is about the rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unsupported: Vec<String>,
}

/// The result of the judge of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum Judged {
    /// The recording has no answer of a judge, so the trial was graded by its evidence alone.
    NotRecorded,
    /// The stored answer of the judge is about other evidence, or was requested with another template.
    Stale,
    /// The judge answered, and its checks are among the others.
    Asked {
        /// Pass, fail or unscored.
        verdict: Verdict,
        /// 0 to 100: the mean of the usable answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 100)))]
        score: Option<f64>,
        /// How many votes were requested.
        votes: u32,
        /// The share of the votes that agree with the majority; absent without a majority.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
        agreement: Option<f64>,
        /// The program that judged.
        #[serde(default)]
        agent: AgentKind,
        /// The model that judged, if known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// The cost of judging, if the judge reported it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
}

/// The metrics of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Metrics {
    /// Wall time of the agent in milliseconds.
    pub duration_ms: u64,
    /// Shell commands run.
    pub commands: u64,
    /// Shell commands that did more than read a SKILL.md or inspect files.
    pub effective_commands: u64,
    /// Tokens and cost; absent if the agent did not report them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The same by model; empty if the agent did not report it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, Usage>,
    /// Tokens of the answered requests, if the agent ended before it reported their sum: a lower bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage_at_least: Option<Usage>,
    /// Whether the trial ended as soon as its verdict was settled: times, tokens and counts are lower bounds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub settled: bool,
    /// What the model read before its first output, in tokens: the system prompt, the tools, the skill list and the prompt.
    /// Two modes of one case differ here by their skill lists and tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_input_tokens: Option<u64>,
    /// Turns, by the agent's count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// The duration by the agent's own clock, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_duration_ms: Option<u64>,
    /// Time that the agent waited for the model, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_duration_ms: Option<u64>,
    /// How much of the skill's description entered the model's context; absent in a mode without skills.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub described: Option<DescriptionVisibility>,
    /// Activations of skills, in order.
    pub activations: Vec<Activation>,
    /// Resources that were loaded, in order.
    pub resources: Vec<Resource>,
    /// Inspections of skills without an activation.
    pub inspections: Vec<String>,
    /// Tool calls that the agent denied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<String>,
    /// Events that the decoder does not know.
    pub unknown_events: u64,
    /// Lines of the trace that are not an event.
    pub damaged_lines: u64,
}

impl Grade {
    /// Every check with its name, [`numbered`] if several have the same id; failed ones first, then unknown ones.
    pub fn named_checks(&self) -> Vec<(String, &CheckResult)> {
        let ids: Vec<&str> = self.checks.iter().map(|check| check.id.as_str()).collect();
        let mut checks: Vec<(String, &CheckResult)> = numbered(&ids).into_iter().zip(&self.checks).collect();
        checks.sort_by_key(|(_, check)| match check.status {
            Status::Fail => 0,
            Status::Unknown => 1,
            Status::Pass => 2,
        });
        checks
    }
}

/// Unique names of checks: `must-include 2 of 3` if a case has three checks with that id.
pub fn numbered(ids: &[&str]) -> Vec<String> {
    let mut names = Vec::with_capacity(ids.len());
    for (at, id) in ids.iter().enumerate() {
        let count = |ids: &[&str]| ids.iter().filter(|other| *other == id).count();
        names.push(match count(ids) {
            1 => (*id).to_owned(),
            all => format!("{id} {} of {all}", count(&ids[..=at])),
        });
    }
    names
}

/// The outcome of a trial.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Which trial.
    pub id: TrialId,
    /// The grade.
    pub grade: Grade,
    /// Where the evidence is.
    pub folder: PathBuf,
    /// The name of the mock model, if the answers are not a model's own.
    pub scripted: Option<String>,
    /// The cost of the agent and its judge.
    pub spent: AttemptCost,
    /// The isolation of the agent; `None` if the agent did not start, or the isolation was not stored.
    pub isolation: Option<Isolation>,
    /// A digest of the prompt, the checks and the setup, without the skills; `None` if the agent did not start.
    pub inputs: Option<String>,
    /// Whether the recording is aged: the names or descriptions of other skills changed since. The outcome counts.
    pub aged: bool,
    /// When it was measured, if it was kept of an earlier comparison.
    pub kept: Option<String>,
    /// The tags of its case.
    pub tags: Vec<String>,
}

/// Why a trial has no outcome.
#[derive(Clone, Debug)]
pub enum TrialError {
    /// The case, or something that it needs, is invalid.
    BadCase(Vec<Diagnostic>),
    /// The case asks for what this program does not do.
    Unsupported(Vec<Diagnostic>),
    /// No recording was found.
    NotRecorded,
    /// The case or the skills have changed since the recording.
    Stale {
        /// The recording's directory.
        folder: PathBuf,
        /// What has changed.
        changed: Vec<String>,
    },
    /// The recording, or the result of an earlier part of the run, cannot be read or graded.
    Unreadable(String),
    /// The run could not be opened, so none of its trials can start.
    NotOpened(Problem),
    /// The trial was not started. A resumed run starts it.
    NotRun(NotRun),
}

impl TrialError {
    /// The same without its details, as summaries count it.
    pub fn not_run(&self) -> NotRun {
        match self {
            Self::BadCase(_) => NotRun::BadCase,
            Self::Unsupported(_) => NotRun::Unsupported,
            Self::NotRecorded => NotRun::NotRecorded,
            Self::Stale { .. } => NotRun::Stale,
            Self::Unreadable(_) => NotRun::Unreadable,
            Self::NotOpened(_) => NotRun::NotOpened,
            Self::NotRun(why) => why.clone(),
        }
    }
}
