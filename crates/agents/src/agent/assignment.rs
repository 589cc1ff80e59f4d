//! What an agent is asked to do.

use std::path::{Path, PathBuf};

use crate::agent::mcp_probe::ServerCommand;
use crate::agent::trial_env::TrialEnv;
use crate::cases::case::Case;
use crate::cases::plugin::Plugin;
use crate::files::at::PathError;
use crate::settings::Settings;
use crate::settings::mode::Mode;
use crate::text::redact::Redactor;

/// What the final message of a trial has to be.
#[derive(Clone, Debug)]
pub struct OutputSchema {
    /// Where the agent finds it as a file, which may not be where the runner does.
    pub path: PathBuf,
    pub text: Vec<u8>,
}

impl OutputSchema {
    /// Shows the schema to the agent of this environment.
    pub fn show(trial_env: &TrialEnv, text: Vec<u8>) -> Result<Self, PathError> {
        Ok(Self { path: trial_env.show("schema.json", &text)?, text })
    }
}

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
    /// The plugin with which it gets the skill under test.
    pub plugin: Option<&'a Plugin>,
    /// The output schema, if the case has one.
    pub schema: Option<&'a OutputSchema>,
    /// Masks the secrets that the settings know in what its program prints before it is asked anything.
    pub redactor: &'a Redactor,
}
