//! What happens to the skills while an agent is at work.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::ChangeVisibility;
use crate::text::diagnostic::SourceLocation;
use crate::text::relative_path::RelativePath;

/// Most changes that one case may ask for.
pub const MOST_CHANGES: usize = 100;

/// A change to the skills in mid-session.
#[derive(Clone, Debug, PartialEq)]
pub struct SkillChange {
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
    pub origin: SourceLocation,
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

/// A change to the skills that a case asks for in mid-session, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeMeta {
    /// The turn of the model behind which it was to be made, from 1.
    pub after_turn: u64,
    /// What was to happen.
    pub kind: ChangeKind,
    /// The slug of the skill.
    pub skill: String,
    /// The folder with the skill as it is from then on, from the repository's root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// When it was made, in milliseconds from the agent's start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_ms: Option<u64>,
    /// The same by the clock, RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<String>,
    /// Turns of the model that were over afterwards, without a last one in which it called nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns_after: Option<u64>,
    /// The lists that the agent asked our MCP server of skills for afterwards, where that had told it of the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Vec<String>>,
    /// Whether it came before the model, by the agent's own files and their times; they are not all in a recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<ChangeVisibility>,
    /// Why it was not made, where something kept it from being made; the agent may also have come to its end before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_from: Option<String>,
}

impl From<&SkillChange> for ChangeMeta {
    fn from(change: &SkillChange) -> Self {
        Self {
            after_turn: change.after_turn,
            kind: change.kind,
            skill: change.skill.clone(),
            folder: change.folder.as_ref().map(|folder| folder.as_path().to_path_buf()),
            made_ms: None,
            made: None,
            turns_after: None,
            asked: None,
            seen: None,
            kept_from: None,
        }
    }
}

impl ChangeMeta {
    /// In words: what was done when, or what was not done.
    #[must_use]
    pub fn told(&self) -> String {
        let Self { after_turn, kind, skill, .. } = self;
        match (self.made_ms, &self.kept_from) {
            (Some(ms), _) => {
                let at = std::time::Duration::from_millis(ms).as_secs_f64();
                format!("`{skill}` {} after turn {after_turn}, at {at:.1} s", kind.done())
            }
            (None, Some(why)) => format!("`{skill}` not {}: {why}", kind.done()),
            (None, None) => {
                format!("`{skill}` not {}: the agent was done before its turn {after_turn} was over", kind.done())
            }
        }
    }
}
