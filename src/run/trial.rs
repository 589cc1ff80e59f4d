//! The three ways to a trial's outcome: replay its recording, run it live, or keep what an earlier part of the run measured.

use std::fmt::{self, Display};
use std::path::Path;

use crate::agent;
use crate::cases::case::Case;
use crate::cases::catalog::FoundSkill;
use crate::cases::test_case::TestCase;
use crate::checks::contents::Contents;
use crate::checks::program::ProgramRuns;
use crate::checks::{GradingInput, PrintedOnce};
use crate::files::at::At;
use crate::files::{bounded, inside};
use crate::grade::checks::grade;
use crate::results::table;
use crate::run::context::RunContext;
use crate::run::custom_check;
use crate::run::digests::{RecordingDrift, SkillFolders, as_before, opened_skills};
use crate::run::live_trial::LiveTrial;
use crate::run::preflight::{self, ReadyCase};
use crate::run::programs::{self, CaseProgramRuns, unchanged_start_files};
use crate::run::{judge, open_run};
use crate::settings::EffectiveRepetition;
use crate::store::{self, StoreError, TrialFolder};
use crate::text::problem::Problem;
use crate::trace::Trace;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::event::RunEvent;
use crate::trial::evidence::{Evidence, Meta, RefusedAttempts};
use crate::trial::id::TrialId;
use crate::trial::not_run::NotRun;
use crate::trial::outcome::{GRADE_FORMAT, Grade, Judged, Metrics, Outcome, TrialError, Verdict};
use crate::trial::run_record::TrialRecord;
use crate::trial::spent::AttemptCost;

/// Replays repeat `number` of a planned trial from its recording.
pub fn replay(run: &RunContext, ready: &ReadyCase<'_>, number: u32) -> Result<Outcome, TrialError> {
    let id = ready.planned.trial(number);
    let folder = store::recording(&run.root, &id);
    let unreadable = |error: StoreError| TrialError::Unreadable(error.to_string());
    let exists = folder.exists().map_err(unreadable)?;
    if number == 1 && !exists && store::is_recorded(&run.root, &id).map_err(unreadable)? {
        return Err(TrialError::Unreadable(format!(
            "{}: the first repeat is missing, others are here; restore it from version control, or record the case again",
            folder.path().display()
        )));
    }
    replay_from(run, ready, &folder, id)
}

/// Replays a planned trial from the recording in `folder`.
pub fn replay_from(
    run: &RunContext,
    ready: &ReadyCase<'_>,
    folder: &TrialFolder,
    id: TrialId,
) -> Result<Outcome, TrialError> {
    let ReadyCase { planned, case, skill } = *ready;
    let unreadable = |error: &dyn Display| TrialError::Unreadable(error.to_string());
    if !folder.exists().map_err(|error| unreadable(&error))? {
        return Err(TrialError::NotRecorded);
    }
    let (meta, grade) = regrade(run, case, skill, folder).map_err(|error| unreadable(&error))?;
    if meta.ending.settled {
        return Err(TrialError::Unreadable(format!(
            "{}: this trial ended early, when its verdict was settled: a recording needs a whole one; record the case again",
            folder.path().display()
        )));
    }
    let now = run.digested(&SkillFolders::Repository, case, &planned.mode, &opened_skills(&meta.inputs));
    let before = as_before(&run.settings, &planned.mode, case);
    let drift = RecordingDrift::between(&meta.inputs, &now.map_err(|error| unreadable(&error))?, &before);
    if !drift.stale.is_empty() {
        return Err(TrialError::Stale { folder: folder.path().to_path_buf(), changed: drift.stale });
    }
    let outcome = table::outcome(id, grade, &meta, folder, &run.settings.prices);
    Ok(Outcome { aged: drift.aged, tags: case.tags.clone(), ..outcome })
}

