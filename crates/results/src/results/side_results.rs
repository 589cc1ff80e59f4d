//! One side of a comparison: the results and costs of its trials, by case. Trials are read one by one, because runs may have a
//! million of them.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use serde::Deserialize;
use thiserror::Error;

use crate::grade::general::GENERAL;
use crate::grade::verdict::{NEEDS_SKILL, are_left_without_the_skill, without_the_skill};
use crate::results::run_status::{self, ProgressDifferences};
use crate::results::triggering::{ExpectedSkill, TriggeredTrials};
use crate::stats::difference::Amounts;
use crate::stats::proportion::Rate;
use crate::store::{self, RunFolder, StoreError};
use crate::text::problem::Problem;
use crate::trial::id::CaseInMode;
use crate::trial::outcome::{Score, Status, Verdict};
use crate::trial::run_record::TrialRecord;
use crate::{checks, decide};

/// The results and costs of a side's trials, by case.
#[derive(Clone, Debug, Default)]
pub struct SideResults {
    /// Whether only the checks count that also apply without the skill.
    pub outcome_only: bool,
    /// Passed and measured trials of each case.
    pub counts: decide::SideCounts,
    /// The costs of each case.
    pub took: BTreeMap<String, CaseUsage>,
    /// The pass rate of each check, over the trials of all cases in which its status is known.
    pub checks: BTreeMap<String, Rate>,
    /// The cases with a check that judges the outcome.
    pub judged: BTreeSet<String>,
    /// The cases with a check that trials without the skill can pass or fail too.
    pub answerable: BTreeSet<String>,
    /// The cases that are left out, with the reason: they are in quarantine, or have none of these where one side has no skills.
    pub left_out: BTreeMap<String, String>,
    /// The cases in quarantine: until when, and why.
    pub quarantined: BTreeMap<String, String>,
    /// The skills that were activated.
    pub triggered: TriggeredTrials,
    /// The mock models that wrote answers, if any did.
    pub scripted: BTreeSet<String>,
    /// The cases that ran until they were decided, with the threshold that they were to decide about. None in a comparison.
    pub until_decided: BTreeMap<String, Option<f64>>,
    /// Number of measured trials that ended as soon as their verdict was settled.
    pub settled: u64,
    /// Number of measured trials that ran only a part of what their case asks for.
    pub partial: u64,
    pub modes: BTreeSet<String>,
    /// By case, the digests of its prompts, checks and settings. Skills are not in a digest.
    pub inputs: BTreeMap<String, BTreeSet<String>>,
}

/// The costs of the measured trials of a case: in each list, one number for each trial that reported it.
#[derive(Clone, Debug, Default)]
pub struct CaseUsage {
    /// Tokens read and written.
    pub tokens: Vec<f64>,
    /// US dollars.
    pub cost_usd: Vec<f64>,
    pub seconds: Vec<f64>,
    pub commands: Vec<f64>,
}

impl CaseUsage {
    /// Adds what a trial took, as far as it is known.
    fn add(&mut self, trial: &TrialFacts) {
        let keep = |list: &mut Vec<f64>, amount: f64| {
            if amount.is_finite() {
                list.push(amount);
            }
        };
        keep(&mut self.tokens, trial.tokens);
        keep(&mut self.cost_usd, trial.cost_usd);
        keep(&mut self.seconds, f64::from(trial.seconds));
        keep(&mut self.commands, f64::from(trial.commands));
    }
}

/// A finished trial in a progress file: the fields of a [`TrialRecord`](crate::trial::run_record::TrialRecord) that are
/// compared. Reading only these takes a third of the time.
#[derive(Debug, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "fields as the progress file has them")]
struct ProgressResult {
    skill: String,
    case: String,
    mode: String,
    verdict: Verdict,
    #[serde(default)]
    score: Option<Score>,
    #[serde(default)]
    checks: Vec<(String, Status)>,
    #[serde(default)]
    activated: Vec<String>,
    #[serde(default)]
    settled: bool,
    #[serde(default)]
    duration_ms: u64,
    #[serde(default)]
    effective_commands: u64,
    #[serde(default)]
    tokens: Option<u64>,
    #[serde(default)]
    cost_usd: Option<f64>,
    #[serde(default)]
    tokens_incomplete: bool,
    #[serde(default)]
    cost_incomplete: bool,
    #[serde(default)]
    partial: bool,
    #[serde(default)]
    scripted: Option<String>,
    #[serde(default)]
    max_trials: Option<u32>,
    #[serde(default)]
    threshold: Option<f64>,
    #[serde(default)]
    inputs: Option<String>,
    #[serde(default)]
    quarantine: Option<String>,
}

