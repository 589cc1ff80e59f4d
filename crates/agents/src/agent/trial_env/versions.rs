//! The skills as they will be after a change: prepared in the runner's directory, and put in place while the agent works.
//!
//! A change moves directories between two directories that were opened before the agent started. So no link that the agent
//! puts there leads anywhere else.

use super::skills::{ChangedSkillVersion, SkillContents};
use super::{At, TrialEnv, WorkspaceError};
use crate::files::material::Material;
use crate::files::rooted::RootedPath;
use crate::trace::change::{ChangeKind, SkillChange};

/// The error of a change that nobody prepared.
const NOT_PREPARED: &str = "it was not got ready";

/// The changes that are ready to be made.
#[derive(Debug)]
pub(super) struct PreparedChanges {
    /// Has a directory for each new version, by the change's number, and later for each old version.
    waiting: RootedPath,
    /// The trial environment's skills.
    skills: RootedPath,
    pub(super) versions: Vec<ChangedSkillVersion>,
}

impl PreparedChanges {
    fn new(trial_env: &TrialEnv) -> Result<Self, WorkspaceError> {
        let control = trial_env.control();
        let waiting = RootedPath::open(&control).at(&control)?.join("waiting");
        waiting.create_dir_all()?;
        let skills = trial_env.skills();
        let pinned = |path: &RootedPath| path.pinned().map_err(|error| path.error(error));
        Ok(Self { waiting: pinned(&waiting)?, skills: pinned(&skills)?, versions: Vec::new() })
    }

    fn make(&self, number: usize) -> Result<(), String> {
        let ChangedSkillVersion { kind, skill, .. } = self.versions.get(number).ok_or(NOT_PREPARED)?;
        let skill = self.skills.join(skill);
        let exists = skill.exists();
        match kind {
            ChangeKind::Add if exists => return Err("the agent has such a skill already".to_owned()),
            ChangeKind::Edit | ChangeKind::Remove if !exists => return Err("the agent has no such skill".to_owned()),
            _ => {}
        }
        let [new, old] = [number.to_string(), format!("{number}.before")].map(|name| self.waiting.join(name));
        if exists {
            skill.rename(&old).map_err(|error| error.to_string())?;
        }
        if *kind == ChangeKind::Remove {
            return Ok(());
        }
        new.rename(&skill).map_err(|error| {
            if exists && let Err(lost) = old.rename(&skill) {
                return format!("{error}; the skill is gone: {lost}");
            }
            error.to_string()
        })
    }
}

impl TrialEnv {
    /// Prepares the next change. `material` is the skill's new version. The trial environment has its copy of the skills.
    pub fn prepare_change(&mut self, change: &SkillChange, material: Option<&Material>) -> Result<(), WorkspaceError> {
        let mut changes = self.changes.take().map_or_else(|| PreparedChanges::new(self), Ok)?;
        let mut contents = SkillContents::default();
        if let Some(material) = material {
            let to = changes.waiting.join(changes.versions.len().to_string());
            to.create_dir_all()?;
            let copied = contents.copy_skill(&change.skill, material, &to);
            copied.map_err(|problem| WorkspaceError::Skill { directory: to.relative().to_path_buf(), problem })?;
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
    use std::path::Path;
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
        let place = RootedPath::open(&originals).expect("a directory").join("greeting");
        contents.copy_skill("greeting", &old, &place).expect("a copy");
        let originals = OriginalSkills::new(originals, contents).expect("the skills");
        let scratch = ScratchDir::open(Some(&parent.join("scratch")), None).expect("a scratch directory");
        let mut trial_env = scratch.trial_env().expect("a trial environment");
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
        let room = trial_env.directory.join("room");
        let (skills, moved) = (room.join("skills"), room.join("moved"));
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
        let waiting = trial_env.changes.as_ref().expect("changes").waiting.join("0");
        waiting.remove().expect("it is removed");
        assert!(trial_env.make_change(0).is_err());
        assert_eq!(trial_env.skills().join("greeting/SKILL.md").read(100).expect("the skill"), b"Ahoy.");
        assert_eq!(trial_env.make_change(2), Err(NOT_PREPARED.to_owned()));
    }
}
