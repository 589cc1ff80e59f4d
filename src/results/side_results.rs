//! A side of a comparison: the results and costs of trials, by case. Read from progress files line by line, since runs may
//! have a million trials.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::path::Path;

use serde::Deserialize;

use crate::checks;
use crate::decide;
use crate::grade::checks::without_the_skill;
use crate::results::activation_shift::TriggeredTrials;
use crate::results::triggering::ExpectedSkill;
use crate::stats::amounts::Amounts;
use crate::stats::proportion::Rate;
use crate::store::{self, RunFolder, StoreError};
use crate::trial::id::CaseInMode;
use crate::trial::outcome::{Status, Verdict};
use crate::trial::run_record::TrialRecord;

/// The results and costs of the trials of one side, by case.
#[derive(Clone, Debug, Default)]
pub struct SideResults {
    /// Whether trials are judged by what is asked without the skill too.
    pub outcome_only: bool,
    /// How often each case passed.
    pub counts: decide::SideCounts,
    /// What its trials took.
    pub took: BTreeMap<String, CaseUsage>,
    /// How often each check passed, of the trials where it was asked and answered, over all cases.
    pub checks: BTreeMap<String, Rate>,
    /// What became active.
    pub triggered: TriggeredTrials,
    /// Why answers are not a model's own, where they are not.
    pub scripted: BTreeSet<String>,
    /// Cases whose trials ran until they decided something.
    pub until_decided: BTreeSet<String>,
    /// The modes of its trials, by name.
    pub modes: BTreeSet<String>,
    /// By case, the digests of what was asked and checked, and how, but for the skills.
    pub inputs: BTreeMap<String, BTreeSet<String>>,
}

/// What the measured trials of a case took, a number for each that told it.
#[derive(Clone, Debug, Default)]
pub struct CaseUsage {
    /// Tokens read and written.
    pub tokens: Vec<f64>,
    /// US dollars.
    pub cost_usd: Vec<f64>,
    /// Seconds.
    pub seconds: Vec<f64>,
    /// Effective commands.
    pub commands: Vec<f64>,
}

/// A line of a progress file that tells of a trial that ended, as far as it is compared. What a
/// [`TrialRecord`](crate::trial::run_record::TrialRecord) writes, read in a third of the time.
#[derive(Debug, Deserialize)]
struct ProgressResult {
    skill: String,
    case: String,
    mode: String,
    #[serde(rename = "trial")]
    number: u32,
    verdict: Verdict,
    #[serde(default)]
    checks: Vec<(String, Status)>,
    #[serde(default)]
    activated: Vec<String>,
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
    scripted: Option<String>,
    #[serde(default)]
    max_trials: Option<u32>,
    #[serde(default)]
    inputs: Option<String>,
}

/// A trial, as small as can be.
struct TrialFacts {
    case: u32,
    verdict: Verdict,
    checks: u32,
    activated: u32,
    seconds: f32,
    tokens: f64,
    cost_usd: f64,
    commands: f32,
}

/// Reads the lines of a progress file into sides. A later line of the same trial takes the earlier one's place.
#[derive(Default)]
pub struct SideReader {
    hasher: RandomState,
    run: u32,
    places: HashMap<u64, u32>,
    trials: Vec<TrialFacts>,
    /// Cases in modes, in the order of their first trials.
    cases: HashMap<CaseInMode, u32>,
    names: Vec<CaseInMode>,
    /// Lists of checks, of which a run has few different ones.
    checks: HashMap<Vec<(String, Status)>, u32>,
    /// Lists of skills that became active, of which there are few as well.
    activated: HashMap<Vec<String>, u32>,
    scripted: BTreeSet<String>,
    /// Cases with a trial that says that they ran until they decided something.
    until_decided: BTreeSet<u32>,
    /// By case, the digests of what was asked and checked.
    inputs: BTreeMap<u32, BTreeSet<String>>,
    /// Lines that say nothing.
    pub damaged: usize,
}

impl SideReader {
    /// The trials that a progress file tells of.
    pub fn of(path: &Path) -> Result<Self, StoreError> {
        let mut reader = Self::default();
        reader.run(path)?;
        Ok(reader)
    }

    /// Reads the progress file of one more run, whose trials are others than those of the same names before; returns how
    /// many of its lines were damaged and how many told of trials.
    pub fn run(&mut self, path: &Path) -> Result<(usize, usize), StoreError> {
        self.next_run();
        let (damaged, trials) = (self.damaged, self.trials.len());
        store::each_line(path, |line| self.line(line))?;
        let record = path.parent().and_then(|folder| RunFolder::at(folder).run_record().ok().flatten());
        if record.is_some_and(|record| record.sides.is_some()) {
            self.until_decided.extend(self.trials[trials..].iter().map(|trial| trial.case));
        }
        Ok((self.damaged - damaged, self.trials.len() - trials))
    }

    /// Takes a trial.
    pub fn record(&mut self, record: &TrialRecord) {
        match serde_json::to_vec(record) {
            Ok(line) => self.line(&line),
            Err(_) => self.damaged += 1,
        }
    }

