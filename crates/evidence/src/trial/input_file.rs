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
    /// A copy of this file or directory, named from the repository's root.
    Source(RelativePath),
    /// A copy of this file or directory, named from the directory of the file with the case. A parsed case has none.
    Near(RelativePath),
}

impl InputFile {
    /// A copy of the source that is written as `text`, under its own name. `/` in front is the repository's root.
    pub fn copy_of(text: &str) -> Result<Self, &'static str> {
        let of_root = text.strip_prefix('/');
        let source = RelativePath::parse(of_root.unwrap_or(text))?;
        let path = source.name();
        let content = if of_root.is_some() { InputContent::Source(source) } else { InputContent::Near(source) };
        Ok(Self { path, content })
    }

    /// The same file of a case whose file is in `directory`.
    #[must_use]
    pub fn of_directory(self, directory: &Path) -> Self {
        let content = match self.content {
            InputContent::Near(source) => InputContent::Source(source.under(directory)),
            content => content,
        };
        Self { content, ..self }
    }
}
