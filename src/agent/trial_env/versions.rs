//! Skills as they are to be later: ready beside the room, where its agent has no business, and put in their places while it
//! is at work.
//!
//! Whatever the agent has made of the room's own folders by then, folders are moved between the two that were there before
//! it began, which are held open: no link leads anywhere else.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use nix::fcntl::{AtFlags, OFlag, open, renameat};
use nix::sys::stat::{Mode, fstatat};
use tempfile::TempDir;

use super::skills::{ChangedSkillVersion, OriginalFile};
use super::{At, TrialEnv, WorkspaceError};
use crate::files::material::Material;
use crate::trace::change::{ChangeKind, SkillChange};

/// The changes that are ready to be made.
#[derive(Debug)]
pub(super) struct PreparedChanges {
    /// Holds a folder for each change by its number, and for each skill that is gone by then.
    waiting: TempDir,
    /// The same, and the room's skills.
    folders: [OwnedFd; 2],
    pub(super) versions: Vec<ChangedSkillVersion>,
}

impl PreparedChanges {
    fn beside(room: &TrialEnv) -> Result<Self, WorkspaceError> {
        let scratch = room.path().parent().unwrap_or(room.path());
        let waiting = tempfile::Builder::new().prefix("waiting-").tempdir_in(scratch).at(scratch)?;
        let held = |folder: &Path| {
            let flags = OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
            open(folder, flags, Mode::empty()).map_err(std::io::Error::from).at(folder)
        };
        let folders = [held(waiting.path())?, held(&room.skills())?];
        Ok(Self { waiting, folders, versions: Vec::new() })
    }

    /// Makes the change with this number.
    fn make(&self, number: usize) -> Result<(), String> {
        let Some(ChangedSkillVersion { kind, skill, .. }) = self.versions.get(number) else {
            return Err("it was not got ready".to_owned());
        };
        let (skill, [waiting, skills]) = (Path::new(skill), &self.folders);
        let is_there = fstatat(skills, skill, AtFlags::AT_SYMLINK_NOFOLLOW).is_ok();
        match kind {
            ChangeKind::Add if is_there => return Err("the agent has such a skill already".to_owned()),
            ChangeKind::Edit | ChangeKind::Remove if !is_there => return Err("the agent has no such skill".to_owned()),
            _ => {}
        }
        let (later, before) = (PathBuf::from(number.to_string()), PathBuf::from(format!("{number}.before")));
        if is_there {
            renameat(skills, skill, waiting, &before).map_err(|error| error.to_string())?;
        }
        if *kind == ChangeKind::Remove {
            return Ok(());
        }
        renameat(waiting, &later, skills, skill).map_err(|error| {
            // What was not edited is as it was.
            let back = is_there.then(|| renameat(waiting, &before, skills, skill));
            match back {
                Some(Err(lost)) => format!("{error}; the skill is gone: {lost}"),
                _ => error.to_string(),
            }
        })
    }
}

impl TrialEnv {
    /// Gets the next change ready. `material` is the skill's folder as it is from then on, and `mode` gives a file's
    /// permissions, by whether it is executable. The room has its copy of the skills.
    ///
    /// # Errors
    /// When it cannot be copied.
    pub(crate) fn get_ready(
        &mut self,
        change: &SkillChange,
        material: Option<&Material>,
        mode: fn(bool) -> u32,
    ) -> Result<(), WorkspaceError> {
        let mut ready = self.ready.take().map_or_else(|| PreparedChanges::beside(self), Ok)?;
        let to = ready.waiting.path().join(ready.versions.len().to_string());
        let slug = PathBuf::from(&change.skill);
        let (mut folders, mut files) = (Vec::new(), Vec::new());
        if let Some(material) = material {
            std::fs::create_dir(&to).at(&to)?;
            let failed = |problem| WorkspaceError::Skill { folder: to.clone(), problem };
            let copied = material.copy(&to, mode).map_err(failed)?;
            folders =
                std::iter::once(slug.clone()).chain(material.folders.iter().map(|path| slug.join(path))).collect();
            for (file, content) in material.files.iter().zip(copied.files) {
                let path = slug.join(&file.path);
                files.push(OriginalFile::at(&to.join(&file.path), path, content, mode(file.executable))?);
            }
        }
        ready.versions.push(ChangedSkillVersion { kind: change.kind, skill: change.skill.clone(), folders, files });
        self.ready = Some(ready);
        Ok(())
    }

