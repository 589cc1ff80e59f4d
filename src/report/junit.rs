//! A summary as JUnit XML, which CI servers show: a suite for each skill, a test for each of its cases in each mode. What
//! measured nothing is an `error`, never a `failure`; what was not run is `skipped`. A case with several trials is one test,
//! and says in properties how each kind of them ended.

use std::collections::BTreeMap;
use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};

use crate::report::table::why;
use crate::report::trial::scripted;
use crate::results::summary::{CaseCounts, CaseInMode, Summary};
use crate::trial::id::test_name;
use crate::trial::outcome::Verdict;

/// The summary as a document.
///
/// # Errors
/// When the text cannot be written as XML.
pub fn junit(summary: &Summary) -> Result<String, SerializeError> {
    let mut suites: BTreeMap<&String, TestSuite> = BTreeMap::new();
    for (key, counts) in &summary.cases {
        let suite = suites.entry(&key.skill).or_insert_with(|| TestSuite::new(key.skill.as_str()));
        suite.add_test_case(test_case(key, counts));
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
    report.to_string()
}

fn suite_time(summary: &Summary, suite: &TestSuite) -> u64 {
    summary.skills.get(suite.name.as_str()).map_or(0, |counts| counts.duration_ms)
}

fn test_case(key: &CaseInMode, row: &CaseCounts) -> TestCase {
    let why = why(row);
    let not = |kind: NonSuccessKind| {
        let mut status = TestCaseStatus::non_success(kind);
        status.set_message(why.as_str());
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
    let counts = &row.counts;
    let numbers = [
        ("passed", counts.passed),
        ("failed", counts.failed),
        ("errors", counts.errors),
        ("unscored", counts.unscored),
    ];
    if counts.ended() > 1 {
        case.add_property(Property::new("trials", counts.ended().to_string()));
        let seen = numbers.into_iter().filter(|(_, count)| *count > 0);
        case.add_properties(seen.map(|(name, count)| Property::new(name, count.to_string())));
    }
    case
}
