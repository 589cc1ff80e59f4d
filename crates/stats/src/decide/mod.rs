//! Compares the trials of two sides. [`fixed`] is for trials that exist, [`sequential`] for trials that run until something
//! is decided.
//!
//! The candidate is compared with the baseline. All numbers are about the given cases, weighted equally. Trials that were not
//! measured (errors, unscored) are only counted; they enter no rate.

pub mod drift;
pub mod fixed;
pub mod pair_choice;
pub mod plan;
pub mod promise;
pub mod result;
mod screen;
pub mod sequential;
pub mod threshold;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::stats::proportion::Rate;
use crate::stats::stratified::Stratum;
use crate::stats::{self, Interval, LEVEL, difference};
use result::CompareResult;
use sequential::SequentialEvidence;

/// One case on one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CaseCount {
    /// Trials that passed, of those that were measured.
    pub rate: Rate,
    /// Errors and unscored trials; they are in neither number of `rate`.
    pub not_measured: u64,
}

impl CaseCount {
    fn is_lost(self) -> bool {
        self.rate.trials == 0 && self.not_measured > 0
    }

    /// The same with `passed` of the trials that were not measured.
    fn with_lost(self, passed: bool) -> Self {
        let lost = Rate::new(if passed { self.not_measured } else { 0 }, self.not_measured);
        Self { rate: self.rate.plus(lost), not_measured: 0 }
    }
}

/// A side: its counts by case, under the name that the user knows the case by.
pub type SideCounts = BTreeMap<String, CaseCount>;

/// The pass rate to plan with if none is known.
pub const USUAL_RATE: f64 = 0.9;

/// The default margin: the drop that still counts as no worse.
pub const MARGIN: f64 = 0.05;

/// How sure a result must be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Rule {
    /// The chance of each false result: 0.05.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub alpha: f64,
    /// The confidence of intervals: 0.95.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub level: f64,
    /// The tolerated loss in pass rate: 0.05 for five points. Without it, no result is `no worse`.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub margin: Option<f64>,
}

impl Default for Rule {
    fn default() -> Self {
        Self { alpha: 0.05, level: LEVEL, margin: None }
    }
}

impl Rule {
    /// Whether the interval of the difference at a confidence of 1 − α is above the margin.
    fn holds_margin(&self, strata: &[Stratum]) -> bool {
        let low = difference::of(strata, 1.0 - self.alpha).map(|difference| difference.interval.low);
        self.margin.zip(low).is_some_and(|(margin, low)| low > -margin)
    }
}

/// Both sides compared: every figure there is to show.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// The answer: one result, or two that both hold.
    #[cfg_attr(feature = "schemars", schemars(length(min = 1, max = 2)))]
    pub results: Vec<CompareResult>,
    /// The results if every trial that was not measured had spoken against the candidate.
    #[cfg_attr(feature = "schemars", schemars(length(min = 1, max = 2)))]
    pub at_worst: Vec<CompareResult>,
    /// If some cases broke: those that show it, the surest first.
    pub broken: Vec<String>,
    /// Whether only all of `broken` together show it: at least one of them broke.
    pub broke_together: bool,
    /// If it is undecided: how many more trials of both sides would find a difference of the size seen with a probability of
    /// 80 %. Null if no difference was seen, or more than a million would be needed.
    pub trials_needed: Option<u64>,
    /// The baseline.
    pub baseline: SideSummary,
    /// The candidate.
    pub candidate: SideSummary,
    /// The candidate's mean pass rate minus the baseline's; null if no case was measured on both sides.
    pub difference: Option<MeanDifference>,
    /// What the results rest on.
    pub evidence: ResultBasis,
    /// Every case that was measured on both sides.
    pub cases: Vec<CaseChange>,
    /// Cases of which a side was tried and never measured; they are not counted.
    pub lost: Vec<String>,
    /// Cases that were measured for the baseline, and not tried for the candidate; they are not counted.
    pub only_baseline: Vec<String>,
    /// Cases that were measured for the candidate, and not tried for the baseline; they are not counted.
    pub only_candidate: Vec<String>,
    /// Cases that were tried on neither side; they are not counted.
    pub neither: Vec<String>,
    /// What the first trials of cases with the candidate alone showed, if there were some. They are in no rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub looks: Option<FirstLooks>,
    /// Whether cases have different numbers of trials, so that a rate over cases is not that over trials.
    pub unequal_trials: bool,
}

