//! What an agent left in its workspace.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::{At, TrialEnv, WorkspaceError};
use crate::files::bounded;
use crate::files::bounded::Stamp;
use crate::files::rooted::{RootedPath, WalkControl, Walked, WalkedFile};
use crate::trial::evidence::MAX_FILES;
use crate::trial::workspace_file::WorkspaceFile;

/// A path with the secrets in its names masked: an agent may name a file after one.
pub fn masked(path: &Path, mask: &dyn Fn(&[u8]) -> Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(mask(path.as_os_str().as_bytes())))
}

/// The most bytes of one workspace file that are stored.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The most bytes that are stored of what the agent made of a workspace, and of what setup commands made.
const MAX_BYTES: u64 = 32 << 20;

#[derive(Debug, Default)]
pub struct CapturedFiles {
    pub files: Vec<WorkspaceFile>,
    /// Whether some files are missing from the list.
    pub truncated: bool,
    /// Links and special files.
    pub links: Vec<PathBuf>,
}

impl TrialEnv {
    /// Lists the workspace's files, and stores in `directory` those that the agent created or changed. Contents and names
    /// pass through `mask`. Symbolic links are listed, but neither followed nor stored; if the workspace is one, it has no files. The
    /// files `required` are listed however many others there are; a link that stays in the workspace counts as its target.
    pub fn capture(
        &self,
        required: &[&Path],
        directory: &Path,
        mask: &dyn Fn(&[u8]) -> Vec<u8>,
    ) -> Result<CapturedFiles, WorkspaceError> {
        let mut captured = CapturedFiles::default();
        let mut bytes_left = [MAX_BYTES; 2];
        let mut result = Ok(());
        // Version control has too many files.
        let skip = |name: &OsStr| name == ".git";
        let workspace = self.workspace();
        let walked = workspace.walk(skip, &mut |entry| {
            if captured.files.len() == MAX_FILES {
                return WalkControl::Stop;
            }
            let (path, size) = (entry.path.to_path_buf(), entry.size);
            let changed = match self.start_files.get(entry.path) {
                Some((stamp, _)) => *stamp != entry.stamp && self.is_changed(entry.path, entry.open()),
                None => true,
            };
            // The repository does not have what setup commands made. It takes no place from the agent's work.
            let by_setup = self.setup_files.contains(entry.path);
            let left = &mut bytes_left[usize::from(!changed)];
            if (changed || by_setup) && size <= MAX_FILE_BYTES.min(*left) {
                // A file that the agent made unreadable cannot be stored.
                if let Ok((content, permissions)) = entry.open().and_then(read) {
                    *left = left.saturating_sub(content.len() as u64);
                    result = store(&directory.join(masked(entry.path, mask)), &mask(&content), &permissions);
                }
            }
            let edited = changed && self.start_files.contains_key(entry.path);
            let by_setup = !changed && by_setup;
            captured.files.push(WorkspaceFile { by_setup, edited, ..WorkspaceFile::new(path, size, changed) });
            if result.is_ok() { WalkControl::On } else { WalkControl::Stop }
        });
        result?;
        // The agent may have removed its workspace, or replaced it with anything.
        if let Ok(Walked { is_whole, others }) = walked {
            captured.truncated = !is_whole || others.len() > MAX_FILES;
            // The agent got its skills through links.
            let skills = OsString::from(self.skills());
            let is_ours = |link: &PathBuf| workspace.join(link).link_target().is_ok_and(|target| target == *skills);
            captured.links = others.into_iter().take(MAX_FILES).filter(|link| !is_ours(link)).collect();
        }
        for path in required {
            if !captured.files.iter().any(|file| file.path.starts_with(path)) {
                captured.files.extend(wanted(&workspace, path, &|path, file| Some(self.is_changed(path, file))));
            }
        }
        for file in &mut captured.files {
            // A name that the case requires is not a secret.
            let required = required.iter().find(|required| file.path.starts_with(required));
            file.path = match required.and_then(|required| Some((required, file.path.strip_prefix(required).ok()?))) {
                Some((_, rest)) if rest.as_os_str().is_empty() => continue,
                Some((required, rest)) => required.join(masked(rest, mask)),
                None => masked(&file.path, mask),
            };
        }
        for link in captured.links.iter_mut().filter(|link| !required.contains(&link.as_path())) {
            *link = masked(link, mask);
        }
        captured.files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(captured)
    }

