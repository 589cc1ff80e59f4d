//! One attempt at a trial with its agent: prepare, run, decode, grade, judge, store.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use crate::agent::command::prompt_prefix;
use crate::agent::mcp_probe::ServerCommand;
use crate::agent::snapshot::{self, SkillSnapshot};
use crate::agent::trial_env::TrialEnv;
use crate::agent::trial_env::capture::masked;
use crate::agent::{Assignment, OutputSchema};
use crate::cases::case::Case;
use crate::cases::case_parts::{self, files_part, or_problem, start_files};
use crate::cases::catalog::FoundSkill;
use crate::cases::mocks::Mocks;
use crate::cases::plugin::Plugin;
use crate::cases::repository::Repository;
use crate::checks::grading_input::{ProgramEnding, ProgramRuns, Unknown};
use crate::files::inside;
use crate::grade::checks;
use crate::mock::CallLog;
use crate::process::interrupt;
use crate::report::session as report;
use crate::results::timeline::Timeline;
use crate::run::agent_run::{self, AgentJob, AgentRun, disk, files, unstored};
use crate::run::calibration::ModeKnowledge;
use crate::run::digests::SkillFolders;
use crate::run::judge;
use crate::run::live::LiveRun;
use crate::run::planned::PlannedRun;
use crate::run::programs::{EndedProgram, SandboxedRun};
use crate::run::question::Player;
use crate::run::rate_limiter::CacheLeader;
use crate::run::record_mocks;
use crate::run::regrade::{by_checks, with_input};
use crate::run::replay_model;
use crate::run::started::StartedRun;
use crate::run::stored_trial::{StoredTrial, TrialEvidence};
use crate::settings::Stop;
use crate::settings::mode::{AgentKind, Delivery, Mode};
use crate::skill::slug;
use crate::store::{self, TrialFolder};
use crate::text::redact::{Redactor, secrets_within_all};
use crate::trace::exposure::SkillTexts;
use crate::trace::file::ChangeMeta;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trace::{Step, Trace};
use crate::trial::event::RunEvent;
use crate::trial::evidence::{
    AgentMeta, CaseMeta, Ending, Evidence, Inputs, Meta, RefusedAttempts, SKILL_PART, ServerMeta, SkillMeta, SourceMeta,
};
use crate::trial::id::TrialId;
use crate::trial::input_file::{MockCall, MockCalls, MockServer, RecordedCall};
use crate::trial::outcome::{Grade, Verdict};
use crate::trial::workspace_file::SetupMeta;

