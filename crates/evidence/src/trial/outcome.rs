//! The outcome of a trial: checks, a verdict, metrics that can be compared over time, and what it took; or why there is none.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize, Serializer};

use crate::settings::mode::AgentKind;
use crate::settings::{CostSource, Isolation, Prices};
use crate::text::diagnostic::Diagnostic;
use crate::text::problem::Problem;
use crate::text::word_enum::word_enum;
use crate::trace::exposure::DescriptionVisibility;
use crate::trace::{Activation, Resource, Usage};
use crate::trial::id::TrialId;
use crate::trial::span::Span;

pub use crate::trace::trouble::{Trouble, TroubleKind};

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
    /// Until when the case fails nothing, and why, if it was in quarantine when this was graded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<String>,
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
    /// The first calls that no mock answered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<String>,
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

// Why a trial has no result.

/// Why a trial has no result. Two with the same text are the same, since runs are stored with the text.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(with = "String"))]
pub enum NotRun {
    /// The case, or something that it needs, is invalid.
    BadCase,
    /// The case asks for what this program does not do.
    Unsupported,
    /// No recording was found.
    NotRecorded,
    /// The case or the skills have changed since the recording.
    Stale,
    /// The recording, or the result of an earlier part of the run, cannot be read or graded.
    Unreadable,
    /// The run could not be opened.
    NotOpened,
    /// The run was interrupted.
    Interrupted,
    /// The run reached its cost limit, in US dollars.
    CostLimit(f64),
    /// The run reached its token limit.
    TokenLimit(u64),
    /// This many attempts used tokens without a price, so a limit in dollars cannot be enforced.
    NoPrice(u32),
    /// None of this many attempts reported its usage, so a limit cannot be enforced.
    UsageUnknown(u32),
    /// The result of an earlier trial could not be stored.
    NotStored,
    /// Its credentials have a limit that lasts longer than the run waits.
    UsageLimit,
    /// The provider of its credentials could not be reached.
    Unreachable,
    /// What a stored run says, on which nothing depends.
    Other(String),
}

impl NotRun {
    /// Why, as a stored run says it.
    pub fn of_text(text: String) -> Self {
        let known =
            [Self::BadCase, Self::Unsupported, Self::NotRecorded, Self::Stale, Self::Unreadable, Self::NotOpened];
        known.into_iter().find(|why| why.text() == text).unwrap_or(Self::Other(text))
    }

    /// Why, in words.
    pub fn text(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Self::BadCase => "the case is wrong",
            Self::Unsupported => "the case asks for something unsupported",
            Self::NotRecorded => "no recording",
            Self::Stale => "the recording is stale",
            Self::Unreadable => "a file cannot be read",
            Self::NotOpened => "the run could not be opened",
            Self::Interrupted => "the run was interrupted",
            Self::NotStored => "an earlier result of the run could not be stored",
            Self::UsageLimit => "the usage limit of its login is reached",
            Self::Unreachable => "its provider cannot be reached",
            Self::Other(text) => text,
            Self::CostLimit(limit) => return format!("the run has cost its limit of ${limit}").into(),
            Self::TokenLimit(limit) => return format!("the run has taken its limit of {limit} tokens").into(),
            Self::NoPrice(attempts) => {
                let used = if *attempts == 1 { "1 attempt used" } else { &format!("{attempts} attempts used") };
                return format!(
                    "the limit in dollars cannot be enforced: {used} a model without a price; set it under [prices] in \
                     evals/evals.toml, or limit tokens"
                )
                .into();
            }
            Self::UsageUnknown(attempts) => {
                return format!(
                    "the limit cannot be enforced: none of {attempts} attempts reported its usage; to run without a \
                     limit, leave out --max-tokens and --max-cost-usd"
                )
                .into();
            }
        })
    }
}

