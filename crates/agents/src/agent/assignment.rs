//! What an agent is asked to do.

use std::path::{Path, PathBuf};

use crate::agent::mcp_probe::ServerCommand;
use crate::agent::trial_env::TrialEnv;
use crate::cases::case::Case;
use crate::settings::Settings;
use crate::settings::mode::Mode;
use crate::text::redact::Redactor;

/// A trial, for the agent that runs it.
#[derive(Debug)]
pub struct Assignment<'a> {
    /// The repository, which the agent does not see.
    pub root: &'a Path,
    pub case: &'a Case,
    pub mode: &'a Mode,
    pub settings: &'a Settings,
    pub trial_env: &'a TrialEnv,
    /// The MCP server of skills, if the mode has one.
    pub server: Option<&'a ServerCommand>,
    /// The output schema's file, if the case has one.
    pub schema: Option<PathBuf>,
    /// Masks the secrets that the settings know in what its program prints before it is asked anything.
    pub redactor: &'a Redactor,
}
