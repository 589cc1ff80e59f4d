//! A directory that belongs to a process as long as it lives, which holds a lock in it. Names are used again: a directory may be that
//! of another process by now. So whoever removes one holds its lock, and has checked that it is still the lock of that directory.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::files::at::{At, PathError};
use crate::files::{bounded, look, rooted};

/// The file that a process keeps locked in its directory. Users may have named the directory above: nothing of theirs has this name.
const LOCK: &str = ".work-lock";

/// How the names of directories begin that are being removed.
const REMOVED: &str = ".work-removed-";

/// The number of the next removal of this process.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// Takes a new directory for this process, until the file is closed.
pub fn hold(directory: &Path) -> Result<File, PathError> {
    // Lock before the rename: others remove a directory with an unlocked lock.
    let unnamed = directory.join(".work-lock-to-be");
    let lock = File::create(&unnamed).at(&unnamed)?;
    lock.lock().at(&unnamed)?;
    let path = directory.join(LOCK);
    fs::rename(&unnamed, &path).at(&path)?;
    Ok(lock)
}

/// Removes the directory of a dead process, or what is left of one. `None` if it is another directory, or its process lives.
pub fn remove_dead(path: &Path) -> Option<Result<(), PathError>> {
    let _lock = if is_being_removed(path) { None } else { Some(lock_of_dead(path)?) };
    Some(remove(path))
}

/// Removes a directory whose lock is held. If this process is killed meanwhile, the name says that nobody needs the rest.
pub fn remove(path: &Path) -> Result<(), PathError> {
    // A name that nobody had before: who still removes what had it would find this one in its place.
    let ours = || format!("{REMOVED}{}-{}-", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let removed = if is_being_removed(path) { path.to_path_buf() } else { unused(path, &ours()) };
    // Where it cannot be renamed, it can still be emptied.
    let at = if fs::rename(path, &removed).is_ok() { &removed } else { path };
    rooted::remove(at)
}

/// A path next to `path` that nobody has yet: the prefix, and the name of the directory.
pub fn unused(path: &Path, prefix: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.trim_start_matches(REMOVED);
    let mut unused = path.with_file_name(format!("{prefix}{name}"));
    for more in 1_u32.. {
        if !look::is_usable(&unused) {
            break;
        }
        unused = path.with_file_name(format!("{prefix}{name}-{more}"));
    }
    unused
}

fn is_being_removed(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(REMOVED))
}

/// The lock of a dead process's directory, held.
fn lock_of_dead(directory: &Path) -> Option<File> {
    let path = directory.join(LOCK);
    let (lock, _) = bounded::open(&path).ok()?;
    is_of_dead(&lock, &path).then_some(lock)
}

/// Takes the lock, unless a living process has it, or the directory is another one by now: meanwhile, another process may have removed
/// it, and a third one may have made one of the same name.
fn is_of_dead(lock: &File, path: &Path) -> bool {
    let id = |found: fs::Metadata| (found.dev(), found.ino());
    lock.try_lock().is_ok()
        && matches!((lock.metadata().map(id), fs::symlink_metadata(path).map(id)), (Ok(held), Ok(there)) if held == there)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Asks again for a while: a program that another test starts shares the locks of this process until it has begun.
    fn soon<T>(ask: impl Fn() -> Option<T>) -> Option<T> {
        let again = || {
            std::thread::sleep(Duration::from_millis(10));
            ask()
        };
        ask().or_else(|| std::iter::repeat_with(again).take(500).flatten().next())
    }

    #[test]
    fn a_lock_says_nothing_of_another_directory_that_has_the_name_by_now() {
        let base = tempfile::tempdir().expect("a directory");
        let directory = base.path().join("1");
        let path = directory.join(LOCK);
        let make = || {
            fs::create_dir(&directory).expect("a directory");
            hold(&directory).expect("a lock")
        };
        drop(make());
        let (old, _) = bounded::open(&path).expect("the lock of a dead process");
        assert!(soon(|| is_of_dead(&old, &path).then_some(())).is_some());
        old.unlock().expect("a lock");
        assert!(soon(|| remove_dead(&directory)).expect("it is dead").is_ok());
        let new = make();
        assert!(!is_of_dead(&old, &path));
        assert!(remove_dead(&directory).is_none() && directory.exists());
        drop(new);
        assert!(soon(|| remove_dead(&directory)).expect("it is dead").is_ok() && !directory.exists());
    }
}
