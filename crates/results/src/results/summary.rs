//! The figures of one or more runs: the content of `summary.json`.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer};

use crate::decide::threshold::{ThresholdSide, standing};
use crate::results::is_default;
use crate::results::share::{self, CaseShare, needed};
use crate::results::triggering::Confusion;
use crate::settings::{EffectiveRepetition, Isolation, Settings};
use crate::stats::proportion::Rate;
use crate::stats::real;
use crate::stats::{Interval, LEVEL, proportion};
use crate::trace::exposure::DescriptionVisibility;
use crate::trial::id::{CaseInMode, TrialId};
use crate::trial::outcome::AttemptCost;
use crate::trial::outcome::NotRun;
use crate::trial::outcome::{Score, Verdict};
use crate::trial::run_record::{FailedCheck, PlanLine, TrialRecord};

/// The number of the `summary.json` format.
const SUMMARY_FORMAT: u32 = 1;

/// How many calls without an answer are named.
const MOST_UNANSWERED: usize = 20;

/// The figures of one or more runs. Its size depends on the number of cases, not of trials.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(with = "SummaryDocument<'static>"))]
pub struct Summary {
    /// The ids of the runs.
    pub runs: Vec<String>,
    /// The share of a case's trials that must pass, unless the case or its trials set another.
    pub threshold: f64,
    /// The ids of the runs that are comparisons.
    pub comparisons: BTreeSet<String>,
    /// The authors of mock models whose answers were replayed.
    pub scripted: BTreeSet<String>,
    /// Trials that replayed an aged recording: names or descriptions of other skills changed since.
    pub aged: usize,
    /// Trials of cases that ask for more than was done.
    pub partial: u64,
    /// How many trials made calls that no mock answered.
    pub unanswered: u64,
    /// Some of these calls.
    pub unanswered_calls: BTreeSet<String>,
    /// The number of planned trials, if known.
    pub planned: Option<usize>,
    /// Trials that were not started, by reason.
    pub not_run: BTreeMap<NotRun, usize>,
    /// The isolation that was requested.
    pub isolation_wanted: Isolation,
    /// The number of trials by the isolation that they had, if known.
    pub isolation: BTreeMap<&'static str, usize>,
    pub total: TrialCounts,
    pub modes: BTreeMap<String, TrialCounts>,
    pub skills: BTreeMap<String, TrialCounts>,
    pub cases: BTreeMap<CaseInMode, CaseCounts>,
    /// What triggered, by mode.
    pub triggering: BTreeMap<String, Confusion>,
    /// Descriptions that did not enter the model's context whole, by mode and skill.
    pub cut_descriptions: BTreeMap<(String, String), CutDescription>,
}

/// A skill's description that did not enter the model's context whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CutDescription {
    pub mode: String,
    /// The skill's slug.
    pub skill: String,
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub trials: usize,
    /// The least that any trial showed.
    pub shown: DescriptionVisibility,
}

/// How reliably cases pass, by their repeats.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct RepeatFigures {
    /// Trials of each case.
    pub k: u64,
    /// The probability that at least one of `k` trials passes.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub pass_at_k: f64,
    /// The probability that all `k` trials pass.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub pass_hat_k: f64,
}

/// Counts with their pass rate.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct SummaryFigures<'a> {
    #[serde(flatten)]
    counts: &'a TrialCounts,
    /// The pass rate, cases weighted equally; null if none was measured.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    share: Option<f64>,
    /// The 95 % confidence interval of `share`.
    interval: Option<Interval>,
}

