//! A file that the workspace holds at the start.

use std::path::Path;

use crate::text::relative_path::RelativePath;

/// A file or directory that the workspace holds at the start, besides the fixture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputFile {
    /// Where the agent finds it in the workspace.
    pub path: RelativePath,
    /// What it holds.
    pub content: InputContent,
}

/// The content of an [`InputFile`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputContent {
    /// This text.
    Text(String),
    /// A copy of this file or directory. Files of cases name it from their own directory, a parsed case from the repository's
    /// root.
    Source(RelativePath),
}

impl InputFile {
    /// A copy of `source` under its own name.
    pub fn copy_of(source: RelativePath) -> Self {
        Self { path: source.name(), content: InputContent::Source(source) }
    }

    /// The same file, whose source is named from `directory`.
    #[must_use]
    pub fn of_directory(self, directory: &Path) -> Self {
        let content = match self.content {
            InputContent::Source(source) => InputContent::Source(source.under(directory)),
            text @ InputContent::Text(_) => text,
        };
        Self { content, ..self }
    }
}
