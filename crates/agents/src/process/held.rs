//! A directory that belongs to a process as long as it lives, which holds a lock in it. Names are used again: a directory may be that
//! of another process by now. So whoever removes one holds its lock, and has checked that it is still the lock of that directory.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::files::at::{At, PathError};
use crate::files::{bounded, rooted};

/// The file that a process keeps locked in its directory. Users may have named the directory above: nothing of theirs has this name.
const LOCK: &str = ".work-lock";

/// How the names of directories begin that are being removed.
const REMOVED: &str = ".work-removed-";

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
    let removed = if is_being_removed(path) { path.to_path_buf() } else { unused(path, REMOVED) };
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
        if !unused.exists() {
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
    lock.try_lock().ok()?;
    // Meanwhile, another process may have removed the directory, and a third one may have made one of the same name.
    let (held, there) = (lock.metadata().ok()?, fs::symlink_metadata(&path).ok()?);
    ((held.dev(), held.ino()) == (there.dev(), there.ino())).then_some(lock)
}
