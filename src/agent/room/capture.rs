//! What an agent left in its workspace.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use walkdir::WalkDir;

use super::{At, Room, WorkspaceError};
use crate::files::bounded;
use crate::files::stamp::Stamp;
use crate::trial::evidence::{MAX_FILES, WorkspaceFile};

/// Most bytes of one workspace file that are kept.
const MAX_KEPT_FILE: u64 = 1 << 20;

/// Most bytes of a workspace that are kept.
const MAX_KEPT: u64 = 32 << 20;

impl Room {
    /// Lists the workspace's files, and keeps those that the agent made or changed below `keep_in`, each passed
    /// through `mask`. Symbolic links are neither followed nor kept. The flag says whether some files are not listed.
    ///
    /// # Errors
    /// When a file cannot be read or kept.
    pub fn capture(
        &self,
        keep_in: &Path,
        mask: &dyn Fn(&[u8]) -> Vec<u8>,
    ) -> Result<(Vec<WorkspaceFile>, bool), WorkspaceError> {
        let workspace = self.workspace();
        let mut files = Vec::new();
        let mut left = MAX_KEPT;
        let walk = WalkDir::new(&workspace).sort_by_file_name().into_iter();
        // Delivered skills are links; version control is bulk.
        let walk = walk.filter_entry(|entry| entry.file_name() != OsStr::new(".git"));
        for entry in walk {
            // What the agent made unreadable, or removes this moment, is not there.
            let Ok(entry) = entry else { continue };
            if !entry.file_type().is_file() {
                continue;
            }
            if files.len() == MAX_FILES {
                return Ok((files, true));
            }
            let path = entry.path().strip_prefix(&workspace).unwrap_or(entry.path()).to_path_buf();
            let Ok(metadata) = entry.metadata() else { continue };
            let size = metadata.len();
            let changed = self.fixture.get(&path).is_none_or(|(stamp, content)| {
                // A file that was written again as it was is no change.
                *stamp != Stamp::of(&metadata) && !bounded::digest(entry.path()).is_ok_and(|now| now == *content)
            });
            let wanted = changed && size <= MAX_KEPT_FILE.min(left);
            let content = if wanted { bounded::read_at_most(entry.path(), MAX_KEPT_FILE).ok() } else { None };
            if let Some(content) = content {
                let to = keep_in.join(&path);
                if let Some(parent) = to.parent() {
                    fs::create_dir_all(parent).at(parent)?;
                }
                fs::write(&to, mask(&content)).at(&to)?;
                left -= size;
            }
            files.push(WorkspaceFile { path, size, changed });
        }
        Ok((files, false))
    }
}
