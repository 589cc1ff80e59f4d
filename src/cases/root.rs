//! Finds the root of the repository around a folder.

use std::path::Path;

use crate::cases::repository::Repository;
use crate::cases::skill::SKILL_FILE;

/// A folder that holds one of these is taken for a repository's root.
const NAMES: [&str; 4] = ["evals", "skills", ".claude/skills", ".agents/skills"];

/// Folders of agents within a repository.
const VENDORS: [&str; 2] = [".claude", ".agents"];

impl Repository {
    /// The repository that holds `start`: the nearest folder, itself included, with a folder `evals` or one in which skills are
    /// looked for first, else the work tree of git around it, where skills lie anywhere in that.
    ///
    /// What is above a work tree counts only where nothing in it does: `~/skills` and `~/.claude/skills` are not those of a
    /// clone in `~`.
    #[must_use]
    pub fn around(start: &Path) -> Option<Self> {
        // Agents leave empty folders `.git` behind; in a work tree of several it is a file.
        let is_git = |git: &Path| git.is_file() || git.join("HEAD").is_file();
        let work_tree = start.ancestors().find(|folder| is_git(&folder.join(".git")));
        let top = work_tree.unwrap_or(start);
        let mut within = start.ancestors().take_while(|folder| folder.starts_with(top)).map(Self::of);
        let mut above = top.ancestors().skip(1).map(Self::of);
        within
            // `.claude/skills` is a folder of the repository around it.
            .find(|repository| {
                repository.has_folder(&NAMES) && !VENDORS.iter().any(|name| repository.root.ends_with(name))
            })
            .or_else(|| work_tree.map(Self::of).filter(Self::holds_skills))
            .or_else(|| above.find(|repository| repository.has_folder(&["evals", "skills"])))
    }

    /// The repository with this root, where there is something for it to be one: cases or skills.
    #[must_use]
    pub fn at(root: &Path) -> Option<Self> {
        let repository = Self::of(root);
        (repository.has_folder(&NAMES) || repository.holds_skills()).then_some(repository)
    }

    fn of(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    fn has_folder(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.root.join(name).is_dir())
    }

    /// Whether a skill lies anywhere in it.
    fn holds_skills(&self) -> bool {
        !self.skill_folders(Path::new(""), &[SKILL_FILE], &mut Vec::new()).is_empty()
    }
}
