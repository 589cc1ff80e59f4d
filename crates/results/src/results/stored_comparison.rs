//! A run that compares two sides, read back: its pairs taken in again as while it ran, and their results.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::decide::Rule;
use crate::decide::promise::{ExpectedCases, Power};
use crate::decide::result::CompareResult;
use crate::decide::sequential::{Pair, SequentialTest};
use crate::grade::verdict::without_the_skill;
use crate::results::compared::{self, ComparisonResults, ReusedTrials, SpentTrials};
use crate::results::gate::ComparedRun;
use crate::results::run_status;
use crate::results::side_results::{SideReader, SideResults};
use crate::results::spread::ClusterBy;
use crate::results::summary::Summary;
use crate::stats::proportion::Rate;
use crate::store::{RunFolder, StoreError};
use crate::trial::id::{CaseInMode, TrialId};
use crate::trial::outcome::Verdict;
use crate::trial::run_record::{ComparedSides, PairRecord, TrialRecord};

/// Whether a trial passed, in a comparison that may leave out what asks for the skill; none where it could not be measured.
pub fn passed(record: &TrialRecord, outcome_only: bool) -> Option<bool> {
    let by_score = record.score.and_then(|score| score.without_skill);
    let without = || without_the_skill(record.verdict, &record.checks, by_score);
    let verdict = if outcome_only { without() } else { record.verdict };
    match verdict {
        Verdict::Pass => Some(true),
        Verdict::Fail => Some(false),
        Verdict::Error | Verdict::Unscored => None,
    }
}

/// How sure a run with these sides had to be.
pub fn rule(sides: &ComparedSides) -> Rule {
    Rule { alpha: sides.alpha, margin: sides.margin, ..Rule::default() }
}

/// The comparison of a run with these sides before its first pair.
pub fn sequential_test(sides: &ComparedSides) -> SequentialTest {
    let test = SequentialTest::new(sides.cases.clone(), rule(sides), sides.plan, sides.max_trials, sides.seed)
        .with_all_from(sides.all_from);
    if sides.pairs.is_empty() {
        return test;
    }
    let of_each = sides.cases.iter().map(|case| sides.pairs.get(case).copied().unwrap_or_default());
    test.with_pairs_of_each(of_each.collect())
}

/// The cases that a run compares, by the trials of the candidate.
struct ComparedCases<'a>(HashMap<&'a str, usize>);

impl<'a> ComparedCases<'a> {
    fn of(sides: &'a ComparedSides) -> Self {
        Self(sides.cases.iter().enumerate().map(|(at, case)| (case.as_str(), at)).collect())
    }

    /// The place of a pair's case. A mode belongs to the names only where there are several.
    fn place(&self, pair: &PairRecord) -> Option<usize> {
        let case = CaseInMode::of(&pair.candidate);
        [true, false].into_iter().find_map(|several| self.0.get(case.compared_as(several).as_str()).copied())
    }
}

/// The course of a run with these sides, up to its decision: the pairs that it started, with the results of their
/// trials.
pub fn course(run: &RunFolder, sides: &ComparedSides) -> Result<SequentialTest, StoreError> {
    let (pairs, (records, _)) = (run.pairs()?, run_status::all_ended(run)?);
    if sides.shards.is_empty() {
        return Ok(course_of(&pairs, &records, sides));
    }
    let shards: Vec<SequentialTest> = sides.shards.iter().map(|shard| course_of(&pairs, &records, shard)).collect();
    Ok(SequentialTest::of_shards(&shards, rule(sides), sides.plan))
}

/// The course of those pairs that are of these sides' cases.
fn course_of(pairs: &[PairRecord], records: &BTreeMap<TrialId, TrialRecord>, sides: &ComparedSides) -> SequentialTest {
    let mut course = sequential_test(sides);
    let cases = ComparedCases::of(sides);
    let verdict = |id: &TrialId| records.get(id).map(|record| passed(record, sides.outcome_only));
    for pair in pairs {
        // A case that no side had any more when the run was resumed is not compared.
        let Some(case) = cases.place(pair) else { continue };
        if course.is_decided() {
            break;
        }
        // As while it runs: what began after a pair that is not there waits for it.
        let Some(candidate) = verdict(&pair.candidate) else { break };
        let fed = match pair.baseline.as_ref().map(verdict) {
            None => course.feed_look(case, candidate),
            Some(None) => break,
            Some(Some(baseline)) => course.feed(Pair { case, baseline, candidate }),
        };
        if fed.is_err() {
            break;
        }
    }
    course
}

/// The pairs of a run with these sides: those on which its answer rests, and the others.
pub fn used_first(run: &RunFolder, sides: &ComparedSides) -> Result<(Vec<PairRecord>, Vec<PairRecord>), StoreError> {
    let used = course(run, sides)?.steps();
    let cases = ComparedCases::of(sides);
    let (mut pairs, others): (Vec<_>, Vec<_>) = run.pairs()?.into_iter().partition(|pair| cases.place(pair).is_some());
    let rest = pairs.split_off(used.min(pairs.len()));
    Ok((pairs, [rest, others].concat()))
}

/// Pairs whose trials have different verdicts, of the measured pairs.
fn flipped(course: &SequentialTest) -> Rate {
    let mut flipped = Rate::default();
    let pairs = course.pairs().iter();
    pairs.filter_map(|pair| Some(pair.baseline? != pair.candidate?)).for_each(|differs| flipped.add(differs));
    flipped
}