/// Runs repeat `number` of a planned trial with its agent, and stores everything. `tell` gets an event for each thing
/// that the agent does. `measured` is called when the agent has measured something, before a judge is asked. A trial that
/// could not be measured is an outcome, too; there is none if the run cannot be opened or was interrupted.
pub fn run_live(
    run: &RunContext,
    ready: &ReadyCase<'_>,
    number: u32,
    refused_before: RefusedAttempts,
    tell: &dyn Fn(RunEvent),
    measured: &mut dyn FnMut(),
) -> Result<Outcome, TrialError> {
    let ReadyCase { planned, case, skill } = *ready;
    let id = planned.trial(number);
    let live = open_run::live(run).map_err(|why| TrialError::NotOpened(why.clone()))?;
    let folder = live.folder.trial(&id);
    let mode = &planned.mode;
    let skills = match preflight::kept_from_agent(run, planned) {
        Some((kind, problem)) => Err(Trouble::new(kind, problem.to_string())),
        None => live.snapshots.offered(mode, &case.skill, skill.plugin_for(mode, case).map(AsRef::as_ref)),
    };
    let graded = skills.and_then(|skills| {
        LiveTrial { run, live, mode, case, skill, skills: &skills, id: &id, folder: &folder, refused_before }
            .measure(tell, measured)
    });
    match graded {
        Ok((_, Grade { trouble: Some(trouble), .. })) | Err(trouble) if trouble.kind == TroubleKind::Interrupted => {
            // An interrupted trial counts as not run; its evidence stays until the trial runs again. If only the judge is
            // missing, the next part of the run asks it.
            Err(TrialError::NotRun(NotRun::Interrupted))
        }
        Ok((meta, grade)) => Ok(table::outcome(id, grade, &meta, &folder, &run.settings.prices)),
        Err(trouble) => Ok(Outcome {
            id,
            grade: not_measured(trouble, run.repetition(&planned.found)),
            folder: folder.path().to_path_buf(),
            scripted: run.settings.scripted.clone(),
            spent: AttemptCost { tokens_incomplete: true, cost_incomplete: true, ..AttemptCost::default() },
            isolation: None,
            inputs: None,
            aged: false,
            kept: None,
            tags: case.tags.clone(),
        }),
    }
}

/// The outcome that an earlier part of the run measured for repeat `number` of a planned trial, graded by today's checks,
/// and judged if it was not; and whether it differs from the run's progress file. `None` if nothing was measured.
pub fn kept(run: &RunContext, ready: &ReadyCase<'_>, number: u32) -> Result<Option<(Outcome, bool)>, TrialError> {
    let ReadyCase { planned, case, skill } = *ready;
    let id = planned.trial(number);
    let live = open_run::live(run).map_err(|why| TrialError::NotOpened(why.clone()))?;
    let folder = live.folder.trial(&id);
    let unreadable = |error: &dyn Display| TrialError::Unreadable(format!("{id}: {error}"));
    let not_stored = |error: &dyn Display| {
        live.not_stored(&format!("{id}: {error}"));
        TrialError::NotRun(NotRun::NotStored)
    };
    // How a kept trial was checked is a part of what it was kept as.
    if let (Ok(meta @ Meta { kept_from: Some(_), .. }), Ok(grade)) = (folder.meta(), folder.grade()) {
        return Ok(Some((table::outcome(id.clone(), grade, &meta, &folder, &run.settings.prices), false)));
    }
    let trial = match StoredTrial::read(run, &folder) {
        Ok(trial) => trial,
        // What was changed after it was measured is not measured again in silence.
        Err(error @ StoreError::Damaged { .. }) if folder.has_grade().unwrap_or(true) => {
            return Err(unreadable(&error));
        }
        Err(_) => return Ok(None),
    };
    let stored = folder.grade().ok();
    let exhibit = trial.exhibit(case, skill, &folder);
    let by_checks = again_by_checks(run, &exhibit).map_err(|why| unreadable(&why))?;
    let mut grade = judge::rejoin(run, &exhibit, by_checks.clone()).map_err(|error| unreadable(&error))?;
    let is_judged = matches!(grade.judged, Some(Judged::Asked { .. })) && grade.verdict != Verdict::Unscored;
    if !is_judged {
        grade = judge::judge(run, live, &exhibit, by_checks).map_err(|trouble| match trouble.kind {
            TroubleKind::NotStored => not_stored(&trouble.detail),
            _ => unreadable(&trouble),
        })?;
    }
    if grade.verdict == Verdict::Error {
        return Ok(None);
    }
    let news = stored.as_ref() != Some(&grade);
    if news {
        folder.write_grade(&grade).map_err(|error| not_stored(&error))?;
    }
    Ok(Some((table::outcome(id.clone(), grade, &trial.meta, &folder, &run.settings.prices), news)))
}

