//! The skills as they will be after a change: prepared next to the trial environment, where its agent cannot see them, and put
//! in place while it works.
//!
//! A change moves directories between two directories that were opened before the agent started. So no link that the agent
//! puts there leads anywhere else.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use nix::fcntl::{AtFlags, OFlag, open, renameat};
use nix::sys::stat::{Mode, fstatat};
use tempfile::TempDir;

use super::skills::{ChangedSkillVersion, SkillContents};
use super::{At, TrialEnv, WorkspaceError};
use crate::files::material::Material;
use crate::trace::change::{ChangeKind, SkillChange};

/// The error of a change that nobody prepared.
const NOT_PREPARED: &str = "it was not got ready";

/// The changes that are ready to be made.
#[derive(Debug)]
pub(super) struct PreparedChanges {
    /// Has a directory for each new version, by the change's number, and later for each old version.
    waiting: TempDir,
    /// `waiting` and the trial environment's skills.
    directories: [OwnedFd; 2],
    pub(super) versions: Vec<ChangedSkillVersion>,
}

impl PreparedChanges {
    fn new(trial_env: &TrialEnv) -> Result<Self, WorkspaceError> {
        let scratch = trial_env.path().parent().unwrap_or(trial_env.path());
        let waiting = tempfile::Builder::new().prefix("waiting-").tempdir_in(scratch).at(scratch)?;
        let directories = [open_directory(waiting.path())?, open_directory(&trial_env.skills())?];
        Ok(Self { waiting, directories, versions: Vec::new() })
    }

    fn make(&self, number: usize) -> Result<(), String> {
        let ChangedSkillVersion { kind, skill, .. } = self.versions.get(number).ok_or(NOT_PREPARED)?;
        let (skill, [waiting, skills]) = (Path::new(skill), &self.directories);
        let exists = fstatat(skills, skill, AtFlags::AT_SYMLINK_NOFOLLOW).is_ok();
        match kind {
            ChangeKind::Add if exists => return Err("the agent has such a skill already".to_owned()),
            ChangeKind::Edit | ChangeKind::Remove if !exists => return Err("the agent has no such skill".to_owned()),
            _ => {}
        }
        let (new, old) = (PathBuf::from(number.to_string()), PathBuf::from(format!("{number}.before")));
        if exists {
            renameat(skills, skill, waiting, &old).map_err(|error| error.to_string())?;
        }
        if *kind == ChangeKind::Remove {
            return Ok(());
        }
        renameat(waiting, &new, skills, skill).map_err(|error| {
            if exists && let Err(lost) = renameat(waiting, &old, skills, skill) {
                return format!("{error}; the skill is gone: {lost}");
            }
            error.to_string()
        })
    }
}

fn open_directory(path: &Path) -> Result<OwnedFd, WorkspaceError> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
    Ok(open(path, flags, Mode::empty()).map_err(std::io::Error::from).at(path)?)
}

impl TrialEnv {
    /// Prepares the next change. `material` is the skill's new version. The trial environment has its copy of the skills.
    pub(crate) fn prepare_change(
        &mut self,
        change: &SkillChange,
        material: Option<&Material>,
    ) -> Result<(), WorkspaceError> {
        let mut changes = self.changes.take().map_or_else(|| PreparedChanges::new(self), Ok)?;
        let mut contents = SkillContents::default();
        if let Some(material) = material {
            let to = changes.waiting.path().join(changes.versions.len().to_string());
            std::fs::create_dir(&to).at(&to)?;
            let copied = contents.copy_skill(&change.skill, material, &to);
            copied.map_err(|problem| WorkspaceError::Skill { directory: to, problem })?;
        }
        changes.versions.push(ChangedSkillVersion { kind: change.kind, skill: change.skill.clone(), contents });
        self.changes = Some(changes);
        Ok(())
    }

    /// Makes the change with this number, from 0. It renames directories, so the agent sees the old or the new version of the
    /// skill and nothing in between.
    pub fn make_change(&self, number: usize) -> Result<(), String> {
        self.changes.as_ref().ok_or(NOT_PREPARED)?.make(number)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::agent::trial_env::{OriginalSkills, ScratchDir};
    use crate::text::diagnostic::SourceLocation;

    /// A trial environment with the skill greeting; the first change edits the skill and the second removes it.
    fn trial_env(parent: &Path) -> (ScratchDir, TrialEnv) {
        let material = |name: &str, text: &str| {
            let directory = parent.join(name).join("greeting");
            fs::create_dir_all(&directory).expect("a directory");
            fs::write(directory.join("SKILL.md"), text).expect("a file");
            Material::list(&directory)
        };
        let (old, new) = (material("old", "Ahoy."), material("new", "Salute."));
        let originals = parent.join("originals");
        fs::create_dir_all(originals.join("greeting")).expect("a directory");
        let mut contents = SkillContents::default();
        contents.copy_skill("greeting", &old, &originals.join("greeting")).expect("a copy");
        let originals = OriginalSkills::new(originals, contents).expect("the skills");
        let scratch = ScratchDir::open(Some(&parent.join("scratch"))).expect("a scratch directory");
        let mut trial_env = scratch.trial_env("codex").expect("a trial environment");
        trial_env.copy_skills(&Arc::new(originals)).expect("a copy");
        let origin = SourceLocation::file("evals/tasks/it.json");
        for (kind, material) in [(ChangeKind::Edit, Some(&new)), (ChangeKind::Remove, None)] {
            let skill = "greeting".to_owned();
            let change =
                SkillChange { after_turn: 1, kind, skill, folder: None, expect_seen: false, origin: origin.clone() };
            trial_env.prepare_change(&change, material).expect("it is prepared");
        }
        (scratch, trial_env)
    }

    #[test]
    fn a_change_is_made_in_the_original_directory_even_if_the_agent_replaced_it_with_a_link() {
        let parent = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let (_scratch, trial_env) = trial_env(parent.path());
        let (skills, moved) = (trial_env.skills(), trial_env.path().join("moved"));
        let outside = parent.path().join("outside");
        fs::create_dir_all(outside.join("greeting")).expect("a directory");
        fs::write(outside.join("greeting/mine"), "precious").expect("a file");
        fs::rename(&skills, &moved).expect("it is moved");
        std::os::unix::fs::symlink(&outside, &skills).expect("a link");
        assert_eq!(trial_env.make_change(0), Ok(()));
        assert_eq!(fs::read_to_string(moved.join("greeting/SKILL.md")).expect("the skill"), "Salute.");
        assert_eq!(trial_env.make_change(1), Ok(()));
        assert!(!moved.join("greeting").exists());
        assert_eq!(fs::read_to_string(outside.join("greeting/mine")).expect("the file"), "precious");
        assert_eq!(fs::read_dir(&outside).expect("a directory").count(), 1);
    }

    #[test]
    fn a_skill_is_as_it_was_when_its_edit_fails() {
        let parent = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let (_scratch, trial_env) = trial_env(parent.path());
        let waiting = trial_env.changes.as_ref().expect("changes").waiting.path().join("0");
        fs::remove_dir_all(waiting).expect("it is removed");
        assert!(trial_env.make_change(0).is_err());
        assert_eq!(fs::read_to_string(trial_env.skills().join("greeting/SKILL.md")).expect("the skill"), "Ahoy.");
        assert_eq!(trial_env.make_change(2), Err(NOT_PREPARED.to_owned()));
    }
}
