//! Runs trials side by side: the whole plan, or one case in a mode, each trial in the same way, reported as events.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use crate::agent::login::LoginSources;
use crate::cases::test_case::TestCase;
use crate::run::context::RunContext;
use crate::run::opening;
use crate::run::pace::{PaceWait, Permit};
use crate::run::plan::PlannedCase;
use crate::run::ready::{self, ReadyCase};
use crate::run::trial;
use crate::run::trial_queue::{QueuedTrial, TrialQueue};
use crate::trial::event::RunEvent;
use crate::trial::evidence::RefusedAttempts;
use crate::trial::id::TrialId;
use crate::trial::outcome::{NoOutcome, NotRun, Outcome, TroubleKind};
use crate::trial::run_record::TrialRecord;

/// After how long without an event a tick is sent.
pub(super) const QUIET: Duration = Duration::from_millis(250);

/// Runs every trial of the plan, `jobs` at once.
pub fn run(run: &RunContext) {
    let turns = TrialQueue::new(run, &run.plan.entries);
    let (alive, over) = channel::<()>();
    thread::scope(|scope| {
        for _ in 0..run.settings.jobs.min(run.plan.most()) {
            let (alive, turns) = (alive.clone(), &turns);
            scope.spawn(move || {
                while let Some(turn) = turns.next() {
                    // The events report the result.
                    let result = take(run, &turn);
                    turn.ended(&result);
                }
                drop(alive);
            });
        }
        drop(alive);
        while over.recv_timeout(QUIET) == Err(RecvTimeoutError::Timeout) {
            run.tell(&RunEvent::Tick);
        }
    });
}

