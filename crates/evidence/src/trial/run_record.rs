//! The files of a run's directory about the run as a whole: `run.json`, `progress.jsonl`, `current.json`, `runner.pid`.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::decide::plan::ComparePlan;
use crate::settings::mode::SkillSelection;
use crate::settings::trials::Trials;
use crate::settings::{Isolation, Network, Settings, Stop, TestSelection};
use crate::text::cut;
use crate::trace::exposure::DescriptionVisibility;
use crate::trace::trouble::Trouble;
use crate::trial::evidence::Imported;
use crate::trial::id::TrialId;
use crate::trial::outcome::{AttemptCost, Grade, Outcome, Score, Status, Verdict, numbered};
use crate::trial::shard::Shard;

/// The format number of these files.
pub const RUN_FORMAT: u32 = 1;

/// What a run is to do, and how it ended: the content of `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// [`RUN_FORMAT`].
    pub format: u32,
    /// The run's id.
    pub id: String,
    /// When it began, RFC 3339, UTC.
    pub created: String,
    /// The version of this program.
    pub version: String,
    /// The key of the processes that share the run, if each trial has its own process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_by: Option<String>,
    /// How many trials it has, if one process runs them all; `plan.jsonl` lists them.
    pub planned: usize,
    /// Whether trials are added to `plan.jsonl` while it runs, because cases run until they are decided.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub grows: bool,
    /// What was chosen. A resumed run uses these choices by default.
    pub chosen: RunChoices,
    /// The sides that the run compares; absent if it is not a comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sides: Option<ComparedSides>,
    /// A digest of what decides its trials. The next start of the same resumes it if it was killed. Absent if none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contents: Option<String>,
    /// A digest of `all-cases.jsonl`, if the run is a shard. It is the same in all shards of the same cases and skills.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_cases: Option<String>,
    /// The ids of the shards that were merged into this run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub merged: Vec<String>,
    /// The shards that have cases and were not there when it was merged, as `2/8`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
    /// The variants in which the run measures its cases; absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variants: Option<VariantRun>,
    /// The source of a run that another runner ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
    /// How it ended; absent while it runs, and if it was killed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<RunEnd>,
}

impl RunRecord {
    /// Whether it compares: its modes are sides or variants, and have no pass rate together.
    pub fn compares(&self) -> bool {
        self.sides.is_some() || self.variants.is_some()
    }

    /// Whether it is of a gate: the next one continues its comparison.
    pub fn is_of_gate(&self) -> bool {
        self.sides.as_ref().is_some_and(|sides| sides.measurement.is_some())
    }

    /// The command that started it, resumes it and shows its result.
    pub fn command(&self) -> &'static str {
        match (&self.sides, self.variants.as_ref().map(|variants| &variants.question)) {
            (None, None) => "run",
            (None, Some(VariantQuestion::Diagnosis { .. })) => "diagnose",
            _ => "compare",
        }
    }
}

/// What a run compares: the same cases on two sides, in pairs of trials, until the question is decided.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ComparedSides {
    /// The side to compare with: the version before an edit, or without the skill.
    pub baseline: ComparedSide,
    /// The side in question.
    pub candidate: ComparedSide,
    /// The chance of each false result.
    pub alpha: f64,
    /// The tolerated loss in pass rate; absent if none is set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// When it stops.
    #[serde(default)]
    pub plan: ComparePlan,
    /// Maximum number of trials of both sides together.
    pub max_trials: u64,
    /// Maximum number of pairs of each case, by its name; empty if only all trials together are limited.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pairs: BTreeMap<String, u64>,
    /// The seed for the choice of the next case.
    pub seed: u64,
    /// From how many failed looks on the quick plan gives all cases pairs, as it was chosen before the first trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_from: Option<u64>,
    /// Which measurement of the same contents it is, from 1, if gates share it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measurement: Option<u32>,
    /// Whether only checks that apply to both sides count, because one side has no skills.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outcome_only: bool,
    /// The names of the compared cases, including those not tried yet.
    pub cases: Vec<String>,
    /// The names of cases for which one side has no skill, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<(String, String)>,
    /// What each shard compared, if the run was merged of shards: its cases, with its share of `alpha` and of the limits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shards: Vec<ComparedSides>,
}