/// Everything there is to show of a run with these sides, once its pairs have taken this course.
pub fn compared(
    run: &RunFolder,
    sides: &ComparedSides,
    course: &SequentialTest,
) -> Result<ComparisonResults, StoreError> {
    let pairs = run.pairs()?;
    let cases = ComparedCases::of(sides);
    let (records, _) = run_status::all_ended(run)?;
    let compared: Vec<(&PairRecord, &String)> =
        pairs.iter().filter_map(|pair| Some((pair, &sides.cases[cases.place(pair)?]))).collect();
    // What ended after the decision, or waits for a pair that began before it, belongs to no figure.
    let used = || compared.iter().take(course.steps());
    let side = |of: fn(&PairRecord) -> Option<&TrialId>| {
        let used = used().filter_map(|(pair, name)| Some((of(pair)?, *name)));
        let named: HashMap<CaseInMode, &String> = used.clone().map(|(id, name)| (CaseInMode::of(id), name)).collect();
        let mut trials = SideReader::default();
        used.filter_map(|(id, _)| records.get(id)).for_each(|record| trials.record(record));
        let mut side = SideResults { outcome_only: sides.outcome_only, ..SideResults::default() };
        trials.add_to(&mut side, |case| named.get(case).map(|name| (*name).clone()));
        side
    };
    let (a, mut b) =
        (side(|pair| pair.baseline.as_ref()), side(|pair| pair.baseline.is_some().then_some(&pair.candidate)));
    // A look is in no rate: it chose the cases that have pairs.
    let looks = side(|pair| pair.baseline.is_none().then_some(&pair.candidate));
    b.settled += looks.settled;
    b.partial += looks.partial;
    b.scripted.extend(looks.scripted);
    let ended = compared.iter().flat_map(|(pair, _)| pair.trials()).filter(|id| records.contains_key(*id));
    let spent = SpentTrials {
        counted: course.trials(),
        executed: ended.count() as u64,
        limit: sides.max_trials,
        plan: sides.plan,
        flipped: flipped(course),
    };
    let reused = used().flat_map(|(pair, _)| pair.trials());
    let reused = reused.filter_map(|id| Some((id, records.get(id)?.kept.as_deref()?)));
    // Those of earlier starts of this comparison have no other comparison behind them.
    let (of_earlier, of_base): (Vec<_>, Vec<_>) =
        reused.partition(|(id, _)| run.trial(id).meta().is_ok_and(|meta| meta.continues));
    let days = |trials: Vec<(&TrialId, &str)>| ReusedTrials::of(trials.into_iter().map(|(_, started)| started));
    let labels = (sides.baseline.label.clone(), sides.candidate.label.clone());
    let (comparison, rule) = (course.comparison(), rule(sides));
    let power = comparison.results.contains(&CompareResult::NoHarmSeen).then(|| {
        // A case that passed its look has no other trial.
        let passed = comparison.looks.iter().flat_map(|looks| &looks.passed).map(|_| Rate::new(1, 1));
        let by_trials = ExpectedCases::by(comparison.cases.iter().map(|case| case.baseline.rate).chain(passed));
        let expected = ExpectedCases { all_from: sides.all_from, ..by_trials };
        Power::of(sides.plan, &expected, sides.max_trials, &rule)
    });
    let compared = ComparisonResults {
        trials: Some(spent),
        power,
        kept: days(of_base),
        earlier: days(of_earlier),
        measurement: sides.measurement.filter(|measurement| *measurement > 1),
        with_without: sides.baseline.without && !sides.candidate.without,
        aa: sides.baseline.again || sides.candidate.again,
        left_out: sides.left_out.clone(),
        ..compared::of(labels, comparison, &a, &b, rule)
    };
    // As many pairs of each case as were asked for, whatever came out.
    let asked: u64 = sides.cases.iter().filter_map(|case| sides.pairs.get(case)).sum();
    let is_whole = asked > 0 && spent.counted == 2 * asked;
    Ok(if is_whole { compared.with_spread(true, (ClusterBy::Case, &str::to_owned)) } else { compared })
}

/// What the run took, and why cases failed with the candidate. `summary` has its trials.
pub fn run_cost(
    run: &RunFolder,
    sides: &ComparedSides,
    summary: &Summary,
    time: Duration,
) -> Result<ComparedRun, StoreError> {
    let mut took = ComparedRun { id: run.id().to_owned(), spent: summary.total.spent, time, ..ComparedRun::default() };
    let cases = ComparedCases::of(sides);
    for pair in &run.pairs()? {
        let Some(name) = cases.place(pair).map(|place| &sides.cases[place]) else { continue };
        let candidate = summary.cases.get(&CaseInMode::of(&pair.candidate));
        let failed = candidate.filter(|case| case.counts.failed > 0);
        took.reasons.extend(failed.map(|case| (name.clone(), case.clone())));
    }
    let metas = run.trials()?.into_iter().filter_map(|trial| trial.meta().ok());
    for meta in metas.filter(|meta| meta.kept_from.is_none() || meta.continues) {
        took.trials += usize::from(meta.kept_from.is_none());
        took.versions.extend(meta.agent.name_and_version());
        took.agents.insert(meta.agent.text());
    }
    Ok(took)
}
