//! Brings the skills to the agent.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::agent::room::{Room, Scratch, WorkspaceError, copy_tree};
use crate::cases::catalog::Catalog;
use crate::settings::mode::Mode;

/// The skills as they were when the run began: `<slug>/…`, outside the repository, so that no agent finds its way
/// from a skill to the grading files.
#[derive(Debug)]
pub struct Snapshot {
    folder: PathBuf,
}

impl Snapshot {
    /// Copies the skills of `catalog`, found below `root`, into the scratch folder.
    ///
    /// # Errors
    /// When a skill cannot be copied, for one because it holds a symbolic link.
    pub fn take(scratch: &Scratch, root: &Path, catalog: &Catalog) -> Result<Self, WorkspaceError> {
        let folder = scratch.path().join("skills");
        for found in &catalog.skills {
            let skill = found.skill();
            copy_tree(&root.join(&skill.folder), &folder.join(&skill.slug), &|_| true)?;
        }
        fs::create_dir_all(&folder).map_err(|source| WorkspaceError::Io { path: folder.clone(), source })?;
        Ok(Self { folder })
    }

    /// Keeps a copy at `folder`, unless one is there already.
    ///
    /// # Errors
    /// When it cannot be copied.
    pub fn keep(&self, folder: &Path) -> Result<(), WorkspaceError> {
        if folder.exists() {
            return Ok(());
        }
        // Beside it first: of several processes that share a run one keeps its copy, and none sees half of one.
        let io = |source| WorkspaceError::Io { path: folder.to_path_buf(), source };
        let parent = folder.parent().unwrap_or(Path::new("."));
        let beside = tempfile::Builder::new().prefix(".new-").tempdir_in(parent).map_err(io)?;
        let copy = beside.path().join("skills");
        copy_tree(&self.folder, &copy, &|_| true)?;
        match fs::rename(&copy, folder) {
            Err(_) if folder.exists() => Ok(()),
            result => result.map_err(io),
        }
    }

    /// The folder that holds a folder for each skill.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.folder
    }
}

/// Puts the skills where the mode's agent looks for them.
///
/// # Errors
/// When a folder or link cannot be made.
pub fn deliver(mode: &Mode, snapshot: &Snapshot, room: &Room) -> io::Result<()> {
    if !mode.delivery.native() {
        // By MCP the skills stay where they are, and the agent must not find them by itself.
        return Ok(());
    }
    for folder in crate::agent::of(mode.agent).skill_folders() {
        let link = room.workspace().join(folder);
        if let Some(parent) = link.parent() {
            fs::create_dir_all(parent)?;
        }
        room.link(&link, &snapshot.folder)?;
    }
    Ok(())
}
