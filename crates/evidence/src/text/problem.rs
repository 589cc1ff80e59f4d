//! Why something cannot be done.

use std::error::Error;
use std::fmt;
use std::io;

use super::diagnostic::Diagnostic;
use crate::files::at::PathError;

/// Why something cannot be done. It is drawn where it is printed, and nowhere before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// What is wrong in files, each at its place.
    Files(Vec<Diagnostic>),
    /// A sentence, with what to do.
    Said(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Files(problems) => {
                let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
                f.write_str(&lines.join("\n"))
            }
            Self::Said(why) => f.write_str(why),
        }
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

impl From<PathError> for Problem {
    fn from(error: PathError) -> Self {
        Self::Said(error.to_string())
    }
}
