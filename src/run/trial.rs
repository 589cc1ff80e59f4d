//! One trial: prepare → deliver → run → decode → grade → store; or, from a recording, decode → grade.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::agent::delivery;
use crate::agent::mcp_probe::SkillServer;
use crate::agent::{self, Assignment};
use crate::cases::case::Case;
use crate::cases::catalog::{FoundSkill, evals_folder};
use crate::cases::repository::Repository;
use crate::cases::skill::slug;
use crate::grade::checks::grade;
use crate::lint;
use crate::report::session as report;
use crate::run::attempt::{self, Session, files};
use crate::run::digests::{FIXTURE_PART, opened_skills};
use crate::run::judge::{self, Exhibit};
use crate::run::shared::{Live, Run};
use crate::settings::mode::{Delivery, Mode};
use crate::store::{self, StoreError, TrialFolder};
use crate::text::diagnostic::Diagnostic;
use crate::trial::event::Event;
use crate::trial::evidence::{AgentMeta, CaseMeta, Evidence, META_FORMAT, Meta, SkillMeta};
use crate::trial::id::{Planned, TrialId};
use crate::trial::outcome::{GRADE_FORMAT, Grade, Metrics, NoOutcome, Outcome, Trouble, Verdict};
use crate::trial::trace::Trace;

/// The case, if it can be run.
fn ready_case(run: &Run, planned: &Planned<'_>) -> Result<Case, NoOutcome> {
    let case = planned.found.case().map_err(NoOutcome::BadCase)?;
    let problems = lint::case(planned.found, &case, &Repository { root: run.root.clone() });
    let errors: Vec<Diagnostic> = problems.into_iter().filter(Diagnostic::is_error).collect();
    if errors.is_empty() { Ok(case) } else { Err(NoOutcome::BadCase(errors)) }
}

fn skill_of<'a>(run: &'a Run, case: &Case) -> Result<&'a FoundSkill, NoOutcome> {
    let gone = || NoOutcome::Unreadable(format!("the skill `{}` was there a moment ago and is gone", case.skill));
    run.catalog.skill(&case.skill).ok_or_else(gone)
}

/// Grades a stored trial again, with the stored word of its judge. The grade is not written.
///
/// # Errors
/// When the stored files cannot be read.
pub fn regrade(run: &Run, case: &Case, skill: &FoundSkill, folder: &TrialFolder) -> Result<(Meta, Grade), StoreError> {
    let meta = folder.meta()?;
    let (grade, final_text) = graded(run, case, skill, &meta, folder)?;
    let exhibit = Exhibit { case, skill, meta: &meta, final_text: final_text.as_deref(), folder };
    let grade = judge::rejoin(run, &exhibit, grade)?;
    Ok((meta, grade))
}

/// The grade of a stored trial by its evidence alone, and its final message.
fn graded(
    run: &Run,
    case: &Case,
    skill: &FoundSkill,
    meta: &Meta,
    folder: &TrialFolder,
) -> Result<(Grade, Option<String>), StoreError> {
    let trace = decode(meta, folder)?;
    let final_text = folder.final_text()?;
    let schema = schema_value(&run.root, case);
    let evidence = Evidence { meta, trace: &trace, final_text: final_text.as_deref() };
    let grade = run.own_checks.applied(grade(case, skill.skill(), schema.as_ref(), &evidence), &evidence, folder);
    Ok((grade, final_text))
}

