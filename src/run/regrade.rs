//! Grades a trial by its evidence: a live trial, a recording, or a trial of an earlier part of the run.

use std::path::Path;
use std::{fmt, io};

use crate::cases::case::Case;
use crate::cases::case_parts::start_files;
use crate::cases::catalog::FoundSkill;
use crate::checks::grading_input::{Contents, ProgramRuns, Unknown};
use crate::checks::{GradingInput, PrintedOnce};
use crate::files::{bounded, inside};
use crate::grade::checks::grade;
use crate::grade::rubric::Judgment;
use crate::results::timeline::Timeline;
use crate::run::planned::{self, PlannedRun};
use crate::run::programs::{self, CaseProgramRuns, unchanged_start_files};
use crate::run::stored_trial::{StoredTrial, TrialEvidence};
use crate::run::{custom_check, judge};
use crate::store::TrialFolder;
use crate::text::problem::Problem;
use crate::trace::Trace;
use crate::trial::event::RunEvent;
use crate::trial::evidence::{Evidence, Meta};
use crate::trial::outcome::Grade;
use crate::trial::workspace_file::WrittenFile;

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
    let grade = Grade {
        not_enforced,
        threshold: Some(repetition.threshold),
        max_trials: repetition.at_most(),
        quarantine: planned::quarantine(case),
        ..grade
    };
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

// A stored trial that is read to be shown. Only a trial without a grade is graded, and nothing is written.

const MAX_LISTED: usize = 200;

/// Longest file whose text is shown, in bytes.
const MAX_FILE: u64 = 64 << 10;

/// Longest text that is shown of all files of a trial together, in bytes.
const MAX_FILES: u64 = 1 << 20;

/// What is said of the case of a stored trial that no file has.
pub fn case_is_gone(skill: &str, case: &str) -> String {
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
    /// What has changed since the recording, so that a replay does not count its grade.
    pub stale: Vec<String>,
}

impl TrialReview {
    /// Reads a trial of a run, or a recording. Fails if it has no grade and its case no longer exists.
    pub fn of(run: &PlannedRun, folder: &TrialFolder) -> Result<Self, Problem> {
        let StoredTrial { meta, trace, final_text } = StoredTrial::read(run, folder)?;
        let (grade, stale) = if folder.has_grade()? {
            (folder.grade()?, Vec::new())
        } else {
            let gone = || case_is_gone(&meta.skill.slug, &meta.case.id);
            let case = case(run, &meta).ok_or_else(gone)?;
            let skill = run.catalog.skill(&meta.skill.slug).ok_or_else(gone)?;
            let grade = regrade(run, case, skill, folder, &|_| ())?.1;
            // Of a mode that the settings lack, nothing is replayed.
            let mode = run.settings.mode(&meta.mode).filter(|_| folder.is_recording());
            let drift = mode.map(|mode| run.drift(case, mode, &meta.inputs)).transpose()?;
            (grade, drift.map(|drift| drift.stale).unwrap_or_default())
        };
        Ok(Self { meta, trace, final_text, grade, stale })
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
                let (after, why) = match text(&mut left, |limit| inside::read_beneath(&workspace, &file.path, limit)) {
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
