//! A run, or several together, in figures: the content of `summary.json`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::decide::threshold::{ThresholdSide, standing};
use crate::grade::share::TrialTally;
use crate::results::cut_descriptions::CutDescriptions;
use crate::results::share::{self, CaseShare};
use crate::results::triggering::Confusion;
use crate::settings::{EffectiveRepetition, Isolation};
use crate::stats::LEVEL;
use crate::stats::proportion::Rate;
use crate::stats::{Interval, repeats};
use crate::trial::id::{CaseInMode, TrialId};
use crate::trial::outcome::Verdict;
use crate::trial::run_record::{PlanLine, TrialRecord};
use crate::trial::spent::AttemptCost;

/// The number of the `summary.json` format.
pub const SUMMARY_FORMAT: u32 = 1;

/// Why a trial was not run, in words that summaries count by: it has no recording.
pub const NOT_RECORDED: &str = "no recording";
/// The case, or what it needs, is wrong.
pub const BAD_CASE: &str = "the case is wrong";
/// The recording speaks for another case or skill.
pub const STALE: &str = "the recording is stale";
/// A stored file cannot be read.
pub const UNREADABLE: &str = "a file cannot be read";
/// The run could not be opened.
pub const NOT_OPENED: &str = "the run could not be opened";

/// What the trials of one or more runs came to. Grows with the cases, not with the trials.
#[derive(Clone, Debug)]
pub struct Summary {
    /// [`SUMMARY_FORMAT`].
    pub format: u32,
    /// The runs' ids.
    pub runs: Vec<String>,
    /// The share of a case's trials that must pass, where neither the case nor its trials say.
    pub threshold: f64,
    /// Those of the runs that compare two arms, by id.
    pub comparisons: BTreeSet<String>,
    /// Why answers are not a model's own, for those that are not.
    pub scripted: BTreeSet<String>,
    /// Trials whose recording is aged: the names or descriptions of other skills changed since.
    pub aged: usize,
    /// How many trials there were to be, where that is known.
    pub planned: Option<usize>,
    /// Trials that were not started, by reason.
    pub not_run: BTreeMap<String, usize>,
    /// What was wanted of isolation.
    pub isolation_wanted: Isolation,
    /// For how many trials each kind of it held, where that is known.
    pub isolation: BTreeMap<&'static str, usize>,
    /// All trials together.
    pub total: TrialCounts,
    /// By mode.
    pub modes: BTreeMap<String, TrialCounts>,
    /// By skill.
    pub skills: BTreeMap<String, TrialCounts>,
    /// By case and mode.
    pub cases: BTreeMap<CaseInMode, CaseCounts>,
    /// What triggered, by what should have, in each mode that offers skills.
    pub triggering: BTreeMap<String, Confusion>,
    /// The skills of whose descriptions models were shown less than all.
    pub cut_descriptions: CutDescriptions,
}

/// What repeats of the same cases show.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RepeatFigures {
    /// Trials of each case.
    pub k: u64,
    /// How probable it is that at least one of `k` trials passes.
    pub pass_at_k: f64,
    /// How probable it is that all `k` pass.
    pub pass_hat_k: f64,
}

/// Counts with what they show.
#[derive(Clone, Copy, Debug, Serialize)]
struct SummaryFigures<'a> {
    #[serde(flatten)]
    counts: &'a TrialCounts,
    /// The mean of the cases' shares of passed trials, each weighing the same; `null` where none was measured.
    share: Option<f64>,
    /// Where the true mean may lie, with a confidence of 95 %.
    interval: Option<Interval>,
}

/// How trials ended, and what they took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct TrialCounts {
    /// Trials whose checks all passed.
    pub passed: usize,
    /// Trials with a check that failed.
    pub failed: usize,
    /// Trials that measured nothing.
    pub errors: usize,
    /// Trials whose judge gave no usable answer.
    pub unscored: usize,
    /// The agents' wall time in milliseconds, added up.
    pub duration_ms: u64,
    /// Tokens and US dollars of every attempt, so far as they are known.
    #[serde(flatten)]
    pub spent: AttemptCost,
    /// How often an agent was started again after a refusal.
    pub retries: u64,
}

/// The trials of a case in a mode.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CaseCounts {
    /// How they ended.
    #[serde(flatten)]
    pub counts: TrialCounts,
    /// The share of its trials that must pass: the highest that one of them was graded with. Absent where none was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
    /// The most trials, where it goes on until it is decided: of all runs together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_trials: Option<u32>,
    /// The same of each run, by its id.
    #[serde(skip)]
    most_of_runs: BTreeMap<String, u32>,
    /// How often each check failed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub failed_checks: BTreeMap<String, usize>,
    /// How often each kind of trouble was met.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub troubles: BTreeMap<&'static str, usize>,
    /// How many of its trials were not run, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub not_run: BTreeMap<String, usize>,
}

