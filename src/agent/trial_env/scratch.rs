//! A process's directory for its trials, and the trial environments in it that can be used again.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tempfile::TempDir;

use super::{At, TrialEnv, WorkspaceError};
use crate::profile;

/// The file that a process keeps locked in its scratch directory.
const LOCK: &str = "lock";

/// This process's directory for its trials.
#[derive(Debug)]
pub struct ScratchDir {
    directory: TempDir,
    free: Arc<Mutex<FreeEnvs>>,
    /// Locked while this process runs, so that other processes do not remove the directory.
    _lock: File,
}

/// The trial environments that no trial uses, by what they are prepared for.
pub(super) type FreeEnvs = HashMap<String, Vec<TempDir>>;

/// Whether agents would follow instructions that are next to `path`. codex creates an empty `.git` in its directory for
/// temporary files while it runs a command, and leaves it there when it is killed; that is not a repository.
fn is_sign(path: &Path) -> bool {
    let is_empty_directory = || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    path.exists() && !(path.ends_with(".git") && is_empty_directory())
}

impl ScratchDir {
    /// Creates this process's directory in `base`, or in the default place, and removes what dead processes left.
    pub fn open(base: Option<&Path>) -> Result<Self, WorkspaceError> {
        let base = match base {
            Some(base) => std::path::absolute(base).at(base)?,
            // Not /tmp: the agents' sandboxes let every agent write there.
            None => PathBuf::from(format!("/var/tmp/skill-evals-{}", nix::unistd::getuid())),
        };
        DirBuilder::new().recursive(true).mode(0o700).create(&base).at(&base)?;
        let base = base.canonicalize().at(&base)?;
        for ancestor in base.ancestors() {
            let mut signs = std::iter::once(".git").chain(profile::of_all(|profile| profile.follows.iter().copied()));
            if let Some(sign) = signs.find(|sign| is_sign(&ancestor.join(sign))) {
                let repository = ancestor.to_path_buf();
                return Err(WorkspaceError::InsideRepository { directory: base.clone(), repository, sign });
            }
        }
        sweep(&base);
        let directory = tempfile::Builder::new().prefix("run-").tempdir_in(&base).at(&base)?;
        // Lock before the rename: another process's sweep removes a directory with an unlocked lock.
        let unnamed = directory.path().join("lock-to-be");
        let lock = File::create(&unnamed).at(&unnamed)?;
        lock.lock().at(&unnamed)?;
        let path = directory.path().join(LOCK);
        fs::rename(&unnamed, &path).at(&path)?;
        Ok(Self { directory, free: Arc::default(), _lock: lock })
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A trial environment. Those of one `kind` are prepared alike; one that an earlier trial left in order is used again,
    /// since file systems are slow at creating what was just removed.
    pub fn trial_env(&self, kind: &str) -> Result<TrialEnv, WorkspaceError> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).get_mut(kind).and_then(Vec::pop);
        let directory = if let Some(free) = free {
            free
        } else {
            let directory = tempfile::Builder::new().prefix("trial-").tempdir_in(self.path()).at(self.path())?;
            for part in [TrialEnv::WORKSPACE, TrialEnv::HOME, TrialEnv::TMP] {
                let path = directory.path().join(part);
                DirBuilder::new().mode(0o700).create(&path).at(&path)?;
            }
            directory
        };
        Ok(TrialEnv {
            directory: Some(directory),
            start_files: HashMap::new(),
            setup_files: HashSet::new(),
            is_reusable: false,
            prepared: OnceLock::new(),
            skills: None,
            changes: None,
            untouched: OnceLock::new(),
            kind: kind.to_owned(),
            free: Arc::clone(&self.free),
        })
    }
}

/// Removes the directories of dead processes. The next process tries again if one cannot be removed now.
fn sweep(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with("run-")) {
        if let Ok(lock) = File::open(entry.path().join(LOCK))
            && lock.try_lock().is_ok()
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
