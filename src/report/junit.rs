//! A summary as JUnit XML, which CI servers show: a suite for each skill, a test for each of its cases in each mode. What
//! measured nothing is an `error`, never a `failure`; what was not run is `skipped`. A case with several trials is one test;
//! a property says how they ended. Jenkins' schema (junit-10.xsd of its xUnit plugin) takes it.

use std::collections::BTreeMap;
use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use crate::report::export::{Export, ExportTarget};
use crate::report::paint::Paint;
use crate::report::table::{self, why};
use crate::report::trial::scripted;
use crate::results::summary::{CaseCounts, Summary};
use crate::text::safe;
use crate::trial::id::CaseInMode;
use crate::trial::id::test_name;
use crate::trial::outcome::Verdict;

/// `--junit FILE`.
pub static EXPORT: Export = Export {
    name: "junit",
    about: "Write the results as JUnit XML to this file",
    target: ExportTarget::File,
    render: |results| junit(results.summary).map_err(|error| error.to_string()),
};

/// The summary as a document.
///
/// # Errors
/// When the text cannot be written as XML.
pub fn junit(summary: &Summary) -> Result<String, SerializeError> {
    let mut suites: BTreeMap<&String, TestSuite> = BTreeMap::new();
    for (key, counts) in &summary.cases {
        let suite = suites.entry(&key.skill).or_insert_with(|| TestSuite::new(key.skill.as_str()));
        suite.add_test_case(test_case(key, counts, &summary.runs));
        suite.add_properties(repeats(key, counts));
    }
    let mut report = Report::new(format!("skill-evals {}", summary.runs.join(", ")).trim_end());
    for mut suite in suites.into_values() {
        let took: u64 = suite_time(summary, &suite);
        suite.set_time(Duration::from_millis(took));
        for by in &summary.scripted {
            suite.add_property(Property::new("scripted", scripted(by)));
        }
        report.add_test_suite(suite);
    }
    report.set_time(Duration::from_millis(summary.total.duration_ms));
    // Jenkins' schema has this attribute at suites only.
    let text = report.to_string()?;
    Ok(text.replacen(&format!(" skipped=\"{}\"", report.skipped), "", 1))
}

/// What GitLab and Jenkins show of a test that did not pass: why, and the command that shows the trial.
fn description(key: &CaseInMode, why: &str, runs: &[String]) -> String {
    let place = match runs {
        [] => "--recording".to_owned(),
        [run] => format!("--run {run}"),
        _ => return why.to_owned(),
    };
    let trial = safe::word(&format!("{}/{}/{}", key.skill, key.case, key.mode));
    format!("{why}\nskill-evals show {trial} {place}")
}

fn suite_time(summary: &Summary, suite: &TestSuite) -> u64 {
    summary.skills.get(suite.name.as_str()).map_or(0, |counts| counts.duration_ms)
}

/// How the trials of a case ended, where it has several: a property of the suite, since Jenkins' schema knows none of tests.
fn repeats(key: &CaseInMode, row: &CaseCounts) -> Option<Property> {
    let name = format!("repeats of {}", test_name(&key.skill, &key.case, &key.mode));
    (row.counts.ended() > 1).then(|| Property::new(name, table::endings(&row.counts, Paint::Plain)))
}

fn test_case(key: &CaseInMode, row: &CaseCounts, runs: &[String]) -> TestCase {
    let why = why(row);
    let not = |kind: NonSuccessKind| {
        let mut status = TestCaseStatus::non_success(kind);
        status.set_message(why.as_str());
        status.set_description(description(key, &why, runs));
        status
    };
    let status = match row.verdict() {
        Some(Verdict::Pass) => TestCaseStatus::success(),
        Some(Verdict::Fail) => not(NonSuccessKind::Failure),
        Some(Verdict::Error | Verdict::Unscored) => not(NonSuccessKind::Error),
        None => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(why.as_str());
            status
        }
    };
    let mut case = TestCase::new(test_name(&key.skill, &key.case, &key.mode), status);
    case.set_classname(key.skill.as_str()).set_time(Duration::from_millis(row.counts.duration_ms));
    case
}
