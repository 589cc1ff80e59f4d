//! Runs trials at the same time and reports them as events: all trials of the plan, or those of one case in a mode.

use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use crate::agent;
use crate::cases::test_case::TestCase;
use crate::run::context::RunContext;
use crate::run::open_run;
use crate::run::pace::{PaceWait, Permit};
use crate::run::plan::PlannedCase;
use crate::run::preflight::{self, ReadyCase};
use crate::run::trial;
use crate::run::trial_queue::{QueuedTrial, TrialQueue};
use crate::trial::event::RunEvent;
use crate::trial::evidence::RefusedAttempts;
use crate::trial::id::TrialId;
use crate::trial::not_run::NotRun;
use crate::trial::outcome::{Outcome, TrialError, Trouble, TroubleKind};
use crate::trial::run_record::TrialRecord;

/// How often a tick is sent.
const QUIET: Duration = Duration::from_millis(250);

/// Runs every trial of the plan, `jobs` at once.
pub fn run(run: &RunContext) {
    let queue = TrialQueue::new(run, &run.plan.entries);
    let work = || {
        while let Some(queued) = queue.next() {
            // Events report the result.
            let _ = run_queued(run, queued);
        }
    };
    workers(run.settings.jobs().min(run.plan.most()), work, || run.emit(&RunEvent::Tick));
}

/// Does `work` on this many threads, and ticks until all are done. Where the system has no more threads, on those that there are.
pub(super) fn workers(count: usize, work: impl Fn() + Sync, tick: impl Fn()) {
    let (alive, done) = channel::<()>();
    thread::scope(|scope| {
        for number in 0..count {
            let (alive, work) = (alive.clone(), &work);
            let worker = move || {
                work();
                drop(alive);
            };
            if thread::Builder::new().spawn_scoped(scope, worker).is_err() {
                if number == 0 {
                    work();
                }
                break;
            }
        }
        drop(alive);
        while done.recv_timeout(QUIET) == Err(RecvTimeoutError::Timeout) {
            tick();
        }
    });
}

/// Runs all repeats of a case in a mode, as many at once as the run allows.
pub fn repeats(run: &RunContext, entry: &PlannedCase) -> Vec<Result<Outcome, TrialError>> {
    // A replay takes less time than starting a thread for it.
    if entry.most() == 1 || !run.settings.live {
        return (1..=entry.repeats).map(|number| trial(run, &entry.planned, number)).collect();
    }
    let queue = TrialQueue::new(run, std::slice::from_ref(entry));
    thread::scope(|scope| {
        let mut threads = Vec::new();
        while let Some(queued) = queue.next() {
            let (give, take) = channel();
            let work = move || take.recv().ok().map(|queued| run_queued(run, queued));
            threads.push(match thread::Builder::new().spawn_scoped(scope, work) {
                Ok(thread) => {
                    let _ = give.send(queued);
                    Ok(thread)
                }
                // The system has no more threads.
                Err(_) => Err(run_queued(run, queued)),
            });
        }
        let join = |thread: ScopedJoinHandle<'_, _>| thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        threads.into_iter().filter_map(|trial| trial.map_or_else(Some, join)).collect()
    })
}

/// Runs a trial of a queue. If earlier trials decide its case and it could not be measured before, it does not run again.
fn run_queued(run: &RunContext, queued: QueuedTrial<'_>) -> Result<Outcome, TrialError> {
    let (planned, number) = (queued.planned(), queued.number);
    let earlier = if queued.decided { earlier(run, &planned.trial(number)) } else { None };
    let lost = earlier.and_then(|record| Some((trial::lost(run, planned, record)?, record.attempts)));
    let result = match lost {
        Some((outcome, attempts)) => {
            run.emit(&RunEvent::Resumed { outcome: Box::new(outcome.clone()), attempts, news: false });
            Ok(outcome)
        }
        None => told(run, planned, number, &|event| {
            if let RunEvent::Answers(_) = event {
                queued.answers();
            }
            run.emit(&event);
        }),
    };
    queued.ended(&result);
    result
}

/// Runs repeat `number` of a planned trial as the settings say: live, and again while the provider refuses it; as an
/// earlier part of the run left it; or from its recording. Reports it as events.
pub fn trial(run: &RunContext, planned: &TestCase, number: u32) -> Result<Outcome, TrialError> {
    told(run, planned, number, &|event| run.emit(&event))
}