    /// Makes the change with this number, from 0: by renaming folders, so that the agent finds the skill as it was or as it
    /// is to be and nothing in between.
    ///
    /// # Errors
    /// When the skill is not there, or there already, or cannot be moved; in words.
    pub fn make_change(&self, number: usize) -> Result<(), String> {
        self.ready.as_ref().map_or_else(|| Err("it was not got ready".to_owned()), |ready| ready.make(number))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::agent::trial_env::{OriginalSkills, ScratchDir};
    use crate::text::diagnostic::SourceLocation;

    /// A room with the skill greeting, which is edited by the first change and removed by the second; the folder holds all.
    fn room(scratch: &Path) -> (ScratchDir, TrialEnv) {
        let given = scratch.join("given");
        for (folder, text) in [(given.join("greeting"), "Ahoy."), (scratch.join("later/greeting"), "Salute.")] {
            fs::create_dir_all(&folder).expect("a directory");
            fs::write(folder.join("SKILL.md"), text).expect("a file");
        }
        let file = (PathBuf::from("greeting/SKILL.md"), blake3::hash(b"Ahoy."), 0o444);
        let originals = OriginalSkills::new(given, vec![PathBuf::from("greeting")], vec![file]).expect("the skills");
        let scratch_of_run = ScratchDir::open(Some(&scratch.join("scratch"))).expect("a scratch directory");
        let mut room = scratch_of_run.room("codex").expect("a room");
        room.copy_skills(&Arc::new(originals)).expect("a copy");
        let material = Material::list(&scratch.join("later/greeting"));
        let origin = SourceLocation::file("evals/tasks/it.json");
        for (kind, material) in [(ChangeKind::Edit, Some(&material)), (ChangeKind::Remove, None)] {
            let skill = "greeting".to_owned();
            let change =
                SkillChange { after_turn: 1, kind, skill, folder: None, expect_seen: false, origin: origin.clone() };
            room.get_ready(&change, material, |_| 0o444).expect("it is ready");
        }
        (scratch_of_run, room)
    }

    #[test]
    fn a_change_is_made_in_the_folder_that_was_there_whatever_stands_in_its_place() {
        let folder = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let (_scratch, room) = room(folder.path());
        let (skills, moved, outside) = (room.skills(), room.path().join("moved"), folder.path().join("outside"));
        fs::create_dir_all(outside.join("greeting")).expect("a directory");
        fs::write(outside.join("greeting/mine"), "precious").expect("a file");
        fs::rename(&skills, &moved).expect("it is moved");
        std::os::unix::fs::symlink(&outside, &skills).expect("a link");
        assert_eq!(room.make_change(0), Ok(()));
        assert_eq!(fs::read_to_string(moved.join("greeting/SKILL.md")).expect("the skill"), "Salute.");
        assert_eq!(room.make_change(1), Ok(()));
        assert!(!moved.join("greeting").exists());
        assert_eq!(fs::read_to_string(outside.join("greeting/mine")).expect("it is there"), "precious");
        assert_eq!(fs::read_dir(&outside).expect("a directory").count(), 1);
    }

    #[test]
    fn a_skill_whose_edit_fails_is_as_it_was() {
        let folder = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let (_scratch, room) = room(folder.path());
        let waiting = room.ready.as_ref().expect("changes").waiting.path().join("0");
        fs::remove_dir_all(waiting).expect("it goes");
        assert!(room.make_change(0).is_err());
        assert_eq!(fs::read_to_string(room.skills().join("greeting/SKILL.md")).expect("the skill"), "Ahoy.");
        assert_eq!(room.make_change(2), Err("it was not got ready".to_owned()));
    }
}
