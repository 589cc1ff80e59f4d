//! Makes recordings of finished trials: evidence that is small enough for a repository, without this machine's paths.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::agent;
use crate::cases::case::Case;
use crate::cases::selection::TestCase;
use crate::files::at::At;
use crate::files::look;
use crate::report::rate;
use crate::results::share::CaseShare;
use crate::results::summary::{CaseCounts, TrialCounts};
use crate::run::digests::SETUP_PART;
use crate::run::plan::{PlannedCase, RunPlan};
use crate::run::planned::PlannedRun;
use crate::run::started::StartedRun;
use crate::run::{preflight, replay_model, trial};
use crate::stats::proportion::Rate;
use crate::store::{self, RunFolder, Staging, StoreError, TrialFolder};
use crate::text::diagnostic::shown_path;
use crate::trial::id::TrialId;
use crate::trial::outcome::{TrialError, Verdict};

/// Maximum size of a workspace that a recording keeps, in bytes: for custom checks, and for programs, which need all of it.
const MAX_WORKSPACE: u64 = 64 << 10;
const MAX_CHECKED_WORKSPACE: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedTrials {
    /// They are recorded: a test that fails must fail in replay too.
    Keep,
    /// They are not recorded, and the earlier recording stays.
    LeaveOut,
}

/// The result of recording the trials of a case in a mode.
#[derive(Debug)]
pub struct RecordedTrials {
    pub id: TrialId,
    /// The replay of the earlier recording, if there was one.
    pub before: Option<ReplayResult>,
    pub now: RecordingResult,
}

#[derive(Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "state", content = "verdicts", rename_all = "kebab-case")]
pub enum ReplayResult {
    Ended(TrialEndings),
    /// The case, a skill or a setting has changed since.
    Stale,
    Unreadable,
}

#[derive(Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct TrialEndings {
    verdicts: Vec<Verdict>,
    #[serde(skip)]
    until_decided: Option<f64>,
}

#[derive(Debug)]
pub enum RecordingResult {
    /// Its replay, and its directory.
    Kept(ReplayResult, PathBuf),
    /// Not written, because its replay does not pass; see [`FailedTrials::LeaveOut`].
    Failing(ReplayResult),
    /// Nothing to record: these trials could not be measured, or did not run.
    NotMeasured,
    /// Not written: some trials, of all, were measured, and the others could change whether the case passes.
    Partial(usize, usize),
    /// Not written, because a trial ended as soon as its verdict was settled.
    EndedEarly,
    /// Not written, because a trial had the user's own setup.
    UsersSetup,
    /// Not written, because the model's answers of a trial were those of a recording.
    RecordedAnswers,
}

/// Replaces the recordings of these cases by the trials that measured something in this run, numbered from 1.
pub fn record(run: &StartedRun, plan: &RunPlan, failing: FailedTrials) -> Result<Vec<RecordedTrials>, StoreError> {
    let Some(live) = run.opened() else { return Ok(Vec::new()) };
    let planned = live.folder.plan()?;
    plan.entries.iter().map(|entry| record_case(run, (&live.folder, &planned), entry, failing)).collect()
}

/// As [`record`], for a run that ended before.
pub fn record_from(
    run: &PlannedRun,
    from: &RunFolder,
    failing: FailedTrials,
) -> Result<Vec<RecordedTrials>, StoreError> {
    let planned = from.plan()?;
    run.plan.entries.iter().map(|entry| record_case(run, (from, &planned), entry, failing)).collect()
}

fn record_case(
    run: &PlannedRun,
    (from, trials): (&RunFolder, &BTreeSet<TrialId>),
    entry: &PlannedCase,
    failing: FailedTrials,
) -> Result<RecordedTrials, StoreError> {
    let planned = &entry.planned;
    let first = planned.trial(1);
    let recording = |number| store::recording(&run.root, &planned.trial(number));
    let before = if recording(1).exists()? { Some(replay(run, planned, &recording)?) } else { None };
    let mut measured = Vec::new();
    let (mut refused, mut counts) = (None, TrialCounts::default());
    for number in 1..=entry.most() {
        let (id, folder) = (planned.trial(number), from.trial(&planned.trial(number)));
        let ended = if folder.exists()? && folder.has_grade()? { Some(folder.grade()?.verdict) } else { None };
        // What a run planned, and nobody measured, is missing.
        let missing = trials.contains(&id).then_some(Verdict::Error);
        ended.or(missing).into_iter().for_each(|verdict| counts.add_verdict(verdict));
        if ended.is_some_and(|verdict| verdict != Verdict::Error) {
            let meta = folder.meta()?;
            let has_setup = meta.inputs.0.keys().any(|part| part.starts_with(SETUP_PART));
            refused = refused.or(has_setup.then_some(RecordingResult::UsersSetup));
            refused = refused.or(replay_model::has_recorded_answers(&meta).then_some(RecordingResult::RecordedAnswers));
            refused = refused.or(meta.ending.settled.then_some(RecordingResult::EndedEarly));
            measured.push(folder);
        }
    }
    let is_open = CaseCounts::of(counts, run.repetition(&planned.found)).verdict() == Some(Verdict::Error);
    let partial = is_open.then(|| RecordingResult::Partial(measured.len(), counts.ended()));
    let nothing = measured.is_empty().then_some(RecordingResult::NotMeasured);
    if let Some(now) = refused.or(nothing).or(partial) {
        return Ok(RecordedTrials { id: first, before, now });
    }
    // Written next to the recordings and replayed before they replace them.
    let staged = Staging::of_recordings(&run.root)?;
    let repeats = u32::try_from(measured.len()).unwrap_or(u32::MAX);
    let recording = |number| store::recording_in(staged.path(), &planned.trial(number));
    for (number, trial) in (1..).zip(&measured) {
        write(trial, &recording(number), number, workspace_limit(planned.found.case().ok()))?;
        recording(number).seal(repeats)?;
    }
    let now = replay(run, planned, &recording)?;
    let passes = matches!(&now, ReplayResult::Ended(all) if case_verdict(run, planned, &all.verdicts) == Verdict::Pass);
    if !passes && failing == FailedTrials::LeaveOut {
        return Ok(RecordedTrials { id: first, before, now: RecordingResult::Failing(now) });
    }
    let place = staged.put_recordings(&first)?;
    Ok(RecordedTrials { id: first, before, now: RecordingResult::Kept(now, place) })
}

