//! Each trial's own copy of the skills. Agents can write to what they are given: with one copy for all, a trial that
//! changes a SKILL.md would change what the next one reads.
//!
//! Copying hundreds of skills takes longer than many trials. A copy that one look at its files' sizes, times and inodes,
//! when its trial has ended, shows as untouched is used again; any other is thrown away. In a sandbox of ours nobody can
//! write to what is mounted read-only: there no copy is made, and the same look says that nobody else did.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
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
use crate::files::stamp::Stamp;
use crate::trace::change::ChangeKind;

/// Most changed files that are named.
const MOST_NAMED: usize = 100;

/// The skills from which copies are made, and the copies that no trial uses.
#[derive(Debug)]
pub(crate) struct OriginalSkills {
    folder: PathBuf,
    contents: Arc<CopyContents>,
    /// These very files, where all of them are offered: for sandboxes to show, which let nobody write.
    given: Option<SkillsCopy>,
    /// Whether somebody has changed them all the same.
    spoiled: AtomicBool,
    spare: Mutex<Vec<SkillsCopy>>,
    /// What every copied file is said to have been modified at: later changes show however soon they come.
    modified: SystemTime,
}

/// What a copy consists of, by paths below its folder.
#[derive(Debug)]
struct CopyContents {
    /// Each before what is in it.
    folders: Vec<PathBuf>,
    files: Vec<OriginalFile>,
}

/// A file as an agent is given it.
#[derive(Clone, Debug)]
pub(super) struct OriginalFile {
    path: PathBuf,
    stamp: Stamp,
    content: blake3::Hash,
    mode: u32,
}

/// A skill from a change on.
#[derive(Debug)]
pub(super) struct ChangedSkillVersion {
    pub(super) kind: ChangeKind,
    pub(super) skill: String,
    /// What it consists of, by paths below the folder of all skills; nothing where it is removed.
    pub(super) folders: Vec<PathBuf>,
    pub(super) files: Vec<OriginalFile>,
}

/// The skills of a room.
#[derive(Debug)]
pub(super) enum EnvSkills {
    /// A copy of its own, and where that came from.
    Own(SkillsCopy, Arc<OriginalSkills>),
    /// What its agent's sandbox shows it, as those of all others.
    Shown(Arc<OriginalSkills>),
}

impl EnvSkills {
    pub(super) fn given(&self) -> Option<&SkillsCopy> {
        match self {
            Self::Own(copy, _) => Some(copy),
            Self::Shown(originals) => originals.given.as_ref(),
        }
    }

    /// Whether nobody has touched them. What is shown to all is shown to no other once somebody has.
    pub(super) fn are_untouched(&self) -> bool {
        let untouched = self.given().is_none_or(SkillsCopy::is_untouched);
        if let (Self::Shown(originals), false) = (self, untouched) {
            originals.spoiled.store(true, Ordering::Relaxed);
        }
        untouched
    }
}

/// A copy of the skills that belongs to one room, or to none for now.
#[derive(Debug)]
pub(crate) struct SkillsCopy {
    pub(super) folder: PathBuf,
    contents: Arc<CopyContents>,
    /// Those of the folders, then those of the files.
    stamps: Vec<Stamp>,
    /// The names in it; its own stamp changes when it is moved.
    names: BTreeSet<PathBuf>,
}

impl OriginalSkills {
    /// The skills in `folder`, with these files: path, digest of the content, permissions.
    ///
    /// # Errors
    /// When a file cannot be looked at.
    pub(crate) fn new(
        folder: PathBuf,
        folders: Vec<PathBuf>,
        files: Vec<(PathBuf, blake3::Hash, u32)>,
    ) -> Result<Self, WorkspaceError> {
        let original = |(path, content, mode): (PathBuf, blake3::Hash, u32)| {
            let at = folder.join(&path);
            OriginalFile::at(&at, path, content, mode)
        };
        let files = files.into_iter().map(original).collect::<Result<_, WorkspaceError>>()?;
        let contents = Arc::new(CopyContents { folders, files });
        let given = Some(SkillsCopy::new(folder.clone(), Arc::clone(&contents))?);
        let (spoiled, spare, modified) = (AtomicBool::new(false), Mutex::default(), SystemTime::now());
        Ok(Self { folder, contents, given, spoiled, spare, modified })
    }

