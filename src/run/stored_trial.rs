//! What a trial left, as it is read for grading, judging and showing.

use crate::agent;
use crate::cases::case::Case;
use crate::cases::catalog::FoundSkill;
use crate::files::at::At;
use crate::run::planned::PlannedRun;
use crate::store::{StoreError, TrialFolder};
use crate::trace::Trace;
use crate::trial::evidence::{Evidence, Meta};

/// What a trial left, besides the files that its agent made.
#[derive(Debug)]
pub struct StoredTrial {
    pub meta: Meta,
    pub trace: Trace,
    pub final_text: Option<String>,
}

/// A trial as it is graded and judged.
#[derive(Debug)]
pub struct TrialEvidence<'a> {
    pub case: &'a Case,
    pub skill: &'a FoundSkill,
    pub evidence: Evidence<'a>,
    /// The directory with the rest of the evidence.
    pub folder: &'a TrialFolder,
}

impl StoredTrial {
    /// Reads a trial of a run, or a recording.
    pub fn read(run: &PlannedRun, folder: &TrialFolder) -> Result<Self, StoreError> {
        let meta = folder.meta()?;
        let reference = run.texts.reference(&run.root, &run.catalog, &meta, folder);
        run.texts.whole()?;
        let trace = agent::of(meta.agent.kind).decode(&reference, folder.path()).at(folder.path())?;
        Ok(Self { meta, trace, final_text: folder.final_text()? })
    }

    pub fn evidence(&self) -> Evidence<'_> {
        Evidence { meta: &self.meta, trace: &self.trace, final_text: self.final_text.as_deref() }
    }

    pub fn trial_evidence<'a>(
        &'a self,
        case: &'a Case,
        skill: &'a FoundSkill,
        folder: &'a TrialFolder,
    ) -> TrialEvidence<'a> {
        TrialEvidence { case, skill, evidence: self.evidence(), folder }
    }
}
