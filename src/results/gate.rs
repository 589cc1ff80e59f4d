//! What a gate found about a change: the content of `gate.md`.

use crate::decide::result::CompareResult;
use crate::results::compared::ComparisonResults;
use crate::results::summary::{CaseCounts, Summary};
use crate::text::diagnostic::Diagnostic;
use crate::trial::id::CaseInMode;
use crate::trial::outcome::Verdict;

/// How a skill differs from the base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillEdit {
    /// The base does not have the skill.
    Added,
    /// Only the base has the skill.
    Removed,
    /// The name or description, by which agents choose, and perhaps more.
    Description,
    /// The body or another file.
    Body,
}

impl SkillEdit {
    /// A word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Description => "description changed",
            Self::Body => "body or files changed",
        }
    }
}

/// A skill that differs from the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillDifference {
    /// Its slug.
    pub slug: String,
    /// The difference.
    pub edit: SkillEdit,
}

/// What a gate found.
#[derive(Debug)]
pub struct GateResults {
    /// The base as users know it, with its commit.
    pub base: String,
    /// Number of skills in the working tree.
    pub skills: usize,
    /// The skills that differ from the base.
    pub changed: Vec<SkillDifference>,
    /// Errors of `lint`.
    pub problems: Vec<Diagnostic>,
    /// The replayed recordings.
    pub replayed: Summary,
    /// Whether a case without a recording fails the gate.
    pub needs_recordings: bool,
    /// The comparison with the base, if a skill changed that both have.
    pub compared: Option<ComparisonResults>,
    /// Why the comparison ended early, if it did.
    pub ended_early: Option<String>,
}

/// The answer of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateAnswer {
    /// Nothing speaks against the change.
    Passed,
    /// A check of the gate failed.
    Failed,
    /// Nothing failed, and something could not be measured.
    NotMeasured,
}

impl GateAnswer {
    /// The word that begins the answer.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotMeasured => "not measured",
        }
    }
}

impl GateResults {
    /// The answer. A failure comes before what could not be measured.
    pub fn answer(&self) -> GateAnswer {
        let results = self.compared.iter().flat_map(|compared| &compared.comparison.results);
        let has = |wanted: &[CompareResult]| results.clone().any(|result| wanted.contains(result));
        if !self.problems.is_empty()
            || self.failing().next().is_some()
            || has(&[CompareResult::Broke, CompareResult::Worse])
        {
            return GateAnswer::Failed;
        }
        let unchanged = self.compared.as_ref().is_none_or(|compared| compared.unchanged);
        let unmeasured = !unchanged && (self.ended_early.is_some() || has(&[CompareResult::NothingMeasured]));
        if unmeasured || self.unreadable() || (self.needs_recordings && self.unrecorded() > 0) {
            GateAnswer::NotMeasured
        } else {
            GateAnswer::Passed
        }
    }

    /// The recorded cases that fail.
    pub fn failing(&self) -> impl Iterator<Item = (&CaseInMode, &CaseCounts)> {
        self.replayed.cases.iter().filter(|(_, counts)| counts.verdict() == Some(Verdict::Fail))
    }

    /// Cases without a recording.
    pub fn unrecorded(&self) -> usize {
        self.not_run(crate::results::summary::NOT_RECORDED)
    }

    /// Cases whose recordings are stale: the comparison measures them, or they have to be recorded again.
    pub fn stale(&self) -> usize {
        self.not_run(crate::results::summary::STALE)
    }

    /// Whether a recorded case could not be measured: a damaged recording, or one of a trial that ended in an error.
    fn unreadable(&self) -> bool {
        let is_error = |counts: &CaseCounts| matches!(counts.verdict(), Some(Verdict::Error | Verdict::Unscored));
        self.not_run(crate::results::summary::UNREADABLE) > 0 || self.replayed.cases.values().any(is_error)
    }

    fn not_run(&self, why: &str) -> usize {
        self.replayed.cases.values().filter(|counts| counts.not_run.contains_key(why)).count()
    }
}