impl Comparison {
    /// Whether the trials show anything.
    pub fn is_decided(&self) -> bool {
        self.results.iter().any(|result| result.is_shown())
    }

    /// How many trials were not measured, where they might have led to an answer, or have taken the good one.
    pub fn lost_trials(&self) -> u64 {
        let is_good = |results: &[CompareResult]| results.iter().all(|result| result.is_good());
        let is_open = self.results.contains(&CompareResult::Undecided);
        let is_open = is_open || is_good(&self.results) && !is_good(&self.at_worst);
        if is_open { self.baseline.not_measured + self.candidate.not_measured } else { 0 }
    }

    /// The same without estimates, as of trials whose number depended on their results.
    #[must_use]
    pub fn without_estimates(mut self) -> Self {
        (self.baseline, self.candidate) = (self.baseline.with(None), self.candidate.with(None));
        if let Some(found) = &mut self.difference {
            found.difference = None;
        }
        self
    }

    /// The cases that were not tried on both sides.
    pub fn untried(&self) -> impl Iterator<Item = &String> {
        self.neither.iter().chain(&self.only_baseline).chain(&self.only_candidate)
    }
}

/// The first trials of cases, with the candidate alone. What fails gets pairs: only they are evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct FirstLooks {
    /// How many cases had one that was measured.
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub cases: usize,
    /// From so many failed looks on, all cases get pairs. Null if the comparison is of shards, which have numbers of their own.
    pub all_from: Option<u64>,
    /// The same number if nothing were known of how often the cases pass.
    pub all_from_if_unknown: u64,
    /// The cases that passed theirs and had no pair.
    pub passed: Vec<String>,
    /// The cases that failed theirs.
    pub failed: Vec<String>,
    /// Whether so many failed that all cases get pairs, as long as these speak against the candidate.
    pub several: bool,
}

/// The mean over the cases of the candidate's rate minus the baseline's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct MeanDifference {
    /// What it is estimated to be: over all comparisons, whatever they answer, the estimates have the true mean. Absent if the number
    /// of trials depends on their results: then any such number would be too high or too low on average.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub difference: Option<f64>,
    /// Where the true mean is.
    pub interval: Interval,
    /// The cases that the mean is of.
    pub cases: usize,
}

/// A side over all cases that were measured on both.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SideSummary {
    /// All trials together.
    pub rate: Rate,
    /// Trials of all its cases that were not measured, also of cases that are not compared.
    pub not_measured: u64,
    /// The mean of the cases' rates, cases weighted equally; true on average. Null if the number of trials depends on
    /// their results.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub share: Option<f64>,
    /// Where the true mean may be.
    pub interval: Option<Interval>,
}

impl SideSummary {
    fn of(rates: impl Iterator<Item = Rate>, not_measured: u64) -> Self {
        Self { rate: rates.fold(Rate::default(), Rate::plus), not_measured, share: None, interval: None }
    }

    fn with(self, mean: Option<(f64, Interval)>) -> Self {
        let (share, interval) = mean.unzip();
        Self { share, interval, ..self }
    }
}

/// What is known of the means of all cases.
struct MeanFigures {
    difference: MeanDifference,
    baseline: Option<(f64, Interval)>,
    candidate: Option<(f64, Interval)>,
}

/// One case on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct CaseChange {
    /// Its name.
    pub case: String,
    /// The baseline.
    pub baseline: CaseCount,
    /// The candidate.
    pub candidate: CaseCount,
    /// How likely this is in either direction if the case did not change: exact for stored trials, otherwise 1/e.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub p: f64,
    /// `p` adjusted by Holm: if no case changed, any is at most α with probability α only.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub adjusted: f64,
    /// Whether this single case changed.
    pub changed: bool,
}