impl TrialCounts {
    fn add(&mut self, record: &TrialRecord) {
        let counted = match record.verdict {
            Verdict::Pass => &mut self.passed,
            Verdict::Fail => &mut self.failed,
            Verdict::Error => &mut self.errors,
            Verdict::Unscored => &mut self.unscored,
        };
        *counted += 1;
        self.duration_ms += record.duration_ms;
        self.spent = self.spent.and(record.spent);
        self.retries += u64::from(record.attempts.saturating_sub(1));
    }

    /// All trials that ended.
    #[must_use]
    pub fn ended(&self) -> usize {
        self.passed + self.failed + self.errors + self.unscored
    }

    /// Trials that passed, of those that were measured.
    #[must_use]
    pub fn rate(&self) -> Rate {
        Rate::new(self.passed as u64, (self.passed + self.failed) as u64)
    }

    /// The same for the verdict of a case.
    #[must_use]
    pub fn as_ended(&self) -> TrialTally {
        let Self { passed, failed, errors, unscored, .. } = *self;
        TrialTally { passed, failed, errors, unscored }
    }
}

impl CaseCounts {
    /// What the case came to. One with trials that were not run has the verdict of those that were, unless the rest can still change it; one of which none was run has none.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        let ended = self.counts.as_ended();
        let not_run: usize = self.not_run.values().sum();
        if ended.all() == 0 {
            return None;
        }
        let threshold = self.threshold.unwrap_or(1.0);
        let measured = TrialTally { errors: 0, unscored: 0, ..ended };
        Some(match self.side() {
            Some(ThresholdSide::Above) => Verdict::Pass,
            Some(ThresholdSide::Below) => Verdict::Fail,
            // It would have gone on.
            Some(ThresholdSide::Undecided) if not_run > 0 => Verdict::Error,
            // Trials that measured nothing decide nothing.
            Some(ThresholdSide::Undecided) if measured.all() > 0 => measured.verdict(threshold),
            _ => TrialTally { errors: ended.errors + not_run, ..ended }.verdict(threshold),
        })
    }
}

impl CaseCounts {
    /// Those of a case of which only this is known.
    #[must_use]
    pub fn of(ended: TrialTally, repetition: EffectiveRepetition) -> Self {
        let TrialTally { passed, failed, errors, unscored } = ended;
        let counts = TrialCounts { passed, failed, errors, unscored, ..TrialCounts::default() };
        let threshold = Some(repetition.threshold);
        Self { counts, threshold, max_trials: repetition.at_most(), ..Self::default() }
    }

    /// Notes that it goes on until it is decided in this run, up to so many trials.
    fn until_decided(&mut self, run: &str, at_most: Option<u32>) {
        let Some(most) = at_most else { return };
        let of_run = self.most_of_runs.entry(run.to_owned()).or_default();
        *of_run = most.max(*of_run);
        self.max_trials = Some(self.most_of_runs.values().sum());
    }

    /// Whether it goes on until it is decided, and is not, and may have further trials.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.side() == Some(ThresholdSide::Undecided)
            && self.max_trials.is_some_and(|most| self.counts.ended() < most as usize)
    }

    /// Trials that measured nothing and may be run again: of a case that is decided without them, none.
    #[must_use]
    pub fn not_measured(&self) -> usize {
        if matches!(self.side(), Some(ThresholdSide::Above | ThresholdSide::Below)) {
            0
        } else {
            self.counts.errors + self.counts.unscored
        }
    }

    /// Whether its trials tell on which side of its threshold it stands, where it goes on until they do.
    #[must_use]
    pub fn side(&self) -> Option<ThresholdSide> {
        self.max_trials.and(self.threshold).map(|threshold| standing(self.counts.rate(), threshold, LEVEL))
    }

    /// The same as far as its share goes.
    #[must_use]
    pub fn tried(&self) -> CaseShare {
        CaseShare { rate: self.counts.rate(), until_decided: self.max_trials.is_some() }
    }
}