pub(super) struct LiveTrial<'a> {
    pub run: &'a StartedRun,
    pub live: &'a LiveRun,
    pub mode: &'a Mode,
    pub case: &'a Case,
    pub skill: &'a FoundSkill,
    /// The skills that its agent gets.
    pub skills: &'a SkillSnapshot,
    pub id: &'a TrialId,
    pub folder: &'a TrialFolder,
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
        let disk_space = folder.clear().and_then(|()| folder.take_disk_space()).map_err(|error| unstored(&error))?;
        if self.mode.delivery != Delivery::None {
            self.skills.digest(&skill.skill().slug).map_err(|why| files(&why))?;
            let place = self.plugin().map(|plugin| plugin.place().to_string_lossy().into_owned());
            place.map_or(Ok(""), |place| self.skills.digest(&place)).map_err(|why| files(&why))?;
        }
        // Stored first: an agent's run that was paid for is not lost when grading or judging is interrupted.
        let trial = self.run_agent(tell).and_then(|trial| {
            drop(disk_space);
            folder.write_meta(&trial.meta).map_err(|error| unstored(&error))?;
            Ok(trial)
        });
        let trial = trial.inspect_err(|trouble| {
            if trouble.kind == TroubleKind::NotStored {
                // Useless without the rest, and its space is needed to note how the run ended.
                let _ = folder.remove();
            }
        })?;
        let trial_evidence = trial.trial_evidence(case, skill, folder);
        let grade = by_checks(run, &trial_evidence, tell).map_err(|why| {
            let why = why.to_string();
            if interrupt::raised() { Trouble::new(TroubleKind::Interrupted, why) } else { files(&why) }
        })?;
        if grade.verdict != Verdict::Error {
            measured();
        }
        let grade = judge::judge(run, live, &trial_evidence, grade)?;
        let session = report::session(&trial.meta, &grade, &Timeline::new(&trial_evidence.evidence, &grade));
        folder.write_session(&session).map_err(|error| unstored(&error))?;
        if grade.trouble.as_ref().is_none_or(|trouble| trouble.kind != TroubleKind::Interrupted) {
            folder.write_grade(&grade).map_err(|error| unstored(&error))?;
        }
        Ok((trial.meta, grade))
    }

    /// The plugin with which its agent gets the skill.
    fn plugin(&self) -> Option<&Plugin> {
        self.skill.plugin_for(self.mode, self.case).map(AsRef::as_ref)
    }

    /// An environment with the case's files and the skills; the files' digest goes into `inputs`.
    fn prepare(&self, inputs: &mut Inputs) -> Result<TrialEnv, Trouble> {
        let Self { run, live, mode, case, skills, folder, .. } = *self;
        let mut trial_env = live.scratch.trial_env().map_err(|error| disk(&error))?;
        if let Some(files) = start_files(&run.root, case) {
            let digest = trial_env.copy_files(files).map_err(|error| disk(&error))?;
            inputs.0.insert(files_part(case).to_owned(), digest);
        }
        trial_env.create_directories(&run.settings.create).map_err(|error| disk(&error))?;
        // A trial that changes skills needs a copy of its own.
        snapshot::deliver(mode, skills, &mut trial_env, case.during.is_empty()).map_err(|error| disk(&error))?;
        if mode.delivery != Delivery::None {
            snapshot::prepare_changes(case, &run.root, &mut trial_env, &folder.changes())
                .map_err(|error| disk(&error))?;
        }
        if run.settings.replay_model {
            replay_model::answer(run, case, self.id, inputs, &trial_env)?;
        }
        Ok(trial_env)
    }

    /// The MCP server of skills, if the mode has one.
    fn server(&self, trial_env: &TrialEnv) -> Result<Option<ServerCommand>, Trouble> {
        if !self.mode.delivery.mcp() {
            return Ok(None);
        }
        let server = ServerCommand::new(&self.run.settings, &self.run.root, trial_env)?;
        // An agent that the user describes does not show whether it uses the server.
        let logs = !self.case.during.is_empty() || matches!(self.mode.agent, AgentKind::Custom(_));
        Ok(Some(if logs { server.logging_to(&trial_env.request_log_path()) } else { server }))
    }

    /// A copy of the output schema in the environment, if the case has one; its digest goes into `inputs`.
    fn schema(&self, trial_env: &TrialEnv, inputs: &mut Inputs) -> Result<Option<OutputSchema>, Trouble> {
        let Some(path) = &self.case.output_schema else { return Ok(None) };
        let schema = inside::read(&self.run.root, path.as_path()).map_err(|error| disk(&error))?;
        inputs.add(case_parts::SCHEMA, &schema);
        OutputSchema::show(trial_env, schema).map(Some).map_err(|error| disk(&error))
    }

    /// The texts of the skills that the agent gets, before and after the changes of the case.
    fn texts(&self) -> SkillTexts {
        let copy = self.live.snapshots.copy_of(self.mode.commit.as_ref()).or(self.mode.commit.as_deref());
        let texts = self.run.texts.snapshot(&self.live.folder.snapshot(copy));
        let changes = self.case.during.iter().map(|change| change.skill.as_str()).enumerate();
        texts.and(self.run.texts.of_changes(&self.folder.changes(), changes))
    }

    /// Prepares the environment and runs the agent in it. If that cannot be prepared, the trial is stored with the reason.
    fn run_agent(&self, tell: &dyn Fn(RunEvent)) -> Result<StoredTrial, Trouble> {
        let Self { run, live, mode, case, skills, .. } = *self;
        let digested = run.digested(&SkillFolders::Snapshot(skills), case, mode, &[]);
        let mut inputs = digested.map_err(|error| files(&error))?;
        let timeout = case.timeout.unwrap_or(run.settings.timeout);
        let prepared = self.prepare(&mut inputs).and_then(|mut trial_env| {
            let redactor = live.redactors.masking(secrets_within_all(&case.setup));
            let setup = run_setup(run, Some(mode), &case.setup, &mut trial_env, timeout, &redactor)?;
            Ok((trial_env, setup))
        });
        match prepared {
            Ok((trial_env, setup)) => self.run_in(&trial_env, inputs, Meta { setup, ..self.meta(timeout) }, tell),
            Err(trouble) if matches!(trouble.kind, TroubleKind::Interrupted | TroubleKind::NotStored) => Err(trouble),
            Err(trouble) => {
                let (started, ending) = (jiff::Timestamp::now().to_string(), agent_run::not_started(trouble));
                let meta = Meta { started, ending, inputs, ..self.meta(timeout) };
                Ok(StoredTrial { meta, trace: Trace::default(), final_text: None })
            }
        }
    }

    /// Runs the agent; `meta` has the facts that are known before.
    fn run_in(
        &self,
        trial_env: &TrialEnv,
        mut inputs: Inputs,
        mut meta: Meta,
        tell: &dyn Fn(RunEvent),
    ) -> Result<StoredTrial, Trouble> {
        let Self { run, live, mode, case, id, folder, .. } = *self;
        let settings = &*replay_model::settings_of(run, id);
        let server = self.server(trial_env)?;
        let schema = self.schema(trial_env, &mut inputs)?;
        let mocks = show(run, mode, case, trial_env, &mut inputs)?;
        let redactor = &live.redactors.masking(Vec::new());
        let (root, server, plugin) = (&run.root, server.as_ref(), self.plugin());
        let assignment =
            Assignment { root, case, mode, settings, trial_env, server, plugin, schema: schema.as_ref(), redactor };
        let on_progress = |description| tell(RunEvent::Heard(id.clone(), description));
        let lead = run.has_cache_leaders(mode).then(|| run.cache_leaders.enter(prompt_prefix(mode, case)));
        let started = jiff::Timestamp::now();
        let on_answer = || {
            lead.iter().for_each(CacheLeader::answers);
            tell(RunEvent::Answers(id.clone()));
        };
        let is_settled = |server: Option<&ServerMeta>, trace: &Trace| {
            let meta = Meta { server: server.cloned(), ..meta.clone() };
            self.is_settled(Evidence { meta: &meta, trace, final_text: None })
        };
        // Changes of skills are made during the session, and are not known before its end. A later message may change everything.
        let ends_early = settings.stops() == Stop::Settled && case.during.is_empty() && !case.has_more_messages();
        let mut ran = agent_run::run(&AgentJob {
            assignment: &assignment,
            timeout: case.timeout.unwrap_or(settings.timeout),
            folder,
            play: &|question| Player { run, live, case, mode, folder }.ask(question),
            redactors: &live.redactors,
            texts: (self.texts(), meta.skill.in_plugin.as_deref()),
            is_settled: ends_early.then_some(&is_settled),
            on_progress: &on_progress,
            on_answer: &on_answer,
        })?;
        replay_model::note_divergence(trial_env, &mut ran.ending);
        // On a full disk the agent may have failed to write: its evidence proves nothing.
        store::take_disk_space(&trial_env.control()).map_err(|error| unstored(&error))?;
        let mask = |bytes: &[u8]| ran.redactor.mask(bytes).into_owned();
        let mocks = mocks.map(|mocks| self.end_mocks(mocks, &ran.trace, &ran.redactor));
        let skills_changed = skills_changed(trial_env, &ran.changes, &mut ran.ending);
        let required: Vec<&Path> = case.required_files().collect();
        let captured = trial_env.capture(&required, &folder.workspace(), &mask).map_err(|error| disk(&error))?;
        let inputs = self.with_opened(inputs, &ran.trace);
        self.note_agent(&mut meta, &ran);
        let meta = Meta {
            case: CaseMeta { follow_ups: ran.follow_ups, ..meta.case },
            server: ran.server,
            started: started.to_string(),
            ending: ran.ending,
            inputs,
            files: captured.files,
            files_truncated: captured.truncated,
            links: captured.links,
            files_looked_for: required.into_iter().map(Path::to_path_buf).collect(),
            skills_changed: skills_changed.iter().map(|path| masked(path, &mask)).collect(),
            changes: ran.changes,
            mocks,
            user: ran.user,
            isolation: ran.isolation,
            not_enforced: ran.not_enforced,
            ..meta
        };
        Ok(StoredTrial { meta, trace: ran.trace, final_text: ran.final_text })
    }

    /// The record of the calls. What real programs answered is noted, without secrets.
    fn end_mocks(&self, mocks: ShownMocks, trace: &Trace, redactor: &Redactor) -> MockCalls {
        let (record, answered) = mocks.record(trace, redactor);
        let mut of_trials = self.live.recorded_mocks.lock().unwrap_or_else(PoisonError::into_inner);
        // A trial that is measured again has the calls of its last session.
        of_trials.insert(self.id.clone(), record_mocks::masked(answered, redactor));
        record
    }

    /// The inputs of the trial, with the skills that were opened, as they were copied.
    fn with_opened(&self, mut inputs: Inputs, trace: &Trace) -> Inputs {
        let Self { run, mode, skills, .. } = *self;
        let catalog = run.skills_of(mode.commit.as_deref()).filter(|_| mode.delivery != Delivery::None);
        let Some(catalog) = catalog else { return inputs };
        let active = trace.activations.iter().map(|activation| slug(&activation.skill));
        let opened = active.chain(trace.resources.iter().map(|resource| slug(&resource.skill)));
        for slug in opened.filter(|slug| catalog.skill(slug).is_some()) {
            let digest = || or_problem(skills.digest(&slug).map(str::to_owned));
            inputs.0.entry(format!("{SKILL_PART}{slug}")).or_insert_with(digest);
        }
        inputs
    }

    /// The facts that are known before the agent starts.
    fn meta(&self, timeout: Duration) -> Meta {
        let Self { run, live, mode, case, skill, id, refused_before, .. } = *self;
        let (skill, settings) = (skill.skill(), &run.settings);
        let agent = AgentMeta {
            kind: mode.agent,
            version: None,
            model: settings.model_for(mode).map(str::to_owned),
            requested: None,
        };
        let case = case_meta(case, timeout, settings.max_turns_of(case.max_turns));
        let in_plugin = self.plugin().map(|plugin| self.skill.name_in(plugin));
        let skill = SkillMeta::of(skill, in_plugin);
        Meta {
            run_id: live.folder.id().to_owned(),
            mode: mode.name.clone(),
            trial: id.number,
            suite: Some(settings.selection.suite().to_string()),
            offer: mode.offer.clone(),
            commit: mode.commit.clone(),
            skills_copy: live.snapshots.copy_of(mode.commit.as_ref()).map(str::to_owned),
            scripted: settings.scripted.clone(),
            refused_before,
            doubts: self.known().doubts,
            ..Meta::new(skill, case, agent, mode.delivery)
        }
    }

    /// What is known of the trials of its mode.
    fn known(&self) -> ModeKnowledge {
        self.live.known.get(&self.mode.name).cloned().unwrap_or_default()
    }

    /// Adds what the agent is and what its requests show, and why nothing that it does not show is known not to have happened. A
    /// calibration finds that out.
    fn note_agent(&self, meta: &mut Meta, AgentRun { trace, network, doubts, .. }: &AgentRun) {
        meta.network.clone_from(network);
        meta.doubts.extend(doubts.clone());
        let agent = &mut meta.agent;
        agent.version.clone_from(&trace.agent_version);
        if let Some(reported) = trace.model.clone() {
            let requested = agent.model.replace(reported);
            agent.requested = requested.filter(|requested| agent.model.as_ref() != Some(requested));
        }
        let unmeasured = self.known().unmeasured(agent.kind, agent.version.as_deref());
        meta.unmeasured = unmeasured.filter(|_| !self.run.calibrates);
    }

    /// Whether nothing that follows can change the verdict of the running trial.
    fn is_settled(&self, evidence: Evidence<'_>) -> bool {
        let Self { run, case, skill, folder, .. } = *self;
        let is_counted = evidence.trace.usage.is_some() || evidence.trace.usage_of_requests.total_tokens() > 0;
        // Without a count of its tokens, the trial could not count against the limit that somebody set.
        if run.settings.limit().is_some() && !run.settings.limit_is_default && !is_counted {
            return false;
        }
        let has_more =
            case.is_judged(&run.settings) || !case.assertions.is_empty() || run.custom_checks.names().next().is_some();
        let trial_evidence = TrialEvidence { case, skill, evidence, folder };
        let programs = ProgramRuns::new();
        with_input(run, &trial_evidence, &programs, |subject| checks::is_settled(case, subject, has_more))
    }
}

