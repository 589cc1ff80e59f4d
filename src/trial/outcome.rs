//! What a trial came to: checks, a verdict, and the figures that compare over time.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::settings::Isolation;
use crate::settings::mode::AgentKind;
use crate::text::diagnostic::Diagnostic;
use crate::trace::description::DescriptionVisibility;
pub use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{Activation, Resource, Usage};
use crate::trial::id::TrialId;
use crate::trial::span::Span;
use crate::trial::spent::AttemptCost;

/// The number of the `grade.json` format.
pub const GRADE_FORMAT: u32 = 1;

/// What a check is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Goal {
    /// Was the task done?
    Outcome,
    /// Was the skill used as it should be?
    Process,
    /// Does the answer have the form asked for?
    Style,
    /// Did it get there without thrashing?
    Efficiency,
}

/// What a check found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Status {
    /// As expected.
    Pass,
    /// Not as expected.
    Fail,
    /// The evidence does not show it.
    Unknown,
}

/// What a check found: one named question about a trial, answered from the evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CheckResult {
    /// The check's stable name, kebab-case.
    pub id: String,
    /// What it is about.
    pub goal: Goal,
    /// What it found.
    pub status: Status,
    /// What was expected.
    pub expected: String,
    /// What was found, from the evidence.
    pub found: String,
    /// Whether it is a repository's own check, which only that repository's harness can make.
    #[serde(default, skip_serializing_if = "is_false")]
    pub custom: bool,
    /// The events that decided it, the one to look at first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<Span>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

/// Of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Every check passed.
    Pass,
    /// At least one check failed.
    Fail,
    /// Nothing was measured: infrastructure.
    Error,
    /// The judge gave no usable answer.
    Unscored,
}

impl Verdict {
    /// The verdict as printed and stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::Error => "error",
            Verdict::Unscored => "unscored",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A graded trial: the content of `grade.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Grade {
    /// [`GRADE_FORMAT`].
    pub format: u32,
    /// What it came to.
    pub verdict: Verdict,
    /// Why nothing was measured, when the verdict is `error`, or nothing was judged, when it is `unscored`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
    /// Every check made, in a fixed order.
    pub checks: Vec<CheckResult>,
    /// What compares over time.
    pub metrics: Metrics,
    /// What the rubric judge had to say, where one was wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Judged>,
    /// The share of the case's trials that must pass; absent where that is for the reader to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// The most trials of the case, where it goes on until they tell on which side of the threshold it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_trials: Option<u32>,
}

/// What the rubric judge had to say of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Judged {
    /// Nothing: the recording holds no answer of a judge, and the trial was graded by its evidence alone.
    NotRecorded,
    /// Nothing that counts: its stored answer is about other evidence, or was asked for with another template.
    Stale,
    /// It was asked, and its checks are among the others.
    Asked {
        /// Pass, fail or unscored.
        verdict: Verdict,
        /// 0 to 100: the mean of the usable answers.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        score: Option<f64>,
        /// How many votes were asked for.
        votes: u32,
        /// The share of the votes that say what the majority says; nothing where there is no majority.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agreement: Option<f64>,
        /// The program that judged; the default one in grades that do not name theirs.
        #[serde(default)]
        agent: AgentKind,
        /// The model it asked, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
        /// What the judging took, where the judge told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<Usage>,
    },
}

/// The figures of a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Metrics {
    /// Wall time of the agent in milliseconds.
    pub duration_ms: u64,
    /// Shell commands run.
    pub commands: u64,
    /// Shell commands that did more than open a SKILL.md or look around.
    pub effective_commands: u64,
    /// Tokens and cost; absent where the agent did not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The same by model; empty where the agent did not tell.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, Usage>,
    /// Tokens of the requests that were answered, where the agent did not live to tell their sum: it took no less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens_at_least: Option<u64>,
    /// What the model read before it said anything, in tokens: the system prompt, the tools, the catalogues of skills
    /// and the prompt. The difference between two modes of one case is what their catalogues and tools differ by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_input_tokens: Option<u64>,
    /// Turns, as the agent counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// How long it took by the agent's own clock, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_duration_ms: Option<u64>,
    /// Time spent waiting for the model in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub api_duration_ms: Option<u64>,
    /// How much of the skill's description the model was shown; absent where it was to be offered no skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub described: Option<DescriptionVisibility>,
    /// Skills that became active, in order.
    pub activations: Vec<Activation>,
    /// Resources that were loaded, in order.
    pub resources: Vec<Resource>,
    /// Looks at skills that were no activation.
    pub inspections: Vec<String>,
    /// Tool calls that the agent did not allow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denials: Vec<String>,
    /// Events that the decoder does not know.
    pub unknown_events: u64,
    /// Lines of the trace that are no event.
    pub damaged_lines: u64,
}

impl Grade {
    /// Every check with its name, [`numbered`] where several are called the same; failed ones first, then what is unknown.
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

/// The names of checks as readers tell them apart: `must-include 2 of 3` where a case has three of that name.
pub fn numbered(ids: &[&str]) -> Vec<String> {
    let mut seen: HashMap<&str, (usize, usize)> = HashMap::new();
    for id in ids {
        seen.entry(id).or_default().1 += 1;
    }
    let mut names = Vec::with_capacity(ids.len());
    for id in ids {
        names.push(match seen.get_mut(id) {
            Some((at, all)) if *all > 1 => {
                *at += 1;
                format!("{id} {at} of {all}")
            }
            _ => (*id).to_owned(),
        });
    }
    names
}

/// What became of a trial.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Which trial.
    pub id: TrialId,
    /// What it came to.
    pub grade: Grade,
    /// Where the evidence is.
    pub folder: PathBuf,
    /// Why the answers are not a model's own.
    pub scripted: Option<String>,
    /// What the agent and its judge took.
    pub spent: AttemptCost,
    /// What kept the agent to its own folders; `None` where it did not start, or that was not stored.
    pub isolation: Option<Isolation>,
    /// A digest of what was asked and checked, and how, but for the skills; `None` where it did not start.
    pub inputs: Option<String>,
}

/// Why there is no outcome.
#[derive(Clone, Debug)]
pub enum NoOutcome {
    /// The case, or what it needs, is wrong.
    BadCase(Vec<Diagnostic>),
    /// There is no recording.
    NotRecorded,
    /// The recording was made of something else than the case and skills of today.
    Stale {
        /// The recording's folder.
        folder: PathBuf,
        /// What differs.
        changed: Vec<String>,
    },
    /// The recording, or what an earlier part of the run stored, cannot be read or graded.
    Unreadable(String),
    /// The run could not be opened, so that no trial of it can start.
    NotOpened(String),
    /// It was not started.
    NotRun(NotRun),
}

/// Why a trial was not started. It costs nothing and says nothing; a resumed run starts it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NotRun {
    /// The run was interrupted.
    Interrupted,
    /// The run has cost what it may, in US dollars.
    CostLimit(f64),
    /// The run has taken as many tokens as it may.
    TokenLimit(u64),
    /// What an earlier trial came to could not be stored.
    NotStored,
}

impl fmt::Display for NotRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotRun::Interrupted => f.write_str("the run was interrupted"),
            NotRun::CostLimit(limit) => write!(f, "the run has cost its limit of ${limit}"),
            NotRun::NotStored => f.write_str("an earlier result of the run could not be stored"),
            NotRun::TokenLimit(limit) => write!(f, "the run has taken its limit of {limit} tokens"),
        }
    }
}
