//! Each trial's own copy of the skills. Agents can write to their skills: with one copy for all trials, a trial that changes a
//! SKILL.md would change what the next one reads.
//!
//! Copying hundreds of skills takes longer than many trials. So a copy is used again if the sizes, times and inodes of
//! its files show at the trial's end that nobody touched it; otherwise it is removed. In a bubblewrap sandbox nobody
//! can write to a read-only mount: no copy is made, and the same check shows that nobody else wrote to the originals.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::{At, WorkspaceError};
use crate::files::bounded;
use crate::files::material::{Material, MaterialProblem, UnusableFile};
use crate::files::rooted::{RootedPath, WalkControl};
use crate::files::stamp::Stamp;
use crate::trace::change::ChangeKind;

/// The most changed files that are named.
const MAX_CHANGED: usize = 100;

/// The permissions of a skill's files: read-only, as a first barrier to an agent that wants to improve them.
pub fn file_mode(executable: bool) -> u32 {
    if executable { 0o555 } else { 0o444 }
}

/// The skills that copies are made of, and the copies that no trial uses.
#[derive(Debug)]
pub struct OriginalSkills {
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
pub struct SkillContents {
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
pub struct SkillsCopy {
    pub(super) place: RootedPath,
    contents: Arc<SkillContents>,
    /// The stamps of the directories, then of the files.
    stamps: Vec<Option<Stamp>>,
    /// The stamp of the directory itself, which changes when the copy is moved.
    own_stamp: Stamp,
}

impl OriginalSkills {
    /// The skills in this directory.
    pub fn new(directory: PathBuf, contents: SkillContents) -> Result<Self, WorkspaceError> {
        let contents = Arc::new(contents);
        let place = rooted_in_parent(&directory)?;
        let shown = Some(SkillsCopy::new(place, Arc::clone(&contents))?);
        Ok(Self::with(directory, contents, shown, SystemTime::now()))
    }

    /// The skills whose path matches.
    #[must_use]
    pub fn part(&self, matches: impl Fn(&Path) -> bool) -> Self {
        let mut contents = SkillContents::clone(&self.contents);
        contents.directories.retain(|path| matches(path));
        contents.files.retain(|file| matches(&file.path));
        Self::with(self.directory.clone(), Arc::new(contents), None, self.modified)
    }

    fn with(directory: PathBuf, contents: Arc<SkillContents>, shown: Option<SkillsCopy>, modified: SystemTime) -> Self {
        Self { directory, contents, shown, spoiled: AtomicBool::new(false), spare: Mutex::default(), modified }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    pub(super) fn is_spoiled(&self) -> bool {
        self.spoiled.load(Ordering::Relaxed)
    }

    /// Whether a sandbox can show them without a copy.
    pub fn can_be_shown(&self) -> bool {
        self.shown.is_some()
    }

    /// Copies everything to the directory `to`, which does not exist. Fails if a file is not what it was at the run's start.
    pub fn copy(&self, to: &RootedPath) -> Result<(), WorkspaceError> {
        to.create_dir_all()?;
        for path in &self.contents.directories {
            to.join(path).create_dir_all()?;
        }
        for OriginalFile { path, stamp, mode, .. } in &self.contents.files {
            let (from, to) = (self.directory.join(path), to.join(path));
            let (mut original, _) = bounded::open(&from).at(&from)?;
            if Stamp::of(&original.metadata().at(&from)?) != *stamp {
                return Err(WorkspaceError::SkillsChanged(from));
            }
            let mut copy = to.create(*mode)?;
            let copied = io::copy(&mut original, &mut copy).and_then(|_| copy.set_modified(self.modified));
            copied.map_err(|error| to.error(error))?;
        }
        Ok(())
    }

    /// A copy at `to`, which does not exist: a spare one that nobody touched, or a new one.
    pub(super) fn copy_for(&self, to: &RootedPath) -> Result<SkillsCopy, WorkspaceError> {
        while let Some(mut copy) = self.pop_spare() {
            // The check was at the end of its last trial.
            if copy.move_to(to).is_ok() {
                return Ok(copy);
            }
            // If it cannot be removed now, it goes with the scratch directory.
            let _ = copy.place.remove();
        }
        self.copy(to)?;
        SkillsCopy::new(to.clone(), Arc::clone(&self.contents))
    }

    fn pop_spare(&self) -> Option<SkillsCopy> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Takes a copy back that its trial no longer needs.
    pub(super) fn take_back(&self, mut copy: SkillsCopy) {
        static TAKEN_BACK: AtomicUsize = AtomicUsize::new(0);
        let name = format!("spare-{}", TAKEN_BACK.fetch_add(1, Ordering::Relaxed));
        let to = rooted_in_parent(&self.directory.with_file_name(name));
        if to.is_ok_and(|to| copy.move_to(&to).is_ok()) {
            self.spare.lock().unwrap_or_else(PoisonError::into_inner).push(copy);
        }
    }
}

/// A directory of the scratch directory.
pub(super) fn rooted_in_parent(directory: &Path) -> Result<RootedPath, WorkspaceError> {
    let parent = directory.parent().unwrap_or(directory);
    Ok(RootedPath::open(parent).at(parent)?.join(directory.file_name().unwrap_or_default()))
}

impl SkillContents {
    /// Copies the skill `slug` to the directory `to` and adds its directories and files. Returns its digest.
    pub fn copy_skill(&mut self, slug: &str, material: &Material, to: &RootedPath) -> Result<String, MaterialProblem> {
        let copied = material.copy(to, file_mode)?;
        let slug = Path::new(slug);
        self.directories.push(slug.to_path_buf());
        self.directories.extend(material.directories.iter().map(|path| slug.join(path)));
        for (file, digest) in material.files.iter().zip(copied.files) {
            let stamp = to.join(&file.path).stamp();
            let stamp = stamp
                .map_err(|error| MaterialProblem { path: file.path.clone(), why: UnusableFile::Unreadable(error) })?;
            self.files.push(OriginalFile {
                path: slug.join(&file.path),
                stamp,
                digest,
                mode: file_mode(file.executable),
            });
        }
        Ok(copied.digest)
    }