/// The files of the skills that the agent changed. If another trial may have done it, that is the trouble of this one.
fn skills_changed(trial_env: &TrialEnv, changes: &[ChangeMeta], ending: &mut Ending) -> Vec<PathBuf> {
    trial_env.changed_skills(changes).unwrap_or_else(|error| {
        ending.trouble.get_or_insert(files(&error));
        Vec::new()
    })
}

/// The facts about a case that its trials store.
pub(super) fn case_meta(case: &Case, timeout: Duration, max_turns: Option<u64>) -> CaseMeta {
    CaseMeta {
        id: case.id.clone(),
        source: Some(SourceMeta { file: case.origin.path.clone(), line: case.origin.line }),
        should_trigger: Some(case.should_trigger),
        prompt: case.prompt.clone(),
        system_prompt: case.system_prompt.clone(),
        sandbox: case.sandbox,
        timeout_s: timeout.as_secs(),
        max_turns,
        forced: case.forced,
        follow_ups: case.follow_ups.clone(),
        history: case.history.clone(),
        tags: case.tags.clone(),
    }
}

// What is answered from files in a trial, and the record of its calls.

/// What the agent of a trial was shown.
pub(super) struct ShownMocks {
    calls: CallLog,
    servers: BTreeMap<String, MockServer>,
}

