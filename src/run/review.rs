//! A stored trial that is read to be shown. Only a trial without a grade is graded, and nothing is written.

use std::io;

use crate::cases::case::Case;
use crate::cases::start_files::start_files;
use crate::files::{beneath, bounded};
use crate::grade::rubric::Judgment;
use crate::results::timeline::Timeline;
use crate::run::planned::PlannedRun;
use crate::run::stored_trial::{StoredTrial, TrialEvidence};
use crate::run::{judge, regrade};
use crate::store::TrialFolder;
use crate::text::problem::Problem;
use crate::trace::Trace;
use crate::trial::evidence::{Evidence, Meta};
use crate::trial::outcome::Grade;
use crate::trial::workspace_file::WrittenFile;

const MAX_LISTED: usize = 200;

/// Longest file whose text is shown, in bytes.
const MAX_FILE: u64 = 64 << 10;

/// Longest text that is shown of all files of a trial together, in bytes.
const MAX_FILES: u64 = 1 << 20;

/// What is said of the case of a stored trial that no file has.
pub fn gone(skill: &str, case: &str) -> String {
    format!(
        "no file has the case `{case}` of the skill `{skill}`: it was removed, or it is written in Rust and runs by cargo test only"
    )
}

#[derive(Debug)]
pub struct TrialReview {
    pub meta: Meta,
    pub trace: Trace,
    pub final_text: Option<String>,
    /// As it was stored, or for a recording, as it is graded today.
    pub grade: Grade,
}

impl TrialReview {
    /// Reads a trial of a run, or a recording. Fails if it has no grade and its case no longer exists.
    pub fn of(run: &PlannedRun, folder: &TrialFolder) -> Result<Self, Problem> {
        let StoredTrial { meta, trace, final_text } = StoredTrial::read(run, folder)?;
        let grade = if folder.has_grade()? {
            folder.grade()?
        } else {
            let gone = || gone(&meta.skill.slug, &meta.case.id);
            let case = case(run, &meta).ok_or_else(gone)?;
            let skill = run.catalog.skill(&meta.skill.slug).ok_or_else(gone)?;
            regrade::regrade(run, case, skill, folder, &|_| ())?.1
        };
        Ok(Self { meta, trace, final_text, grade })
    }

    pub fn evidence(&self) -> Evidence<'_> {
        Evidence { meta: &self.meta, trace: &self.trace, final_text: self.final_text.as_deref() }
    }

    /// The files that the agent made or changed, as far as the case has the files of its start today.
    pub fn files(&self, run: &PlannedRun, folder: &TrialFolder) -> Vec<WrittenFile> {
        let case = case(run, &self.meta);
        let start = case.and_then(|case| start_files(&run.root, case));
        let (workspace, mut left) = (folder.workspace(), MAX_FILES);
        let changed = self.meta.files.iter().filter(|file| file.changed && !file.is_folder()).take(MAX_LISTED);
        changed
            .map(|file| {
                let (after, why) = match text(&mut left, |limit| beneath::read(&workspace, &file.path, limit)) {
                    Ok(text) => (Some(text), None),
                    Err(why) => (None, Some(why)),
                };
                let before =
                    start.as_ref().and_then(|start| text(&mut left, |limit| start.read(&file.path, limit)).ok());
                WrittenFile { path: file.path.display().to_string(), size: file.size, before, after, why }
            })
            .collect()
    }

    /// The judge's prompt, if today's prompt is the same. The prompt is not stored, but its digest is.
    pub fn question(&self, run: &PlannedRun, folder: &TrialFolder, judgment: &Judgment) -> Option<String> {
        let (case, skill) = (case(run, &self.meta)?, run.catalog.skill(&self.meta.skill.slug)?);
        judge::question(run, &TrialEvidence { case, skill, evidence: self.evidence(), folder }, judgment)
    }

    /// The events, and where each check looked.
    pub fn timeline(&self) -> Timeline {
        Timeline::new(&self.evidence(), &self.grade)
    }
}

/// The trial's case as it is today, if it still exists.
fn case<'a>(run: &'a PlannedRun, meta: &Meta) -> Option<&'a Case> {
    let mut cases = run.catalog.cases.iter();
    cases.find(|found| *found.skill == meta.skill.slug && found.id == meta.case.id)?.case().ok()
}

/// The text of a file that an agent may have written; `left` is the number of bytes that may still be shown.
fn text(left: &mut u64, read: impl Fn(u64) -> io::Result<Vec<u8>>) -> Result<String, String> {
    let limit = MAX_FILE.min(*left);
    let content = read(limit).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => format!("longer than {} are not shown", bounded::bytes(limit)),
        _ => error.to_string(),
    })?;
    *left = left.saturating_sub(content.len() as u64);
    match String::from_utf8(content) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => Err("not a text".to_owned()),
    }
}
