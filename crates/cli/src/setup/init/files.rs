//! The files that `init` writes.

use std::io;
use std::path::Path;

use super::relative::relative;
use super::{FileAction, InitError, InitMode, InitStep};
use crate::files::inside;
use crate::files::look;
use crate::store::StoreError;

/// How the first line of a text ends: what is added to it ends so, too.
pub(super) fn line_end(text: &str) -> &'static str {
    let is_crlf = text.split_once('\n').is_some_and(|(first, _)| first.ends_with('\r'));
    if is_crlf { "\r\n" } else { "\n" }
}

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
            inside::write(self.root_of(path), path, text.as_bytes()).map_err(StoreError::from)?;
        }
        Ok(())
    }

    pub(super) fn read(&self, path: &Path) -> Result<Option<String>, InitError> {
        match inside::read_text(self.root_of(path), path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(source) => Err(InitError::Io { path: relative(self.folder, path), source }),
        }
    }

    /// The repository of a file: the git work tree, or the directory that it shares with that of `init`.
    fn root_of(&self, path: &Path) -> &'a Path {
        let around = || self.folder.ancestors().filter(|folder| path.starts_with(folder));
        around().find(|folder| look::is_usable(&folder.join(".git"))).or_else(|| around().next()).unwrap_or(self.folder)
    }

    pub(super) fn step(&mut self, path: &Path, action: FileAction) {
        self.steps.push(InitStep { path: relative(self.folder, path), action });
    }
}
