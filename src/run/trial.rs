//! The three ways to a trial's outcome: replay its recording, run it live, or keep what an earlier part of the run measured.

use std::fmt;
use std::io;

use crate::cases::case::Case;
use crate::cases::test_case::TestCase;
use crate::results::table;
use crate::run::context::RunContext;
use crate::run::digests::{SkillFolders, opened_skills, stale_parts};
use crate::run::judge::{self, JudgeExhibit};
use crate::run::measure::LiveTrial;
use crate::run::opening;
use crate::run::ready::{self, ReadyCase};
use crate::run::regrade::{RegradeError, graded, regrade};
use crate::settings::EffectiveRepetition;
use crate::store::{self, TrialFolder};
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::event::RunEvent;
use crate::trial::evidence::{Meta, RefusedAttempts};
use crate::trial::id::TrialId;
use crate::trial::outcome::{GRADE_FORMAT, Grade, Judged, Metrics, NoOutcome, NotRun, Outcome, Verdict};
use crate::trial::run_record::TrialRecord;
use crate::trial::spent::AttemptCost;

/// Replays repeat `number` of a planned trial from its recording.
pub fn replay(run: &RunContext, ready: &ReadyCase<'_>, number: u32) -> Result<Outcome, NoOutcome> {
    let id = ready.planned.trial(number);
    let folder = store::recording(&run.root, &id);
    if number == 1 && !folder.exists() && store::is_recorded(&run.root, &id) {
        let place = folder.path().display();
        let why = format!(
            "{place}: the first repeat is missing, others are here; restore it from version control, or record the case again"
        );
        return Err(NoOutcome::Unreadable(why));
    }
    replay_from(run, ready, &folder, id)
}

/// Replays a planned trial from the recording in `folder`.
pub fn replay_from(
    run: &RunContext,
    ready: &ReadyCase<'_>,
    folder: &TrialFolder,
    id: TrialId,
) -> Result<Outcome, NoOutcome> {
    let ReadyCase { planned, case, skill } = *ready;
    if !folder.exists() {
        return Err(NoOutcome::NotRecorded);
    }
    let unreadable = |error: &dyn fmt::Display| NoOutcome::Unreadable(error.to_string());
    let (meta, grade) = regrade(run, case, skill, folder).map_err(|error| unreadable(&error))?;
    let changed = stale(run, planned, case, &meta).map_err(|error| unreadable(&error))?;
    if !changed.is_empty() {
        return Err(NoOutcome::Stale { folder: folder.path().to_path_buf(), changed });
    }
    Ok(table::outcome(id, grade, &meta, folder, &run.settings.prices))
}

/// The parts in which today's case, skills and settings differ from what the recording with these facts saw.
fn stale(run: &RunContext, planned: &TestCase, case: &Case, meta: &Meta) -> io::Result<Vec<String>> {
    let opened = opened_skills(&meta.inputs);
    let now = run.digested(&SkillFolders::Repository, case, &planned.mode, &opened)?;
    Ok(stale_parts(&meta.inputs, &now))
}

/// Runs repeat `number` of a planned trial with its agent, and stores everything. `tell` gets an event for each thing that
/// the agent does; `measured` is called once the agent has got through and something was measured, before a judge is asked.
/// The provider refused it `before`.
pub fn run_live(
    run: &RunContext,
    ready: &ReadyCase<'_>,
    number: u32,
    refused_before: RefusedAttempts,
    tell: &dyn Fn(RunEvent),
    measured: &mut dyn FnMut(),
) -> Result<Outcome, NoOutcome> {
    let ReadyCase { planned, case, skill } = *ready;
    let id = planned.trial(number);
    let live = opening::live(run).map_err(|why| NoOutcome::NotOpened(why.to_string()))?;
    let folder = live.folder.trial(&id);
    let mode = &planned.mode;
    let offered = match ready::withheld(run, planned) {
        Some(problem) => Err(Trouble::new(TroubleKind::NotDelivered, problem.to_string())),
        None => live.snapshots.offered(mode, &case.skill),
    };
    let ran = offered.and_then(|skills| {
        LiveTrial { run, live, mode, case, skill, skills: &skills, id: &id, folder: &folder, refused_before }
            .measure(tell, measured)
    });
    let outcome = match ran {
        Ok((meta, grade)) => table::outcome(id, grade, &meta, &folder, &run.settings.prices),
        Err(trouble) => Outcome {
            id,
            grade: not_measured(trouble, run.repetition(&planned.found)),
            folder: folder.path().to_path_buf(),
            scripted: run.settings.scripted.clone(),
            spent: AttemptCost { tokens_incomplete: true, cost_incomplete: true, ..AttemptCost::default() },
            isolation: None,
            inputs: None,
        },
    };
    if outcome.grade.trouble.as_ref().is_some_and(|trouble| trouble.kind == TroubleKind::Interrupted) {
        // What was cut short has no grade and counts as not run; its evidence stays until the trial runs again. A trial
        // that only lacks its judge is judged by the next part of the run.
        return Err(NoOutcome::NotRun(NotRun::Interrupted));
    }
    Ok(outcome)
}

