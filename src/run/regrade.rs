//! Grades a trial by its evidence: a live trial, a recording, or a trial of an earlier part of the run.

use crate::cases::case::Case;
use crate::cases::catalog::FoundSkill;
use crate::checks::contents::{Contents, Unknown};
use crate::checks::program::ProgramRuns;
use crate::checks::{GradingInput, PrintedOnce};
use crate::files::{bounded, inside};
use crate::grade::checks::grade;
use crate::run::planned::PlannedRun;
use crate::run::programs::{self, CaseProgramRuns, unchanged_start_files};
use crate::run::stored_trial::{StoredTrial, TrialEvidence};
use crate::run::{custom_check, judge};
use crate::store::TrialFolder;
use crate::text::problem::Problem;
use crate::trial::event::RunEvent;
use crate::trial::evidence::Meta;
use crate::trial::outcome::Grade;
use std::fmt::{self};
use std::path::Path;

/// Grades a stored trial again, with the stored answer of its judge. The grade is not written. `tell` gets what takes time.
pub fn regrade(
    run: &PlannedRun,
    case: &Case,
    skill: &FoundSkill,
    folder: &TrialFolder,
    tell: &dyn Fn(RunEvent),
) -> Result<(Meta, Grade), Problem> {
    let trial = StoredTrial::read(run, folder)?;
    let trial_evidence = trial.trial_evidence(case, skill, folder);
    let grade = again_by_checks(run, &trial_evidence, tell)?;
    let grade = judge::rejoin(run, &trial_evidence, grade)?;
    Ok((trial.meta, grade))
}

/// As [`by_checks`], for a stored trial. Fails if its grade contains a custom check that cannot be run here: the new grade
/// would lack it.
pub(super) fn again_by_checks(
    run: &PlannedRun,
    trial_evidence: &TrialEvidence<'_>,
    tell: &dyn Fn(RunEvent),
) -> Result<Grade, Problem> {
    let folder = trial_evidence.folder;
    if folder.has_grade()? {
        let lacking = folder.grade().map(|grade| run.custom_checks.lacking(&grade)).unwrap_or_default();
        if !lacking.is_empty() {
            let list = lacking.join("`, `");
            return Err(format!(
                "its grade contains `{list}`, which only the harness of the crate can check; nothing was graded. Run this \
                 in that repository, where the harness is asked, or name it in {}",
                custom_check::VARIABLE
            ).into());
        }
    }
    by_checks(run, trial_evidence, tell)
}

/// The grade of a trial by its built-in and custom checks. Fails if custom checks cannot be run, or the user
/// ended the run before the programs of the case had answered.
pub(super) fn by_checks(
    run: &PlannedRun,
    trial_evidence: &TrialEvidence<'_>,
    tell: &dyn Fn(RunEvent),
) -> Result<Grade, Problem> {
    let TrialEvidence { case, evidence, folder, .. } = trial_evidence;
    let repetition = run.settings.repetition.of(&case.skill, case.repetition);
    let CaseProgramRuns { runs, not_enforced } = programs::run_all(run, trial_evidence)?;
    let grade = with_input(run, trial_evidence, &runs, |subject| grade(case, subject));
    let grade =
        Grade { not_enforced, threshold: Some(repetition.threshold), max_trials: repetition.at_most(), ..grade };
    let limit = case.timeout.unwrap_or(run.settings.timeout);
    let id = evidence.meta.id();
    let tell = |name: &str| tell(RunEvent::Heard(id.clone(), format!("custom check `{name}`")));
    run.custom_checks.applied(grade, evidence, folder, limit, &tell)
}

/// Calls `grade` with a trial as the checks of its case see it.
pub(super) fn with_input<T>(
    run: &PlannedRun,
    trial_evidence: &TrialEvidence<'_>,
    programs: &ProgramRuns,
    grade: impl FnOnce(&GradingInput<'_>) -> T,
) -> T {
    let TrialEvidence { case, skill, evidence, .. } = trial_evidence;
    // The lint has checked that the schema exists and is valid.
    let schema = case.output_schema.as_ref().and_then(|path| inside::read(&run.root, path.as_path()).ok());
    let schema = schema.and_then(|schema| serde_json::from_slice(&schema).ok());
    let by_settings = || run.settings.activation_for(&case.skill, &evidence.meta.mode);
    let activation = case.activation.or_else(by_settings).unwrap_or(case.default_activation);
    let prices = &run.settings.prices;
    let contents = TrialContents { run, trial_evidence };
    let (schema, contents) = (schema.as_ref(), &contents);
    grade(&GradingInput {
        skill: skill.skill(),
        schema,
        activation,
        evidence,
        programs,
        contents,
        prices,
        printed: &PrintedOnce::default(),
    })
}

/// The files of a stored trial and of its repository.
struct TrialContents<'a> {
    pub run: &'a PlannedRun,
    pub trial_evidence: &'a TrialEvidence<'a>,
}

impl fmt::Debug for TrialContents<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrialContents").finish_non_exhaustive()
    }
}

impl Contents for TrialContents<'_> {
    fn of_workspace(&self, path: &Path) -> Result<Vec<u8>, Unknown> {
        let TrialEvidence { evidence, folder, .. } = self.trial_evidence;
        if evidence.meta.files.iter().any(|file| file.path == path && file.is_as_in_repository()) {
            return self.of_start(path);
        }
        folder.workspace_file(path).map_err(|_| "its content is not stored".into())
    }

    fn of_output(&self) -> Result<Vec<u8>, Unknown> {
        Ok(bounded::read(&self.trial_evidence.folder.trace())?)
    }

    fn of_repository(&self, path: &Path) -> Result<Vec<u8>, Unknown> {
        Ok(inside::read(&self.run.root, path)?)
    }
}

impl TrialContents<'_> {
    /// A file of the case that neither its setup nor the agent changed, whose content the trial does not store.
    fn of_start(&self, path: &Path) -> Result<Vec<u8>, Unknown> {
        let files = unchanged_start_files(self.run, self.trial_evidence)?.ok_or("its content is not stored")?;
        Ok(files.read(path, bounded::MAX_FILE)?)
    }
}