    /// Takes what setup commands made or changed for files of the case: it is not the agent's work.
    pub fn note_setup(&mut self) {
        let mut found = Vec::new();
        let skip = |name: &OsStr| name == ".git";
        let _ = self.workspace().walk(skip, &mut |entry| {
            let known = self.start_files.get(entry.path);
            if known.is_none_or(|(stamp, _)| *stamp != entry.stamp)
                && let Ok(digest) = entry.open().and_then(bounded::digest_file)
            {
                found.push((entry.path.to_path_buf(), entry.stamp.clone(), digest));
            }
            if found.len() == MAX_FILES { WalkControl::Stop } else { WalkControl::On }
        });
        for (path, stamp, digest) in found {
            if self.start_files.insert(path.clone(), (stamp, digest)).is_none_or(|(_, before)| before != digest) {
                self.setup_files.insert(path);
            }
        }
    }

    /// Whether the file at this path in the workspace differs from the case's. A file that was written again with the same
    /// content does not.
    fn is_changed(&self, path: &Path, file: io::Result<File>) -> bool {
        let Some((stamp, digest)) = self.start_files.get(path) else { return true };
        let is_same = |file: File| {
            Ok::<_, io::Error>(Stamp::of(&file.metadata()?) == *stamp || bounded::digest_file(file)? == *digest)
        };
        !file.and_then(is_same).unwrap_or(false)
    }
}

/// The file at `path` in the directory `workspace`, or the first file if `path` is a directory, through links that stay in the
/// workspace. An empty directory is listed with a `/` at its end. `changed` says whether the agent changed a file, by its real
/// path in the workspace; `None` if the file is not part of the workspace.
pub fn wanted(
    workspace: &RootedPath,
    path: &Path,
    changed: &dyn Fn(&Path, io::Result<File>) -> Option<bool>,
) -> Option<WorkspaceFile> {
    let real = workspace.join(path).resolved().ok()?;
    let real_path = real.relative().strip_prefix(workspace.relative()).ok()?;
    if !real.is_dir() {
        let file = real.file().ok()?;
        let size = file.metadata().ok()?.len();
        return Some(WorkspaceFile::new(path.to_path_buf(), size, changed(real_path, Ok(file))?));
    }
    let mut first = None;
    let mut is_empty = true;
    let take = &mut |entry: &WalkedFile<'_>| {
        is_empty = false;
        let changed = changed(&real_path.join(entry.path), entry.open());
        first = changed.map(|changed| WorkspaceFile::new(path.join(entry.path), entry.size, changed));
        if first.is_some() { WalkControl::Stop } else { WalkControl::On }
    };
    real.walk(|_| false, take).ok()?;
    first.or_else(|| is_empty.then(|| WorkspaceFile::new(path.join(""), 0, false)))
}

fn read(file: File) -> io::Result<(Vec<u8>, Permissions)> {
    let permissions = file.metadata()?.permissions();
    Ok((bounded::read_file(file, MAX_FILE_BYTES)?, permissions))
}

/// Stores a file, executable if it was.
fn store(to: &Path, content: &[u8], permissions: &Permissions) -> Result<(), WorkspaceError> {
    let mode = if permissions.mode() & 0o111 == 0 { 0o666 } else { 0o777 };
    let write = || {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(mode).open(to)?.write_all(content)
    };
    let stored = to.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| write());
    match stored.as_ref().map_err(io::Error::kind) {
        // The agent's paths may be too long in our directory, and masking may make two paths equal.
        Err(
            io::ErrorKind::InvalidFilename
            | io::ErrorKind::NotADirectory
            | io::ErrorKind::IsADirectory
            | io::ErrorKind::AlreadyExists,
        ) => Ok(()),
        _ => Ok(stored.at(to)?),
    }
}
