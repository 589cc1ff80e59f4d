//! Reads the settings: `evals/evals.toml` and the environment.

use std::fs;
use std::io;
use std::path::Path;

use thiserror::Error;

use crate::diagnostic::{Code, Diagnostic, Place};
use crate::relative_path::RelativePath;
use crate::rubric::{self, Rubric};
use crate::settings::{FILE, Settings};

/// Why there are no settings.
#[derive(Debug, Error)]
pub enum ConfigError {
    /// The settings file exists and cannot be read.
    #[error("cannot read {FILE}: {0}")]
    Unreadable(#[source] io::Error),
    /// The settings file is wrong.
    #[error("{} in {FILE}", count(.0.len()))]
    File(Vec<Diagnostic>),
    /// Variables are wrong.
    #[error("{}", .0.join("\n"))]
    Environment(Vec<String>),
}

fn count(problems: usize) -> String {
    if problems == 1 { "a problem".to_owned() } else { format!("{problems} problems") }
}

/// The settings for the repository at `root`: built in, file, environment.
///
/// # Errors
/// When the file or a variable is wrong.
pub fn read(root: &Path) -> Result<Settings, ConfigError> {
    let mut settings = read_file(root)?;
    // A variable that is not Unicode is none of ours: all of ours are plain words.
    let variables =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    settings.apply_environment(variables).map_err(ConfigError::Environment)?;
    Ok(settings)
}

/// The rubric of the repository at `root`: its own template and schema, each where it has one.
///
/// # Errors
/// When one of them cannot be read or used.
pub fn rubric(root: &Path, settings: &Settings) -> Result<Rubric, Box<Diagnostic>> {
    let named = settings.judge.template.as_ref().map(RelativePath::as_path);
    let own = |path: &Path, must_be_there: bool| match fs::read_to_string(root.join(path)) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound && !must_be_there => Ok(None),
        Err(error) => {
            let message = format!("the judge cannot be asked: {error}");
            Err(Box::new(Diagnostic::error(Code::Unreadable, Place::file(path), message)))
        }
    };
    let (template, schema) = (named.unwrap_or(Path::new(rubric::TEMPLATE)), Path::new(rubric::SCHEMA));
    let template_text = own(template, named.is_some())?;
    let schema_text = own(schema, false)?;
    Rubric::new(
        (template, template_text.as_deref().unwrap_or(rubric::BUILT_IN_TEMPLATE)),
        (schema, schema_text.as_deref().unwrap_or(rubric::BUILT_IN_SCHEMA)),
    )
}

/// The settings for the repository at `root` without the environment's: built in, file.
///
/// # Errors
/// When the file is wrong.
pub fn read_file(root: &Path) -> Result<Settings, ConfigError> {
    let mut settings = Settings::default();
    match fs::read_to_string(root.join(FILE)) {
        Ok(text) => settings.apply_file(&text).map_err(ConfigError::File)?,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
        Err(error) => return Err(ConfigError::Unreadable(error)),
    }
    Ok(settings)
}