/// Shows the agent what is answered from files, if anything is; its digest goes into `inputs`.
pub(super) fn show(
    run: &PlannedRun,
    mode: &Mode,
    case: &Case,
    trial_env: &TrialEnv,
    inputs: &mut Inputs,
) -> Result<Option<ShownMocks>, Trouble> {
    let mocks = Mocks::of(&Repository::new(run.root.clone()), &run.settings.mocks, case, mode.delivery);
    let listed = |problems: Vec<_>| problems.iter().map(ToString::to_string).collect::<Vec<String>>().join("; ");
    let mut mocks = mocks.map_err(|problems| files(&listed(problems)))?;
    // What was read before may have changed since.
    inputs.0.remove(case_parts::MOCKS);
    mocks.recorded.clone_from(&run.settings.recorded_mocks);
    let Some(digest) = &mocks.digest else { return Ok(None) };
    inputs.0.insert(case_parts::MOCKS.to_owned(), digest.clone());
    // As agents name them, and in place of them.
    if let Some(plugin) = run.plugin_for(mode, case) {
        for server in &plugin.servers {
            let mocked = mocks.servers.remove(server);
            mocks.servers.extend(mocked.map(|mocked| (plugin.server_name(server), mocked)));
        }
    }
    let calls = trial_env.show_mocks(&mocks).map_err(|error| disk(&error))?;
    Ok(Some(ShownMocks { calls, servers: mocks.servers }))
}

