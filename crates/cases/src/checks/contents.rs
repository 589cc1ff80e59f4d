//! The contents of files that checks compare, behind a trait, so that grading needs no disk.

use std::path::Path;
use std::{fmt, io};

use crate::checks::pattern::SearchError;
use crate::text::problem::Problem;

/// Why something that a check needs is not known. The answer of such a check is unknown, and this is what it says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown(pub String);

impl fmt::Display for Unknown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<String> for Unknown {
    fn from(why: String) -> Self {
        Self(why)
    }
}

impl From<&str> for Unknown {
    fn from(why: &str) -> Self {
        Self(why.to_owned())
    }
}

impl From<io::Error> for Unknown {
    fn from(error: io::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<Problem> for Unknown {
    fn from(problem: Problem) -> Self {
        Self(problem.to_string())
    }
}

impl From<SearchError> for Unknown {
    fn from(error: SearchError) -> Self {
        Self(error.to_string())
    }
}

impl From<Unknown> for String {
    fn from(why: Unknown) -> Self {
        why.0
    }
}

/// Reads the files that checks compare.
pub trait Contents: fmt::Debug {
    /// The content of a file of the workspace at the end of the trial.
    fn of_workspace(&self, path: &Path) -> Result<Vec<u8>, Unknown>;

    /// The lines that the agent's program printed, as the trial stores them.
    fn of_output(&self) -> Result<Vec<u8>, Unknown> {
        Err("what the agent printed is not stored".into())
    }

    /// The content of a file of the repository.
    fn of_repository(&self, path: &Path) -> Result<Vec<u8>, Unknown>;
}

/// No contents: a trial whose files are not stored.
#[derive(Clone, Copy, Debug)]
pub struct NoContents;

impl Contents for NoContents {
    fn of_workspace(&self, _path: &Path) -> Result<Vec<u8>, Unknown> {
        Err("its content is not stored".into())
    }

    fn of_repository(&self, _path: &Path) -> Result<Vec<u8>, Unknown> {
        Err("the repository is not known".into())
    }
}
