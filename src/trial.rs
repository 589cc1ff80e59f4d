//! One trial: prepare → deliver → run → decode → grade → store; or, from a recording, decode → grade.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::agent::{self, Assignment};
use crate::case::Case;
use crate::catalog::evals_folder;
use crate::delivery;
use crate::diagnostic::Diagnostic;
use crate::discovery::Repository;
use crate::evidence::{AgentMeta, CaseMeta, Ending, Evidence, META_FORMAT, Meta, SkillMeta};
use crate::grade::grade;
use crate::inputs::opened_skills;
use crate::lint;
use crate::mode::Mode;
use crate::outcome::{GRADE_FORMAT, Grade, Metrics, NoOutcome, Outcome, Trouble, TroubleKind, Verdict};
use crate::plan::{Planned, TrialId};
use crate::process::{self, Job, Listener, Reply};
use crate::run::Run;
use crate::skill::{Skill, slug};
use crate::store::{self, StoreError, TrialFolder};
use crate::trace::Trace;

/// The case, if it can be run.
fn ready_case(run: &Run, planned: &Planned<'_>) -> Result<Case, NoOutcome> {
    let case = planned.found.case().map_err(NoOutcome::BadCase)?;
    let problems = lint::case(planned.found, &case, &Repository { root: run.root.clone() });
    let errors: Vec<Diagnostic> = problems.into_iter().filter(Diagnostic::is_error).collect();
    if errors.is_empty() { Ok(case) } else { Err(NoOutcome::BadCase(errors)) }
}

fn skill_of<'a>(run: &'a Run, case: &Case) -> Result<&'a Skill, NoOutcome> {
    let found = run.catalog.skill(&case.skill);
    found
        .map(crate::catalog::FoundSkill::skill)
        .ok_or_else(|| NoOutcome::Unreadable(format!("the skill `{}` was there a moment ago and is gone", case.skill)))
}

/// Grades a stored trial again. The grade is not written.
///
/// # Errors
/// When the stored files cannot be read.
pub fn regrade(root: &Path, case: &Case, skill: &Skill, folder: &TrialFolder) -> Result<(Meta, Grade), StoreError> {
    let meta = folder.meta()?;
    let trace = decode(&meta, folder)?;
    let final_text = folder.final_text()?;
    let schema = schema_value(root, case);
    let evidence = Evidence { meta: &meta, trace: &trace, final_text: final_text.as_deref() };
    let grade = grade(case, skill, schema.as_ref(), &evidence);
    Ok((meta, grade))
}

fn decode(meta: &Meta, folder: &TrialFolder) -> Result<Trace, StoreError> {
    agent::decode(meta.agent.kind, folder.path())
        .map_err(|source| StoreError::Io { path: folder.path().to_path_buf(), source })
}

