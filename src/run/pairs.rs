//! Runs the pairs of a comparison, a trial on each side of the same case, until its plan is done or a limit is reached.
//! [`decide`](crate::decide) chooses the case of the next pair by the pairs before it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use crate::cases::case::FoundCase;
use crate::cases::test_case::TestCase;
use crate::checks::Check;
use crate::decide::sequential::{Pair, SequentialTest};
use crate::grade::verdict::NEEDS_SKILL;
use crate::results::stored_comparison;
use crate::run::changed_skills::readable_skills;
use crate::run::context::RunContext;
use crate::run::kept;
use crate::run::open_run::LiveRun;
use crate::run::plan::{PlannedCase, RunPlan};
use crate::run::scheduler::{self, trial};
use crate::run::skill_version::ReadTree;
use crate::run::skill_version::SkillVersion;
use crate::settings::Settings;
use crate::settings::mode::{Delivery, Mode};
use crate::store::{KeptPair, PairSide, StoreError};
use crate::text::problem::Problem;
use crate::trial::event::RunEvent;
use crate::trial::id::CaseInMode;
use crate::trial::outcome::{Outcome, TrialError};
use crate::trial::run_record::{ComparedSide, ComparedSides, PairRecord, PlanLine, TrialRecord};
use crate::trial::shard::Shard;

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
    run: &RunContext,
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
    run: &RunContext,
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
fn both(run: &RunContext, next: &NextPair<'_>, outcome_only: bool) -> Result<PairOutcome, TrialError> {
    let ended = sides(run, next, outcome_only)?;
    // The first round of a base is one trial of each case, whatever comes out.
    if next.number == 1 {
        kept::keep_for_base(run, &next.paired.baseline, [1]);
    }
    Ok(ended)
}

fn sides(run: &RunContext, next: &NextPair<'_>, outcome_only: bool) -> Result<PairOutcome, TrialError> {
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

// The two sides of a comparison: what each makes of the modes that were chosen, and the cases that both can run.

/// A case on both sides.
#[derive(Clone, Debug)]
pub struct PairedCase {
    /// Its name: `skill/case`, and the mode where cases are compared in several.
    pub name: String,
    pub baseline: TestCase,
    pub candidate: TestCase,
}

#[derive(Clone, Debug, Default)]
pub struct Pairing {
    /// The cases that both sides can run.
    pub cases: Vec<PairedCase>,
    /// Cases that one side has no skill for, by name, with the reason.
    pub left_out: Vec<(String, String)>,
    /// Whether one side has no skills and the other has, so that both are judged by what both are asked.
    pub outcome_only: bool,
    /// Where each case is among `cases`, by what its trials in the baseline are called.
    places: HashMap<CaseInMode, usize>,
}

/// The mode that a side makes of `base`. Its name is that of the mode it starts from, and what is different.
pub fn mode_of(side: &ComparedSide, base: &Arc<Mode>, settings: &Settings) -> Result<Arc<Mode>, Problem> {
    let base = match &side.mode {
        None => base,
        Some(name) => settings.mode(name).ok_or_else(|| settings.unknown_mode(name))?,
    };
    let mut mode = Mode::clone(base);
    let mut differs = Vec::new();
    if side.without && mode.delivery != Delivery::None {
        mode.delivery = Delivery::None;
        differs.push("without".to_owned());
    }
    if let Some(model) = &side.model {
        mode.model = Some(model.clone());
        differs.push(model.clone());
    }
    if let Some(offer) = &side.offer {
        mode.offer = offer.clone();
        differs.push(format!("offer-{offer}"));
    }
    if let Some(commit) = &side.commit {
        mode.commit = Some(commit.clone());
        differs.push(commit.get(..12).unwrap_or(commit).to_owned());
    }
    if side.again {
        differs.push("again".to_owned());
    }
    if !differs.is_empty() {
        mode.name = free_name(&format!("{}.{}", base.name, differs.join(".")), settings);
    }
    Ok(Arc::new(mode))
}

/// The name without characters that directories and tests may not contain, and different from the name of every other
/// mode.
pub(super) fn free_name(name: &str, settings: &Settings) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    let mut name: String = name.chars().map(|c| if allowed(c) { c } else { '-' }).take(90).collect();
    while settings.mode(&name).is_some() {
        name.push('_');
    }
    name
}

pub fn versions(run: &RunContext, sides: &ComparedSides) -> Result<Vec<SkillVersion>, Problem> {
    let commits: BTreeSet<&String> =
        [&sides.baseline, &sides.candidate].into_iter().filter_map(|side| side.commit.as_ref()).collect();
    commits.into_iter().map(|commit| SkillVersion::of(&run.root, commit, &run.settings)).collect()
}

