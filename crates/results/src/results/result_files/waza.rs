//! waza: the JSON of `waza run --output`, with the run without skills in it if there was one.

use serde::Deserialize;

use super::endings::{STATUS, is_of_agent};
use super::{ResultFormat, ResultRow, TrialResult, document, stated};

pub const FORMAT: ResultFormat = ResultFormat {
    name: "waza",
    keys: &["eval_id|eval_name", "tasks", "summary"],
    with: Some(WITH),
    mean_of_cases: false,
    read,
};

const WITH: &str = "with skills";

#[derive(Deserialize)]
struct Evaluation {
    #[serde(default)]
    eval_name: Option<String>,
    #[serde(default)]
    eval_id: Option<String>,
    tasks: Vec<Task>,
    #[serde(default)]
    summary: Summary,
    #[serde(default)]
    baseline_outcome: Option<Box<Evaluation>>,
}

#[derive(Default, Deserialize)]
struct Summary {
    #[serde(default)]
    total_tests: Option<u64>,
}

#[derive(Deserialize)]
struct Task {
    test_id: String,
    runs: Vec<Run>,
}

#[derive(Deserialize)]
struct Run {
    status: String,
}

fn read(bytes: &[u8]) -> Result<Vec<ResultRow>, String> {
    let evaluation: Evaluation = document(bytes)?;
    stated("tests", evaluation.summary.total_tests, evaluation.tasks.len())?;
    let suite = evaluation.eval_name.as_ref().or(evaluation.eval_id.as_ref()).map_or("", String::as_str);
    let baseline = evaluation.baseline_outcome.iter().flat_map(|of| rows(of, "without skills"));
    Ok(baseline.chain(rows(&evaluation, WITH)).map(|row| row.within(suite)).collect())
}

fn rows<'a>(evaluation: &'a Evaluation, side: &'a str) -> impl Iterator<Item = ResultRow> + 'a {
    let runs = evaluation.tasks.iter().flat_map(|task| task.runs.iter().map(move |run| (task, run)));
    runs.filter(|(_, run)| run.status != "skipped").map(move |(task, run)| {
        let result = match run.status.as_str() {
            "passed" => TrialResult::Pass,
            "failed" => TrialResult::Fail,
            status if is_of_agent(status, STATUS) => TrialResult::Fail,
            _ => TrialResult::Error,
        };
        ResultRow::trial(task.test_id.clone(), side, result, None)
    })
}
