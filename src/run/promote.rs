//! Turns finished trials into recordings: evidence small enough for a repository, without this machine's paths.

use std::path::{Path, PathBuf};

use crate::agent;
use crate::agent::room::without_rooms;
use crate::store::{self, RunFolder, StoreError, TrialFolder};
use crate::trial::id::TrialId;
use crate::trial::outcome::Verdict;

/// What became of a trial that was to be recorded.
#[derive(Debug)]
pub enum Recorded {
    /// It is a recording now.
    Kept {
        /// Which trial.
        id: TrialId,
        /// What it came to when it ran.
        verdict: Verdict,
        /// Where the recording is.
        folder: PathBuf,
    },
    /// It measured nothing, so there is nothing to replay.
    NotMeasured {
        /// Which trial.
        id: TrialId,
        /// What it came to.
        verdict: Verdict,
    },
}

/// Records every finished trial of a run that measured something, in place of what was recorded before.
///
/// # Errors
/// When a trial cannot be read or a recording cannot be written.
pub fn record(root: &Path, run: &RunFolder) -> Result<Vec<Recorded>, StoreError> {
    run.trials().iter().map(|trial| record_trial(root, trial)).collect()
}

fn record_trial(root: &Path, trial: &TrialFolder) -> Result<Recorded, StoreError> {
    let meta = trial.meta()?;
    let verdict = trial.grade()?.verdict;
    let id = meta.id();
    if verdict == Verdict::Error {
        return Ok(Recorded::NotMeasured { id, verdict });
    }
    let io = |source| StoreError::Io { path: trial.path().to_path_buf(), source };
    let files = agent::of(meta.agent.kind).recorded_evidence(trial.path()).map_err(io)?;
    let recording = store::recording(root, &id);
    recording.clear()?;
    for (name, content) in files {
        recording.write(name, &without_rooms(&content))?;
    }
    if let Some(text) = trial.final_text()? {
        recording.write_final(&String::from_utf8_lossy(&without_rooms(text.as_bytes())))?;
    }
    if let Some(judgement) = trial.judgement()? {
        recording.write_judgement(&judgement)?;
    }
    recording.write_meta(&meta)?;
    recording.seal()?;
    Ok(Recorded::Kept { id, verdict, folder: recording.path().to_path_buf() })
}