/// What an earlier part of the run measured of repeat `number` of a planned trial, graded by today's checks, and judged
/// where it was not; and whether the run's progress file says otherwise. `None` where it measured nothing.
pub fn kept(run: &RunContext, ready: &ReadyCase<'_>, number: u32) -> Result<Option<(Outcome, bool)>, NoOutcome> {
    let ReadyCase { planned, case, skill } = *ready;
    let id = planned.trial(number);
    let live = opening::live(run).map_err(|why| NoOutcome::NotOpened(why.to_string()))?;
    let folder = live.folder.trial(&id);
    // What cannot be read measured nothing.
    let Ok(meta) = folder.meta() else { return Ok(None) };
    let stored = folder.grade().ok();
    let (grade, final_text) = match graded(run, case, skill, &meta, &folder) {
        Ok(graded) => graded,
        Err(RegradeError::OwnChecks(why)) => return Err(NoOutcome::Unreadable(format!("{id}: {why}"))),
        Err(RegradeError::Store(_)) => return Ok(None),
    };
    let exhibit = JudgeExhibit { case, skill, meta: &meta, final_text: final_text.as_deref(), folder: &folder };
    let unreadable = |error: &dyn fmt::Display| NoOutcome::Unreadable(format!("{id}: {error}"));
    let unstored = |error: &dyn fmt::Display| {
        run.not_stored(&format!("{id}: {error}"));
        NoOutcome::NotRun(NotRun::NotStored)
    };
    let mut joined = judge::rejoin(run, &exhibit, grade.clone()).map_err(|error| unreadable(&error))?;
    let judged = matches!(joined.judged, Some(Judged::Asked { .. })) && joined.verdict != Verdict::Unscored;
    if !judged {
        joined = judge::judge(run, live, &exhibit, grade).map_err(|trouble| match trouble.kind {
            TroubleKind::NotStored => unstored(&trouble.detail),
            _ => unreadable(&trouble),
        })?;
    }
    if joined.verdict == Verdict::Error {
        return Ok(None);
    }
    let news = stored.as_ref() != Some(&joined);
    if news {
        folder.write_grade(&joined).map_err(|error| unstored(&error))?;
    }
    Ok(Some((table::outcome(id, joined, &meta, &folder, &run.settings.prices), news)))
}

/// The outcome of a trial that measured nothing in an earlier part of the run, by its row and what it left; none where it
/// measured something.
pub fn lost(run: &RunContext, planned: &TestCase, record: &TrialRecord) -> Option<Outcome> {
    if let Verdict::Pass | Verdict::Fail = record.verdict {
        return None;
    }
    let folder = run.opened()?.folder.trial(&record.id);
    if let (Ok(meta), Ok(grade)) = (folder.meta(), folder.grade()) {
        return Some(table::outcome(record.id.clone(), grade, &meta, &folder, &run.settings.prices));
    }
    let grade = not_measured(record.trouble.clone()?, run.repetition(&planned.found));
    let (folder, scripted) = (folder.path().to_path_buf(), record.scripted.clone());
    let (spent, inputs) = (record.spent, record.inputs.clone());
    Some(Outcome { id: record.id.clone(), grade, folder, scripted, spent, isolation: record.isolation, inputs })
}

/// The grade of a trial that left no evidence.
fn not_measured(trouble: Trouble, repetition: EffectiveRepetition) -> Grade {
    let (verdict, metrics) = (Verdict::Error, Metrics::default());
    let (trouble, checks) = (Some(trouble), Vec::new());
    let (threshold, at_most) = (Some(repetition.threshold), repetition.at_most());
    Grade { format: GRADE_FORMAT, verdict, trouble, checks, metrics, judged: None, threshold, max_trials: at_most }
}
