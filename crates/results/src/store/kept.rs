//! Trials that are kept for later comparisons, in `artifacts/skill-evals/kept/<key>/<digest>/`: each sealed as a recording is, with
//! a key that no repository knows. CI can cache the directory.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use walkdir::WalkDir;

use super::seal_key::SealKey;
use super::{At, KEPT, StoreError, TrialFolder, make_runs, runs_folder, sub_folders};
use crate::files::at::PathError;
use crate::files::rooted;
use crate::trial::evidence::Meta;

/// Most bytes of all kept trials together.
const MOST_BYTES: u64 = 256 << 20;

/// How long a trial is kept. Longer than it is used, so that the results of some weeks can be compared.
const MOST_AGE: Duration = Duration::from_secs(30 * 24 * 3600);

/// The prefix of a directory that is being written.
const NEW: &str = ".new-";

/// How long a directory may be being written. After that its process is gone.
const WRITING: Duration = Duration::from_secs(3600);

/// The kept trials, each of which a comparison may use once.
#[derive(Debug)]
pub struct KeptTrials {
    folder: PathBuf,
    seal_key: SealKey,
    max_age: Duration,
    used: Mutex<BTreeSet<PathBuf>>,
    setups: Mutex<BTreeMap<String, Option<String>>>,
    warnings: Mutex<Vec<String>>,
}

#[derive(Debug)]
pub struct KeptTrial {
    pub folder: TrialFolder,
    pub meta: Meta,
}

impl KeptTrials {
    /// Those of the repository at `root` that are at most this old.
    pub fn new(root: &Path, max_age: Duration) -> Result<Self, StoreError> {
        let folder = runs_folder(root)?.join(KEPT);
        let (seal_key, warning) = match SealKey::of_user() {
            Ok(key) => (key, None),
            Err(error) => (SealKey::random()?, Some(format!("{error}: trials that are kept now cannot be used later"))),
        };
        let (used, setups) = Default::default();
        let warnings = Mutex::new(Vec::from_iter(warning));
        Ok(Self { folder, seal_key, max_age, used, setups, warnings })
    }

    /// Keeps a trial under `key`: `write` writes it to a directory, which is sealed.
    pub fn add(&self, key: &str, write: impl FnOnce(&TrialFolder) -> Result<(), StoreError>) -> Result<(), StoreError> {
        if let Some(runs) = self.folder.parent() {
            make_runs(runs)?;
        }
        let of_key = self.folder.join(key);
        fs::create_dir_all(&of_key).at(&of_key)?;
        let staged = tempfile::Builder::new().prefix(NEW).tempdir_in(&of_key).at(&of_key)?;
        let new = TrialFolder::kept(staged.path().join("trial"), self.seal_key);
        write(&new)?;
        new.seal(1)?;
        // The same trial has the same name, whoever adds it.
        let name = blake3::hash(serde_json::to_string(&new.meta()?).unwrap_or_default().as_bytes()).to_hex();
        let place = of_key.join(&name[..32]);
        match fs::rename(new.path(), &place) {
            Err(_) if place.exists() => Ok(()),
            renamed => Ok(renamed.at(&place)?),
        }
    }

    /// The trials under `key` that are not used yet and young enough, the first to start first: the trials of a case end with
    /// one that decided something, so a later one first would be a choice by result.
    pub fn unused(&self, key: &str) -> Vec<KeptTrial> {
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut found = self.read(key);
        found.retain(|kept| {
            !used.contains(kept.folder.path()) && age(&kept.meta).is_some_and(|age| age <= self.max_age)
        });
        found
    }

    /// The setup of an agent, which `read` reads once.
    pub fn setup(&self, agent: &str, read: impl FnOnce() -> Option<String>) -> Option<String> {
        let mut setups = self.setups.lock().unwrap_or_else(PoisonError::into_inner);
        setups.entry(agent.to_owned()).or_insert_with(read).clone()
    }

    /// Marks a trial as used. Returns whether it was unused.
    pub fn take(&self, kept: &KeptTrial) -> bool {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).insert(kept.folder.path().to_path_buf())
    }

    /// All trials that can be read, by key.
    pub fn all(&self) -> Vec<(String, Vec<KeptTrial>)> {
        sub_folders(&self.folder).into_iter().map(|key| (key.clone(), self.read(&key))).collect()
    }

    /// The trials under `key` in the order in which they started. Warns of those that are damaged.
    fn read(&self, key: &str) -> Vec<KeptTrial> {
        let of_key = self.folder.join(key);
        let names = sub_folders(&of_key).into_iter().filter(|name| !name.starts_with(NEW));
        let mut found = Vec::new();
        for folder in names.map(|name| TrialFolder::kept(of_key.join(name), self.seal_key)) {
            match folder.meta() {
                Ok(meta) => found.push(KeptTrial { folder, meta }),
                Err(StoreError::Unsealed(_)) => self.warn(format!(
                    "{}: some of its trials are not sealed with the key of this user: they are measured again; remove it, or set \
                     SKILL_EVALS_KEPT_KEY to the key with which they were sealed",
                    self.folder.display()
                )),
                Err(error) => {
                    let at = match error {
                        StoreError::Damaged { path, .. } | StoreError::Io(PathError { path, .. }) => path,
                        _ => folder.path().to_path_buf(),
                    };
                    let kept = folder.path().display();
                    self.warn(format!(
                        "{} is missing or damaged: the kept trial is not used; remove {kept}",
                        at.display()
                    ));
                }
            }
        }
        found.sort_by_key(|kept| (started(&kept.meta), kept.folder.path().to_path_buf()));
        found
    }

    /// Removes trials that are too old, then the oldest until the rest has the allowed size.
    pub fn remove_old(&self) -> Result<(), StoreError> {
        let (mut bytes, mut all) = (0, Vec::new());
        for key in sub_folders(&self.folder) {
            let of_key = self.folder.join(&key);
            for name in sub_folders(&of_key).into_iter().filter(|name| name.starts_with(NEW)) {
                let left = of_key.join(name);
                let written = fs::metadata(&left).and_then(|found| found.modified()).ok();
                if written.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > WRITING) {
                    rooted::remove(&left)?;
                }
            }
            all.extend(self.read(&key));
        }
        all.sort_by_key(|kept| std::cmp::Reverse(started(&kept.meta)));
        for kept in all {
            let files = WalkDir::new(kept.folder.path()).into_iter().flatten();
            bytes += files.filter_map(|entry| Some(entry.metadata().ok()?.len())).sum::<u64>();
            if bytes > MOST_BYTES || age(&kept.meta).is_none_or(|age| age > MOST_AGE) {
                kept.folder.remove()?;
                // It stays if another trial has the same key.
                let _ = kept.folder.path().parent().map(fs::remove_dir);
            }
        }
        Ok(())
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

fn started(meta: &Meta) -> Option<Timestamp> {
    meta.started.parse().ok()
}

/// How long ago it started. A start in the future, by another machine's clock, is as far away as one in the past.
fn age(meta: &Meta) -> Option<Duration> {
    Some(Timestamp::now().duration_since(started(meta)?).unsigned_abs())
}
