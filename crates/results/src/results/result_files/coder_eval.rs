//! `coder_eval`: `run.json`, by its version 0.12. Each variant of an experiment is a side.

use serde::Deserialize;

use super::{ResultFormat, ResultRow, TrialResult, document};

pub const FORMAT: ResultFormat =
    ResultFormat { name: "coder_eval", keys: &["task_results", "tasks_run"], with: None, mean_of_cases: false, read };

#[derive(Deserialize)]
struct Run {
    task_results: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    task_id: String,
    #[serde(default)]
    variant_id: Option<String>,
    status: String,
}

fn read(bytes: &[u8]) -> Result<Vec<ResultRow>, String> {
    let run: Run = document(bytes)?;
    let row = |task: &Row| {
        let result = match task.status.as_str() {
            "SUCCESS" => TrialResult::Pass,
            "ERROR" | "BUILD_FAILED" | "NOT_GRADED" => TrialResult::Error,
            // It failed, or came to the end of its time, turns, tokens or money.
            _ => TrialResult::Fail,
        };
        // Its pass rate has errors, but not what was not graded.
        let score = ["ERROR", "BUILD_FAILED"].contains(&task.status.as_str()).then_some(0.0);
        ResultRow::trial(task.task_id.clone(), task.variant_id.as_deref().unwrap_or_default(), result, score)
    };
    Ok(run.task_results.iter().map(row).collect())
}
