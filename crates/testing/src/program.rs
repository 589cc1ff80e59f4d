//! The program over a fixture.

use std::fmt::{self, Display};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};

use crate::fixture::Fixture;

/// How a run of the program ended.
#[derive(Debug)]
pub struct Ran {
    /// What was started.
    pub line: String,
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "$ {}\n{}{}[exit {}]", self.line, self.stdout, self.stderr, self.code)
    }
}

/// Runs a command to its end.
pub fn ran(command: &mut Command) -> Ran {
    let output = command.output().expect("the program starts");
    Ran::of(command, &output)
}

impl Ran {
    /// How a command ended.
    pub fn of(command: &Command, output: &Output) -> Self {
        let words = command.get_args().map(|word| word.to_string_lossy());
        Self {
            line: words.collect::<Vec<_>>().join(" "),
            code: output.status.code().unwrap_or_else(|| 128 + output.status.signal().unwrap_or(0)),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Holds the exit code.
    #[track_caller]
    pub fn exits(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "{self}");
        self
    }

    /// Holds that it printed this.
    #[track_caller]
    pub fn prints(&self, words: impl AsRef<str>) -> &Self {
        assert!(self.stdout.contains(words.as_ref()), "{:?} is not in the output of {self}", words.as_ref());
        self
    }

    /// Holds that it said this on standard error.
    #[track_caller]
    pub fn warns(&self, words: impl AsRef<str>) -> &Self {
        assert!(self.stderr.contains(words.as_ref()), "{:?} is not in the errors of {self}", words.as_ref());
        self
    }

    /// The exit code, the output, and each line of standard error behind `!`, with `ROOT` for the path of the repository and without
    /// the modes in a list of all.
    pub fn told(&self, root: &Path) -> String {
        let errors = self.stderr.lines().map(|line| format!("! {line}").trim_end().to_owned());
        let lines = self.stdout.lines().map(str::to_owned).chain(errors);
        let told = std::iter::once(format!("exit {}", self.code)).chain(lines).collect::<Vec<_>>().join("\n");
        let told = told.replace(&root.display().to_string(), "ROOT");
        told.split_once("! modes:\n").map_or(told.clone(), |(before, _)| format!("{before}! modes: …"))
    }
}

/// The words of a command line: a list, or a line in which spaces are between them.
pub trait Args<'a> {
    fn words(self) -> Vec<&'a str>;
}

impl<'a> Args<'a> for &'a str {
    fn words(self) -> Vec<&'a str> {
        self.split_whitespace().collect()
    }
}

impl<'a> Args<'a> for &[&'a str] {
    fn words(self) -> Vec<&'a str> {
        self.to_vec()
    }
}

impl<'a, const N: usize> Args<'a> for &[&'a str; N] {
    fn words(self) -> Vec<&'a str> {
        self.to_vec()
    }
}

impl<'a> Args<'a> for &Vec<&'a str> {
    fn words(self) -> Vec<&'a str> {
        self.clone()
    }
}

impl Fixture {
    /// Runs the program in this repository.
    pub fn run<'a>(&self, args: impl Args<'a>) -> Ran {
        run_in(self.root(), &args.words())
    }
}

/// Runs the program in a directory.
pub fn run_in(folder: &Path, args: &[&str]) -> Ran {
    // Cargo builds it with the tests of its package, and puts it above the directory of their programs.
    let tests = std::env::current_exe().expect("this program");
    let program = tests.ancestors().nth(2).expect("a directory above").join("skill-evals");
    ran(Command::new(program).args(args).current_dir(folder).env_remove("CI"))
}
