//! Runs trials at the same time and reports them as events: all trials of the plan, or those of one case in a mode.

use std::collections::{HashMap, VecDeque};
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use crate::agent;
use crate::cases::selection::TestCase;
use crate::decide::threshold::{self, ThresholdSide};
use crate::results::summary::TrialCounts;
use crate::run::plan::{DecisionGoal, PlannedCase};
use crate::run::preflight::{self, ReadyCase};
use crate::run::rate_limiter::{CachedPrompt, Permit, RateLimitWait};
use crate::run::started::StartedRun;
use crate::run::{open_run, trial};
use crate::stats::LEVEL;
use crate::stats::proportion::Rate;
use crate::trial::event::RunEvent;
use crate::trial::evidence::RefusedAttempts;
use crate::trial::id::TrialId;
use crate::trial::outcome::NotRun;
use crate::trial::outcome::{Outcome, TrialError, Trouble, TroubleKind, Verdict};
use crate::trial::run_record::TrialRecord;

/// How often a tick is sent.
const QUIET: Duration = Duration::from_millis(250);

/// Runs every trial of the plan, `jobs` at once.
pub fn run(run: &StartedRun) {
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
pub fn repeats(run: &StartedRun, entry: &PlannedCase) -> Vec<Result<Outcome, TrialError>> {
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
fn run_queued(run: &StartedRun, queued: QueuedTrial<'_>) -> Result<Outcome, TrialError> {
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
pub fn trial(run: &StartedRun, planned: &TestCase, number: u32) -> Result<Outcome, TrialError> {
    told(run, planned, number, &|event| run.emit(&event))
}

/// As [`trial`], where `tell` reports what the agent does.
fn told(run: &StartedRun, planned: &TestCase, number: u32, tell: &dyn Fn(RunEvent)) -> Result<Outcome, TrialError> {
    let _slot = run.semaphore.take();
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
                (trial::replay(run, &ready, number, tell), 1)
            }
        }
    };
    run.emit(&RunEvent::Finished { id, result: Box::new(result.clone()), attempts });
    result
}

fn earlier<'a>(run: &'a StartedRun, id: &TrialId) -> Option<&'a TrialRecord> {
    run.opened()?.before.records.get(id)
}

/// Runs a trial with its agent until the provider accepts it, or the retries are used up. Also returns the number of
/// attempts.
fn live(
    run: &StartedRun,
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
        let permit = match (run.rate_limiter.enter(account.clone()), run.no_more()) {
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
        let (Some(RateLimitWait { pause, at_most }), Ok(outcome)) = (wait, &result) else { return (result, attempt) };
        refused_before.add(pause);
        run.emit(&RunEvent::Refused { id: id.clone(), spent: outcome.spent });
        let of = why.attempts(run.settings.retries);
        run.emit(&RunEvent::Waits { id: id.clone(), why, attempt, of, pause, at_most });
        refused = result.ok();
    }
}

// The order of trials: those of the plan, then more of the cases that run until they are decided. How many more depends
// only on trials that have ended. Trials of a case follow each other, once the first of them has begun to answer: see `rate_limiter`.

/// A case gets no more trials after this many that could not be measured, if none measured something: further ones would fail
/// in the same way.
const MOST_LOST: u64 = 5;

/// The trials of these entries, handed out one by one to whoever runs them.
pub(super) struct TrialQueue<'a> {
    run: &'a StartedRun,
    entries: &'a [PlannedCase],
    state: Mutex<QueueState>,
    changed: Condvar,
}

struct QueueState {
    /// Trials to run: the index of the entry, and the number of the repeat.
    waiting: VecDeque<(usize, u32)>,
    running: usize,
    /// Cases that run until they are decided, by the index of the entry.
    undecided: HashMap<usize, CaseProgress>,
    /// The prompts of cases whose trials have begun, by the index of the entry.
    prompts: HashMap<usize, CachedPrompt>,
}

impl QueueState {
    /// The place of the next trial: the first that need not wait until another trial of its case has begun to answer.
    fn next(&self) -> Option<usize> {
        let waits = |index: &usize| CachedPrompt::waits(self.prompts.get(index)) == Some(true);
        self.waiting.iter().position(|(index, _)| !waits(index))
    }
}

struct CaseProgress {
    goal: DecisionGoal,
    /// Whether trials of an earlier part of the run decide it: its trials that could not be measured do not run again.
    decided: bool,
    /// Trials so far, running ones included.
    planned: u64,
    rate: Rate,
    /// Ended trials that could not be measured.
    not_measured: u64,
    /// Whether a trial could not run at all: the others could not either.
    stuck: bool,
}

impl CaseProgress {
    fn new(goal: DecisionGoal, entry: &PlannedCase, run: &StartedRun) -> Self {
        let earlier = ended_earlier(run, entry);
        let decided = threshold::standing(earlier.rate(), goal.threshold, LEVEL) != ThresholdSide::Undecided
            && earlier.verdict(goal.threshold) != Verdict::Error;
        let planned = u64::from(entry.repeats);
        Self { goal, decided, planned, rate: Rate::default(), not_measured: 0, stuck: false }
    }

