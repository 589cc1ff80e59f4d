//! What an agent may touch.

use crate::text::word_enum::word_enum;

word_enum! {
    /// What the agent may touch. The words are also codex's.
    #[derive(Default)]
    pub enum Sandbox {
        /// It may read files only.
        ReadOnly = "read-only",
        /// It may also write in the workspace.
        #[default]
        WorkspaceWrite = "workspace-write",
    }
}
