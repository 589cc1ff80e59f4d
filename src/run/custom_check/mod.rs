//! Custom checks of a repository, written in Rust. They take part in its verdict like the built-in ones, live and in replay.
//!
//! [`Check`] is what users write, and [`Trial`] what they see. The harness has its checks as closures. The program `skill-evals`
//! builds a harness and asks it.

mod check;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cases::catalog::Catalog;
use crate::checks::OPEN;
use crate::grade::verdict::settle;
use crate::process::service::{self, Service};
use crate::process::{find_program, run_to_end};
use crate::store::TrialFolder;
use crate::text::diagnostic::shorten;
use crate::text::name::RelativePath;
use crate::text::name::check_id;
use crate::text::problem::{About, Problem};
use crate::trial::evidence::Evidence;
use crate::trial::outcome::{CheckResult, Grade, Status};
pub use check::{Check, CheckError, Finding, ReadError, Recording, RecordingError, Trial, TrialSample};

/// Custom checks: those of this process, and those of harnesses, which are other programs.
#[derive(Clone, Default)]
pub struct CustomChecks {
    checks: Vec<Check>,
    harnesses: Vec<Arc<HarnessClient>>,
}

impl fmt::Debug for CustomChecks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl CustomChecks {
    pub fn add(&mut self, check: Check) {
        self.checks.push(check);
    }

    fn add_harness(&mut self, harness: HarnessClient) {
        self.harnesses.push(Arc::new(harness));
    }

    /// The same checks, run by a process of their own: this harness, started once more for the repository at `root`.
    pub fn in_own_process(self, root: &Path) -> io::Result<Self> {
        let mut isolated = Self { checks: Vec::new(), harnesses: self.harnesses };
        if !self.checks.is_empty() {
            let names = self.checks.into_iter().map(|check| check.name).collect();
            isolated.add_harness(HarnessClient::of_this_process(names, root)?);
        }
        Ok(isolated)
    }

    pub fn extend(&mut self, others: Self) {
        self.checks.extend(others.checks);
        self.harnesses.extend(others.harnesses);
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        let others = self.harnesses.iter().flat_map(|harness| harness.names());
        self.checks.iter().map(|check| check.name.as_str()).chain(others.map(String::as_str))
    }

    /// Checks that every check of this process has a name of its own: results have no other mark.
    pub fn check_names(&self) -> Result<(), Problem> {
        let mut known = BTreeSet::new();
        for check in &self.checks {
            let name = shorten(&check.name);
            if let Err(why) = check_id(&check.name) {
                return Err(
                    format!("the name of the check {name:?} {why}; use kebab-case, such as `report-is-short`").into()
                );
            }
            if !known.insert(&check.name) {
                return Err(format!("two checks have the name `{name}`; give each its own").into());
            }
        }
        Ok(())
    }

    /// The custom checks in `grade` that are not among these: grading would drop them.
    pub fn lacking(&self, grade: &Grade) -> Vec<String> {
        let custom = grade.checks.iter().filter(|check| check.custom);
        custom.filter(|check| !self.names().any(|name| name == check.id)).map(|check| check.id.clone()).collect()
    }

    /// Why checks of this process are about no case of the whole `catalog`, in words.
    pub fn without_effect(&self, catalog: &Catalog) -> Vec<String> {
        self.checks.iter().filter_map(|check| check.without_effect(catalog)).collect()
    }

    /// `grade` with the results of these checks for the trial in `folder`. They see whole trials only. Each may take `limit`, and
    /// `tell` gets its name. Fails if another program does not answer.
    pub fn applied(
        &self,
        mut grade: Grade,
        evidence: &Evidence<'_>,
        folder: &TrialFolder,
        limit: Duration,
        tell: &dyn Fn(&str),
    ) -> Result<Grade, Problem> {
        let before = grade.checks.len();
        if evidence.meta.ending.settled {
            grade.checks.extend(self.names().map(open));
            return Ok(settle(grade));
        }
        let trial = Trial::stored(*evidence, folder);
        grade.checks.extend(self.checks.iter().filter_map(|check| check.result(&trial)));
        for harness in &self.harnesses {
            grade.checks.extend(harness.ask(folder.path(), limit, tell)?);
        }
        Ok(if grade.checks.len() > before { settle(grade) } else { grade })
    }
}

/// The result of a custom check of this name that is still open.
fn open(name: &str) -> CheckResult {
    check::result(name, Status::Unknown, check::own(name), OPEN.to_owned())
}

// The harness of a crate in the repository, if it adds checks of its own: built by cargo, and asked by other programs about stored
// trials.

