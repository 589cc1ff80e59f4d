//! Runs the pairs of a comparison, a trial on each side of the same case, and first looks with the candidate alone, until its plan is
//! done or a limit is reached. [`decide`](crate::decide) chooses what is next by what came before.

use crate::run::pairing::PairedCase;
use crate::run::pairing::Pairing;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::decide::sequential::{Pair, SequentialTest, Step};
use crate::results::stored_comparison;
use crate::run::kept;
use crate::run::live::LiveRun;
use crate::run::scheduler::{self, trial};
use crate::run::started::StartedRun;
use crate::store::{KeptPair, PairSide, StoreError};
use crate::trial::event::RunEvent;
use crate::trial::id::CaseInMode;
use crate::trial::outcome::{Outcome, TrialError};
use crate::trial::run_record::{PairRecord, PlanLine, TrialRecord};

/// A comparison ends after this many pairs in a row that were not measured: what prevented that prevents it in all.
const MOST_LOST: usize = 5;

/// Why no further pair began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PairsStopped {
    /// The plan is done.
    Decided,
    /// The most trials were run.
    Trials,
    /// Pair after pair was not measured.
    NothingMeasured,
    /// A limit in money or tokens, or the user.
    NoMore,
    /// What an earlier part of the run measured cannot be read or graded; the events say why.
    Unreadable,
    /// A case cannot run; the events say why.
    CannotRun,
}

/// What the workers share.
struct PairQueue {
    state: SequentialTest,
    /// What an earlier part of the run began, to be gone through again first.
    before: std::vec::IntoIter<PairRecord>,
    /// How many steps have begun, and their trials, of all and of each case with the baseline and the candidate.
    begun: usize,
    trials: u64,
    of_case: Vec<(u32, u32)>,
    /// What has ended, by its place in the order in which it began, until all before it have.
    ended: BTreeMap<usize, (Step, PairOutcome)>,
    fed: usize,
    in_flight: Vec<Step>,
    /// How many trials run, and how many may. A pair takes two places, even if there is one.
    running: u64,
    at_once: u64,
    /// Whether the next step waits for a place.
    waits: bool,
    stopped: Option<PairsStopped>,
}

/// Whether the trials of both sides passed; none for one that could not be measured, or that is not part of the step.
type PairOutcome = (Option<bool>, Option<bool>);

struct NextPair<'a> {
    place: usize,
    step: Step,
    paired: &'a PairedCase,
    /// The numbers of its trials. Without one of the baseline, the candidate runs alone.
    baseline: Option<u32>,
    candidate: u32,
    /// The same as its comparison keeps it, if it is kept.
    kept: Option<KeptPair>,
    /// Whether a kept trial may stand for that of the baseline.
    takes_kept: bool,
}

/// Runs pairs, as many at once as `jobs` allows, and returns their results.
pub fn run(
    run: &StartedRun,
    live: &LiveRun,
    pairing: &Pairing,
    state: SequentialTest,
    max_trials: u64,
) -> Result<(SequentialTest, PairsStopped), StoreError> {
    let course = Mutex::new(PairQueue {
        state,
        before: live.folder.pairs()?.into_iter(),
        begun: 0,
        trials: 0,
        of_case: vec![(0, 0); pairing.cases.len()],
        ended: BTreeMap::new(),
        fed: 0,
        in_flight: Vec::new(),
        running: 0,
        at_once: (run.settings.jobs().max(1) as u64).next_multiple_of(2),
        waits: false,
        stopped: None,
    });
    let ended = Condvar::new();
    // First what has begun before: until the last of it has ended, nobody knows whether the plan wants more.
    for begun in [true, false] {
        let next = || {
            let mut queue = lock(&course);
            loop {
                let next = next(run, live, pairing, &mut queue, (max_trials, begun));
                if next.is_some() || !std::mem::take(&mut queue.waits) {
                    return next;
                }
                queue = ended.wait(queue).unwrap_or_else(PoisonError::into_inner);
            }
        };
        let work = || {
            while let Some(next) = next() {
                let both = both(run, &next, pairing.outcome_only);
                lock(&course).take(&next, &both);
                ended.notify_all();
            }
        };
        scheduler::workers(run.settings.jobs().max(1), work, || run.emit(&RunEvent::Tick));
    }
    let course = course.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((course.state, course.stopped.unwrap_or(PairsStopped::NoMore)))
}