/// Whether the sides can differ in nothing but their skills, and have the same ones, file by file. What cannot be read differs.
pub fn unchanged(run: &RunContext, sides: &ComparedSides) -> bool {
    let but_skills = |side: &ComparedSide| ComparedSide { label: String::new(), commit: None, ..side.clone() };
    if but_skills(&sides.baseline) != but_skills(&sides.candidate) || sides.baseline.commit == sides.candidate.commit {
        return false;
    }
    let skills = |side: &ComparedSide| match &side.commit {
        None => readable_skills(ReadTree { root: &run.root, settings: &run.settings, catalog: &run.catalog }),
        Some(commit) => readable_skills(run.versions.iter().find(|version| version.commit == *commit)?.tree()),
    };
    skills(&sides.baseline).is_some_and(|baseline| Some(baseline) == skills(&sides.candidate))
}

/// The planned cases on both sides. A case in several modes counts as several.
pub fn pair(run: &RunContext, sides: &ComparedSides) -> Result<Pairing, Problem> {
    let mut pairing = Pairing::default();
    let mut both = Vec::new();
    for PlannedCase { planned, .. } in &run.plan.entries {
        let in_mode = |mode| TestCase { found: Arc::clone(&planned.found), mode };
        let a = in_mode(mode_of(&sides.baseline, &planned.mode, &run.settings)?);
        both.push((a, in_mode(mode_of(&sides.candidate, &planned.mode, &run.settings)?)));
    }
    let modes: BTreeSet<String> = both.iter().map(|(_, b)| b.mode.name.clone()).collect();
    let mut seen = BTreeSet::new();
    for (a, b) in both {
        let found = Arc::clone(&a.found);
        let name = b.case_in_mode().compared_as(modes.len() > 1);
        // Where both sides name their mode, a case in several default modes is one.
        if !seen.insert(name.clone()) {
            continue;
        }
        if a.mode == b.mode {
            return Err(format!(
                "both sides are the same: `{}` in the mode `{}`; say what is to differ, or --aa to see how much changes by \
                 itself",
                found.id, a.mode
            ).into());
        }
        let lacks = |planned: &TestCase| {
            run.skills_of(planned.mode.commit.as_deref()).is_none_or(|skills| skills.skill(&found.skill).is_none())
        };
        let lacking = [(&a, &sides.baseline), (&b, &sides.candidate)].into_iter().find(|(planned, _)| lacks(planned));
        let one_lacks_skills = (a.mode.delivery == Delivery::None) != (b.mode.delivery == Delivery::None);
        if let Some((_, side)) = lacking {
            pairing.left_out.push((name, format!("unknown skill `{}` in {}", found.skill, side.label)));
        } else if one_lacks_skills && needs_skill(&found, &run.settings) {
            pairing.left_out.push((name, NEEDS_SKILL.to_owned()));
        } else {
            pairing.outcome_only |= one_lacks_skills;
            pairing.places.insert(a.case_in_mode(), pairing.cases.len());
            pairing.cases.push(PairedCase { name, baseline: a, candidate: b });
        }
    }
    Ok(pairing)
}

/// Whether no check of the case is left without those that need the skill. What is wrong with a case is said when it is run.
fn needs_skill(found: &FoundCase, settings: &Settings) -> bool {
    let is_left = |check: &Check| !check.asks_for_skill() && check.weight.is_none_or(|weight| weight.amount > 0.0);
    found.case().is_ok_and(|case| !case.checks.iter().any(is_left) && !case.has_checks_of_others(settings))
}

impl Pairing {
    /// The cases of a shard, by their names in the candidate. Cases that are left out are in the first.
    #[must_use]
    pub fn part(mut self, shard: Shard) -> Self {
        self.cases.retain(|case| shard.has(&case.candidate.case_in_mode()));
        let places = self.cases.iter().enumerate().map(|(at, case)| (case.baseline.case_in_mode(), at));
        self.places = places.collect();
        if shard.number > 1 {
            self.left_out.clear();
        }
        self
    }

    /// The cases of both sides, in order.
    pub fn trials(&self) -> impl Iterator<Item = &TestCase> {
        self.cases.iter().flat_map(|case| [&case.baseline, &case.candidate])
    }

    pub fn baselines(&self) -> impl Iterator<Item = &TestCase> {
        self.cases.iter().map(|case| &case.baseline)
    }

    /// The place among the cases of the one that a pair is of; none where it is not among them any more.
    pub fn case_of(&self, pair: &PairRecord) -> Option<usize> {
        let place = *self.places.get(&CaseInMode::of(&pair.baseline))?;
        (self.cases[place].candidate.trial(pair.candidate.number) == pair.candidate).then_some(place)
    }

    /// Both sides of every case, each as often as it has been begun, and once at least.
    pub fn plan(&self, begun: &HashMap<CaseInMode, u32>) -> RunPlan {
        let repeats = |planned: &TestCase| begun.get(&planned.case_in_mode()).map_or(1, |begun| *begun.max(&1));
        let entries = self.trials().map(|planned| PlannedCase::times(planned.clone(), repeats(planned)));
        RunPlan { entries: entries.collect() }
    }
}
