//! Finds the root of the repository around a directory.

use std::path::Path;

use crate::cases::catalog::EVALS;
use crate::cases::repository::Repository;
use crate::cases::skills::default_skill_roots;
use crate::files::at::PathError;
use crate::files::look;
use crate::skill::SKILL_FILE;

impl Repository {
    /// The repository that holds `start`: the nearest directory that has `evals` or a default skill root, `start` included;
    /// else the git work tree, if it has skills anywhere.
    ///
    /// Directories above the work tree count only if nothing in it does: `~/skills` and `~/.claude/skills` do not belong to
    /// a clone in `~`.
    pub fn around(start: &Path) -> Result<Option<Self>, PathError> {
        let work_tree = start.ancestors().find(|folder| is_git(&folder.join(".git")));
        let top = work_tree.unwrap_or(start);
        // The evals of skills have a directory `skills`, too.
        let is_in_evals = |folder: &Path| {
            let mut below = folder.ancestors().take_while(|part| part.starts_with(top) && work_tree != Some(*part));
            below.any(|part| part.ends_with(EVALS))
        };
        for folder in start.ancestors().take_while(|folder| folder.starts_with(top)) {
            if is_marked(folder)? && !is_agent_folder(folder) && !is_in_evals(folder) {
                return Ok(Some(Self::new(folder)));
            }
        }
        if let Some(found) = work_tree.map(Self::new).filter(Self::holds_skills) {
            return Ok(Some(found));
        }
        // Of directories above, some may be closed to this user.
        let has = |folder: &&Path| {
            let is_marked = ["evals", "skills"].iter().any(|name| look::is_usable_directory(&folder.join(name)));
            is_marked && !is_evals_folder(folder).unwrap_or(false)
        };
        Ok(top.ancestors().skip(1).find(has).map(Self::new))
    }

    /// The repository with this root, if it has cases or skills.
    pub fn at(root: &Path) -> Result<Option<Self>, PathError> {
        let repository = Self::new(root);
        Ok((is_marked(root)? || repository.holds_skills()).then_some(repository))
    }

    fn holds_skills(&self) -> bool {
        !self.skill_folders(Path::new(""), &[SKILL_FILE], &mut Vec::new()).is_empty()
    }
}

/// Whether it has a directory that marks the root of a repository.
fn is_marked(root: &Path) -> Result<bool, PathError> {
    for name in std::iter::once("evals").chain(default_skill_roots()) {
        if look::is_directory(&root.join(name))? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether it is the directory `evals` of the repository around it: its `skills` are cases, without any SKILL.md.
fn is_evals_folder(folder: &Path) -> Result<bool, PathError> {
    if !folder.ends_with("evals") {
        return Ok(false);
    }
    let skills = folder.join("skills");
    let entries = if look::is_directory(&skills)? { look::entries(&skills)? } else { Vec::new() };
    Ok(!entries.iter().any(|entry| look::is_usable_file(&entry.path().join(SKILL_FILE))))
}

/// Whether it is an agent's directory like `.claude`, which belongs to the repository around it.
fn is_agent_folder(root: &Path) -> bool {
    let mut parents = default_skill_roots().filter_map(|root| Path::new(root).parent());
    parents.any(|parent| !parent.as_os_str().is_empty() && root.ends_with(parent))
}

/// Whether a path `.git` belongs to a work tree. Agents leave empty directories of this name; git may write a file.
fn is_git(path: &Path) -> bool {
    look::is_usable_file(path) || look::is_usable_file(&path.join("HEAD"))
}
