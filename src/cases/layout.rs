//! What the settings say of where skills are, and of how cases are written.

use crate::settings::Settings;
use crate::text::relative_path::RelativePath;

/// What the settings say of a repository's files.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layout<'a> {
    /// Where skills are; `None` for the default places.
    pub skill_roots: Option<&'a [RelativePath]>,
    /// Columns of prompts.csv that are the user's own and are not read.
    pub own_columns: &'a [String],
}

impl<'a> Layout<'a> {
    /// What these settings say.
    pub fn of(settings: &'a Settings) -> Self {
        Self { skill_roots: settings.skill_roots.as_deref(), own_columns: &settings.own_columns }
    }
}
