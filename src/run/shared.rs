//! A run: the repository, the settings, and what all its trials share.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::agent::delivery::Snapshot;
use crate::agent::room::Scratch;
use crate::cases::catalog::Catalog;
use crate::grade::rubric::Rubric;
use crate::process::{interrupt, watchdog};
use crate::run::digests::InputReader;
use crate::run::own_check::OwnChecks;
use crate::run::pace::Pace;
use crate::run::rubric;
use crate::settings::Settings;
use crate::store::{Ledger, RunFolder};
use crate::text::diagnostic::Diagnostic;
use crate::text::redact::{Redactor, looks_secret};
use crate::trial::outcome::{NotRun, Outcome, Trouble, TroubleKind};
use crate::trial::run_record::TrialRecord;

/// What the trials of a run share.
#[derive(Debug)]
pub struct Run {
    /// The repository's root.
    pub root: PathBuf,
    /// What was chosen.
    pub settings: Settings,
    /// The skills and cases.
    pub catalog: Catalog,
    /// Checks beside the built-in ones.
    pub own_checks: OwnChecks,
    /// What several processes that share a run have in common, where they do.
    pub shared_id: Option<String>,
    /// Digests of what trials see.
    pub inputs: InputReader,
    /// How fast agents may start.
    pub pace: Pace,
    rubric: OnceLock<Result<Rubric, Box<Diagnostic>>>,
    live: OnceLock<Live>,
    opening: Mutex<()>,
    account: Mutex<Account>,
}

/// What has to be known of the trials that have ended.
#[derive(Debug, Default)]
struct Account {
    /// US dollars, so far as agents told.
    spent: f64,
    /// Why the progress file lacks lines.
    trouble: Option<String>,
}

/// What only live trials need, made when the first one starts.
#[derive(Debug)]
pub struct Live {
    /// Where the run is kept.
    pub folder: RunFolder,
    /// Its progress file.
    pub ledger: Ledger,
    /// Where agents live.
    pub scratch: Scratch,
    /// The skills they are given.
    pub snapshot: Snapshot,
    /// What is masked in all that is kept.
    pub redactors: Redactors,
}

/// Makes redactors, each once: it takes longer than some trials.
#[derive(Debug)]
pub struct Redactors {
    /// The values of variables that are listed as secret, or look like it.
    known: Vec<String>,
    made: Mutex<HashMap<Vec<String>, Arc<Redactor>>>,
}

impl Redactors {
    fn new(settings: &Settings) -> Self {
        // What is not Unicode is no key.
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

impl Run {
    /// A run over the repository at `root`.
    #[must_use]
    pub fn new(root: PathBuf, settings: Settings, catalog: Catalog) -> Self {
        Self {
            root,
            settings,
            catalog,
            own_checks: OwnChecks::default(),
            shared_id: None,
            inputs: InputReader::default(),
            pace: Pace::default(),
            rubric: OnceLock::new(),
            live: OnceLock::new(),
            opening: Mutex::new(()),
            account: Mutex::new(Account::default()),
        }
    }

    /// What live trials share, made at the first call.
    ///
    /// # Errors
    /// When the run's folder, the scratch folder or the snapshot of the skills cannot be made.
    pub fn live(&self) -> Result<&Live, Trouble> {
        let _one_at_a_time = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = self.live.get() {
            return Ok(live);
        }
        let trouble = |error: &dyn std::fmt::Display| Trouble::new(TroubleKind::Files, error.to_string());
        let folder = match (&self.settings.run_id, &self.shared_id) {
            (None, Some(key)) => RunFolder::shared(&self.root, key),
            (id, _) => RunFolder::create(&self.root, id.as_deref()),
        };
        let folder = folder.map_err(|error| trouble(&error))?;
        let ledger = folder.ledger().map_err(|error| trouble(&error))?;
        let scratch = Scratch::open(self.settings.scratch.as_deref()).map_err(|error| trouble(&error))?;
        watchdog::remove_afterwards(scratch.path());
        let snapshot = Snapshot::take(&scratch, &self.root, &self.catalog).map_err(|error| trouble(&error))?;
        for found in &self.catalog.skills {
            if let Ok(digest) = snapshot.digest(&found.skill().slug) {
                self.inputs.know(self.root.join(&found.skill().folder), digest.to_owned());
            }
        }
        snapshot.keep(&folder.snapshot()).map_err(|error| trouble(&error))?;
        let redactors = Redactors::new(&self.settings);
        Ok(self.live.get_or_init(|| Live { folder, ledger, scratch, snapshot, redactors }))
    }

    /// What judges are asked, read at the first call.
    ///
    /// # Errors
    /// When the repository's own template or schema cannot be used.
    pub fn rubric(&self) -> Result<&Rubric, &Diagnostic> {
        self.rubric.get_or_init(|| rubric::read(&self.root, &self.settings)).as_ref().map_err(AsRef::as_ref)
    }

    /// The folder of the run's artifacts, once a live trial has started.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.live.get().map(|live| live.folder.path())
    }

    /// Why no further trial may start, if so.
    #[must_use]
    pub fn no_more(&self) -> Option<NotRun> {
        if interrupt::raised() {
            return Some(NotRun::Interrupted);
        }
        let limit = self.settings.max_cost_usd?;
        (self.account().spent >= limit).then_some(NotRun::CostLimit(limit))
    }

    /// Notes a live trial that has ended in the progress file.
    pub fn note(&self, outcome: &Outcome, attempts: u32) {
        let mut record = TrialRecord::new(outcome, attempts);
        record.ended = Some(jiff::Timestamp::now().to_string());
        self.note_cost(&record);
        if let Some(live) = self.live.get() {
            // The trial's own folder says the same, so nothing is lost; but it has to be told.
            if let Err(error) = live.ledger.append(&record) {
                self.account().trouble.get_or_insert(error.to_string());
            }
        }
    }

    /// Counts what a trial cost.
    pub fn note_cost(&self, record: &TrialRecord) {
        self.account().spent += record.cost_usd.unwrap_or_default();
    }

    /// Why the progress file lacks lines, if it does.
    #[must_use]
    pub fn ledger_trouble(&self) -> Option<String> {
        self.account().trouble.clone()
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