/// A trial in little memory. An unknown amount is NaN.
struct TrialFacts {
    case: u32,
    verdict: Verdict,
    /// The verdict without the checks that need the skill, if a score decides it.
    without_skill: Option<Verdict>,
    checks: u32,
    activated: u32,
    settled: bool,
    partial: bool,
    seconds: f32,
    tokens: f64,
    cost_usd: f64,
    commands: f32,
}

/// The trials of runs.
#[derive(Default)]
pub struct SideReader {
    trials: Vec<TrialFacts>,
    /// The index of each case in a mode, in the order of first trials.
    cases: HashMap<CaseInMode, u32>,
    names: Vec<CaseInMode>,
    /// The index of each list of checks. A run has few different ones.
    checks: HashMap<Vec<(String, Status)>, u32>,
    /// The index of each list of activated skills. There are few different ones too.
    activated: HashMap<Vec<String>, u32>,
    scripted: BTreeSet<String>,
    /// The cases that ran until they were decided, with their thresholds.
    until_decided: BTreeMap<u32, Option<f64>>,
    /// By case, the digests of its inputs.
    inputs: BTreeMap<u32, BTreeSet<String>>,
    /// The cases in quarantine.
    quarantined: BTreeMap<u32, String>,
}

impl SideReader {
    /// The trials of a single run, and where its progress file differs from their grades.
    pub fn of(run: &RunFolder) -> Result<(Self, ProgressDifferences), StoreError> {
        let mut reader = Self::default();
        let differences = reader.run(run)?;
        Ok((reader, differences))
    }

    /// Adds the trials of a run. Returns where its progress file differs from their grades.
    pub fn run(&mut self, run: &RunFolder) -> Result<ProgressDifferences, StoreError> {
        let trials = self.trials.len();
        let rest = run.each_confirmed(|line| self.line(line))?.of_whole(run)?;
        let rest = run_status::read_grades(run, rest, |record| self.record(record))?;
        if run.run_record().ok().flatten().is_some_and(|record| record.sides.is_some()) {
            self.until_decided.extend(self.trials[trials..].iter().map(|trial| (trial.case, None)));
        }
        Ok(rest.differences)
    }

    /// Adds the trials of a progress file without its run. Returns their number.
    pub fn baseline(&mut self, path: &Path) -> Result<usize, StoreError> {
        let trials = self.trials.len();
        store::each_of_baseline(path, |line| self.line(line))?;
        Ok(self.trials.len() - trials)
    }

    pub fn record(&mut self, record: &TrialRecord) {
        if let Ok(line) = serde_json::to_vec(record) {
            self.line(&line);
        }
    }

    /// Adds the trial of a line.
    fn line(&mut self, line: &[u8]) {
        let Ok(row) = serde_json::from_slice::<ProgressResult>(line) else { return };
        self.scripted.extend(row.scripted);
        let next = count(self.names.len());
        let case = CaseInMode { skill: row.skill, case: row.case, mode: row.mode };
        let case = *self.cases.entry(case).or_insert_with_key(|name| {
            self.names.push(name.clone());
            next
        });
        if row.max_trials.is_some() {
            self.until_decided.insert(case, row.threshold);
        }
        self.quarantined.extend(row.quarantine.map(|until| (case, until)));
        let inputs = self.inputs.entry(case).or_default();
        inputs.extend(row.inputs.filter(|digest| !inputs.contains(digest)));
        let next = count(self.checks.len());
        let checks = *self.checks.entry(row.checks).or_insert(next);
        let next = count(self.activated.len());
        let activated = *self.activated.entry(row.activated).or_insert(next);
        let trial = TrialFacts {
            case,
            verdict: row.verdict,
            without_skill: row.score.and_then(|score| score.without_skill),
            checks,
            activated,
            settled: row.settled,
            partial: row.partial,
            seconds: seconds(row.duration_ms),
            // An incomplete amount is not compared.
            tokens: row.tokens.filter(|_| !row.tokens_incomplete).map_or(f64::NAN, float),
            cost_usd: row.cost_usd.filter(|_| !row.cost_incomplete).unwrap_or(f64::NAN),
            commands: small(row.effective_commands),
        };
        self.trials.push(trial);
    }

    /// The names of the modes of all trials.
    pub fn modes(&self) -> BTreeSet<&str> {
        self.names.iter().map(|case| case.mode.as_str()).collect()
    }