impl Summary {
    /// A summary of these runs, without trials yet.
    #[must_use]
    pub fn new(runs: Vec<String>, threshold: f64) -> Self {
        Self {
            format: SUMMARY_FORMAT,
            runs,
            threshold,
            comparisons: BTreeSet::new(),
            scripted: BTreeSet::new(),
            aged: 0,
            planned: None,
            not_run: BTreeMap::new(),
            isolation_wanted: Isolation::default(),
            isolation: BTreeMap::new(),
            total: TrialCounts::default(),
            modes: BTreeMap::new(),
            skills: BTreeMap::new(),
            cases: BTreeMap::new(),
            triggering: BTreeMap::new(),
            cut_descriptions: CutDescriptions::default(),
        }
    }

    /// Counts a trial.
    pub fn add(&mut self, record: &TrialRecord) {
        let TrialId { skill, case, mode, .. } = &record.id;
        self.total.add(record);
        self.modes.entry(mode.clone()).or_default().add(record);
        self.skills.entry(skill.clone()).or_default().add(record);
        let key = CaseInMode { skill: skill.clone(), case: case.clone(), mode: mode.clone() };
        let row = self.cases.entry(key).or_default();
        row.counts.add(record);
        let threshold = record.threshold.unwrap_or(self.threshold);
        row.until_decided(&record.run, record.max_trials);
        row.threshold = Some(row.threshold.map_or(threshold, |known| known.max(threshold)));
        self.triggering.entry(mode.clone()).or_default().add(record);
        self.cut_descriptions.add(record);
        for check in record.failed() {
            *row.failed_checks.entry(check).or_default() += 1;
        }
        if let Some(trouble) = &record.trouble {
            *row.troubles.entry(trouble.kind.as_str()).or_default() += 1;
        }
        if let Some(by) = &record.scripted {
            self.scripted.insert(by.clone());
        }
        self.aged += usize::from(record.aged);
        if let Some(isolation) = record.isolation {
            *self.isolation.entry(isolation.as_str()).or_default() += 1;
        }
    }

    /// Counts an attempt that measured nothing and is paid all the same.
    pub fn add_refused(&mut self, id: &TrialId, spent: AttemptCost) {
        self.total.spent = self.total.spent.and(spent);
        // Its trial may not have ended yet, and so not have a row.
        let mode = self.modes.entry(id.mode.clone()).or_default();
        let skill = self.skills.entry(id.skill.clone()).or_default();
        let case = &mut self.cases.entry(CaseInMode::of(id)).or_default().counts;
        for counts in [mode, skill, case] {
            counts.spent = counts.spent.and(spent);
        }
    }

    /// Takes in a trial that is planned: its case may not have one that ended.
    pub fn add_planned(&mut self, line: &PlanLine) {
        if line.max_trials.is_some() {
            let row = self.cases.entry(CaseInMode::of(&line.id)).or_default();
            row.until_decided("", line.max_trials);
            row.threshold = row.threshold.or(line.threshold);
        }
    }

    /// Counts a trial that was not started.
    pub fn add_not_run(&mut self, id: &TrialId, why: &str) {
        *self.not_run.entry(why.to_owned()).or_default() += 1;
        *self.cases.entry(CaseInMode::of(id)).or_default().not_run.entry(why.to_owned()).or_default() += 1;
    }

    /// How many agents were on their own, of how many, where that was not wanted or others were not.
    #[must_use]
    pub fn on_their_own(&self) -> Option<(usize, usize)> {
        let alone = self.isolation.get(Isolation::Agent.as_str()).copied()?;
        let all = self.isolation.values().sum::<usize>();
        (alone < all || self.isolation_wanted == Isolation::Bwrap).then_some((alone, all))
    }

    /// The mean of the cases' shares of passed trials, each weighing the same, and where the true mean may lie. None of the
    /// arms of a comparison: they are two things, and together neither.
    #[must_use]
    pub fn share(&self) -> Option<(f64, Interval)> {
        let cases: Vec<CaseShare> = self.cases.values().map(CaseCounts::tried).collect();
        share::together(&cases).filter(|_| self.comparisons.is_empty())
    }

    /// The same of each group of cases that were measured, by its name.
    #[must_use]
    pub fn shares(&self, group: fn(&CaseInMode) -> &String) -> BTreeMap<&String, (f64, Interval)> {
        let mut groups: BTreeMap<&String, Vec<CaseShare>> = BTreeMap::new();
        for (key, counts) in &self.cases {
            groups.entry(group(key)).or_default().push(counts.tried());
        }
        groups.into_iter().filter_map(|(name, cases)| Some((name, share::together(&cases)?))).collect()
    }

