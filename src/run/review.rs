//! A stored trial, read again to be looked at. Nothing is graded that has a grade, and nothing is written.

use std::io;
use std::path::{Path, PathBuf};

use crate::cases::case::Case;
use crate::cases::catalog::evals_folder;
use crate::files::{below, bounded};
use crate::grade::rubric::Judgement;
use crate::results::timeline::Timeline;
use crate::run::context::RunContext;
use crate::run::judge::{self, JudgeExhibit};
use crate::run::regrade;
use crate::store::TrialFolder;
use crate::trace::Trace;
use crate::trial::evidence::{Evidence, Meta};
use crate::trial::outcome::Grade;

/// Most files of a trial that are shown.
const MAX_LISTED: usize = 200;

/// The longest file whose text is shown, in bytes.
const MAX_FILE: u64 = 64 << 10;

/// The most that is shown of all files of a trial together, in bytes.
const MAX_FILES: u64 = 1 << 20;

/// A file that the agent made or changed.
#[derive(Debug)]
pub struct ChangedFile {
    /// Below the workspace.
    pub path: PathBuf,
    /// In bytes.
    pub size: u64,
    /// What the fixture has in its place today, where it has a text.
    pub before: Option<String>,
    /// Its text, or why that is not shown.
    pub after: Result<String, String>,
}

/// The text of a file that an agent may have written; `left` is how much more is shown.
fn text(folder: &Path, path: &Path, left: &mut u64) -> Result<String, String> {
    let limit = MAX_FILE.min(*left);
    let content = below::read(folder, path, limit).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => format!("longer than {} are not shown", bounded::bytes(limit)),
        _ => error.to_string(),
    })?;
    *left = left.saturating_sub(content.len() as u64);
    let text = String::from_utf8(content).map_err(|_| "not a text".to_owned())?;
    if text.contains('\0') { Err("not a text".to_owned()) } else { Ok(text) }
}

/// A stored trial.
#[derive(Debug)]
pub struct TrialReview {
    /// Facts about it.
    pub meta: Meta,
    /// What the agent's own files tell.
    pub trace: Trace,
    /// Its final message.
    pub final_text: Option<String>,
    /// What it came to: as it was stored, or for a recording, as it is graded today.
    pub grade: Grade,
}

impl TrialReview {
    /// Reads a trial of a run, or a recording.
    pub fn of(run: &RunContext, folder: &TrialFolder) -> Result<Self, String> {
        let meta = folder.meta().map_err(|error| error.to_string())?;
        let trace = regrade::decode(run, &meta, folder).map_err(|error| error.to_string())?;
        let final_text = folder.final_text().map_err(|error| error.to_string())?;
        let grade = if folder.has_grade() {
            folder.grade().map_err(|error| error.to_string())?
        } else {
            let gone = || format!("the case `{}` of the skill `{}` no longer exists", meta.case.id, meta.skill.slug);
            let case = case(run, &meta).ok_or_else(gone)?;
            let skill = run.catalog.skill(&meta.skill.slug).ok_or_else(gone)?;
            regrade::regrade(run, case, skill, folder).map_err(|error| error.to_string())?.1
        };
        Ok(Self { meta, trace, final_text, grade })
    }

    /// What grading looked at.
    #[must_use]
    pub fn evidence(&self) -> Evidence<'_> {
        Evidence { meta: &self.meta, trace: &self.trace, final_text: self.final_text.as_deref() }
    }

    /// The files that the agent made or changed, with what the fixture had in their place.
    #[must_use]
    pub fn files(&self, run: &RunContext, folder: &TrialFolder) -> Vec<ChangedFile> {
        let fixture = self
            .case(run)
            .and_then(|case| Some(run.root.join(evals_folder(&case.skill)).join(case.fixture.as_ref()?.as_path())));
        let (workspace, mut left) = (folder.workspace(), MAX_FILES);
        let changed = self.meta.files.iter().filter(|file| file.changed && !file.is_folder()).take(MAX_LISTED);
        changed
            .map(|file| {
                let after = text(&workspace, &file.path, &mut left);
                let before = fixture.as_ref().and_then(|fixture| text(fixture, &file.path, &mut left).ok());
                ChangedFile { path: file.path.clone(), size: file.size, before, after }
            })
            .collect()
    }

    /// What the judge was asked, where that is known: its question is not stored, but its digest is.
    #[must_use]
    pub fn question(&self, run: &RunContext, folder: &TrialFolder, judgement: &Judgement) -> Option<String> {
        let (case, skill) = (self.case(run)?, run.catalog.skill(&self.meta.skill.slug)?);
        let exhibit = JudgeExhibit { case, skill, meta: &self.meta, final_text: self.final_text.as_deref(), folder };
        judge::question(run, &exhibit, judgement)
    }

    fn case<'a>(&self, run: &'a RunContext) -> Option<&'a Case> {
        case(run, &self.meta)
    }

    /// What happened, and where each check looked.
    #[must_use]
    pub fn timeline(&self) -> Timeline {
        Timeline::new(&self.evidence(), &self.grade)
    }
}

/// The trial's case as it stands today, where there is one.
fn case<'a>(run: &'a RunContext, meta: &Meta) -> Option<&'a Case> {
    let is_it = |skill: &str, id: &str| skill == meta.skill.slug && id == meta.case.id;
    run.catalog.cases.iter().find(|found| is_it(&found.skill, &found.id))?.case().ok()
}
