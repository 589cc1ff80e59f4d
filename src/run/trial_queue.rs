//! The order of trials: those of the plan, then more of the cases that run until they are decided. How many more depends
//! only on trials that have ended. Trials of a case follow each other, once the first of them has begun to answer: see [`leads`](super::leads).

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::cases::test_case::TestCase;
use crate::decide::threshold::{self, ThresholdSide};
use crate::run::context::RunContext;
use crate::run::leads::CachedPrompt;
use crate::run::plan::{DecisionGoal, PlannedCase};
use crate::stats::LEVEL;
use crate::stats::proportion::Rate;
use crate::trial::event::RunEvent;
use crate::trial::outcome::{Outcome, TrialError, Verdict};

/// A case gets no more trials after this many that could not be measured, if none measured something: further ones would fail
/// in the same way.
const MOST_LOST: u64 = 5;

/// The trials of these entries, handed out one by one to whoever runs them.
pub(super) struct TrialQueue<'a> {
    run: &'a RunContext,
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
    fn new(goal: DecisionGoal, entry: &PlannedCase, run: &RunContext) -> Self {
        let decided = threshold::standing(earlier(run, entry), goal.threshold, LEVEL) != ThresholdSide::Undecided;
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
    pub fn new(run: &'a RunContext, entries: &'a [PlannedCase]) -> Self {
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
        if self.run.has_leads() && CachedPrompt::waits(state.prompts.get(&index)).is_none() {
            state.prompts.insert(index, CachedPrompt::Leading);
        }
        let decided = state.undecided.get(&index).is_some_and(|progress| progress.decided);
        Some(QueuedTrial { queue: self, index, number, decided, verdict: None })
    }
}

/// The passed trials of a case in an earlier part of the run.
fn earlier(run: &RunContext, entry: &PlannedCase) -> Rate {
    let mut rate = Rate::default();
    let Some(live) = run.opened().filter(|_| run.settings.resume) else { return rate };
    let records = live.before.records.range(entry.planned.trial(1)..=entry.planned.trial(u32::MAX));
    for (_, record) in records {
        if let Verdict::Pass | Verdict::Fail = record.verdict {
            rate.add(record.verdict == Verdict::Pass);
        }
    }
    rate
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
