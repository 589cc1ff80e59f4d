//! Which cases have recordings: looked up skill by skill, so that cases without any cost nothing.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{At, RECORDINGS, StoreError, TrialFolder, sub_folders, trial_path};
use crate::trial::id::TrialId;

/// The folder of a trial's recording below `recordings`, a folder like that of all recordings.
#[must_use]
pub fn recording_in(recordings: &Path, id: &TrialId) -> TrialFolder {
    TrialFolder::of(trial_path(recordings, id), id)
}

/// A folder for new recordings until they are put in their place, on the same file system; gone when it is dropped.
///
/// # Errors
/// When it cannot be made.
pub fn beside_recordings(root: &Path) -> Result<tempfile::TempDir, StoreError> {
    let folder = root.join(RECORDINGS);
    fs::create_dir_all(&folder).at(&folder)?;
    Ok(tempfile::Builder::new().prefix(".new-").tempdir_in(&folder).at(&folder)?)
}

/// Puts the recordings below `from` of the case and mode of `id` in the place of those that there are: all repeats, so
/// that none of an earlier recording stays among them. Returns their folder.
///
/// # Errors
/// When folders cannot be moved.
pub fn put_recording(root: &Path, from: &Path, id: &TrialId) -> Result<PathBuf, StoreError> {
    let mode = |base: &Path| base.join(&id.skill).join(&id.case).join(&id.mode);
    let (new, place) = (mode(from), mode(&root.join(RECORDINGS)));
    if let Some(parent) = place.parent() {
        fs::create_dir_all(parent).at(parent)?;
    }
    // Moved aside before it is removed: there is no moment with half a recording.
    let old = from.join("old");
    match fs::rename(&place, &old) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Ok(Err(error).at(&place)?),
        _ => {}
    }
    fs::rename(&new, &place).at(&place)?;
    Ok(place)
}

/// The recordings of a repository.
#[derive(Debug)]
pub struct Recordings {
    folder: PathBuf,
    cases: HashMap<String, HashSet<String>>,
}

impl Recordings {
    /// Those of the repository at `root`.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        Self { folder: root.join(RECORDINGS), cases: HashMap::new() }
    }

    /// The names of the modes in which a case is recorded, sorted.
    pub fn modes(&mut self, skill: &str, case: &str) -> Vec<String> {
        if !self.cases.contains_key(skill) {
            let cases = sub_folders(&self.folder.join(skill)).into_iter().collect();
            self.cases.insert(skill.to_owned(), cases);
        }
        if self.cases.get(skill).is_some_and(|cases| cases.contains(case)) {
            sub_folders(&self.folder.join(skill).join(case))
        } else {
            Vec::new()
        }
    }
}
