//! The trials of a run that ended. Their grades are the source of every figure. The progress file is read in their place as far
//! as they confirm it, which takes a fraction of the time.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use serde::Deserialize;

use super::{JournalContents, RunFolder, StoreError, TrialFolder, WORK, journal, read_json, trials_in};
use crate::trial::id::TrialId;
use crate::trial::outcome::Verdict;
use crate::trial::run_record::{RunEndKind, TrialRecord};

/// What a run has besides the lines of its progress file that its grades confirm.
#[derive(Debug, Default)]
pub struct UnconfirmedTrials {
    /// The trials with a grade for which the file has no line.
    pub graded: Vec<TrialFolder>,
    /// What lines for other grades say of their trials, and the rest of the file.
    pub noted: JournalContents,
    /// The number of trials that ended, by the lines and by the grades.
    ended: usize,
    /// The number of trials with a grade, and of those whose grade is missing.
    with_grade: usize,
    lost: usize,
}

/// The part of a line that decides whether its trial must have a grade.
#[derive(Deserialize)]
struct NotedTrial {
    #[serde(flatten)]
    id: TrialId,
    verdict: Verdict,
}

/// The part of `summary.json` that counts the trials.
#[derive(Deserialize)]
struct SummarizedRun {
    total: SummarizedTrials,
}

#[derive(Deserialize)]
struct SummarizedTrials {
    passed: usize,
    failed: usize,
    errors: usize,
    unscored: usize,
}

impl RunFolder {
    /// Calls `take` with the line of each trial that ended, if the grade of the trial is the one that the line was written for. A
    /// trial without a grade was replayed, or could not be measured: its line is all there is.
    pub fn each_confirmed(&self, mut take: impl FnMut(&[u8])) -> Result<UnconfirmedTrials, StoreError> {
        let (mut confirmed, mut others) = (HashSet::new(), Vec::new());
        let (mut taken, mut graded, mut lost) = (0, 0, 0);
        let hasher = RandomState::new();
        let mut noted = journal::each_last(&self.progress_path(), |line, grade| {
            let Ok(NotedTrial { id, verdict }) = serde_json::from_slice(line) else { return Ok(()) };
            let found = self.trial(&id).grade_digest()?;
            let is_measured = matches!(verdict, Verdict::Pass | Verdict::Fail);
            let is_lost = is_measured && grade.is_some() && found.is_none();
            graded += usize::from(found.is_some() || is_lost);
            lost += usize::from(is_lost);
            if is_lost || found.as_deref() != grade && found.is_some() {
                others.extend(serde_json::from_slice::<TrialRecord>(line).ok());
                return Ok(());
            }
            if found.is_some() {
                confirmed.insert(hasher.hash_one(&id));
            }
            taken += 1;
            take(line);
            Ok(())
        })?;
        let mut unconfirmed = Vec::new();
        for trial in trials_in(&self.path().join(WORK), usize::MAX)? {
            let is_confirmed = trial.id().is_some_and(|id| confirmed.contains(&hasher.hash_one(&id)));
            if !is_confirmed && trial.has_grade()? {
                unconfirmed.push(trial);
            }
        }
        for record in others {
            noted.records.insert(record.id.clone(), record);
        }
        let ended = taken + unconfirmed.len();
        Ok(UnconfirmedTrials { graded: unconfirmed, noted, ended, with_grade: graded, lost })
    }

    /// Fails if fewer trials are here than the summary counted, which is written at the end.
    fn check_count(&self, here: usize) -> Result<(), StoreError> {
        if !self.has_summary()? || self.is_live() {
            return Ok(());
        }
        let SummarizedRun { total } = read_json(&self.path().join(super::run_files::SUMMARY))?;
        let counted = total.passed + total.failed + total.errors + total.unscored;
        // A run that could not store a result counted it all the same.
        let end = || Some(self.run_record().ok()??.ended?.how);
        if here >= counted || end() == Some(RunEndKind::NotStored) {
            return Ok(());
        }
        Err(self.half(&format!("{} of its {counted} trials are missing, by its summary", counted - here)))
    }

    /// Fails if a part of the run is missing.
    fn check_trials(&self) -> Result<(), StoreError> {
        self.each_confirmed(|_| ())?.of_whole(self).map(|_| ())
    }

    /// Whether the run replayed recordings, which have its evidence.
    pub fn is_replay(&self) -> bool {
        self.run_record().ok().flatten().is_some_and(|record| record.chosen.replay)
    }

    /// Fails if a part of the run was removed. Directories of another kind have no parts that are known.
    pub fn check_whole(&self) -> Result<(), StoreError> {
        if self.is_run()? && !self.is_replay() { self.check_trials() } else { Ok(()) }
    }
}

impl UnconfirmedTrials {
    /// The same of a run of which no part is missing.
    pub fn of_whole(self, run: &RunFolder) -> Result<Self, StoreError> {
        // A trial that a running run measures again has no grade, and has not ended.
        if self.lost > 0 && !run.is_live() {
            return Err(run.half(&format!("{} of its {} graded trials are missing", self.lost, self.with_grade)));
        }
        run.check_count(self.ended)?;
        Ok(self)
    }
}

/// Calls `take` with the line of each trial in a progress file without its run, of which nothing else is known. Fails if one is
/// not as it was written.
pub fn each_of_baseline(path: &Path, mut take: impl FnMut(&[u8])) -> Result<(), StoreError> {
    let (mut taken, path) = (0, path.to_path_buf());
    let noted = journal::each_last(&path, |line, _| {
        taken += 1;
        take(line);
        Ok(())
    })?;
    if noted.damaged == 0 {
        return Ok(());
    }
    let why = format!(
        "{} of its lines are not as a run wrote them, {taken} are; restore it, or copy it again from the run",
        noted.damaged
    );
    Err(StoreError::Damaged { path, why })
}