impl ComparedSides {
    /// The sides of all shards together. Each of them has the same share of `alpha`; `of` is the number of shards.
    pub fn merged(shards: &[Self], of: u32) -> Option<Self> {
        let first = shards.first()?;
        // Without what the division left behind.
        let alpha = (first.alpha * f64::from(of) * 1e9).round() / 1e9;
        Some(Self {
            alpha,
            max_trials: shards.iter().map(|shard| shard.max_trials).sum(),
            seed: 0,
            all_from: None,
            measurement: shards.iter().filter_map(|shard| shard.measurement).max(),
            cases: shards.iter().flat_map(|shard| shard.cases.clone()).collect(),
            left_out: shards.iter().flat_map(|shard| shard.left_out.clone()).collect(),
            pairs: shards.iter().flat_map(|shard| shard.pairs.clone()).collect(),
            shards: shards.to_vec(),
            ..first.clone()
        })
    }

    /// What all shards of a comparison have in common.
    #[must_use]
    pub fn of_all_shards(&self) -> Self {
        let (pairs, cases, left_out, shards) = (BTreeMap::new(), Vec::new(), Vec::new(), Vec::new());
        Self {
            max_trials: 0,
            pairs,
            seed: 0,
            all_from: None,
            measurement: None,
            cases,
            left_out,
            shards,
            ..self.clone()
        }
    }

    /// Two sides without cases yet, and without a limit.
    pub fn of(baseline: ComparedSide, candidate: ComparedSide, alpha: f64) -> Self {
        Self { baseline, candidate, alpha, ..Self::default() }
    }
}

impl ComparedSide {
    /// The same with this label.
    #[must_use]
    pub fn called(self, label: String) -> Self {
        Self { label, ..self }
    }

    /// The same in this mode.
    #[must_use]
    pub fn in_mode(self, mode: Option<String>) -> Self {
        Self { mode, ..self }
    }

    /// Whether it changes nothing about the chosen modes.
    pub fn changes_nothing(&self) -> bool {
        Self { label: String::new(), ..self.clone() } == Self::default()
    }
}

/// One side: what it changes about the chosen modes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ComparedSide {
    /// Its name for users.
    pub label: String,
    /// The mode, if it is not that of the case.
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
    /// Whether it repeats the other side, to see what changes by chance.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
}

/// A line of `plan.jsonl`: a trial of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlanLine {
    /// Which.
    #[serde(flatten)]
    pub id: TrialId,
    /// The share of its case's trials that must pass, if the case runs until it is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// Maximum number of trials of its case then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_trials: Option<u32>,
}

impl From<TrialId> for PlanLine {
    fn from(id: TrialId) -> Self {
        Self { id, threshold: None, max_trials: None }
    }
}

/// A line of `pairs.jsonl`: a pair of trials of one case, one on each side, or the first look at a case. Lines are in the order in
/// which they started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PairRecord {
    /// The trial of the baseline; absent if the candidate ran alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<TrialId>,
    /// The trial of the candidate.
    pub candidate: TrialId,
}

