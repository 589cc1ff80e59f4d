//! Checks of a repository's own: closures over what a trial left, which take part in its verdict beside the built-in
//! ones, whether it ran just now or is replayed.

use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use crate::files::bounded;
use crate::grade::checks;
use crate::run::check_program::CheckProgram;
use crate::store::TrialFolder;
use crate::text::relative_path::RelativePath;
use crate::trace::Trace;
use crate::trial::evidence::{Evidence, WorkspaceFile};
use crate::trial::outcome::{CheckResult, Goal, Grade, Status};

/// What a repository's own check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// As it should be, and the evidence for it.
    Pass(String),
    /// Not as it should be, and the evidence for it.
    Fail(String),
    /// The evidence does not show it: the trial measured nothing, unless something else failed.
    Unknown(String),
    /// The check is not about this trial.
    NotAsked,
}

impl Finding {
    /// Pass where `passed`, else fail, with the evidence for it.
    #[must_use]
    pub fn of(passed: bool, evidence: impl Into<String>) -> Self {
        if passed { Self::Pass(evidence.into()) } else { Self::Fail(evidence.into()) }
    }
}

/// What a trial left in its workspace, and which trial it was.
#[derive(Clone, Copy, Debug)]
pub struct Workspace<'a> {
    evidence: &'a Evidence<'a>,
    folder: &'a TrialFolder,
}

impl<'a> Workspace<'a> {
    /// The slug of the skill under test.
    #[must_use]
    pub fn skill(&self) -> &'a str {
        &self.evidence.meta.skill.slug
    }

    /// The case's id.
    #[must_use]
    pub fn case(&self) -> &'a str {
        &self.evidence.meta.case.id
    }

    /// The mode's name.
    #[must_use]
    pub fn mode(&self) -> &'a str {
        &self.evidence.meta.mode
    }

    /// The agent's final message; `None` where there was none.
    #[must_use]
    pub fn final_text(&self) -> Option<&'a str> {
        self.evidence.final_text
    }

    /// The files at the end, by path. Known in replay too.
    #[must_use]
    pub fn files(&self) -> &'a [WorkspaceFile] {
        &self.evidence.meta.files
    }

    /// The content of a file that the agent made or changed. A recording keeps no contents: the error is then
    /// [`io::ErrorKind::NotFound`], and [`Finding::Unknown`] the honest answer where [`files`](Self::files) has the file.
    ///
    /// # Errors
    /// When the content was not kept, or `path` leaves the workspace.
    pub fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let path = RelativePath::parse(path).map_err(|why| io::Error::new(io::ErrorKind::InvalidInput, why))?;
        let path = self.folder.workspace().join(path.as_path());
        if std::fs::symlink_metadata(&path)?.is_file() {
            bounded::read(&path)
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "not a plain file"))
        }
    }

    /// Whether there is such a file at the end.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        self.files().iter().any(|file| file.path == Path::new(path))
    }
}

type CheckFunction = dyn Fn(&Trace, &Workspace<'_>) -> Finding + Send + Sync;

/// A check of a repository's own.
#[derive(Clone)]
struct OwnCheck {
    name: String,
    /// What it expects, in words.
    expected: String,
    body: Arc<CheckFunction>,
}

/// Named checks of a repository's own: closures in this process, or those of its harness, another program.
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
    /// Adds a check; `expected` says what it expects, for the reader of a failure.
    pub fn add(
        &mut self,
        name: impl Into<String>,
        expected: Option<String>,
        check: impl Fn(&Trace, &Workspace<'_>) -> Finding + Send + Sync + 'static,
    ) {
        let name = name.into();
        let expected = expected.unwrap_or_else(|| format!("this repository's own check `{name}`"));
        self.checks.push(OwnCheck { name, expected, body: Arc::new(check) });
    }

    /// Adds the checks that another program makes.
    pub fn add_program(&mut self, program: CheckProgram) {
        self.programs.push(Arc::new(program));
    }

    /// Adds all of these checks.
    pub fn extend(&mut self, others: Self) {
        self.checks.extend(others.checks);
        self.programs.extend(others.programs);
    }

    /// The names of all checks.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let others = self.programs.iter().flat_map(|program| program.names());
        self.checks.iter().map(|check| check.name.as_str()).chain(others.map(String::as_str))
    }

    /// The own checks in `grade` that are not among these: grading without them would drop them.
    #[must_use]
    pub fn lacking(&self, grade: &Grade) -> Vec<String> {
        let own = grade.checks.iter().filter(|check| check.custom);
        own.filter(|check| !self.names().any(|name| name == check.id)).map(|check| check.id.clone()).collect()
    }

    /// `grade` with what these checks find in the evidence kept in `folder`.
    ///
    /// # Errors
    /// When a program that makes checks does not answer.
    pub fn applied(&self, mut grade: Grade, evidence: &Evidence<'_>, folder: &TrialFolder) -> Result<Grade, String> {
        let before = grade.checks.len();
        grade.checks.extend(self.made_here(evidence, folder));
        for program in &self.programs {
            grade.checks.extend(program.ask(folder.path())?);
        }
        Ok(if grade.checks.len() > before { checks::settle(grade) } else { grade })
    }

    /// What the closures among these checks find.
    #[must_use]
    pub fn made_here(&self, evidence: &Evidence<'_>, folder: &TrialFolder) -> Vec<CheckResult> {
        let workspace = Workspace { evidence, folder };
        let made = self.checks.iter().filter_map(|OwnCheck { name, expected, body }| {
            // A check written with `assert!` reports what it found by panicking.
            let found = catch_unwind(AssertUnwindSafe(|| body(evidence.trace, &workspace)))
                .unwrap_or_else(|panic| Finding::Fail(format!("the check panicked: {}", message_of(panic.as_ref()))));
            let (status, evidence) = match found {
                Finding::Pass(found) => (Status::Pass, found),
                Finding::Fail(found) => (Status::Fail, found),
                Finding::Unknown(found) => (Status::Unknown, found),
                Finding::NotAsked => return None,
            };
            let (id, expected) = (name.clone(), expected.clone());
            Some(CheckResult {
                id,
                goal: Goal::Outcome,
                status,
                expected,
                found: evidence,
                custom: true,
                spans: Vec::new(),
            })
        });
        made.collect()
    }
}

fn message_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}
