//! Runs planned trials side by side, and tells what happens as one stream of events.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use crate::run::shared::Run;
use crate::run::trial;
use crate::trial::event::Event;
use crate::trial::id::Planned;
use crate::trial::outcome::{NoOutcome, NotRun, Outcome, TroubleKind, Verdict};
use crate::trial::run_record::TrialRecord;

/// How long nothing may happen before that is told.
const QUIET: Duration = Duration::from_millis(250);

/// How often each planned trial runs.
#[must_use]
pub fn repeats(run: &Run) -> u32 {
    if run.settings.live { run.settings.trials } else { 1 }
}

/// Runs every planned trial the settings' number of times, `jobs` at once, and hands each event to `hear`.
pub fn run(run: &Run, planned: &[Planned<'_>], mut hear: impl FnMut(Event)) {
    let count = planned.len() * repeats(run) as usize;
    let next = AtomicUsize::new(0);
    let (sender, events) = channel();
    thread::scope(|scope| {
        for _ in 0..run.settings.jobs.min(count) {
            let sender = sender.clone();
            let next = &next;
            scope.spawn(move || work(run, planned, next, &sender));
        }
        drop(sender);
        loop {
            match events.recv_timeout(QUIET) {
                Ok(event) => hear(event),
                Err(RecvTimeoutError::Timeout) => hear(Event::Tick),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    });
}

fn work(run: &Run, planned: &[Planned<'_>], next: &AtomicUsize, sender: &Sender<Event>) {
    // The receiver outlives every worker; a send that fails has nobody left to tell.
    let tell = |event| {
        let _ = sender.send(event);
    };
    let repeats = repeats(run) as usize;
    loop {
        let index = next.fetch_add(1, Ordering::Relaxed);
        let Some(planned) = planned.get(index / repeats) else { return };
        let number = u32::try_from(index % repeats + 1).unwrap_or(u32::MAX);
        // What becomes of it the events tell.
        let _ = trial(run, planned, number, &tell);
    }
}

/// Runs repeat `number` of a planned trial as the settings say: live, and again while the provider refuses it; as an
/// earlier part of the run left it; or from its recording.
///
/// # Errors
/// When the case is wrong, was not run, or has no recording that speaks for it.
pub fn trial(run: &Run, planned: &Planned<'_>, number: u32, tell: &dyn Fn(Event)) -> Result<Outcome, NoOutcome> {
    let id = planned.trial(number);
    let (result, attempts) = if run.settings.live {
        if let Some((outcome, was_graded)) = run.settings.resume.then(|| trial::kept(run, planned, number)).flatten() {
            if was_graded {
                run.note_cost(&TrialRecord::new(&outcome, 1));
            } else {
                // The runner was killed before it could note it.
                run.note(&outcome, 1);
            }
            tell(Event::Kept(Box::new(outcome.clone())));
            return Ok(outcome);
        }
        live(run, planned, number, tell)
    } else if let Some(why) = run.no_more() {
        (Err(NoOutcome::NotRun(why)), 0)
    } else {
        tell(Event::Started(id.clone()));
        (trial::replay(run, planned, number), 1)
    };
    tell(match &result {
        Err(NoOutcome::NotRun(why)) => Event::Skipped(id, *why),
        _ => Event::Finished { id, result: Box::new(result.clone()), attempts },
    });
    result
}

/// Runs a trial with its agent until the provider lets it through, or the retries are used up.
fn live(run: &Run, planned: &Planned<'_>, number: u32, tell: &dyn Fn(Event)) -> (Result<Outcome, NoOutcome>, u32) {
    let mut attempt = 0;
    let mut refused: Option<Outcome> = None;
    loop {
        let permit = run.pace.enter(planned.mode.agent);
        let permit = match (permit, run.no_more()) {
            (Some(permit), None) => permit,
            (_, why) => {
                // A trial that was refused before has said all that it will.
                let why = why.unwrap_or(NotRun::Interrupted);
                return (refused.ok_or(NoOutcome::NotRun(why)), attempt);
            }
        };
        attempt += 1;
        if attempt == 1 {
            tell(Event::Started(planned.trial(number)));
        }
        let result = trial::run_live(run, planned, number, tell);
        let grade = result.as_ref().ok().map(|outcome| &outcome.grade);
        let measured = grade.is_some_and(|grade| grade.verdict != Verdict::Error);
        let kind = grade.and_then(|grade| grade.trouble.as_ref()).map(|trouble| trouble.kind);
        if !measured && kind == Some(TroubleKind::RateLimit) {
            let pause = if attempt <= run.settings.retries {
                permit.refused(run.settings.retry_wait)
            } else {
                permit.give_up();
                None
            };
            if let Some(pause) = pause {
                tell(Event::Refused { id: planned.trial(number), attempt, pause });
                refused = result.ok();
                if let Some(outcome) = &refused {
                    run.note_cost(&TrialRecord::new(outcome, attempt));
                }
                continue;
            }
        } else if measured {
            permit.through();
        }
        if let Ok(outcome) = &result {
            run.note(outcome, attempt);
        }
        return (result, attempt);
    }
}