impl fmt::Display for NotRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl PartialEq for NotRun {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for NotRun {}

impl PartialOrd for NotRun {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for NotRun {
    fn cmp(&self, other: &Self) -> Ordering {
        self.text().cmp(&other.text())
    }
}

impl Serialize for NotRun {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

// The cost of a trial, or of an attempt at one, in tokens and money.

/// The known cost of an attempt, of the agent and its judge together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct AttemptCost {
    /// Tokens read and written, if reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// US dollars, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// What the dollars are known by; absent if the agents reported them.
    #[serde(default, skip_serializing_if = "CostSource::is_reported")]
    pub cost_by: CostSource,
    /// The tokens that were read from a cache, if any are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_tokens: Option<u64>,
    /// How many US dollars more it would have cost without caches, by `prices`; absent if that is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_usd: Option<f64>,
    /// Whether it used more tokens than are known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tokens_incomplete: bool,
    /// Whether it cost more than is known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cost_incomplete: bool,
}

impl AttemptCost {
    /// The cost of one program: as it reported, or by `prices` if it reported no cost. `models` are the names of its model.
    pub fn by(agent: AgentKind, models: &[&str], usage: Option<&Usage>, prices: &Prices) -> Self {
        let Some(usage) = usage else {
            return Self { tokens_incomplete: true, cost_incomplete: true, ..Self::default() };
        };
        let reported = usage.cost_usd.map(|cost| (cost, CostSource::Reported));
        let known = prices.of(agent.as_str(), models);
        let by_price = || known.map(|(by, source)| (price(usage, by), source));
        let is_cached = usage.cached_input_tokens > 0 || usage.cache_write_input_tokens > 0;
        let (cost_usd, cost_by) = reported.or_else(by_price).unzip();
        Self {
            tokens: Some(usage.total_tokens()),
            cost_usd,
            cost_by: cost_by.unwrap_or_default(),
            cached_tokens: is_cached.then_some(usage.cached_input_tokens),
            saved_usd: known.filter(|_| is_cached).map(|(by, _)| saved(usage, by)),
            tokens_incomplete: false,
            cost_incomplete: cost_usd.is_none(),
        }
    }

    /// The cost of both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            tokens: sum(self.tokens, other.tokens, u64::saturating_add),
            cost_usd: sum(self.cost_usd, other.cost_usd, std::ops::Add::add),
            cost_by: match (self.cost_usd, other.cost_usd) {
                (None, _) => other.cost_by,
                (_, None) => self.cost_by,
                _ if self.cost_by == other.cost_by => self.cost_by,
                _ => CostSource::Several,
            },
            cached_tokens: sum(self.cached_tokens, other.cached_tokens, u64::saturating_add),
            saved_usd: sum(self.saved_usd, other.saved_usd, std::ops::Add::add),
            tokens_incomplete: self.tokens_incomplete || other.tokens_incomplete,
            cost_incomplete: self.cost_incomplete || other.cost_incomplete,
        }
    }
}

/// The sum of the known values; `None` if none is known.
fn sum<T>(a: Option<T>, b: Option<T>, both: fn(T, T) -> T) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(both(a, b)),
        (a, b) => a.or(b),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^52")]
fn price(usage: &Usage, price: crate::settings::Price) -> f64 {
    let (all, output) = (usage.input_tokens as f64, usage.output_tokens as f64);
    (all * price.input + output * price.output) / 1e6 - saved(usage, price)
}

