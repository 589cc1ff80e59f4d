//! Judges' verdicts on stored trials: how much their votes agree, and how much they agree with people.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::decide::plan::ComparePlan;
use crate::decide::promise::{ExpectedCases, Power};
use crate::decide::{MARGIN, Rule};
use crate::results::share::Share;
use crate::stats::LEVEL;
use crate::stats::proportion::Rate;
use crate::stats::proportion::{self, Agreement};
use crate::stats::proportion::{CorrectedRate, JudgeAccuracy};
use crate::store::{RunFolder, StoreError};
use crate::trial::outcome::Verdict;

/// A judge's verdict on one trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedTrial {
    /// `skill/case/mode`, with `/2` at the end for a repeat.
    pub trial: String,
    /// The verdict of the majority; `None` without one.
    pub passed: Option<bool>,
    /// Usable votes that say pass.
    pub pass_votes: u64,
    /// Usable votes that say fail.
    pub fail_votes: u64,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Judges {
    /// Trials that the judge passed, of those with a majority.
    pub passed: Share,
    /// Trials without a majority of votes.
    pub unscored: usize,
    /// How much the votes on the same trial agree; null if no trial has two votes.
    pub votes: Option<Agreement>,
    /// How much the judge agrees with people; absent without labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
}

/// A judge compared with people.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Calibration {
    /// Of the trials that people passed, those that the judge passed.
    pub sensitivity: Share,
    /// Of the trials that people failed, those that the judge failed.
    pub specificity: Share,
    /// Cohen's κ of the judge and the people; null if both gave one answer to everything.
    pub kappa: Option<f64>,
    /// The estimated rate that people would give to all judged trials; null if the judge is not better than a coin.
    pub corrected: Option<CorrectedRate>,
    /// What a quick comparison of as many cases finds if all are judged like this; absent without labels of both kinds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub power: Option<Power>,
    /// Labeled trials that no judge scored in these runs.
    pub unmatched: Vec<String>,
}

pub fn read(run: &RunFolder) -> Result<Vec<JudgedTrial>, StoreError> {
    let mut trials = Vec::new();
    for folder in run.trials()? {
        let Some(judgment) = folder.judgment()? else { continue };
        let passed = match judgment.verdict {
            Verdict::Pass => Some(true),
            Verdict::Fail => Some(false),
            Verdict::Error | Verdict::Unscored => None,
        };
        let mut votes = Rate::default();
        judgment.votes.iter().filter_map(|vote| vote.answer.as_ref()).for_each(|answer| votes.add(answer.overall_pass));
        let trial = folder.meta()?.id().to_string();
        trials.push(JudgedTrial { trial, passed, pass_votes: votes.passed, fail_votes: votes.failed() });
    }
    Ok(trials)
}

/// The figures of these trials. `labels` are people's verdicts, by the names of trials.
pub fn of(trials: &[JudgedTrial], labels: Option<&BTreeMap<String, bool>>) -> Judges {
    let mut rate = Rate::default();
    trials.iter().filter_map(|trial| trial.passed).for_each(|passed| rate.add(passed));
    let votes: Vec<Vec<u64>> = trials.iter().map(|trial| vec![trial.pass_votes, trial.fail_votes]).collect();
    Judges {
        passed: rate.into(),
        unscored: trials.iter().filter(|trial| trial.passed.is_none()).count(),
        votes: proportion::agreement_of_votes(&votes),
        calibration: labels.map(|labels| calibration(trials, labels, rate)),
    }
}

fn calibration(trials: &[JudgedTrial], labels: &BTreeMap<String, bool>, rate: Rate) -> Calibration {
    let judged: BTreeMap<&str, bool> =
        trials.iter().filter_map(|trial| Some((trial.trial.as_str(), trial.passed?))).collect();
    let (mut judge, mut unmatched) = (JudgeAccuracy::default(), Vec::new());
    for (trial, label) in labels {
        match judged.get(trial.as_str()) {
            Some(passed) if *label => judge.passed_right.add(*passed),
            Some(passed) => judge.failed_right.add(!passed),
            None => unmatched.push(trial.clone()),
        }
    }
    let JudgeAccuracy { passed_right, failed_right } = judge;
    let table = [vec![passed_right.passed, passed_right.failed()], vec![failed_right.failed(), failed_right.passed]];
    Calibration {
        sensitivity: passed_right.into(),
        specificity: failed_right.into(),
        kappa: proportion::cohen_kappa(&table),
        corrected: judge.correct(rate, LEVEL),
        power: passed_right.share().zip(failed_right.share()).map(|right| power(trials, right)),
        unmatched,
    }
}

/// What a quick comparison of the cases of these trials finds with a judge that gets these shares right.
fn power(trials: &[JudgedTrial], judge: (f64, f64)) -> Power {
    let case = |trial: &JudgedTrial| trial.trial.split('/').take(2).collect::<Vec<_>>().join("/");
    let cases = trials.iter().map(case).collect::<BTreeSet<_>>().len();
    let (plan, rule) = (ComparePlan::Quick, Rule { margin: Some(MARGIN), ..Rule::default() });
    let expected = ExpectedCases { judge, ..ExpectedCases::unknown(cases) };
    Power::of(plan, &expected, plan.default_limit(cases), &rule)
}

// Probes: what a judge answers where the answer is known without a label.

/// What a judge answered to probes.
#[derive(Clone, Debug, Default)]
pub struct ProbedJudge {
    /// Cases of which it passed an agent that left nothing.
    pub empty: Rate,
    /// Cases of which it passed an agent that left nothing but a message that asks to be passed.
    pub begging: Rate,
    /// Trials whose verdict changed when the rubric was asked in the other order.
    pub reversed: Rate,
    /// Why answers are missing, each with the trial.
    pub unanswered: Vec<String>,
    /// Cases of which no trial was judged by today's rubric and evidence.
    pub left_out: Vec<String>,
    /// Why the answers are not a model's own.
    pub scripted: Option<String>,
}

impl ProbedJudge {
    /// Whether it passes trials in which nothing was done.
    pub fn passes_nothing_done(&self) -> bool {
        self.empty.passed + self.begging.passed > 0
    }

    /// Whether it was asked anything.
    pub fn is_measured(&self) -> bool {
        self.empty.trials + self.begging.trials + self.reversed.trials > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_judge_that_is_wrong_one_time_in_ten_finds_a_case_that_went_from_always_to_never_in_three_of_four_comparisons()
    {
        let trial = |number: u32| format!("tidy/c{}/codex/{number}", number % 10);
        let label = |number: u32| number < 10;
        let judged = |number: u32| JudgedTrial {
            trial: trial(number),
            passed: Some(label(number) != number.is_multiple_of(10)),
            pass_votes: 1,
            fail_votes: 0,
        };
        let labels = (0..20).map(|number| (trial(number), label(number))).collect();
        let found = of(&(0..20).map(judged).collect::<Vec<_>>(), Some(&labels)).calibration.expect("labels");
        let power = found.power.expect("labels of both kinds");
        // If the judge passes the first look at that case, it gets no pair.
        assert!((power.finds_dead_case - 0.72).abs() < 0.05, "{power:?}");
    }
}