    /// Of these those whose path is wanted.
    pub(crate) fn part(&self, wanted: impl Fn(&Path) -> bool) -> Self {
        let folders = self.contents.folders.iter().filter(|path| wanted(path)).cloned().collect();
        let files = self.contents.files.iter().filter(|file| wanted(&file.path)).cloned().collect();
        let contents = Arc::new(CopyContents { folders, files });
        let (folder, modified) = (self.folder.clone(), self.modified);
        Self { folder, contents, given: None, spoiled: AtomicBool::new(false), spare: Mutex::default(), modified }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn is_spoiled(&self) -> bool {
        self.spoiled.load(Ordering::Relaxed)
    }

    /// Whether a sandbox can show them as they are.
    pub(crate) fn can_be_shown(&self) -> bool {
        self.given.is_some()
    }

    /// Copies everything to the folder `to`, which does not exist.
    ///
    /// # Errors
    /// When something cannot be copied, or is not what it was at the start of the run.
    pub(crate) fn copy(&self, to: &Path) -> Result<(), WorkspaceError> {
        fs::create_dir(to).at(to)?;
        for folder in &self.contents.folders {
            let folder = to.join(folder);
            fs::create_dir(&folder).at(&folder)?;
        }
        for file in &self.contents.files {
            let (from, to) = (self.folder.join(&file.path), to.join(&file.path));
            let (mut original, _) = bounded::open(&from).at(&from)?;
            if Stamp::of(&original.metadata().at(&from)?) != file.stamp {
                return Err(WorkspaceError::SkillsChanged(from));
            }
            let copy = OpenOptions::new().write(true).create_new(true).mode(file.mode).open(&to);
            copy.and_then(|mut copy| self.fill(&mut original, &mut copy)).at(&to)?;
        }
        Ok(())
    }

    fn fill(&self, original: &mut File, copy: &mut File) -> io::Result<()> {
        io::copy(original, copy)?;
        copy.set_modified(self.modified)
    }

    /// A copy at `to`, which does not exist: a spare one, which nobody had touched, or a new one.
    ///
    /// # Errors
    /// When none can be made.
    pub(super) fn copy_for(&self, to: &Path) -> Result<SkillsCopy, WorkspaceError> {
        let spare = || self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
        while let Some(mut copy) = spare() {
            // It was looked at when it was taken back.
            if fs::rename(&copy.folder, to).is_ok() {
                to.clone_into(&mut copy.folder);
                return Ok(copy);
            }
            // What cannot be removed goes with the scratch folder.
            let _ = fs::remove_dir_all(&copy.folder);
        }
        self.copy(to)?;
        SkillsCopy::new(to.to_path_buf(), Arc::clone(&self.contents))
    }

    /// Takes a copy back that no trial needs any more, for another one to use.
    pub(super) fn take_back(&self, mut copy: SkillsCopy) {
        // A name of its own: that of the room that it comes from.
        let name = copy.folder.parent().and_then(Path::file_name).unwrap_or_default().to_owned();
        let mut spare = std::ffi::OsString::from("spare-");
        spare.push(name);
        let to = self.folder.with_file_name(spare);
        if fs::rename(&copy.folder, &to).is_err() {
            return;
        }
        copy.folder = to;
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(copy);
    }
}

impl OriginalFile {
    /// The file that stands `at` some place now, to be given as `path` below the folder of all skills.
    pub(super) fn at(at: &Path, path: PathBuf, content: blake3::Hash, mode: u32) -> Result<Self, WorkspaceError> {
        let stamp = Stamp::of(&fs::symlink_metadata(at).at(at)?);
        Ok(Self { path, stamp, content, mode })
    }
}

impl CopyContents {
    /// What there is after these changes.
    fn after<'a>(&self, changes: impl Iterator<Item = &'a ChangedSkillVersion>) -> Self {
        let (mut folders, mut files) = (self.folders.clone(), self.files.clone());
        for version in changes {
            folders.retain(|path| !path.starts_with(&version.skill));
            files.retain(|file| !file.path.starts_with(&version.skill));
            folders.extend(version.folders.iter().cloned());
            files.extend(version.files.iter().cloned());
        }
        Self { folders, files }
    }
}

impl SkillsCopy {
    fn new(folder: PathBuf, contents: Arc<CopyContents>) -> Result<Self, WorkspaceError> {
        let stamp = |path: &PathBuf| {
            let at = folder.join(path);
            Ok(Stamp::of(&fs::symlink_metadata(&at).at(&at)?))
        };
        let stamps = contents.folders.iter().chain(contents.files.iter().map(|file| &file.path)).map(stamp);
        let stamps = stamps.collect::<Result<_, WorkspaceError>>()?;
        let names = names(&folder);
        Ok(Self { folder, contents, stamps, names })
    }

    /// Whether nobody has touched anything in it.
    pub(super) fn is_untouched(&self) -> bool {
        let paths = self.contents.folders.iter().chain(self.contents.files.iter().map(|file| &file.path));
        // From an open folder: of thousands of long paths most of the time goes into finding that folder.
        let flags = OFlag::O_DIRECTORY | OFlag::O_RDONLY | OFlag::O_CLOEXEC | OFlag::O_NOFOLLOW;
        let Ok(folder) = open(&self.folder, flags, Mode::empty()) else { return false };
        let same = |(path, stamp): (&PathBuf, &Stamp)| {
            fstatat(&folder, path.as_path(), AtFlags::AT_SYMLINK_NOFOLLOW)
                .is_ok_and(|now| Stamp::of_stat(&now) == *stamp)
        };
        names(&self.folder) == self.names && paths.zip(&self.stamps).all(same)
    }

    /// The files that are not as they were given, or as these changes left them: changed, gone or new, by path, at most 100.
    /// One that was written again as it was is not among them.
    pub(super) fn changed<'a>(&self, made: impl Iterator<Item = &'a ChangedSkillVersion>) -> Vec<PathBuf> {
        let contents = self.contents.after(made);
        let mut changed = BTreeSet::new();
        let same = |file: &OriginalFile| {
            let path = self.folder.join(&file.path);
            let is_file = fs::symlink_metadata(&path).is_ok_and(|found| found.is_file());
            is_file && bounded::digest(&path).is_ok_and(|now| now == file.content)
        };
        let files = &contents.files;
        changed.extend(files.iter().filter(|file| !same(file)).map(|file| file.path.clone()));
        let known: BTreeSet<&PathBuf> = files.iter().map(|file| &file.path).chain(&contents.folders).collect();
        let below = WalkDir::new(&self.folder).min_depth(1).sort_by_file_name().into_iter().flatten();
        let new = below
            .filter_map(|entry| Some(entry.path().strip_prefix(&self.folder).ok()?.to_path_buf()))
            .filter(|path| !known.contains(path));
        // An agent may have put a million there.
        changed.extend(new.take(MOST_NAMED));
        changed.into_iter().take(MOST_NAMED).collect()
    }
}

fn names(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| PathBuf::from(entry.file_name())).collect()
}