/// How trials ended, and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct TrialCounts {
    /// Trials whose checks all passed.
    pub passed: usize,
    /// Trials with a failed check.
    pub failed: usize,
    /// Trials that could not be measured.
    pub errors: usize,
    /// Trials whose judge gave no usable answer.
    pub unscored: usize,
    /// Trials that ended as soon as their verdict was settled: their times and tokens are lower bounds.
    #[serde(skip_serializing_if = "is_default")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub settled: usize,
    /// The sum of the agents' wall times in milliseconds.
    pub duration_ms: u64,
    /// Tokens and US dollars of every attempt, as far as they are known.
    #[serde(flatten)]
    pub spent: AttemptCost,
    /// How often an agent was started again after a refusal.
    pub retries: u64,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CaseCounts {
    #[serde(flatten)]
    pub counts: TrialCounts,
    /// The share of its trials that must pass: the highest with which a trial was graded. Absent if no trial was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub threshold: Option<f64>,
    /// The most trials in all runs together, if the case runs until it is decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_trials: Option<u32>,
    /// The most trials in each run, by the run's id.
    #[serde(skip)]
    max_trials_by_run: BTreeMap<String, u32>,
    /// The mean score of its measured trials, if the case gives its checks weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub score: Option<f64>,
    #[serde(skip)]
    scored: u32,
    /// How often each failed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub failed_checks: BTreeMap<String, usize>,
    /// What each of them expected and found, in the first trial where it failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FailedCheck>,
    /// How often each kind of trouble occurred.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub troubles: BTreeMap<&'static str, usize>,
    /// Trials that were not run, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub not_run: BTreeMap<NotRun, usize>,
    /// The tags of the case in its last trial.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Until when the case fails nothing, and why, if it was in quarantine in its last trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quarantine: Option<String>,
}

impl TrialCounts {
    /// Counts a trial of which only the verdict is known.
    pub fn add_verdict(&mut self, verdict: Verdict) {
        let count = match verdict {
            Verdict::Pass => &mut self.passed,
            Verdict::Fail => &mut self.failed,
            Verdict::Error => &mut self.errors,
            Verdict::Unscored => &mut self.unscored,
        };
        *count += 1;
    }

    fn add(&mut self, record: &TrialRecord) {
        self.add_verdict(record.verdict);
        self.settled += usize::from(record.settled);
        self.duration_ms += record.duration_ms;
        self.spent = self.spent.and(record.cost());
        self.retries += u64::from(record.attempts.saturating_sub(1));
    }

    /// These trials and others.
    #[must_use]
    pub fn and(self, other: &Self) -> Self {
        Self {
            passed: self.passed + other.passed,
            failed: self.failed + other.failed,
            errors: self.errors + other.errors,
            unscored: self.unscored + other.unscored,
            settled: self.settled + other.settled,
            duration_ms: self.duration_ms + other.duration_ms,
            spent: self.spent.and(other.spent),
            retries: self.retries + other.retries,
        }
    }

    pub fn ended(&self) -> usize {
        self.passed + self.failed + self.errors + self.unscored
    }

    /// Trials that passed, of those that were measured.
    pub fn rate(&self) -> Rate {
        Rate::new(self.passed as u64, (self.passed + self.failed) as u64)
    }

    /// The verdict if the share `threshold` of all trials must pass: pass if enough passed, fail if too many failed for that.
    /// In between, the trials that could not be measured decide.
    pub fn verdict(&self, threshold: f64) -> Verdict {
        let needed = needed(self.ended(), threshold);
        if self.ended() > 0 && self.passed >= needed {
            Verdict::Pass
        } else if self.passed + self.errors + self.unscored < needed {
            Verdict::Fail
        } else if self.errors > 0 || self.ended() == 0 {
            Verdict::Error
        } else {
            Verdict::Unscored
        }
    }
}

impl CaseCounts {
    /// The counts of a case of which nothing else is known.
    pub fn of(counts: TrialCounts, repetition: EffectiveRepetition) -> Self {
        Self { counts, threshold: Some(repetition.threshold), max_trials: repetition.at_most(), ..Self::default() }
    }

    /// The verdict of the trials that were run, or an error if the others can still change it. `None` if none was run.
    pub fn verdict(&self) -> Option<Verdict> {
        let counts = self.counts;
        let not_run: usize = self.not_run.values().sum();
        if counts.ended() == 0 {
            return None;
        }
        let threshold = self.threshold.unwrap_or(1.0);
        let measured = TrialCounts { errors: 0, unscored: 0, ..counts };
        Some(match self.side() {
            // What a crash hides may be of one kind: whatever those trials would have been, the share must be on the same side.
            Some(ThresholdSide::Above | ThresholdSide::Below) => counts.verdict(threshold),
            // Further trials may decide the case.
            Some(ThresholdSide::Undecided) if not_run > 0 => Verdict::Error,
            // Trials that could not be measured decide nothing.
            Some(ThresholdSide::Undecided) if measured.ended() > 0 => measured.verdict(threshold),
            _ => TrialCounts { errors: counts.errors + not_run, ..counts }.verdict(threshold),
        })
    }

