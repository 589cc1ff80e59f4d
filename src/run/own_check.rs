//! Checks of a repository's own: closures over what a trial left, which take part in its verdict beside the built-in
//! ones, whether it ran just now or is replayed.

use std::any::Any;
use std::fmt;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use crate::grade::checks;
use crate::store::TrialFolder;
use crate::text::relative_path::RelativePath;
use crate::trial::evidence::{Evidence, WorkspaceFile};
use crate::trial::outcome::{Check, Goal, Grade, Status};
use crate::trial::trace::Trace;

/// What a check of one's own found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// As it should be; with what shows it.
    Pass(String),
    /// Not as it should be; with what shows it.
    Fail(String),
    /// The evidence does not show it: the trial measured nothing, unless something else failed.
    Unknown(String),
    /// The check is not about this trial.
    NotAsked,
}

impl Finding {
    /// Pass where `holds`, else fail; with what shows it.
    #[must_use]
    pub fn of(holds: bool, evidence: impl Into<String>) -> Self {
        if holds { Self::Pass(evidence.into()) } else { Self::Fail(evidence.into()) }
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
            std::fs::read(path)
        } else {
            Err(io::Error::new(io::ErrorKind::InvalidInput, "no plain file"))
        }
    }

    /// Whether there is such a file at the end.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        self.files().iter().any(|file| file.path == Path::new(path))
    }
}

type Body = dyn Fn(&Trace, &Workspace<'_>) -> Finding + Send + Sync;

/// Named checks of a repository's own.
#[derive(Clone, Default)]
pub struct OwnChecks(Vec<(String, Arc<Body>)>);

impl fmt::Debug for OwnChecks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl OwnChecks {
    /// Adds a check.
    pub fn add(
        &mut self,
        name: impl Into<String>,
        check: impl Fn(&Trace, &Workspace<'_>) -> Finding + Send + Sync + 'static,
    ) {
        self.0.push((name.into(), Arc::new(check)));
    }

    /// `grade` with what these checks find in the evidence kept in `folder`.
    #[must_use]
    pub fn applied(&self, mut grade: Grade, evidence: &Evidence<'_>, folder: &TrialFolder) -> Grade {
        let workspace = Workspace { evidence, folder };
        let before = grade.checks.len();
        for (name, check) in &self.0 {
            // A check written with `assert!` says what it found by a panic.
            let found = catch_unwind(AssertUnwindSafe(|| check(evidence.trace, &workspace)))
                .unwrap_or_else(|panic| Finding::Fail(format!("the check panicked: {}", words(panic.as_ref()))));
            let (status, found) = match found {
                Finding::Pass(found) => (Status::Pass, found),
                Finding::Fail(found) => (Status::Fail, found),
                Finding::Unknown(found) => (Status::Unknown, found),
                Finding::NotAsked => continue,
            };
            let expected = format!("this repository's own check `{name}`");
            grade.checks.push(Check { id: name.clone(), goal: Goal::Outcome, status, expected, evidence: found });
        }
        if grade.checks.len() > before { checks::settle(grade) } else { grade }
    }
}

fn words(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no words")
}
