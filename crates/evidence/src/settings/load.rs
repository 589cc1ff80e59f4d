//! Reads the settings: `evals/evals.toml` and the environment.

use std::io;
use std::path::Path;

use thiserror::Error;

use crate::files::at::{At, PathError};
use crate::files::{inside, look};
use crate::settings::{FILE, Settings, Trust};
use crate::text::diagnostic::Diagnostic;
use crate::text::problem::Problem;

/// Why the settings cannot be read.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The settings file exists and cannot be read.
    #[error("cannot read {FILE}: {0}")]
    Unreadable(#[source] io::Error),
    /// The settings file is invalid.
    #[error("{} in {FILE}", count(.0.len()))]
    File(Vec<Diagnostic>),
    /// The settings file of the commit to compare with is invalid.
    #[error("{} in {FILE} of the base:\n{}", count(.0.len()), .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Base(Vec<Diagnostic>),
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

/// The same for a gate, whose table in the file overrides the rest of the file. `base` is the text of the settings file of the commit
/// to compare with: it says what an untrusted branch may not.
pub fn read_for_gate(root: &Path, trust: Trust, base: Option<&str>) -> Result<Settings, ConfigError> {
    with_environment(read_file_with(root, trust, base)?.for_gate(), trust)
}

fn with_environment(mut settings: Settings, trust: Trust) -> Result<Settings, ConfigError> {
    settings.apply_environment(std::env::vars_os()).map_err(ConfigError::Environment)?;
    trust.confine(&mut settings).map_err(|why| ConfigError::Environment(vec![why]))?;
    Ok(settings)
}

impl From<ConfigError> for Problem {
    fn from(error: ConfigError) -> Self {
        match error {
            ConfigError::File(problems) => Self::Files(problems),
            ConfigError::Base(problems) => {
                Self::SaidOf(format!("{} in {FILE} of the base:", count(problems.len())), problems)
            }
            other => Self::Said(other.to_string()),
        }
    }
}

/// The settings for the repository at `root` without the environment's: built in, file.
pub fn read_file(root: &Path, trust: Trust) -> Result<Settings, ConfigError> {
    read_file_with(root, trust, None)
}

/// The text of the settings file, if there is one, whatever it says.
pub fn text(root: &Path) -> Result<Option<String>, PathError> {
    let bytes = look::unless_absent(inside::read(root, Path::new(FILE))).at(&root.join(FILE))?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

fn read_file_with(root: &Path, trust: Trust, base: Option<&str>) -> Result<Settings, ConfigError> {
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
    if trust == Trust::Trusted {
        return Ok(settings);
    }
    let mut of_base = Settings::default();
    of_base.apply_file(base.unwrap_or_default()).map_err(ConfigError::Base)?;
    Ok(Trust::of_file(settings, of_base))
}
