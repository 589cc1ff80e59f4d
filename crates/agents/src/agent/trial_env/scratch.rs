//! A process's directory for its trials.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use super::scratch_base::ScratchBase;
use super::{At, RoomPaths, TrialEnv, WorkspaceError};
use crate::files::at::PathError;
use crate::files::look;
use crate::files::rooted::RootedPath;
use crate::process::held;
use crate::profile;

/// How the names of directories begin that cannot be removed. Those of processes are numbers: without a sandbox, agents see them.
const LEFT: &str = "left-";

/// This process's directory for its trials.
#[derive(Debug)]
pub struct ScratchDir {
    directory: PathBuf,
    base: ScratchBase,
    /// The paths of every room in a sandbox; `None` without one.
    paths: Option<RoomPaths>,
    /// What dead processes left and cannot be removed.
    left: Vec<String>,
    /// Locked while this process runs, so that other processes do not remove the directory.
    _lock: File,
}

impl Drop for ScratchDir {
    fn drop(&mut self) {
        // The next process tries again, and names what cannot be removed.
        let _ = held::remove(&self.directory);
    }
}

/// Whether agents would follow instructions that are next to `path`. codex creates an empty `.git` in its directory for
/// temporary files while it runs a command, and leaves it there when it is killed; that is not a repository.
fn is_sign(path: &Path) -> bool {
    let is_empty_directory = || look::entries(path).is_ok_and(|entries| entries.is_empty());
    look::is_usable(path) && !(path.ends_with(".git") && is_empty_directory())
}

impl ScratchDir {
    /// Creates this process's directory in `base`, or in the default place, and removes what dead processes left. If a
    /// sandbox will show its rooms, then all by the same `paths`.
    pub fn open(base: Option<&Path>, paths: Option<RoomPaths>) -> Result<Self, WorkspaceError> {
        let opened = ScratchBase::open(base)?;
        let base = opened.path.clone();
        if paths.is_none() && base.iter().any(|name| name == "skills") {
            return Err(WorkspaceError::BelowSkills(base));
        }
        for ancestor in base.ancestors() {
            let mut signs = std::iter::once(".git").chain(profile::of_all(|profile| profile.follows.iter().copied()));
            if let Some(sign) = signs.find(|sign| is_sign(&ancestor.join(sign))) {
                let repository = ancestor.to_path_buf();
                return Err(WorkspaceError::InsideRepository { directory: base.clone(), repository, sign });
            }
        }
        let left = sweep(&base);
        let directory = numbered(&base)?;
        let lock = held::hold(&directory)?;
        if let Some(paths) = &paths {
            for (name, content) in paths.identity() {
                let file = directory.join(name);
                fs::write(&file, content).at(&file)?;
            }
        }
        Ok(Self { directory, base: opened, paths, left, _lock: lock })
    }

    /// A new directory for skills, with the name that it has for agents.
    pub fn new_skills(&self) -> Result<PathBuf, PathError> {
        let directory = numbered(self.path())?.join(TrialEnv::SKILLS);
        DirBuilder::new().mode(0o700).create(&directory).at(&directory).map(|()| directory.clone())
    }

    /// Why it is not in the usual place, if so.
    pub fn note(&self) -> Option<&str> {
        self.base.note.as_deref()
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.directory
    }

    /// What dead processes left and cannot be removed, in words. It is named once.
    pub fn left(&self) -> &[String] {
        &self.left
    }

    /// A trial environment.
    pub fn trial_env(&self) -> Result<TrialEnv, WorkspaceError> {
        let directory = numbered(self.path())?;
        let make = |name: &str| {
            let path = directory.join(name);
            DirBuilder::new().mode(0o700).create(&path).at(&path).map(|()| path)
        };
        make(TrialEnv::CONTROL)?;
        let room = make(TrialEnv::ROOM)?;
        for part in [TrialEnv::HOME, TrialEnv::WORKSPACE, TrialEnv::TMP] {
            make(&format!("{}/{part}", TrialEnv::ROOM))?;
        }
        let known = self.paths.iter().flat_map(|paths| {
            let RoomPaths { home, workspace, tmp, skills, .. } = paths.clone();
            let names = [TrialEnv::WORKSPACE, TrialEnv::SKILLS, TrialEnv::HOME, TrialEnv::TMP].map(PathBuf::from);
            names.into_iter().zip([workspace, skills, home, tmp])
        });
        let room = RootedPath::open_known(&room, known.collect()).at(&room)?;
        let workspace = room.join(TrialEnv::WORKSPACE);
        Ok(TrialEnv {
            workspace: workspace.pinned().map_err(|error| workspace.error(error))?,
            room,
            paths: self.paths.clone(),
            directory,
            shown: Mutex::default(),
            start_files: HashMap::new(),
            setup_files: HashSet::new(),
            skills: None,
            changes: None,
            session: OnceLock::new(),
        })
    }
}

/// Makes the directory with the first free number, which only this user enters.
pub(super) fn numbered(parent: &Path) -> Result<PathBuf, PathError> {
    for number in 1_u32.. {
        let path = parent.join(number.to_string());
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| path.clone()).at(&path),
        }
    }
    Err(io::Error::from(io::ErrorKind::StorageFull)).at(parent)
}

/// Removes the directories of dead processes. Returns what cannot be removed: it is tried and named once.
fn sweep(base: &Path) -> Vec<String> {
    let mut left = Vec::new();
    for path in look::usable_entries(base).into_iter().map(look::Entry::into_path) {
        let Some(Err(error)) = held::remove_dead(&path) else { continue };
        let aside = held::unused(&path, LEFT);
        // Another process may have been faster.
        if fs::rename(&error.path, &aside).is_ok() {
            let (path, why) = (aside.display(), error.source);
            left.push(format!("{path}: an agent left it, and it cannot be removed: {why}; remove it yourself"));
        }
    }
    left
}
