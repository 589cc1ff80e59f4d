//! What live trials share, once their run is open.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::agent::snapshot::SkillSnapshot;
use crate::agent::trial_env::ScratchDir;
use crate::settings::Settings;
use crate::settings::mode::{Mode, SkillSelection};
use crate::store::{LedgerContents, RunFolder, RunLock};
use crate::text::redact::{Redactor, looks_secret};
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::id::TrialId;

/// What live trials share.
#[derive(Debug)]
pub struct LiveRun {
    /// The run's folder.
    pub folder: RunFolder,
    /// Where the rooms of agents are made.
    pub scratch: ScratchDir,
    /// The skills they are given.
    pub snapshots: Snapshots,
    /// Masks secrets in everything that is stored.
    pub redactors: Redactors,
    /// Results of an earlier part of the run that stand although what decides them has changed, and what has.
    pub kept_although_changed: Vec<(TrialId, Vec<String>)>,
    /// What earlier parts of the run came to, and took.
    pub before: LedgerContents,
    /// Why the progress file lacks lines.
    pub ledger_trouble: Arc<Mutex<Option<String>>>,
    /// Makes this process the run's runner.
    pub(super) lock: RunLock,
}

/// Copies of the skills that trials are given, made when the run began: of every version, and of every part that a mode
/// offers.
#[derive(Debug)]
pub struct Snapshots {
    /// By commit; `None` is the working tree.
    versions: HashMap<Option<String>, Arc<SkillSnapshot>>,
    parts: Mutex<HashMap<SnapshotKey, Arc<SkillSnapshot>>>,
}

/// The commit, and the slugs of the skills.
type SnapshotKey = (Option<String>, Vec<String>);

impl Snapshots {
    pub(super) fn new(versions: HashMap<Option<String>, Arc<SkillSnapshot>>) -> Self {
        Self { versions, parts: Mutex::default() }
    }

    /// What a trial of the skill `slug` is given in `mode`.
    pub fn offered(&self, mode: &Mode, slug: &str) -> Result<Arc<SkillSnapshot>, Trouble> {
        let files = |error: &dyn fmt::Display| Trouble::new(TroubleKind::Files, error.to_string());
        let whole = self.versions.get(&mode.commit).ok_or_else(|| files(&"the run did not begin with these skills"))?;
        if mode.offer == SkillSelection::All {
            return Ok(Arc::clone(whole));
        }
        let slugs: Vec<String> =
            whole.slugs().filter(|other| mode.offer.includes(slug, other)).map(str::to_owned).collect();
        let mut parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (mode.commit.clone(), slugs);
        if let Some(part) = parts.get(&key) {
            return Ok(Arc::clone(part));
        }
        let part = Arc::new(whole.part(&key.1));
        parts.insert(key, Arc::clone(&part));
        Ok(part)
    }
}

/// Why a run was not opened.
#[derive(Clone, Debug, PartialEq)]
pub enum RunOpenError {
    /// What was asked for cannot be done.
    Refused(String),
    /// A folder or file could not be made.
    Trouble(Trouble),
}

impl fmt::Display for RunOpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(why) => f.write_str(why),
            Self::Trouble(trouble) => trouble.fmt(f),
        }
    }
}

/// Makes redactors, each once: it takes longer than some trials.
#[derive(Debug)]
pub struct Redactors {
    /// The values of variables that are listed as secret, or look like it.
    known: Vec<String>,
    made: Mutex<HashMap<Vec<String>, Arc<Redactor>>>,
}

impl Redactors {
    pub(super) fn new(settings: &Settings) -> Self {
        // A value that is not Unicode cannot be a key.
        let users =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let secret = |(name, value): &(String, String)| settings.secret_env.contains(name) || looks_secret(name, value);
        let known = users.chain(settings.env.clone()).filter(secret).map(|(_, value)| value).collect();
        Self { known, made: Mutex::new(HashMap::new()) }
    }

    /// Masks these values, those of secret variables, and what looks like a key.
    pub fn masking(&self, secrets: Vec<String>) -> Arc<Redactor> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let redactor = made.entry(secrets).or_insert_with_key(|secrets| {
            Arc::new(Redactor::new(self.known.iter().chain(secrets).map(String::as_str)))
        });
        Arc::clone(redactor)
    }
}
