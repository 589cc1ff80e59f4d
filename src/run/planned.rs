//! A run before its first trial: what the repository says, what was asked, and the plan.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use jiff::civil::Date;
use jiff::tz::TimeZone;

use crate::cases::case::{Case, FoundCase};
use crate::cases::catalog::Catalog;
use crate::cases::plugin::Plugin;
use crate::grade::rubric::{self, Rubric};
use crate::report::trial_text::RerunCommand;
use crate::results::calibration::AgentCalibration;
use crate::run::custom_check::CustomChecks;
use crate::run::digests::{DigestInputs, InputReader, RecordingDrift, SkillFolders, as_before, opened_skills};
use crate::run::kept_store::KeptStore;
use crate::run::plan::RunPlan;
use crate::run::program_runner::ProgramRunner;
use crate::run::shared_contents::SharedContents;
use crate::run::skill_version::SkillVersion;
use crate::run::skill_version::TextReader;
use crate::settings::mode::Mode;
use crate::settings::{EffectiveRepetition, Settings};
use crate::text::diagnostic::Diagnostic;
use crate::text::problem::Problem;
use crate::trial::evidence::Inputs;
use crate::trial::run_record::VariantRun;
use crate::trial::run_record::{ComparedSides, RunChoices};
use crate::trial::shard::Shard;

/// A run whose trials have not started, and what they will be decided by. A [`StartedRun`](crate::run::started::StartedRun) has
/// one, which does not change any more.
pub struct PlannedRun {
    // What the repository says.
    pub root: PathBuf,
    /// Those of the repository, with what this run was asked.
    pub settings: Settings,
    pub catalog: Arc<Catalog>,
    pub custom_checks: CustomChecks,
    /// Other versions of the skills than those of the catalog, for modes that ask for them.
    pub versions: Vec<SkillVersion>,

    // What was asked.
    /// The user's choices, as the run's record stores them.
    pub chosen: RunChoices,
    /// Both sides, if the run compares.
    pub sides: Option<ComparedSides>,
    /// The variants in which it measures its cases, if it has some.
    pub variants: Option<VariantRun>,
    /// How a reader runs something again.
    pub rerun_command: RerunCommand,
    /// The same in every process that shares this run; `None` for a process of its own.
    pub shared_id: Option<String>,
    /// The calibrations that were made for it: a machine without a cache does not keep them.
    pub calibrated: Vec<AgentCalibration>,
    /// Whether it is a calibration, which finds out what is read of its trials.
    pub calibrates: bool,
    /// Whether it has a directory from its start.
    pub is_stored: bool,

    // The plan.
    pub plan: RunPlan,
    /// The plan of all shards, if this run is one of them.
    pub whole_plan: Option<RunPlan>,
    /// What it keeps for later runs, and what earlier ones kept for it, if that is wanted.
    pub kept: Option<KeptStore>,
    /// What decides its trials, by [`same_contents`](crate::run::same_contents), if another start may continue it.
    pub contents: Option<String>,

    // What is read once, whoever needs it first.
    pub shared_contents: SharedContents,
    pub inputs: InputReader,
    pub texts: TextReader,
    pub program_runner: ProgramRunner,
    rubric: OnceLock<Result<Rubric, Box<Diagnostic>>>,
}

/// Until when the case fails nothing, and why, if it is in quarantine today.
pub fn quarantine(case: &Case) -> Option<String> {
    let quarantine = case.quarantine.as_ref();
    quarantine.filter(|quarantine| !quarantine.is_over(today())).map(ToString::to_string)
}

/// The day, UTC.
pub fn today() -> Date {
    TimeZone::UTC.to_datetime(jiff::Timestamp::now()).date()
}

impl std::fmt::Debug for PlannedRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PlannedRun").field("root", &self.root).finish_non_exhaustive()
    }
}

impl PlannedRun {
    /// A run over the repository at `root`, with an empty plan.
    pub fn new(root: PathBuf, settings: Settings, catalog: impl Into<Arc<Catalog>>) -> Self {
        Self {
            root,
            settings,
            catalog: catalog.into(),
            custom_checks: CustomChecks::default(),
            versions: Vec::new(),
            chosen: RunChoices::default(),
            sides: None,
            variants: None,
            rerun_command: RerunCommand::default(),
            shared_id: None,
            calibrated: Vec::new(),
            calibrates: false,
            is_stored: false,
            plan: RunPlan::default(),
            whole_plan: None,
            kept: None,
            contents: None,
            shared_contents: SharedContents::default(),
            inputs: InputReader::default(),
            texts: TextReader::default(),
            program_runner: ProgramRunner::default(),
            rubric: OnceLock::new(),
        }
    }

    #[must_use]
    pub fn with_plan(self, plan: RunPlan) -> Self {
        Self { plan, ..self }
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

    /// How what decides a trial of `case` in `mode` has changed since its recording.
    pub fn drift(&self, case: &Case, mode: &Mode, recorded: &Inputs) -> std::io::Result<RecordingDrift> {
        let now = self.digested(&SkillFolders::Repository, case, mode, &opened_skills(recorded))?;
        Ok(RecordingDrift::between(recorded, &now, &as_before(&self.settings, mode, case)))
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

    /// The judge's template and schema, read at the first call.
    pub fn rubric(&self) -> Result<&Rubric, &Diagnostic> {
        self.rubric.get_or_init(|| rubric::read(&self.root, &self.settings)).as_ref().map_err(AsRef::as_ref)
    }
}