    fn figures<'a>(
        &'a self,
        groups: &'a BTreeMap<String, TrialCounts>,
        group: fn(&CaseInMode) -> &String,
    ) -> BTreeMap<&'a String, SummaryFigures<'a>> {
        let shares = self.shares(group);
        let figures = |(name, counts)| {
            let (share, interval) = shares.get(name).copied().unzip();
            (name, SummaryFigures { counts, share, interval })
        };
        groups.iter().map(figures).collect()
    }

    /// What repeats show, where every measured case has several: at least one of `k` passes, all `k` pass, as means over
    /// the cases; `k` is the number of trials that every case has.
    #[must_use]
    pub fn repeats(&self) -> Option<RepeatFigures> {
        if !self.comparisons.is_empty() {
            return None;
        }
        let rates: Vec<Rate> =
            self.cases.values().map(|case| case.counts.rate()).filter(|rate| rate.trials > 0).collect();
        let k = rates.iter().map(|rate| rate.trials).min().filter(|k| *k > 1)?;
        let mean = |of: fn(Rate, u64) -> Option<f64>| {
            let each: Vec<f64> = rates.iter().filter_map(|rate| of(*rate, k)).collect();
            each.iter().sum::<f64>() / f64::from(u32::try_from(each.len()).unwrap_or(u32::MAX))
        };
        Some(RepeatFigures { k, pass_at_k: mean(repeats::pass_at_k), pass_hat_k: mean(repeats::pass_hat_k) })
    }

    /// How many cases in modes came to this verdict.
    #[must_use]
    pub fn cases_with(&self, verdict: Verdict) -> usize {
        self.cases.values().filter(|row| row.verdict() == Some(verdict)).count()
    }
}

/// A case in `summary.json`.
#[derive(Serialize)]
struct CaseSummary<'a> {
    #[serde(flatten)]
    key: &'a CaseInMode,
    /// `null` where no trial of it was run.
    verdict: Option<Verdict>,
    #[serde(flatten)]
    counts: &'a CaseCounts,
    share: Option<f64>,
    interval: Interval,
    #[serde(skip_serializing_if = "Option::is_none")]
    threshold_side: Option<ThresholdSide>,
}

impl<'a> CaseSummary<'a> {
    fn new((key, counts): (&'a CaseInMode, &'a CaseCounts)) -> Self {
        let (share, interval) = (counts.counts.rate().share(), counts.tried().interval());
        Self { key, verdict: counts.verdict(), counts, share, interval, threshold_side: counts.side() }
    }
}

impl Serialize for Summary {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct SummaryDocument<'a> {
            format: u32,
            runs: &'a [String],
            threshold: f64,
            #[serde(skip_serializing_if = "BTreeSet::is_empty")]
            comparisons: &'a BTreeSet<String>,
            #[serde(skip_serializing_if = "BTreeSet::is_empty")]
            scripted: &'a BTreeSet<String>,
            aged: usize,
            #[serde(skip_serializing_if = "Option::is_none")]
            planned: Option<usize>,
            not_run: &'a BTreeMap<String, usize>,
            #[serde(skip_serializing_if = "BTreeMap::is_empty")]
            isolation: &'a BTreeMap<&'static str, usize>,
            total: &'a TrialCounts,
            #[serde(skip_serializing_if = "Option::is_none")]
            share: Option<f64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            interval: Option<Interval>,
            #[serde(skip_serializing_if = "Option::is_none")]
            repeats: Option<RepeatFigures>,
            modes: BTreeMap<&'a String, SummaryFigures<'a>>,
            skills: BTreeMap<&'a String, SummaryFigures<'a>>,
            cases: Vec<CaseSummary<'a>>,
            triggering: BTreeMap<&'a String, &'a Confusion>,
            cut_descriptions: &'a CutDescriptions,
        }
        let (share, interval) = self.share().unzip();
        SummaryDocument {
            format: self.format,
            runs: &self.runs,
            threshold: self.threshold,
            comparisons: &self.comparisons,
            scripted: &self.scripted,
            aged: self.aged,
            planned: self.planned,
            not_run: &self.not_run,
            isolation: &self.isolation,
            total: &self.total,
            share,
            interval,
            repeats: self.repeats(),
            modes: self.figures(&self.modes, |key| &key.mode),
            skills: self.figures(&self.skills, |key| &key.skill),
            cases: self.cases.iter().map(CaseSummary::new).collect(),
            triggering: self.triggering.iter().filter(|(_, found)| !found.cells.is_empty()).collect(),
            cut_descriptions: &self.cut_descriptions,
        }
        .serialize(serializer)
    }
}
