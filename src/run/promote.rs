//! Turns finished trials into recordings: evidence small enough for a repository, without this machine's paths.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use walkdir::WalkDir;

use crate::agent;
use crate::agent::room::without_rooms;
use crate::cases::planned::Planned;
use crate::files::at::PathError;
use crate::grade::share::Ended;
use crate::report::rate;
use crate::results::share::Tried;
use crate::results::summary::CaseCounts;
use crate::run::plan::{Entry, Plan};
use crate::run::ready;
use crate::run::shared::Run;
use crate::run::trial;
use crate::stats::proportion::Rate;
use crate::store::{self, Beside, RunFolder, StoreError, TrialFolder};
use crate::text::diagnostic::shown_path;
use crate::trial::id::TrialId;
use crate::trial::outcome::{NoOutcome, Verdict};

/// Most bytes of the files that the agent made that a recording keeps, all together: checks of a repository's own may
/// read them.
const MAX_WORKSPACE: u64 = 64 << 10;

/// What is done with trials that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// They are recorded: a test that fails is to fail in replay too.
    Keep,
    /// They are left out, and what was recorded before stays.
    LeaveOut,
}

/// The result of recording the trials of a case in a mode.
#[derive(Debug)]
pub struct Recorded {
    /// The case and the mode, as the first of its trials.
    pub id: TrialId,
    /// What the earlier recording replays to; `None` where there was none.
    pub before: Option<Replayed>,
    /// The result for the new one.
    pub now: Now,
}

/// What replaying a recording comes to.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "verdicts", rename_all = "kebab-case")]
pub enum Replayed {
    /// How its trials ended.
    Ended(Endings),
    /// It is stale: the case, a skill or a setting has changed since.
    Stale,
    /// It cannot be read.
    Unreadable,
}

/// How the trials of a recording ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Endings {
    /// In order.
    verdicts: Vec<Verdict>,
    /// Whether they went on until they decided something.
    until_decided: bool,
}

impl Serialize for Endings {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.verdicts.serialize(serializer)
    }
}

/// The result for a new recording.
#[derive(Debug)]
pub enum Now {
    /// It was written, and replays to this.
    Kept(Replayed, PathBuf),
    /// It was not written: it replays to this, and failing ones were to be left out.
    Failing(Replayed),
    /// There is nothing to record: these trials measured nothing, or were not run.
    NotMeasured,
}

/// Records what the run measured of these cases in modes, in place of what was recorded of them before: its trials that
/// measured something, numbered from 1.
///
/// # Errors
/// When a trial cannot be read or a recording cannot be written.
pub fn record(run: &Run, plan: &Plan, failing: Failing) -> Result<Vec<Recorded>, StoreError> {
    let Some(live) = run.opened() else { return Ok(Vec::new()) };
    plan.entries.iter().map(|entry| record_case(run, &live.folder, entry, failing)).collect()
}

/// The same for a run that ended before.
///
/// # Errors
/// As [`record`].
pub fn record_from(run: &Run, from: &RunFolder, failing: Failing) -> Result<Vec<Recorded>, StoreError> {
    run.plan.entries.iter().map(|entry| record_case(run, from, entry, failing)).collect()
}

fn record_case(run: &Run, from: &RunFolder, entry: &Entry, failing: Failing) -> Result<Recorded, StoreError> {
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
        return Ok(Recorded { id: first, before, now: Now::NotMeasured });
    }
    // Written next to the recordings first and replayed from there: what is moved into place is known to replay.
    let beside = Beside::new(&run.root)?;
    let repeats = u32::try_from(measured.len()).unwrap_or(u32::MAX);
    for (number, trial) in (1..).zip(&measured) {
        let recording = store::recording_in(beside.path(), &planned.trial(number));
        keep(trial, &recording, number)?;
        recording.seal(repeats)?;
    }
    let new = Entry::times(planned.clone(), repeats);
    let now = replayed(run, &new, &|number| store::recording_in(beside.path(), &planned.trial(number)));
    let passes = matches!(&now, Replayed::Ended(all) if case_verdict(run, planned, &all.verdicts) == Verdict::Pass);
    if !passes && failing == Failing::LeaveOut {
        return Ok(Recorded { id: first, before, now: Now::Failing(now) });
    }
    let place = beside.put(&run.root, &first)?;
    Ok(Recorded { id: first, before, now: Now::Kept(now, place) })
}

/// The verdict of a case whose trials ended like this: the same share must pass as everywhere.
fn case_verdict(run: &Run, planned: &Planned, verdicts: &[Verdict]) -> Verdict {
    let mut ended = Ended::default();
    for verdict in verdicts {
        ended.add(*verdict);
    }
    CaseCounts::of(ended, run.repetition(&planned.found)).verdict().unwrap_or(Verdict::Error)
}

/// What replaying the recordings of a case in a mode comes to, all its repeats.
fn replayed(run: &Run, entry: &Entry, folder: &dyn Fn(u32) -> TrialFolder) -> Replayed {
    let mut all = Endings::default();
    for number in (1..=1000).take_while(|number| folder(*number).exists()) {
        let id = entry.planned.trial(number);
        let ready = ready::ready(run, &entry.planned);
        match ready.and_then(|ready| trial::replay_from(run, &ready, &folder(number), id)) {
            Ok(outcome) => {
                all.verdicts.push(outcome.grade.verdict);
                all.until_decided |= outcome.grade.at_most.is_some();
            }
            Err(NoOutcome::Stale { .. }) => return Replayed::Stale,
            Err(_) => return Replayed::Unreadable,
        }
    }
    Replayed::Ended(all)
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

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stale => f.write_str("stale"),
            Self::Unreadable => f.write_str("unreadable"),
            Self::Ended(Endings { verdicts, until_decided }) => match verdicts.as_slice() {
                [only] => f.write_str(only.as_str()),
                all => {
                    let mut rate = Rate::default();
                    let measured = all.iter().filter(|verdict| matches!(verdict, Verdict::Pass | Verdict::Fail));
                    measured.for_each(|verdict| rate.add(*verdict == Verdict::Pass));
                    let case = Tried { rate, until_decided: *until_decided };
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

impl fmt::Display for Recorded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}  ", self.id)?;
        match &self.before {
            Some(before) => write!(f, "{before} → ")?,
            None => f.write_str("new: ")?,
        }
        match &self.now {
            Now::Kept(now, _) => write!(f, "{now}"),
            Now::Failing(Replayed::Stale) => {
                f.write_str("stale, not recorded: what the run saw has changed since; run it again with --record")
            }
            Now::Failing(now) => write!(f, "{now}, not recorded: --accept-failing records what fails"),
            Now::NotMeasured => f.write_str("not recorded: nothing was measured"),
        }
    }
}

impl Recorded {
    /// Where the new recording is, from the repository's root.
    #[must_use]
    pub fn place(&self, root: &Path) -> Option<PathBuf> {
        match &self.now {
            Now::Kept(_, place) => Some(shown_path(root, place)),
            _ => None,
        }
    }
}
