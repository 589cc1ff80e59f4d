//! `SkillEvaluator`: `summary.json` of a side, with every attempt at a case.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{ResultFormat, ResultRow, TrialResult, document};

pub const FORMAT: ResultFormat =
    ResultFormat { name: "SkillEvaluator", keys: &["scores", "pass_at_k"], with: None, mean_of_cases: false, read };

#[derive(Deserialize)]
struct Summary {
    pass_at_k: PassAtK,
}

#[derive(Deserialize)]
struct PassAtK {
    #[serde(default)]
    cases: BTreeMap<String, Case>,
}

#[derive(Deserialize)]
struct Case {
    attempts: Vec<Attempt>,
    #[serde(default)]
    attempts_missing: u64,
    #[serde(default)]
    attempts_skipped: u64,
}

#[derive(Deserialize)]
struct Attempt {
    score: Option<f64>,
    passed: bool,
}

fn read(bytes: &[u8]) -> Result<Vec<ResultRow>, String> {
    let summary: Summary = document(bytes)?;
    let mut rows = Vec::new();
    for (id, case) in summary.pass_at_k.cases {
        if case.attempts_skipped > 0 {
            return Err(format!("{id} stopped at its first pass, so its attempts tell no pass rate; run without that"));
        }
        let trial =
            |attempt: &Attempt| ResultRow::trial(id.clone(), "", TrialResult::of(attempt.passed), attempt.score);
        rows.extend(case.attempts.iter().map(trial));
        rows.extend((0..case.attempts_missing).map(|_| ResultRow::trial(id.clone(), "", TrialResult::Error, None)));
    }
    Ok(rows)
}
