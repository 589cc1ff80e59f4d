//! The trials of a run that ended, the status of the run, and why planned trials of it have no result.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::{BuildHasher, RandomState};

use serde::{Deserialize, Serialize};

use crate::decide::threshold::ThresholdSide;
use crate::process::background;
use crate::results::summary::{CaseCounts, Summary, TrialCounts};
use crate::results::{graded_trial, is_default};
use crate::settings::Prices;
use crate::stats::Interval;
use crate::store::{RunFolder, StoreError, UnconfirmedTrials};
use crate::trial::event::CurrentTrials;
use crate::trial::evidence::AgentMeta;
use crate::trial::id::{CaseInMode, TrialId};
use crate::trial::outcome::AttemptCost;
use crate::trial::outcome::NotRun;
use crate::trial::outcome::Verdict;
use crate::trial::run_record::{RunEndKind, RunRecord, TrialRecord};

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct RunStatus {
    pub id: String,
    pub state: RunState,
    /// Why the run did not measure everything, if a result could not be stored, or its login has a limit of hours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The process that runs it, or ran it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// The number of planned trials, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned: Option<usize>,
    /// The trials that ended.
    pub done: TrialCounts,
    /// The pass rate, cases weighted equally. Absent if nothing was measured, and for a comparison.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub share: Option<f64>,
    /// The 95 % confidence interval of `share`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    pub not_passed: Vec<UnpassedTrial>,
    /// The running trials; those that were running when the run was killed.
    pub running: Vec<RunningTime>,
    /// The number of planned trials that did not end, running ones included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining: Option<usize>,
    /// The cases that run until they are decided.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<UndecidedCase>,
    /// Where the progress file differs from the grades of the trials.
    #[serde(flatten)]
    pub differences: ProgressDifferences,
    /// Unreadable lines of the file of pairs.
    #[serde(skip_serializing_if = "is_default")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub damaged_pairs: usize,
    /// Whether the run is a comparison, which `compare` resumes.
    #[serde(skip_serializing_if = "is_default")]
    pub compares: bool,
    /// How to measure what it did not.
    #[serde(skip)]
    pub remedy: String,
    /// Whether the run replayed recordings.
    #[serde(skip)]
    pub replayed: bool,
    /// The number of undecided cases that may have further trials.
    #[serde(skip)]
    pub open: usize,
    /// The number of trials that would run again because they could not be measured.
    #[serde(skip)]
    pub again: usize,
}

/// A case that runs until it is decided.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct UndecidedCase {
    #[serde(flatten)]
    pub key: CaseInMode,
    #[serde(flatten)]
    pub counts: CaseCounts,
    pub threshold_side: ThresholdSide,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RunState {
    /// One or more processes run it.
    Running,
    /// All its trials ended.
    Finished,
    /// Ctrl-C or a signal ended it early.
    Interrupted,
    /// `stop` ended it early.
    Stopped,
    /// A result could not be stored, so the run started nothing more.
    NotStored,
    /// No process runs it, and it did not end by itself: it was killed, or the machine went down.
    Killed,
}

/// A trial that ended and did not pass.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct UnpassedTrial {
    pub trial: String,
    pub verdict: Verdict,
    /// The failed checks, or why nothing was measured.
    pub why: String,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct RunningTime {
    pub trial: String,
    /// How long it has been running.
    pub seconds: u64,
}

impl RunState {
    pub fn as_str(self) -> &'static str {
        match self {
            RunState::Running => "running",
            RunState::Finished => "finished",
            RunState::Interrupted => "interrupted",
            RunState::Stopped => "stopped",
            RunState::NotStored => "cut short",
            RunState::Killed => "killed",
        }
    }
}

impl UnpassedTrial {
    fn of(record: &TrialRecord) -> Option<Self> {
        let why = match (&record.trouble, record.verdict) {
            (_, Verdict::Pass) => return None,
            (_, Verdict::Fail) => record.failed().collect::<Vec<_>>().join(", "),
            (Some(trouble), _) => trouble.to_string(),
            (None, _) => String::new(),
        };
        Some(Self { trial: record.id.to_string(), verdict: record.verdict, why })
    }
}