impl ShownMocks {
    /// The calls that were made, also those of tools that no file answers: an agent does not send them to a server. Then what real
    /// programs answered, with its secrets.
    pub(super) fn record(self, trace: &Trace, redactor: &Redactor) -> (MockCalls, Vec<RecordedCall>) {
        let Self { calls, servers } = self;
        let (mut record, answered) = calls.calls();
        for step in &trace.steps {
            let Step::Tool { name, input, .. } = step else { continue };
            let of = servers.iter().find_map(|(known, server)| {
                Some((server, name.strip_prefix("mcp__")?.strip_prefix(known)?.strip_prefix("__")?))
            });
            let Some((server, tool)) = of.filter(|(server, tool)| server.tools.iter().all(|known| known.name != *tool))
            else {
                continue;
            };
            let name = format!("{}/{tool}", server.name);
            record.calls.push(MockCall { name, input: input.clone(), ..MockCall::default() });
        }
        for MockCall { name, input, violated, stdin, .. } in &mut record.calls {
            (*name, *input) = (redactor.mask_text(name), redactor.masked(input).cut());
            for text in [violated, stdin] {
                *text = text.as_ref().map(|text| redactor.masked(text).cut());
            }
        }
        (record, answered)
    }
}

// Setup commands: they prepare the workspace of a trial, in the agent's sandbox and before the agent.

