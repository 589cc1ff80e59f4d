//! Turns finished trials into recordings: evidence small enough for a repository, without this machine's paths.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use walkdir::WalkDir;

use crate::agent;
use crate::agent::trial_env::without_rooms;
use crate::cases::test_case::TestCase;
use crate::files::at::PathError;
use crate::grade::share::TrialTally;
use crate::report::rate;
use crate::results::share::CaseShare;
use crate::results::summary::CaseCounts;
use crate::run::context::RunContext;
use crate::run::plan::{PlannedCase, RunPlan};
use crate::run::ready;
use crate::run::trial;
use crate::stats::proportion::Rate;
use crate::store::{self, RunFolder, StagedRecordings, StoreError, TrialFolder};
use crate::text::diagnostic::shown_path;
use crate::trial::id::TrialId;
use crate::trial::outcome::{NoOutcome, Verdict};

/// Most bytes of the files that the agent made that a recording keeps, all together: checks of a repository's own may
/// read them.
const MAX_WORKSPACE: u64 = 64 << 10;

/// What is done with trials that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedTrials {
    /// They are recorded: a test that fails is to fail in replay too.
    Keep,
    /// They are left out, and what was recorded before stays.
    LeaveOut,
}

/// The result of recording the trials of a case in a mode.
#[derive(Debug)]
pub struct RecordedTrials {
    /// The case and the mode, as the first of its trials.
    pub id: TrialId,
    /// What the earlier recording replays to; `None` where there was none.
    pub before: Option<ReplayResult>,
    /// The result for the new one.
    pub now: RecordingResult,
}

/// What replaying a recording comes to.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "verdicts", rename_all = "kebab-case")]
pub enum ReplayResult {
    /// How its trials ended.
    Ended(TrialEndings),
    /// It is stale: the case, a skill or a setting has changed since.
    Stale,
    /// It cannot be read.
    Unreadable,
}

/// How the trials of a recording ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct TrialEndings {
    /// In order.
    verdicts: Vec<Verdict>,
    /// Whether they went on until they decided something.
    until_decided: bool,
}

impl Serialize for TrialEndings {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.verdicts.serialize(serializer)
    }
}

/// The result for a new recording.
#[derive(Debug)]
pub enum RecordingResult {
    /// It was written, and replays to this.
    Kept(ReplayResult, PathBuf),
    /// It was not written: it replays to this, and failing ones were to be left out.
    Failing(ReplayResult),
    /// There is nothing to record: these trials measured nothing, or were not run.
    NotMeasured,
}

/// Records what the run measured of these cases in modes, in place of what was recorded of them before: its trials that
/// measured something, numbered from 1.
pub fn record(run: &RunContext, plan: &RunPlan, failing: FailedTrials) -> Result<Vec<RecordedTrials>, StoreError> {
    let Some(live) = run.opened() else { return Ok(Vec::new()) };
    plan.entries.iter().map(|entry| record_case(run, &live.folder, entry, failing)).collect()
}

/// The same for a run that ended before.
pub fn record_from(
    run: &RunContext,
    from: &RunFolder,
    failing: FailedTrials,
) -> Result<Vec<RecordedTrials>, StoreError> {
    run.plan.entries.iter().map(|entry| record_case(run, from, entry, failing)).collect()
}

fn record_case(
    run: &RunContext,
    from: &RunFolder,
    entry: &PlannedCase,
    failing: FailedTrials,
) -> Result<RecordedTrials, StoreError> {
    let planned = &entry.planned;
    let first = planned.trial(1);
    let recording = |number| store::recording(&run.root, &planned.trial(number));
    let before = recording(1).exists().then(|| replayed(run, entry, &recording));
    let mut measured = Vec::new();
    for number in 1..=entry.most() {
        let folder = from.trial(&planned.trial(number));
        if folder.exists() && folder.has_grade() && folder.grade()?.verdict != Verdict::Error {
            measured.push(folder);
        }
    }
    if measured.is_empty() {
        return Ok(RecordedTrials { id: first, before, now: RecordingResult::NotMeasured });
    }
    // Written next to the recordings first and replayed from there: what is moved into place is known to replay.
    let beside = StagedRecordings::new(&run.root)?;
    let repeats = u32::try_from(measured.len()).unwrap_or(u32::MAX);
    for (number, trial) in (1..).zip(&measured) {
        let recording = store::recording_in(beside.path(), &planned.trial(number));
        keep(trial, &recording, number)?;
        recording.seal(repeats)?;
    }
    let new = PlannedCase::times(planned.clone(), repeats);
    let now = replayed(run, &new, &|number| store::recording_in(beside.path(), &planned.trial(number)));
    let passes = matches!(&now, ReplayResult::Ended(all) if case_verdict(run, planned, &all.verdicts) == Verdict::Pass);
    if !passes && failing == FailedTrials::LeaveOut {
        return Ok(RecordedTrials { id: first, before, now: RecordingResult::Failing(now) });
    }
    let place = beside.put(&run.root, &first)?;
    Ok(RecordedTrials { id: first, before, now: RecordingResult::Kept(now, place) })
}

