//! The folders that a trial's agent lives in: its workspace, its home, its temporary files. Outside every repository,
//! one set for each trial, gone afterwards.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use regex::bytes::{Captures, Regex};
use tempfile::TempDir;
use thiserror::Error;
use walkdir::WalkDir;

use crate::files::bounded;
use crate::files::material::{Material, Problem};
use crate::files::stamp::Stamp;
use crate::trial::evidence::{MAX_FILES, WorkspaceFile};

/// Most bytes of one workspace file that are kept.
const MAX_KEPT_FILE: u64 = 1 << 20;

/// Most bytes of a workspace that are kept.
const MAX_KEPT: u64 = 32 << 20;

/// The file that a process holds locked in its scratch folder.
const LOCK: &str = "lock";

/// Why a trial has no place to run.
#[derive(Debug, Error)]
pub enum WorkspaceError {
    /// A folder or file could not be made.
    #[error("{path}: {source}")]
    Io {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The scratch folder lies where agents would pick up somebody's instructions.
    #[error(
        "{folder} lies below {repository}, which holds {sign}: agents would read it; set SKILL_EVALS_SCRATCH to a folder outside"
    )]
    InsideRepository {
        /// The scratch folder.
        folder: PathBuf,
        /// The folder above it.
        repository: PathBuf,
        /// What marks it.
        sign: &'static str,
    },
    /// A fixture cannot be given to an agent.
    #[error("the fixture {folder}: {problem}", folder = folder.display())]
    Fixture {
        /// The fixture's folder.
        folder: PathBuf,
        /// What keeps it from being copied.
        problem: Problem,
    },
    /// A folder holds something other than files and folders.
    #[error("{0} is a symbolic link or no plain file")]
    NotPlain(PathBuf),
}

trait At<T> {
    fn at(self, path: &Path) -> Result<T, WorkspaceError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: &Path) -> Result<T, WorkspaceError> {
        self.map_err(|source| WorkspaceError::Io { path: path.to_path_buf(), source })
    }
}

/// This process's folder for its trials.
#[derive(Debug)]
pub struct Scratch {
    folder: TempDir,
    /// Rooms that were left in order, by what they are furnished for.
    free: Arc<Mutex<FreeRooms>>,
    /// Held locked while this process lives, so that others know which folders are left over.
    _lock: File,
}

/// Furnished rooms that nobody uses, by kind.
type FreeRooms = HashMap<String, Vec<TempDir>>;

/// A folder or a link of a furnished room.
#[derive(Debug, PartialEq, Eq)]
struct Piece {
    path: PathBuf,
    mode: u32,
    target: Option<PathBuf>,
}

/// Signs of a folder whose instructions agents follow from any depth below it.
const SIGNS: [&str; 4] = [".git", "AGENTS.md", "CLAUDE.md", ".claude"];

/// Whether there is something at `path` that agents follow. codex makes an empty `.git` in its folder for temporary files
/// while it runs a command, and leaves it there when it is killed; that is no repository.
fn is_sign(path: &Path) -> bool {
    let is_empty_folder = || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    path.exists() && !(path.ends_with(".git") && is_empty_folder())
}

