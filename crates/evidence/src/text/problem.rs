//! Why something cannot be done.
//!
//! A parser of a value says what is wrong with it as a text, and its caller adds the place. Every other error is a [`Problem`], or of
//! a type of its own that becomes one. What a trial shows is no error: why it was not measured is a `Trouble`, and why a check has
//! no answer is an `Unknown`.

use std::collections::HashMap;
use std::error::Error;
use std::{fmt, io};

use crate::files::at::PathError;
use crate::files::material::MaterialProblem;
use crate::text::diagnostic::{Code, Diagnostic};

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

// Problems as they are found. A file can have a million: no reader keeps or prints them all.

/// How many problems of a kind are kept of a file.
pub const MOST_OF_FILE: usize = 100;

/// How many problems of a kind are kept of all files together.
pub const MOST_OF_REPOSITORY: usize = 1000;

/// The problems of a file or of a repository. Of each kind it keeps the first, and the last of these says how many [more] there are.
///
/// [more]: Diagnostic::more
#[derive(Clone, Debug)]
pub struct ProblemList {
    kept: Vec<Diagnostic>,
    /// How many problems of a kind are kept, and the index of the last.
    kinds: HashMap<Code, (usize, usize)>,
    /// How many problems of a kind may be kept.
    most: usize,
    found: usize,
}

impl Default for ProblemList {
    fn default() -> Self {
        Self::of_file()
    }
}

impl ProblemList {
    pub fn of_file() -> Self {
        Self { kept: Vec::new(), kinds: HashMap::new(), most: MOST_OF_FILE, found: 0 }
    }

    pub fn of_repository() -> Self {
        Self { most: MOST_OF_REPOSITORY, ..Self::of_file() }
    }

    /// Adds a problem of this kind. It is only described if it is kept, for its place and its help take time.
    pub fn add(&mut self, code: Code, describe: impl FnOnce() -> Diagnostic) {
        self.found += 1;
        match self.last_of_full(code) {
            Some(last) => last.more += 1,
            None => self.keep(describe()),
        }
    }

    pub fn push(&mut self, problem: Diagnostic) {
        let found = 1 + problem.more;
        self.found += found;
        match self.last_of_full(problem.code) {
            Some(last) => last.more += found,
            None => self.keep(problem),
        }
    }

    /// How many problems were found.
    pub fn found(&self) -> usize {
        self.found
    }

    /// Whether one of those that are kept is an error.
    pub fn has_errors(&self) -> bool {
        self.kept.iter().any(Diagnostic::is_error)
    }

    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// The problems that are kept, in the order in which they were found.
    pub fn as_slice(&self) -> &[Diagnostic] {
        &self.kept
    }

    pub fn into_vec(self) -> Vec<Diagnostic> {
        self.kept
    }

    /// The problems found so far. The list is empty after that.
    pub fn take(&mut self) -> Vec<Diagnostic> {
        std::mem::replace(self, Self { most: self.most, ..Self::of_file() }).kept
    }

    /// The last problem of a kind of which no more are kept.
    fn last_of_full(&mut self, code: Code) -> Option<&mut Diagnostic> {
        let (kept, last) = self.kinds.get(&code)?;
        if *kept < self.most { None } else { self.kept.get_mut(*last) }
    }

    fn keep(&mut self, problem: Diagnostic) {
        let kind = self.kinds.entry(problem.code).or_default();
        *kind = (kind.0 + 1, self.kept.len());
        self.kept.push(problem);
    }
}

impl Extend<Diagnostic> for ProblemList {
    fn extend<T: IntoIterator<Item = Diagnostic>>(&mut self, problems: T) {
        problems.into_iter().for_each(|problem| self.push(problem));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::diagnostic::SourceLocation;

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