/// The outcome of a trial that could not be measured in an earlier part of the run; `None` if it measured something.
pub fn lost(run: &RunContext, planned: &TestCase, record: &TrialRecord) -> Option<Outcome> {
    if let Verdict::Pass | Verdict::Fail = record.verdict {
        return None;
    }
    let folder = run.opened()?.folder.trial(&record.id);
    if let (Ok(meta), Ok(grade)) = (folder.meta(), folder.grade()) {
        return Some(table::outcome(record.id.clone(), grade, &meta, &folder, &run.settings.prices));
    }
    Some(Outcome {
        id: record.id.clone(),
        grade: not_measured(record.trouble.clone()?, run.repetition(&planned.found)),
        folder: folder.path().to_path_buf(),
        scripted: record.scripted.clone(),
        spent: record.spent,
        isolation: record.isolation,
        inputs: record.inputs.clone(),
        aged: false,
        kept: None,
        tags: record.tags.clone(),
    })
}

/// The grade of a trial that left no evidence.
fn not_measured(trouble: Trouble, repetition: EffectiveRepetition) -> Grade {
    Grade {
        format: GRADE_FORMAT,
        verdict: Verdict::Error,
        trouble: Some(trouble),
        checks: Vec::new(),
        score: None,
        not_enforced: Vec::new(),
        metrics: Metrics::default(),
        judged: None,
        threshold: Some(repetition.threshold),
        max_trials: repetition.at_most(),
        unsupported: Vec::new(),
    }
}

// What a trial left, as it is read for grading, judging and showing.

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
    pub fn read(run: &RunContext, folder: &TrialFolder) -> Result<Self, StoreError> {
        let meta = folder.meta()?;
        let reference = run.texts.reference(&run.root, &run.catalog, &meta, folder);
        run.texts.whole()?;
        let trace = agent::of(meta.agent.kind).decode(&reference, folder.path()).at(folder.path())?;
        Ok(Self { meta, trace, final_text: folder.final_text()? })
    }

    pub fn evidence(&self) -> Evidence<'_> {
        Evidence { meta: &self.meta, trace: &self.trace, final_text: self.final_text.as_deref() }
    }

    pub fn exhibit<'a>(&'a self, case: &'a Case, skill: &'a FoundSkill, folder: &'a TrialFolder) -> TrialEvidence<'a> {
        TrialEvidence { case, skill, evidence: self.evidence(), folder }
    }
}

// Grades a trial by its evidence: a live trial, a recording, or a trial of an earlier part of the run.

/// Grades a stored trial again, with the stored answer of its judge. The grade is not written.
pub fn regrade(
    run: &RunContext,
    case: &Case,
    skill: &FoundSkill,
    folder: &TrialFolder,
) -> Result<(Meta, Grade), Problem> {
    let trial = StoredTrial::read(run, folder).map_err(|error| error.to_string())?;
    let exhibit = trial.exhibit(case, skill, folder);
    let grade = again_by_checks(run, &exhibit)?;
    let grade = judge::rejoin(run, &exhibit, grade).map_err(|error| error.to_string())?;
    Ok((trial.meta, grade))
}