/// Runs these commands one after the other. All of them together have `timeout`. The first one that fails, or that takes the
/// skills from the agent of `mode`, is the trouble of the trial, with the end of its output.
pub(super) fn run_setup(
    run: &PlannedRun,
    mode: Option<&Mode>,
    commands: &[String],
    trial_env: &mut TrialEnv,
    timeout: Duration,
    redactor: &Redactor,
) -> Result<Vec<SetupMeta>, Trouble> {
    let mut ended = Vec::new();
    if commands.is_empty() {
        return Ok(ended);
    }
    let began = Instant::now();
    for command in commands {
        let started = Instant::now();
        let program = SandboxedRun {
            root: &run.root,
            settings: &run.settings,
            trial_env,
            program: Path::new("/bin/sh"),
            args: ["-c".into(), command.into()].to_vec(),
            env: BTreeMap::new(),
            reads: &[],
            input: None,
            timeout: timeout.saturating_sub(began.elapsed()),
            more_time: "`timeout_s` of the case gives its setup more",
            redactor,
        };
        let EndedProgram { ending, last_output, .. } =
            program.run().map_err(|why| Trouble::new(TroubleKind::Interrupted, why.to_string()))?;
        let failure = match ending {
            // No program can start there.
            Ok(ProgramEnding { exit_code: 0, .. }) if !trial_env.has_workspace() => {
                Some("it removed or replaced the workspace".to_owned())
            }
            Ok(ProgramEnding { exit_code: 0, .. }) => mode.and_then(|mode| snapshot::disturbed(mode, trial_env)),
            Ok(ProgramEnding { not_started: Some(why), .. }) | Err(Unknown(why)) => Some(why),
            Ok(ProgramEnding { exit_code, .. }) => Some(format!("exit status {exit_code}")),
        };
        if let Some(why) = failure {
            let said = if why.contains(&last_output) { String::new() } else { format!(": {last_output}") };
            let told = redactor.mask_text(&format!("`{command}`: {why}{said}"));
            return Err(Trouble::new(TroubleKind::Setup, told));
        }
        ended.push(SetupMeta::new(redactor.mask_text(command), started.elapsed()));
    }
    trial_env.note_setup();
    Ok(ended)
}
