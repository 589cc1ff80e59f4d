//! What live trials share, once their run is open.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use crate::agent::delivery::Snapshot;
use crate::agent::room::Scratch;
use crate::settings::Settings;
use crate::store::{Ledgered, RunFolder, RunLock};
use crate::text::redact::{Redactor, looks_secret};
use crate::trial::id::TrialId;
use crate::trial::trouble::Trouble;

/// What live trials share.
#[derive(Debug)]
pub struct Live {
    /// The run's folder.
    pub folder: RunFolder,
    /// Where the rooms of agents are made.
    pub scratch: Scratch,
    /// The skills they are given.
    pub snapshot: Snapshot,
    /// Masks secrets in everything that is stored.
    pub redactors: Redactors,
    /// Results of an earlier part of the run that stand although what decides them has changed, and what has.
    pub kept_although_changed: Vec<(TrialId, Vec<String>)>,
    /// What earlier parts of the run came to, and took.
    pub before: Ledgered,
    /// Why the progress file lacks lines.
    pub ledger_trouble: Arc<Mutex<Option<String>>>,
    pub(super) _lock: RunLock,
}

/// Why a run was not opened.
#[derive(Clone, Debug, PartialEq)]
pub enum NotOpened {
    /// What was asked for cannot be done.
    Refused(String),
    /// A folder or file could not be made.
    Trouble(Trouble),
}

impl fmt::Display for NotOpened {
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
