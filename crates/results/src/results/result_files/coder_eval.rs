//! `coder_eval`: `run.json`, by its version 0.12. Each variant of an experiment is a side.

use serde::Deserialize;

use super::endings::CODER_EVAL;
use super::{ResultFormat, ResultRow, document, stated};

pub const FORMAT: ResultFormat =
    ResultFormat { name: "coder_eval", keys: &["task_results", "tasks_run"], with: None, mean_of_cases: false, read };

#[derive(Deserialize)]
struct Run {
    task_results: Vec<Row>,
    tasks_run: u64,
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
    stated("tasks", Some(run.tasks_run), run.task_results.len())?;
    let row = |task: &Row| {
        let result = CODER_EVAL.result(&task.task_id, &task.status)?;
        // Its pass rate has errors, but not what was not graded.
        let score = ["ERROR", "BUILD_FAILED"].contains(&task.status.as_str()).then_some(0.0);
        Ok(ResultRow::trial(task.task_id.clone(), task.variant_id.as_deref().unwrap_or_default(), result, score))
    };
    run.task_results.iter().map(row).collect()
}
