//! The three ways to a trial's outcome: replay its recording, run it live, or keep what an earlier part of the run measured.

use std::fmt;
use std::io;

use crate::cases::case::Case;
use crate::cases::catalog::FoundSkill;
use crate::cases::repository::Repository;
use crate::lint;
use crate::results::table;
use crate::run::digests::{SkillFolders, opened_skills, stale_parts};
use crate::run::judge::{self, Exhibit};
use crate::run::measure::LiveTrial;
use crate::run::opening;
use crate::run::ready;
use crate::run::regrade::{NotGraded, graded, regrade};
use crate::run::shared::Run;
use crate::settings::InForce;
use crate::settings::mode::Mode;
use crate::store::{self, TrialFolder};
use crate::trial::event::Event;
use crate::trial::evidence::Meta;
use crate::trial::id::{Planned, TrialId};
use crate::trial::outcome::{GRADE_FORMAT, Grade, Judged, Metrics, NoOutcome, NotRun, Outcome, Verdict};
use crate::trial::run_record::TrialRecord;
use crate::trial::spent::Spent;
use crate::trial::trouble::{Trouble, TroubleKind};

/// The case, if it can be run.
fn ready_case<'a>(run: &Run, planned: &'a Planned) -> Result<&'a Case, NoOutcome> {
    let tree = Repository { root: run.root.clone() };
    let errors = lint::case_errors(&planned.found, &run.catalog, &tree, &run.settings.lint);
    match planned.found.case() {
        Ok(case) if errors.is_empty() => Ok(case),
        _ => Err(NoOutcome::BadCase(errors)),
    }
}

fn skill_of<'a>(run: &'a Run, case: &Case, mode: &Mode) -> Result<&'a FoundSkill, NoOutcome> {
    let gone = || {
        let place = mode.commit.as_deref().map_or_else(String::new, |commit| format!(" in the commit {commit}"));
        NoOutcome::Unreadable(format!("there is no skill `{}`{place}", case.skill))
    };
    run.skills_of(mode.commit.as_deref()).and_then(|catalog| catalog.skill(&case.skill)).ok_or_else(gone)
}

/// Replays repeat `number` of a planned trial from its recording.
///
/// # Errors
/// When the case is wrong, or it has no recording, or a stale one.
pub fn replay(run: &Run, planned: &Planned, number: u32) -> Result<Outcome, NoOutcome> {
    let id = planned.trial(number);
    replay_from(run, planned, &store::recording(&run.root, &id), id)
}

/// Replays a planned trial from the recording in `folder`.
///
/// # Errors
/// As [`replay`].
pub fn replay_from(run: &Run, planned: &Planned, folder: &TrialFolder, id: TrialId) -> Result<Outcome, NoOutcome> {
    let case = ready_case(run, planned)?;
    let skill = skill_of(run, case, &planned.mode)?;
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
fn stale(run: &Run, planned: &Planned, case: &Case, meta: &Meta) -> io::Result<Vec<String>> {
    let opened = opened_skills(&meta.inputs);
    let now = run.digested(&SkillFolders::Repository, case, &planned.mode, &opened)?;
    Ok(stale_parts(&meta.inputs, &now))
}

/// Runs repeat `number` of a planned trial with its agent, and stores everything. `tell` gets an event for each thing that
/// the agent does; `measured` is called once the agent has got through and something was measured, before a judge is asked.
///
/// # Errors
/// When the case is wrong, the run cannot be opened, or the user interrupted it. Everything else is the outcome's
/// verdict.
pub fn run_live(
    run: &Run,
    planned: &Planned,
    number: u32,
    tell: &dyn Fn(Event),
    measured: &mut dyn FnMut(),
) -> Result<Outcome, NoOutcome> {
    let case = ready_case(run, planned)?;
    if let Some(problem) = ready::never_decided(run, planned) {
        return Err(NoOutcome::BadCase(vec![problem]));
    }
    let skill = skill_of(run, case, &planned.mode)?;
    let id = planned.trial(number);
    let live = opening::live(run).map_err(|why| NoOutcome::NotOpened(why.to_string()))?;
    let folder = live.folder.trial(&id);
    let mode = &planned.mode;
    let offered = match ready::withheld(run, planned) {
        Some(problem) => Err(Trouble::new(TroubleKind::NotDelivered, problem.to_string())),
        None => live.snapshots.offered(mode, &case.skill),
    };
    let ran = offered.and_then(|skills| {
        LiveTrial { run, live, mode, case, skill, skills: &skills, id: &id, folder: &folder }.measure(tell, measured)
    });
    let outcome = match ran {
        Ok((meta, grade)) => table::outcome(id, grade, &meta, &folder, &run.settings.prices),
        Err(trouble) => Outcome {
            id,
            grade: not_measured(trouble, run.repetition(&planned.found)),
            folder: folder.path().to_path_buf(),
            scripted: run.settings.scripted.clone(),
            spent: Spent { more_tokens: true, more_cost: true, ..Spent::default() },
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
///
/// # Errors
/// When what it measured cannot be graded as it was.
pub fn kept(run: &Run, planned: &Planned, number: u32) -> Result<Option<(Outcome, bool)>, NoOutcome> {
    let id = planned.trial(number);
    let live = opening::live(run).map_err(|why| NoOutcome::NotOpened(why.to_string()))?;
    let folder = live.folder.trial(&id);
    // What cannot be read measured nothing.
    let Ok(meta) = folder.meta() else { return Ok(None) };
    let case = ready_case(run, planned)?;
    let skill = skill_of(run, case, &planned.mode)?;
    let stored = folder.grade().ok();
    let (grade, final_text) = match graded(run, case, skill, &meta, &folder) {
        Ok(graded) => graded,
        Err(NotGraded::OwnChecks(why)) => return Err(NoOutcome::Unreadable(format!("{id}: {why}"))),
        Err(NotGraded::Store(_)) => return Ok(None),
    };
    let exhibit = Exhibit { case, skill, meta: &meta, final_text: final_text.as_deref(), folder: &folder };
    let unreadable = |error: &dyn fmt::Display| NoOutcome::Unreadable(format!("{id}: {error}"));
    let mut joined = judge::rejoin(run, &exhibit, grade.clone()).map_err(|error| unreadable(&error))?;
    let judged = matches!(joined.judged, Some(Judged::Asked { .. })) && joined.verdict != Verdict::Unscored;
    if !judged {
        joined = judge::judge(run, live, &exhibit, grade).map_err(|trouble| unreadable(&trouble))?;
    }
    if joined.verdict == Verdict::Error {
        return Ok(None);
    }
    let news = stored.as_ref() != Some(&joined);
    if news {
        folder.write_grade(&joined).map_err(|error| unreadable(&error))?;
    }
    Ok(Some((table::outcome(id, joined, &meta, &folder, &run.settings.prices), news)))
}

/// The outcome of a trial that measured nothing in an earlier part of the run, by its row and what it left; none where it
/// measured something.
pub fn lost(run: &Run, planned: &Planned, record: &TrialRecord) -> Option<Outcome> {
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
fn not_measured(trouble: Trouble, repetition: InForce) -> Grade {
    let (verdict, metrics) = (Verdict::Error, Metrics::default());
    let (trouble, checks) = (Some(trouble), Vec::new());
    let (threshold, at_most) = (Some(repetition.threshold), repetition.at_most());
    Grade { format: GRADE_FORMAT, verdict, trouble, checks, metrics, judged: None, threshold, at_most }
}
