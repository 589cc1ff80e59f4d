//! Each trial's own copy of the skills. Agents can write to their skills: with one copy for all trials, a trial that changes a
//! SKILL.md would change what the next one reads.
//!
//! Copying hundreds of skills takes longer than many trials. So a copy is used again if the sizes, times and inodes of
//! its files show at the trial's end that nobody touched it; otherwise it is removed. In a bubblewrap sandbox nobody
//! can write to a read-only mount: no copy is made, and the same check shows that nobody else wrote to the originals.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use nix::fcntl::{AtFlags, OFlag, open};
use nix::sys::stat::{Mode, fstatat};
use walkdir::WalkDir;

use super::{At, WorkspaceError};
use crate::files::bounded;
use crate::files::material::{Material, MaterialProblem, UnusableFile};
use crate::files::stamp::Stamp;
use crate::trace::change::ChangeKind;

/// The most changed files that are named.
const MAX_CHANGED: usize = 100;

/// The permissions of a skill's files: read-only, as a first barrier to an agent that wants to improve them.
pub(crate) fn file_mode(executable: bool) -> u32 {
    if executable { 0o555 } else { 0o444 }
}

/// The skills that copies are made of, and the copies that no trial uses.
#[derive(Debug)]
pub(crate) struct OriginalSkills {
    directory: PathBuf,
    contents: Arc<SkillContents>,
    /// The original files as a sandbox shows them; `None` if only a part of them is offered.
    shown: Option<SkillsCopy>,
    /// Whether somebody changed the originals.
    spoiled: AtomicBool,
    spare: Mutex<Vec<SkillsCopy>>,
    /// The modification time of every copied file: a later change has a different time, however soon it comes.
    modified: SystemTime,
}

/// The directories and files of skills, by their paths in the directory of all skills.
#[derive(Clone, Debug, Default)]
pub(crate) struct SkillContents {
    /// Each before what is in it.
    directories: Vec<PathBuf>,
    files: Vec<OriginalFile>,
}

/// A file as an agent gets it.
#[derive(Clone, Debug)]
struct OriginalFile {
    path: PathBuf,
    stamp: Stamp,
    digest: blake3::Hash,
    mode: u32,
}

#[derive(Debug)]
pub(super) struct ChangedSkillVersion {
    pub(super) kind: ChangeKind,
    pub(super) skill: String,
    /// Empty if the change removes the skill.
    pub(super) contents: SkillContents,
}

/// The skills of a trial environment.
#[derive(Debug)]
pub(super) enum EnvSkills {
    /// Its own copy, and the originals of the copy.
    Own(SkillsCopy, Arc<OriginalSkills>),
    /// The originals, which its agent's sandbox shows read-only.
    Shown(Arc<OriginalSkills>),
}

impl EnvSkills {
    /// The files that the agent gets.
    pub(super) fn files(&self) -> Option<&SkillsCopy> {
        match self {
            Self::Own(copy, _) => Some(copy),
            Self::Shown(originals) => originals.shown.as_ref(),
        }
    }

    /// Whether nobody touched them. Originals that somebody touched are not shown to any other agent.
    pub(super) fn are_untouched(&self) -> bool {
        let untouched = self.files().is_none_or(SkillsCopy::is_untouched);
        if let (Self::Shown(originals), false) = (self, untouched) {
            originals.spoiled.store(true, Ordering::Relaxed);
        }
        untouched
    }
}

/// A copy of the skills. At most one trial environment uses it.
#[derive(Debug)]
pub(crate) struct SkillsCopy {
    pub(super) directory: PathBuf,
    contents: Arc<SkillContents>,
    /// The stamps of the directories, then of the files.
    stamps: Vec<Stamp>,
    /// The names in the directory, whose own stamp changes when the copy is moved.
    names: BTreeSet<PathBuf>,
}

impl OriginalSkills {
    /// The skills in this directory.
    pub(crate) fn new(directory: PathBuf, contents: SkillContents) -> Result<Self, WorkspaceError> {
        let contents = Arc::new(contents);
        let shown = Some(SkillsCopy::new(directory.clone(), Arc::clone(&contents))?);
        let (spoiled, spare, modified) = (AtomicBool::new(false), Mutex::default(), SystemTime::now());
        Ok(Self { directory, contents, shown, spoiled, spare, modified })
    }

