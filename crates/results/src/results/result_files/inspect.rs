//! Inspect: a log in JSON. A sample is a trial; it passes with `C`, or the whole score of the first scorer.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{ResultFormat, ResultRow, TrialResult, document, plain, stated};

pub const FORMAT: ResultFormat =
    ResultFormat { name: "Inspect", keys: &["eval", "status", "samples"], with: None, mean_of_cases: true, read };

/// The status of a log whose run came to its end. The others are `started`, `cancelled` and `error`.
const SUCCESS: &str = "success";

#[derive(Deserialize)]
struct Log {
    status: String,
    eval: Eval,
    samples: Vec<Sample>,
    #[serde(default)]
    results: Option<Results>,
}

#[derive(Deserialize)]
struct Results {
    #[serde(default)]
    total_samples: Option<u64>,
}

#[derive(Deserialize)]
struct Eval {
    #[serde(default)]
    task: String,
    model: String,
    /// Older logs have none.
    #[serde(default)]
    scorers: Option<Vec<Scorer>>,
}

#[derive(Deserialize)]
struct Scorer {
    name: String,
}

#[derive(Deserialize)]
struct Sample {
    id: Value,
    #[serde(default)]
    scores: Option<BTreeMap<String, Value>>,
    #[serde(default)]
    error: Option<serde::de::IgnoredAny>,
}

fn read(bytes: &[u8]) -> Result<Vec<ResultRow>, String> {
    let log: Log = document(bytes)?;
    if log.status != SUCCESS {
        return Err(format!(
            "the status of the log is `{}`, not `{SUCCESS}`: its run did not come to its end",
            log.status
        ));
    }
    stated(
        "samples",
        log.results.and_then(|results| results.total_samples).filter(|total| *total > 0),
        log.samples.len(),
    )?;
    let first = log.eval.scorers.iter().flatten().next().map(|scorer| scorer.name.as_str());
    let row = |sample: &Sample| {
        let all = sample.scores.as_ref();
        let shown = all.and_then(|all| first.and_then(|name| all.get(name)).or_else(|| all.values().next()));
        let score = shown.and_then(|score| number(score.get("value")?)).filter(|_| sample.error.is_none());
        let result = score.map_or(TrialResult::Error, |score| TrialResult::of(score >= 1.0));
        ResultRow::trial(plain(&sample.id), &log.eval.model, result, score).within(&log.eval.task)
    };
    Ok(log.samples.iter().map(row).collect())
}

/// A score as Inspect counts it for its accuracy.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::String(text) => match text.as_str() {
            "C" => Some(1.0),
            "P" => Some(0.5),
            "I" | "N" => Some(0.0),
            text => text.parse().ok().filter(|number: &f64| number.is_finite()),
        },
        Value::Bool(passed) => Some(if *passed { 1.0 } else { 0.0 }),
        value => value.as_f64(),
    }
}
