//! What an agent left in its workspace.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::{At, TrialEnv, WorkspaceError, masked};
use crate::files::below::{self, WalkControl, WalkedFile};
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
pub struct CapturedFiles {
    /// The files, by path.
    pub files: Vec<WorkspaceFile>,
    /// Whether some are not among them.
    pub truncated: bool,
}

impl TrialEnv {
    /// Lists the workspace's files, and keeps those that the agent made or changed below `keep_in`, each passed through
    /// `mask` with its name. Symbolic links are neither followed nor kept, and a workspace that is one holds nothing. The
    /// files `required` are looked for however many others there are; a link that stays in the workspace counts as what it
    /// points to.
    ///
    /// # Errors
    /// When a file cannot be kept.
    pub fn capture(
        &self,
        required: &[&Path],
        keep_in: &Path,
        mask: &dyn Fn(&[u8]) -> Vec<u8>,
    ) -> Result<CapturedFiles, WorkspaceError> {
        let mut captured = CapturedFiles::default();
        let mut left = MAX_KEPT;
        let mut trouble = None;
        // Delivered skills are links; version control is bulk.
        let skip = |name: &OsStr| name == ".git";
        let walked = below::walk(self.path(), Path::new(Self::WORKSPACE), skip, &mut |entry| {
            if captured.files.len() == MAX_FILES {
                return WalkControl::Stop;
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
            if trouble.is_some() { WalkControl::Stop } else { WalkControl::On }
        });
        if let Some(trouble) = trouble {
            return Err(trouble);
        }
        // The agent may have put anything in its workspace's place, or nothing.
        captured.truncated = !walked.unwrap_or(true);
        for path in required {
            if !captured.files.iter().any(|file| file.path.starts_with(path)) {
                captured.files.extend(wanted(&self.workspace(), path, &|path, file| Some(self.is_changed(path, file))));
            }
        }
        for file in &mut captured.files {
            // What a case asks for by its name is no secret.
            let asked = required.iter().find(|asked| file.path.starts_with(asked));
            file.path = match asked.and_then(|asked| Some((asked, file.path.strip_prefix(asked).ok()?))) {
                Some((_, rest)) if rest.as_os_str().is_empty() => continue,
                Some((asked, rest)) => asked.join(masked(rest, mask)),
                None => masked(&file.path, mask),
            };
        }
        captured.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(captured)
    }

    fn captured(&self, entry: &WalkedFile<'_>) -> WorkspaceFile {
        let changed = self.fixture.get(entry.path).is_none_or(|(stamp, content)| {
            // A file that was written again as it was is no change.
            let same = || entry.open().and_then(bounded::digest_file).is_ok_and(|now| now == *content);
            *stamp != entry.stamp && !same()
        });
        WorkspaceFile { path: entry.path.to_path_buf(), size: entry.size, changed }
    }

    /// Whether a file that is wanted, at this path and opened, is not as the fixture has it.
    fn is_changed(&self, path: &Path, file: io::Result<File>) -> bool {
        let same = |file: File, (stamp, content): &(Stamp, blake3::Hash)| {
            Ok::<_, io::Error>(Stamp::of(&file.metadata()?) == *stamp || bounded::digest_file(file)? == *content)
        };
        self.fixture.get(path).is_none_or(|before| !file.and_then(|file| same(file, before)).unwrap_or(false))
    }
}

/// The file at `path` in the folder `workspace`, or the first one in the folder there, through links that stay there. A
/// folder without a file is told with a `/` at its end. `changed` says of a file, by the path that it really has there,
/// whether the agent changed it; `None` if it is not of the workspace.
#[must_use]
pub fn wanted(
    workspace: &Path,
    path: &Path,
    changed: &dyn Fn(&Path, io::Result<File>) -> Option<bool>,
) -> Option<WorkspaceFile> {
    if !fs::symlink_metadata(workspace).is_ok_and(|found| found.is_dir()) {
        return None;
    }
    let real = workspace.join(path).canonicalize().ok()?;
    let below = real.strip_prefix(workspace.canonicalize().ok()?).ok()?;
    if real.is_dir() {
        let mut found = None;
        let mut empty = true;
        let take = &mut |entry: &WalkedFile<'_>| {
            empty = false;
            found = changed(&below.join(entry.path), entry.open()).map(|changed| WorkspaceFile {
                path: path.join(entry.path),
                size: entry.size,
                changed,
            });
            if found.is_some() { WalkControl::Stop } else { WalkControl::On }
        };
        below::walk(workspace, below, |_| false, take).ok()?;
        return found.or_else(|| empty.then(|| WorkspaceFile { path: path.join(""), size: 0, changed: false }));
    }
    let file = below::open(workspace, below).ok()?;
    let size = file.metadata().ok()?.len();
    Some(WorkspaceFile { path: path.to_path_buf(), size, changed: changed(below, Ok(file))? })
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
