//! The programs under test. Everything that names a vendor is below here.
//!
//! An agent is a folder with an implementation of [`Agent`], and a line in [`of`]; its word in settings is a line of
//! [`AgentKind`]. What agents share lies in the files beside the folders: an agent imports those, never another agent,
//! and never this file.

pub mod assignment;
pub mod claude;
pub mod codex;
mod command;
pub mod delivery;
pub mod failure;
mod files;
pub mod handshake;
mod interface;
mod lenient;
pub mod mcp_probe;
mod refusal;
pub mod room;
mod skill_calls;

use crate::settings::mode::AgentKind;

pub use assignment::Assignment;
pub use command::Command;
pub use interface::Agent;

/// The agent of this kind.
#[must_use]
pub fn of(kind: AgentKind) -> &'static dyn Agent {
    match kind {
        AgentKind::Codex => &codex::Codex,
        AgentKind::ClaudeCli => &claude::Cli,
        AgentKind::ClaudeSdk => &claude::Sdk,
    }
}
