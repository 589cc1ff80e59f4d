//! A trial in words: what a failing test prints.

use std::fmt::Write;
use std::path::Path;

use crate::diagnostic::Place;
use crate::outcome::{Goal, Grade, Status, Verdict};
use crate::plan::TrialId;

/// A graded trial, for the reader of a failing test: which checks did not pass, on what evidence, and where to look.
#[must_use]
pub fn graded(id: &TrialId, grade: &Grade, origin: &Place, folder: &Path, scripted: Option<&str>) -> String {
    let mut text = format!("{id}: {}", grade.verdict);
    if grade.verdict == Verdict::Error {
        text.push_str(" (nothing was measured)");
    }
    text.push('\n');
    if let Some(trouble) = &grade.trouble {
        line(&mut text, "why", &trouble.to_string());
    }
    for check in grade.not_passed() {
        let mark = if check.status == Status::Unknown { "unknown" } else { "failed" };
        line(&mut text, mark, &format!("{} ({})", check.id, goal(check.goal)));
        line(&mut text, "  expected", &check.expected);
        line(&mut text, "  found", &check.evidence);
    }
    let passed: Vec<&str> =
        grade.checks.iter().filter(|check| check.status == Status::Pass).map(|check| check.id.as_str()).collect();
    if !passed.is_empty() {
        line(&mut text, "passed", &passed.join(", "));
    }
    line(&mut text, "case", &origin.to_string());
    line(&mut text, "look into", &folder.display().to_string());
    if let Some(by) = scripted {
        line(&mut text, "note", &format!("the answers were scripted ({by}); they say nothing about a model"));
    }
    text
}

fn line(text: &mut String, label: &str, value: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "  {label:<12}{value}");
}

/// A goal as a reader sees it.
#[must_use]
pub fn goal(goal: Goal) -> &'static str {
    match goal {
        Goal::Outcome => "outcome",
        Goal::Process => "process",
        Goal::Style => "style",
        Goal::Efficiency => "efficiency",
    }
}

/// A recording that no longer speaks for its case.
#[must_use]
pub fn stale(id: &TrialId, changed: &[String], folder: &Path) -> String {
    format!(
        "{id}: the recording is stale\n  \
         changed     {}\n  \
         recording   {}\n  \
         what to do  run it live and record it again:\n              \
         SKILL_EVALS_LIVE=1 SKILL_EVALS_RUN_ID=new cargo test --test skill_evals {}\n              \
         skill-evals record new\n",
        changed.join(", "),
        folder.display(),
        id.test_name(),
    )
}