/// The output schema; that it is there and valid the lint has seen.
fn schema_value(root: &Path, case: &Case) -> Option<Value> {
    let bytes = fs::read(root.join(case.output_schema.as_ref()?.as_path())).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Replays repeat `number` of a planned trial from its recording.
///
/// # Errors
/// When the case is wrong, or there is no recording that speaks for it.
pub fn replay(run: &Run, planned: &Planned<'_>, number: u32) -> Result<Outcome, NoOutcome> {
    let case = ready_case(run, planned)?;
    let skill = skill_of(run, &case)?;
    let id = planned.trial(number);
    let folder = store::recording(&run.root, &id);
    if !folder.exists() {
        return Err(NoOutcome::NotRecorded);
    }
    let unreadable = |error: &dyn std::fmt::Display| NoOutcome::Unreadable(error.to_string());
    let (meta, grade) = regrade(&run.root, &case, skill, &folder).map_err(|error| unreadable(&error))?;
    let now = run
        .inputs
        .read(&run.root, &run.catalog, &case, planned.mode, &opened_skills(&meta.inputs))
        .map_err(|error| unreadable(&error))?;
    let changed = meta.inputs.differences(&now);
    if !changed.is_empty() {
        return Err(NoOutcome::Stale { folder: folder.path().to_path_buf(), changed });
    }
    Ok(Outcome { id, grade, folder: folder.path().to_path_buf(), scripted: meta.scripted })
}

/// Runs repeat `number` of a planned trial with its agent, and keeps all of it.
///
/// # Errors
/// When the case is wrong. Everything else is the outcome's verdict.
pub fn run_live(run: &Run, planned: &Planned<'_>, number: u32) -> Result<Outcome, NoOutcome> {
    let case = ready_case(run, planned)?;
    let skill = skill_of(run, &case)?;
    let id = planned.trial(number);
    let scripted = run.settings.scripted.clone();
    let live = match run.live() {
        Ok(live) => live,
        Err(trouble) => {
            return Ok(Outcome { id, grade: not_measured(trouble), folder: run.root.join(store::RUNS), scripted });
        }
    };
    let folder = live.folder.trial(&id);
    let grade = measure(run, planned.mode, &case, skill, &id, &folder).unwrap_or_else(not_measured);
    Ok(Outcome { id, grade, folder: folder.path().to_path_buf(), scripted })
}

/// What an earlier part of the run measured of repeat `number` of a planned trial. `None` where it measured nothing.
#[must_use]
pub fn kept(run: &Run, planned: &Planned<'_>, number: u32) -> Option<Outcome> {
    let id = planned.trial(number);
    let folder = run.live().ok()?.folder.trial(&id);
    let scripted = folder.meta().ok()?.scripted;
    let grade = if folder.has_grade() {
        folder.grade().ok()?
    } else {
        // The agent had ended, and its runner was killed before it had graded.
        let case = planned.found.case().ok()?;
        let (_, grade) = regrade(&run.root, &case, skill_of(run, &case).ok()?, &folder).ok()?;
        folder.write_grade(&grade).ok()?;
        grade
    };
    let outcome = Outcome { id, grade, folder: folder.path().to_path_buf(), scripted };
    (outcome.grade.verdict != Verdict::Error).then_some(outcome)
}

/// The grade of a trial that left no evidence.
fn not_measured(trouble: Trouble) -> Grade {
    let (verdict, metrics) = (Verdict::Error, Metrics::default());
    Grade { format: GRADE_FORMAT, verdict, trouble: Some(trouble), checks: Vec::new(), metrics }
}

fn files(error: &dyn std::fmt::Display) -> Trouble {
    Trouble::new(TroubleKind::Files, error.to_string())
}

/// Runs the agent and grades what it left.
fn measure(
    run: &Run,
    mode: &Mode,
    case: &Case,
    skill: &Skill,
    id: &TrialId,
    folder: &TrialFolder,
) -> Result<Grade, Trouble> {
    let live = run.live()?;
    let settings = &run.settings;
    folder.clear().map_err(|error| files(&error))?;
    let mut inputs = run.inputs.read(&run.root, &run.catalog, case, mode, &[]).map_err(|error| files(&error))?;

    // Prepare and deliver.
    let mut room = live.scratch.room(&mode.name).map_err(|error| files(&error))?;
    if let Some(fixture) = &case.fixture {
        let fixture = run.root.join(evals_folder(&case.skill)).join(fixture.as_path());
        room.lay_fixture(&fixture).map_err(|error| files(&error))?;
    }
    delivery::deliver(mode, &live.snapshot, &room).map_err(|error| files(&error))?;
    room.furnished();
    let schema = case.output_schema.as_ref().map(|path| {
        let to = room.path().join("schema.json");
        fs::copy(run.root.join(path.as_path()), &to).map(|_| to)
    });
    let schema = schema.transpose().map_err(|error| files(&error))?;

    // Run.
    let started = jiff::Timestamp::now();
    let timeout = case.timeout.unwrap_or(settings.timeout);
    let command = agent::command(&Assignment { case, mode, settings, room: &room, schema });
    let mut redactor = run.redactor(Vec::new());
    let mut not_enforced = Vec::new();
    let ending = match command {
        Err(trouble) => Ending { trouble: Some(trouble), ..Ending::default() },
        Ok(command) => {
            redactor = run.redactor(command.secrets);
            not_enforced = command.not_enforced;
            let job = Job {
                program: command.program,
                args: command.args,
                env: command.env,
                folder: room.workspace(),
                timeout,
                stdout: folder.trace(),
                stderr: folder.stderr(),
                redactor: &redactor,
            };
            process::run(&job, &mut Deaf).map_err(|error| files(&format!("{}: {error}", folder.path().display())))?
        }
    };
    let mask = |bytes: &[u8]| redactor.mask(bytes).into_owned();
    agent::keep_evidence(mode.agent, &room, folder.path(), &mask).map_err(|error| files(&error))?;
    let (workspace_files, files_truncated) = room.capture(&folder.workspace(), &mask).map_err(|error| files(&error))?;

    // Decode and grade.
    let trace = agent::decode(mode.agent, folder.path()).map_err(|error| files(&error))?;
    let mut final_text = folder.final_text().map_err(|error| files(&error))?;
    if let (None, Some(text)) = (&final_text, &trace.final_message) {
        folder.write_final(text).map_err(|error| files(&error))?;
        final_text = Some(text.clone());
    }
    let opened: Vec<String> = trace.activations.iter().map(|activation| slug(&activation.skill)).collect();
    if !opened.is_empty() {
        inputs = run.inputs.read(&run.root, &run.catalog, case, mode, &opened).map_err(|error| files(&error))?;
    }
    let model = trace.model.clone().or_else(|| settings.model.clone());
    let meta = Meta {
        format: META_FORMAT,
        run_id: live.folder.id().to_owned(),
        skill: SkillMeta { name: skill.name.clone(), slug: skill.slug.clone() },
        case: CaseMeta {
            id: case.id.clone(),
            prompt: case.prompt.clone(),
            system_prompt: case.system_prompt.clone(),
            sandbox: case.sandbox,
            timeout_s: timeout.as_secs(),
        },
        mode: mode.name.clone(),
        trial: id.number,
        agent: AgentMeta { kind: mode.agent, version: trace.agent_version.clone(), model },
        delivery: mode.delivery,
        scripted: settings.scripted.clone(),
        started: started.to_string(),
        ending,
        inputs,
        files: workspace_files,
        files_truncated,
        not_enforced,
    };
    let schema = schema_value(&run.root, case);
    let evidence = Evidence { meta: &meta, trace: &trace, final_text: final_text.as_deref() };
    let grade = grade(case, skill, schema.as_ref(), &evidence);

    // Store.
    folder.write_meta(&meta).map_err(|error| files(&error))?;
    folder.write_grade(&grade).map_err(|error| files(&error))?;
    Ok(grade)
}

/// Listens to nothing: the file is read afterwards.
struct Deaf;

impl Listener for Deaf {
    fn line(&mut self, _line: &[u8]) -> Reply {
        Reply::default()
    }
}
