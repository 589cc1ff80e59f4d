//! A file that the workspace holds at the start.

use serde::Serialize;

use crate::text::relative_path::RelativePath;

/// A file or directory that the workspace holds at the start, besides the fixture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InputFile {
    /// Where the agent finds it in the workspace.
    pub path: RelativePath,
    /// What it holds.
    pub content: InputContent,
}

/// The content of an [`InputFile`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum InputContent {
    /// This text.
    Text(String),
    /// A copy of this file or directory, named from the repository's root.
    Source(RelativePath),
}

impl InputFile {
    /// A copy of the file or directory at this path from the repository's root, under its own name.
    pub fn copy_of(source: RelativePath) -> Self {
        Self { path: source.name(), content: InputContent::Source(source) }
    }

    /// What it is a copy of, if it is one.
    pub fn source(&self) -> Option<&RelativePath> {
        match &self.content {
            InputContent::Source(source) => Some(source),
            InputContent::Text(_) => None,
        }
    }
}
