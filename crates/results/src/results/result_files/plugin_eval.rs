//! `claude plugin eval`: `aggregate-result.json`, with the runs of each case with the plugin and without.

use serde::Deserialize;

use super::{ResultFormat, ResultRow, TrialResult, document};

pub const FORMAT: ResultFormat = ResultFormat {
    name: "claude plugin eval",
    keys: &["suite", "cases", "aggregates"],
    with: Some("with"),
    mean_of_cases: true,
    read,
};

#[derive(Deserialize)]
struct Suite {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    arms: Arms,
}

#[derive(Deserialize)]
struct Arms {
    with: Vec<Run>,
    #[serde(default)]
    without: Vec<Run>,
}

/// A run that an error of the provider ended is scored 0. So is one that a mock ended, and one whose paid graders did not run.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    passed: bool,
    score: Option<f64>,
    #[serde(default)]
    error: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    aborted: Option<serde::de::IgnoredAny>,
    #[serde(default)]
    skipped_paid_graders: bool,
}

fn read(bytes: &[u8]) -> Result<Vec<ResultRow>, String> {
    let suite: Suite = document(bytes)?;
    let arm = |side: &'static str, of: fn(&Arms) -> &Vec<Run>| {
        suite.cases.iter().flat_map(move |case| of(&case.arms).iter().map(move |run| row(&case.name, side, run)))
    };
    Ok(arm("without", |arms| &arms.without).chain(arm("with", |arms| &arms.with)).collect())
}

fn row(case: &str, side: &str, run: &Run) -> ResultRow {
    let is_error = run.error.is_some() || run.aborted.is_some() || run.skipped_paid_graders;
    let result = if is_error { TrialResult::Error } else { TrialResult::of(run.passed) };
    ResultRow::trial(case.to_owned(), side, result, run.score)
}
