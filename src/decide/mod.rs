//! What trials of two arms come to, in words that a skill author can act on: better, worse, no worse, undecided. By two
//! rules: [`fixed`] for trials that exist, [`sequential`] for trials that go on until something is decided.
//!
//! B is compared with A, and every number is of the cases at hand, each weighing the same. Trials that were lost (errors,
//! unscored) are no measurement: they are in no rate and only counted.

pub mod fixed;
pub mod pair_choice;
pub mod plan;
pub mod result;
pub mod sequential;
pub mod threshold;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::stats::difference::{self, Difference};
use crate::stats::proportion::Rate;
use crate::stats::stratified::Stratum;
use crate::stats::{Interval, LEVEL, holm, mean};
use result::CompareResult;

/// One case in one arm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CaseCount {
    /// Trials that passed, of those that were measured.
    pub rate: Rate,
    /// Trials that measured nothing: errors and unscored ones. They are in neither number of `rate`.
    pub not_measured: u64,
}

/// An arm: its counts by case, under the name that the user knows the case by.
pub type SideCounts = BTreeMap<String, CaseCount>;

/// The drop that still counts as no worse, where nothing else is said.
pub const MARGIN: f64 = 0.05;

/// What is asked, and how sure the answer must be.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rule {
    /// How often each word may be said that is not true: 0.05.
    pub alpha: f64,
    /// The confidence of intervals: 0.95.
    pub level: f64,
    /// The loss in rate that is tolerated: 0.05 for five points. None: `no worse` is not asked.
    pub margin: Option<f64>,
}

impl Default for Rule {
    fn default() -> Self {
        Self { alpha: 0.05, level: LEVEL, margin: None }
    }
}

impl Rule {
    /// The margin, where the interval of the difference at a confidence of 1 − α lies above it.
    fn held(&self, strata: &[Stratum]) -> Option<f64> {
        let low = difference::of(strata, 1.0 - self.alpha)?.interval.low;
        self.margin.filter(|margin| low > -margin)
    }
}

/// Two arms compared: every figure there is to show.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// The answer.
    #[serde(flatten)]
    pub result: CompareResult,
    /// What the first arm came to.
    pub baseline: SideSummary,
    /// What the second arm came to.
    pub candidate: SideSummary,
    /// B − A; none where no case was measured in both arms.
    pub difference: Option<Difference>,
    /// By which the word was found.
    pub evidence: ResultBasis,
    /// Every case that was measured in both arms.
    pub cases: Vec<CaseChange>,
    /// Cases that were measured in A alone: in no other figure.
    pub only_baseline: Vec<String>,
    /// Cases that were measured in B alone: in no other figure.
    pub only_candidate: Vec<String>,
    /// Cases that were measured in neither arm, since all their trials were lost or none was run: in no other figure.
    pub neither: Vec<String>,
    /// Whether cases were tried unequally often, so that a rate over cases is not that over trials.
    pub unequal_trials: bool,
}

/// An arm over all cases that were measured in both.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SideSummary {
    /// All trials together.
    pub rate: Rate,
    /// Lost trials of all its cases, those that are not compared too.
    pub not_measured: u64,
    /// The mean of the cases' rates, each weighing the same.
    pub share: Option<f64>,
    /// Where the true mean may lie.
    pub interval: Option<Interval>,
}

/// One case in both arms.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CaseChange {
    /// Its name.
    pub case: String,
    /// In the first arm.
    pub baseline: CaseCount,
    /// In the second arm.
    pub candidate: CaseCount,
    /// How likely this is where the case did not change, to either side: exact in a fixed comparison, 1/e in a sequential
    /// one.
    pub p: f64,
    /// `p` under Holm: at most α for any case with probability α only, where none changed.
    pub adjusted: f64,
    /// Whether this single case changed.
    pub changed: bool,
}

/// What the word rests on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "rule", rename_all = "kebab-case")]
pub enum ResultBasis {
    /// Trials that exist.
    Fixed {
        /// Exact and two-sided: what the word and gates go by.
        p: f64,
        /// Mid-p, two-sided: what to show.
        p_shown: f64,
        /// Exact, one-sided: that B passes as little, or less, where nothing changed.
        p_worse: f64,
        /// Exact, one-sided: that B passes as much, or more.
        p_better: f64,
    },
    /// Pairs that went on until something was decided: e-values, enough at `1/alpha`.
    Sequential {
        /// Against "in no case worse".
        worse: f64,
        /// Against "in no case better".
        better: f64,
        /// Against "worse by the margin"; none where no margin was asked.
        no_worse: Option<f64>,
    },
}

/// The cases of two arms, joined.
#[derive(Default)]
struct JoinedCases {
    both: Vec<(String, CaseCount, CaseCount)>,
    only_baseline: Vec<String>,
    only_candidate: Vec<String>,
    neither: Vec<String>,
    not_measured: (u64, u64),
}

impl JoinedCases {
    fn new(a: &SideCounts, b: &SideCounts) -> Self {
        let lost = |arm: &SideCounts| arm.values().map(|counts| counts.not_measured).sum();
        let mut joined = Self { not_measured: (lost(a), lost(b)), ..Self::default() };
        let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            let of = |arm: &SideCounts| arm.get(name).copied().unwrap_or_default();
            let (in_a, in_b) = (of(a), of(b));
            match (in_a.rate.trials > 0, in_b.rate.trials > 0) {
                (true, true) => joined.both.push((name.clone(), in_a, in_b)),
                (true, false) => joined.only_baseline.push(name.clone()),
                (false, true) => joined.only_candidate.push(name.clone()),
                (false, false) => joined.neither.push(name.clone()),
            }
        }
        joined
    }

    fn shown(&self, lost: u64, level: f64, arm: fn(&(String, CaseCount, CaseCount)) -> CaseCount) -> SideSummary {
        let rates: Vec<Rate> = self.both.iter().map(|case| arm(case).rate).collect();
        let mean = mean::of(&rates, level);
        SideSummary {
            rate: rates.into_iter().fold(Rate::default(), Rate::plus),
            not_measured: lost,
            share: mean.map(|(mean, _)| mean),
            interval: mean.map(|(_, interval)| interval),
        }
    }

    /// The whole comparison, once its word and evidence are known; `p` is that of single cases, in the order of `both`.
    fn comparison(
        self,
        word: CompareResult,
        evidence: ResultBasis,
        difference: Option<Difference>,
        p: &[f64],
        rule: &Rule,
    ) -> Comparison {
        let (a, b) = (
            self.shown(self.not_measured.0, rule.level, |case| case.1),
            self.shown(self.not_measured.1, rule.level, |case| case.2),
        );
        let mut trials = self.both.iter().flat_map(|(_, a, b)| [a.rate.trials, b.rate.trials]);
        let first = trials.next();
        let uneven = trials.any(|trials| Some(trials) != first);
        let adjusted = holm::adjusted(p);
        let cases = self.both.into_iter().zip(p.iter().zip(adjusted));
        let cases = cases.map(|((case, a, b), (p, adjusted))| CaseChange {
            case,
            baseline: a,
            candidate: b,
            p: *p,
            adjusted,
            changed: adjusted <= rule.alpha,
        });
        let cases = cases.collect();
        let Self { only_baseline: only_a, only_candidate: only_b, neither, .. } = self;
        Comparison {
            result: word,
            baseline: a,
            candidate: b,
            difference,
            evidence,
            cases,
            only_baseline: only_a,
            only_candidate: only_b,
            neither,
            unequal_trials: uneven,
        }
    }
}
