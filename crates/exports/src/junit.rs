//! A summary as JUnit XML, which CI servers show: a suite for each skill, a test for each case in each mode. Trials that
//! could not be measured and cases with a mistake are an `error`, never a `failure`; a case that was not run is `skipped`. The XML
//! is valid for the schema junit-10.xsd of Jenkins' xUnit plugin.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, Report, TestCase, TestCaseStatus, TestSuite};

use crate::report::export::{Export, ExportKind};
use crate::report::paint::Paint;
use crate::report::table::{self, reason, why};
use crate::report::trial_text::{in_part, scripted};
use crate::results::summary::{CaseCounts, Summary};
use crate::text::escape;
use crate::text::problem::Problem;
use crate::trial::id::{CaseInMode, test_name};
use crate::trial::outcome::NotRun;
use crate::trial::outcome::Verdict;
use crate::trial::run_record::FailedCheck;

/// `--junit FILE`.
pub static EXPORT: Export = Export {
    name: "junit",
    about: "Write the results as JUnit XML to this file",
    kind: ExportKind::File(|results| junit(results.summary)),
};

pub fn junit(summary: &Summary) -> Result<String, Problem> {
    let mut suites: BTreeMap<&String, TestSuite> = BTreeMap::new();
    for (key, counts) in &summary.cases {
        let suite = suites.entry(&key.skill).or_insert_with(|| TestSuite::new(key.skill.as_str()));
        suite.add_test_case(test_case(key, counts, &summary.runs));
        // Jenkins' schema has properties of suites only, not of tests.
        let name = |what: &str| format!("{what} of {}", test_name(&key.skill, &key.case, &key.mode));
        if counts.counts.ended() > 1 {
            suite.add_property(Property::new(name("repeats"), table::endings(&counts.counts, Paint::Plain)));
        }
        if !counts.tags.is_empty() {
            suite.add_property(Property::new(name("tags"), counts.tags.join(", ")));
        }
    }
    let mut report = Report::new(format!("skill-evals {}", summary.runs.join(", ")).trim_end());
    for mut suite in suites.into_values() {
        let duration_ms = summary.skills.get(suite.name.as_str()).map_or(0, |counts| counts.duration_ms);
        suite.set_time(Duration::from_millis(duration_ms));
        for by in &summary.scripted {
            suite.add_property(Property::new("scripted", scripted(by)));
        }
        if let Some(note) = in_part(summary.partial) {
            suite.add_property(Property::new("partial", note));
        }
        report.add_test_suite(suite);
    }
    report.set_time(Duration::from_millis(summary.total.duration_ms));
    // Jenkins' schema has this attribute of suites only.
    let text = report.to_string().map_err(|error| error.to_string())?;
    let text = text.replacen(&format!(" skipped=\"{}\"", report.skipped), "", 1);
    // The writer takes out the other characters that XML does not allow.
    Ok(text.replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}"))
}

/// What GitLab and Jenkins show of a test that did not pass: each failed check with what it expected and found, and the
/// command that shows the trial.
fn description(key: &CaseInMode, row: &CaseCounts, runs: &[String]) -> String {
    let mut text = why(row);
    for FailedCheck { check, expected, found, .. } in &row.findings {
        let _ = write!(
            text,
            "\n{}\n  expected {}\n  found    {}",
            escape::line(check),
            escape::line(expected),
            escape::line(found)
        );
    }
    let source = match runs {
        [] => "--recording".to_owned(),
        [run] => format!("--run {run}"),
        _ => return text,
    };
    let trial = escape::word(&format!("{}/{}/{}", key.skill, key.case, key.mode));
    let _ = write!(text, "\nskill-evals show {trial} {source}");
    text
}

fn test_case(key: &CaseInMode, row: &CaseCounts, runs: &[String]) -> TestCase {
    let mut status = match row.verdict() {
        Some(Verdict::Pass) => TestCaseStatus::success(),
        Some(Verdict::Fail) => TestCaseStatus::non_success(NonSuccessKind::Failure),
        Some(Verdict::Error | Verdict::Unscored) => TestCaseStatus::non_success(NonSuccessKind::Error),
        None if row.not_run.contains_key(&NotRun::BadCase) => TestCaseStatus::non_success(NonSuccessKind::Error),
        None => TestCaseStatus::skipped(),
    };
    if row.verdict() != Some(Verdict::Pass) {
        status.set_message(reason(row));
    }
    // What fails nothing is no failure for a server that counts them.
    if let Some(until) = row.excused() {
        status = TestCaseStatus::skipped();
        status.set_message(format!("in quarantine {}: {}", escape::line(until), reason(row)));
    }
    if matches!(status, TestCaseStatus::NonSuccess { .. }) {
        status.set_description(description(key, row, runs));
    }
    let mut case = TestCase::new(test_name(&key.skill, &key.case, &key.mode), status);
    case.set_classname(key.skill.as_str()).set_time(Duration::from_millis(row.counts.duration_ms));
    case
}
