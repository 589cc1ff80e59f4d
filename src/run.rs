//! A run: the repository, the settings, and what all its trials share.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::catalog::Catalog;
use crate::config;
use crate::delivery::Snapshot;
use crate::diagnostic::Diagnostic;
use crate::inputs::InputReader;
use crate::outcome::{Trouble, TroubleKind};
use crate::own_check::OwnChecks;
use crate::rubric::Rubric;
use crate::settings::Settings;
use crate::store::RunFolder;
use crate::workspace::Scratch;

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
    rubric: OnceLock<Result<Rubric, Box<Diagnostic>>>,
    live: OnceLock<Live>,
    opening: Mutex<()>,
}

/// What only live trials need, made when the first one starts.
#[derive(Debug)]
pub struct Live {
    /// Where the run is kept.
    pub folder: RunFolder,
    /// Where agents live.
    pub scratch: Scratch,
    /// The skills they are given.
    pub snapshot: Snapshot,
}

impl Run {
    /// A run over the repository at `root`.
    #[must_use]
    pub fn new(root: PathBuf, settings: Settings, catalog: Catalog) -> Self {
        let (rubric, live, opening) = (OnceLock::new(), OnceLock::new(), Mutex::new(()));
        let (own_checks, inputs) = (OwnChecks::default(), InputReader::default());
        Self { root, settings, catalog, own_checks, shared_id: None, inputs, rubric, live, opening }
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
        let scratch = Scratch::open(self.settings.scratch.as_deref()).map_err(|error| trouble(&error))?;
        let snapshot = Snapshot::take(&scratch, &self.root, &self.catalog).map_err(|error| trouble(&error))?;
        snapshot.keep(&folder.snapshot()).map_err(|error| trouble(&error))?;
        Ok(self.live.get_or_init(|| Live { folder, scratch, snapshot }))
    }

    /// What judges are asked, read at the first call.
    ///
    /// # Errors
    /// When the repository's own template or schema cannot be used.
    pub fn rubric(&self) -> Result<&Rubric, &Diagnostic> {
        self.rubric.get_or_init(|| config::rubric(&self.root, &self.settings)).as_ref().map_err(AsRef::as_ref)
    }

    /// The folder of the run's artifacts, once a live trial has started.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.live.get().map(|live| live.folder.path())
    }
}
