//! Why something cannot be done.
//!
//! A parser of a value says what is wrong with it as a text, and its caller adds the place. Every other error is a [`Problem`], or of
//! a type of its own that becomes one. What a trial shows is no error: why it was not measured is a `Trouble`, and why a check has
//! no answer is an `Unknown`.

use std::error::Error;
use std::fmt;
use std::io;

use super::diagnostic::Diagnostic;
use crate::files::at::PathError;
use crate::files::material::MaterialProblem;

/// Why something cannot be done. It is drawn where it is printed, and nowhere before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// What is wrong in files, each at its place.
    Files(Vec<Diagnostic>),
    /// A sentence, with what to do.
    Said(String),
    /// A sentence, and what is wrong in files that may be why.
    SaidOf(String, Vec<Diagnostic>),
}

impl Problem {
    /// The sentence; empty if there is none.
    pub fn said(&self) -> &str {
        match self {
            Self::Files(_) => "",
            Self::Said(why) | Self::SaidOf(why, _) => why,
        }
    }

    /// What is wrong in files.
    pub fn files(&self) -> &[Diagnostic] {
        match self {
            Self::Said(_) => &[],
            Self::Files(problems) | Self::SaidOf(_, problems) => problems,
        }
    }

    /// The same, with what it is about before it: a path, or what was tried. What is wrong in files stays at its places.
    #[must_use]
    pub fn about(self, what: impl fmt::Display) -> Self {
        match self {
            Self::Said(why) => Self::Said(format!("{what}: {why}")),
            Self::SaidOf(why, problems) => Self::SaidOf(format!("{what}: {why}"), problems),
            Self::Files(mut problems) => {
                for problem in &mut problems {
                    problem.message = format!("{what}: {}", problem.message);
                }
                Self::Files(problems)
            }
        }
    }
}

/// Says what an error is about.
pub trait About<T> {
    /// The result, its error with what it is about before it.
    fn about(self, what: impl fmt::Display) -> Result<T, Problem>;
}

impl<T, E: Into<Problem>> About<T> for Result<T, E> {
    fn about(self, what: impl fmt::Display) -> Result<T, Problem> {
        self.map_err(|error| error.into().about(what))
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let said = Some(self.said().to_owned()).filter(|said| !said.is_empty());
        let lines: Vec<String> = said.into_iter().chain(self.files().iter().map(ToString::to_string)).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl Error for Problem {}

impl From<String> for Problem {
    fn from(why: String) -> Self {
        Self::Said(why)
    }
}

impl From<&str> for Problem {
    fn from(why: &str) -> Self {
        Self::Said(why.to_owned())
    }
}

impl From<Vec<Diagnostic>> for Problem {
    fn from(problems: Vec<Diagnostic>) -> Self {
        Self::Files(problems)
    }
}

impl From<Diagnostic> for Problem {
    fn from(problem: Diagnostic) -> Self {
        Self::Files(vec![problem])
    }
}

impl From<io::Error> for Problem {
    fn from(error: io::Error) -> Self {
        Self::Said(error.to_string())
    }
}

impl From<serde_json::Error> for Problem {
    fn from(error: serde_json::Error) -> Self {
        Self::Said(error.to_string())
    }
}

impl From<PathError> for Problem {
    fn from(error: PathError) -> Self {
        Self::Said(error.to_string())
    }
}

impl From<MaterialProblem> for Problem {
    fn from(error: MaterialProblem) -> Self {
        Self::Said(error.to_string())
    }
}

/// Of what is kept for all who ask.
impl From<&Problem> for Problem {
    fn from(problem: &Problem) -> Self {
        problem.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::diagnostic::{Code, SourceLocation};

    #[test]
    fn what_an_error_is_about_comes_first_and_what_is_wrong_in_a_file_stays_at_its_place() {
        let said: Result<(), Problem> = Err("no such file").about("a.csv");
        assert_eq!(said, Err("a.csv: no such file".into()));
        let wrong =
            Diagnostic::new(Code::BadRegex, SourceLocation::file("evals/evals.toml"), "an open group".to_owned());
        let Problem::Files(problems) = Problem::from(wrong.clone()).about("the skills of main") else {
            panic!("it has no place")
        };
        let message = "the skills of main: an open group".to_owned();
        assert_eq!(problems, [Diagnostic { message, ..wrong }]);
    }
}
