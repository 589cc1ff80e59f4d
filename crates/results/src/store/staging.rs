//! Directories that replace others in one step: new recordings, and merged runs.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::{At, RECORDINGS, RunFolder, StoreError, make_runs, runs_folder, sub_folders, trial_path};
use crate::files::at::PathError;
use crate::files::inside;
use crate::files::look::{self, Walk};
use crate::files::rooted::{self, RootedPath};
use crate::trial::id::TrialId;

/// The prefix of directories for what is new. No skill and no run has such a name: ids do not begin with a dot.
pub(super) const NEW: &str = ".new-";

/// Keeps git from changing recordings.
const ATTRIBUTES: &str = ".gitattributes";

/// The directory in it for what is being replaced, by its path.
const OLD: &str = "old";

/// A directory for what is new until it replaces what is old, on the same file system. It is removed when dropped.
#[derive(Debug)]
pub struct Staging {
    /// The directory that holds the old and the new.
    base: PathBuf,
    folder: tempfile::TempDir,
    /// Locked while this process lives. The directory of a killed process is not locked.
    _lock: File,
}

impl Staging {
    /// For new recordings of the repository at `root`: each put replaces those of a case in a mode.
    pub fn of_recordings(root: &Path) -> Result<Self, StoreError> {
        let recordings = inside::real(root, Path::new(RECORDINGS)).at(&root.join(RECORDINGS))?;
        fs::create_dir_all(&recordings).at(&recordings)?;
        let attributes = recordings.join(ATTRIBUTES);
        if !look::exists(&attributes)? {
            super::write_whole(
                &attributes,
                b"# Recordings are compared byte for byte: git must not change their line ends.\n* -text\n",
            )?;
        }
        Self::new(recordings, 3)
    }

    /// For a new run of the repository at `root`.
    pub fn of_runs(root: &Path) -> Result<Self, StoreError> {
        let runs = runs_folder(root)?;
        make_runs(&runs)?;
        Self::new(runs, 1)
    }

    /// Creates it, and removes the directories of killed processes. What such a process had not replaced yet, `depth` names
    /// under `base`, is moved back.
    fn new(base: PathBuf, depth: usize) -> Result<Self, StoreError> {
        // Another process must not remove this directory before it is locked.
        let gate = File::open(&base).at(&base)?;
        gate.lock().at(&base)?;
        for name in sub_folders(&base)?.into_iter().filter(|name| name.starts_with(NEW)) {
            remove_left_over(&base, &base.join(name), depth)?;
        }
        let folder = tempfile::Builder::new().prefix(NEW).tempdir_in(&base).at(&base)?;
        let lock = File::open(folder.path()).at(folder.path())?;
        lock.try_lock().map_err(io::Error::from).at(folder.path())?;
        Ok(Self { base, folder, _lock: lock })
    }

    /// The path of the directory, which has the layout of what it replaces.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The directory for the new run `id`.
    pub fn new_run(&self, id: &str) -> Result<RunFolder, StoreError> {
        let run = RunFolder::at(&self.path().join(id));
        fs::create_dir(run.path()).at(run.path())?;
        Ok(run)
    }

    /// Replaces the recordings of the case and mode of `id` by the new ones, with all repeats. Returns their directory.
    pub fn put_recordings(&self, id: &TrialId) -> Result<PathBuf, StoreError> {
        let first = trial_path(Path::new(""), id);
        self.put(first.parent().unwrap_or(&first))
    }

    /// Puts the new directory `name` in the place of the old one. Returns its path.
    pub fn put(&self, name: &Path) -> Result<PathBuf, StoreError> {
        let base = RootedPath::open(&self.base).at(&self.base)?;
        let staged = base.join(self.path().file_name().unwrap_or_default());
        let (new, place) = (staged.join(name), base.join(name));
        let above = name.parent().unwrap_or(Path::new(""));
        base.join(above).create_dir_all()?;
        let put = match new.exchange(&place) {
            // What is old is removed with the staging directory.
            Ok(()) => Ok(()),
            Err(error) if look::is_absent(&error) => new.rename(&place),
            Err(error) if rooted::cannot_exchange(&error) => {
                let old = staged.join(OLD).join(name);
                staged.join(OLD).join(above).create_dir_all()?;
                put_aside(&place, &old).and_then(|()| {
                    // If this process is killed here, the next one moves it back.
                    new.rename(&place).inspect_err(|_| _ = old.rename(&place))
                })
            }
            Err(error) => Err(error),
        };
        put.map_err(|error| place.error(error))?;
        Ok(self.base.join(name))
    }
}

/// Moves what is old, if there is anything, to where it is removed.
fn put_aside(place: &RootedPath, old: &RootedPath) -> io::Result<()> {
    look::unless_absent(place.rename(old)).map(drop)
}

/// Removes a directory whose process is gone, and moves what was old back. Ignores a link.
fn remove_left_over(base: &Path, folder: &Path, depth: usize) -> Result<(), StoreError> {
    let is_folder = |path: &Path| Ok::<_, PathError>(look::own_kind(path)?.is_some_and(|kind| kind.is_dir()));
    if !is_folder(folder)? {
        return Ok(());
    }
    let Ok(lock) = File::open(folder) else { return Ok(()) };
    if lock.try_lock().is_err() {
        return Ok(());
    }
    let old = folder.join(OLD);
    let aside = if is_folder(&old)? { Walk::new(&old).max_depth(depth).all()? } else { Vec::new() };
    for entry in aside.iter().filter(|entry| entry.depth() == depth) {
        let place = base.join(entry.path().strip_prefix(&old).unwrap_or(entry.path()));
        if !look::exists(&place)? {
            fs::rename(entry.path(), &place).at(&place)?;
        }
    }
    Ok(rooted::remove(folder)?)
}

/// Copies a directory. Files are linked if the file system can, because no stored file is changed in place.
pub(super) fn copy_tree(from: &Path, to: &Path) -> Result<(), StoreError> {
    fs::create_dir_all(to).at(to)?;
    let (source, copy) = (RootedPath::open(from).at(from)?, RootedPath::open(to).at(to)?);
    for entry in Walk::new(from).all()? {
        let path = entry.path().strip_prefix(from).unwrap_or(entry.path());
        let place = copy.join(path);
        if entry.file_type().is_dir() {
            place.create_dir_all()?;
        } else if entry.file_type().is_symlink() {
            place.link_to(entry.path().read_link().at(entry.path())?)?;
        } else if entry.file_type().is_file() {
            source.join(path).copy_to(&place)?;
        }
    }
    Ok(())
}
