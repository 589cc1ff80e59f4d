//! `benchmark.json` of skill-creator, by its `references/schemas.md`: runs in configurations.

use serde::Deserialize;
use serde_json::Value;

use super::{ResultFormat, ResultRow, TrialResult, document, plain};

pub const FORMAT: ResultFormat = ResultFormat {
    name: "skill-creator",
    keys: &["runs", "run_summary"],
    with: Some("with_skill"),
    mean_of_cases: false,
    read,
};

#[derive(Deserialize)]
struct Benchmark {
    runs: Vec<Run>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    skill_name: Option<String>,
}

#[derive(Deserialize)]
struct Run {
    eval_id: Value,
    configuration: String,
    #[serde(default)]
    result: Option<RunResult>,
}

/// What was expected of a run. A run that could not be graded has no expectations.
#[derive(Deserialize)]
struct RunResult {
    pass_rate: f64,
    #[serde(default)]
    total: Option<u64>,
}

fn read(bytes: &[u8]) -> Result<Vec<ResultRow>, String> {
    let benchmark: Benchmark = document(bytes)?;
    let skill = benchmark.metadata.skill_name.as_deref().unwrap_or_default();
    let row = |run: &Run| {
        let graded = run.result.as_ref().filter(|result| result.total != Some(0));
        let result = graded.map_or(TrialResult::Error, |result| TrialResult::of(result.pass_rate >= 1.0));
        let score = run.result.as_ref().map(|result| result.pass_rate);
        ResultRow::trial(plain(&run.eval_id), &run.configuration, result, score).within(skill)
    };
    let mut rows: Vec<ResultRow> = benchmark.runs.iter().map(row).collect();
    // The benchmark names the new side first.
    rows.sort_by_key(|row| ["with_skill", "new_skill"].contains(&row.side.as_str()));
    Ok(rows)
}
