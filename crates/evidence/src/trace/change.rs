//! Changes to skills during a session.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ChangeVisibility;
use crate::text::diagnostic::SourceLocation;
use crate::text::relative_path::RelativePath;
use crate::text::word_enum::word_enum;

/// Maximum number of changes in a case.
pub const MOST_CHANGES: usize = 100;

/// A change to a skill during a session, as a case requests it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SkillChange {
    /// The model's turn after which the change is made, from 1. A turn is an answer and the calls in it.
    pub after_turn: u64,
    /// The kind of change.
    pub kind: ChangeKind,
    /// The skill's slug.
    pub skill: String,
    /// The directory with the skill's new version, relative to the repository's root. `None` if the skill is removed. It has
    /// the skill's name.
    pub folder: Option<RelativePath>,
    /// Whether the change is expected to enter the model's context.
    pub expect_seen: bool,
    /// Where the case has it.
    #[serde(skip)]
    pub origin: SourceLocation,
}

word_enum! {
    /// The kind of a change to a skill.
    #[derive(Default)]
    pub enum ChangeKind {
        /// Adds a skill.
        Add = "add",
        /// Replaces a skill's files.
        #[default]
        Edit = "edit",
        /// Removes a skill.
        Remove = "remove",
    }
}

impl ChangeKind {
    /// The past participle, for messages.
    pub fn done(self) -> &'static str {
        match self {
            Self::Add => "added",
            Self::Edit => "edited",
            Self::Remove => "removed",
        }
    }
}

/// A requested change to a skill, and its result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeMeta {
    /// The model's turn after which the change was to be made, from 1.
    pub after_turn: u64,
    /// The kind of change.
    pub kind: ChangeKind,
    /// The skill's slug.
    pub skill: String,
    /// The directory with the skill's new version, relative to the repository's root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<PathBuf>,
    /// When it was made, in milliseconds after the agent's start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_ms: Option<u64>,
    /// When it was made, RFC 3339, UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made: Option<String>,
    /// The model's turns that ended after it, without a last turn that has no calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turns_after: Option<u64>,
    /// The lists that the agent requested from our MCP server after the server notified it of the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Vec<String>>,
    /// Whether it entered the model's context. Recordings lack some of the files that show this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<ChangeVisibility>,
    /// Why it was not made. Absent also if the agent finished before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_from: Option<String>,
}

impl From<&SkillChange> for ChangeMeta {
    fn from(change: &SkillChange) -> Self {
        Self {
            after_turn: change.after_turn,
            kind: change.kind,
            skill: change.skill.clone(),
            folder: change.folder.as_ref().map(|directory| directory.as_path().to_path_buf()),
            ..Self::default()
        }
    }
}

impl ChangeMeta {
    /// What was changed and when, or why it was not.
    pub fn summary(&self) -> String {
        let Self { after_turn, skill, .. } = self;
        let done = self.kind.done();
        match (self.made_ms, &self.kept_from) {
            (Some(ms), _) => {
                let seconds = Duration::from_millis(ms).as_secs_f64();
                format!("`{skill}` {done} after turn {after_turn}, at {seconds:.1} s")
            }
            (None, Some(why)) => format!("`{skill}` not {done}: {why}"),
            (None, None) => format!("`{skill}` not {done}: the agent was done before its turn {after_turn} was over"),
        }
    }
}
