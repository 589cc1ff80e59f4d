//! A crate's own checks, run by its harness: a separate program that answers questions about stored trials.
//!
//! A harness has its checks as closures, which no other program can call. So that `skill-evals run`, `grade`, `record`
//! and the other commands reach the same verdict as `cargo test`, they start the harness with the one argument
//! `own-checks` and exchange lines of JSON with it. The harness itself does so too: a check that ends its process, or never ends, takes
//! no other trial along. The answering process begins with `{"own_checks": ["name", …], "root": "…"}`, and the `problems` of its setup
//! unless a second argument says that they are known. It answers each `{"folder": "…"}` (a stored trial) with `{"checking": "name"}`
//! for each check, and at last with `{"checks": […]}` as in `grade.json`, or with `{"error": "…"}`.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::process::service::Service;
use crate::text::problem::Problem;
use crate::trial::outcome::CheckResult;

/// The argument with which a harness answers questions about its checks.
pub const ARGUMENT: &str = "own-checks";

/// The second argument of a process whose setup has no problem.
pub const CHECKED: &str = "checked";

/// The variable that names a harness to use instead of the one that cargo builds.
pub const VARIABLE: &str = "SKILL_EVALS_HARNESS";

/// Maximum number of lines that a harness may print before its greeting.
const MOST_LINES: usize = 1000;

/// How long a harness may take to say what it checks.
const START_LIMIT: Duration = Duration::from_secs(600);

/// The first line of a harness.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Greeting {
    pub own_checks: Vec<String>,
    /// The root of the repository that the checks are for.
    pub root: PathBuf,
    /// What is wrong with the setup of the harness.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct CheckQuestion {
    pub folder: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum HarnessAnswer {
    /// The check of this name runs now.
    Checking(String),
    Checks(Vec<CheckResult>),
    Error(String),
}

#[derive(Debug)]
pub struct HarnessClient {
    start: HarnessStart,
    names: Vec<String>,
    /// Those that wait for a question. After an unanswered question a process is ended: a check that hangs on one trial does not
    /// spoil the others.
    idle: Mutex<Vec<Service>>,
}

#[derive(Debug)]
struct HarnessStart {
    path: PathBuf,
    /// Where it starts.
    directory: PathBuf,
    /// Set for it, or removed.
    variables: Vec<(&'static str, Option<PathBuf>)>,
}

impl HarnessClient {
    /// Starts a harness that was built from the crate in `package`; `None` if it adds no checks. Fails if it is the harness of
    /// another repository than that at `root`, or its setup has a problem.
    pub(super) fn start(path: &Path, root: &Path, package: Option<&Path>) -> Result<Option<Self>, Problem> {
        // A harness that cargo built finds its repository as under `cargo test`; a named one is for this repository.
        let named_root = package.is_none().then(|| root.to_path_buf());
        let start = HarnessStart {
            path: path.to_path_buf(),
            directory: package.unwrap_or(root).to_path_buf(),
            variables: vec![("CARGO_MANIFEST_DIR", package.map(Path::to_path_buf)), ("SKILL_EVALS_ROOT", named_root)],
        };
        let (service, greeting) = start.begin(&[ARGUMENT])?;
        let is_other_repository = package.is_some() && canonical(&greeting.root) != canonical(root);
        if is_other_repository {
            return Err(format!(
                "the harness {} is that of another repository, {}: name the test of this one in evals/evals.toml, or set its root by \
                 `Harness::root`",
                path.display(),
                greeting.root.display()
            ).into());
        }
        if !greeting.problems.is_empty() {
            return Err(start.failed(&greeting.problems.join("\n")).into());
        }
        if greeting.own_checks.is_empty() {
            return Ok(None);
        }
        Ok(Some(Self { start, names: greeting.own_checks, idle: Mutex::new(vec![service]) }))
    }

    /// The harness that this process is, with checks of these names for the repository at `root`. It starts with the first question.
    pub(super) fn of_this_process(names: Vec<String>, root: &Path) -> io::Result<Self> {
        let start = HarnessStart {
            path: std::env::current_exe()?,
            directory: std::env::current_dir()?,
            variables: vec![("SKILL_EVALS_ROOT", Some(root.to_path_buf()))],
        };
        Ok(Self { start, names, idle: Mutex::default() })
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The results of its checks for a stored trial. Each check may take `limit`; `tell` gets the name of each.
    pub fn ask(&self, folder: &Path, limit: Duration, tell: &dyn Fn(&str)) -> Result<Vec<CheckResult>, Problem> {
        let failed = |error: &dyn Display| self.start.failed(error);
        let folder = std::path::absolute(folder).map_err(|error| failed(&error))?;
        let question = serde_json::to_string(&CheckQuestion { folder }).map_err(|error| failed(&error))?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut service = match idle {
            Some(service) => service,
            None => self.start.begin(&[ARGUMENT, CHECKED])?.0,
        };
        let (mut line, mut current) = (Some(question.as_str()), None);
        let answer = loop {
            let answered = service.exchange(line.take(), limit).map_err(|error| match &current {
                Some(name) => format!("the custom check `{name}` has no result: {}", of_process(&error, limit)),
                None => failed(&error),
            })?;
            match serde_json::from_str(&answered).map_err(|error| failed(&error))? {
                HarnessAnswer::Checking(name) => {
                    tell(&name);
                    current = Some(name);
                }
                HarnessAnswer::Checks(checks) => break Ok(checks),
                HarnessAnswer::Error(why) => break Err(failed(&why).into()),
            }
        };
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(service);
        answer
    }
}

/// Why the process of a check did not answer, in words.
fn of_process(error: &io::Error, limit: Duration) -> String {
    match error.kind() {
        io::ErrorKind::TimedOut => {
            format!("it did not end within {} s, the timeout of the case", limit.as_secs())
        }
        io::ErrorKind::Interrupted => error.to_string(),
        _ => format!("its process failed: {error}"),
    }
}

fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_path_buf())
}

impl HarnessStart {
    fn failed(&self, why: &dyn Display) -> String {
        format!("the harness {}: {why}", self.path.display())
    }

    /// Starts the harness and reads its greeting. Ignores what its `main` prints before.
    fn begin(&self, args: &[&str]) -> Result<(Service, Greeting), Problem> {
        let mut last_line = None;
        self.greeting(args, &mut last_line).map_err(|error| {
            let printed = last_line.map_or_else(String::new, |line| format!("; the last line that it printed: {line}"));
            let path = self.path.display();
            format!("the harness {path} cannot be asked for the checks that it adds: {error}{printed}").into()
        })
    }

    fn greeting(&self, args: &[&str], last_line: &mut Option<String>) -> io::Result<(Service, Greeting)> {
        let variables: Vec<_> = self.variables.iter().map(|(name, value)| (*name, value.as_deref())).collect();
        let mut service = Service::start(&self.path, args, &self.directory, &variables)?;
        for _ in 0..MOST_LINES {
            let line = service.exchange(None, START_LIMIT)?;
            match serde_json::from_str(&line) {
                Ok(greeting) => return Ok((service, greeting)),
                Err(_) => *last_line = Some(line),
            }
        }
        Err(io::Error::other(format!("it printed {MOST_LINES} lines and named none")))
    }
}
