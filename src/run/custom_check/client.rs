//! A crate's own checks, run by its harness: a separate program that answers questions about stored trials.
//!
//! A harness has its checks as closures, which no other program can call. So that `skill-evals run`, `grade`, `record`
//! and the other commands reach the same verdict as `cargo test`, they start the harness with the one argument
//! `own-checks` and exchange lines of JSON with it. The harness begins with `{"own_checks": ["name", …], "root": "…"}`,
//! and answers each `{"folder": "…"}` (a stored trial) with `{"checks": […]}` as in `grade.json`, or with `{"error": "…"}`.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::process::service::Service;
use crate::trial::outcome::CheckResult;

/// The argument with which a harness answers questions about its checks.
pub const ARGUMENT: &str = "own-checks";

/// The variable that names a harness to use instead of the one that cargo builds.
pub const VARIABLE: &str = "SKILL_EVALS_HARNESS";

/// Maximum number of lines that a harness may print before its greeting.
const MOST_LINES: usize = 1000;

/// The first line of a harness.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Greeting {
    pub own_checks: Vec<String>,
    /// The root of the repository that the checks are for.
    pub root: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CheckQuestion {
    pub folder: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum HarnessAnswer {
    Checks(Vec<CheckResult>),
    Error(String),
}

#[derive(Debug)]
pub struct HarnessClient {
    start: HarnessStart,
    names: Vec<String>,
    /// `None` after an unanswered question. The next question starts the harness again, so that a check that hangs on
    /// one trial does not spoil the others.
    service: Mutex<Option<Service>>,
}

#[derive(Debug)]
struct HarnessStart {
    path: PathBuf,
    root: PathBuf,
    /// The crate that it was built from; `None` if [`VARIABLE`] names the harness.
    package: Option<PathBuf>,
}

impl HarnessClient {
    /// Starts a harness that was built from the crate in `package`; `None` if it adds no checks. Fails if it is the harness of
    /// another repository than that at `root`.
    pub(super) fn start(path: &Path, root: &Path, package: Option<&Path>) -> Result<Option<Self>, String> {
        let package = package.map(Path::to_path_buf);
        let start = HarnessStart { path: path.to_path_buf(), root: root.to_path_buf(), package };
        let (service, greeting) = start.begin()?;
        let is_other_repository = start.package.is_some() && canonical(&greeting.root) != canonical(root);
        if is_other_repository {
            return Err(format!(
                "the harness {} is that of another repository, {}: name the test of this one in evals/evals.toml, or set its root by \
                 `Harness::root`",
                path.display(),
                greeting.root.display()
            ));
        }
        if greeting.own_checks.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self { start, names: greeting.own_checks, service: Mutex::new(Some(service)) }))
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The results of its checks for a stored trial.
    pub fn ask(&self, folder: &Path) -> Result<Vec<CheckResult>, String> {
        let failed = |error: &dyn Display| format!("the harness {}: {error}", self.start.path.display());
        let folder = std::path::absolute(folder).map_err(|error| failed(&error))?;
        let question = serde_json::to_string(&CheckQuestion { folder }).map_err(|error| failed(&error))?;
        let mut slot = self.service.lock().unwrap_or_else(PoisonError::into_inner);
        let mut service = match slot.take() {
            Some(service) => service,
            None => self.start.begin()?.0,
        };
        let line = service.exchange(Some(&question)).map_err(|error| failed(&error))?;
        let answer = serde_json::from_str(&line).map_err(|error| failed(&error))?;
        *slot = Some(service);
        match answer {
            HarnessAnswer::Checks(checks) => Ok(checks),
            HarnessAnswer::Error(why) => Err(failed(&why)),
        }
    }
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

impl HarnessStart {
    /// Starts the harness and reads its greeting. Ignores what its `main` prints before.
    fn begin(&self) -> Result<(Service, Greeting), String> {
        let mut last_line = None;
        self.greeting(&mut last_line).map_err(|error| {
            let printed = last_line.map_or_else(String::new, |line| format!("; the last line that it printed: {line}"));
            let path = self.path.display();
            format!("the harness {path} cannot be asked for the checks that it adds: {error}{printed}")
        })
    }

    fn greeting(&self, last_line: &mut Option<String>) -> io::Result<(Service, Greeting)> {
        // A harness that cargo built finds its repository as under `cargo test`; a named one is for this repository.
        let package = self.package.as_deref();
        let root = package.is_none().then_some(self.root.as_path());
        let variables = [("CARGO_MANIFEST_DIR", package), ("SKILL_EVALS_ROOT", root)];
        let mut service = Service::start(&self.path, &[ARGUMENT], package.unwrap_or(&self.root), &variables)?;
        for _ in 0..MOST_LINES {
            let line = service.exchange(None)?;
            match serde_json::from_str(&line) {
                Ok(greeting) => return Ok((service, greeting)),
                Err(_) => *last_line = Some(line),
            }
        }
        Err(io::Error::other(format!("it printed {MOST_LINES} lines and named none")))
    }
}
