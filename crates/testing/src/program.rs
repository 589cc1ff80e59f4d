//! The program over a fixture.

use std::path::Path;
use std::process::Command;

use crate::fixture::Fixture;

/// How a run of the program ended.
#[derive(Debug)]
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Fixture {
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
