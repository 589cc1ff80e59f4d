//! AgentV: `index.jsonl` of a run, a line for each test on a target.

use serde::Deserialize;

use super::endings::AGENTV;
use super::{ResultFormat, ResultRow, TrialResult, objects};

pub const FORMAT: ResultFormat = ResultFormat {
    name: "AgentV",
    keys: &["test_id", "target", "execution_status"],
    with: None,
    mean_of_cases: false,
    read,
};

/// The score from which AgentV calls a trial passed that says no verdict.
const PASS: f64 = 0.8;

/// The execution status of a trial that the machinery lost, and those of the others.
const LOST: &str = "execution_error";
const MEASURED: [&str; 2] = ["ok", "quality_failure"];

#[derive(Deserialize)]
struct Line {
    test_id: String,
    target: String,
    #[serde(default)]
    attempts: Vec<Attempt>,
    #[serde(flatten)]
    whole: Attempt,
}

/// A trial of the test, or the whole line if it had one.
#[derive(Deserialize)]
struct Attempt {
    #[serde(default)]
    score: Option<f64>,
    #[serde(default)]
    verdict: Option<String>,
    #[serde(default)]
    execution_status: Option<String>,
}

fn read(bytes: &[u8]) -> Result<Vec<ResultRow>, String> {
    let lines: Vec<Line> = objects(bytes)?;
    let rows = lines.iter().flat_map(|line| {
        let trials = if line.attempts.is_empty() { std::slice::from_ref(&line.whole) } else { &line.attempts };
        let row = |trial: &Attempt| {
            let result = trial.result(&line.test_id)?;
            Ok(ResultRow::trial(line.test_id.clone(), &line.target, result, trial.score))
        };
        trials.iter().map(row).collect::<Vec<_>>()
    });
    rows.collect()
}

impl Attempt {
    fn result(&self, test: &str) -> Result<TrialResult, String> {
        Ok(match (self.execution_status.as_deref(), self.verdict.as_deref(), self.score) {
            (Some(LOST), ..) | (_, None, None) => TrialResult::Error,
            (Some(status), ..) if !MEASURED.contains(&status) => {
                let known = MEASURED.join(", ");
                return Err(format!(
                    "{test} has the execution status `{status}`, which is not known; known: {known}, {LOST}"
                ));
            }
            (_, Some(verdict), _) => AGENTV.result(test, verdict)?,
            (_, None, Some(score)) => TrialResult::of(score >= PASS),
        })
    }
}
