//! What judges said of stored trials: how far their votes agree, and how far they agree with people.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::results::triggering::Share;
use crate::stats::LEVEL;
use crate::stats::agreement::{self, Agreement};
use crate::stats::calibration::{CorrectedRate, JudgeAccuracy};
use crate::stats::proportion::Rate;
use crate::store::{RunFolder, StoreError};
use crate::trial::outcome::Verdict;

/// What a judge said of one trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedTrial {
    /// The trial as it is printed everywhere: `skill/case/mode`, `/2` behind it for a repeat.
    pub trial: String,
    /// What most votes say; none where there is no majority.
    pub passed: Option<bool>,
    /// Usable votes that say pass.
    pub pass_votes: u64,
    /// Usable votes that say fail.
    pub fail_votes: u64,
}

/// What judges came to over many trials.
#[derive(Clone, Debug, Serialize)]
pub struct Judges {
    /// How many of the judged trials the judge passed; those without a majority are in neither number.
    pub passed: Share,
    /// Trials without a majority of votes.
    pub unscored: usize,
    /// How far the votes on the same trial agree; absent where no trial has two.
    pub votes: Option<Agreement>,
    /// How far the judge agrees with people; absent without labels.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<Calibration>,
}

/// A judge held against people.
#[derive(Clone, Debug, Serialize)]
pub struct Calibration {
    /// Of what people passed, what the judge passed.
    pub sensitivity: Share,
    /// Of what people failed, what the judge failed.
    pub specificity: Share,
    /// Cohen's κ of the judge and the people; absent where both gave one answer to everything.
    pub kappa: Option<f64>,
    /// The rate that people would have given to all judged trials; absent where the judge is no better than a coin.
    pub corrected: Option<CorrectedRate>,
    /// Labelled trials that no judge scored in these runs.
    pub unmatched: Vec<String>,
}

/// The judged trials of a run.
///
/// # Errors
/// When a stored answer cannot be read.
pub fn read(run: &RunFolder) -> Result<Vec<JudgedTrial>, StoreError> {
    let mut found = Vec::new();
    for folder in run.trials() {
        let Some(judgement) = folder.judgement()? else { continue };
        let count = |passed| {
            let answers = judgement.votes.iter().filter_map(|vote| vote.answer.as_ref());
            answers.filter(|answer| answer.overall_pass == passed).count() as u64
        };
        let passed = match judgement.verdict {
            Verdict::Pass => Some(true),
            Verdict::Fail => Some(false),
            Verdict::Error | Verdict::Unscored => None,
        };
        let trial = folder.meta()?.id().to_string();
        found.push(JudgedTrial { trial, passed, pass_votes: count(true), fail_votes: count(false) });
    }
    Ok(found)
}

/// What these trials come to, held against `labels` where there are any: what people say of trials, by name.
#[must_use]
pub fn of(trials: &[JudgedTrial], labels: Option<&BTreeMap<String, bool>>) -> Judges {
    let mut rate = Rate::default();
    trials.iter().filter_map(|trial| trial.passed).for_each(|passed| rate.add(passed));
    let votes: Vec<Vec<u64>> = trials.iter().map(|trial| vec![trial.pass_votes, trial.fail_votes]).collect();
    Judges {
        passed: rate.into(),
        unscored: trials.iter().filter(|trial| trial.passed.is_none()).count(),
        votes: agreement::of_votes(&votes),
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
    let JudgeAccuracy { passed_right: passed, failed_right: failed } = judge;
    let table = [vec![passed.passed, passed.failed()], vec![failed.failed(), failed.passed]];
    Calibration {
        sensitivity: passed.into(),
        specificity: failed.into(),
        kappa: agreement::cohen(&table),
        corrected: judge.correct(rate, LEVEL),
        unmatched,
    }
}
