//! Which trials come next: those of the plan in its order, and behind them more of the cases that go on until they are
//! decided. These look only back, at trials that have ended.

use std::collections::{HashMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::cases::test_case::TestCase;
use crate::decide::threshold::{self, ThresholdSide};
use crate::run::context::RunContext;
use crate::run::plan::{DecisionGoal, PlannedCase};
use crate::stats::LEVEL;
use crate::stats::proportion::Rate;
use crate::trial::event::RunEvent;
use crate::trial::outcome::{NoOutcome, Outcome, Verdict};

/// After how many trials that measured nothing, with none that did, a case gets no more: what keeps those from being measured
/// keeps all of them.
const MOST_LOST: u64 = 5;

/// The trials of these entries, handed out one by one to whoever runs them.
pub(super) struct TrialQueue<'a> {
    run: &'a RunContext,
    entries: &'a [PlannedCase],
    state: Mutex<QueueState>,
    news: Condvar,
}

struct QueueState {
    ready: VecDeque<(usize, u32)>,
    under_way: usize,
    /// Where the cases stand that go on until they are decided, by their place among the entries.
    open: HashMap<usize, CaseProgress>,
}

/// Where a case stands that goes on until it is decided.
struct CaseProgress {
    until: DecisionGoal,
    /// Whether what an earlier part of the run measured decides it: what measured nothing then is not run again.
    decided: bool,
    /// Trials so far, those under way included.
    planned: u64,
    rate: Rate,
    /// Trials that ended and measured nothing.
    not_measured: u64,
    /// Whether a trial was not run at all: what kept it from that keeps the others.
    stuck: bool,
}

impl CaseProgress {
    /// How many more trials it gets now.
    fn more(&self) -> u64 {
        if self.stuck {
            return 0;
        }
        let ended = self.rate.trials + self.not_measured;
        let most = u64::from(self.until.most).saturating_sub(self.not_measured);
        let sure = threshold::sure(self.rate, self.planned - ended, self.until.threshold, most);
        if self.rate.trials > 0 { sure } else { sure.min(MOST_LOST.saturating_sub(self.planned)) }
    }
}

/// A trial that somebody runs. Dropped without a result it counts as one that was not run.
pub(super) struct QueuedTrial<'a> {
    turns: &'a TrialQueue<'a>,
    place: usize,
    /// Which repeat it is, from 1.
    pub number: u32,
    /// Whether its case is decided by what an earlier part of the run measured.
    pub decided: bool,
    verdict: Option<Verdict>,
}

impl<'a> TrialQueue<'a> {
    pub fn new(run: &'a RunContext, entries: &'a [PlannedCase]) -> Self {
        let all = entries.iter().enumerate();
        let ready =
            all.clone().flat_map(|(place, entry)| (1..=entry.repeats).map(move |number| (place, number))).collect();
        let open = all.filter_map(|(place, entry)| {
            let (until, planned) = (entry.until?, u64::from(entry.repeats));
            let decided = threshold::standing(earlier(run, entry), until.threshold, LEVEL) != ThresholdSide::Undecided;
            Some((
                place,
                CaseProgress { until, decided, planned, rate: Rate::default(), not_measured: 0, stuck: false },
            ))
        });
        let state = QueueState { ready, under_way: 0, open: open.collect() };
        Self { run, entries, state: Mutex::new(state), news: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next trial, once there is one; none where there will be no more.
    pub fn next(&'a self) -> Option<QueuedTrial<'a>> {
        let idle = |state: &mut QueueState| state.ready.is_empty() && state.under_way > 0;
        let mut state = self.news.wait_while(self.state(), idle).unwrap_or_else(PoisonError::into_inner);
        let (place, number) = state.ready.pop_front()?;
        state.under_way += 1;
        let decided = state.open.get(&place).is_some_and(|course| course.decided);
        Some(QueuedTrial { turns: self, place, number, decided, verdict: None })
    }
}

/// What an earlier part of the run measured of a case.
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
        &self.turns.entries[self.place].planned
    }

    /// The trial has ended.
    pub fn ended(mut self, result: &Result<Outcome, NoOutcome>) {
        self.verdict = result.as_ref().ok().map(|outcome| outcome.grade.verdict);
    }
}

impl Drop for QueuedTrial<'_> {
    fn drop(&mut self) {
        let mut state = self.turns.state();
        let QueueState { ready, under_way, open } = &mut *state;
        *under_way -= 1;
        if let Some(course) = open.get_mut(&self.place) {
            match self.verdict {
                Some(verdict @ (Verdict::Pass | Verdict::Fail)) => course.rate.add(verdict == Verdict::Pass),
                Some(Verdict::Error | Verdict::Unscored) => course.not_measured += 1,
                None => (course.not_measured, course.stuck) = (course.not_measured + 1, true),
            }
            for _ in 0..course.more() {
                course.planned += 1;
                let number = u32::try_from(course.planned).unwrap_or(u32::MAX);
                // In the run's plan before anybody can start it.
                self.turns.run.tell(&RunEvent::Planned(self.turns.entries[self.place].planned.trial(number)));
                ready.push_back((self.place, number));
            }
        }
        drop(state);
        self.turns.news.notify_all();
    }
}
