//! A run: the repository, the settings, its plan, and what all its trials share.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use jiff::tz::TimeZone;

use crate::cases::case::{Case, FoundCase};
use crate::cases::catalog::Catalog;
use crate::cases::plugin::Plugin;
use crate::grade::rubric::{self, Rubric};
use crate::process::interrupt;
use crate::report::trial_text::RerunCommand;
use crate::results::calibration::AgentCalibration;
use crate::run::custom_check::CustomChecks;
use crate::run::digests::{DigestInputs, InputReader, SkillFolders};
use crate::run::kept_store::KeptStore;
use crate::run::live::LiveRun;
use crate::run::pace::{ClosedBy, ClosedLogin, Leads, Pace, Slots};
use crate::run::plan::RunPlan;
use crate::run::program_runner::ProgramRunner;
use crate::run::progress_files::ProgressFiles;
use crate::run::shared_contents::SharedContents;
use crate::run::skill_texts::TextReader;
use crate::run::skill_version::SkillVersion;
use crate::settings::mode::Mode;
use crate::settings::{EffectiveRepetition, Settings};
use crate::text::diagnostic::Diagnostic;
use crate::text::problem::Problem;
use crate::trial::event::{EventListener, RunEvent};
use crate::trial::evidence::Inputs;
use crate::trial::not_run::NotRun;
use crate::trial::run_record::{ComparedSides, RunChoices, RunEndKind};
use crate::trial::shard::Shard;
use crate::trial::variants::VariantRun;

/// What the trials of a run share.
pub struct RunContext {
    pub root: PathBuf,
    pub settings: Settings,
    pub catalog: Arc<Catalog>,
    /// Other versions of the skills than those of the catalog, for modes that ask for them.
    pub versions: Vec<SkillVersion>,
    pub plan: RunPlan,
    /// The plan of all shards, if this run is one of them.
    pub whole_plan: Option<RunPlan>,
    /// The user's choices, as the run's record stores them.
    pub chosen: RunChoices,
    pub custom_checks: CustomChecks,
    /// How a reader runs something again.
    pub rerun_command: RerunCommand,
    /// Both sides, if the run compares.
    pub sides: Option<ComparedSides>,
    /// What it keeps for later runs, and what earlier ones kept for it, if that is wanted.
    pub kept: Option<KeptStore>,
    /// The variants in which it measures its cases, if it has some.
    pub variants: Option<VariantRun>,
    /// What decides its trials, by [`same_contents`](crate::run::same_contents), if another start may continue it.
    pub contents: Option<String>,
    pub shared_contents: SharedContents,
    /// The same in every process that shares this run; `None` for a process of its own.
    pub shared_id: Option<String>,
    pub inputs: InputReader,
    pub texts: TextReader,
    pub program_runner: ProgramRunner,
    /// The calibrations that were made for it: a machine without a cache does not keep them.
    pub calibrated: Vec<AgentCalibration>,
    /// Whether it is a calibration.
    pub calibrates: bool,
    pub pace: Pace,
    pub leads: Leads,
    pub slots: Slots,
    /// The results so far.
    pub progress: Arc<Mutex<ProgressFiles>>,
    listeners: Mutex<Vec<Box<dyn EventListener>>>,
    rubric: OnceLock<Result<Rubric, Box<Diagnostic>>>,
    pub(super) live: OnceLock<Result<LiveRun, Problem>>,
    /// What keeps the run from beginning, found once.
    pub(super) checked: OnceLock<Result<(), Problem>>,
}

impl std::fmt::Debug for RunContext {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Run").field("root", &self.root).finish_non_exhaustive()
    }
}

impl RunContext {
    /// A run over the repository at `root`, with an empty plan.
    pub fn new(root: PathBuf, settings: Settings, catalog: impl Into<Arc<Catalog>>) -> Self {
        let progress = Arc::new(Mutex::new(ProgressFiles::new(&settings)));
        Self {
            root,
            slots: Slots::new(settings.jobs()),
            listeners: Mutex::new(vec![Box::new(Arc::clone(&progress))]),
            progress,
            settings,
            catalog: catalog.into(),
            versions: Vec::new(),
            plan: RunPlan::default(),
            whole_plan: None,
            chosen: RunChoices::default(),
            custom_checks: CustomChecks::default(),
            rerun_command: RerunCommand::default(),
            sides: None,
            kept: None,
            variants: None,
            contents: None,
            shared_contents: SharedContents::default(),
            shared_id: None,
            inputs: InputReader::default(),
            texts: TextReader::default(),
            program_runner: ProgramRunner::default(),
            calibrated: Vec::new(),
            calibrates: false,
            pace: Pace::default(),
            leads: Leads::default(),
            rubric: OnceLock::new(),
            live: OnceLock::new(),
            checked: OnceLock::new(),
        }
    }