    /// Takes a line; one that tells of a refused attempt is no trial that ended.
    pub fn line(&mut self, line: &[u8]) {
        let Ok(row) = serde_json::from_slice::<ProgressResult>(line) else {
            let refused =
                serde_json::from_slice::<serde_json::Value>(line).is_ok_and(|line| line.get("refused").is_some());
            self.damaged += usize::from(!refused);
            return;
        };
        self.scripted.extend(row.scripted);
        let place = self.hasher.hash_one((self.run, &row.skill, &row.case, &row.mode, row.number));
        let next = count(self.names.len());
        let case = CaseInMode { skill: row.skill, case: row.case, mode: row.mode };
        let case = *self.cases.entry(case).or_insert_with_key(|name| {
            self.names.push(name.clone());
            next
        });
        if row.max_trials.is_some() {
            self.until_decided.insert(case);
        }
        let inputs = self.inputs.entry(case).or_default();
        inputs.extend(row.inputs.filter(|digest| !inputs.contains(digest)));
        let next = count(self.checks.len());
        let checks = *self.checks.entry(row.checks).or_insert(next);
        let next = count(self.activated.len());
        let activated = *self.activated.entry(row.activated).or_insert(next);
        let trial = TrialFacts {
            case,
            verdict: row.verdict,
            checks,
            activated,
            seconds: seconds(row.duration_ms),
            // What is known in part is no amount to compare.
            tokens: row.tokens.filter(|_| !row.tokens_incomplete).map_or(f64::NAN, float),
            cost_usd: row.cost_usd.filter(|_| !row.cost_incomplete).unwrap_or(f64::NAN),
            commands: small(row.effective_commands),
        };
        let next = count(self.trials.len());
        match *self.places.entry(place).or_insert(next) {
            place if place == next => self.trials.push(trial),
            place => self.trials[place as usize] = trial,
        }
    }

    /// The names of the modes that were read.
    pub fn modes(&self) -> BTreeSet<&str> {
        self.names.iter().map(|case| case.mode.as_str()).collect()
    }

    /// Whether any trial in a mode that `is` wanted was asked for the skill.
    pub fn asks_for_the_skill(&self, is: impl Fn(&str) -> bool) -> bool {
        let asks = |list: &[(String, Status)]| list.iter().any(|(check, _)| checks::asks_for_skill(check));
        let of: BTreeSet<u32> = self.checks.iter().filter(|(list, _)| asks(list)).map(|(_, at)| *at).collect();
        let mut trials = self.trials.iter();
        trials.any(|trial| of.contains(&trial.checks) && is(&self.names[trial.case as usize].mode))
    }

    /// From now on lines are of another run: trials of the same name are others.
    pub fn next_run(&mut self) {
        self.run += 1;
    }

    /// The cases that were read, by skill and id.
    pub fn cases(&self) -> impl Iterator<Item = (&str, &str)> {
        self.names.iter().map(|case| (case.skill.as_str(), case.case.as_str()))
    }

    /// Adds the trials whose case `name` gives a name to a side.
    pub fn add_to(&self, side: &mut SideResults, name: impl Fn(&CaseInMode) -> Option<String>) {
        let names: Vec<Option<String>> = self.names.iter().map(name).collect();
        let of_arm = self.names.iter().zip(&names).filter(|(_, name)| name.is_some());
        side.modes.extend(of_arm.map(|(case, _)| case.mode.clone()));
        let until_decided = self.until_decided.iter().filter_map(|case| names[*case as usize].clone());
        side.until_decided.extend(until_decided);
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
            let verdict = asked.map_or(trial.verdict, |asked| without_the_skill(trial.verdict, asked));
            match verdict {
                Verdict::Pass | Verdict::Fail => counts.rate.add(verdict == Verdict::Pass),
                Verdict::Error | Verdict::Unscored => {
                    counts.not_measured += 1;
                    continue;
                }
            }
            *alike.entry((trial.case, trial.checks, trial.activated)).or_default() += 1;
            let took = side.took.entry(name.clone()).or_default();
            let mut keep = |list: fn(&mut CaseUsage) -> &mut Vec<f64>, amount: f64| {
                if amount.is_finite() {
                    list(took).push(amount);
                }
            };
            keep(|took| &mut took.tokens, trial.tokens);
            keep(|took| &mut took.cost_usd, trial.cost_usd);
            keep(|took| &mut took.seconds, f64::from(trial.seconds));
            keep(|took| &mut took.commands, f64::from(trial.commands));
            for (check, status) in checks.get(&trial.checks).into_iter().copied().flatten() {
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
    /// The cases that were asked or checked otherwise on the two sides.
    pub(super) fn asked_otherwise(a: &Self, b: &Self) -> Vec<String> {
        let both = a.inputs.iter().filter_map(|(case, a)| Some((case, a, b.inputs.get(case)?)));
        // Rows of old runs have no digests.
        let known = both.filter(|(_, a, b)| !a.is_empty() && !b.is_empty());
        known.filter(|(_, a, b)| a != b).map(|(case, ..)| case.clone()).collect()
    }

    /// What trials of both sides took, by case; of cases that both have.
    pub(super) fn amounts(a: &Self, b: &Self, of: impl Fn(&CaseUsage) -> &Vec<f64>) -> Vec<Amounts> {
        let both = a.took.iter().filter_map(|(case, a)| Some((a, b.took.get(case)?)));
        both.map(|(a, b)| Amounts { baseline: of(a).clone(), candidate: of(b).clone() }).collect()
    }
}

/// How many there are: nobody has four billion trials.
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