    /// Whether any trial in a mode that `is` accepts has a check of the skill.
    pub fn asks_for_the_skill(&self, is: impl Fn(&str) -> bool) -> bool {
        let asks = |list: &[(String, Status)]| list.iter().any(|(check, _)| checks::is_of_offered_skill(check));
        let of: BTreeSet<u32> = self.checks.iter().filter(|(list, _)| asks(list)).map(|(_, at)| *at).collect();
        let mut trials = self.trials.iter();
        trials.any(|trial| of.contains(&trial.checks) && is(&self.names[trial.case as usize].mode))
    }

    /// The cases of all trials, by skill and id.
    pub fn cases(&self) -> impl Iterator<Item = (&str, &str)> {
        self.names.iter().map(|case| (case.skill.as_str(), case.case.as_str()))
    }

    /// Adds trials to a side, each under the `name` of its case. A case without a name is left out.
    pub fn add_to(&self, side: &mut SideResults, name: impl Fn(&CaseInMode) -> Option<String>) {
        let names: Vec<Option<String>> = self.names.iter().map(name).collect();
        let of_arm = self.names.iter().zip(&names).filter(|(_, name)| name.is_some());
        side.modes.extend(of_arm.map(|(case, _)| case.mode.clone()));
        let until_decided =
            self.until_decided.iter().filter_map(|(case, of)| Some((names[*case as usize].clone()?, *of)));
        side.until_decided.extend(until_decided);
        let quarantined = self.quarantined.iter();
        side.quarantined
            .extend(quarantined.filter_map(|(case, until)| Some((names[*case as usize].clone()?, until.clone()))));
        for (case, digests) in &self.inputs {
            if let Some(name) = &names[*case as usize] {
                side.inputs.entry(name.clone()).or_default().extend(digests.iter().cloned());
            }
        }
        let checks: BTreeMap<u32, &Vec<(String, Status)>> = self.checks.iter().map(|(list, at)| (*at, list)).collect();
        let mut alike: BTreeMap<(u32, u32, u32), u64> = BTreeMap::new();
        for trial in &self.trials {
            let Some(name) = &names[trial.case as usize] else { continue };
            let counts = side.counts.entry(name.clone()).or_default();
            let asked = checks.get(&trial.checks).filter(|_| side.outcome_only);
            let verdict =
                asked.map_or(trial.verdict, |asked| without_the_skill(trial.verdict, asked, trial.without_skill));
            match verdict {
                Verdict::Pass | Verdict::Fail => counts.rate.add(verdict == Verdict::Pass),
                Verdict::Error | Verdict::Unscored => {
                    counts.not_measured += 1;
                    continue;
                }
            }
            side.settled += u64::from(trial.settled);
            side.partial += u64::from(trial.partial);
            *alike.entry((trial.case, trial.checks, trial.activated)).or_default() += 1;
            side.took.entry(name.clone()).or_default().add(trial);
            let made = checks.get(&trial.checks).copied().into_iter().flatten();
            if are_left_without_the_skill(made.map(|(check, _)| check.as_str())) {
                side.answerable.insert(name.clone());
            }
            for (check, status) in checks.get(&trial.checks).into_iter().copied().flatten() {
                if !GENERAL.contains(&check.as_str()) && checks::judges_outcome(check) {
                    side.judged.insert(name.clone());
                }
                if *status != Status::Unknown {
                    side.checks.entry(check.clone()).or_default().add(*status == Status::Pass);
                }
            }
        }
        let activated: BTreeMap<u32, &Vec<String>> = self.activated.iter().map(|(list, at)| (*at, list)).collect();
        for ((case, made, active), trials) in alike {
            let skill = &self.names[case as usize].skill;
            let asked = checks.get(&made).and_then(|checks| ExpectedSkill::of(skill, checks));
            if let (Some(name), Some(asked), Some(active)) = (&names[case as usize], asked, activated.get(&active)) {
                side.triggered.count(name, asked, active, trials);
            }
        }
        side.scripted.extend(self.scripted.iter().cloned());
    }
}

impl SideResults {
    /// The cases with different prompts, checks or settings on the two sides.
    pub(super) fn asked_otherwise(a: &Self, b: &Self) -> Vec<String> {
        let both = a.inputs.iter().filter_map(|(case, a)| Some((case, a, b.inputs.get(case)?)));
        // Lines of old runs have no digests.
        let known = both.filter(|(_, a, b)| !a.is_empty() && !b.is_empty());
        known.filter(|(_, a, b)| a != b).map(|(case, ..)| case.clone()).collect()
    }

