//! Which cases have recordings, and how new recordings replace old ones.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::{At, RECORDINGS, StoreError, TrialFolder, sub_folders, trial_path, trials_below};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::trial::id::TrialId;

/// The directory of a trial's recording in `recordings`, which has the layout of all recordings.
pub fn recording_in(recordings: &Path, id: &TrialId) -> TrialFolder {
    TrialFolder::of(trial_path(recordings, id), id)
}

/// Whether any repeat of the case and mode of `id` is recorded.
pub fn is_recorded(root: &Path, id: &TrialId) -> bool {
    trial_path(&root.join(RECORDINGS), id).parent().is_some_and(|mode| !sub_folders(mode).is_empty())
}

/// The prefix of directories for new recordings. No skill has such a name: ids do not begin with a dot.
pub(super) const NEW: &str = ".new-";

/// The directory in it for old recordings while they are replaced, by their paths.
const OLD: &str = "old";

/// A directory for new recordings until they replace the old ones, on the same file system. It is removed when dropped.
#[derive(Debug)]
pub struct StagedRecordings {
    folder: tempfile::TempDir,
    /// Locked while this process lives. The directory of a killed process is not locked.
    _lock: File,
}

impl StagedRecordings {
    /// Creates it, and removes the directories of killed processes. An old recording that such a process had not replaced yet
    /// is moved back.
    pub fn new(root: &Path) -> Result<Self, StoreError> {
        let recordings = root.join(RECORDINGS);
        fs::create_dir_all(&recordings).at(&recordings)?;
        // Another process must not remove this directory before it is locked.
        let gate = File::open(&recordings).at(&recordings)?;
        gate.lock().at(&recordings)?;
        for name in sub_folders(&recordings).into_iter().filter(|name| name.starts_with(NEW)) {
            remove_left_over(&recordings, &recordings.join(name))?;
        }
        let folder = tempfile::Builder::new().prefix(NEW).tempdir_in(&recordings).at(&recordings)?;
        let lock = File::open(folder.path()).at(folder.path())?;
        lock.try_lock().map_err(io::Error::from).at(folder.path())?;
        Ok(Self { folder, _lock: lock })
    }

    /// The path of the directory, which has the layout of all recordings.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Replaces the recordings of the case and mode of `id` by the new ones, with all repeats. Returns their directory.
    pub fn put(&self, root: &Path, id: &TrialId) -> Result<PathBuf, StoreError> {
        let mode = |base: &Path| base.join(&id.skill).join(&id.case).join(&id.mode);
        let (new, place) = (mode(self.path()), mode(&root.join(RECORDINGS)));
        // The old recording is moved before it is removed, so it is never incomplete.
        let old = mode(&self.path().join(OLD));
        for folder in [&place, &old].into_iter().filter_map(|folder| folder.parent()) {
            fs::create_dir_all(folder).at(folder)?;
        }
        match fs::rename(&place, &old) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Ok(Err(error).at(&place)?),
            _ => {}
        }
        fs::rename(&new, &place).at(&place)?;
        Ok(place)
    }
}

/// Removes a directory for new recordings whose process is gone, and moves old recordings back. Ignores a link.
fn remove_left_over(recordings: &Path, folder: &Path) -> Result<(), StoreError> {
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    if !is_folder(folder) {
        return Ok(());
    }
    let Ok(lock) = File::open(folder) else { return Ok(()) };
    if lock.try_lock().is_err() {
        return Ok(());
    }
    let old = folder.join(OLD);
    let aside = walkdir::WalkDir::new(&old).min_depth(3).max_depth(3).into_iter().flatten();
    for entry in aside.filter(|_| is_folder(&old)) {
        let place = recordings.join(entry.path().strip_prefix(&old).unwrap_or(entry.path()));
        if !place.exists() {
            fs::rename(entry.path(), &place).at(&place)?;
        }
    }
    Ok(fs::remove_dir_all(folder).at(folder)?)
}

/// The damaged recordings of the repository at `root`, with the problem of each.
pub fn damaged_recordings(root: &Path) -> Vec<(TrialFolder, Diagnostic)> {
    let mut damaged = Vec::new();
    for recording in trials_below(&root.join(RECORDINGS)) {
        let (path, why) = match recording.meta() {
            Ok(_) => continue,
            Err(StoreError::Damaged { path, why }) => (path, why),
            Err(other) => (recording.path().to_path_buf(), other.to_string()),
        };
        let place = SourceLocation::file(path.strip_prefix(root).unwrap_or(&path));
        let problem = Diagnostic::new(Code::DamagedRecording, place, why);
        damaged.push((recording, problem.help("record it again with `skill-evals run --record`")));
    }
    damaged
}

/// Looks up the recordings of a repository. Cases come skill by skill, so one skill is remembered.
#[derive(Debug)]
pub struct Recordings {
    folder: PathBuf,
    /// The last skill, and its cases that have recordings.
    last: (String, HashSet<String>),
}

impl Recordings {
    /// Those of the repository at `root`.
    pub fn new(root: &Path) -> Self {
        Self { folder: root.join(RECORDINGS), last: Default::default() }
    }

    /// The names of the modes in which a case is recorded, sorted.
    pub fn modes(&mut self, skill: &str, case: &str) -> Vec<String> {
        if self.last.0 != skill {
            self.last = (skill.to_owned(), sub_folders(&self.folder.join(skill)).into_iter().collect());
        }
        if self.last.1.contains(case) { sub_folders(&self.folder.join(skill).join(case)) } else { Vec::new() }
    }
}
