//! Runs the pairs of a comparison, a trial on each side of the same case, until its plan is done or a limit is reached.
//! [`decide`](crate::decide) chooses the case of the next pair by the pairs before it.

use crate::run::pairing::PairedCase;
use crate::run::pairing::Pairing;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::decide::sequential::{Pair, SequentialTest};
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
    /// Pairs that an earlier part of the run began, to be gone through again first.
    before: std::vec::IntoIter<PairRecord>,
    /// How many pairs have begun, and of each case.
    begun: usize,
    of_case: Vec<u32>,
    /// Pairs that have ended, by their place in the order in which they began, until all before them have.
    ended: BTreeMap<usize, Pair>,
    fed: usize,
    in_flight: Vec<usize>,
    stopped: Option<PairsStopped>,
}

/// Whether the trials of both sides passed; none for one that could not be measured.
type PairOutcome = (Option<bool>, Option<bool>);

struct NextPair<'a> {
    place: usize,
    case: usize,
    paired: &'a PairedCase,
    number: u32,
    /// The same as its comparison keeps it, if it is kept.
    kept: Option<KeptPair>,
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
        of_case: vec![0; pairing.cases.len()],
        ended: BTreeMap::new(),
        fed: 0,
        in_flight: Vec::new(),
        stopped: None,
    });
    // First the pairs that have begun before: until the last of them has ended, nobody knows whether the plan wants another.
    for begun in [true, false] {
        let work = || {
            loop {
                // In a statement of its own: the lock is not held while the pair runs.
                let next = next(run, live, pairing, &mut lock(&course), (max_trials, begun));
                let Some(next) = next else { break };
                let both = both(run, &next, pairing.outcome_only);
                lock(&course).take(&next, &both);
            }
        };
        // A pair is two trials at the same time.
        scheduler::workers(run.settings.jobs().div_ceil(2).max(1), work, || run.emit(&RunEvent::Tick));
    }
    let course = course.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok((course.state, course.stopped.unwrap_or(PairsStopped::NoMore)))
}

fn lock(course: &Mutex<PairQueue>) -> MutexGuard<'_, PairQueue> {
    course.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The pair to run next, stored in the run's directory before it starts; only one that was begun before if `begun`.
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
    let earlier = course.before.find_map(|pair| Some((pairing.case_of(&pair)?, pair.baseline.number)));
    let (case, number) = match earlier {
        // What was measured counts, whatever is left to spend.
        Some(earlier) => earlier,
        None if begun => return None,
        None if run.no_more().is_some() => {
            course.stopped = Some(PairsStopped::NoMore);
            return None;
        }
        None if (course.begun as u64 + 1) * 2 > max_trials => {
            course.stopped = Some(PairsStopped::Trials);
            return None;
        }
        None => {
            let Some(case) = course.state.next_case(&course.in_flight) else {
                // A running pair may bring one, and continues by itself.
                if course.in_flight.is_empty() {
                    course.stopped = Some(PairsStopped::Trials);
                }
                return None;
            };
            let (paired, number) = (&pairing.cases[case], course.of_case[case] + 1);
            let pair =
                PairRecord { baseline: paired.baseline.trial(number), candidate: paired.candidate.trial(number) };
            let planned =
                live.folder.add_to_plan([&pair.baseline, &pair.candidate].into_iter().cloned().map(PlanLine::from));
            if let Err(error) = planned.and_then(|_| live.folder.add_pair(&pair)) {
                live.not_stored(&error.to_string());
                course.stopped = Some(PairsStopped::NoMore);
                return None;
            }
            (case, number)
        }
    };
    course.of_case[case] = course.of_case[case].max(number);
    course.in_flight.push(case);
    course.begun += 1;
    let paired = &pairing.cases[case];
    let kept = kept::begin(run, &paired.name, number);
    Some(NextPair { place: course.begun - 1, case, paired, number, kept })
}

impl PairQueue {
    /// Takes in a pair that has ended, or was not run.
    fn take(&mut self, next: &NextPair<'_>, both: &Result<PairOutcome, TrialError>) {
        let (a, b) = match *both {
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
        self.ended.insert(next.place, Pair { case: next.case, baseline: a, candidate: b });
        while let Some(pair) = self.ended.remove(&self.fed) {
            self.fed += 1;
            if let Some(at) = self.in_flight.iter().position(|case| *case == pair.case) {
                self.in_flight.swap_remove(at);
            }
            // What was still running at the decision is not counted.
            if self.stopped == Some(PairsStopped::Decided) || self.state.feed(pair).is_err() {
                continue;
            }
            if self.state.is_decided() {
                self.stopped = Some(PairsStopped::Decided);
            }
        }
        if lost_in_a_row(self.state.pairs()) >= MOST_LOST {
            self.stopped.get_or_insert(PairsStopped::NothingMeasured);
        }
    }
}

/// How many pairs at the end were not measured. One of a case that never was says nothing of the others, unless none was.
fn lost_in_a_row(pairs: &[Pair]) -> usize {
    let known: BTreeSet<usize> = pairs.iter().filter(|pair| pair.is_measured()).map(|pair| pair.case).collect();
    let lost = pairs.iter().rev().take_while(|pair| !pair.is_measured());
    lost.filter(|pair| known.is_empty() || known.contains(&pair.case)).count()
}

/// Runs a pair. The sides take turns at being first, so that neither has the quieter time.
fn both(run: &StartedRun, next: &NextPair<'_>, outcome_only: bool) -> Result<PairOutcome, TrialError> {
    let ended = sides(run, next, outcome_only)?;
    // The first round of a base is one trial of each case, whatever comes out.
    if next.number == 1 {
        kept::keep_for_base(run, &next.paired.baseline, [1]);
    }
    Ok(ended)
}

fn sides(run: &StartedRun, next: &NextPair<'_>, outcome_only: bool) -> Result<PairOutcome, TrialError> {
    let (a, b) = (&next.paired.baseline, &next.paired.candidate);
    let passed = |outcome: &Outcome| stored_comparison::passed(&TrialRecord::new(outcome, 1), outcome_only);
    let keep = |side: PairSide, planned| kept::keep(run, next.kept.as_ref(), side, planned, next.number);
    let one = |side: PairSide| {
        let planned = if side == PairSide::Baseline { a } else { b };
        let outcome = trial(run, planned, next.number)?;
        keep(side, planned);
        Ok(passed(&outcome))
    };
    let is_stored =
        run.opened().is_some_and(|live| live.folder.trial(&a.trial(next.number)).has_grade().unwrap_or(true));
    let found = if is_stored { Vec::new() } else { kept::find(run, a) };
    if !found.is_empty() {
        // First, because its agent and model must be those of the kept trial.
        let candidate = one(PairSide::Candidate)?;
        let taken = candidate.and_then(|_| kept::take(run, a, next.number, found));
        let baseline = match taken {
            Some(outcome) => {
                keep(PairSide::Baseline, a);
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
    for id in pairs.iter().flat_map(|pair| [&pair.baseline, &pair.candidate]) {
        let most = begun.entry(CaseInMode::of(id)).or_default();
        *most = id.number.max(*most);
    }
    begun
}
