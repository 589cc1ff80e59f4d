//! Which cases have recordings.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::{RECORDINGS, StoreError, TrialFolder, sub_folders, trial_path, trials_below};
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::trial::id::TrialId;

/// The directory of a trial's recording in `recordings`, which has the layout of all recordings.
pub fn recording_in(recordings: &Path, id: &TrialId) -> TrialFolder {
    TrialFolder::of(trial_path(recordings, id))
}

/// Whether any repeat of the case and mode of `id` is recorded.
pub fn is_recorded(root: &Path, id: &TrialId) -> Result<bool, StoreError> {
    let first = trial_path(&root.join(RECORDINGS), id);
    Ok(!sub_folders(first.parent().unwrap_or(&first))?.is_empty())
}

/// The damaged recordings of the repository at `root`, with the problem of each.
pub fn damaged_recordings(root: &Path) -> Result<Vec<(TrialFolder, Diagnostic)>, StoreError> {
    let mut damaged = Vec::new();
    for recording in trials_below(&root.join(RECORDINGS))? {
        let (path, why) = match recording.meta() {
            Ok(_) => continue,
            Err(StoreError::Damaged { path, why }) => (path, why),
            Err(other) => (recording.path().to_path_buf(), other.to_string()),
        };
        let place = SourceLocation::file(path.strip_prefix(root).unwrap_or(&path));
        let problem = Diagnostic::new(Code::DamagedRecording, place, why);
        damaged.push((recording, problem.help("record it again with `skill-evals run --record`")));
    }
    Ok(damaged)
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
    pub fn modes(&mut self, skill: &str, case: &str) -> Result<Vec<String>, StoreError> {
        if self.last.0 != skill {
            self.last = (skill.to_owned(), sub_folders(&self.folder.join(skill))?.into_iter().collect());
        }
        if self.last.1.contains(case) { sub_folders(&self.folder.join(skill).join(case)) } else { Ok(Vec::new()) }
    }
}
