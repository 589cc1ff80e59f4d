//! Reads the settings: `evals/evals.toml` and the environment.

use std::io;
use std::path::Path;

use thiserror::Error;

use crate::files::inside;
use crate::settings::{FILE, Settings, Trust};
use crate::text::diagnostic::Diagnostic;

/// Why the settings cannot be read.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The settings file exists and cannot be read.
    #[error("cannot read {FILE}: {0}")]
    Unreadable(#[source] io::Error),
    /// The settings file is invalid.
    #[error("{} in {FILE}", count(.0.len()))]
    File(Vec<Diagnostic>),
    /// Variables are invalid.
    #[error("{}", .0.join("\n"))]
    Environment(Vec<String>),
}

fn count(problems: usize) -> String {
    if problems == 1 { "a problem".to_owned() } else { format!("{problems} problems") }
}

/// The settings for the repository at `root`: built in, file, environment.
pub fn read(root: &Path, trust: Trust) -> Result<Settings, ConfigError> {
    with_environment(read_file(root, trust)?, trust)
}

/// The same for a gate, whose table in the file overrides the rest of the file.
pub fn read_for_gate(root: &Path, trust: Trust) -> Result<Settings, ConfigError> {
    with_environment(read_file(root, trust)?.for_gate(), trust)
}

fn with_environment(mut settings: Settings, trust: Trust) -> Result<Settings, ConfigError> {
    // All variables of this program are Unicode.
    let variables =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    settings.apply_environment(variables).map_err(ConfigError::Environment)?;
    trust.confine(&mut settings).map_err(|why| ConfigError::Environment(vec![why]))?;
    Ok(settings)
}

/// The settings for the repository at `root` without the environment's: built in, file.
pub fn read_file(root: &Path, trust: Trust) -> Result<Settings, ConfigError> {
    let mut settings = Settings { root: Some(root.to_path_buf()), ..Settings::default() };
    match inside::read_text(root, Path::new(FILE)) {
        Ok(text) => {
            let refused = trust.refuses(&text);
            if !refused.is_empty() {
                return Err(ConfigError::File(refused));
            }
            settings.apply_file(&text).map_err(ConfigError::File)?;
        }
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
        Err(error) => return Err(ConfigError::Unreadable(error)),
    }
    Ok(settings)
}