    /// The verdict by which a run fails. What a case in quarantine does fails nothing; what could not be measured is no failure.
    pub fn counted_verdict(&self) -> Option<Verdict> {
        self.verdict().filter(|verdict| *verdict != Verdict::Fail || self.quarantine.is_none())
    }

    /// Until when it fails nothing, if it did not pass.
    pub fn excused(&self) -> Option<&str> {
        self.quarantine.as_deref().filter(|_| self.verdict() == Some(Verdict::Fail))
    }

    /// Counts the score of a measured trial.
    fn add_score(&mut self, score: Score) {
        self.scored += 1;
        let mean = self.score.unwrap_or_default();
        self.score = Some(mean + (score.value - mean) / f64::from(self.scored));
    }

    /// Notes that the case runs until it is decided in this run, up to this many trials.
    fn until_decided(&mut self, run: &str, max_trials: Option<u32>) {
        let Some(max_trials) = max_trials else { return };
        let of_run = self.max_trials_by_run.entry(run.to_owned()).or_default();
        *of_run = max_trials.max(*of_run);
        self.max_trials = Some(self.max_trials_by_run.values().sum());
    }

    /// Whether the case runs until it is decided, is undecided, and may have further trials.
    pub fn is_open(&self) -> bool {
        self.side() == Some(ThresholdSide::Undecided)
            && self.max_trials.is_some_and(|most| self.counts.ended() < most as usize)
    }

    /// The number of trials that could not be measured and may run again; 0 if the case is decided without them.
    pub fn not_measured(&self) -> usize {
        match self.side() {
            Some(ThresholdSide::Above | ThresholdSide::Below) => 0,
            _ => self.counts.errors + self.counts.unscored,
        }
    }

    /// The side of its threshold on which the case is; `None` if it does not run until it is decided.
    pub fn side(&self) -> Option<ThresholdSide> {
        self.max_trials.and(self.threshold).map(|threshold| standing(self.counts.rate(), threshold, LEVEL))
    }

    pub fn case_share(&self) -> CaseShare {
        CaseShare { rate: self.counts.rate(), until_decided: self.max_trials.and(self.threshold) }
    }
}

impl Summary {
    /// A summary of these runs, before any trial is added.
    pub fn new(runs: Vec<String>, settings: &Settings) -> Self {
        let (threshold, isolation_wanted) = (settings.repetition.threshold(), settings.isolation.kind);
        Self { runs, threshold, isolation_wanted, ..Self::default() }
    }

    pub fn add(&mut self, record: &TrialRecord) {
        let TrialId { skill, case, mode, .. } = &record.id;
        self.total.add(record);
        self.modes.entry(mode.clone()).or_default().add(record);
        self.skills.entry(skill.clone()).or_default().add(record);
        let key = CaseInMode { skill: skill.clone(), case: case.clone(), mode: mode.clone() };
        let row = self.cases.entry(key).or_default();
        row.counts.add(record);
        row.tags.clone_from(&record.tags);
        row.quarantine.clone_from(&record.quarantine);
        let is_measured = matches!(record.verdict, Verdict::Pass | Verdict::Fail);
        record.score.filter(|_| is_measured).into_iter().for_each(|score| row.add_score(score));
        let threshold = record.threshold.unwrap_or(self.threshold);
        row.until_decided(&record.run, record.max_trials);
        row.threshold = Some(row.threshold.map_or(threshold, |known| known.max(threshold)));
        self.triggering.entry(mode.clone()).or_default().add(record);
        if let Some(shown) = record.described.filter(|described| described.is_short()) {
            let cut = self.cut_descriptions.entry((mode.clone(), skill.clone())).or_insert_with(|| CutDescription {
                mode: mode.clone(),
                skill: skill.clone(),
                trials: 0,
                shown,
            });
            cut.trials += 1;
            cut.shown = cut.shown.min(shown);
        }
        for check in record.failed() {
            *row.failed_checks.entry(check).or_default() += 1;
        }
        for finding in &record.findings {
            if row.findings.iter().all(|known| known.check != finding.check) {
                row.findings.push(finding.clone());
            }
        }
        if let Some(trouble) = &record.trouble {
            *row.troubles.entry(trouble.kind.as_str()).or_default() += 1;
        }
        if let Some(by) = &record.scripted {
            self.scripted.insert(by.clone());
        }
        self.aged += usize::from(record.aged);
        self.partial += u64::from(record.partial);
        self.unanswered += u64::from(!record.unanswered.is_empty());
        let room = MOST_UNANSWERED.saturating_sub(self.unanswered_calls.len());
        self.unanswered_calls.extend(record.unanswered.iter().take(room).cloned());
        if let Some(isolation) = record.isolation {
            *self.isolation.entry(isolation.as_str()).or_default() += 1;
        }
    }

