//! Custom checks of a repository: closures over what a trial left. They take part in its verdict like the built-in ones,
//! live and in replay.

use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use crate::checks::OPEN;
use crate::grade::verdict::settle;
use crate::run::check_program::CheckProgram;
use crate::store::TrialFolder;
use crate::text::relative_path::RelativePath;
use crate::trace::Trace;
use crate::trial::evidence::Evidence;
use crate::trial::outcome::{CheckResult, Goal, Grade, Status};
use crate::trial::workspace_file::WorkspaceFile;

/// The result of a custom check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// The check passes; with its evidence.
    Pass(String),
    /// The check fails; with its evidence.
    Fail(String),
    /// There is not enough evidence to decide: the trial could not be measured, unless something else failed.
    Unknown(String),
    /// The check is not about this trial.
    NotAsked,
}

impl Finding {
    /// `Pass` if `passed`, otherwise `Fail`.
    pub fn of(passed: bool, evidence: impl Into<String>) -> Self {
        if passed { Self::Pass(evidence.into()) } else { Self::Fail(evidence.into()) }
    }
}

/// A trial, and what it left in its workspace.
#[derive(Clone, Copy, Debug)]
pub struct Workspace<'a> {
    evidence: &'a Evidence<'a>,
    folder: &'a TrialFolder,
}

impl<'a> Workspace<'a> {
    /// The slug of the skill under test.
    pub fn skill(&self) -> &'a str {
        &self.evidence.meta.skill.slug
    }

    /// The case's id.
    pub fn case(&self) -> &'a str {
        &self.evidence.meta.case.id
    }

    /// The mode's name.
    pub fn mode(&self) -> &'a str {
        &self.evidence.meta.mode
    }

    /// The agent's final message.
    pub fn final_text(&self) -> Option<&'a str> {
        self.evidence.final_text
    }

    /// The files at the end, by path. Also known in replay.
    pub fn files(&self) -> &'a [WorkspaceFile] {
        &self.evidence.meta.files
    }

    /// The content of a file that the agent made or changed. A recording has only small contents.
    pub fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let path = RelativePath::parse(path).map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
        self.folder.workspace_file(path.as_path())
    }

    /// Whether this file exists at the end.
    pub fn has(&self, path: &str) -> bool {
        self.files().iter().any(|file| file.path == Path::new(path))
    }
}

type CheckFunction = dyn Fn(&Trace, &Workspace<'_>) -> Finding + Send + Sync;

#[derive(Clone)]
struct OwnCheck {
    name: String,
    expected: String,
    body: Arc<CheckFunction>,
}

/// Custom checks: closures in this process, and those of harnesses, which are other programs.
#[derive(Clone, Default)]
pub struct OwnChecks {
    checks: Vec<OwnCheck>,
    programs: Vec<Arc<CheckProgram>>,
}

impl fmt::Debug for OwnChecks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

impl OwnChecks {
    /// Adds a check; a failure shows what it `expected`.
    pub fn add(
        &mut self,
        name: impl Into<String>,
        expected: Option<String>,
        check: impl Fn(&Trace, &Workspace<'_>) -> Finding + Send + Sync + 'static,
    ) {
        let name = name.into();
        let expected = expected.unwrap_or_else(|| own(&name));
        self.checks.push(OwnCheck { name, expected, body: Arc::new(check) });
    }

    pub fn add_program(&mut self, program: CheckProgram) {
        self.programs.push(Arc::new(program));
    }

    pub fn extend(&mut self, others: Self) {
        self.checks.extend(others.checks);
        self.programs.extend(others.programs);
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        let others = self.programs.iter().flat_map(|program| program.names());
        self.checks.iter().map(|check| check.name.as_str()).chain(others.map(String::as_str))
    }

    /// The custom checks in `grade` that are not among these: grading would drop them.
    pub fn lacking(&self, grade: &Grade) -> Vec<String> {
        let custom = grade.checks.iter().filter(|check| check.custom);
        custom.filter(|check| !self.names().any(|name| name == check.id)).map(|check| check.id.clone()).collect()
    }

    /// `grade` with the results of these checks for the trial in `folder`. They see whole trials only. Fails if another program
    /// does not answer.
    pub fn applied(&self, mut grade: Grade, evidence: &Evidence<'_>, folder: &TrialFolder) -> Result<Grade, String> {
        let before = grade.checks.len();
        if evidence.meta.ending.settled {
            grade.checks.extend(self.names().map(open));
            return Ok(settle(grade));
        }
        grade.checks.extend(self.made_here(evidence, folder));
        for program in &self.programs {
            grade.checks.extend(program.ask(folder.path())?);
        }
        Ok(if grade.checks.len() > before { settle(grade) } else { grade })
    }

    /// The results of the checks that are closures in this process.
    pub fn made_here(&self, evidence: &Evidence<'_>, folder: &TrialFolder) -> Vec<CheckResult> {
        let workspace = Workspace { evidence, folder };
        self.checks.iter().filter_map(|check| check.result(evidence.trace, &workspace)).collect()
    }
}

impl OwnCheck {
    fn result(&self, trace: &Trace, workspace: &Workspace<'_>) -> Option<CheckResult> {
        // A check written with `assert!` fails by panicking.
        let finding = catch_unwind(AssertUnwindSafe(|| (self.body)(trace, workspace)))
            .unwrap_or_else(|panic| Finding::Fail(format!("the check panicked: {}", message_of(panic.as_ref()))));
        let (status, found) = match finding {
            Finding::Pass(evidence) => (Status::Pass, evidence),
            Finding::Fail(evidence) => (Status::Fail, evidence),
            Finding::Unknown(evidence) => (Status::Unknown, evidence),
            Finding::NotAsked => return None,
        };
        Some(result(&self.name, status, self.expected.clone(), found))
    }
}

/// The result of a custom check of this name that is still open.
fn open(name: &str) -> CheckResult {
    result(name, Status::Unknown, own(name), OPEN.to_owned())
}

/// What a custom check expects that does not say it.
fn own(name: &str) -> String {
    format!("this repository's own check `{name}`")
}

fn result(name: &str, status: Status, expected: String, found: String) -> CheckResult {
    CheckResult { custom: true, ..CheckResult::new(name, Goal::Outcome, status, expected, found) }
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}
