//! What an agent may touch.

use serde::{Deserialize, Serialize};

/// What the agent may touch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sandbox {
    /// Read files only.
    ReadOnly,
    /// Write below the workspace too.
    #[default]
    WorkspaceWrite,
}

impl Sandbox {
    /// All of them.
    pub const ALL: [Sandbox; 2] = [Sandbox::ReadOnly, Sandbox::WorkspaceWrite];

    /// The words for them.
    pub const WORDS: [&'static str; 2] = ["read-only", "workspace-write"];

    /// The word for it in prompts.csv, which is also codex's.
    pub fn as_str(self) -> &'static str {
        match self {
            Sandbox::ReadOnly => "read-only",
            Sandbox::WorkspaceWrite => "workspace-write",
        }
    }
}