    /// Counts the cost of an attempt that could not be measured.
    pub fn add_refused(&mut self, id: &TrialId, spent: AttemptCost) {
        self.total.spent = self.total.spent.and(spent);
        // Its trial may not have a row yet.
        let mode = self.modes.entry(id.mode.clone()).or_default();
        let skill = self.skills.entry(id.skill.clone()).or_default();
        let case = &mut self.cases.entry(CaseInMode::of(id)).or_default().counts;
        for counts in [mode, skill, case] {
            counts.spent = counts.spent.and(spent);
        }
    }

    /// Notes the limits of a planned trial, whose case may have no trial that ended.
    pub fn add_planned(&mut self, line: &PlanLine) {
        if line.max_trials.is_some() {
            let row = self.cases.entry(CaseInMode::of(&line.id)).or_default();
            row.until_decided("", line.max_trials);
            row.threshold = row.threshold.or(line.threshold);
        }
    }

    /// Counts a trial that was not started.
    pub fn add_not_run(&mut self, id: &TrialId, why: NotRun) {
        *self.not_run.entry(why.clone()).or_default() += 1;
        *self.cases.entry(CaseInMode::of(id)).or_default().not_run.entry(why).or_default() += 1;
    }

    /// The number of agents without bubblewrap, and of all agents. `None` if no agent was to have it.
    pub fn not_isolated(&self) -> Option<(usize, usize)> {
        let alone = self.isolation.get(Isolation::Agent.as_str()).copied()?;
        let all = self.isolation.values().sum::<usize>();
        (alone < all || self.isolation_wanted == Isolation::Bwrap).then_some((alone, all))
    }

    /// The pass rate with cases weighted equally, and its interval. A comparison has none: its sides are two things.
    pub fn share(&self) -> Option<(f64, Interval)> {
        let cases: Vec<CaseShare> = self.cases.values().map(CaseCounts::case_share).collect();
        share::together(&cases).filter(|_| self.comparisons.is_empty())
    }

    /// The pass rate of each group of cases, by the name of the group. Groups without measured trials are absent. A comparison has none,
    /// since it tries cases again by their results.
    fn shares(&self, group: fn(&CaseInMode) -> &String) -> BTreeMap<&String, (f64, Interval)> {
        let mut groups: BTreeMap<&String, Vec<CaseShare>> = BTreeMap::new();
        for (key, counts) in self.cases.iter().filter(|_| self.comparisons.is_empty()) {
            groups.entry(group(key)).or_default().push(counts.case_share());
        }
        groups.into_iter().filter_map(|(name, cases)| Some((name, share::together(&cases)?))).collect()
    }

