//! Trials that are kept for later comparisons: in `artifacts/skill-evals/kept/trials/<key>/<name>/` those that may stand for trials of
//! the base, and in `kept/comparisons` those of [running comparisons](super::running). Each is sealed as a recording is, with a key
//! that no repository knows. CI can cache the directory.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::seal::SealKey;
use super::{At, KEPT, StoreError, TrialFolder, make_runs, read_json, runs_folder, sub_folders};
use crate::files::at::PathError;
use crate::files::look;
use crate::trial::evidence::Meta;

/// The directory of the trials that may stand for trials of a base.
const TRIALS: &str = "trials";

/// The prefix of a directory that is being written.
pub(super) const NEW: &str = ".new-";

/// The file that says what a kept trial stands for. It is sealed with the trial, which stands for nothing else.
const KEPT_AS: &str = "kept.json";

/// The kept trials of a repository.
#[derive(Debug)]
pub struct KeptTrials {
    pub(super) folder: PathBuf,
    pub(super) seal_key: SealKey,
    pub(super) max_age: Duration,
    used: Mutex<BTreeSet<TrialOrigin>>,
    warnings: Mutex<Vec<String>>,
}

/// What a trial was kept as.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptAs {
    /// The digest of what decided it, or of what decides its comparison and its place there.
    pub key: String,
    /// The version of its run's agent, if the agent says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The model that its run's agent reports, if it is not the one that was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

#[derive(Debug)]
pub struct KeptTrial {
    pub folder: TrialFolder,
    pub meta: Meta,
    pub kept_as: KeptAs,
}

/// Which trial it is, in whatever run a copy of it is: its first run, its skill, its case, and when it started.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TrialOrigin([String; 4]);

impl TrialOrigin {
    pub fn of(meta: &Meta) -> Self {
        let run = meta.kept_from.as_ref().unwrap_or(&meta.run_id);
        Self([run, &meta.skill.slug, &meta.case.id, &meta.started].map(ToString::to_string))
    }
}

impl KeptTrials {
    /// Those of the repository at `root`. Trials that are older than this are not used.
    pub fn new(root: &Path, max_age: Duration) -> Result<Self, StoreError> {
        let folder = runs_folder(root)?.join(KEPT);
        let (seal_key, warning) = match SealKey::of_user() {
            Ok(key) => (key, None),
            Err(error) => (SealKey::random()?, Some(format!("{error}: trials that are kept now cannot be used later"))),
        };
        let warnings = Mutex::new(Vec::from_iter(warning));
        Ok(Self { folder, seal_key, max_age, used: Mutex::default(), warnings })
    }

    pub(super) fn of_key(&self, key: &str) -> PathBuf {
        self.folder.join(TRIALS).join(key)
    }

    /// Keeps a trial that may stand for trials of a base. `write` writes it to a directory, which is sealed.
    pub fn add(
        &self,
        kept_as: &KeptAs,
        write: impl FnOnce(&TrialFolder) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        // The same trial has the same name, whoever adds it.
        let name =
            |meta: &Meta| blake3::hash(format!("{:?}", TrialOrigin::of(meta)).as_bytes()).to_hex()[..32].to_owned();
        self.put(&self.of_key(&kept_as.key), kept_as, name, write)
    }

    /// Writes a trial into a new directory in `above`, seals it, and renames it to what `name` makes of its facts.
    pub(super) fn put(
        &self,
        above: &Path,
        kept_as: &KeptAs,
        name: impl FnOnce(&Meta) -> String,
        write: impl FnOnce(&TrialFolder) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if let Some(runs) = self.folder.parent() {
            make_runs(runs)?;
        }
        fs::create_dir_all(above).at(above)?;
        let staged = tempfile::Builder::new().prefix(NEW).tempdir_in(above).at(above)?;
        let new = TrialFolder::kept(staged.path().join("trial"), self.seal_key);
        write(&new)?;
        new.write(KEPT_AS, &super::as_json(kept_as).at(new.path())?)?;
        new.seal(1)?;
        let place = above.join(name(&new.meta()?));
        match fs::rename(new.path(), &place) {
            Err(_) if look::exists(&place)? => Ok(()),
            renamed => Ok(renamed.at(&place)?),
        }
    }

    /// The trials under `key` that are not used yet and young enough, the first to start first.
    pub fn unused(&self, key: &str) -> Vec<KeptTrial> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut found = self.of_base(key);
        found.retain(|kept| {
            !used.contains(&TrialOrigin::of(&kept.meta))
                && age(&kept.meta.started).is_some_and(|age| age <= self.max_age)
        });
        found
    }

    /// Marks a trial as used by the comparison, which uses each once. Returns whether it was unused.
    pub fn take(&self, meta: &Meta) -> bool {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(TrialOrigin::of(meta))
    }

    /// All trials that may stand for trials of a base, by key.
    pub fn all(&self) -> Vec<(String, Vec<KeptTrial>)> {
        self.names_in(&self.folder.join(TRIALS)).into_iter().map(|key| (key.clone(), self.of_base(&key))).collect()
    }

    /// The directories in a directory. Warns of one that cannot be read.
    pub(super) fn names_in(&self, directory: &Path) -> Vec<String> {
        sub_folders(directory).unwrap_or_else(|error| {
            self.warn(format!("{error}: the kept trials there are not used"));
            Vec::new()
        })
    }

    /// Those under `key` in the order in which they started.
    fn of_base(&self, key: &str) -> Vec<KeptTrial> {
        let of_key = self.of_key(key);
        let names = self.names_in(&of_key).into_iter().filter(|name| !name.starts_with(NEW));
        let mut found: Vec<KeptTrial> = names.filter_map(|name| self.read(of_key.join(name), key)).collect();
        found.sort_by_key(|kept| (time(&kept.meta.started), kept.folder.path().to_path_buf()));
        found
    }

    /// The trial in this directory, which was kept under `key`. Warns if it is damaged, or was not.
    pub(super) fn read(&self, path: PathBuf, key: &str) -> Option<KeptTrial> {
        let folder = TrialFolder::kept(path, self.seal_key);
        let read = folder.meta().and_then(|meta| Ok((meta, read_json::<KeptAs>(&folder.path().join(KEPT_AS))?)));
        let damaged = |at: &Path| {
            let kept = folder.path().display();
            format!("{} is missing or damaged: the kept trial is not used; remove {kept}", at.display())
        };
        let why = match read {
            Ok((meta, kept_as)) if kept_as.key == key => return Some(KeptTrial { folder, meta, kept_as }),
            Ok(_) => format!("{} was kept for another place: it is not used; remove it", folder.path().display()),
            Err(StoreError::Unsealed(_)) => self.unsealed(),
            Err(StoreError::Damaged { path, .. } | StoreError::Io(PathError { path, .. })) => damaged(&path),
            Err(_) => damaged(folder.path()),
        };
        self.warn(why);
        None
    }

    pub(super) fn unsealed(&self) -> String {
        format!(
            "{}: some of its trials are not sealed with the key of this user: they are measured again; remove it, or set \
             SKILL_EVALS_KEPT_KEY to the key with which they were sealed",
            self.folder.display()
        )
    }

    /// Notes a warning, once.
    pub fn warn(&self, warning: String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    pub fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

pub(super) fn time(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}

/// How long ago that was. A time in the future, by another machine's clock, is as far away as one in the past.
pub(super) fn since(time: Timestamp) -> Duration {
    Timestamp::now().duration_since(time).unsigned_abs()
}

pub(super) fn age(text: &str) -> Option<Duration> {
    time(text).map(since)
}
