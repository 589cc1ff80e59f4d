//! A process's directory for its trials.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock};

use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::{Mode, SFlag, fstat};
use nix::unistd::getuid;

use super::{At, RoomPaths, TrialEnv, WorkspaceError};
use crate::files::at::PathError;
use crate::files::look;
use crate::files::rooted::{self, RootedPath};
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
            covered: Mutex::default(),
            start_files: HashMap::new(),
            setup_files: HashSet::new(),
            skills: None,
            changes: None,
            session: OnceLock::new(),
            door: Mutex::default(),
            replay: OnceLock::new(),
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

// The directory in which all processes of a user have their directories for trials. Others may write next to it: it is used only
// if it is the user's own, and nobody else can enter it.

/// Where it is by default. Not /tmp: the agents' sandboxes let every agent write there.
const PARENT: &str = "/var/tmp";

/// The directory of all processes, or one of this process alone.
#[derive(Debug)]
struct ScratchBase {
    pub path: PathBuf,
    /// Why it is one of this process alone.
    pub note: Option<String>,
}

impl Drop for ScratchBase {
    fn drop(&mut self) {
        if self.note.is_some() {
            // It has the name of no user: nobody else uses it.
            let _ = rooted::remove(&self.path);
        }
    }
}

impl ScratchBase {
    /// The directory that a user named, or the default one.
    pub fn open(named: Option<&Path>) -> Result<Self, WorkspaceError> {
        let Some(named) = named else { return Self::of_user(Path::new(PARENT)) };
        let path = std::path::absolute(named).at(named)?;
        DirBuilder::new().recursive(true).mode(0o700).create(&path).at(&path)?;
        Ok(Self { path: path.canonicalize().at(&path)?, note: None })
    }

    fn of_user(parent: &Path) -> Result<Self, WorkspaceError> {
        let parent = parent.canonicalize().at(parent)?;
        let path = parent.join(format!("work-{}", getuid()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error).at(&path)?,
            _ => {}
        }
        let Err(why) = check(&path) else { return Ok(Self { path, note: None }) };
        let own = tempfile::Builder::new().prefix("work-").tempdir_in(&parent).at(&parent)?.keep();
        fs::set_permissions(&own, Permissions::from_mode(0o700)).at(&own)?;
        let note = format!("{}: {why}: not used, trials run in {}; remove it", path.display(), own.display());
        Ok(Self { path: own, note: Some(note) })
    }
}

/// Checks the directory by its descriptor. Nobody can rename it afterwards: others may remove nothing of ours in /var/tmp.
fn check(path: &Path) -> Result<(), String> {
    let flags = OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_RDONLY | OFlag::O_CLOEXEC;
    let directory = open(path, flags, Mode::empty()).map_err(|errno| match errno {
        Errno::ELOOP | Errno::ENOTDIR => "it is not a directory".to_owned(),
        errno => errno.desc().to_owned(),
    })?;
    let found = fstat(&directory).map_err(|errno| errno.desc().to_owned())?;
    let mode = Mode::from_bits_truncate(found.st_mode & !SFlag::S_IFMT.bits());
    if found.st_uid != getuid().as_raw() {
        return Err("it belongs to another user".to_owned());
    }
    if mode.intersects(Mode::S_IRWXG | Mode::S_IRWXO) {
        return Err(format!("others can enter it (mode {:o})", mode.bits()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, symlink};

    use super::*;

    #[test]
    fn a_directory_that_another_user_may_have_made_is_not_used() {
        let top = tempfile::tempdir().expect("a directory");
        let usual = top.path().canonicalize().expect("a path").join(format!("work-{}", getuid()));
        let opened = || ScratchBase::of_user(top.path()).expect("a directory");
        let first = opened();
        assert_eq!((&first.path, first.note.as_ref()), (&usual, None));
        assert_eq!(fs::metadata(&usual).expect("a directory").mode() & 0o777, 0o700);
        let refused = |words: &str| {
            let own = opened();
            let note = own.note.as_deref().unwrap_or_default();
            assert!(own.path != usual && note.contains(words), "{note}");
            assert_eq!(fs::metadata(&own.path).expect("a directory").mode() & 0o777, 0o700);
        };
        for mode in [0o777, 0o750, 0o1701] {
            fs::set_permissions(&usual, Permissions::from_mode(mode)).expect("permissions");
            refused("others can enter it");
        }
        fs::remove_dir(&usual).expect("a directory");
        let victim = top.path().join("victim");
        fs::create_dir(&victim).expect("a directory");
        symlink(&victim, &usual).expect("a link");
        refused("it is not a directory");
        assert_eq!(fs::read_dir(&victim).expect("a directory").count(), 0);
        fs::remove_file(&usual).expect("a link");
        fs::write(&usual, "").expect("a file");
        refused("it is not a directory");
        if getuid().is_root() {
            fs::remove_file(&usual).expect("a file");
            fs::create_dir(&usual).expect("a directory");
            fs::set_permissions(&usual, Permissions::from_mode(0o700)).expect("permissions");
            std::os::unix::fs::chown(&usual, Some(12_345), None).expect("an owner");
            refused("it belongs to another user");
        }
    }
}