    /// One kind of cost on both sides, for each case that both sides have.
    pub(super) fn amounts(a: &Self, b: &Self, of: impl Fn(&CaseUsage) -> &Vec<f64>) -> Vec<Amounts> {
        let both = a.took.iter().filter_map(|(case, a)| Some((a, b.took.get(case)?)));
        both.map(|(a, b)| Amounts { baseline: of(a).clone(), candidate: of(b).clone() }).collect()
    }
}

/// A length as an index. Nobody has four billion trials.
fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "counts of tokens are far below 2^52")]
fn float(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "a millisecond of a day is enough")]
fn seconds(milliseconds: u64) -> f32 {
    (milliseconds as f64 / 1000.0) as f32
}

#[expect(clippy::cast_precision_loss, reason = "seven digits of a number of commands are enough")]
fn small(count: u64) -> f32 {
    count as f32
}

// Stored trials as the two sides of a comparison.

/// The stored trials of one side.
#[derive(Default)]
pub struct TrialSide {
    /// The name that users gave it.
    pub label: String,
    pub trials: SideReader,
    /// If set, only trials in this mode count.
    pub mode: Option<String>,
}

/// Why two sides cannot be compared.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Incomparable {
    #[error("{side} holds no trials that ended")]
    NoTrials { side: String },
    /// The sides share no mode, and at least one has several.
    #[error("the runs have no mode in common ({baseline} against {candidate})")]
    NoCommonMode { baseline: String, candidate: String },
}

impl From<Incomparable> for Problem {
    fn from(error: Incomparable) -> Self {
        Self::Said(error.to_string())
    }
}

impl TrialSide {
    fn counts(&self, mode: &str) -> bool {
        self.mode.as_deref().is_none_or(|only| only == mode)
    }

    fn modes(&self) -> BTreeSet<&str> {
        self.trials.modes().into_iter().filter(|mode| self.counts(mode)).collect()
    }

    fn asks_for_the_skill(&self) -> bool {
        self.trials.asks_for_the_skill(|mode| self.counts(mode))
    }
}

/// Whether the sides are compared mode by mode. Otherwise each side has a single mode, and the modes may differ.
pub fn sides_by_mode(baseline: &BTreeSet<&str>, candidate: &BTreeSet<&str>) -> Result<bool, Incomparable> {
    let several = baseline.len() > 1 || candidate.len() > 1;
    if several && baseline.is_disjoint(candidate) {
        let [baseline, candidate] =
            [baseline, candidate].map(|modes| modes.iter().copied().collect::<Vec<_>>().join(", "));
        return Err(Incomparable::NoCommonMode { baseline, candidate });
    }
    Ok(several)
}

/// The results of both sides in the cases that are `chosen`, by skill and id.
pub fn counts_of_side(
    baseline: &TrialSide,
    candidate: &TrialSide,
    chosen: impl Fn(&str, &str) -> bool,
) -> Result<(SideResults, SideResults), Incomparable> {
    for side in [baseline, candidate] {
        if side.modes().is_empty() {
            return Err(Incomparable::NoTrials { side: side.label.clone() });
        }
    }
    let several = sides_by_mode(&baseline.modes(), &candidate.modes())?;
    let outcome_only = baseline.asks_for_the_skill() != candidate.asks_for_the_skill();
    let [mut baseline, mut candidate] = [baseline, candidate].map(|side| {
        let mut results = SideResults { outcome_only, ..SideResults::default() };
        side.trials.add_to(&mut results, |case| {
            let counts = side.counts(&case.mode) && chosen(&case.skill, &case.case);
            counts.then(|| case.compared_as(several))
        });
        results
    });
    let mut left_out: BTreeMap<String, String> = BTreeMap::new();
    let quarantined = baseline.quarantined.iter().chain(&candidate.quarantined);
    left_out.extend(quarantined.map(|(case, until)| (case.clone(), format!("in quarantine {until}"))));
    if outcome_only {
        let needs_skill = |side: &SideResults, case: &String| {
            side.counts.get(case).is_some_and(|counts| counts.rate.trials > 0) && !side.answerable.contains(case)
        };
        let cases = baseline.counts.keys().chain(candidate.counts.keys());
        let needing = cases.filter(|case| needs_skill(&baseline, case) || needs_skill(&candidate, case));
        left_out.extend(needing.map(|case| (case.clone(), NEEDS_SKILL.to_owned())));
    }
    for side in [&mut baseline, &mut candidate] {
        side.counts.retain(|case, _| !left_out.contains_key(case));
        side.took.retain(|case, _| !left_out.contains_key(case));
    }
    baseline.left_out = left_out;
    Ok((baseline, candidate))
}