impl PairRecord {
    /// Its trials, that of the baseline first.
    pub fn trials(&self) -> impl Iterator<Item = &TrialId> {
        self.baseline.iter().chain([&self.candidate])
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnd {
    /// When, RFC 3339, UTC.
    pub at: String,
    /// The way in which it ended.
    pub how: RunEndKind,
    /// Why it did not measure everything, if a result could not be stored, or its login has a limit of hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The way in which a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunEndKind {
    /// It ran its whole plan.
    Finished,
    /// Ctrl-C or a signal ended it.
    Interrupted,
    /// `stop` ended it.
    Stopped,
    /// A result could not be stored.
    NotStored,
}

/// A line of `progress.jsonl`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ProgressLine {
    /// An attempt at a trial that the provider refused; its cost counts.
    Refused {
        /// Which trial.
        refused: TrialId,
        /// Its cost.
        #[serde(flatten)]
        spent: AttemptCost,
    },
    /// A trial that has ended; a later line of the same trial replaces it.
    Ended(Box<TrialRecord>),
}

/// A trial that has ended: a row of the table of results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Which trial.
    #[serde(flatten)]
    pub id: TrialId,
    /// The run it belongs to; absent in a run's own progress file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub run: String,
    /// The verdict.
    pub verdict: Verdict,
    /// Its score, if its case gives checks weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<Score>,
    /// Why it could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<Trouble>,
    /// Every check, by id in the order of the grade, with its status.
    #[serde(default)]
    pub checks: Vec<(String, Status)>,
    /// What its failed checks expected and found; empty if it could not be measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FailedCheck>,
    /// Whether it ended as soon as its verdict was settled: times, tokens and counts are lower bounds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub settled: bool,
    /// Wall time of the agent in milliseconds.
    pub duration_ms: u64,
    /// Shell commands that did more than read a SKILL.md or inspect files.
    #[serde(default)]
    pub effective_commands: u64,
    /// Turns, if the agent counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns: Option<u64>,
    /// The share of the case's trials that must pass, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// Maximum number of trials of its case, if the case runs until it is decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_trials: Option<u32>,
    /// Until when its case fails nothing, and why, if the case is in quarantine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<String>,
    /// The activated skills, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub activated: Vec<String>,
    /// How much of the skill's description entered the model's context; absent in a mode without skills.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub described: Option<DescriptionVisibility>,
    /// Tokens and cost of the last attempt.
    #[serde(flatten)]
    pub spent: AttemptCost,
    /// How often the agent was started: more than once if the provider was temporarily unavailable.
    #[serde(default = "once")]
    pub attempts: u32,
    /// The name of the mock model, if the answers are not a model's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scripted: Option<String>,
    /// The isolation of the agent; absent if not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isolation: Option<Isolation>,
    /// When it ended, RFC 3339, UTC; absent if no longer known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<String>,
    /// A digest of the prompt, the checks and the setup, without the skills; absent if the agent did not start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<String>,
    /// Whether its recording is aged: the names or descriptions of other skills changed since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aged: bool,
    /// Whether its case asks for more than was done.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// The first calls that no mock answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<String>,
    /// When it was measured, if it was kept of an earlier comparison. Its cost belongs to that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// The tags of its case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

fn once() -> u32 {
    1
}

impl TrialRecord {
    /// The record of an outcome after this many attempts.
    pub fn new(outcome: &Outcome, attempts: u32) -> Self {
        let grade = &outcome.grade;
        Self {
            id: outcome.id.clone(),
            run: String::new(),
            verdict: grade.verdict,
            score: grade.score,
            trouble: grade.trouble.clone(),
            checks: grade.checks.iter().map(|check| (check.id.clone(), check.status)).collect(),
            findings: FailedCheck::all(grade),
            settled: grade.metrics.settled,
            duration_ms: grade.metrics.duration_ms,
            effective_commands: grade.metrics.effective_commands,
            turns: grade.metrics.turns,
            threshold: grade.threshold,
            max_trials: grade.max_trials,
            quarantine: grade.quarantine.clone(),
            activated: grade.metrics.activations.iter().map(|activation| activation.skill.clone()).collect(),
            described: grade.metrics.described,
            spent: outcome.spent,
            attempts,
            scripted: outcome.scripted.clone(),
            inputs: outcome.inputs.clone(),
            aged: outcome.aged,
            partial: !grade.unsupported.is_empty(),
            unanswered: grade.metrics.unanswered.clone(),
            kept: outcome.kept.clone(),
            isolation: outcome.isolation,
            ended: None,
            tags: outcome.tags.clone(),
        }
    }

    /// What it cost this run.
    pub fn cost(&self) -> AttemptCost {
        if self.kept.is_some() { AttemptCost::default() } else { self.spent }
    }

