//! Inspect: a log in JSON. A sample is a trial; it passes with `C`, or the whole score of its first scorer.

use serde::Deserialize;
use serde_json::Value;

use super::{ResultFormat, ResultRow, TrialResult, document, plain};

pub const FORMAT: ResultFormat =
    ResultFormat { name: "Inspect", keys: &["eval", "status", "samples"], with: None, mean_of_cases: true, read };

#[derive(Deserialize)]
struct Log {
    eval: Eval,
    samples: Vec<Sample>,
}

#[derive(Deserialize)]
struct Eval {
    model: String,
}

#[derive(Deserialize)]
struct Sample {
    id: Value,
    #[serde(default)]
    scores: Option<serde_json::Map<String, Value>>,
    #[serde(default)]
    error: Option<serde::de::IgnoredAny>,
}

fn read(bytes: &[u8]) -> Result<Vec<ResultRow>, String> {
    let log: Log = document(bytes)?;
    let row = |sample: &Sample| {
        let first = sample.scores.as_ref().and_then(|scores| scores.values().next());
        let score = first.and_then(|score| number(score.get("value")?)).filter(|_| sample.error.is_none());
        let result = score.map_or(TrialResult::Error, |score| TrialResult::of(score >= 1.0));
        ResultRow::trial(plain(&sample.id), &log.eval.model, result, score)
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
            text => text.parse().ok(),
        },
        Value::Bool(passed) => Some(if *passed { 1.0 } else { 0.0 }),
        value => value.as_f64(),
    }
}
