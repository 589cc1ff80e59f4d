//! Grades a stored trial again, from its evidence: the same for a recording, for a trial of a run, and for one that an
//! earlier part of a run left.

use std::fmt;
use std::path::Path;

use serde_json::Value;

use crate::agent;
use crate::cases::case::Case;
use crate::cases::catalog::FoundSkill;
use crate::checks::Subject;
use crate::files::at::PathError;
use crate::files::bounded;
use crate::grade::checks::grade;
use crate::run::check_program;
use crate::run::context::RunContext;
use crate::run::judge::{self, JudgeExhibit};
use crate::store::{StoreError, TrialFolder};
use crate::trace::Trace;
use crate::trial::evidence::{Evidence, Meta};
use crate::trial::outcome::Grade;

/// Why a stored trial cannot be graded again.
#[derive(Debug)]
pub enum RegradeError {
    /// Its files cannot be read.
    Store(StoreError),
    /// Checks that its grade contains, or that it needs, cannot be run.
    OwnChecks(String),
}

impl fmt::Display for RegradeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::OwnChecks(why) => f.write_str(why),
        }
    }
}

impl From<StoreError> for RegradeError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Grades a stored trial again, with the stored answer of its judge. The grade is not written.
pub fn regrade(
    run: &RunContext,
    case: &Case,
    skill: &FoundSkill,
    folder: &TrialFolder,
) -> Result<(Meta, Grade), RegradeError> {
    let meta = folder.meta()?;
    let (grade, final_text) = graded(run, case, skill, &meta, folder)?;
    let exhibit = JudgeExhibit { case, skill, meta: &meta, final_text: final_text.as_deref(), folder };
    let grade = judge::rejoin(run, &exhibit, grade)?;
    Ok((meta, grade))
}

/// The grade of a stored trial by its evidence alone, and its final message.
pub(super) fn graded(
    run: &RunContext,
    case: &Case,
    skill: &FoundSkill,
    meta: &Meta,
    folder: &TrialFolder,
) -> Result<(Grade, Option<String>), RegradeError> {
    if folder.has_grade() {
        let lacking = folder.grade().map(|stored| run.own_checks.lacking(&stored)).unwrap_or_default();
        if !lacking.is_empty() {
            let list = lacking.join("`, `");
            return Err(RegradeError::OwnChecks(format!(
                "its grade contains `{list}`, which only the harness of the crate can check; nothing was graded. Run this \
                 in that repository, where the harness is asked, or name it in {}",
                check_program::VARIABLE
            )));
        }
    }
    let trace = decode(run, meta, folder)?;
    let final_text = folder.final_text()?;
    let evidence = Evidence { meta, trace: &trace, final_text: final_text.as_deref() };
    let grade = by_checks(run, case, skill, &evidence, folder).map_err(RegradeError::OwnChecks)?;
    Ok((grade, final_text))
}

/// The grade of a trial by its checks, the repository's own among them, live or stored.
pub(super) fn by_checks(
    run: &RunContext,
    case: &Case,
    skill: &FoundSkill,
    evidence: &Evidence<'_>,
    folder: &TrialFolder,
) -> Result<Grade, String> {
    let schema = schema_value(&run.root, case);
    let repetition = run.settings.repetition.of(&case.skill, case.repetition);
    let by_settings = || run.settings.activation_for(&case.skill, &evidence.meta.mode);
    let activation = case.activation.or_else(by_settings).unwrap_or(case.default_activation);
    let subject = Subject { skill: skill.skill(), schema: schema.as_ref(), activation, evidence };
    let grade = grade(case, &subject);
    let grade = Grade { threshold: Some(repetition.threshold), max_trials: repetition.at_most(), ..grade };
    run.own_checks.applied(grade, evidence, folder)
}

/// What the agent's own files of a stored trial tell.
pub(super) fn decode(run: &RunContext, meta: &Meta, folder: &TrialFolder) -> Result<Trace, StoreError> {
    let reference = run.texts.reference(&run.root, &run.catalog, meta, folder);
    agent::of(meta.agent.kind)
        .decode(&reference, folder.path())
        .map_err(|source| StoreError::from(PathError { path: folder.path().to_path_buf(), source }))
}

/// The output schema. The lint has checked that it exists and is valid.
fn schema_value(root: &Path, case: &Case) -> Option<Value> {
    let bytes = bounded::read(&root.join(case.output_schema.as_ref()?.as_path())).ok()?;
    serde_json::from_slice(&bytes).ok()
}