/// The checks that a harness adds to those of the repository at `root`: of the harness in [`VARIABLE`], or of the test
/// `named` in evals.toml (`<crate directory>/<test>`), which cargo builds; `tell` gets a message about that. Fails if
/// the harness cannot be built or asked, because grading without its checks would reach other verdicts than `cargo test`.
pub fn custom_checks(
    root: &Path,
    named: Option<&RelativePath>,
    tell: impl FnOnce(&str),
) -> Result<CustomChecks, Problem> {
    let mut checks = CustomChecks::default();
    if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        if let Some(program) = HarnessClient::start(Path::new(&path), root, None)? {
            checks.add_harness(program);
        }
        return Ok(checks);
    }
    let Some(named) = named.map(RelativePath::as_path) else { return Ok(checks) };
    let package = root.join(named.parent().unwrap_or(Path::new("")));
    let test = named.file_name().unwrap_or_default().to_string_lossy();
    let setting = format!("`harness = \"{}\"` in evals/evals.toml", named.display());
    if find_program("cargo").is_none() {
        return Err(format!(
            "{setting} adds checks written in Rust, and `cargo` is not on the PATH to build them; install Rust \
             (https://rustup.rs), or build the test `{test}` elsewhere and name the program in {VARIABLE}"
        )
        .into());
    }
    tell(&format!("cargo builds the test `{test}` in {}, which may add checks", package.display()));
    let not_built = |error: &dyn Display| {
        format!(
            "{setting}: cargo cannot build the test `{test}` in {}: {error}; fix what cargo says, or \
             build it and name the program in {VARIABLE}",
            package.display()
        )
    };
    let args = ["test", "--no-run", "--quiet", "--message-format", "json-render-diagnostics", "--test", &test];
    let messages = run_to_end::stdout_of("cargo", &args, &package).map_err(|error| not_built(&error))?;
    let program = the_executable(&messages, &package, package == root, &test).map_err(|why| not_built(&why))?;
    let program = HarnessClient::start(&program, root, Some(&package)).about(setting)?;
    if let Some(program) = program {
        checks.add_harness(program);
    }
    Ok(checks)
}

/// The program of the test of this name according to cargo's messages: that of the crate in `package`, or of the only crate that has
/// one if `any` may be meant.
fn the_executable(messages: &[u8], package: &Path, any: bool, test: &str) -> Result<PathBuf, Problem> {
    let messages = messages.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<Value>(line).ok());
    let is_test = |message: &Value| {
        let target = &message["target"];
        let kinds = target["kind"].as_array();
        message["reason"] == "compiler-artifact"
            && target["name"] == test
            && kinds.is_some_and(|all| all.contains(&"test".into()))
    };
    let real = |path: PathBuf| path.canonicalize().unwrap_or(path);
    let path = |value: &Value| value.as_str().map(PathBuf::from);
    // The manifest of each, with its program.
    let built: BTreeMap<PathBuf, PathBuf> = messages
        .filter(is_test)
        .filter_map(|message| Some((real(path(&message["manifest_path"])?), path(&message["executable"])?)))
        .collect();
    let crates = || {
        let all = built.keys().filter_map(|manifest| Some(manifest.parent()?.display().to_string()));
        all.collect::<Vec<_>>().join(", ")
    };
    let own = real(package.join("Cargo.toml"));
    if let Some(program) = built.iter().find_map(|(manifest, program)| (*manifest == own).then_some(program)) {
        return Ok(program.clone());
    }
    if !any {
        return Err(format!("no crate there has a test of this name; these do: {}", crates()).into());
    }
    let mut programs = built.values();
    match (programs.next(), programs.next()) {
        (None, _) => Err("it built no such test".into()),
        (Some(program), None) => Ok(program.clone()),
        _ => Err(format!("several crates have a test of this name: {}; name one as \"CRATE/{test}\"", crates()).into()),
    }
}

/// Answers questions about these checks of the repository at `root`, on standard input and output until the input ends:
/// what a harness does when it is started with [`ARGUMENT`]. `problems` are those of its setup.
pub fn serve(checks: &CustomChecks, root: PathBuf, problems: Vec<String>) -> io::Result<()> {
    // Takes standard output away from `main` and the checks, which may print.
    let mut out = service::answers()?;
    let questions = service::questions()?;
    write_line(&mut out, &Greeting { own_checks: checks.names().map(str::to_owned).collect(), root, problems })?;
    for line in questions {
        let answer = match serde_json::from_str(&line) {
            Ok(CheckQuestion { folder }) => results(checks, &folder, &mut out)?,
            Err(error) => HarnessAnswer::Error(format!("{line:?} is not a question: {error}")),
        };
        write_line(&mut out, &answer)?;
    }
    Ok(())
}

fn write_line(out: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    writeln!(out, "{}", serde_json::to_string(message)?)?;
    out.flush()
}

/// The results of these checks for the stored trial at `path`. Before each it says which one runs.
fn results(checks: &CustomChecks, path: &Path, out: &mut impl Write) -> io::Result<HarnessAnswer> {
    let recording = match Recording::open(path) {
        Ok(recording) => recording,
        Err(error) => return Ok(HarnessAnswer::Error(error.to_string())),
    };
    let mut results = Vec::new();
    for check in &checks.checks {
        write_line(out, &HarnessAnswer::Checking(check.name.clone()))?;
        results.extend(check.result(&recording.trial()));
    }
    Ok(HarnessAnswer::Checks(results))
}

// A crate's own checks, run by its harness: a separate program that answers questions about stored trials.
//
// A harness has its checks as closures, which no other program can call. So that `skill-evals run`, `grade`, `record`
// and the other commands reach the same verdict as `cargo test`, they start the harness with the one argument
// `own-checks` and exchange lines of JSON with it. The harness itself does so too: a check that ends its process, or never ends, takes
// no other trial along. The answering process begins with `{"own_checks": ["name", …], "root": "…"}`, and the `problems` of its setup
// unless a second argument says that they are known. It answers each `{"folder": "…"}` (a stored trial) with `{"checking": "name"}`
// for each check, and at last with `{"checks": […]}` as in `grade.json`, or with `{"error": "…"}`.

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
struct Greeting {
    pub own_checks: Vec<String>,
    /// The root of the repository that the checks are for.
    pub root: PathBuf,
    /// What is wrong with the setup of the harness.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct CheckQuestion {
    pub folder: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum HarnessAnswer {
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
    fn start(path: &Path, root: &Path, package: Option<&Path>) -> Result<Option<Self>, Problem> {
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
    fn of_this_process(names: Vec<String>, root: &Path) -> io::Result<Self> {
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
