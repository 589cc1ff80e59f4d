//! What lint says of a fixture, and repositories in which it finds one problem.

use skill_evals_agents::agent::LISTINGS;
use skill_evals_cases::lint;
use skill_evals_evidence::text::diagnostic::{Diagnostic, Severity};
use skill_evals_report::diagnostics;
use skill_evals_report::paint::Paint;

use crate::fixture::Fixture;

impl Fixture {
    /// All problems of skills and cases.
    pub fn problems(&self) -> Vec<Diagnostic> {
        let options = lint::LintOptions { no_cases: Some(Severity::Warning), listings: &LISTINGS, partial: false };
        lint::all(&self.catalog(), &self.repository(), options)
    }

    /// All problems as `path:line:column: [code] message`, one a line.
    pub fn lines(&self) -> String {
        self.problems().iter().flat_map(|problem| [problem.to_string(), "\n".to_owned()]).collect()
    }

    /// All problems as a terminal shows them, without color.
    pub fn drawn(&self) -> String {
        diagnostics::render(&self.problems(), Paint::Plain)
    }
}

pub const HEADER: &str = "id,should_trigger,prompt";

/// A prompts.csv with one good positive and one good negative around `row`.
pub fn sheet(columns: &str, row: &str) -> String {
    format!("{HEADER}{columns}\nfirst,true,Do it\n{row}\nlast,false,Do something else\n")
}

pub fn with_row(columns: &str, row: &str) -> Fixture {
    Fixture::new().skill("tidy").prompts("tidy", sheet(columns, row))
}

pub fn with_skill(front_matter: &str) -> Fixture {
    Fixture::new().skill_text("tidy", format!("---\n{front_matter}\n---\n\nDo it.\n")).task("one", TASK)
}

pub const TASK: &str = r#"{ "prompt": "Do it", "evalConfig": { "expectedSkillName": "tidy" } }"#;

/// One problem, in one line that starts so; every case but `broken` can run.
#[track_caller]
pub fn assert_only(fixture: &Fixture, line: &str, broken: &[&str]) {
    let lines = fixture.lines();
    assert_eq!(lines.lines().count(), 1, "one problem expected:\n{lines}");
    assert!(lines.starts_with(line), "expected a line that starts with\n{line}\nfound\n{lines}");
    assert_eq!(fixture.broken_cases(), broken);
    assert!(!fixture.good_cases().is_empty(), "the other cases are still there");
}
