//! What the system refused, and the path that it was about.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The system refused something at a path.
#[derive(Debug, Error)]
#[error("{path}: {source}", path = path.display())]
pub struct PathError {
    /// The path.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// Says at which path the system refused.
pub trait At<T> {
    /// The same with the path.
    ///
    /// # Errors
    /// Where it was one before.
    fn at(self, path: &Path) -> Result<T, PathError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: &Path) -> Result<T, PathError> {
        self.map_err(|source| PathError { path: path.to_path_buf(), source })
    }
}