/// Runs all repeats of a case in a mode, side by side as far as the run has room.
pub fn repeats(run: &RunContext, entry: &PlannedCase) -> Vec<Result<Outcome, NoOutcome>> {
    // Replaying takes less time than starting a thread for it.
    if entry.most() == 1 || !run.settings.live {
        return (1..=entry.repeats).map(|number| trial(run, &entry.planned, number)).collect();
    }
    let turns = TrialQueue::new(run, std::slice::from_ref(entry));
    thread::scope(|scope| {
        let threads: Vec<_> = std::iter::from_fn(|| turns.next())
            .map(|turn| {
                scope.spawn(move || {
                    let result = take(run, &turn);
                    turn.ended(&result);
                    result
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// Runs the trial of a turn. One that measured nothing in an earlier part of the run stays that where its case is decided
/// without it.
fn take(run: &RunContext, turn: &QueuedTrial<'_>) -> Result<Outcome, NoOutcome> {
    let (planned, number) = (turn.planned(), turn.number);
    let lost = turn.decided.then(|| earlier(run, &planned.trial(number))).flatten();
    match lost.and_then(|record| Some((trial::lost(run, planned, record)?, record.attempts))) {
        Some((outcome, attempts)) => {
            run.tell(&RunEvent::Kept { outcome: Box::new(outcome.clone()), attempts, news: false });
            Ok(outcome)
        }
        None => trial(run, planned, number),
    }
}

/// Runs repeat `number` of a planned trial as the settings say: live, and again while the provider refuses it; as an
/// earlier part of the run left it; or from its recording. Reports it as events.
pub fn trial(run: &RunContext, planned: &TestCase, number: u32) -> Result<Outcome, NoOutcome> {
    let _slot = run.slots.take();
    let id = planned.trial(number);
    let (result, attempts) = match ready::ready(run, planned) {
        Err(refused) => (Err(refused), 0),
        Ok(ready) if run.settings.live => {
            match run.settings.resume.then(|| trial::kept(run, &ready, number)).transpose() {
                Err(problem) => (Err(problem), 0),
                Ok(Some(Some((outcome, news)))) => {
                    let attempts = earlier(run, &id).map_or(1, |earlier| earlier.attempts);
                    run.tell(&RunEvent::Kept { outcome: Box::new(outcome.clone()), attempts, news });
                    return Ok(outcome);
                }
                Ok(_) => {
                    let ran = live(run, &ready, number);
                    // Only once it has ended anew: until then the progress file counts the earlier attempt as the trial's.
                    if let (Ok(_), Some(earlier)) = (&ran.0, earlier(run, &id)) {
                        run.tell(&RunEvent::Repeated { id: id.clone(), spent: earlier.spent });
                    }
                    ran
                }
            }
        }
        Ok(ready) => {
            if let Some(why) = run.no_more() {
                (Err(NoOutcome::NotRun(why)), 0)
            } else {
                run.tell(&RunEvent::Started(id.clone()));
                (trial::replay(run, &ready, number), 1)
            }
        }
    };
    run.tell(&match &result {
        Err(NoOutcome::NotRun(why)) => RunEvent::Skipped(id, *why),
        _ => RunEvent::Finished { id, result: Box::new(result.clone()), attempts },
    });
    result
}

/// What an earlier part of the run came to in this trial.
fn earlier<'a>(run: &'a RunContext, id: &TrialId) -> Option<&'a TrialRecord> {
    run.opened()?.before.records.get(id)
}

/// Runs a trial with its agent until the provider lets it through, or the retries are used up.
fn live(run: &RunContext, ready: &ReadyCase<'_>, number: u32) -> (Result<Outcome, NoOutcome>, u32) {
    let planned = ready.planned;
    if let Some(problem) = ready::never_decided(run, planned) {
        return (Err(NoOutcome::BadCase(vec![problem])), 0);
    }
    // Opened before the first look at its budget, which an earlier part of the run may have used up.
    if let Err(why) = opening::live(run) {
        return (Err(NoOutcome::NotOpened(why.to_string())), 0);
    }
    let account = LoginSources::new(&run.settings, planned.mode.agent, Some(&planned.mode)).account();
    let mut attempt = 0;
    let mut before = RefusedAttempts::default();
    let mut refused: Option<Outcome> = None;
    loop {
        let permit = run.pace.enter(account.clone());
        let permit = match (permit, run.no_more()) {
            (Some(permit), None) => permit,
            (_, why) => {
                let why = why.unwrap_or(NotRun::Interrupted);
                // A trial that was refused before keeps that outcome, unless the user interrupted the run.
                let said = refused.filter(|_| why != NotRun::Interrupted);
                return (said.ok_or(NoOutcome::NotRun(why)), attempt);
            }
        };
        attempt += 1;
        if attempt == 1 {
            run.tell(&RunEvent::Started(planned.trial(number)));
        }
        let mut permit = Some(permit);
        // Its judge asks for a permit of its own.
        let mut measured = || permit.take().into_iter().for_each(Permit::through);
        let result = trial::run_live(run, ready, number, before, &|event| run.tell(&event), &mut measured);
        let Some(trouble) = result.as_ref().ok().and_then(|outcome| outcome.grade.trouble.clone()) else {
            return (result, attempt);
        };
        if trouble.kind == TroubleKind::NotStored {
            run.not_stored(&format!("{}: {}", planned.trial(number), trouble.detail));
        }
        let asked = trouble.retry_after_s.map(Duration::from_secs);
        let wait = permit
            .filter(|_| trouble.kind == TroubleKind::RateLimit)
            .and_then(|permit| permit.refused_again(attempt, &run.settings, asked));
        let (Some(PaceWait { pause, at_most }), Ok(outcome)) = (wait, &result) else { return (result, attempt) };
        let id = planned.trial(number);
        // What was before it was told then.
        let why = trouble.detail.strip_suffix(&format!("; {before}")).unwrap_or(&trouble.detail).to_owned();
        before.add(pause);
        run.tell(&RunEvent::Refused { id: id.clone(), spent: outcome.spent });
        let of = run.settings.retries.saturating_add(1);
        run.tell(&RunEvent::Waits { id, why, attempt, of, pause, at_most });
        refused = result.ok();
    }
}