impl Scratch {
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
            if let Some(sign) = SIGNS.into_iter().find(|sign| is_sign(&above.join(sign))) {
                return Err(WorkspaceError::InsideRepository {
                    folder: base.clone(),
                    repository: above.to_path_buf(),
                    sign,
                });
            }
        }
        sweep(&base);
        let folder = tempfile::Builder::new().prefix("run-").tempdir_in(&base).at(&base)?;
        // Locked before it has its name: whoever sweeps takes an unlocked one for left over.
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

    /// A set of folders for a trial. Rooms of one `kind` are furnished alike: one that an earlier trial left in order
    /// is used again, since file systems are slow at making what was just removed.
    ///
    /// # Errors
    /// When they cannot be made.
    pub fn room(&self, kind: &str) -> Result<Room, WorkspaceError> {
        let used = self.free.lock().unwrap_or_else(PoisonError::into_inner).get_mut(kind).and_then(Vec::pop);
        let folder = if let Some(used) = used {
            used
        } else {
            let folder = tempfile::Builder::new().prefix("trial-").tempdir_in(self.path()).at(self.path())?;
            for part in [Room::WORKSPACE, Room::HOME, Room::TMP] {
                let path = folder.path().join(part);
                DirBuilder::new().mode(0o700).create(&path).at(&path)?;
            }
            folder
        };
        let (kind, free) = (kind.to_owned(), Arc::clone(&self.free));
        Ok(Room { folder: Some(folder), fixture: HashMap::new(), furniture: None, kind, free })
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

/// A trial's folders. What is in them goes when this is dropped.
#[derive(Debug)]
pub struct Room {
    /// There until the drop.
    folder: Option<TempDir>,
    /// The files of the fixture as they were copied, by path below the workspace.
    fixture: HashMap<PathBuf, (Stamp, blake3::Hash)>,
    /// What was in it before the agent, where another trial may find it so.
    furniture: Option<Vec<Piece>>,
    kind: String,
    free: Arc<Mutex<FreeRooms>>,
}

impl Drop for Room {
    fn drop(&mut self) {
        let (Some(folder), Some(furniture)) = (self.folder.take(), self.furniture.take()) else { return };
        // A room that is not as it was goes as a whole.
        if clear_but(folder.path(), &furniture) {
            let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
            free.entry(std::mem::take(&mut self.kind)).or_default().push(folder);
        }
    }
}

/// Removes everything below `folder` but these pieces. Returns whether that went well and all pieces are as they were.
fn clear_but(folder: &Path, furniture: &[Piece]) -> bool {
    let mut found = 0;
    for entry in WalkDir::new(folder).min_depth(1).contents_first(true) {
        let Ok(entry) = entry else { return false };
        let is_folder = entry.file_type().is_dir();
        if furniture.iter().any(|piece| piece.path == entry.path()) {
            let same = Piece::read(entry.path()).is_some_and(|piece| furniture.contains(&piece));
            if !same {
                return false;
            }
            found += 1;
            continue;
        }
        let removed = if is_folder { fs::remove_dir(entry.path()) } else { fs::remove_file(entry.path()) };
        if removed.is_err() {
            return false;
        }
    }
    found == furniture.len()
}

impl Piece {
    /// The folder or link at `path`.
    fn read(path: &Path) -> Option<Self> {
        let found = fs::symlink_metadata(path).ok()?;
        let target = if found.is_symlink() { Some(fs::read_link(path).ok()?) } else { None };
        let (path, mode) = (path.to_path_buf(), found.permissions().mode());
        (found.is_dir() || target.is_some()).then_some(Self { path, mode, target })
    }
}

impl Room {
    const WORKSPACE: &str = "workspace";
    const HOME: &str = "home";
    const TMP: &str = "tmp";

    /// The folder that holds the others; the agent is not told of it.
    #[must_use]
    pub fn path(&self) -> &Path {
        // Only the drop takes the folder away.
        self.folder.as_ref().map_or(Path::new(""), TempDir::path)
    }

    /// Says that the room is furnished: later trials of its kind find the folders and links as they are now, and
    /// nothing else. A room with a fixture is never used again.
    pub fn furnished(&mut self) {
        if self.fixture.is_empty() {
            let below = WalkDir::new(self.path()).min_depth(1).into_iter().flatten();
            self.furniture = Some(below.filter_map(|entry| Piece::read(entry.path())).collect());
        }
    }

    /// Makes a link at `path` to `target`, unless the room has it already.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn link(&self, path: &Path, target: &Path) -> io::Result<()> {
        if fs::read_link(path).is_ok_and(|there| there == target) {
            return Ok(());
        }
        std::os::unix::fs::symlink(target, path)
    }

    /// The agent's working folder.
    #[must_use]
    pub fn workspace(&self) -> PathBuf {
        self.path().join(Self::WORKSPACE)
    }

    /// The agent's home.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.path().join(Self::HOME)
    }

    /// The agent's folder for temporary files.
    #[must_use]
    pub fn tmp(&self) -> PathBuf {
        self.path().join(Self::TMP)
    }

    /// Copies a fixture into the workspace. Returns its digest: that of what the agent is given.
    ///
    /// # Errors
    /// When it cannot be copied.
    pub fn copy_fixture(&mut self, fixture: &Path) -> Result<String, WorkspaceError> {
        let workspace = self.workspace();
        let failed = |problem| WorkspaceError::Fixture { folder: fixture.to_path_buf(), problem };
        let material = Material::list(fixture).whole().map_err(failed)?;
        let mode = |executable| if executable { 0o755 } else { 0o644 };
        let copied = material.copy(&workspace, mode).map_err(failed)?;
        for (file, content) in material.files.iter().zip(copied.files) {
            let path = workspace.join(&file.path);
            let stamp = Stamp::of(&fs::symlink_metadata(&path).at(&path)?);
            self.fixture.insert(file.path.clone(), (stamp, content));
        }
        Ok(copied.digest)
    }

    /// Lists the workspace's files, and keeps those that the agent made or changed below `keep_in`, each passed
    /// through `mask`. Symbolic links are neither followed nor kept. The flag says whether some files are not listed.
    ///
    /// # Errors
    /// When a file cannot be read or kept.
    pub fn capture(
        &self,
        keep_in: &Path,
        mask: &dyn Fn(&[u8]) -> Vec<u8>,
    ) -> Result<(Vec<WorkspaceFile>, bool), WorkspaceError> {
        let workspace = self.workspace();
        let mut files = Vec::new();
        let mut left = MAX_KEPT;
        let walk = WalkDir::new(&workspace).sort_by_file_name().into_iter();
        // Delivered skills are links; version control is bulk.
        let walk = walk.filter_entry(|entry| entry.file_name() != OsStr::new(".git"));
        for entry in walk {
            // What the agent made unreadable, or removes this moment, is not there.
            let Ok(entry) = entry else { continue };
            if !entry.file_type().is_file() {
                continue;
            }
            if files.len() == MAX_FILES {
                return Ok((files, true));
            }
            let path = entry.path().strip_prefix(&workspace).unwrap_or(entry.path()).to_path_buf();
            let Ok(metadata) = entry.metadata() else { continue };
            let size = metadata.len();
            let changed = self.fixture.get(&path).is_none_or(|(stamp, content)| {
                // A file that was written again as it was is no change.
                *stamp != Stamp::of(&metadata) && !bounded::digest(entry.path()).is_ok_and(|now| now == *content)
            });
            let wanted = changed && size <= MAX_KEPT_FILE.min(left);
            let content = if wanted { bounded::read_at_most(entry.path(), MAX_KEPT_FILE).ok() } else { None };
            if let Some(content) = content {
                let to = keep_in.join(&path);
                if let Some(parent) = to.parent() {
                    fs::create_dir_all(parent).at(parent)?;
                }
                fs::write(&to, mask(&content)).at(&to)?;
                left -= size;
            }
            files.push(WorkspaceFile { path, size, changed });
        }
        Ok((files, false))
    }
}

