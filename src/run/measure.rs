//! One attempt at a trial with its agent: prepare → deliver → run → decode → grade → judge → keep.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::agent::Assignment;
use crate::agent::isolation::{self, IsolationStatus};
use crate::agent::mcp_probe::ServerCommand;
use crate::agent::snapshot::{self, SkillSnapshot};
use crate::agent::trial_env::{TrialEnv, masked};
use crate::cases::case::Case;
use crate::cases::catalog::{FoundSkill, evals_folder};
use crate::files::bounded;
use crate::process::interrupt;
use crate::report::session as report;
use crate::results::timeline::Timeline;
use crate::run::agent_run::{self, AgentRun, disk, files, unstored};
use crate::run::context::RunContext;
use crate::run::digests::{FIXTURE_PART, SCHEMA_PART, SkillFolders};
use crate::run::judge::{self, JudgeExhibit};
use crate::run::live::LiveRun;
use crate::run::regrade::by_checks;
use crate::run::skill_texts;
use crate::settings::mode::{Delivery, Mode};
use crate::skill::slug;
use crate::store::{self, TrialFolder};
use crate::trace::Trace;
use crate::trace::exposure::SkillTexts;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::event::RunEvent;
use crate::trial::evidence::{
    AgentMeta, CaseMeta, Evidence, Inputs, META_FORMAT, Meta, RefusedAttempts, SkillMeta, SourceMeta,
};
use crate::trial::id::TrialId;
use crate::trial::outcome::{Grade, Verdict};

/// One attempt at a trial.
pub(super) struct LiveTrial<'a> {
    pub run: &'a RunContext,
    pub live: &'a LiveRun,
    pub mode: &'a Mode,
    pub case: &'a Case,
    pub skill: &'a FoundSkill,
    /// The skills that its agent is given.
    pub skills: &'a SkillSnapshot,
    pub id: &'a TrialId,
    pub folder: &'a TrialFolder,
    /// The attempts before this one.
    pub refused_before: RefusedAttempts,
}