    fn add(&mut self, verdict: Option<Verdict>) {
        match verdict {
            Some(verdict @ (Verdict::Pass | Verdict::Fail)) => self.rate.add(verdict == Verdict::Pass),
            Some(Verdict::Error | Verdict::Unscored) => self.not_measured += 1,
            None => (self.not_measured, self.stuck) = (self.not_measured + 1, true),
        }
    }

    /// The number of further trials that can start now.
    fn more(&self) -> u64 {
        if self.stuck {
            return 0;
        }
        let ended = self.rate.trials + self.not_measured;
        let most = u64::from(self.goal.most).saturating_sub(self.not_measured);
        let more = threshold::sure(self.rate, self.planned - ended, self.goal.threshold, most);
        if self.rate.trials > 0 { more } else { more.min(MOST_LOST.saturating_sub(self.planned)) }
    }
}

/// A trial that somebody runs. If it is dropped without a result, it counts as not run.
pub(super) struct QueuedTrial<'a> {
    queue: &'a TrialQueue<'a>,
    index: usize,
    /// The number of the repeat, from 1.
    pub number: u32,
    /// Whether trials of an earlier part of the run decide its case.
    pub decided: bool,
    verdict: Option<Verdict>,
}

impl<'a> TrialQueue<'a> {
    pub fn new(run: &'a StartedRun, entries: &'a [PlannedCase]) -> Self {
        let (mut waiting, mut undecided) = (VecDeque::new(), HashMap::new());
        for (index, entry) in entries.iter().enumerate() {
            waiting.extend((1..=entry.repeats).map(|number| (index, number)));
            if let Some(goal) = entry.until {
                undecided.insert(index, CaseProgress::new(goal, entry, run));
            }
        }
        if run.variants.is_some() {
            // Round by round, so that no variant has the quieter time, and a run that ends early has them all.
            waiting.make_contiguous().sort_by_key(|(_, number)| *number);
        }
        let state = Mutex::new(QueueState { waiting, running: 0, undecided, prompts: HashMap::new() });
        Self { run, entries, state, changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the next trial; `None` if there will be no more.
    pub fn next(&'a self) -> Option<QueuedTrial<'a>> {
        let state = self.changed.wait_while(self.state(), |state| state.next().is_none() && state.running > 0);
        let mut state = state.unwrap_or_else(PoisonError::into_inner);
        let place = state.next()?;
        let (index, number) = state.waiting.remove(place)?;
        state.running += 1;
        let leads = self.run.has_cache_leaders(&self.entries[index].planned.mode);
        if leads && CachedPrompt::waits(state.prompts.get(&index)).is_none() {
            state.prompts.insert(index, CachedPrompt::Leading);
        }
        let decided = state.undecided.get(&index).is_some_and(|progress| progress.decided);
        Some(QueuedTrial { queue: self, index, number, decided, verdict: None })
    }
}

/// The passed trials of a case in an earlier part of the run.
fn ended_earlier(run: &StartedRun, entry: &PlannedCase) -> TrialCounts {
    let mut counts = TrialCounts::default();
    let Some(live) = run.opened().filter(|_| run.settings.resume) else { return counts };
    let records = live.before.records.range(entry.planned.trial(1)..=entry.planned.trial(u32::MAX));
    records.for_each(|(_, record)| counts.add_verdict(record.verdict));
    counts
}

impl QueuedTrial<'_> {
    pub fn planned(&self) -> &TestCase {
        &self.queue.entries[self.index].planned
    }

    /// Its model has begun to answer: other trials of its case may read its prompt from a cache.
    pub fn answers(&self) {
        let mut state = self.queue.state();
        let Some(prompt) = state.prompts.get_mut(&self.index) else { return };
        if let CachedPrompt::Leading = std::mem::replace(prompt, CachedPrompt::now()) {
            self.queue.changed.notify_all();
        }
    }

    pub fn ended(mut self, result: &Result<Outcome, TrialError>) {
        self.verdict = result.as_ref().ok().map(|outcome| outcome.grade.verdict);
    }
}

impl Drop for QueuedTrial<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.state();
        let QueueState { waiting, running, undecided, prompts } = &mut *state;
        *running -= 1;
        // Without an answer too: nobody waits for a trial that ended.
        prompts.entry(self.index).and_modify(|prompt| *prompt = CachedPrompt::now());
        if let Some(progress) = undecided.get_mut(&self.index) {
            progress.add(self.verdict);
            for _ in 0..progress.more() {
                progress.planned += 1;
                let number = u32::try_from(progress.planned).unwrap_or(u32::MAX);
                // Added to the run's plan before anybody can start it.
                self.queue.run.emit(&RunEvent::Planned(self.planned().trial(number)));
                waiting.push_back((self.index, number));
            }
        }
        drop(state);
        self.queue.changed.notify_all();
    }
}