    fn figures<'a>(
        &'a self,
        groups: &'a BTreeMap<String, TrialCounts>,
        group: fn(&CaseInMode) -> &String,
    ) -> BTreeMap<&'a String, SummaryFigures<'a>> {
        let shares = self.shares(group);
        let mut figures = BTreeMap::new();
        for (name, counts) in groups {
            let (share, interval) = shares.get(name).copied().unzip();
            figures.insert(name, SummaryFigures { counts, share, interval });
        }
        figures
    }

    /// Means over the cases, where `k` is the smallest number of measured trials of a case. `None` if that is 1.
    pub fn repeats(&self) -> Option<RepeatFigures> {
        if !self.comparisons.is_empty() {
            return None;
        }
        let rates: Vec<Rate> =
            self.cases.values().map(|case| case.counts.rate()).filter(|rate| rate.trials > 0).collect();
        let k = rates.iter().map(|rate| rate.trials).min().filter(|k| *k > 1)?;
        let mean = |figures: Vec<f64>| figures.iter().sum::<f64>() / real(figures.len() as u64);
        let any = rates.iter().filter_map(|rate| proportion::pass_at_k(*rate, k)).collect();
        let all = rates.iter().filter_map(|rate| proportion::pass_hat_k(*rate, k)).collect();
        Some(RepeatFigures { k, pass_at_k: mean(any), pass_hat_k: mean(all) })
    }

    pub fn cases_by_mode(&self) -> BTreeMap<&String, Vec<&CaseCounts>> {
        let mut modes: BTreeMap<&String, Vec<&CaseCounts>> = BTreeMap::new();
        for (key, counts) in &self.cases {
            modes.entry(&key.mode).or_default().push(counts);
        }
        modes
    }

    /// The number of cases with this verdict, without those that fail nothing. A case in two modes counts twice.
    pub fn cases_with(&self, verdict: Verdict) -> usize {
        self.cases.values().filter(|row| row.counted_verdict() == Some(verdict)).count()
    }
}

/// A case in `summary.json`.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct CaseSummary<'a> {
    #[serde(flatten)]
    key: &'a CaseInMode,
    /// Null if none of its trials was run.
    verdict: Option<Verdict>,
    #[serde(flatten)]
    counts: &'a CaseCounts,
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    share: Option<f64>,
    interval: Interval,
    #[serde(skip_serializing_if = "Option::is_none")]
    threshold_side: Option<ThresholdSide>,
}

impl<'a> CaseSummary<'a> {
    fn new((key, counts): (&'a CaseInMode, &'a CaseCounts)) -> Self {
        let (share, interval) = (counts.case_share().share(), counts.case_share().interval());
        Self { key, verdict: counts.verdict(), counts, share, interval, threshold_side: counts.side() }
    }
}

/// The content of `summary.json`.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct SummaryDocument<'a> {
    #[cfg_attr(feature = "schemars", schemars(extend("const" = SUMMARY_FORMAT)))]
    format: u32,
    /// The ids of the runs.
    runs: &'a [String],
    /// The share of a case's trials that must pass, if the case sets no other.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    threshold: f64,
    /// The runs that compare two sides, which have no pass rate together.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    comparisons: &'a BTreeSet<String>,
    /// Why answers are not a model's own.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    scripted: &'a BTreeSet<String>,
    /// Trials whose recording is aged: the names or descriptions of other skills changed since.
    aged: usize,
    /// Trials that ran only a part of what their case asks for.
    #[serde(skip_serializing_if = "is_default")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    partial: u64,
    /// Trials with calls that no mock answered.
    #[serde(skip_serializing_if = "is_default")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    unanswered: u64,
    /// Some of these calls, at most 20.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    unanswered_calls: &'a BTreeSet<String>,
    /// The number of planned trials, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    planned: Option<usize>,
    /// Trials that were not run, by reason.
    not_run: &'a BTreeMap<NotRun, usize>,
    /// Trials by what kept their agents to their directories.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    isolation: &'a BTreeMap<&'static str, usize>,
    total: &'a TrialCounts,
    /// The pass rate, cases weighted equally.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    share: Option<f64>,
    /// The 95 % confidence interval of `share`.
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<Interval>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repeats: Option<RepeatFigures>,
    modes: BTreeMap<&'a String, SummaryFigures<'a>>,
    skills: BTreeMap<&'a String, SummaryFigures<'a>>,
    cases: Vec<CaseSummary<'a>>,
    /// The activations, by mode.
    triggering: BTreeMap<&'a String, &'a Confusion>,
    /// The skills whose descriptions did not enter the model's context whole.
    cut_descriptions: Vec<&'a CutDescription>,
}

impl Serialize for Summary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (share, interval) = self.share().unzip();
        let document = SummaryDocument {
            format: SUMMARY_FORMAT,
            runs: &self.runs,
            threshold: self.threshold,
            comparisons: &self.comparisons,
            scripted: &self.scripted,
            aged: self.aged,
            partial: self.partial,
            unanswered: self.unanswered,
            unanswered_calls: &self.unanswered_calls,
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
            cut_descriptions: self.cut_descriptions.values().collect(),
        };
        document.serialize(serializer)
    }
}

#[cfg(test)]
mod tests;