fn lock(course: &Mutex<PairQueue>) -> MutexGuard<'_, PairQueue> {
    course.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The step to run next, stored in the run's directory before it starts; only one that was begun before if `begun`.
fn next<'a>(
    run: &StartedRun,
    live: &LiveRun,
    pairing: &'a Pairing,
    course: &mut PairQueue,
    (max_trials, begun): (u64, bool),
) -> Option<NextPair<'a>> {
    if course.stopped.is_some() {
        return None;
    }
    let earlier = course.before.find_map(|pair| {
        let step = Step { case: pairing.case_of(&pair)?, alone: pair.baseline.is_none() };
        Some((step, pair.baseline.map(|id| id.number), pair.candidate.number))
    });
    let (step, baseline, candidate) = match earlier {
        // What was measured counts, whatever is left to spend.
        Some(earlier) => earlier,
        None if begun => return None,
        None if run.no_more().is_some() => {
            course.stopped = Some(PairsStopped::NoMore);
            return None;
        }
        None => {
            let step = course.open_step(max_trials)?;
            let (paired, of_case) = (&pairing.cases[step.case], course.of_case[step.case]);
            let (baseline, candidate) = ((!step.alone).then_some(of_case.0 + 1), of_case.1 + 1);
            let pair = PairRecord {
                baseline: baseline.map(|number| paired.baseline.trial(number)),
                candidate: paired.candidate.trial(candidate),
            };
            let planned = live.folder.add_to_plan(pair.trials().cloned().map(PlanLine::from));
            if let Err(error) = planned.and_then(|_| live.folder.add_pair(&pair)) {
                live.not_stored(&error.to_string());
                course.stopped = Some(PairsStopped::NoMore);
                return None;
            }
            (step, baseline, candidate)
        }
    };
    let of_case = &mut course.of_case[step.case];
    *of_case = (of_case.0.max(baseline.unwrap_or_default()), of_case.1.max(candidate));
    course.in_flight.push(step);
    course.begun += 1;
    course.trials += step.trials();
    course.running += step.trials();
    let paired = &pairing.cases[step.case];
    let kept = kept::begin(run, &paired.name, candidate, step.alone);
    let takes_kept = baseline.is_some_and(|number| course.state.takes_kept(number));
    Some(NextPair { place: course.begun - 1, step, paired, baseline, candidate, kept, takes_kept })
}

impl PairQueue {
    /// The next step of the plan, if it may begin.
    fn open_step(&mut self, max_trials: u64) -> Option<Step> {
        let Some(step) = self.state.next_step(&self.in_flight) else {
            // What is running may bring one, and continues by itself.
            if self.in_flight.is_empty() {
                self.stopped = Some(PairsStopped::Trials);
            }
            return None;
        };
        if self.trials + step.trials() > max_trials {
            self.stopped = Some(PairsStopped::Trials);
            return None;
        }
        self.waits = self.running + step.trials() > self.at_once;
        (!self.waits).then_some(step)
    }

    /// Takes in what has ended, or was not run.
    fn take(&mut self, next: &NextPair<'_>, both: &Result<PairOutcome, TrialError>) {
        self.running -= next.step.trials();
        let both = match *both {
            Ok(both) => both,
            Err(ref why) => {
                let stopped = match why {
                    TrialError::NotRun(_) | TrialError::NotOpened(_) => PairsStopped::NoMore,
                    TrialError::Unreadable(_) => PairsStopped::Unreadable,
                    _ => PairsStopped::CannotRun,
                };
                self.stopped.get_or_insert(stopped);
                return;
            }
        };
        self.ended.insert(next.place, (next.step, both));
        while let Some((step, (baseline, candidate))) = self.ended.remove(&self.fed) {
            self.fed += 1;
            if let Some(at) = self.in_flight.iter().position(|running| *running == step) {
                self.in_flight.swap_remove(at);
            }
            // What was still running at the decision is not counted.
            if self.stopped == Some(PairsStopped::Decided) {
                continue;
            }
            let fed = if step.alone {
                self.state.feed_look(step.case, candidate)
            } else {
                self.state.feed(Pair { case: step.case, baseline, candidate })
            };
            if fed.is_ok() && self.state.is_decided() {
                self.stopped = Some(PairsStopped::Decided);
            }
        }
        if lost_in_a_row(&self.state) >= MOST_LOST {
            self.stopped.get_or_insert(PairsStopped::NothingMeasured);
        }
    }
}

