//! The program over a fixture, and what its lint says.

use std::path::Path;
use std::process::Command;

use skill_evals_agents::agent::LISTINGS;
use skill_evals_cases::lint;
use skill_evals_evidence::text::diagnostic::{Diagnostic, Severity};
use skill_evals_report::diagnostics;
use skill_evals_report::paint::Paint;

use crate::fixture::Fixture;

/// How a run of the program ended.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

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

    /// Runs the program in this repository.
    pub fn run(&self, args: &[&str]) -> Ran {
        run_in(self.root(), args)
    }
}

/// Runs the program in a directory.
pub fn run_in(folder: &Path, args: &[&str]) -> Ran {
    // Cargo builds it with the tests of its package, and puts it above the directory of their programs.
    let tests = std::env::current_exe().expect("this program");
    let program = tests.ancestors().nth(2).expect("a directory above").join("skill-evals");
    let output =
        Command::new(program).args(args).current_dir(folder).env_remove("CI").output().expect("the program starts");
    Ran {
        code: output.status.code().expect("the program was not killed"),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}