impl CaseChange {
    /// The candidate's pass rate minus the baseline's.
    pub fn difference(&self) -> f64 {
        self.candidate.rate.share().unwrap_or_default() - self.baseline.rate.share().unwrap_or_default()
    }
}

/// What the results rest on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "rule", rename_all = "kebab-case")]
pub enum ResultBasis {
    /// Stored trials.
    Fixed {
        /// Exact and two-sided: what results rest on, and what is shown.
        #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
        p: f64,
        /// Exact, one-sided: that the candidate passes as little, or less, if nothing changed.
        #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
        p_worse: f64,
        /// Exact, one-sided: that the candidate passes as much, or more.
        #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
        p_better: f64,
    },
    /// Pairs that ran until something was decided.
    Sequential(SequentialEvidence),
}

/// The cases of both sides, joined.
#[derive(Default)]
struct JoinedCases {
    both: Vec<(String, CaseCount, CaseCount)>,
    lost: Vec<String>,
    only_baseline: Vec<String>,
    only_candidate: Vec<String>,
    neither: Vec<String>,
    not_measured: (u64, u64),
}

impl JoinedCases {
    fn new(baseline: &SideCounts, candidate: &SideCounts) -> Self {
        let lost = |side: &SideCounts| side.values().map(|counts| counts.not_measured).sum();
        let mut joined = Self { not_measured: (lost(baseline), lost(candidate)), ..Self::default() };
        let names: BTreeSet<&String> = baseline.keys().chain(candidate.keys()).collect();
        for name in names {
            let a = baseline.get(name).copied().unwrap_or_default();
            let b = candidate.get(name).copied().unwrap_or_default();
            match (a.rate.trials > 0, b.rate.trials > 0) {
                (true, true) => joined.both.push((name.clone(), a, b)),
                // What only one side tried cannot be compared anyway.
                _ if (a.is_lost() || b.is_lost()) && baseline.contains_key(name) && candidate.contains_key(name) => {
                    joined.lost.push(name.clone());
                }
                (true, false) => joined.only_baseline.push(name.clone()),
                (false, true) => joined.only_candidate.push(name.clone()),
                (false, false) => joined.neither.push(name.clone()),
            }
        }
        joined
    }

    fn strata(&self) -> Vec<Stratum> {
        self.both.iter().map(|(_, a, b)| Stratum { baseline: a.rate, candidate: b.rate }).collect()
    }

    /// The whole comparison, once its results and evidence are known; `p` is that of single cases, in the order of `both`.
    fn comparison(
        self,
        results: Vec<CompareResult>,
        evidence: ResultBasis,
        mean: Option<MeanFigures>,
        p: &[f64],
        rule: &Rule,
    ) -> Comparison {
        let side = |not_measured, counts: fn(&(String, CaseCount, CaseCount)) -> CaseCount| {
            SideSummary::of(self.both.iter().map(|case| counts(case).rate), not_measured)
        };
        let mean = mean.filter(|_| !self.both.is_empty());
        let shares = mean.as_ref().map_or((None, None), |mean| (mean.baseline, mean.candidate));
        let baseline = side(self.not_measured.0, |case| case.1).with(shares.0);
        let candidate = side(self.not_measured.1, |case| case.2).with(shares.1);
        let trials: BTreeSet<u64> = self.both.iter().flat_map(|(_, a, b)| [a.rate.trials, b.rate.trials]).collect();
        let cases = self.both.into_iter().zip(p.iter().zip(stats::holm_adjusted(p)));
        let cases = cases.map(|((case, baseline, candidate), (p, adjusted))| CaseChange {
            case,
            baseline,
            candidate,
            p: *p,
            adjusted,
            changed: adjusted <= rule.alpha,
        });
        Comparison {
            results,
            at_worst: Vec::new(),
            broken: Vec::new(),
            broke_together: false,
            trials_needed: None,
            baseline,
            candidate,
            difference: mean.map(|mean| mean.difference),
            evidence,
            cases: cases.collect(),
            lost: self.lost,
            only_baseline: self.only_baseline,
            only_candidate: self.only_candidate,
            neither: self.neither,
            looks: None,
            unequal_trials: trials.len() > 1,
        }
    }
}
