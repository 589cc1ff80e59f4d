//! Which cases have recordings, looked up skill by skill, so that cases without any cost nothing; and how new ones come
//! into their place.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::{At, RECORDINGS, StoreError, TrialFolder, sub_folders, trial_path, trials_below};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::trial::id::TrialId;

/// The folder of a trial's recording below `recordings`, a folder like that of all recordings.
pub fn recording_in(recordings: &Path, id: &TrialId) -> TrialFolder {
    TrialFolder::of(trial_path(recordings, id), id)
}

/// Whether anything is recorded of the case and mode of `id`, its first repeat or another.
pub fn is_recorded(root: &Path, id: &TrialId) -> bool {
    trial_path(&root.join(RECORDINGS), id).parent().is_some_and(|mode| !sub_folders(mode).is_empty())
}

/// How the names of folders for new recordings begin. No skill is called so: ids begin with no full stop.
pub(super) const NEW: &str = ".new-";

/// Below such a folder: recordings on their way out, by the paths that they had.
const OLD: &str = "old";

/// A folder for new recordings until they are put in their place, on the same file system; gone when it is dropped.
#[derive(Debug)]
pub struct StagedRecordings {
    folder: tempfile::TempDir,
    /// Locked as long as this process lives: what a killed one left is not locked.
    _lock: File,
}

impl StagedRecordings {
    /// Makes it, and removes what killed processes left of theirs. A recording that one of them had moved aside, with
    /// nothing in its place yet, is put back.
    pub fn new(root: &Path) -> Result<Self, StoreError> {
        let recordings = root.join(RECORDINGS);
        fs::create_dir_all(&recordings).at(&recordings)?;
        // Nobody looks for what is left while another folder is made and not locked yet.
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

    /// The folder itself, in which recordings lie as in that of all recordings.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Puts the new recordings of the case and mode of `id` in the place of those that there are: all repeats, so that
    /// none of an earlier recording stays among them. Returns their folder.
    pub fn put(&self, root: &Path, id: &TrialId) -> Result<PathBuf, StoreError> {
        let mode = |base: &Path| base.join(&id.skill).join(&id.case).join(&id.mode);
        let (new, place) = (mode(self.path()), mode(&root.join(RECORDINGS)));
        // Moved aside before it is removed: there is no moment with half a recording.
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

/// Removes a folder for new recordings whose process is gone, and puts back what that had moved aside. A link in its
/// place is nobody's.
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

/// The recordings of the repository at `root` that are not as they were made, and why.
pub fn damaged_recordings(root: &Path) -> Vec<(TrialFolder, Diagnostic)> {
    let check = |recording: TrialFolder| {
        let problem = match recording.meta().err()? {
            StoreError::Damaged { path, why } => (path, why),
            other => (recording.path().to_path_buf(), other.to_string()),
        };
        let (path, why) = problem;
        let place = SourceLocation::file(path.strip_prefix(root).unwrap_or(&path));
        let problem = Diagnostic::new(Code::DamagedRecording, place, why);
        Some((recording, problem.help("record it again with `skill-evals run --record`")))
    };
    trials_below(&root.join(RECORDINGS)).into_iter().filter_map(check).collect()
}

/// The recordings of a repository.
#[derive(Debug)]
pub struct Recordings {
    folder: PathBuf,
    /// The skill that was asked for last, and its cases that have any: cases come skill by skill.
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
