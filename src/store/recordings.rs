//! Which cases have recordings: looked up skill by skill, so that cases without any cost nothing.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use super::{RECORDINGS, sub_folders};

/// The recordings of a repository.
#[derive(Debug)]
pub struct Recordings {
    folder: PathBuf,
    cases: HashMap<String, HashSet<String>>,
}

impl Recordings {
    /// Those of the repository at `root`.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { folder: root.join(RECORDINGS), cases: HashMap::new() }
    }

    /// The names of the modes in which a case is recorded, sorted.
    pub fn modes(&mut self, skill: &str, case: &str) -> Vec<String> {
        if !self.cases.contains_key(skill) {
            let cases = sub_folders(&self.folder.join(skill)).into_iter().collect();
            self.cases.insert(skill.to_owned(), cases);
        }
        if self.cases.get(skill).is_some_and(|cases| cases.contains(case)) {
            sub_folders(&self.folder.join(skill).join(case))
        } else {
            Vec::new()
        }
    }
}