    #[must_use]
    pub fn with_plan(mut self, plan: RunPlan) -> Self {
        self.figures().summary.planned = Some(plan.len());
        self.plan = plan;
        self
    }

    /// The same for a calibration, which finds out what is read of its trials. A trial that its scripted model refuses keeps no
    /// other from starting.
    #[must_use]
    pub fn calibrating(self) -> Self {
        Self { pace: Pace::ignoring_refusals(), calibrates: true, ..self }
    }

    /// The same with the shard's part of its plan, and of its limits: as much of them as the part has of all trials. Refuses a
    /// limit that is too small to divide.
    pub fn of_shard(mut self, shard: Shard) -> Result<Self, Problem> {
        let whole = std::mem::take(&mut self.plan);
        let part = whole.part(shard);
        self.settings.limit_to_part(part.most() as u64, whole.most() as u64);
        let Settings { max_tokens, max_cost_usd, .. } = self.settings;
        if !part.is_empty() && (max_tokens == Some(0) || max_cost_usd.is_some_and(|limit| limit <= 0.0)) {
            return Err(format!(
                "the limit of the run is too small for {} shards: shard {shard} would have a limit of 0; raise --max-tokens or \
                 --max-cost-usd, or use fewer shards",
                shard.of
            ).into());
        }
        self.whole_plan = Some(whole);
        Ok(self.with_plan(part))
    }

    pub fn figures(&self) -> MutexGuard<'_, ProgressFiles> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a listener to every event from now on.
    pub fn read_by(&self, listener: impl EventListener + 'static) {
        self.listeners().push(Box::new(listener));
    }

    /// Passes an event to every listener.
    pub fn emit(&self, event: &RunEvent) {
        for listener in self.listeners().iter_mut() {
            listener.on_event(event);
        }
    }

    fn listeners(&self) -> MutexGuard<'_, Vec<Box<dyn EventListener>>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The plugin with which the agent of a trial gets the skill under test.
    pub fn plugin_for(&self, mode: &Mode, case: &Case) -> Option<&Plugin> {
        let catalog = self.skills_of(mode.commit.as_deref())?;
        catalog.skill(&case.skill)?.plugin_for(mode, case).map(AsRef::as_ref)
    }

    /// The skills of the working tree, or of a commit; `None` if the run lacks that version.
    pub fn skills_of(&self, commit: Option<&str>) -> Option<&Catalog> {
        let Some(commit) = commit else { return Some(&self.catalog) };
        self.version(commit).map(|version| &version.catalog)
    }

    fn version(&self, commit: &str) -> Option<&SkillVersion> {
        self.versions.iter().find(|version| version.commit == commit)
    }

    /// The same with the root of the tree that has them; those of the working tree if the run lacks that version.
    pub fn skills_at(&self, commit: Option<&str>) -> (&Path, &Catalog) {
        let version = commit.and_then(|commit| self.version(commit));
        version.map_or((&self.root, &self.catalog), |version| (version.root(), &version.catalog))
    }

    /// How often a case runs, and which share of its trials must pass.
    pub fn repetition(&self, found: &FoundCase) -> EffectiveRepetition {
        self.settings.repetition.of(&found.skill, found.repetition())
    }

    /// Whether the first trial of a prompt starts before the others. A scripted model has no cache.
    pub fn has_leads(&self) -> bool {
        self.settings.live && self.settings.lead && self.settings.scripted.is_none()
    }

    /// Digests of what decides a trial of `case` in `mode`: see [`InputReader::read`].
    pub fn digested(
        &self,
        skills: &SkillFolders<'_>,
        case: &Case,
        mode: &Mode,
        opened: &[String],
    ) -> std::io::Result<Inputs> {
        self.inputs.read(&self.sources(*skills, mode), case, mode, opened)
    }

    /// A digest of what decides the verdicts of `case` in `mode` besides: see [`InputReader::checks`].
    pub fn checks_digest(&self, case: &Case, mode: &Mode) -> std::io::Result<String> {
        self.inputs.checks(&self.sources(SkillFolders::Repository, mode), case, mode)
    }

    /// A digest of what decides a trial of `case` in `mode` besides skills, as this reader finds it in the repository.
    pub fn besides_skills(&self, reader: &InputReader, case: &Case, mode: &Mode) -> std::io::Result<String> {
        let sources = self.sources(SkillFolders::Repository, mode);
        let inputs = reader.read(&sources, case, mode, &[])?;
        Ok(format!("{} {}", inputs.besides_skills(), reader.checks(&sources, case, mode)?))
    }

    /// The same as the run found it first.
    pub fn besides_skills_at_start(&self, case: &Case, mode: &Mode) -> std::io::Result<String> {
        self.besides_skills(&self.inputs, case, mode)
    }

