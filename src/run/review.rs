//! A stored trial, read again to be looked at. Nothing is graded that has a grade, and nothing is written.

use crate::cases::case::Case;
use crate::results::timeline::Timeline;
use crate::run::regrade;
use crate::run::shared::Run;
use crate::store::TrialFolder;
use crate::trial::evidence::{Evidence, Meta};
use crate::trial::outcome::Grade;
use crate::trial::trace::Trace;

/// A stored trial.
#[derive(Debug)]
pub struct Review {
    /// Facts about it.
    pub meta: Meta,
    /// What the agent's own files tell.
    pub trace: Trace,
    /// Its final message.
    pub final_text: Option<String>,
    /// What it came to: as it was stored, or for a recording, as it is graded today.
    pub grade: Grade,
}

impl Review {
    /// Reads a trial of a run, or a recording.
    ///
    /// # Errors
    /// In words, when its files cannot be read, or it has no grade and its case cannot be graded any more.
    pub fn of(run: &Run, folder: &TrialFolder) -> Result<Self, String> {
        let meta = folder.meta().map_err(|error| error.to_string())?;
        let trace = regrade::decode(run, &meta, folder).map_err(|error| error.to_string())?;
        let final_text = folder.final_text().map_err(|error| error.to_string())?;
        let grade = if folder.has_grade() {
            folder.grade().map_err(|error| error.to_string())?
        } else {
            let gone = || format!("there is no case `{}` of the skill `{}` any more", meta.case.id, meta.skill.slug);
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

    /// What happened, and where each check looked.
    #[must_use]
    pub fn timeline(&self, run: &Run) -> Timeline {
        Timeline::new(&self.evidence(), &self.grade, case(run, &self.meta))
    }
}

/// The trial's case as it stands today, where there is one.
fn case<'a>(run: &'a Run, meta: &Meta) -> Option<&'a Case> {
    let is_it = |skill: &str, id: &str| skill == meta.skill.slug && id == meta.case.id;
    run.catalog.cases.iter().find(|found| is_it(&found.skill, &found.id))?.case().ok()
}
