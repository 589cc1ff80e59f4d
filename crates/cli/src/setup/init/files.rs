//! The files that `init` writes.

use std::path::Path;

use super::layout;
use super::relative::relative;
use super::{FileAction, InitError, InitMode, InitStep};
use crate::store;

/// Writes files, or only plans them.
pub(super) struct InitFiles<'a> {
    /// The directory of `init`.
    pub(super) folder: &'a Path,
    mode: InitMode,
    pub(super) steps: Vec<InitStep>,
}

impl<'a> InitFiles<'a> {
    pub(super) fn new(folder: &'a Path, mode: InitMode) -> Self {
        Self { folder, mode, steps: Vec::new() }
    }

    /// Writes a file that does not exist. An existing file stays as it is, and may need a change `by_hand`.
    pub(super) fn new_file(&mut self, path: &Path, text: &str, by_hand: &str) -> Result<(), InitError> {
        let action = match self.read(path)? {
            None => {
                self.write(path, text)?;
                FileAction::Written
            }
            Some(old) if old == text || by_hand.is_empty() => FileAction::IsThere,
            Some(_) => FileAction::LeftAlone(by_hand.to_owned()),
        };
        self.step(path, action);
        Ok(())
    }

    pub(super) fn write(&self, path: &Path, text: &str) -> Result<(), InitError> {
        if self.mode == InitMode::Write {
            store::write_whole(path, text.as_bytes())?;
        }
        Ok(())
    }

    pub(super) fn read(&self, path: &Path) -> Result<Option<String>, InitError> {
        layout::read(path).map_err(|source| InitError::Io { path: relative(self.folder, path), source })
    }

    pub(super) fn step(&mut self, path: &Path, action: FileAction) {
        self.steps.push(InitStep { path: relative(self.folder, path), action });
    }
}