/// Copies the files below `from` that `wanted` takes, by path below it, to below `to`. Returns their paths.
///
/// # Errors
/// When something cannot be copied, or is neither a file nor a folder.
pub fn copy_tree(from: &Path, to: &Path, wanted: &dyn Fn(&Path) -> bool) -> Result<Vec<PathBuf>, WorkspaceError> {
    let mut files = Vec::new();
    for entry in WalkDir::new(from).sort_by_file_name() {
        let entry = entry.map_err(|error| {
            let path = error.path().unwrap_or(from).to_path_buf();
            WorkspaceError::Io { path, source: error.into() }
        })?;
        let path = entry.path().strip_prefix(from).unwrap_or(entry.path()).to_path_buf();
        let target = to.join(&path);
        if entry.file_type().is_dir() {
            fs::create_dir_all(&target).at(&target)?;
        } else if entry.file_type().is_file() {
            if wanted(&path) {
                fs::copy(entry.path(), &target).at(&target)?;
                files.push(path);
            }
        } else {
            return Err(WorkspaceError::NotPlain(entry.path().to_path_buf()));
        }
    }
    Ok(files)
}

/// `content` with other words for the paths of rooms: they are gone by the time it is read, and name somebody's machine.
/// Doing it twice changes nothing.
#[must_use]
pub fn without_rooms(content: &[u8]) -> Vec<u8> {
    let pattern = r"(?:/[A-Za-z0-9._@+-]+)+/run-[A-Za-z0-9]{6}/(?:trial-[A-Za-z0-9]{6}|(skills))";
    match Regex::new(pattern) {
        Ok(room) => {
            let replaced = room.replace_all(content, |found: &Captures<'_>| {
                if found.get(1).is_some() { b"/skills".to_vec() } else { b"/trial".to_vec() }
            });
            replaced.into_owned()
        }
        Err(_) => content.to_vec(),
    }
}