/// What reading from a cache saved, less what writing to it cost more.
#[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^52")]
fn saved(usage: &Usage, price: crate::settings::Price) -> f64 {
    let read = usage.cached_input_tokens.min(usage.input_tokens);
    let written = usage.cache_write_input_tokens.min(usage.input_tokens - read);
    (read as f64 * (price.input - price.cached_input) - written as f64 * (price.cache_write - price.input)) / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_decides_an_exit_code_is_known_again_in_a_stored_run() {
        let deciding = [NotRun::BadCase, NotRun::NotRecorded, NotRun::Stale, NotRun::Unreadable, NotRun::NotOpened];
        for why in deciding {
            let stored = NotRun::of_text(why.to_string());
            assert!(!matches!(stored, NotRun::Other(_)), "{why}");
            assert_eq!(stored, why);
        }
        assert!(matches!(NotRun::of_text("the run was killed".to_owned()), NotRun::Other(_)));
    }

    #[test]
    fn no_number_that_an_agent_reports_is_too_large() {
        let most = AttemptCost { tokens: Some(u64::MAX), ..AttemptCost::default() };
        assert_eq!(most.and(most).tokens, Some(u64::MAX));
    }

    fn usage(cost_usd: Option<f64>) -> Usage {
        Usage {
            input_tokens: 1_000_000,
            cached_input_tokens: 400_000,
            output_tokens: 10_000,
            cost_usd,
            ..Usage::default()
        }
    }

    #[test]
    fn a_price_fills_in_only_what_the_agent_did_not_tell() {
        let mut prices = Prices::default();
        let of = |prices: &Prices, cost| AttemptCost::by(AgentKind::Codex, &["big"], Some(&usage(cost)), prices);
        assert_eq!((of(&prices, None).cost_usd, of(&prices, None).cost_incomplete), (None, true));
        prices.0.insert(
            "codex".into(),
            crate::settings::Price { input: 1.0, cached_input: 0.1, cache_write: 1.0, output: 10.0 },
        );
        assert!(of(&prices, None).cost_usd.is_some_and(|cost| (cost - 0.74).abs() < 1e-9));
        prices.0.insert(
            "big".into(),
            crate::settings::Price { input: 2.0, cached_input: 2.0, cache_write: 2.0, output: 0.0 },
        );
        assert_eq!((of(&prices, None).cost_usd, of(&prices, Some(0.5)).cost_usd), (Some(2.0), Some(0.5)));
    }

    #[test]
    fn what_a_sum_is_known_by_is_never_mixed_silently() {
        let of = |model, cost| AttemptCost::by(AgentKind::Codex, &[model], Some(&usage(cost)), &Prices::default());
        let (told, table, unknown) = (of("x", Some(0.5)), of("gpt-5.4", None), of("x", None));
        assert_eq!((told.cost_by, table.cost_by), (CostSource::Reported, CostSource::Table));
        assert!(table.cost_usd.is_some_and(|cost| (cost - (0.6 * 2.5 + 0.4 * 0.25 + 0.15)).abs() < 1e-9));
        assert_eq!((table.and(table).cost_by, unknown.and(table).cost_by), (CostSource::Table, CostSource::Table));
        assert_eq!(
            (told.and(table).cost_by, AttemptCost::default().and(told).cost_by),
            (CostSource::Several, CostSource::Reported)
        );
    }

    #[test]
    fn what_caches_saved_is_what_reads_cost_less_and_writes_cost_more() {
        let cached = |written, cost| Usage { cache_write_input_tokens: written, ..usage(cost) };
        let of =
            |model, usage: Usage| AttemptCost::by(AgentKind::ClaudeCli, &[model], Some(&usage), &Prices::default());
        let near = |amount: Option<f64>, expected: f64| amount.is_some_and(|amount| (amount - expected).abs() < 1e-9);
        let read = of("claude-haiku-4-5", cached(0, Some(9.0)));
        assert_eq!((read.cached_tokens, read.cost_usd), (Some(400_000), Some(9.0)), "as the agent reported it");
        assert!(near(read.saved_usd, 0.4 * 0.9), "{read:?}");
        let both = of("claude-haiku-4-5", cached(200_000, None));
        assert!(near(both.saved_usd, 0.4 * 0.9 - 0.2 * 0.25), "{both:?}");
        assert!(near(both.cost_usd, 0.4 * 0.1 + 0.2 * 1.25 + 0.4 + 0.05), "{both:?}");
        assert!(near(read.and(both).saved_usd, 0.8 * 0.9 - 0.2 * 0.25));
        assert_eq!((of("x", cached(0, None)).saved_usd, of("x", cached(0, None)).cached_tokens), (None, Some(400_000)));
        // An agent that claims more than it read.
        assert!(near(of("claude-haiku-4-5", cached(u64::MAX, None)).saved_usd, 0.4 * 0.9 - 0.6 * 0.25));
    }

    #[test]
    fn a_sum_with_an_unknown_part_says_that_there_is_more() {
        let known = AttemptCost { tokens: Some(5), cost_usd: Some(0.5), ..AttemptCost::default() };
        let both = known.and(AttemptCost::by(AgentKind::Codex, &[], None, &Prices::default()));
        assert_eq!(
            (both.tokens, both.cost_usd, both.tokens_incomplete, both.cost_incomplete),
            (Some(5), Some(0.5), true, true)
        );
    }
}
