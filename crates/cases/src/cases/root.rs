//! Finds the root of the repository around a directory.

use std::path::Path;

use crate::cases::repository::Repository;
use crate::cases::skills::default_skill_roots;
use crate::skill::SKILL_FILE;

impl Repository {
    /// The repository that holds `start`: the nearest directory that has `evals` or a default skill root, `start` included;
    /// else the git work tree, if it has skills anywhere.
    ///
    /// Directories above the work tree count only if nothing in it does: `~/skills` and `~/.claude/skills` do not belong to
    /// a clone in `~`.
    pub fn around(start: &Path) -> Option<Self> {
        let work_tree = start.ancestors().find(|folder| is_git(&folder.join(".git")));
        let top = work_tree.unwrap_or(start);
        let mut within = start.ancestors().take_while(|folder| folder.starts_with(top)).map(Self::of);
        let mut above = top.ancestors().skip(1).map(Self::of);
        within
            .find(|repository| repository.is_marked() && !repository.is_agent_folder())
            .or_else(|| work_tree.map(Self::of).filter(Self::holds_skills))
            .or_else(|| above.find(|repository| repository.has_folder("evals") || repository.has_folder("skills")))
    }

    /// The repository with this root, if it has cases or skills.
    pub fn at(root: &Path) -> Option<Self> {
        let repository = Self::of(root);
        (repository.is_marked() || repository.holds_skills()).then_some(repository)
    }

    fn of(root: &Path) -> Self {
        Self { root: root.to_path_buf() }
    }

    fn has_folder(&self, name: &str) -> bool {
        self.root.join(name).is_dir()
    }

    /// Whether it has a directory that marks the root of a repository.
    fn is_marked(&self) -> bool {
        self.has_folder("evals") || default_skill_roots().any(|name| self.has_folder(name))
    }

    /// Whether it is an agent's directory like `.claude`, which belongs to the repository around it.
    fn is_agent_folder(&self) -> bool {
        let mut parents = default_skill_roots().filter_map(|root| Path::new(root).parent());
        parents.any(|parent| !parent.as_os_str().is_empty() && self.root.ends_with(parent))
    }

    fn holds_skills(&self) -> bool {
        !self.skill_folders(Path::new(""), &[SKILL_FILE], &mut Vec::new()).is_empty()
    }
}

/// Whether a path `.git` belongs to a work tree. Agents leave empty directories of this name; git may write a file.
fn is_git(path: &Path) -> bool {
    path.is_file() || path.join("HEAD").is_file()
}
