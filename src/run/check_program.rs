//! The checks of a crate's own, made by its harness: a program of its own that is asked about stored trials.
//!
//! The harness of a crate holds its checks as closures, which no other program can call. So that `skill-evals run`,
//! `grade`, `record` and all others come to the verdict of `cargo test`, they start the harness with the one argument
//! `own-checks` and talk with it in lines of JSON: it begins with `{"own_checks": ["name", …], "root": "…"}`, and answers each
//! `{"folder": "…"}` (a stored trial) with `{"checks": […]}` as in `grade.json`, or with `{"error": "…"}`.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::process::service::Service;
use crate::trial::outcome::Check;

/// The argument that makes a harness answer about its checks.
pub const ARGUMENT: &str = "own-checks";

/// The variable that names a harness to ask, in place of those that cargo builds.
pub const VARIABLE: &str = "SKILL_EVALS_HARNESS";

/// The first line of a harness.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Greeting {
    pub own_checks: Vec<String>,
    /// The root of the repository whose trials they are about.
    pub root: PathBuf,
}

/// A question to it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Question {
    pub folder: PathBuf,
}

/// Its answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Answer {
    Checks(Vec<Check>),
    Error(String),
}

/// A harness that is asked about stored trials.
#[derive(Debug)]
pub struct CheckProgram {
    path: PathBuf,
    names: Vec<String>,
    service: Mutex<Service>,
}

impl CheckProgram {
    /// Starts a harness that was built from the crate in `package`; `None` where it adds no checks to those of the
    /// repository at `root`.
    pub(super) fn start(path: &Path, root: &Path, package: Option<&Path>) -> Result<Option<Self>, String> {
        let wrong = |error: &dyn std::fmt::Display| {
            format!("the harness {} cannot be asked for the checks that it adds: {error}", path.display())
        };
        // As cargo starts it, where it was told where the repository is. A harness that was named is about this one.
        let folder = package.unwrap_or(root);
        let variables = [("CARGO_MANIFEST_DIR", package), ("SKILL_EVALS_ROOT", package.is_none().then_some(root))];
        let mut service = Service::start(path, &[ARGUMENT], folder, &variables).map_err(|error| wrong(&error))?;
        let line = service.exchange(None).map_err(|error| wrong(&error))?;
        let greeting: Greeting = serde_json::from_str(&line).map_err(|error| wrong(&error))?;
        let same = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        if greeting.own_checks.is_empty() || (package.is_some() && same(&greeting.root) != same(root)) {
            return Ok(None);
        }
        Ok(Some(Self { path: path.to_path_buf(), names: greeting.own_checks, service: Mutex::new(service) }))
    }

    /// The names of its checks.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What its checks find in a stored trial.
    ///
    /// # Errors
    /// When it does not answer, or cannot read the trial.
    pub fn ask(&self, folder: &Path) -> Result<Vec<Check>, String> {
        let wrong = |error: &dyn std::fmt::Display| format!("the harness {}: {error}", self.path.display());
        let folder = std::path::absolute(folder).map_err(|error| wrong(&error))?;
        let question = serde_json::to_string(&Question { folder }).map_err(|error| wrong(&error))?;
        let mut service = self.service.lock().unwrap_or_else(PoisonError::into_inner);
        let line = service.exchange(Some(&question)).map_err(|error| wrong(&error))?;
        match serde_json::from_str(&line).map_err(|error| wrong(&error))? {
            Answer::Checks(checks) => Ok(checks),
            Answer::Error(why) => Err(wrong(&why)),
        }
    }
}