    /// The failed checks; none of a trial that could not be measured.
    pub fn failed(&self) -> impl Iterator<Item = String> {
        let ids: Vec<&str> = self.checks.iter().map(|(id, _)| id.as_str()).collect();
        let checks = numbered(&ids).into_iter().zip(&self.checks).filter(|_| self.verdict == Verdict::Fail);
        checks.filter(|(_, (_, status))| *status == Status::Fail).map(|(name, _)| name)
    }
}

/// The most characters of an expectation or of what was found: a line of a report.
const MAX_FINDING: usize = 300;

/// A failed check: what it expected and what it found, cut to a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FailedCheck {
    /// Its name, numbered if several have the same id.
    pub check: String,
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
}

impl FailedCheck {
    /// The failed checks of a trial that failed.
    fn all(grade: &Grade) -> Vec<Self> {
        let named = grade.named_checks().into_iter().filter(|_| grade.verdict == Verdict::Fail);
        let failed = named.filter(|(_, check)| check.status == Status::Fail);
        failed
            .map(|(name, check)| Self { check: name, expected: line(&check.expected), found: line(&check.found) })
            .collect()
    }
}

fn line(text: &str) -> String {
    cut::start(&text.split_whitespace().collect::<Vec<_>>().join(" "), MAX_FINDING)
}

// What is chosen for a run.

/// What was chosen for a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunChoices {
    /// The cases.
    #[serde(flatten)]
    pub selection: TestSelection,
    /// Modes by name.
    pub modes: Vec<String>,
    /// The modes that stand in for default ones, by the names of those.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub default_modes: BTreeMap<String, String>,
    /// What holds for every case.
    #[serde(flatten)]
    pub overrides: Overrides,
    /// Whether recordings were replayed.
    pub replay: bool,
    /// Filters of test names, as of `cargo test`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
    /// The trials as `skill/case/mode`, if the other choices do not determine them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trials_by_name: Vec<String>,
    /// The part of these cases that the run has; absent if it has all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
}

impl RunChoices {
    /// These cases, by name.
    pub fn of_cases(cases: Vec<String>) -> Self {
        Self { selection: TestSelection { cases, ..TestSelection::default() }, ..Self::default() }
    }

    /// Whether these choices select cases.
    pub fn selects(&self) -> bool {
        self.selection != TestSelection::default() || !(self.filters.is_empty() && self.trials_by_name.is_empty())
    }

    /// These choices, with those of `earlier` as defaults. The selection of cases is one choice: naming a case drops an earlier
    /// suite.
    #[must_use]
    pub fn or(self, earlier: RunChoices) -> RunChoices {
        let cases = if self.selects() { self.clone() } else { earlier.clone() };
        RunChoices {
            modes: if self.modes.is_empty() { earlier.modes } else { self.modes },
            default_modes: if self.default_modes.is_empty() { earlier.default_modes } else { self.default_modes },
            overrides: self.overrides.or(earlier.overrides),
            replay: self.replay || earlier.replay,
            shard: self.shard.or(earlier.shard),
            ..cases
        }
    }
}

