//! The summary of runs that are stored.

use std::collections::{BTreeMap, BTreeSet};

use crate::results::graded_trial::row;
use crate::results::run_status::{self, NotRunReasons};
use crate::results::summary::Summary;
use crate::settings::{Prices, Settings};
use crate::store::{self, RECORDINGS, RunFolder, StoreError};
use crate::text::problem::Problem;
use crate::trial::id::TrialId;
use crate::trial::outcome::AttemptCost;
use crate::trial::run_record::TrialRecord;

/// The summary of stored runs, or of parts of them, and the errors of trials that cannot be read. Fails without trials.
pub fn of_runs(runs: &[RunFolder], settings: &Settings) -> Result<(Summary, Vec<StoreError>), Problem> {
    let mut summary = Summary::new(Vec::new(), settings);
    let mut unreadable = Vec::new();
    for run in runs {
        summary.runs.push(run.id().to_owned());
        unreadable.extend(add_run(&mut summary, run, &settings.prices)?);
    }
    if summary.total.ended() == 0 && unreadable.is_empty() {
        let names: Vec<&str> = runs.iter().map(RunFolder::id).collect();
        return Err(no_trials(&names.join(", "), runs).into());
    }
    Ok((summary, unreadable))
}

pub fn of_run(run: &RunFolder, settings: &Settings) -> Result<Summary, Problem> {
    let mut summary = Summary::new(vec![run.id().to_owned()], settings);
    add_run(&mut summary, run, &settings.prices)?;
    Ok(summary)
}

/// Adds the trials of a run, or of a part of one, from their directories, and the rest of its plan. Returns the errors of those
/// that cannot be read.
fn add_run(summary: &mut Summary, run: &RunFolder, prices: &Prices) -> Result<Vec<StoreError>, Problem> {
    let folders = if run.is_run()? { run.trials()? } else { store::trials_below(run.path())? };
    let (mut unreadable, mut rest) = (Vec::new(), RestOfRun::of(run)?);
    // A trial without a grade was cut short, and counts as not run.
    for folder in folders {
        if !folder.has_grade()? {
            continue;
        }
        match row(&folder, prices) {
            Ok(mut record) => {
                rest.without(&mut record);
                summary.add(&record);
            }
            Err(error) => unreadable.push(error),
        }
    }
    unreadable.extend(run.run_record().err());
    rest.add_to(summary, run)?;
    Ok(unreadable)
}

/// What a run has besides the directories of its trials.
pub struct RestOfRun {
    /// The number of attempts of trials that had several: only the progress file has it.
    attempts: BTreeMap<TrialId, u32>,
    refused: Vec<(TrialId, AttemptCost)>,
    planned: Option<usize>,
    /// The planned trials without a directory.
    left: BTreeSet<TrialId>,
    counted: usize,
}

impl RestOfRun {
    pub fn of(run: &RunFolder) -> Result<Self, Problem> {
        run.check_record()?;
        let mut attempts = BTreeMap::new();
        let mut progress = run.each_noted(|record| {
            if record.attempts > 1 {
                attempts.insert(record.id.clone(), record.attempts);
            }
        })?;
        progress.add_lost_attempts(&attempts);
        let left = run.plan()?;
        let planned = run_status::planned(run, left.len());
        Ok(Self { attempts, refused: progress.refused, planned, left, counted: 0 })
    }

    /// Takes out the trial of a directory, and adds what its directory does not have.
    pub fn without(&mut self, record: &mut TrialRecord) {
        record.attempts = self.attempts.get(&record.id).copied().unwrap_or(record.attempts);
        self.left.remove(&record.id);
        self.counted += 1;
    }

    /// Adds the refused attempts of the run, and its planned trials without a directory. Returns these, each with the reason.
    pub fn add_to(self, summary: &mut Summary, run: &RunFolder) -> Result<Vec<(TrialId, String)>, StoreError> {
        if !self.left.is_empty() {
            run.check_whole()?;
        }
        let mut not_run = Vec::new();
        let compares = run.run_record().ok().flatten().is_some_and(|record| record.compares());
        summary.comparisons.extend(compares.then(|| run.id().to_owned()));
        for (id, spent) in &self.refused {
            summary.add_refused(id, *spent);
        }
        let Some(planned) = self.planned else { return Ok(not_run) };
        summary.planned = Some(summary.planned.unwrap_or_default() + planned);
        // A plan that was cut short lacks lines.
        let unnamed = planned.saturating_sub(self.counted + self.left.len());
        if unnamed + self.left.len() == 0 {
            return Ok(not_run);
        }
        let reasons = NotRunReasons::of(run);
        for id in self.left {
            let why = reasons.why(&id);
            summary.add_not_run(&id, why.clone());
            not_run.push((id, why.to_string()));
        }
        if unnamed > 0 {
            *summary.not_run.entry(reasons.otherwise).or_default() += unnamed;
        }
        Ok(not_run)
    }
}

/// The error for runs without trials of their own.
pub fn no_trials(name: &str, runs: &[RunFolder]) -> String {
    if runs.iter().any(RunFolder::is_replay) {
        return format!("{name} replayed recordings and has no trials of its own: name {RECORDINGS} instead");
    }
    let places: Vec<String> = runs.iter().map(|run| run.path().display().to_string()).collect();
    format!(
        "no stored trials found in {name}: no meta.json in {}; no trial started, or they were removed; skill-evals status \
         says what ended",
        places.join(", ")
    )
}