/// The verdict of a case whose trials ended like this: the same share must pass as everywhere.
fn case_verdict(run: &RunContext, planned: &TestCase, verdicts: &[Verdict]) -> Verdict {
    let mut ended = TrialTally::default();
    for verdict in verdicts {
        ended.add(*verdict);
    }
    CaseCounts::of(ended, run.repetition(&planned.found)).verdict().unwrap_or(Verdict::Error)
}

/// What replaying the recordings of a case in a mode comes to, all its repeats.
fn replayed(run: &RunContext, entry: &PlannedCase, folder: &dyn Fn(u32) -> TrialFolder) -> ReplayResult {
    let mut all = TrialEndings::default();
    for number in (1..=1000).take_while(|number| folder(*number).exists()) {
        let id = entry.planned.trial(number);
        let ready = ready::ready(run, &entry.planned);
        match ready.and_then(|ready| trial::replay_from(run, &ready, &folder(number), id)) {
            Ok(outcome) => {
                all.verdicts.push(outcome.grade.verdict);
                all.until_decided |= outcome.grade.max_trials.is_some();
            }
            Err(NoOutcome::Stale { .. }) => return ReplayResult::Stale,
            Err(_) => return ReplayResult::Unreadable,
        }
    }
    ReplayResult::Ended(all)
}

/// Writes what a replay needs of a trial to `recording`, as repeat `number`.
fn keep(trial: &TrialFolder, recording: &TrialFolder, number: u32) -> Result<(), StoreError> {
    let mut meta = trial.meta()?;
    meta.trial = number;
    let io = |source| StoreError::from(PathError { path: trial.path().to_path_buf(), source });
    let changed = meta.changes.iter().map(|change| change.skill.as_str());
    let skills: Vec<&str> = changed.chain([meta.skill.slug.as_str()]).collect();
    let files = agent::of(meta.agent.kind).recorded_evidence(trial.path(), &skills).map_err(io)?;
    recording.clear()?;
    for (name, content) in files {
        recording.write(name, &without_rooms(&content))?;
    }
    if let Some(text) = trial.final_text()? {
        recording.write_final(&String::from_utf8_lossy(&without_rooms(text.as_bytes())))?;
    }
    if let Some(judgement) = trial.judgement()? {
        recording.write_judgement(&judgement)?;
    }
    keep_workspace(trial, recording)?;
    recording.write_meta(&meta)
}

/// Keeps the files that the agent made where they are few and small.
fn keep_workspace(trial: &TrialFolder, recording: &TrialFolder) -> Result<(), StoreError> {
    let workspace = trial.workspace();
    let files = WalkDir::new(&workspace).sort_by_file_name().into_iter().flatten();
    let files: Vec<_> = files.filter(|entry| entry.file_type().is_file()).collect();
    let size: u64 = files.iter().filter_map(|entry| Some(entry.metadata().ok()?.len())).sum();
    if size > MAX_WORKSPACE {
        return Ok(());
    }
    for entry in files {
        let below = entry.path().strip_prefix(&workspace).unwrap_or(entry.path());
        let to = recording.workspace().join(below);
        let io = |source| StoreError::from(PathError { path: entry.path().to_path_buf(), source });
        let content = fs::read(entry.path()).map_err(io)?;
        store::write_whole(&to, &without_rooms(&content))?;
    }
    Ok(())
}

impl fmt::Display for ReplayResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stale => f.write_str("stale"),
            Self::Unreadable => f.write_str("unreadable"),
            Self::Ended(TrialEndings { verdicts, until_decided }) => match verdicts.as_slice() {
                [only] => f.write_str(only.as_str()),
                all => {
                    let mut rate = Rate::default();
                    let measured = all.iter().filter(|verdict| matches!(verdict, Verdict::Pass | Verdict::Fail));
                    measured.for_each(|verdict| rate.add(*verdict == Verdict::Pass));
                    let case = CaseShare { rate, until_decided: *until_decided };
                    let share = rate::tried(case).map(|share| format!(", {share}")).unwrap_or_default();
                    write!(f, "{}/{} passed{share}", rate.passed, rate.trials)?;
                    match all.len() as u64 - rate.trials {
                        0 => Ok(()),
                        open => write!(f, ", {open} without a result"),
                    }
                }
            },
        }
    }
}

impl fmt::Display for RecordedTrials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  ", self.id)?;
        match &self.before {
            Some(before) => write!(f, "{before} → ")?,
            None => f.write_str("new: ")?,
        }
        match &self.now {
            RecordingResult::Kept(now, _) => write!(f, "{now}"),
            RecordingResult::Failing(ReplayResult::Stale) => {
                f.write_str("stale, not recorded: what the run saw has changed since; run it again with --record")
            }
            RecordingResult::Failing(now) => write!(f, "{now}, not recorded: --accept-failing records what fails"),
            RecordingResult::NotMeasured => f.write_str("not recorded: nothing was measured"),
        }
    }
}

impl RecordedTrials {
    /// Where the new recording is, from the repository's root.
    #[must_use]
    pub fn place(&self, root: &Path) -> Option<PathBuf> {
        match &self.now {
            RecordingResult::Kept(_, place) => Some(shown_path(root, place)),
            _ => None,
        }
    }
}
