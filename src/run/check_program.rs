//! A crate's own checks, run by its harness: a separate program that is asked about stored trials.
//!
//! A harness has its checks as closures, which no other program can call. So that `skill-evals run`, `grade`, `record`
//! and the other commands come to the same verdict as `cargo test`, they start the harness with the one argument
//! `own-checks` and exchange lines of JSON with it: it begins with `{"own_checks": ["name", …], "root": "…"}`, and answers each
//! `{"folder": "…"}` (a stored trial) with `{"checks": […]}` as in `grade.json`, or with `{"error": "…"}`.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::process::service::Service;
use crate::trial::outcome::CheckResult;

/// The argument that makes a harness answer about its checks.
pub const ARGUMENT: &str = "own-checks";

/// The variable that names a harness to ask, in place of those that cargo builds.
pub const VARIABLE: &str = "SKILL_EVALS_HARNESS";

/// How many lines a harness may print before it begins to answer.
const MOST_LINES: usize = 1000;

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
pub(super) enum ProgramAnswer {
    Checks(Vec<CheckResult>),
    Error(String),
}

/// A harness that is asked about stored trials.
#[derive(Debug)]
pub struct CheckProgram {
    how: HarnessStart,
    names: Vec<String>,
    /// None after a question that it did not answer: it is started anew for the next, which a check that fails to
    /// come back for one trial must not spoil.
    service: Mutex<Option<Service>>,
}

/// How a harness is started.
#[derive(Debug)]
struct HarnessStart {
    path: PathBuf,
    root: PathBuf,
    /// The crate that it was built from; absent where it was named.
    package: Option<PathBuf>,
}

impl CheckProgram {
    /// Starts a harness that was built from the crate in `package`; `None` where it adds no checks to those of the
    /// repository at `root`.
    pub(super) fn start(path: &Path, root: &Path, package: Option<&Path>) -> Result<Option<Self>, String> {
        let how = HarnessStart {
            path: path.to_path_buf(),
            root: root.to_path_buf(),
            package: package.map(Path::to_path_buf),
        };
        let (service, greeting) = how.begin()?;
        let same = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        if greeting.own_checks.is_empty() || (package.is_some() && same(&greeting.root) != same(root)) {
            return Ok(None);
        }
        Ok(Some(Self { how, names: greeting.own_checks, service: Mutex::new(Some(service)) }))
    }

    /// The names of its checks.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// What its checks find in a stored trial.
    pub fn ask(&self, folder: &Path) -> Result<Vec<CheckResult>, String> {
        let wrong = |error: &dyn std::fmt::Display| format!("the harness {}: {error}", self.how.path.display());
        let folder = std::path::absolute(folder).map_err(|error| wrong(&error))?;
        let question = serde_json::to_string(&Question { folder }).map_err(|error| wrong(&error))?;
        let mut slot = self.service.lock().unwrap_or_else(PoisonError::into_inner);
        let mut service = match slot.take() {
            Some(service) => service,
            None => self.how.begin()?.0,
        };
        let line = service.exchange(Some(&question)).map_err(|error| wrong(&error))?;
        let answer = serde_json::from_str(&line).map_err(|error| wrong(&error))?;
        *slot = Some(service);
        match answer {
            ProgramAnswer::Checks(checks) => Ok(checks),
            ProgramAnswer::Error(why) => Err(wrong(&why)),
        }
    }
}

impl HarnessStart {
    /// Starts the harness and reads its greeting. What its `main` prints before is passed over.
    fn begin(&self) -> Result<(Service, Greeting), String> {
        let mut other = None;
        self.greeting(&mut other).map_err(|error| {
            let said = other.map_or_else(String::new, |line| format!("; the last line that it printed: {line}"));
            let path = self.path.display();
            format!("the harness {path} cannot be asked for the checks that it adds: {error}{said}")
        })
    }

    fn greeting(&self, other: &mut Option<String>) -> io::Result<(Service, Greeting)> {
        // As cargo starts it, where it was told where the repository is. A harness that was named is about this one.
        let package = self.package.as_deref();
        let folder = package.unwrap_or(&self.root);
        let root = package.is_none().then_some(self.root.as_path());
        let variables = [("CARGO_MANIFEST_DIR", package), ("SKILL_EVALS_ROOT", root)];
        let mut service = Service::start(&self.path, &[ARGUMENT], folder, &variables)?;
        for _ in 0..MOST_LINES {
            let line = service.exchange(None)?;
            match serde_json::from_str(&line) {
                Ok(greeting) => return Ok((service, greeting)),
                Err(_) => *other = Some(line),
            }
        }
        Err(io::Error::other(format!("it printed {MOST_LINES} lines and named none")))
    }
}