/// How many pairs at the end were not measured. One of a case that never was says nothing of the others, unless none was.
fn lost_in_a_row(state: &SequentialTest) -> usize {
    let pairs = state.pairs();
    let looks = state.looks().iter().filter(|(_, passed)| passed.is_some()).map(|(case, _)| *case);
    let measured = pairs.iter().filter(|pair| pair.is_measured()).map(|pair| pair.case);
    let known: BTreeSet<usize> = looks.chain(measured).collect();
    let lost = pairs.iter().rev().take_while(|pair| !pair.is_measured());
    lost.filter(|pair| known.is_empty() || known.contains(&pair.case)).count()
}

/// Runs a step. The sides of pairs take turns at being first, so that neither has the quieter time.
fn both(run: &StartedRun, next: &NextPair<'_>, outcome_only: bool) -> Result<PairOutcome, TrialError> {
    let ended = sides(run, next, outcome_only)?;
    // Whether the base has a first trial of a case depends on the candidate, and never on what that trial did.
    if next.baseline == Some(1) {
        kept::keep_for_base(run, &next.paired.baseline, [1]);
    }
    Ok(ended)
}

fn sides(run: &StartedRun, next: &NextPair<'_>, outcome_only: bool) -> Result<PairOutcome, TrialError> {
    let (a, b) = (&next.paired.baseline, &next.paired.candidate);
    let passed = |outcome: &Outcome| stored_comparison::passed(&TrialRecord::new(outcome, 1), outcome_only);
    let of_side = |side: PairSide| match side {
        PairSide::Baseline => (a, next.baseline.unwrap_or_default()),
        PairSide::Candidate => (b, next.candidate),
    };
    let keep = |side: PairSide| {
        let (planned, number) = of_side(side);
        kept::keep(run, next.kept.as_ref(), side, planned, number);
    };
    let one = |side: PairSide| {
        let (planned, number) = of_side(side);
        let outcome = trial(run, planned, number)?;
        keep(side);
        Ok(passed(&outcome))
    };
    let Some(number) = next.baseline else { return Ok((None, one(PairSide::Candidate)?)) };
    let is_stored = run.opened().is_some_and(|live| live.folder.trial(&a.trial(number)).has_grade().unwrap_or(true));
    let found = if is_stored || !next.takes_kept { Vec::new() } else { kept::find(run, a) };
    if !found.is_empty() {
        // First, because its agent and model must be those of the kept trial.
        let candidate = one(PairSide::Candidate)?;
        let taken = candidate.and_then(|_| kept::take(run, a, number, found));
        let baseline = match taken {
            Some(outcome) => {
                keep(PairSide::Baseline);
                passed(&outcome)
            }
            None => one(PairSide::Baseline)?,
        };
        return Ok((baseline, candidate));
    }
    let a_first = next.place.is_multiple_of(2);
    let [earlier, later] = if a_first { PairSide::BOTH } else { [PairSide::Candidate, PairSide::Baseline] };
    let (earlier, later) = if run.settings.jobs() == 1 {
        let earlier = one(earlier)?;
        (earlier, one(later)?)
    } else {
        let (earlier, later) = thread::scope(|scope| {
            let Ok(thread) = thread::Builder::new().spawn_scoped(scope, || one(earlier)) else {
                // The system has no more threads: one after the other.
                return (one(earlier), one(later));
            };
            let later = one(later);
            (thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)), later)
        });
        (earlier?, later?)
    };
    Ok(if a_first { (earlier, later) } else { (later, earlier) })
}

/// How often the trials of each case have begun, in each mode, by the run's pairs.
pub fn begun(pairs: &[PairRecord]) -> HashMap<CaseInMode, u32> {
    let mut begun = HashMap::new();
    for id in pairs.iter().flat_map(PairRecord::trials) {
        let most = begun.entry(CaseInMode::of(id)).or_default();
        *most = id.number.max(*most);
    }
    begun
}
