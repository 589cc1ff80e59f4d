//! What a run folder's own files hold, beside the trials: `run.json`, `progress.jsonl`, `current.json`, `runner.pid`.

use serde::{Deserialize, Serialize};

use crate::decide::plan::ComparePlan;
use crate::settings::Isolation;
use crate::settings::mode::SkillSelection;
use crate::settings::trials::Trials;
use crate::trace::description::DescriptionVisibility;
use crate::trace::trouble::Trouble;
use crate::trial::evidence::Imported;
use crate::trial::id::TrialId;
use crate::trial::outcome::{Outcome, Status, Verdict, numbered};
use crate::trial::spent::AttemptCost;

/// The number of the format of all of them.
pub const RUN_FORMAT: u32 = 1;

/// What a run was to do, and how it ended: the content of `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunRecord {
    /// [`RUN_FORMAT`].
    pub format: u32,
    /// The run's id.
    pub id: String,
    /// When it began, RFC 3339, UTC.
    pub created: String,
    /// The version of this program.
    pub version: String,
    /// What processes that share the run have in common, where several do: one for each trial, none of which knows the
    /// others' trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_by: Option<String>,
    /// How many trials it has, where one process runs them all; `plan.jsonl` says which.
    pub planned: usize,
    /// Whether that is where it begins, since cases go on until they are decided; further trials are added to `plan.jsonl`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub grows: bool,
    /// What was chosen: a resumed run takes these where nothing else is said.
    pub chosen: RunChoices,
    /// What the run compares, where it does; absent from any other run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sides: Option<ComparedSides>,
    /// Where it comes from, where another runner ran it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// How it ended; absent while it runs, and where it was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<RunEnd>,
}

/// What a run compares: the same cases in two arms, in pairs of trials, until the question is decided.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ComparedSides {
    /// What is compared against: the version before an edit, or without the skill.
    pub baseline: ComparedSide,
    /// What is asked about.
    pub candidate: ComparedSide,
    /// The chance of each false result.
    pub alpha: f64,
    /// The tolerated loss in pass rate; absent if none is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// When it stops.
    #[serde(default)]
    pub plan: ComparePlan,
    /// The most trials of both sides together.
    pub max_trials: u64,
    /// What the choice of the next case begins with.
    pub seed: u64,
    /// Whether both arms are judged by the checks that both are asked, since one has no skills.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outcome_only: bool,
    /// The cases that are compared, by name, those that were not tried yet too.
    pub cases: Vec<String>,
    /// Cases that one arm has no skill for, by name, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<(String, String)>,
}

impl ComparedSides {
    /// Two arms, of no cases yet and with no limit.
    pub fn of(a: ComparedSide, b: ComparedSide, alpha: f64) -> Self {
        let (cases, left_out) = (Vec::new(), Vec::new());
        Self {
            baseline: a,
            candidate: b,
            alpha,
            margin: None,
            plan: ComparePlan::default(),
            max_trials: 0,
            seed: 0,
            outcome_only: false,
            cases,
            left_out,
        }
    }
}

impl ComparedSide {
    /// The same, called this.
    #[must_use]
    pub fn called(self, label: String) -> Self {
        Self { label, ..self }
    }

    /// The same in this mode.
    #[must_use]
    pub fn in_mode(self, mode: Option<String>) -> Self {
        Self { mode, ..self }
    }

    /// Whether it is the modes that were chosen, as they are.
    pub fn changes_nothing(&self) -> bool {
        Self { label: String::new(), ..self.clone() } == Self::default()
    }
}

/// One arm: what it changes of the modes that were chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct ComparedSide {
    /// What users call it.
    pub label: String,
    /// The mode, where it is not that of the case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Which skills are offered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offer: Option<SkillSelection>,
    /// The commit whose skills are offered, as a full hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// Whether no skills are offered.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub without: bool,
    /// Whether it is the other arm over again, to see what changes by itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
}

/// A line of `plan.jsonl`: a trial of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanLine {
    /// Which.
    #[serde(flatten)]
    pub id: TrialId,
    /// The share of its case's trials that must pass, where the case goes on until it is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// The most trials of its case then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_trials: Option<u32>,
}

impl From<TrialId> for PlanLine {
    fn from(id: TrialId) -> Self {
        Self { id, threshold: None, max_trials: None }
    }
}

/// A line of `pairs.jsonl`: a pair of trials of one case, one in each arm, in the order in which they began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PairRecord {
    /// The trial in arm A.
    pub baseline: TrialId,
    /// The trial in arm B.
    pub candidate: TrialId,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunEnd {
    /// When, RFC 3339, UTC.
    pub at: String,
    /// In which way.
    pub how: RunEndKind,
    /// Why, if a result could not be stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// In which way a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RunEndKind {
    /// It went through its whole plan.
    Finished,
    /// Ctrl-C or a signal ended it.
    Interrupted,
    /// `stop` ended it.
    Stopped,
    /// A result could not be stored.
    #[serde(rename = "not-stored")]
    NotStored,
}

/// What was chosen for a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct RunChoices {
    /// The suite's name.
    pub suite: Option<String>,
    /// Skills by name.
    pub skills: Vec<String>,
    /// Tasks by name.
    pub tasks: Vec<String>,
    /// Cases by `id` or `skill/id`.
    pub cases: Vec<String>,
    /// At most so many skills.
    pub max_skills: Option<usize>,
    /// At most so many cases of each.
    pub max_cases: Option<usize>,
    /// Modes by name.
    pub modes: Vec<String>,
    /// The model.
    pub model: Option<String>,
    /// How often each case runs, whatever it says itself; absent where that was not said.
    pub trials: Option<Trials>,
    /// The share of a case's trials that must pass, whatever it says itself; absent where that was not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// Seconds for cases that name no timeout.
    pub timeout_s: Option<u64>,
    /// Whether a judge is asked, where that was said.
    pub judge: Option<bool>,
    /// How often, where that was said.
    pub judge_votes: Option<u32>,
    /// Whether recordings were replayed.
    pub replay: bool,
    /// Tests by name, as filters of `cargo test` choose them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
    /// The very trials, as `skill/case/mode`, where no rule chose them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trials_by_name: Vec<String>,
}

