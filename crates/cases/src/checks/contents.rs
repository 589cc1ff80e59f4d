//! The contents of files that checks compare, behind a trait, so that grading needs no disk.

use std::fmt;
use std::path::Path;

/// Reads the files that checks compare. An error says why the content is not known.
pub trait Contents: fmt::Debug {
    /// The content of a file of the workspace at the end of the trial.
    fn of_workspace(&self, path: &Path) -> Result<Vec<u8>, String>;

    /// The lines that the agent's program printed, as the trial stores them.
    fn of_output(&self) -> Result<Vec<u8>, String> {
        Err("what the agent printed is not stored".to_owned())
    }

    /// The content of a file of the repository.
    fn of_repository(&self, path: &Path) -> Result<Vec<u8>, String>;
}

/// No contents: a trial whose files are not stored.
#[derive(Clone, Copy, Debug)]
pub struct NoContents;

impl Contents for NoContents {
    fn of_workspace(&self, _path: &Path) -> Result<Vec<u8>, String> {
        Err("its content is not stored".to_owned())
    }

    fn of_repository(&self, _path: &Path) -> Result<Vec<u8>, String> {
        Err("the repository is not known".to_owned())
    }
}