/// The status of a run, by its files and by the processes that exist.
pub fn standing(run: &RunFolder) -> Result<RunStatus, StoreError> {
    let live = is_live(run);
    // If run.json is damaged, report at least what was measured.
    let record = run.run_record().ok().flatten();
    let mut summary = Summary { threshold: 1.0, ..Summary::default() };
    let (mut not_passed, mut current) = (BTreeMap::new(), run.current());
    let progress = each_ended(run, |record| {
        summary.add(record);
        not_passed.extend(UnpassedTrial::of(record).map(|trial| (record.id.clone(), trial)));
        current.running.retain(|trial| trial.id != record.id);
    })?;
    for (id, spent) in &progress.refused {
        summary.add_refused(id, *spent);
    }
    let planned = planned(run, add_plan(&mut summary, run)?);
    let done = summary.total;
    let remaining = planned.map(|planned| planned.saturating_sub(done.ended()));
    let compares = record.as_ref().is_some_and(|record| record.sides.is_some());
    let is_comparison = record.as_ref().is_some_and(RunRecord::compares);
    summary.comparisons.extend(is_comparison.then(|| run.id().to_owned()));
    let (replayed, grows) = record.as_ref().map_or((false, false), |record| (record.chosen.replay, record.grows));
    let open = summary.cases.values().filter(|case| case.is_open()).count();
    let again = summary.cases.values().map(CaseCounts::not_measured).sum();
    let (how, why) = record.and_then(|record| record.ended).map(|ended| (ended.how, ended.why)).unzip();
    let state = match (live, remaining, how) {
        (true, ..) => RunState::Running,
        (_, _, Some(RunEndKind::NotStored)) => RunState::NotStored,
        // A run that finished its plan may have trials left that could not run. Some runs plan as they go.
        (_, Some(0), _) if !compares && (open == 0 || !grows) => RunState::Finished,
        (_, _, Some(RunEndKind::Finished)) => RunState::Finished,
        (_, _, Some(RunEndKind::Interrupted)) => RunState::Interrupted,
        (_, _, Some(RunEndKind::Stopped)) => RunState::Stopped,
        (_, _, None) => RunState::Killed,
    };
    let (share, interval) = summary.share().unzip();
    let undecided = summary.cases.into_iter().filter_map(|(key, counts)| {
        let threshold_side = counts.side()?;
        Some(UndecidedCase { key, counts, threshold_side })
    });
    Ok(RunStatus {
        id: run.id().to_owned(),
        why: why.flatten().filter(|_| state != RunState::Running),
        state,
        pid: run.runner().map(|runner| runner.pid),
        planned,
        remaining,
        not_passed: not_passed.into_values().collect(),
        running: running(&current, live),
        done,
        share,
        interval,
        undecided: undecided.collect(),
        differences: progress.differences,
        damaged_pairs: run.damaged_pairs()?,
        compares,
        remedy: run.remedy(),
        replayed,
        open,
        again,
    })
}

fn add_plan(summary: &mut Summary, run: &RunFolder) -> Result<usize, StoreError> {
    let (mut plan, hasher) = (HashSet::new(), RandomState::new());
    run.each_planned(|line| {
        summary.add_planned(&line);
        plan.insert(hasher.hash_one(&line.id));
    })?;
    Ok(plan.len())
}

/// The trials among these that have not ended.
fn running(current: &CurrentTrials, live: bool) -> Vec<RunningTime> {
    let now = jiff::Timestamp::now();
    let until = if live { now } else { current.updated.parse().unwrap_or(now) };
    let mut times = Vec::new();
    for trial in &current.running {
        let since: jiff::Timestamp = trial.since.parse().unwrap_or(until);
        let seconds = u64::try_from(until.duration_since(since).as_secs()).unwrap_or_default();
        times.push(RunningTime { trial: trial.id.to_string(), seconds });
    }
    times
}

/// The number of planned trials, of which the run's plan has this many; `None` if it was never written.
pub fn planned(run: &RunFolder, in_plan: usize) -> Option<usize> {
    if in_plan > 0 { Some(in_plan) } else { run.run_record().ok().flatten().map(|record| record.planned) }
}

/// Whether a process runs this run: it has the lock, or it starts a process for each trial and none is running now.
pub fn is_live(run: &RunFolder) -> bool {
    run.is_live() || run.runner().is_some_and(|runner| runner.shared && background::lives(runner))
}

/// The reasons of a run's trials without a result.
#[derive(Debug)]
pub struct NotRunReasons {
    by_case: BTreeMap<CaseInMode, NotRun>,
    /// The reason of trials whose case the run's summary does not explain.
    pub otherwise: NotRun,
}

/// The part of a case in a stored summary that is needed here.
#[derive(Deserialize)]
struct StoredReason {
    #[serde(flatten)]
    key: CaseInMode,
    #[serde(default)]
    not_run: BTreeMap<String, usize>,
}

impl NotRunReasons {
    /// Files that cannot be read give no reasons.
    pub fn of(run: &RunFolder) -> Self {
        let state = standing(run).map_or(RunState::Finished, |status| status.state);
        let otherwise = match state {
            RunState::Running => NotRun::Other("the run is still running".to_owned()),
            RunState::Finished => NotRun::Other("it has no result in the run's directory".to_owned()),
            RunState::Interrupted => NotRun::Interrupted,
            RunState::Stopped => NotRun::Other("the run was stopped".to_owned()),
            RunState::NotStored => NotRun::NotStored,
            RunState::Killed => NotRun::Other("the run was killed".to_owned()),
        };
        let mut summary = run.summary().unwrap_or_default();
        let cases: Vec<serde_json::Value> = serde_json::from_value(summary["cases"].take()).unwrap_or_default();
        let mut by_case = BTreeMap::new();
        for case in cases {
            let Ok(case) = serde_json::from_value::<StoredReason>(case) else { continue };
            if !case.not_run.is_empty() {
                let why = case.not_run.into_keys().collect::<Vec<_>>().join(" or ");
                by_case.insert(case.key, NotRun::of_text(why));
            }
        }
        Self { by_case, otherwise }
    }

