//! A file in the workspace of a trial.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, Serializer};

/// A file in the workspace at the end; or an empty directory that a case requires, with `/` at its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WorkspaceFile {
    /// The path in the workspace. Bytes that are not UTF-8 become U+FFFD, and secrets `[masked]`.
    #[serde(serialize_with = "lossy_path")]
    pub path: PathBuf,
    /// The size in bytes.
    pub size: u64,
    /// Whether the agent created or changed it; false for an unchanged file of the fixture.
    pub changed: bool,
    /// Whether the agent left it as a setup command had made it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_setup: bool,
}

impl WorkspaceFile {
    pub(crate) fn new(path: PathBuf, size: u64, changed: bool) -> Self {
        Self { path, size, changed, by_setup: false }
    }

    /// Whether it is as the repository has it.
    pub fn is_as_in_repository(&self) -> bool {
        !self.changed && !self.by_setup
    }

    /// Whether it is a directory without files.
    pub fn is_folder(&self) -> bool {
        self.path.as_os_str().as_encoded_bytes().ends_with(b"/")
    }
}

/// JSON must be UTF-8, names of files need not be.
fn lossy_path<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

pub(super) fn lossy_paths<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(paths.iter().map(|path| path.to_string_lossy()))
}