/// As [`by_checks`], for a stored trial. Fails if its grade contains a custom check that cannot be run here: the new grade
/// would lack it.
pub(super) fn again_by_checks(run: &RunContext, exhibit: &TrialEvidence<'_>) -> Result<Grade, Problem> {
    let folder = exhibit.folder;
    if folder.has_grade().map_err(|error| error.to_string())? {
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
    by_checks(run, exhibit)
}

/// The grade of a trial by its built-in and custom checks. Fails if custom checks cannot be run, or the user
/// ended the run before the programs of the case had answered.
pub(super) fn by_checks(run: &RunContext, exhibit: &TrialEvidence<'_>) -> Result<Grade, Problem> {
    let TrialEvidence { case, evidence, folder, .. } = exhibit;
    let repetition = run.settings.repetition.of(&case.skill, case.repetition);
    let CaseProgramRuns { runs, not_enforced } = programs::run_all(run, exhibit)?;
    let grade = with_subject(run, exhibit, &runs, |subject| grade(case, subject));
    let grade =
        Grade { not_enforced, threshold: Some(repetition.threshold), max_trials: repetition.at_most(), ..grade };
    let limit = case.timeout.unwrap_or(run.settings.timeout);
    let id = evidence.meta.id();
    let tell = |name: &str| run.emit(&RunEvent::Heard(id.clone(), format!("custom check `{name}`")));
    run.custom_checks.applied(grade, evidence, folder, limit, &tell)
}

/// Calls `grade` with a trial as the checks of its case see it.
pub(super) fn with_subject<T>(
    run: &RunContext,
    exhibit: &TrialEvidence<'_>,
    programs: &ProgramRuns,
    grade: impl FnOnce(&GradingInput<'_>) -> T,
) -> T {
    let TrialEvidence { case, skill, evidence, .. } = exhibit;
    // The lint has checked that the schema exists and is valid.
    let schema = case.output_schema.as_ref().and_then(|path| inside::read(&run.root, path.as_path()).ok());
    let schema = schema.and_then(|schema| serde_json::from_slice(&schema).ok());
    let by_settings = || run.settings.activation_for(&case.skill, &evidence.meta.mode);
    let activation = case.activation.or_else(by_settings).unwrap_or(case.default_activation);
    let prices = &run.settings.prices;
    let contents = TrialContents { run, exhibit };
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

// The contents of files that the checks of a stored trial compare.

/// The files of a stored trial and of its repository.
pub(super) struct TrialContents<'a> {
    pub run: &'a RunContext,
    pub exhibit: &'a TrialEvidence<'a>,
}

impl fmt::Debug for TrialContents<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TrialContents").finish_non_exhaustive()
    }
}

impl Contents for TrialContents<'_> {
    fn of_workspace(&self, path: &Path) -> Result<Vec<u8>, String> {
        let TrialEvidence { evidence, folder, .. } = self.exhibit;
        if evidence.meta.files.iter().any(|file| file.path == path && file.is_as_in_repository()) {
            return self.of_start(path);
        }
        folder.workspace_file(path).map_err(|_| "its content is not stored".to_owned())
    }

    fn of_output(&self) -> Result<Vec<u8>, String> {
        bounded::read(&self.exhibit.folder.trace()).map_err(|error| error.to_string())
    }

    fn of_repository(&self, path: &Path) -> Result<Vec<u8>, String> {
        inside::read(&self.run.root, path).map_err(|error| error.to_string())
    }
}

impl TrialContents<'_> {
    /// A file of the case that neither its setup nor the agent changed, whose content the trial does not store.
    fn of_start(&self, path: &Path) -> Result<Vec<u8>, String> {
        let files = unchanged_start_files(self.run, self.exhibit).map_err(|why| why.to_string())?;
        let files = files.ok_or_else(|| "its content is not stored".to_owned())?;
        files.read(path, bounded::MAX_FILE).map_err(|error| error.to_string())
    }
}