    fn sources<'a>(&'a self, skills: SkillFolders<'a>, mode: &Mode) -> DigestInputs<'a> {
        let (skills_root, catalog) = self.skills_at(mode.commit.as_deref());
        DigestInputs { root: &self.root, settings: &self.settings, catalog, skills_root, skills }
    }

    /// Begins the open run: from now on its events are stored.
    pub(super) fn begin(&self, live: &LiveRun, progress_file: impl EventListener + 'static) {
        // First, so that no result is reported before it is stored.
        self.listeners().insert(0, Box::new(progress_file));
        if self.shared_id.is_none() {
            let mut figures = self.figures();
            figures.keep_in(&live.folder);
            let compares = self.sides.is_some() || self.variants.is_some();
            figures.summary.comparisons.extend(compares.then(|| live.folder.id().to_owned()));
            for (id, spent) in &live.before.refused {
                figures.summary.add_refused(id, *spent);
            }
        }
    }

    /// The judge's template and schema, read at the first call.
    pub fn rubric(&self) -> Result<&Rubric, &Diagnostic> {
        self.rubric.get_or_init(|| rubric::read(&self.root, &self.settings)).as_ref().map_err(AsRef::as_ref)
    }

    /// The directory of the run's artifacts, once a live trial has started.
    pub fn folder(&self) -> Option<&Path> {
        self.opened().map(|live| live.folder.path())
    }

    /// What live trials share, once one has started.
    pub fn opened(&self) -> Option<&LiveRun> {
        self.live.get()?.as_ref().ok()
    }

    /// What the run has cost in dollars; `None` if that is unknown.
    pub fn cost_usd(&self) -> Option<f64> {
        self.opened()?.budget.cost_usd()
    }

    /// Why no further trial may start, if so.
    pub fn no_more(&self) -> Option<NotRun> {
        if interrupt::raised() {
            return Some(NotRun::Interrupted);
        }
        if self.why_not_stored().is_some() {
            return Some(NotRun::NotStored);
        }
        self.opened()?.budget.used_up()
    }

    pub fn why_not_stored(&self) -> Option<&str> {
        self.opened()?.not_stored.get().map(String::as_str)
    }

    /// The message for the user if the run lacks trials because a result could not be stored, or because logins were closed.
    pub fn told_early_end(&self) -> Option<String> {
        let remedy = self.opened()?.folder.remedy();
        if let Some(why) = self.why_not_stored() {
            return Some(format!("the run stopped: {why}; nothing more was started. Fix that; {remedy}"));
        }
        let when = if self.pace.closed().iter().all(|login| matches!(login.why, ClosedBy::UsageLimit(Some(_)))) {
            "After that"
        } else {
            "Later"
        };
        Some(format!("not every trial was measured: {}. {when}, {remedy}", self.told_limits()?))
    }

    /// Why nothing more was started with some logins, and until when.
    fn told_limits(&self) -> Option<String> {
        let closed = self.pace.closed();
        let each = closed.iter().map(|ClosedLogin { agent, why }| {
            let agent = agent.as_str();
            let what = match why {
                ClosedBy::Unreachable(why) => format!("the provider of {agent} cannot be reached ({why})"),
                ClosedBy::UsageLimit(Some(ends)) => {
                    let ends = ends.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M %Z");
                    format!("the provider refuses the login of {agent} until {ends}")
                }
                ClosedBy::UsageLimit(None) => {
                    format!("the provider refuses the login of {agent} and does not say until when")
                }
            };
            format!("{what}; nothing more was started with it")
        });
        (!closed.is_empty()).then(|| each.collect::<Vec<_>>().join("; "))
    }

    /// Ends the run: stores its summary, and notes in its record how it ended. Does nothing if several processes share
    /// the run: none of them knows that it is the last, and the summary is then made from the run's directory. Returns why
    /// files of the run lack something.
    pub fn close(&self) -> Vec<String> {
        let Some(live) = self.opened() else { return Vec::new() };
        let mut problems = Vec::new();
        if self.shared_id.is_none() {
            let kind = match self.why_not_stored() {
                Some(_) => RunEndKind::NotStored,
                None if !interrupt::raised() => RunEndKind::Finished,
                None if live.folder.is_stopping() => RunEndKind::Stopped,
                None => RunEndKind::Interrupted,
            };
            live.lock.give_room();
            // First, because `status` needs it.
            let limits = self.told_limits();
            let noted = live.folder.write_ended(kind, self.why_not_stored().or(limits.as_deref()));
            problems.extend(self.figures().finish().and(noted).err().map(|error| error.to_string()));
        }
        problems.extend(live.ledger_trouble.lock().unwrap_or_else(PoisonError::into_inner).clone());
        problems
    }
}