fn decode(meta: &Meta, folder: &TrialFolder) -> Result<Trace, StoreError> {
    agent::of(meta.agent.kind)
        .decode(&meta.tool_names(), folder.path())
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
    let (meta, grade) = regrade(run, &case, skill, &folder).map_err(|error| unreadable(&error))?;
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

/// Runs repeat `number` of a planned trial with its agent, and keeps all of it. `tell` hears what the agent does.
///
/// # Errors
/// When the case is wrong. Everything else is the outcome's verdict.
pub fn run_live(run: &Run, planned: &Planned<'_>, number: u32, tell: &dyn Fn(Event)) -> Result<Outcome, NoOutcome> {
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
    let grade = measure(run, planned.mode, &case, skill, &id, &folder, tell).unwrap_or_else(not_measured);
    Ok(Outcome { id, grade, folder: folder.path().to_path_buf(), scripted })
}

/// What an earlier part of the run measured of repeat `number` of a planned trial, and whether that part had graded it.
/// `None` where it measured nothing.
#[must_use]
pub fn kept(run: &Run, planned: &Planned<'_>, number: u32) -> Option<(Outcome, bool)> {
    let id = planned.trial(number);
    let live = run.live().ok()?;
    let folder = live.folder.trial(&id);
    let meta = folder.meta().ok()?;
    let was_graded = folder.has_grade();
    let grade = if was_graded { folder.grade().ok()? } else { finished(run, live, planned, &folder, &meta)? };
    let outcome = Outcome { id, grade, folder: folder.path().to_path_buf(), scripted: meta.scripted };
    (outcome.grade.verdict != Verdict::Error).then_some((outcome, was_graded))
}

/// Grades and judges a trial whose agent had ended when its runner was killed.
fn finished(run: &Run, live: &Live, planned: &Planned<'_>, folder: &TrialFolder, meta: &Meta) -> Option<Grade> {
    let case = planned.found.case().ok()?;
    let skill = skill_of(run, &case).ok()?;
    let (grade, final_text) = graded(run, &case, skill, meta, folder).ok()?;
    let exhibit = Exhibit { case: &case, skill, meta, final_text: final_text.as_deref(), folder };
    let grade = judge::judge(run, live, &exhibit, grade).ok()?;
    folder.write_grade(&grade).ok()?;
    Some(grade)
}

/// The grade of a trial that left no evidence.
fn not_measured(trouble: Trouble) -> Grade {
    let (verdict, metrics) = (Verdict::Error, Metrics::default());
    Grade { format: GRADE_FORMAT, verdict, trouble: Some(trouble), checks: Vec::new(), metrics, judged: None }
}

/// Runs the agent and grades what it left.
fn measure(
    run: &Run,
    mode: &Mode,
    case: &Case,
    found: &FoundSkill,
    id: &TrialId,
    folder: &TrialFolder,
    tell: &dyn Fn(Event),
) -> Result<Grade, Trouble> {
    let live = run.live()?;
    let skill = found.skill();
    let settings = &run.settings;
    folder.clear().map_err(|error| files(&error))?;
    if mode.delivery != Delivery::None {
        live.snapshot.digest(&skill.slug).map_err(|why| files(&why))?;
    }
    let mut inputs = run.inputs.read(&run.root, &run.catalog, case, mode, &[]).map_err(|error| files(&error))?;

    // Prepare and deliver.
    let mut room = live.scratch.room(&mode.name).map_err(|error| files(&error))?;
    if let Some(fixture) = &case.fixture {
        let fixture = run.root.join(evals_folder(&case.skill)).join(fixture.as_path());
        let digest = room.copy_fixture(&fixture).map_err(|error| files(&error))?;
        inputs.0.insert(FIXTURE_PART.to_owned(), digest.clone());
        run.inputs.know(fixture, digest);
    }
    delivery::deliver(mode, &live.snapshot, &mut room).map_err(|error| files(&error))?;
    room.prepared();
    let server = mode.delivery.mcp().then(|| SkillServer::new(settings, &run.root, &room.skills())).transpose()?;
    let schema = case.output_schema.as_ref().map(|path| {
        let to = room.path().join("schema.json");
        fs::copy(run.root.join(path.as_path()), &to).map(|_| to)
    });
    let schema = schema.transpose().map_err(|error| files(&error))?;

    // Run.
    let started = jiff::Timestamp::now();
    let timeout = case.timeout.unwrap_or(settings.timeout);
    let assignment = Assignment { case, mode, settings, room: &room, server: server.as_ref(), schema };
    let hear = |words| tell(Event::Heard(id.clone(), words));
    let session = attempt::hold(&assignment, timeout, folder, &live.redactors, &hear)?;
    let Session { ending, not_enforced, redactor, server, trace, final_text } = session;
    let mask = |bytes: &[u8]| redactor.mask(bytes).into_owned();
    let skills_changed = room.changed_skills();
    let (workspace_files, files_truncated) = room.capture(&folder.workspace(), &mask).map_err(|error| files(&error))?;

    // Grade.
    let opened: Vec<String> = trace.activations.iter().map(|activation| slug(&activation.skill)).collect();
    if !opened.is_empty() {
        inputs = run.inputs.read(&run.root, &run.catalog, case, mode, &opened).map_err(|error| files(&error))?;
    }
    let model = trace.model.clone().or_else(|| settings.model_for(mode).map(str::to_owned));
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
        server,
        scripted: settings.scripted.clone(),
        started: started.to_string(),
        ending,
        inputs,
        files: workspace_files,
        files_truncated,
        skills_changed,
        not_enforced,
    };
    let schema = schema_value(&run.root, case);
    let evidence = Evidence { meta: &meta, trace: &trace, final_text: final_text.as_deref() };
    let grade = run.own_checks.applied(grade(case, skill, schema.as_ref(), &evidence), &evidence, folder);

    // Judge and store. The facts come first: an agent's run that was paid for is not lost when judging is cut short.
    folder.write_meta(&meta).map_err(|error| files(&error))?;
    let exhibit = Exhibit { case, skill: found, meta: &meta, final_text: final_text.as_deref(), folder };
    let grade = judge::judge(run, live, &exhibit, grade)?;
    folder.write_session(&report::session(&evidence, &grade)).map_err(|error| files(&error))?;
    folder.write_grade(&grade).map_err(|error| files(&error))?;
    Ok(grade)
}