/// As [`trial`], where `tell` reports what the agent does.
fn told(run: &RunContext, planned: &TestCase, number: u32, tell: &dyn Fn(RunEvent)) -> Result<Outcome, TrialError> {
    let _slot = run.slots.take();
    let id = planned.trial(number);
    // Held until its cost is stored.
    let mut _budget = None;
    let (result, attempts) = match preflight::ready(run, planned) {
        Err(refused) => (Err(refused), 0),
        Ok(ready) if run.settings.live => {
            let kept = if run.settings.resume { trial::kept(run, &ready, number) } else { Ok(None) };
            match kept {
                Err(problem) => (Err(problem), 0),
                Ok(Some((outcome, news))) => {
                    let attempts = earlier(run, &id).map_or(1, |earlier| earlier.attempts);
                    run.emit(&RunEvent::Resumed { outcome: Box::new(outcome.clone()), attempts, news });
                    return Ok(outcome);
                }
                Ok(None) => {
                    // Without one, the limit is reached, which `live` reports.
                    _budget = open_run::live(run).ok().and_then(|live| live.budget.enter());
                    let (result, attempts) = live(run, &ready, number, tell);
                    // Only now: until a trial has ended again, the progress file counts its earlier attempt.
                    if let (Ok(_), Some(earlier)) = (&result, earlier(run, &id)) {
                        run.emit(&RunEvent::Repeated { id: id.clone(), spent: earlier.spent });
                    }
                    (result, attempts)
                }
            }
        }
        Ok(ready) => {
            if let Some(why) = run.no_more() {
                (Err(TrialError::NotRun(why)), 0)
            } else {
                run.emit(&RunEvent::Started(id.clone()));
                (trial::replay(run, &ready, number), 1)
            }
        }
    };
    run.emit(&RunEvent::Finished { id, result: Box::new(result.clone()), attempts });
    result
}

fn earlier<'a>(run: &'a RunContext, id: &TrialId) -> Option<&'a TrialRecord> {
    run.opened()?.before.records.get(id)
}

/// Runs a trial with its agent until the provider accepts it, or the retries are used up. Also returns the number of
/// attempts.
fn live(
    run: &RunContext,
    ready: &ReadyCase<'_>,
    number: u32,
    tell: &dyn Fn(RunEvent),
) -> (Result<Outcome, TrialError>, u32) {
    let planned = ready.planned;
    let id = planned.trial(number);
    if let Some(problem) = preflight::never_decided(run, planned) {
        return (Err(TrialError::BadCase(vec![problem])), 0);
    }
    // Opened before the first look at the budget, which an earlier part of the run may have used up.
    let live = match open_run::live(run) {
        Ok(live) => live,
        Err(why) => return (Err(TrialError::NotOpened(why.clone())), 0),
    };
    let account = agent::account(&run.settings, planned.mode.agent, Some(&planned.mode));
    let mut attempt = 0;
    let mut refused_before = RefusedAttempts::default();
    let mut refused: Option<Outcome> = None;
    loop {
        let permit = match (run.pace.enter(account.clone()), run.no_more()) {
            (Ok(permit), None) => permit,
            (entered, why) => {
                let why = why.or(entered.err()).unwrap_or(NotRun::Interrupted);
                // A trial that was refused before keeps that outcome, unless the user interrupted the run.
                let outcome = refused.filter(|_| why != NotRun::Interrupted);
                return (outcome.ok_or(TrialError::NotRun(why)), attempt);
            }
        };
        attempt += 1;
        if attempt == 1 {
            run.emit(&RunEvent::Started(id.clone()));
        }
        // The trial's judge needs a permit of its own, so this one ends before.
        let mut permit = Some(permit);
        let mut measured = || permit.take().into_iter().for_each(Permit::through);
        let result = trial::run_live(run, ready, number, refused_before, tell, &mut measured);
        let Some(trouble) = result.as_ref().ok().and_then(|outcome| outcome.grade.trouble.clone()) else {
            return (result, attempt);
        };
        if trouble.kind == TroubleKind::NotStored {
            live.not_stored(&format!("{id}: {}", trouble.detail));
        }
        // Earlier refusals were reported earlier.
        let detail = trouble.detail.strip_suffix(&format!("; {refused_before}")).unwrap_or(&trouble.detail).to_owned();
        let why = Trouble { detail, ..trouble };
        let wait = permit
            .filter(|_| why.is_refused_for_now())
            .and_then(|permit| permit.refused_again(attempt, &run.settings, planned.mode.agent, &why));
        let (Some(PaceWait { pause, at_most }), Ok(outcome)) = (wait, &result) else { return (result, attempt) };
        refused_before.add(pause);
        run.emit(&RunEvent::Refused { id: id.clone(), spent: outcome.spent });
        let of = why.attempts(run.settings.retries);
        run.emit(&RunEvent::Waits { id: id.clone(), why, attempt, of, pause, at_most });
        refused = result.ok();
    }
}
