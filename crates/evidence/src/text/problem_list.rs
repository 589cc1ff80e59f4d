//! Problems as they are found. A file can have a million: no reader keeps or prints them all.

use std::collections::HashMap;

use crate::text::diagnostic::{Code, Diagnostic};

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
