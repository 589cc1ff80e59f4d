//! Where a run stands.

use serde::Serialize;

use crate::decide::threshold::ThresholdSide;
use crate::process::background;
use crate::results::summary::{CaseCounts, Summary, TrialCounts};
use crate::stats::Interval;
use crate::store::{LedgerContents, RunFolder, StoreError};
use crate::trial::id::CaseInMode;
use crate::trial::outcome::Verdict;
use crate::trial::run_record::{RunEndKind, TrialRecord};

/// Where a run stands.
#[derive(Clone, Debug, Serialize)]
pub struct RunStatus {
    /// The run's id.
    pub id: String,
    /// What it is doing.
    pub state: RunState,
    /// Why it ended before its end, if a result could not be stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The process that runs it, or ran it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<i32>,
    /// How many trials it has, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned: Option<usize>,
    /// The trials that have ended.
    pub done: TrialCounts,
    /// The mean of the cases' shares of passed trials, each weighing the same; absent where nothing was measured, and where
    /// the trials are of two arms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Where the true mean may lie, with a confidence of 95 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<Interval>,
    /// Those that failed, with the checks that did, and those that measured nothing, with why.
    pub not_passed: Vec<UnpassedTrial>,
    /// Those under way; of a run that was killed, those that were.
    pub running: Vec<RunningTime>,
    /// How many have not ended, those under way included: what is done and what is left are what was planned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining: Option<usize>,
    /// Cases that go on until they are decided.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<UndecidedCase>,
    /// Lines of the progress file that could not be read.
    pub damaged_lines: usize,
    /// Lines of the file of pairs that could not be read.
    #[serde(skip_serializing_if = "is_none")]
    pub damaged_pairs: usize,
    /// Whether it compares two arms: `compare` goes on with it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub compares: bool,
    /// Whether it replayed recordings.
    #[serde(skip)]
    pub replayed: bool,
    /// How many cases go on until they are decided, are not, and may have further trials.
    #[serde(skip)]
    pub open: usize,
    /// How many trials measured nothing and would be run again.
    #[serde(skip)]
    pub again: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

/// A case that goes on until it is decided.
#[derive(Clone, Debug, Serialize)]
pub struct UndecidedCase {
    /// Which, in which mode.
    #[serde(flatten)]
    pub key: CaseInMode,
    /// Its trials so far.
    #[serde(flatten)]
    pub counts: CaseCounts,
    /// What they tell.
    pub threshold_side: ThresholdSide,
}

/// What a run is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// A process runs it, or several do.
    Running,
    /// All its trials have ended.
    Finished,
    /// Ctrl-C or a signal ended it before its end.
    Interrupted,
    /// `stop` ended it before its end.
    Stopped,
    /// A result could not be stored: it started nothing more.
    #[serde(rename = "not-stored")]
    NotStored,
    /// It runs no more and did not come to its end: killed, or the machine went down.
    Killed,
}

/// A trial that ended and did not pass.
#[derive(Clone, Debug, Serialize)]
pub struct UnpassedTrial {
    /// Which.
    pub trial: String,
    /// What it came to.
    pub verdict: Verdict,
    /// The checks that failed, or why nothing was measured.
    pub why: String,
}

/// A trial under way.
#[derive(Clone, Debug, Serialize)]
pub struct RunningTime {
    /// Which.
    pub trial: String,
    /// Since when, in seconds.
    pub seconds: u64,
}

impl RunState {
    /// The state in a word.
    #[must_use]
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

/// Where a run stands, by its files and by the processes that there are.
///
/// # Errors
/// When its files cannot be read.
pub fn standing(run: &RunFolder) -> Result<RunStatus, StoreError> {
    let live = is_live(run);
    let progress = run.progress()?;
    // A damaged run.json is no reason to be silent about what was measured.
    let record = run.run_record().ok().flatten();
    let planned = planned(run)?;
    let mut summary = Summary::new(Vec::new(), 1.0);
    let mut not_passed = Vec::new();
    for record in progress.records.values() {
        summary.add(record);
        not_passed.extend(UnpassedTrial::of(record));
    }
    for (id, spent) in &progress.refused {
        summary.add_refused(id, *spent);
    }
    for line in &run.plan_lines()? {
        summary.add_planned(line);
    }
    let done = summary.total;
    let left = planned.map(|planned| planned.saturating_sub(done.ended()));
    let compares = record.as_ref().is_some_and(|record| record.sides.is_some());
    summary.comparisons.extend(compares.then(|| run.id().to_owned()));
    let replayed = record.as_ref().is_some_and(|record| record.chosen.replay);
    let grows = record.as_ref().is_some_and(|record| record.grows);
    let open = summary.cases.values().filter(|case| case.is_open()).count();
    let again = summary.cases.values().map(CaseCounts::not_measured).sum();
    let (how, why) = record.and_then(|record| record.ended).map(|ended| (ended.how, ended.why)).unzip();
    let state = match (live, left, how) {
        (true, ..) => RunState::Running,
        (_, _, Some(RunEndKind::NotStored)) => RunState::NotStored,
        // Trials that could not run at all are left over by a run that went through its plan. Some plan as they go.
        (_, Some(0), _) if !compares && (open == 0 || !grows) => RunState::Finished,
        (_, _, Some(RunEndKind::Finished)) => RunState::Finished,
        (_, _, Some(RunEndKind::Interrupted)) => RunState::Interrupted,
        (_, _, Some(RunEndKind::Stopped)) => RunState::Stopped,
        (_, _, None) => RunState::Killed,
    };
    let (share, interval) = summary.share().unzip();
    let deciding = summary.cases.into_iter().filter_map(|(key, counts)| {
        let stands = counts.side()?;
        Some(UndecidedCase { key, counts, threshold_side: stands })
    });
    Ok(RunStatus {
        id: run.id().to_owned(),
        why: why.flatten().filter(|_| state == RunState::NotStored),
        state,
        pid: run.runner().map(|runner| runner.pid),
        planned,
        remaining: left,
        not_passed,
        running: running(run, &progress, live),
        done,
        share,
        interval,
        undecided: deciding.collect(),
        damaged_lines: progress.damaged,
        damaged_pairs: run.damaged_pairs()?,
        compares,
        replayed,
        open,
        again,
    })
}

/// The trials under way; of a run that was killed, those that were.
fn running(run: &RunFolder, progress: &LedgerContents, live: bool) -> Vec<RunningTime> {
    let (now, current) = (jiff::Timestamp::now(), run.current());
    let until = if live { now } else { current.updated.parse().unwrap_or(now) };
    let seconds = |since: &str| {
        let since: jiff::Timestamp = since.parse().unwrap_or(until);
        u64::try_from(until.duration_since(since).as_secs()).unwrap_or_default()
    };
    let running = current.running.iter().filter(|running| !progress.records.contains_key(&running.id));
    running.map(|running| RunningTime { trial: running.id.to_string(), seconds: seconds(&running.since) }).collect()
}

/// How many trials the run has; `None` where that was never written.
///
/// # Errors
/// When its plan cannot be read.
pub fn planned(run: &RunFolder) -> Result<Option<usize>, StoreError> {
    let plan = run.plan()?.len();
    Ok(if plan > 0 { Some(plan) } else { run.run_record().ok().flatten().map(|record| record.planned) })
}

/// Whether a process runs the run: it has the lock, or it is the one that starts a process for each trial, none of which
/// may run at this very moment.
#[must_use]
pub fn is_live(run: &RunFolder) -> bool {
    run.is_live() || run.runner().is_some_and(|runner| runner.shared && background::lives(runner))
}
