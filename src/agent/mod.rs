//! The programs under test. Everything that names a vendor is below here.
//!
//! An agent is a folder with an implementation of [`Agent`] and a [`profile`](crate::profile), and a line in the registry
//! there. What agents share lies in the files beside the folders: an agent imports those, never another agent,
//! and never this file.

pub mod assignment;
pub mod command;
mod derived_file;
pub mod failure;
mod files;
pub mod handshake;
mod interface;
pub mod isolation;
mod lenient;
pub mod login;
pub mod mcp_probe;
mod recorder;
mod refusal;
pub mod sandbox;
pub mod snapshot;
pub mod trial_env;
pub mod turns;

use std::path::Path;

use crate::lint::SkillList;
use crate::profile::agents;
use crate::settings::Settings;
use crate::settings::mode::{AgentKind, Mode};
use crate::skill::{SKILL_FILE, Skill, USER_ONLY};
use crate::trace::trouble::Trouble;
use crate::trial::evidence::Ending;

pub use assignment::Assignment;
pub use command::AgentCommand;
pub use interface::{Agent, WorkOwner};
use sandbox::SandboxProgram;

macro_rules! programs {
    ($($family:ident: $($kind:ident = $word:literal),+;)+) => {
        $(pub mod $family;)+

        /// The agent of this kind.
        #[must_use]
        pub fn of(kind: AgentKind) -> &'static dyn Agent {
            match kind {
                $($(AgentKind::$kind => &$family::$kind,)+)+
            }
        }

        /// How much each agent shows its models of the skills; docs/reference/skill-lists.md has the measurements.
        pub static LISTINGS: &[&[SkillList]] = &[$(&$family::LISTINGS),+];
    };
}
agents!(programs);

/// How to start the mode's agent for a trial, inside the sandbox that the settings want; writes what the agent needs into
/// its home.
///
/// # Errors
/// When the program or a required sandbox is missing, or the home cannot be prepared.
pub fn command(assignment: &Assignment<'_>) -> Result<AgentCommand, Trouble> {
    isolation::isolated(of(assignment.mode.agent).command(assignment)?, assignment)
}

/// The trouble of an agent that did not come to work, where its ending tells or shows one.
#[must_use]
pub fn trouble_at_start(
    ending: &Ending,
    sandbox: Option<&SandboxProgram>,
    assignment: &Assignment<'_>,
) -> Option<Trouble> {
    let told = ending.trouble.clone().or_else(|| failure::unknown_argument(ending.last_words.as_deref()?));
    let Assignment { mode, root, room, .. } = *assignment;
    told.or_else(|| isolation::not_found(mode.agent, ending, sandbox?, root, room))
}

/// The file of the skill in `folder` that keeps it from being offered as the mode says where this is asked, and why, where
/// one does: a trial of it could only be an error.
#[must_use]
pub fn withheld(
    mode: &Mode,
    settings: &Settings,
    skill: &Skill,
    folder: &Path,
    prompt: &str,
) -> Option<(&'static str, String)> {
    if mode.delivery.mcp() && settings.mcp.own.is_none() && skill.user_only {
        let why = format!("`{USER_ONLY}` keeps models from calling the skill: the MCP server does not serve it");
        return Some((SKILL_FILE, why));
    }
    let native = mode.delivery.native().then(|| of(mode.agent).withholds(skill, folder, prompt)).flatten();
    native.map(|(file, why)| (file, why.to_owned()))
}
