//! The contents of files that the checks of a stored trial compare.

use std::fmt;
use std::path::Path;

use crate::checks::contents::Contents;
use crate::files::{bounded, inside};
use crate::run::context::RunContext;
use crate::run::programs::unchanged_start_files;
use crate::run::stored_trial::TrialEvidence;

/// The files of a stored trial and of its repository.
pub(super) struct TrialContents<'a> {
    pub run: &'a RunContext,
    pub exhibit: &'a TrialEvidence<'a>,
}

impl fmt::Debug for TrialContents<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrialContents").finish_non_exhaustive()
    }
}

impl Contents for TrialContents<'_> {
    fn of_workspace(&self, path: &Path) -> Result<Vec<u8>, String> {
        let TrialEvidence { evidence, folder, .. } = self.exhibit;
        if evidence.meta.files.iter().any(|file| file.path == path && file.is_as_in_repository()) {
            return self.of_start(path);
        }
        folder.workspace_file(path).map_err(|_| "its content is not stored".to_owned())
    }

    fn of_output(&self) -> Result<Vec<u8>, String> {
        bounded::read(&self.exhibit.folder.trace()).map_err(|error| error.to_string())
    }

    fn of_repository(&self, path: &Path) -> Result<Vec<u8>, String> {
        inside::read(&self.run.root, path).map_err(|error| error.to_string())
    }
}

impl TrialContents<'_> {
    /// A file of the case that neither its setup nor the agent changed, whose content the trial does not store.
    fn of_start(&self, path: &Path) -> Result<Vec<u8>, String> {
        let files = unchanged_start_files(self.run, self.exhibit).map_err(|why| why.to_string())?;
        let files = files.ok_or_else(|| "its content is not stored".to_owned())?;
        files.read(path, bounded::MAX_FILE).map_err(|error| error.to_string())
    }
}