    pub fn add(&mut self, mut other: SkillContents) {
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
    fn new(place: RootedPath, contents: Arc<SkillContents>) -> Result<Self, WorkspaceError> {
        let stamps = place.stamps(contents.paths().map(PathBuf::as_path)).map_err(|error| place.error(error))?;
        let own_stamp = place.stamp().map_err(|error| place.error(error))?;
        Ok(Self { place, contents, stamps, own_stamp })
    }

    fn move_to(&mut self, to: &RootedPath) -> io::Result<()> {
        self.place.rename(to)?;
        self.place = to.clone();
        self.own_stamp = to.stamp()?;
        Ok(())
    }

    /// Whether nobody touched anything in it. Its stamps show new names, times, permissions and attributes too.
    fn is_untouched(&self) -> bool {
        self.place.stamp().is_ok_and(|now| now == self.own_stamp)
            && self.place.stamps(self.contents.paths().map(PathBuf::as_path)).is_ok_and(|now| now == self.stamps)
    }

    /// The paths of files that differ from the originals with these changes made: changed, removed and new files, at most 100.
    /// A file that was written again with the same content is not one of them.
    pub(super) fn changed<'a>(&self, made: impl Iterator<Item = &'a ChangedSkillVersion>) -> Vec<PathBuf> {
        let contents = self.contents.after(made);
        let mut changed = BTreeSet::new();
        for file in &contents.files {
            let digest = self.place.join(&file.path).file().and_then(bounded::digest_file);
            if !digest.is_ok_and(|digest| digest == file.digest) {
                changed.insert(file.path.clone());
            }
        }
        let known: BTreeSet<&Path> = contents.paths().map(PathBuf::as_path).collect();
        let mut note = |path: &Path| {
            // A new directory is named too.
            let new = path.ancestors().take_while(|path| !path.as_os_str().is_empty() && !known.contains(path));
            changed.extend(new.map(Path::to_path_buf));
            // An agent may have put a million files there.
            if changed.len() < MAX_CHANGED { WalkControl::On } else { WalkControl::Stop }
        };
        let walked = self.place.walk(|_| false, &mut |file| note(file.path));
        walked.iter().flat_map(|walked| &walked.others).for_each(|other| _ = note(other));
        changed.into_iter().take(MAX_CHANGED).collect()
    }
}
