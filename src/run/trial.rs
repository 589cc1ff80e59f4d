//! The three ways to a trial's outcome: replay its recording, run it live, or keep what an earlier part of the run measured.

use crate::run::regrade::again_by_checks;
use crate::run::regrade::regrade;
use crate::run::stored_trial::StoredTrial;
use std::fmt::Display;

use crate::cases::selection::TestCase;
use crate::results::graded_trial;
use crate::run::live_trial::LiveTrial;
use crate::run::planned::{self, PlannedRun};
use crate::run::preflight::{self, ReadyCase};
use crate::run::started::StartedRun;
use crate::run::{judge, open_run, replay_model};
use crate::settings::EffectiveRepetition;
use crate::store::{self, StoreError, TrialFolder};
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::event::RunEvent;
use crate::trial::evidence::{Meta, RefusedAttempts};
use crate::trial::id::TrialId;
use crate::trial::outcome::AttemptCost;
use crate::trial::outcome::NotRun;
use crate::trial::outcome::{GRADE_FORMAT, Grade, Judged, Metrics, Outcome, TrialError, Verdict};
use crate::trial::run_record::TrialRecord;

/// Replays repeat `number` of a planned trial from its recording. `tell` gets what takes time.
pub fn replay(
    run: &PlannedRun,
    ready: &ReadyCase<'_>,
    number: u32,
    tell: &dyn Fn(RunEvent),
) -> Result<Outcome, TrialError> {
    let id = ready.planned.trial(number);
    let folder = store::recording(&run.root, &id);
    let unreadable = |error: StoreError| TrialError::Unreadable(error.to_string());
    let exists = folder.exists().map_err(unreadable)?;
    if number == 1 && !exists && store::is_recorded(&run.root, &id).map_err(unreadable)? {
        return Err(TrialError::Unreadable(format!(
            "{}: the first repeat is missing, others are here; restore it from version control, or record the case again",
            folder.path().display()
        )));
    }
    replay_from(run, ready, &folder, id, tell)
}

/// Replays a planned trial from the recording in `folder`.
pub fn replay_from(
    run: &PlannedRun,
    ready: &ReadyCase<'_>,
    folder: &TrialFolder,
    id: TrialId,
    tell: &dyn Fn(RunEvent),
) -> Result<Outcome, TrialError> {
    let ReadyCase { planned, case, skill } = *ready;
    let unreadable = |error: &dyn Display| TrialError::Unreadable(error.to_string());
    if !folder.exists().map_err(|error| unreadable(&error))? {
        return Err(TrialError::NotRecorded);
    }
    let (meta, grade) = regrade(run, case, skill, folder, tell).map_err(|error| unreadable(&error))?;
    if meta.ending.settled {
        return Err(TrialError::Unreadable(format!(
            "{}: this trial ended early, when its verdict was settled: a recording needs a whole one; record the case again",
            folder.path().display()
        )));
    }
    let drift = run.drift(case, &planned.mode, &meta.inputs).map_err(|error| unreadable(&error))?;
    if !drift.stale.is_empty() {
        return Err(TrialError::Stale { folder: folder.path().to_path_buf(), changed: drift.stale });
    }
    let outcome = graded_trial::outcome(id, grade, &meta, folder, &run.settings.prices);
    Ok(Outcome { aged: drift.aged, tags: case.tags.clone(), ..outcome })
}

/// Runs repeat `number` of a planned trial with its agent, and stores everything. `tell` gets an event for each thing
/// that the agent does. `measured` is called when the agent has measured something, before a judge is asked. A trial that
/// could not be measured is an outcome, too; there is none if the run cannot be opened or was interrupted.
pub fn run_live(
    run: &StartedRun,
    ready: &ReadyCase<'_>,
    number: u32,
    refused_before: RefusedAttempts,
    tell: &dyn Fn(RunEvent),
    measured: &mut dyn FnMut(),
) -> Result<Outcome, TrialError> {
    let ReadyCase { planned, case, skill } = *ready;
    let id = planned.trial(number);
    if run.settings.replay_model {
        replay_model::check(run, &id)?;
    }
    let live = open_run::live(run).map_err(|why| TrialError::NotOpened(why.clone()))?;
    let folder = live.folder.trial(&id);
    let mode = &planned.mode;
    let skills = match preflight::kept_from_agent(run, planned) {
        Some((kind, problem)) => Err(Trouble::new(kind, problem.to_string())),
        None => live.snapshots.offered(mode, &case.skill, skill.plugin_for(mode, case).map(AsRef::as_ref)),
    };
    let graded = skills.and_then(|skills| {
        LiveTrial { run, live, mode, case, skill, skills: &skills, id: &id, folder: &folder, refused_before }
            .measure(tell, measured)
    });
    match graded {
        Ok((_, Grade { trouble: Some(trouble), .. })) | Err(trouble) if trouble.kind == TroubleKind::Interrupted => {
            // An interrupted trial counts as not run; its evidence stays until the trial runs again. If only the judge is
            // missing, the next part of the run asks it.
            Err(TrialError::NotRun(NotRun::Interrupted))
        }
        Ok((meta, grade)) => Ok(graded_trial::outcome(id, grade, &meta, &folder, &run.settings.prices)),
        Err(trouble) => Ok(Outcome {
            id,
            grade: not_measured(
                trouble,
                run.repetition(&planned.found),
                planned.found.case().ok().and_then(planned::quarantine),
            ),
            folder: folder.path().to_path_buf(),
            scripted: run.settings.scripted.clone(),
            spent: AttemptCost { tokens_incomplete: true, cost_incomplete: true, ..AttemptCost::default() },
            isolation: None,
            inputs: None,
            aged: false,
            kept: None,
            tags: case.tags.clone(),
        }),
    }
}

