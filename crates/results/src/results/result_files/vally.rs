//! Vally: `results.jsonl`, a line for each trial of a stimulus in a variant.

use serde::Deserialize;

use super::endings::{STATUS, is_of_agent};
use super::{ResultFormat, ResultRow, TrialResult, objects};

pub const FORMAT: ResultFormat = ResultFormat {
    name: "Vally",
    keys: &["stimulus|trajectory", "gradeResult"],
    with: None,
    mean_of_cases: false,
    read,
};

/// A line; those without a grade and a status are no trials.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    #[serde(default)]
    eval_name: Option<String>,
    #[serde(default)]
    stimulus: Option<String>,
    #[serde(default)]
    variant: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    grade_result: Option<Grade>,
    #[serde(default)]
    trajectory: Option<Trajectory>,
}

#[derive(Deserialize)]
struct Grade {
    passed: bool,
    score: Option<f64>,
}

#[derive(Deserialize)]
struct Trajectory {
    #[serde(default)]
    stimulus: Option<Stimulus>,
}

#[derive(Deserialize)]
struct Stimulus {
    name: String,
}

fn read(bytes: &[u8]) -> Result<Vec<ResultRow>, String> {
    let lines: Vec<Line> = objects(bytes)?;
    let (mut rows, mut suite) = (Vec::new(), String::new());
    for (at, line) in lines.into_iter().enumerate() {
        // The first line of a run has the name of its eval, of which the trials that follow are.
        suite = line.eval_name.unwrap_or(suite);
        let of_trajectory = || Some(line.trajectory?.stimulus?.name);
        let Some(case) = line.stimulus.or_else(of_trajectory) else {
            if line.grade_result.is_some() {
                return Err(format!("result {} has a grade and no `stimulus`", at + 1));
            }
            continue;
        };
        let ended = line.status.as_deref().is_none_or(|status| status == "success" || is_of_agent(status, STATUS));
        let result = match &line.grade_result {
            Some(grade) if ended => TrialResult::of(grade.passed),
            _ => TrialResult::Error,
        };
        let score = line.grade_result.and_then(|grade| grade.score);
        rows.push(ResultRow::trial(case, line.variant.as_deref().unwrap_or_default(), result, score).within(&suite));
    }
    Ok(rows)
}
