//! Skills as they are to be later: ready beside a room's own, and put in their places while its agent is at work.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::skills::{Original, Version};
use super::{At, Room, WorkspaceError};
use crate::cases::case::{Change, ChangeKind};
use crate::files::material::Material;

impl Room {
    const CHANGES: &str = "changes";

    /// Where the skill of the change with this number waits.
    fn waiting(&self, number: usize) -> PathBuf {
        self.path().join(Self::CHANGES).join(number.to_string())
    }

    /// Gets the next change ready. `material` is the skill's folder as it is from then on, and `mode` gives a file's
    /// permissions, by whether it is executable.
    ///
    /// # Errors
    /// When it cannot be copied.
    pub(crate) fn get_ready(
        &mut self,
        change: &Change,
        material: Option<&Material>,
        mode: fn(bool) -> u32,
    ) -> Result<(), WorkspaceError> {
        let to = self.waiting(self.versions.len());
        let slug = PathBuf::from(&change.skill);
        let (mut folders, mut files) = (Vec::new(), Vec::new());
        fs::create_dir_all(to.parent().unwrap_or(&to)).at(&to)?;
        if let Some(material) = material {
            fs::create_dir(&to).at(&to)?;
            let failed = |problem| WorkspaceError::Skill { folder: to.clone(), problem };
            let copied = material.copy(&to, mode).map_err(failed)?;
            folders =
                std::iter::once(slug.clone()).chain(material.folders.iter().map(|path| slug.join(path))).collect();
            for (file, content) in material.files.iter().zip(copied.files) {
                let path = slug.join(&file.path);
                files.push(Original::at(&to.join(&file.path), path, content, mode(file.executable))?);
            }
        }
        self.versions.push(Version { kind: change.kind, skill: change.skill.clone(), folders, files });
        Ok(())
    }

    /// Makes the change with this number, from 0: by renaming folders, so that the agent finds the skill as it was or as it
    /// is to be and nothing in between.
    ///
    /// # Errors
    /// When the skill is not there, or there already, or cannot be moved; in words.
    pub fn make_change(&self, number: usize) -> Result<(), String> {
        let Some(version) = self.versions.get(number) else { return Err("it was not got ready".to_owned()) };
        let skill = self.skills().join(&version.skill);
        let is_there = fs::symlink_metadata(&skill).is_ok();
        match version.kind {
            ChangeKind::Add if is_there => return Err("the agent has such a skill already".to_owned()),
            ChangeKind::Edit | ChangeKind::Remove if !is_there => {
                return Err("the agent has no such skill".to_owned());
            }
            _ => {}
        }
        let moved = || -> io::Result<()> {
            if is_there {
                fs::rename(&skill, self.waiting(number).with_extension("before"))?;
            }
            if version.kind == ChangeKind::Remove { Ok(()) } else { fs::rename(self.waiting(number), &skill) }
        };
        moved().map_err(|error| error.to_string())
    }
}