    pub fn why(&self, id: &TrialId) -> &NotRun {
        self.by_case.get(&CaseInMode::of(id)).unwrap_or(&self.otherwise)
    }
}

// The trials of a run that ended, with the figures of their grades, and the versions of their agents.

/// What a run has besides its trials, and where its progress file differed from their grades.
#[derive(Clone, Debug, Default)]
pub struct RestOfProgress {
    /// Further attempts whose cost counts.
    pub refused: Vec<(TrialId, AttemptCost)>,
    pub differences: ProgressDifferences,
}

/// Where a progress file differs from the grades of its trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ProgressDifferences {
    /// Lines that are not as they were written.
    pub damaged_lines: usize,
    /// Trials that it lacks or has with another grade, and which were read from their grades.
    #[serde(skip_serializing_if = "is_default")]
    pub read_from_grades: usize,
}

impl ProgressDifferences {
    /// Those of two runs together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            damaged_lines: self.damaged_lines + other.damaged_lines,
            read_from_grades: self.read_from_grades + other.read_from_grades,
        }
    }
}

/// Calls `take` with each trial of the run that ended. Fails if a part of the run is missing.
pub fn each_ended(run: &RunFolder, take: impl FnMut(&TrialRecord)) -> Result<RestOfProgress, StoreError> {
    each_ended_of(run, |rest| rest.of_whole(run), take)
}

/// The trials of the run that ended. Fails if a part of the run is missing.
pub fn all_ended(run: &RunFolder) -> Result<(BTreeMap<TrialId, TrialRecord>, RestOfProgress), StoreError> {
    let mut records = BTreeMap::new();
    let rest = each_ended(run, |record| _ = records.insert(record.id.clone(), record.clone()))?;
    Ok((records, rest))
}

/// The same of what is left of a run.
pub fn all_ended_here(run: &RunFolder) -> Result<(BTreeMap<TrialId, TrialRecord>, RestOfProgress), StoreError> {
    let mut records = BTreeMap::new();
    let rest = each_ended_of(run, Ok, |record| _ = records.insert(record.id.clone(), record.clone()))?;
    Ok((records, rest))
}

fn each_ended_of(
    run: &RunFolder,
    check: impl FnOnce(UnconfirmedTrials) -> Result<UnconfirmedTrials, StoreError>,
    mut take: impl FnMut(&TrialRecord),
) -> Result<RestOfProgress, StoreError> {
    let mut attempts = BTreeMap::new();
    let rest = run.each_confirmed(|line| {
        let Ok(record) = serde_json::from_slice::<TrialRecord>(line) else { return };
        attempts.extend((record.attempts > 1).then(|| (record.id.clone(), record.attempts)));
        take(&record);
    })?;
    let mut rest = check(rest)?;
    rest.noted.add_lost_attempts(&attempts);
    read_grades(run, rest, take)
}

/// Calls `take` with the trials that the progress file lacks, or has for another grade. A grade that is damaged is an error. Their
/// costs are by the built-in prices.
pub(super) fn read_grades(
    run: &RunFolder,
    rest: UnconfirmedTrials,
    mut take: impl FnMut(&TrialRecord),
) -> Result<RestOfProgress, StoreError> {
    let UnconfirmedTrials { graded, mut noted, .. } = rest;
    let differences = ProgressDifferences {
        damaged_lines: noted.damaged,
        // The last trials of a running run have no line yet.
        read_from_grades: if run.is_live() { 0 } else { graded.len() },
    };
    for folder in graded {
        let row = TrialRecord { run: String::new(), ..graded_trial::row(&folder, &Prices::default())? };
        let id = row.id.clone();
        noted.insert(row);
        noted.records.get(&id).into_iter().for_each(&mut take);
        noted.records.remove(&id);
    }
    // A trial that runs again has not ended.
    let again = noted.records.into_values().map(|record| (record.id, record.spent));
    let refused = noted.refused.into_iter().chain(again).collect();
    Ok(RestOfProgress { refused, differences })
}

/// The versions of agents in trials that are read together.
#[derive(Debug, Default)]
pub struct AgentVersions(BTreeMap<&'static str, BTreeSet<String>>);

impl AgentVersions {
    /// Adds the agent of a trial, if it reported its version.
    pub fn add(&mut self, agent: AgentMeta) {
        if let Some(version) = agent.version {
            self.0.entry(agent.kind.as_str()).or_default().insert(version);
        }
    }

    /// The agents of several versions, with these: `codex 0.144.1, 0.145.0`.
    pub fn mixed(&self) -> Vec<String> {
        let mixed = self.0.iter().filter(|(_, versions)| versions.len() > 1);
        let list = |versions: &BTreeSet<String>| versions.iter().cloned().collect::<Vec<_>>().join(", ");
        mixed.map(|(agent, versions)| format!("{agent} {}", list(versions))).collect()
    }
}
