//! What an agent left in its workspace.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

use super::{At, Room, WorkspaceError, masked};
use crate::files::below::{self, Entry, Walk};
use crate::files::bounded;
use crate::files::stamp::Stamp;
use crate::trial::evidence::{MAX_FILES, WorkspaceFile};

/// Most bytes of one workspace file that are kept.
const MAX_KEPT_FILE: u64 = 1 << 20;

/// Most bytes of a workspace that are kept.
const MAX_KEPT: u64 = 32 << 20;

/// Why a file's name keeps it from being kept.
const NOT_KEPT: [io::ErrorKind; 4] = [
    io::ErrorKind::InvalidFilename,
    io::ErrorKind::NotADirectory,
    io::ErrorKind::IsADirectory,
    io::ErrorKind::AlreadyExists,
];

/// What an agent left in its workspace.
#[derive(Debug, Default)]
pub struct Captured {
    /// The files, by path.
    pub files: Vec<WorkspaceFile>,
    /// Whether some are not among them.
    pub truncated: bool,
}

impl Room {
    /// Lists the workspace's files, and keeps those that the agent made or changed below `keep_in`, each passed through
    /// `mask` with its name. Symbolic links are neither followed nor kept, and a workspace that is one holds nothing. The
    /// files `wanted` are looked for however many others there are; a link that stays in the workspace counts as what it
    /// points to.
    ///
    /// # Errors
    /// When a file cannot be kept.
    pub fn capture(
        &self,
        wanted: &[&Path],
        keep_in: &Path,
        mask: &dyn Fn(&[u8]) -> Vec<u8>,
    ) -> Result<Captured, WorkspaceError> {
        let mut captured = Captured::default();
        let mut left = MAX_KEPT;
        let mut trouble = None;
        // Delivered skills are links; version control is bulk.
        let skip = |name: &OsStr| name == ".git";
        let walked = below::walk(self.path(), Path::new(Self::WORKSPACE), skip, &mut |entry| {
            if captured.files.len() == MAX_FILES {
                return Walk::Stop;
            }
            let file = self.captured(entry);
            if file.changed && file.size <= MAX_KEPT_FILE.min(left) {
                let content = entry.open().and_then(|file| bounded::read_file(file, MAX_KEPT_FILE));
                // What the agent made unreadable cannot be kept.
                if let Ok(content) = content {
                    left = left.saturating_sub(content.len() as u64);
                    trouble = keep(&keep_in.join(masked(entry.path, mask)), &mask(&content)).err();
                }
            }
            captured.files.push(file);
            if trouble.is_some() { Walk::Stop } else { Walk::On }
        });
        if let Some(trouble) = trouble {
            return Err(trouble);
        }
        // The agent may have put anything in its workspace's place, or nothing.
        captured.truncated = !walked.unwrap_or(true);
        for path in wanted {
            if !captured.files.iter().any(|file| file.path.starts_with(path)) {
                captured.files.extend(self.wanted(path));
            }
        }
        for file in &mut captured.files {
            // What a case asks for by its name is no secret.
            let asked = wanted.iter().find(|asked| file.path.starts_with(asked));
            file.path = match asked.and_then(|asked| Some((asked, file.path.strip_prefix(asked).ok()?))) {
                Some((_, rest)) if rest.as_os_str().is_empty() => continue,
                Some((asked, rest)) => asked.join(masked(rest, mask)),
                None => masked(&file.path, mask),
            };
        }
        captured.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(captured)
    }

    fn captured(&self, entry: &Entry<'_>) -> WorkspaceFile {
        let changed = self.fixture.get(entry.path).is_none_or(|(stamp, content)| {
            // A file that was written again as it was is no change.
            let same = || entry.open().and_then(bounded::digest_file).is_ok_and(|now| now == *content);
            *stamp != entry.stamp && !same()
        });
        WorkspaceFile { path: entry.path.to_path_buf(), size: entry.size, changed }
    }

    /// The file at `path` in the workspace, or the first one in the folder there, through links that stay there. A folder
    /// without a file is told with a `/` at its end.
    fn wanted(&self, path: &Path) -> Option<WorkspaceFile> {
        let workspace = self.workspace();
        if !fs::symlink_metadata(&workspace).is_ok_and(|found| found.is_dir()) {
            return None;
        }
        let real = workspace.join(path).canonicalize().ok()?;
        let below = real.strip_prefix(workspace.canonicalize().ok()?).ok()?;
        if real.is_dir() {
            let mut found = WorkspaceFile { path: path.join(""), size: 0, changed: false };
            let take = &mut |entry: &Entry<'_>| {
                found = WorkspaceFile { path: path.join(entry.path), ..self.captured(entry) };
                Walk::Stop
            };
            below::walk(&workspace, below, |_| false, take).ok()?;
            return Some(found);
        }
        let file = below::open(&workspace, below).ok()?;
        let stamp = Stamp::of(&file.metadata().ok()?);
        let changed = self.fixture.get(below).is_none_or(|(before, _)| *before != stamp);
        Some(WorkspaceFile { path: path.to_path_buf(), size: file.metadata().ok()?.len(), changed })
    }
}

fn keep(to: &Path, content: &[u8]) -> Result<(), WorkspaceError> {
    let written = to.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(to, content));
    match written {
        // An agent may nest its names as deep as it likes; below our folder they are longer still. Masked, two of them
        // may be one.
        Err(error) if NOT_KEPT.contains(&error.kind()) => Ok(()),
        written => Ok(written.at(to)?),
    }
}
