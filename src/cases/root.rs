//! Finds the root of the repository around a folder.

use std::path::Path;

use crate::cases::repository::Repository;
use crate::cases::skills::default_skill_roots;
use crate::skill::SKILL_FILE;

impl Repository {
    /// The repository that holds `start`: the nearest folder, itself included, with a folder `evals` or one in which skills are
    /// looked for first, else the work tree of git around it, where skills lie anywhere in that.
    ///
    /// What is above a work tree counts only where nothing in it does: `~/skills` and `~/.claude/skills` are not those of a
    /// clone in `~`.
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
                let of_agent = |parent: &Path| parent.iter().next().is_some() && repository.root.ends_with(parent);
                let mut parents = default_skill_roots().filter_map(|folder| Path::new(folder).parent());
                repository.is_marked() && !parents.any(of_agent)
            })
            .or_else(|| work_tree.map(Self::of).filter(Self::holds_skills))
            .or_else(|| above.find(|repository| ["evals", "skills"].iter().any(|name| repository.has_folder(name))))
    }

    /// The repository with this root, where there is something for it to be one: cases or skills.
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

    /// Whether it has a folder by which it is taken for a repository's root.
    fn is_marked(&self) -> bool {
        std::iter::once("evals").chain(default_skill_roots()).any(|name| self.has_folder(name))
    }

    /// Whether a skill lies anywhere in it.
    fn holds_skills(&self) -> bool {
        !self.skill_folders(Path::new(""), &[SKILL_FILE], &mut Vec::new()).is_empty()
    }
}