impl LiveTrial<'_> {
    /// Runs the agent, stores what it left, and grades it; calls `measured` before a judge is asked about it.
    pub(super) fn measure(
        &self,
        tell: &dyn Fn(RunEvent),
        measured: &mut dyn FnMut(),
    ) -> Result<(Meta, Grade), Trouble> {
        let Self { run, live, case, skill, folder, .. } = *self;
        let room = folder.clear().and_then(|()| folder.take_room()).map_err(|error| unstored(&error))?;
        if self.mode.delivery != Delivery::None {
            self.skills.digest(&skill.skill().slug).map_err(|why| files(&why))?;
        }
        // The facts come first: an agent's run that was paid for is not lost when grading or judging is cut short.
        let ran = self.run_agent(tell).and_then(|ran| {
            drop(room);
            let kept = folder.write_meta(&ran.0);
            kept.map(|()| ran).map_err(|error| unstored(&error))
        });
        let (meta, trace, final_text) = ran.inspect_err(|trouble| {
            if trouble.kind == TroubleKind::NotStored {
                // Of no use without the rest, and its room is needed to note how the run ended.
                let _ = folder.remove();
            }
        })?;
        let evidence = Evidence { meta: &meta, trace: &trace, final_text: final_text.as_deref() };
        let grade = by_checks(run, case, skill, &evidence, folder).map_err(|why| {
            if interrupt::raised() { Trouble::new(TroubleKind::Interrupted, why) } else { files(&why) }
        })?;
        if grade.verdict != Verdict::Error {
            measured();
        }
        let exhibit = JudgeExhibit { case, skill, meta: &meta, final_text: final_text.as_deref(), folder };
        let grade = judge::judge(run, live, &exhibit, grade)?;
        folder
            .write_session(&report::session(&meta, &grade, &Timeline::new(&evidence, &grade)))
            .map_err(|error| unstored(&error))?;
        if grade.trouble.as_ref().is_none_or(|trouble| trouble.kind != TroubleKind::Interrupted) {
            folder.write_grade(&grade).map_err(|error| unstored(&error))?;
        }
        Ok((meta, grade))
    }

    /// A room with the fixture and the skills in it; the fixture's digest goes into `inputs`.
    fn prepare_room(&self, inputs: &mut Inputs) -> Result<TrialEnv, Trouble> {
        let Self { run, live, mode, case, skills, folder, .. } = *self;
        let mut room = live.scratch.room(&mode.name).map_err(|error| disk(&error))?;
        if let Some(fixture) = &case.fixture {
            let fixture = run.root.join(evals_folder(&case.skill)).join(fixture.as_path());
            let digest = room.copy_fixture(&fixture).map_err(|error| disk(&error))?;
            inputs.0.insert(FIXTURE_PART.to_owned(), digest);
        }
        room.create_folders(&run.settings.create).map_err(|error| disk(&error))?;
        // What changes in mid-session changes for this trial alone.
        let shown =
            case.during.is_empty() && matches!(isolation::held(&run.settings.isolation), IsolationStatus::Bwrap(_));
        snapshot::deliver(mode, skills, &mut room, shown).map_err(|error| disk(&error))?;
        if mode.delivery != Delivery::None {
            snapshot::get_ready(case, &run.root, &mut room, &folder.changes()).map_err(|error| disk(&error))?;
        }
        room.prepared();
        Ok(room)
    }

    /// The MCP server of skills, where the mode has one.
    fn server(&self, room: &TrialEnv) -> Result<Option<ServerCommand>, Trouble> {
        if !self.mode.delivery.mcp() {
            return Ok(None);
        }
        let server = ServerCommand::new(&self.run.settings, &self.run.root, &room.skills())?;
        Ok(Some(if self.case.during.is_empty() { server } else { server.noting(&room.asked()) }))
    }

    /// The texts of the skills that the agent is given, and of those that they become.
    fn texts(&self) -> SkillTexts {
        let given = self.run.texts.snapshot(&self.live.folder.snapshot(self.mode.commit.as_deref()));
        let changes = self.case.during.iter().map(|change| change.skill.as_str()).enumerate();
        given.and(skill_texts::of_changes(&self.folder.changes(), changes))
    }

    /// The facts of the agent's run, its event stream, and its final message.
    fn run_agent(&self, tell: &dyn Fn(RunEvent)) -> Result<(Meta, Trace, Option<String>), Trouble> {
        let Self { run, live, mode, case, skill: found, skills, id, folder, refused_before } = *self;
        let (skill, settings, skills) = (found.skill(), &run.settings, SkillFolders::Snapshot(skills));
        let mut inputs = run.digested(&skills, case, mode, &[]).map_err(|error| files(&error))?;
        let room = self.prepare_room(&mut inputs)?;
        let server = self.server(&room)?;
        let schema = case.output_schema.as_ref().map(|path| {
            let to = room.path().join("schema.json");
            bounded::read(&run.root.join(path.as_path())).and_then(|schema| fs::write(&to, schema)).map(|()| to)
        });
        let schema = schema.transpose().map_err(|error| disk(&error))?;
        if let Some(copy) = &schema {
            inputs.add(SCHEMA_PART, &bounded::read(copy).map_err(|error| files(&error))?);
        }
        // What was copied for this very trial: the repository, and so other trials, may have changed by the time it ends.
        let (given, started) = (inputs.clone(), jiff::Timestamp::now());
        let timeout = case.timeout.unwrap_or(settings.timeout);
        let assignment =
            Assignment { root: &run.root, case, mode, settings, room: &room, server: server.as_ref(), schema };
        let heard = |words| tell(RunEvent::Heard(id.clone(), words));
        let ran = agent_run::run(&assignment, timeout, folder, &live.redactors, self.texts(), &heard)?;
        // An agent that could not write shows it in its own words, or not at all: what it left is no evidence.
        store::take_room(room.path()).map_err(|error| unstored(&error))?;
        let AgentRun { ending, not_enforced, isolation, redactor, server, changes, trace, final_text } = ran;
        let mask = |bytes: &[u8]| redactor.mask(bytes).into_owned();
        let skills_changed = room.changed_skills(&changes).iter().map(|path| masked(path, &mask)).collect();
        let required: Vec<&Path> = case.required_files().collect();
        let captured = room.capture(&required, &folder.workspace(), &mask).map_err(|error| disk(&error))?;
        let active = trace.activations.iter().map(|activation| slug(&activation.skill));
        let opened: Vec<String> = active.chain(trace.resources.iter().map(|resource| slug(&resource.skill))).collect();
        if !opened.is_empty() {
            inputs = run.digested(&skills, case, mode, &opened).map_err(|error| files(&error))?;
            inputs.0.extend(given.0);
        }
        let model = trace.model.clone().or_else(|| settings.model_for(mode).map(str::to_owned));
        let meta = Meta {
            format: META_FORMAT,
            run_id: live.folder.id().to_owned(),
            skill: SkillMeta { name: skill.name.clone(), slug: skill.slug.clone() },
            case: case_meta(case, timeout, settings.max_turns_of(case.max_turns)),
            mode: mode.name.clone(),
            trial: id.number,
            suite: Some(settings.selection.suite.as_str().to_owned()),
            agent: AgentMeta { kind: mode.agent, version: trace.agent_version.clone(), model },
            delivery: mode.delivery,
            offer: mode.offer.clone(),
            commit: mode.commit.clone(),
            server,
            scripted: settings.scripted.clone(),
            imported: None,
            started: started.to_string(),
            refused_before,
            ending,
            inputs,
            files: captured.files,
            files_truncated: captured.truncated,
            files_looked_for: required.into_iter().map(Path::to_path_buf).collect(),
            skills_changed,
            changes,
            isolation,
            not_enforced,
        };
        Ok((meta, trace, final_text))
    }
}

/// The case as a trial's facts tell it.
fn case_meta(case: &Case, timeout: Duration, max_turns: Option<u64>) -> CaseMeta {
    CaseMeta {
        id: case.id.clone(),
        source: Some(SourceMeta { file: case.origin.path.clone(), line: case.origin.line }),
        should_trigger: Some(case.should_trigger),
        prompt: case.prompt.clone(),
        system_prompt: case.system_prompt.clone(),
        sandbox: case.sandbox,
        timeout_s: timeout.as_secs(),
        max_turns,
    }
}