/// The outcome that an earlier part of the run measured for repeat `number` of a planned trial, graded by today's checks,
/// and judged if it was not; and whether it differs from the run's progress file. `None` if nothing was measured.
pub fn kept(run: &StartedRun, ready: &ReadyCase<'_>, number: u32) -> Result<Option<(Outcome, bool)>, TrialError> {
    let ReadyCase { planned, case, skill } = *ready;
    let id = planned.trial(number);
    let live = open_run::live(run).map_err(|why| TrialError::NotOpened(why.clone()))?;
    let folder = live.folder.trial(&id);
    let unreadable = |error: &dyn Display| TrialError::Unreadable(format!("{id}: {error}"));
    let not_stored = |error: &dyn Display| {
        live.not_stored(&format!("{id}: {error}"));
        TrialError::NotRun(NotRun::NotStored)
    };
    // How a kept trial was checked is a part of what it was kept as.
    if let (Ok(meta @ Meta { kept_from: Some(_), .. }), Ok(grade)) = (folder.meta(), folder.grade()) {
        return Ok(Some((graded_trial::outcome(id.clone(), grade, &meta, &folder, &run.settings.prices), false)));
    }
    let trial = match StoredTrial::read(run, &folder) {
        Ok(trial) => trial,
        // What was changed after it was measured is not measured again in silence.
        Err(error @ StoreError::Damaged { .. }) if folder.has_grade().unwrap_or(true) => {
            return Err(unreadable(&error));
        }
        Err(_) => return Ok(None),
    };
    let stored = folder.grade().ok();
    let trial_evidence = trial.trial_evidence(case, skill, &folder);
    let by_checks = again_by_checks(run, &trial_evidence, &|event| run.emit(&event)).map_err(|why| unreadable(&why))?;
    let mut grade = judge::rejoin(run, &trial_evidence, by_checks.clone()).map_err(|error| unreadable(&error))?;
    let is_judged = matches!(grade.judged, Some(Judged::Asked { .. })) && grade.verdict != Verdict::Unscored;
    if !is_judged {
        grade = judge::judge(run, live, &trial_evidence, by_checks).map_err(|trouble| match trouble.kind {
            TroubleKind::NotStored => not_stored(&trouble.detail),
            _ => unreadable(&trouble),
        })?;
    }
    if grade.verdict == Verdict::Error {
        return Ok(None);
    }
    let news = stored.as_ref() != Some(&grade);
    if news {
        folder.write_grade(&grade).map_err(|error| not_stored(&error))?;
    }
    Ok(Some((graded_trial::outcome(id.clone(), grade, &trial.meta, &folder, &run.settings.prices), news)))
}

/// The outcome of a trial that could not be measured in an earlier part of the run; `None` if it measured something.
pub fn lost(run: &StartedRun, planned: &TestCase, record: &TrialRecord) -> Option<Outcome> {
    if let Verdict::Pass | Verdict::Fail = record.verdict {
        return None;
    }
    let folder = run.opened()?.folder.trial(&record.id);
    if let (Ok(meta), Ok(grade)) = (folder.meta(), folder.grade()) {
        return Some(graded_trial::outcome(record.id.clone(), grade, &meta, &folder, &run.settings.prices));
    }
    Some(Outcome {
        id: record.id.clone(),
        grade: not_measured(record.trouble.clone()?, run.repetition(&planned.found), record.quarantine.clone()),
        folder: folder.path().to_path_buf(),
        scripted: record.scripted.clone(),
        spent: record.spent,
        isolation: record.isolation,
        inputs: record.inputs.clone(),
        aged: false,
        kept: None,
        tags: record.tags.clone(),
    })
}

/// The grade of a trial that left no evidence.
fn not_measured(trouble: Trouble, repetition: EffectiveRepetition, quarantine: Option<String>) -> Grade {
    Grade {
        format: GRADE_FORMAT,
        verdict: Verdict::Error,
        trouble: Some(trouble),
        checks: Vec::new(),
        score: None,
        not_enforced: Vec::new(),
        metrics: Metrics::default(),
        judged: None,
        threshold: Some(repetition.threshold),
        max_trials: repetition.at_most(),
        quarantine,
        unsupported: Vec::new(),
    }
}
