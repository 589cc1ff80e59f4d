//! What happens to the skills while an agent is at work.

use serde::{Deserialize, Serialize};

use crate::text::diagnostic::Place;
use crate::text::relative_path::RelativePath;

/// Most changes that one case may ask for.
pub const MOST_CHANGES: usize = 100;

/// A change to the skills in mid-session.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The turn of the model behind which it is made, from 1: its answer, and the calls in it.
    pub after_turn: u64,
    /// What happens.
    pub kind: ChangeKind,
    /// The slug of the skill that it happens to.
    pub skill: String,
    /// The folder with the skill as it is from then on, from the repository's root; `None` where it is removed. It is called
    /// as the skill is.
    pub folder: Option<RelativePath>,
    /// Whether it is expected to come before the model.
    pub expect_seen: bool,
    /// Where it was written down.
    pub origin: Place,
}

/// What happens to a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeKind {
    /// It was not there before.
    Add,
    /// Its files become those of another folder.
    Edit,
    /// It goes.
    Remove,
}

impl ChangeKind {
    /// All of them.
    pub const ALL: [ChangeKind; 3] = [Self::Add, Self::Edit, Self::Remove];

    /// The word for it in cases and artifacts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Edit => "edit",
            Self::Remove => "remove",
        }
    }

    /// What has happened, in a word.
    #[must_use]
    pub fn done(self) -> &'static str {
        match self {
            Self::Add => "added",
            Self::Edit => "edited",
            Self::Remove => "removed",
        }
    }
}