impl RunChoices {
    /// Whether anything was said about which cases run.
    pub fn selects(&self) -> bool {
        self.suite.is_some()
            || !(self.skills.is_empty() && self.tasks.is_empty() && self.cases.is_empty())
            || self.max_skills.is_some()
            || self.max_cases.is_some()
            || !(self.filters.is_empty() && self.trials_by_name.is_empty())
    }

    /// These choices, and those of `earlier` where nothing was said. Which cases run is one choice: naming a case
    /// drops an earlier suite.
    #[must_use]
    pub fn or(self, earlier: RunChoices) -> RunChoices {
        let cases = if self.selects() { self.clone() } else { earlier.clone() };
        RunChoices {
            modes: if self.modes.is_empty() { earlier.modes } else { self.modes },
            model: self.model.or(earlier.model),
            trials: self.trials.or(earlier.trials),
            threshold: self.threshold.or(earlier.threshold),
            timeout_s: self.timeout_s.or(earlier.timeout_s),
            judge: self.judge.or(earlier.judge),
            judge_votes: self.judge_votes.or(earlier.judge_votes),
            replay: self.replay || earlier.replay,
            ..cases
        }
    }
}

/// A line of `progress.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum ProgressLine {
    /// An attempt at a trial that the provider refused; it is paid all the same.
    Refused {
        /// Which trial.
        refused: TrialId,
        /// What it took.
        #[serde(flatten)]
        spent: AttemptCost,
    },
    /// A trial that has ended; a later line of the same trial takes its place.
    Ended(Box<TrialRecord>),
}

/// A trial that has ended, with all that is compared: a row of the table of results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct TrialRecord {
    /// Which trial.
    #[serde(flatten)]
    pub id: TrialId,
    /// The run it belongs to; absent in a run's own progress file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// What it came to.
    pub verdict: Verdict,
    /// Why it measured nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
    /// Every check, by name in the order of the grade, with what it found.
    #[serde(default)]
    pub checks: Vec<(String, Status)>,
    /// Wall time of the agent in milliseconds.
    pub duration_ms: u64,
    /// Shell commands that did more than open a SKILL.md or look around.
    #[serde(default)]
    pub effective_commands: u64,
    /// Turns, where the agent counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// The share of the case's trials that must pass, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// The most trials of its case, where that goes on until it is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_trials: Option<u32>,
    /// The skills that became active, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub activated: Vec<String>,
    /// How much of the skill's description the model was shown; absent where it was to be offered no skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub described: Option<DescriptionVisibility>,
    /// Tokens and cost of the last attempt.
    #[serde(flatten)]
    pub spent: AttemptCost,
    /// How often the agent was started: more than once where the provider refused for now.
    #[serde(default = "once")]
    pub attempts: u32,
    /// Why the answers are not a model's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scripted: Option<String>,
    /// What kept the agent to its own folders; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// When it ended, RFC 3339, UTC; absent where that is no longer known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// A digest of what was asked and checked, and how, but for the skills; absent where it did not start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<String>,
}

fn once() -> u32 {
    1
}

impl TrialRecord {
    /// The row of an outcome that took so many attempts.
    pub fn new(outcome: &Outcome, attempts: u32) -> Self {
        let grade = &outcome.grade;
        Self {
            id: outcome.id.clone(),
            run: String::new(),
            verdict: grade.verdict,
            trouble: grade.trouble.clone(),
            checks: grade.checks.iter().map(|check| (check.id.clone(), check.status)).collect(),
            duration_ms: grade.metrics.duration_ms,
            effective_commands: grade.metrics.effective_commands,
            turns: grade.metrics.turns,
            threshold: grade.threshold,
            max_trials: grade.max_trials,
            activated: grade.metrics.activations.iter().map(|activation| activation.skill.clone()).collect(),
            described: grade.metrics.described,
            spent: outcome.spent,
            attempts,
            scripted: outcome.scripted.clone(),
            inputs: outcome.inputs.clone(),
            isolation: outcome.isolation,
            ended: None,
        }
    }

    /// The checks that failed; none of a trial that measured nothing, whatever it left.
    pub fn failed(&self) -> impl Iterator<Item = String> {
        let ids: Vec<&str> = self.checks.iter().map(|(id, _)| id.as_str()).collect();
        let failed = |(_, status): &(String, Status)| self.verdict == Verdict::Fail && *status == Status::Fail;
        numbered(&ids).into_iter().zip(&self.checks).filter(move |(_, check)| failed(check)).map(|(name, _)| name)
    }
}

/// What runs at this moment: the content of `current.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CurrentTrials {
    /// [`RUN_FORMAT`].
    pub format: u32,
    /// When this was written, RFC 3339, UTC.
    pub updated: String,
    /// The trials under way, in the order in which they began.
    pub running: Vec<RunningTrial>,
}

/// A trial under way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunningTrial {
    /// Which trial.
    #[serde(flatten)]
    pub id: TrialId,
    /// When it began, RFC 3339, UTC.
    pub since: String,
}

/// The process that runs a run: the content of `runner.pid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runner {
    /// Its number.
    pub pid: i32,
    /// When it started, as its system counts: tells it from a later process of the same number. Absent where the
    /// system does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<u64>,
    /// Whether it runs the trials in processes of its own, and so holds no lock itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub shared: bool,
}
