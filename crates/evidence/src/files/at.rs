//! I/O errors with the path that they are about.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// An I/O error at a path.
#[derive(Debug, Error)]
#[error("{path}: {source}", path = path.display())]
pub struct PathError {
    /// The path.
    pub path: PathBuf,
    /// The error.
    pub source: io::Error,
}

impl From<PathError> for io::Error {
    fn from(error: PathError) -> Self {
        Self::new(error.source.kind(), error)
    }
}

/// Adds a path to an I/O error.
pub trait At<T> {
    /// The result, its error with this path.
    fn at(self, path: &Path) -> Result<T, PathError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: &Path) -> Result<T, PathError> {
        self.map_err(|source| PathError { path: path.to_path_buf(), source })
    }
}
