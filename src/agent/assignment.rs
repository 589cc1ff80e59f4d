//! What an agent is asked to do.

use std::path::{Path, PathBuf};

use crate::agent::mcp_probe::ServerCommand;
use crate::agent::trial_env::TrialEnv;
use crate::cases::case::Case;
use crate::settings::Settings;
use crate::settings::mode::Mode;

/// A trial as an agent needs to know it.
#[derive(Debug)]
pub struct Assignment<'a> {
    /// The repository, which the agent does not see.
    pub root: &'a Path,
    /// What to ask.
    pub case: &'a Case,
    /// How the skills arrive.
    pub mode: &'a Mode,
    /// What was chosen.
    pub settings: &'a Settings,
    /// Where the agent lives.
    pub room: &'a TrialEnv,
    /// The MCP server of skills, where the mode has one.
    pub server: Option<&'a ServerCommand>,
    /// The output schema's file, where the case has one.
    pub schema: Option<PathBuf>,
}
