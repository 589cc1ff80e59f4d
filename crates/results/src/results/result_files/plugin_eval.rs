//! `claude plugin eval`: `aggregate-result.json`, with the runs of each case with the plugin and without.

use serde::Deserialize;

use super::endings::{PLUGIN_EVAL, is_of_agent};
use super::{ResultFormat, ResultRow, TrialResult, document, stated};

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
    #[serde(default)]
    aggregates: Aggregates,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Aggregates {
    #[serde(default)]
    cases_total: Option<u64>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    /// Absent in older files.
    #[serde(default)]
    dir: Option<String>,
    arms: Arms,
}

#[derive(Deserialize)]
struct Arms {
    with: Vec<Run>,
    #[serde(default)]
    without: Vec<Run>,
}

impl Case {
    /// Its directory in the suite: names may be the same in several.
    fn id(&self) -> &str {
        self.dir.as_deref().filter(|dir| !dir.is_empty()).unwrap_or(&self.name)
    }
}

/// A run that an error of the provider ended is scored 0 and not graded. One that ran out of time or turns is graded by what there
/// is. One that a rule of a mock ended is scored 0.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    passed: bool,
    score: Option<f64>,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    aborted: Option<Aborted>,
    /// The cost ceiling was hit, so that graders failed without being asked.
    #[serde(default)]
    skipped_paid_graders: bool,
}

#[derive(Deserialize)]
struct Aborted {
    #[serde(default)]
    reason: String,
}

/// The start of the reason if the model that plays a mock did not answer.
const RESPONDER_FAILED: &str = "mock agent responder failed";

fn read(bytes: &[u8]) -> Result<Vec<ResultRow>, String> {
    let suite: Suite = document(bytes)?;
    stated("cases", suite.aggregates.cases_total, suite.cases.len())?;
    let arm = |side: &'static str, of: fn(&Arms) -> &Vec<Run>| {
        let rows = move |case: &Case| of(&case.arms).iter().map(|run| row(case.id(), side, run)).collect::<Vec<_>>();
        suite.cases.iter().flat_map(rows)
    };
    Ok(arm("without", |arms| &arms.without).chain(arm("with", |arms| &arms.with)).collect())
}

fn row(case: &str, side: &str, run: &Run) -> ResultRow {
    let is_lost = |error: &String| !is_of_agent(error, PLUGIN_EVAL);
    let is_error = run.error.as_ref().is_some_and(is_lost)
        || run.aborted.as_ref().is_some_and(|aborted| aborted.reason.starts_with(RESPONDER_FAILED))
        || run.skipped_paid_graders;
    let result = if is_error { TrialResult::Error } else { TrialResult::of(run.passed) };
    ResultRow::trial(case.to_owned(), side, result, run.score)
}
