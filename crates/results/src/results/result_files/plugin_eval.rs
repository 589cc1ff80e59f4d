//! `claude plugin eval`: `aggregate-result.json`, with the runs of each case with the plugin and without.

use serde::Deserialize;

use std::collections::BTreeMap;

use super::endings::is_of_agent;
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
    /// Its directory, which tells cases of one name apart.
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
    let mut named: BTreeMap<&str, usize> = BTreeMap::new();
    suite.cases.iter().for_each(|case| *named.entry(&case.name).or_default() += 1);
    let name = |case: &'_ Case| match &case.dir {
        Some(dir) if named[&*case.name] > 1 => dir.clone(),
        _ => case.name.clone(),
    };
    let arm = |side: &'static str, of: fn(&Arms) -> &Vec<Run>| {
        let rows = move |case: &Case| of(&case.arms).iter().map(|run| row(name(case), side, run)).collect::<Vec<_>>();
        suite.cases.iter().flat_map(rows)
    };
    Ok(arm("without", |arms| &arms.without).chain(arm("with", |arms| &arms.with)).collect())
}

fn row(case: String, side: &str, run: &Run) -> ResultRow {
    let is_lost = |error: &String| !is_of_agent(error);
    let is_error = run.error.as_ref().is_some_and(is_lost)
        || run.aborted.as_ref().is_some_and(|aborted| aborted.reason.starts_with(RESPONDER_FAILED))
        || run.skipped_paid_graders;
    let result = if is_error { TrialResult::Error } else { TrialResult::of(run.passed) };
    ResultRow::trial(case, side, result, run.score)
}
