//! A process's folder for its trials, and the rooms in it that may be used again.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tempfile::TempDir;

use super::{At, TrialEnv, WorkspaceError};
use crate::profile;

/// The file that a process keeps locked in its scratch folder.
const LOCK: &str = "lock";

/// This process's folder for its trials.
#[derive(Debug)]
pub struct ScratchDir {
    folder: TempDir,
    /// Rooms that were left in order, by what they are prepared for.
    free: Arc<Mutex<FreeEnvs>>,
    /// Kept locked while this process lives, so that others know which folders are left over.
    _lock: File,
}

/// Prepared rooms that no trial uses, by kind.
pub(super) type FreeEnvs = HashMap<String, Vec<TempDir>>;

/// Signs of a folder whose instructions agents follow from any depth below it.
fn signs() -> impl Iterator<Item = &'static str> {
    std::iter::once(".git").chain(profile::of_all(|profile| profile.follows.iter().copied()))
}

/// Whether there is something at `path` that agents follow. codex makes an empty `.git` in its folder for temporary files
/// while it runs a command, and leaves it there when it is killed; that is no repository.
fn is_sign(path: &Path) -> bool {
    let is_empty_folder = || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    path.exists() && !(path.ends_with(".git") && is_empty_folder())
}

impl ScratchDir {
    /// Makes this process's folder below `base`, or below the default place, and removes what dead processes left.
    ///
    /// # Errors
    /// When the folder cannot be made, or lies inside a repository.
    pub fn open(base: Option<&Path>) -> Result<Self, WorkspaceError> {
        let base = match base {
            Some(base) => std::path::absolute(base).at(base)?,
            // Not /tmp: agents' sandboxes let every agent write there.
            None => PathBuf::from(format!("/var/tmp/skill-evals-{}", nix::unistd::getuid())),
        };
        DirBuilder::new().recursive(true).mode(0o700).create(&base).at(&base)?;
        let base = base.canonicalize().at(&base)?;
        for above in base.ancestors() {
            if let Some(sign) = signs().find(|sign| is_sign(&above.join(sign))) {
                return Err(WorkspaceError::InsideRepository {
                    folder: base.clone(),
                    repository: above.to_path_buf(),
                    sign,
                });
            }
        }
        sweep(&base);
        let folder = tempfile::Builder::new().prefix("run-").tempdir_in(&base).at(&base)?;
        // Locked before it has its name: a process that sweeps takes an unlocked one for left over.
        let unnamed = folder.path().join("lock-to-be");
        let lock = File::create(&unnamed).at(&unnamed)?;
        lock.lock().at(&unnamed)?;
        let path = folder.path().join(LOCK);
        fs::rename(&unnamed, &path).at(&path)?;
        Ok(Self { folder, free: Arc::default(), _lock: lock })
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A set of folders for a trial. Rooms of one `kind` are prepared alike: one that an earlier trial left in order
    /// is used again, since file systems are slow at making what was just removed.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn room(&self, kind: &str) -> Result<TrialEnv, WorkspaceError> {
        let used = self.free.lock().unwrap_or_else(PoisonError::into_inner).get_mut(kind).and_then(Vec::pop);
        let folder = if let Some(used) = used {
            used
        } else {
            let folder = tempfile::Builder::new().prefix("trial-").tempdir_in(self.path()).at(self.path())?;
            for part in [TrialEnv::WORKSPACE, TrialEnv::HOME, TrialEnv::TMP] {
                let path = folder.path().join(part);
                DirBuilder::new().mode(0o700).create(&path).at(&path)?;
            }
            folder
        };
        let (kind, free) = (kind.to_owned(), Arc::clone(&self.free));
        Ok(TrialEnv {
            folder: Some(folder),
            fixture: HashMap::new(),
            reusable: false,
            pieces: OnceLock::new(),
            skills: None,
            ready: None,
            untouched: OnceLock::new(),
            kind,
            free,
        })
    }
}

/// Removes the folders of processes that are gone. What cannot be removed now is tried again next time.
fn sweep(base: &Path) {
    let Ok(entries) = fs::read_dir(base) else { return };
    for entry in entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with("run-")) {
        let Ok(lock) = File::open(entry.path().join(LOCK)) else { continue };
        match lock.try_lock() {
            Ok(()) => {
                let _ = fs::remove_dir_all(entry.path());
            }
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
        }
    }
}
