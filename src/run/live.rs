//! What live trials share, once their run is open.

use crate::agent::secrets::{secrets_in_arguments, secrets_in_variable};
use crate::agent::snapshot::SkillSnapshot;
use crate::agent::trial_env::ScratchDir;
use crate::cases::plugin::Plugin;
use crate::run::calibration::ModeKnowledge;
use crate::run::rate_limiter::Budget;
use crate::settings::Settings;
use crate::settings::mode::{Mode, SkillSelection};
use crate::store::{JournalContents, RunFolder, RunLock};
use crate::text::redact::{Redactor, looks_secret};
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::id::TrialId;
use crate::trial::input_file::RecordedCall;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What live trials share.
#[derive(Debug)]
pub struct LiveRun {
    pub folder: RunFolder,
    /// In the scratch directory, and removed before it.
    pub snapshots: Snapshots,
    /// Has the trial environments.
    pub scratch: ScratchDir,
    pub redactors: Redactors,
    /// What is known of each mode's trials, by its name.
    pub known: HashMap<String, ModeKnowledge>,
    /// Outdated results of an earlier part of the run that are kept, and which inputs have changed.
    pub kept_although_changed: Vec<(TrialId, Vec<String>)>,
    /// Results and cost of earlier parts of the run.
    pub before: JournalContents,
    /// Why the progress file lacks lines.
    pub journal_trouble: Arc<Mutex<Option<String>>>,
    /// What real programs answered in each trial, without secrets, if that is recorded.
    pub recorded_mocks: Mutex<BTreeMap<TrialId, Vec<RecordedCall>>>,
    /// What may still be spent.
    pub(super) budget: Budget,
    /// Which result could not be stored, and why.
    pub(super) not_stored: OnceLock<String>,
    /// Makes this process the run's runner.
    pub(super) lock: RunLock,
}

/// Copies of the skills for trials, made when the run began: of every version, and of every selection that a mode offers.
#[derive(Debug)]
pub struct Snapshots {
    /// By commit; `None` is the working tree.
    versions: HashMap<Option<String>, Arc<SkillSnapshot>>,
    /// The names of the run's own copies of them that are not its first ones, by commit.
    copies: HashMap<Option<String>, String>,
    parts: Mutex<HashMap<SnapshotKey, Arc<SkillSnapshot>>>,
}

/// The commit, the slugs of the skills, and the place of the plugin that some of them come with.
type SnapshotKey = (Option<String>, Vec<String>, Option<PathBuf>);

impl LiveRun {
    /// Notes that a result could not be stored. No further trial starts, since its result would be lost as well.
    pub(super) fn not_stored(&self, why: &str) {
        let _ = self.not_stored.set(why.to_owned());
    }
}

impl Snapshots {
    pub(super) fn new(
        versions: HashMap<Option<String>, Arc<SkillSnapshot>>,
        copies: HashMap<Option<String>, String>,
    ) -> Self {
        Self { versions, copies, parts: Mutex::default() }
    }

    /// The name of the run's copy of the skills of a commit, or of the working tree, if it is not the first.
    pub(super) fn copy_of(&self, commit: Option<&String>) -> Option<&str> {
        self.copies.get(&commit.cloned()).map(String::as_str)
    }

    /// The skills for a trial in `mode` of the skill `slug`, which its agent may get with this plugin.
    pub fn offered(&self, mode: &Mode, slug: &str, plugin: Option<&Plugin>) -> Result<Arc<SkillSnapshot>, Trouble> {
        let Some(whole) = self.versions.get(&mode.commit) else {
            return Err(Trouble::new(TroubleKind::Files, "the run did not begin with these skills"));
        };
        if mode.offer == SkillSelection::All && !whole.has_plugins() {
            return Ok(Arc::clone(whole));
        }
        let slugs: Vec<String> =
            whole.slugs().filter(|other| mode.offer.includes(slug, other)).map(str::to_owned).collect();
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (mode.commit.clone(), slugs, plugin.map(Plugin::place));
        let part =
            parts.entry(key).or_insert_with_key(|(_, slugs, plugin)| Arc::new(whole.part(slugs, plugin.as_deref())));
        Ok(Arc::clone(part))
    }
}

/// Creates redactors. Keeps each, because creating one takes longer than some trials.
#[derive(Debug)]
pub struct Redactors {
    /// The values of variables that are listed as secret, or look secret, and secrets in other values and in arguments.
    secrets: Vec<String>,
    redactors: Mutex<HashMap<Vec<String>, Arc<Redactor>>>,
}

impl Redactors {
    pub fn new(settings: &Settings) -> Self {
        // A value that is not Unicode cannot be a key.
        let variables =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let custom = || settings.agents.values().filter_map(|agent| agent.custom.as_ref());
        let of_server = settings.mcp.own.iter().flat_map(|own| own.env.clone());
        let of_agents = custom().flat_map(|custom| custom.env.clone());
        let secrets =
            variables.chain(settings.env.clone()).chain(of_server).chain(of_agents).flat_map(|(name, value)| {
                let within = secrets_in_variable(&value);
                let is_secret = settings.secret_env.contains(&name) || looks_secret(&name, &value);
                within.into_iter().chain(is_secret.then_some(value))
            });
        let of_server = settings.mcp.own.iter().map(|own| &own.args).chain(custom().flat_map(|custom| &custom.args));
        let of_agents =
            settings.agents.values().map(|agent| &agent.args).chain(settings.modes.iter().map(|mode| &mode.args));
        let secrets = secrets.chain(of_server.chain(of_agents).flat_map(|args| secrets_in_arguments(args))).collect();
        Self { secrets, redactors: Mutex::default() }
    }

    /// A redactor that masks these values, those of secret variables, and what looks like a key.
    pub fn masking(&self, secrets: Vec<String>) -> Arc<Redactor> {
        let mut redactors = self.redactors.lock().unwrap_or_else(PoisonError::into_inner);
        let redactor = redactors.entry(secrets).or_insert_with_key(|secrets| {
            Arc::new(Redactor::new(self.secrets.iter().chain(secrets).map(String::as_str)))
        });
        Arc::clone(redactor)
    }
}