/// Declares what a run says for all cases: its type, what the settings say of it, and how they get it.
macro_rules! overrides {
    ($($(#[$meta:meta])* $field:ident: $type:ty, |$from:ident| $get:expr, |$to:ident, $value:ident| $set:expr;)*) => {
        /// What a run says for all cases, whatever the repository says; each is absent if not chosen.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct Overrides {
            $($(#[$meta])* pub $field: Option<$type>,)*
        }

        impl Overrides {
            /// These, with those of `earlier` as defaults.
            #[must_use]
            pub fn or(self, earlier: Self) -> Self {
                Self { $($field: self.$field.or(earlier.$field),)* }
            }

            /// Makes the settings say the same.
            pub fn apply(&self, settings: &mut Settings) {
                $(if let Some($value) = self.$field.clone() {
                    let $to = &mut *settings;
                    $set;
                })*
            }

            /// What the settings say of all this.
            pub fn of(settings: &Settings) -> Self {
                Self {
                    $($field: {
                        let $from = settings;
                        $get
                    },)*
                }
            }
        }
    };
}

overrides! {
    /// The model.
    model: String, |settings| settings.model.clone(), |settings, model| settings.model = Some(model);
    /// Trials of each case, whatever the case says.
    trials: Trials, |settings| settings.repetition.asked.trials,
        |settings, trials| settings.repetition.asked.trials = Some(trials);
    /// The share of a case's trials that must pass, whatever the case says.
    #[serde(skip_serializing_if = "Option::is_none")]
    threshold: f64, |settings| settings.repetition.asked.threshold,
        |settings, threshold| settings.repetition.asked.threshold = Some(threshold);
    /// Timeout in seconds of cases that set none.
    timeout_s: u64, |settings| Some(settings.timeout.as_secs()),
        |settings, seconds| settings.timeout = Duration::from_secs(seconds);
    /// When a live trial ends. A run that records runs its trials to their end, whatever evals.toml says.
    #[serde(skip_serializing_if = "Option::is_none")]
    stop: Stop, |settings| settings.stop.map(|_| settings.stops()), |settings, stop| settings.stop = Some(stop);
    /// Whether it began with `--untrusted`. Who resumes it says so again: what is untrusted is known before the settings are read.
    #[serde(skip_serializing_if = "Option::is_none")]
    untrusted: bool, |settings| settings.untrusted.then_some(true),
        |settings, untrusted| settings.untrusted = untrusted;
    /// What its agents reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    network: String, |settings| settings.network.reach.as_ref().map(ToString::to_string),
        // What cannot be read is no leave to reach all.
        |settings, reach| settings.network.reach = Some(reach.parse().unwrap_or(Network::Provider));
    /// The servers that they reach besides.
    #[serde(skip_serializing_if = "Option::is_none")]
    network_allow: Vec<String>,
        |settings| Some(settings.network.allowed.iter().map(ToString::to_string).collect::<Vec<_>>()).filter(|all| !all.is_empty()),
        |settings, servers| settings.network.allowed = servers.iter().filter_map(|server| server.parse().ok()).collect();
    /// The server that they ask in place of their provider's.
    #[serde(skip_serializing_if = "Option::is_none")]
    endpoint: String, |settings| settings.endpoint.clone(), |settings, url| settings.endpoint = Some(url);
    /// Whether the model's answers are those of recordings.
    #[serde(skip_serializing_if = "Option::is_none")]
    replay_model: bool, |settings| settings.replay_model.then_some(true), |settings, replay| settings.replay_model = replay;
    /// Whether every trial is judged, or none.
    judge: bool, |settings| settings.judge.wanted, |settings, judge| settings.judge.wanted = Some(judge);
    /// Votes of the judge on each trial.
    judge_votes: u32, |settings| Some(settings.judge.votes), |settings, votes| settings.judge.votes = votes;
}

// A run of the same cases in several variants: with and without a skill, or with several models.

/// What a run measures in several variants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct VariantRun {
    /// What it is to find out.
    #[serde(flatten)]
    pub question: VariantQuestion,
    /// The variants, in the order of reports.
    pub variants: Vec<Variant>,
    /// Trials of each case in each variant.
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub rounds: u32,
    /// The names of cases that were left out, with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<(String, String)>,
}

/// The question of a run of variants.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "question", rename_all = "kebab-case")]
pub enum VariantQuestion {
    /// Why a skill does not help.
    Diagnosis {
        /// The skill's slug.
        skill: String,
    },
    /// Which model is the cheapest within the margin of the best.
    CheapestModel {
        /// The tolerated loss in pass rate.
        margin: f64,
        /// The chance of each false result.
        alpha: f64,
    },
}

/// One of the variants.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Variant {
    /// Its name for users.
    pub name: String,
    /// The mode of its trials.
    pub mode: String,
}

impl Variant {
    /// No skills.
    pub const NONE: &str = "none";
    /// The prompt calls the skill.
    pub const FORCED: &str = "forced";
    /// The agent is offered all skills, and the model decides.
    pub const ROUTED: &str = "routed";
    /// The agent is offered only this skill.
    pub const ALONE: &str = "alone";
}