    /// The skills whose path matches.
    pub(crate) fn part(&self, matches: impl Fn(&Path) -> bool) -> Self {
        let mut contents = SkillContents::clone(&self.contents);
        contents.directories.retain(|path| matches(path));
        contents.files.retain(|file| matches(&file.path));
        let (directory, contents, modified) = (self.directory.clone(), Arc::new(contents), self.modified);
        Self { directory, contents, shown: None, spoiled: AtomicBool::new(false), spare: Mutex::default(), modified }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn is_spoiled(&self) -> bool {
        self.spoiled.load(Ordering::Relaxed)
    }

    /// Whether a sandbox can show them without a copy.
    pub(crate) fn can_be_shown(&self) -> bool {
        self.shown.is_some()
    }

    /// Copies everything to the directory `to`, which does not exist. Fails if a file is not what it was at the run's start.
    pub(crate) fn copy(&self, to: &Path) -> Result<(), WorkspaceError> {
        fs::create_dir(to).at(to)?;
        for path in &self.contents.directories {
            let directory = to.join(path);
            fs::create_dir(&directory).at(&directory)?;
        }
        for OriginalFile { path, stamp, mode, .. } in &self.contents.files {
            let (from, to) = (self.directory.join(path), to.join(path));
            let (mut original, _) = bounded::open(&from).at(&from)?;
            if Stamp::of(&original.metadata().at(&from)?) != *stamp {
                return Err(WorkspaceError::SkillsChanged(from));
            }
            let mut copy = OpenOptions::new().write(true).create_new(true).mode(*mode).open(&to).at(&to)?;
            io::copy(&mut original, &mut copy).and_then(|_| copy.set_modified(self.modified)).at(&to)?;
        }
        Ok(())
    }

    /// A copy at `to`, which does not exist: a spare one that nobody touched, or a new one.
    pub(super) fn copy_for(&self, to: &Path) -> Result<SkillsCopy, WorkspaceError> {
        while let Some(mut copy) = self.pop_spare() {
            // The check was at the end of its last trial.
            if fs::rename(&copy.directory, to).is_ok() {
                to.clone_into(&mut copy.directory);
                return Ok(copy);
            }
            // If it cannot be removed now, it goes with the scratch directory.
            let _ = fs::remove_dir_all(&copy.directory);
        }
        self.copy(to)?;
        SkillsCopy::new(to.to_path_buf(), Arc::clone(&self.contents))
    }

    fn pop_spare(&self) -> Option<SkillsCopy> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Takes a copy back that its trial no longer needs.
    pub(super) fn take_back(&self, mut copy: SkillsCopy) {
        // The name of its trial environment makes its new name unique.
        let mut name = std::ffi::OsString::from("spare-");
        name.push(copy.directory.parent().and_then(Path::file_name).unwrap_or_default());
        let to = self.directory.with_file_name(name);
        if fs::rename(&copy.directory, &to).is_ok() {
            copy.directory = to;
            self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(copy);
        }
    }
}

impl SkillContents {
    /// Copies the skill `slug` to the directory `to` and adds its directories and files. Returns its digest.
    pub(crate) fn copy_skill(&mut self, slug: &str, material: &Material, to: &Path) -> Result<String, MaterialProblem> {
        let copied = material.copy(to, file_mode)?;
        let slug = Path::new(slug);
        self.directories.push(slug.to_path_buf());
        self.directories.extend(material.directories.iter().map(|path| slug.join(path)));
        for (file, digest) in material.files.iter().zip(copied.files) {
            let metadata = fs::symlink_metadata(to.join(&file.path))
                .map_err(|error| MaterialProblem { path: file.path.clone(), why: UnusableFile::Unreadable(error) })?;
            let (path, stamp) = (slug.join(&file.path), Stamp::of(&metadata));
            self.files.push(OriginalFile { path, stamp, digest, mode: file_mode(file.executable) });
        }
        Ok(copied.digest)
    }

    pub(crate) fn add(&mut self, mut other: SkillContents) {
        self.directories.append(&mut other.directories);
        self.files.append(&mut other.files);
    }

    fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.directories.iter().chain(self.files.iter().map(|file| &file.path))
    }

    /// The contents after these changes.
    fn after<'a>(&self, changes: impl Iterator<Item = &'a ChangedSkillVersion>) -> Self {
        let mut contents = self.clone();
        for ChangedSkillVersion { skill, contents: new, .. } in changes {
            contents.directories.retain(|path| !path.starts_with(skill));
            contents.files.retain(|file| !file.path.starts_with(skill));
            contents.add(new.clone());
        }
        contents
    }
}

impl SkillsCopy {
    fn new(directory: PathBuf, contents: Arc<SkillContents>) -> Result<Self, WorkspaceError> {
        let mut stamps = Vec::new();
        for path in contents.paths() {
            let at = directory.join(path);
            stamps.push(Stamp::of(&fs::symlink_metadata(&at).at(&at)?));
        }
        let names = names_in(&directory);
        Ok(Self { directory, contents, stamps, names })
    }

    /// Whether nobody touched anything in it.
    fn is_untouched(&self) -> bool {
        // From an open directory: for thousands of long paths, resolving that directory takes most of the time.
        let flags = OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
        let Ok(directory) = open(&self.directory, flags, Mode::empty()) else { return false };
        names_in(&self.directory) == self.names
            && self.contents.paths().zip(&self.stamps).all(|(path, stamp)| {
                fstatat(&directory, path.as_path(), AtFlags::AT_SYMLINK_NOFOLLOW)
                    .is_ok_and(|now| Stamp::of_stat(&now) == *stamp)
            })
    }

    /// The paths of files that differ from the originals with these changes made: changed, removed and new files, at most 100.
    /// A file that was written again with the same content is not one of them.
    pub(super) fn changed<'a>(&self, made: impl Iterator<Item = &'a ChangedSkillVersion>) -> Vec<PathBuf> {
        let contents = self.contents.after(made);
        let mut changed = BTreeSet::new();
        for file in &contents.files {
            let path = self.directory.join(&file.path);
            let is_same = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file())
                && bounded::digest(&path).is_ok_and(|digest| digest == file.digest);
            if !is_same {
                changed.insert(file.path.clone());
            }
        }
        let known: BTreeSet<&PathBuf> = contents.paths().collect();
        let entries = WalkDir::new(&self.directory).min_depth(1).sort_by_file_name().into_iter().flatten();
        let paths = entries.filter_map(|entry| Some(entry.path().strip_prefix(&self.directory).ok()?.to_path_buf()));
        // An agent may have put a million files there.
        changed.extend(paths.filter(|path| !known.contains(path)).take(MAX_CHANGED));
        changed.into_iter().take(MAX_CHANGED).collect()
    }
}

fn names_in(directory: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.map(|entry| PathBuf::from(entry.file_name())).collect()
}