fn case_verdict(run: &PlannedRun, planned: &TestCase, verdicts: &[Verdict]) -> Verdict {
    let mut counts = TrialCounts::default();
    for verdict in verdicts {
        counts.add_verdict(*verdict);
    }
    CaseCounts::of(counts, run.repetition(&planned.found)).verdict().unwrap_or(Verdict::Error)
}

/// Replays all recorded repeats of a case in a mode.
fn replay(
    run: &PlannedRun,
    planned: &TestCase,
    recording: &dyn Fn(u32) -> TrialFolder,
) -> Result<ReplayResult, StoreError> {
    let mut endings = TrialEndings::default();
    for number in 1..=1000 {
        if !recording(number).exists()? {
            break;
        }
        let ready = preflight::ready(run, planned);
        match ready
            .and_then(|ready| trial::replay_from(run, &ready, &recording(number), planned.trial(number), &|_| ()))
        {
            Ok(outcome) => {
                endings.verdicts.push(outcome.grade.verdict);
                endings.until_decided = outcome.grade.max_trials.and(outcome.grade.threshold).or(endings.until_decided);
            }
            Err(TrialError::Stale { .. }) => return Ok(ReplayResult::Stale),
            Err(_) => return Ok(ReplayResult::Unreadable),
        }
    }
    Ok(ReplayResult::Ended(endings))
}

/// Maximum size of the workspace that a recording of this case keeps, in bytes.
pub(super) fn workspace_limit(case: Option<&Case>) -> u64 {
    let asks_programs = case.is_some_and(|case| case.checks.iter().any(|check| check.program().is_some()));
    if asks_programs { MAX_CHECKED_WORKSPACE } else { MAX_WORKSPACE }
}

/// Writes what a replay needs of a trial to `recording`, as repeat `number`; its workspace if it has at most this many bytes.
pub(super) fn write(
    trial: &TrialFolder,
    recording: &TrialFolder,
    number: u32,
    max_workspace: u64,
) -> Result<(), StoreError> {
    let mut meta = trial.meta()?;
    meta.trial = number;
    let changed = meta.changes.iter().map(|change| change.skill.as_str());
    let skills: Vec<&str> = changed.chain([meta.skill.slug.as_str()]).collect();
    let files = agent::of(meta.agent.kind).recorded_evidence(trial.path(), &skills).at(trial.path())?;
    recording.clear()?;
    for (name, content) in files {
        recording.write(name, &content)?;
    }
    if let Some(text) = trial.final_text()? {
        recording.write_final(&text)?;
    }
    if let Some(judgment) = trial.judgment()? {
        recording.write_judgment(&judgment)?;
    }
    replay_model::record(trial, recording)?;
    write_workspace(trial, recording, max_workspace)?;
    recording.write_meta(&meta)
}

/// Writes the files that the agent made, if they have at most this many bytes.
fn write_workspace(trial: &TrialFolder, recording: &TrialFolder, most: u64) -> Result<(), StoreError> {
    let workspace = trial.workspace();
    let files = look::Walk::new(&workspace).all()?.into_iter();
    let files: Vec<_> = files.filter(|entry| entry.file_type().is_file()).collect();
    let mut size = 0;
    for file in &files {
        size += fs::metadata(file.path()).at(file.path())?.len();
    }
    if size > most {
        return Ok(());
    }
    for entry in files {
        let path = entry.path().strip_prefix(&workspace).unwrap_or(entry.path());
        let content = fs::read(entry.path()).at(entry.path())?;
        let to = recording.workspace().join(path);
        store::write_whole(&to, &content)?;
        // A program may run what the agent made.
        fs::metadata(entry.path()).and_then(|from| fs::set_permissions(&to, from.permissions())).at(&to)?;
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
                    let share = rate::of_case(case).map(|share| format!(", {share}")).unwrap_or_default();
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
            RecordingResult::Partial(measured, all) => write!(
                f,
                "not recorded: {measured} of {all} trials were measured, and the others could change the result; run it again with --record"
            ),
            RecordingResult::EndedEarly => {
                f.write_str("not recorded: a trial ended when its verdict was settled; run it again with --record")
            }
            RecordingResult::UsersSetup => f.write_str(
                "not recorded: a trial had your own setup, which nobody else has; run it again without `home`",
            ),
            RecordingResult::RecordedAnswers => f.write_str(
                "not recorded: a trial had its model's answers from a recording; run it with --record and without --replay-model",
            ),
        }
    }
}

impl RecordedTrials {
    /// The directory of the new recording, from the repository's root.
    pub fn place(&self, root: &Path) -> Option<PathBuf> {
        match &self.now {
            RecordingResult::Kept(_, place) => Some(shown_path(root, place)),
            _ => None,
        }
    }
}
