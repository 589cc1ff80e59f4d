//! The skills of trials. Copying hundreds of skills takes longer than many trials, so all trials of a run have the same files.
//!
//! - A bubblewrap sandbox shows them read-only: nobody can write to them.
//! - Without one, agents find them through a link, and can write to them. Sizes, times and inodes show at a trial's end whether somebody did.
//!   If no other trial had them, its own agent did, and the next trial gets a new copy, made of the run's own. Otherwise nobody knows who did, and what
//!   the others read: none of those trials measured anything, and from then on each trial has a copy of its own.
//!
//! A trial whose case changes skills has a copy of its own, in its room.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Seek};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use super::scratch::numbered;
use super::{At, TrialEnv, WorkspaceError};
use crate::files::bounded;
use crate::files::bounded::Stamp;
use crate::files::material::{Material, MaterialProblem, UnusableFile};
use crate::files::rooted::{self, RootedPath, WalkControl};
use crate::trace::file::{ChangeKind, SkillChange};

/// The most changed files that are named.
const MAX_CHANGED: usize = 100;

/// The permissions of a skill's files: read-only, as a first barrier to an agent that wants to improve them.
pub fn file_mode(executable: bool) -> u32 {
    if executable { 0o555 } else { 0o444 }
}

/// The skills as they were at the start of the run, and the files that trials have.
#[derive(Debug)]
pub struct OriginalSkills {
    directory: PathBuf,
    contents: Arc<SkillContents>,
    /// The run's own copy, for those of the originals that somebody changed.
    kept: OnceLock<PathBuf>,
    /// Whether this is a part of others, which remove the directory.
    belongs_to_others: bool,
    /// What trials share: the originals, until somebody changes them.
    shared: Mutex<Option<Arc<SharedSkills>>>,
    /// Whether each trial has a copy of its own from now on.
    is_apart: AtomicBool,
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
    /// Its own copy.
    Own(SkillsCopy),
    /// Those that other trials have too.
    Shared(SkillsUse),
}

impl EnvSkills {
    /// The files that the agent gets.
    pub(super) fn files(&self) -> &SkillsCopy {
        match self {
            Self::Own(copy) => copy,
            Self::Shared(used) => used.files(),
        }
    }
}

/// Files that several trials have.
#[derive(Debug)]
struct SharedSkills {
    copy: SkillsCopy,
    /// What is removed when no trial has them anymore; `None` for the originals.
    directory: Option<PathBuf>,
    users: Mutex<SkillsUsers>,
}

/// Who has shared skills.
#[derive(Debug, Default)]
struct SkillsUsers {
    trials: usize,
    /// Whether they were changed while several trials had them.
    is_disputed: bool,
}

impl Drop for OriginalSkills {
    fn drop(&mut self) {
        // What cannot be removed is tried again with the scratch directory.
        let _ = if self.belongs_to_others { Ok(()) } else { rooted::remove_many(&self.directory) };
    }
}

impl Drop for SharedSkills {
    fn drop(&mut self) {
        // What cannot be removed is tried again with the scratch directory.
        let _ = self.directory.as_deref().map(rooted::remove_many);
    }
}

/// That a trial has shared skills, until dropped.
#[derive(Debug)]
pub(super) struct SkillsUse {
    shared: Arc<SharedSkills>,
    originals: Arc<OriginalSkills>,
    /// Whether a sandbox shows them, read-only.
    pub(super) is_mounted: bool,
}

impl Drop for SkillsUse {
    fn drop(&mut self) {
        self.users().trials -= 1;
    }
}

impl SkillsUse {
    fn users(&self) -> MutexGuard<'_, SkillsUsers> {
        self.shared.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn files(&self) -> &SkillsCopy {
        &self.shared.copy
    }

    /// Takes skills that somebody changed from the trials to come. Whether nobody knows which trial did it.
    pub(super) fn are_disputed(&self) -> bool {
        // Nobody gets them meanwhile.
        let mut shared = self.originals.shared();
        if shared.as_ref().is_some_and(|shared| Arc::ptr_eq(shared, &self.shared)) {
            *shared = None;
        }
        let mut users = self.users();
        users.is_disputed |= users.trials > 1;
        if users.is_disputed {
            self.originals.keep_apart();
        }
        users.is_disputed
    }
}

/// Files of the skills, for one trial or for many.
#[derive(Debug)]
pub(super) struct SkillsCopy {
    pub(super) place: RootedPath,
    contents: Arc<SkillContents>,
    /// The stamps of the directories, then of the files.
    stamps: Vec<Option<Stamp>>,
    /// The stamp of the directory itself.
    own_stamp: Stamp,
}

impl OriginalSkills {
    /// The skills in this directory, which is removed with them.
    pub fn new(directory: PathBuf, contents: SkillContents) -> Result<Self, WorkspaceError> {
        let originals = Self::with(directory, Arc::new(contents), SystemTime::now(), false);
        let (parent, name) = (originals.directory.parent().unwrap_or(Path::new("/")), originals.directory.file_name());
        let place = RootedPath::open_closed(parent).at(parent)?.join(name.unwrap_or_default());
        let copy = SkillsCopy::new(place, Arc::clone(&originals.contents))?;
        *originals.shared() = Some(Arc::new(SharedSkills { copy, directory: None, users: Mutex::default() }));
        Ok(originals)
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Notes the run's own copy.
    pub fn are_kept_in(&self, directory: &Path) {
        let _ = self.kept.set(directory.to_path_buf());
    }

    /// From now on, each trial has a copy of its own.
    pub fn keep_apart(&self) {
        self.is_apart.store(true, Ordering::Relaxed);
    }

    /// The skills whose path matches.
    #[must_use]
    pub fn part(&self, matches: impl Fn(&Path) -> bool) -> Self {
        let mut contents = SkillContents::clone(&self.contents);
        contents.directories.retain(|path| matches(path));
        contents.files.retain(|file| matches(&file.path));
        let mut part = Self::with(self.directory.clone(), Arc::new(contents), self.modified, true);
        part.kept.clone_from(&self.kept);
        part.is_apart = AtomicBool::new(self.is_apart.load(Ordering::Relaxed));
        part
    }

    fn with(directory: PathBuf, contents: Arc<SkillContents>, modified: SystemTime, belongs_to_others: bool) -> Self {
        let (kept, is_apart) = (OnceLock::new(), AtomicBool::new(false));
        Self { directory, contents, kept, belongs_to_others, shared: Mutex::default(), is_apart, modified }
    }

    fn shared(&self) -> MutexGuard<'_, Option<Arc<SharedSkills>>> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A file as it was at the run's start.
    fn original(&self, OriginalFile { path, stamp, digest, .. }: &OriginalFile) -> Result<File, WorkspaceError> {
        let from = self.directory.join(path);
        if let Ok((original, _)) = bounded::open(&from)
            && original.metadata().is_ok_and(|found| Stamp::of(&found) == *stamp)
        {
            return Ok(original);
        }
        let kept = self.kept.get().map(|kept| kept.join(path));
        let same = |kept: &PathBuf| {
            let (mut file, _) = bounded::open(kept)?;
            let is_same = bounded::digest_file(file.try_clone()?)? == *digest;
            file.rewind()?;
            io::Result::Ok(is_same.then_some(file))
        };
        let file = kept.as_ref().and_then(|kept| same(kept).ok().flatten());
        file.ok_or(WorkspaceError::SkillsChanged(from))
    }

    /// Copies everything to the directory `to`, which does not exist. Fails if a file is not what it was at the run's start.
    pub fn copy(&self, to: &RootedPath) -> Result<(), WorkspaceError> {
        to.create_dir_all()?;
        for path in &self.contents.directories {
            to.join(path).create_dir_all()?;
        }
        for file in &self.contents.files {
            let (mut original, to) = (self.original(file)?, to.join(&file.path));
            let mut copy = to.create(file.mode)?;
            let copied = io::copy(&mut original, &mut copy).and_then(|_| copy.set_modified(self.modified));
            copied.map_err(|error| to.error(error))?;
        }
        Ok(())
    }

    /// A copy at `to`, which does not exist, for one trial.
    pub(super) fn copy_for(&self, to: RootedPath) -> Result<SkillsCopy, WorkspaceError> {
        self.copy(&to)?;
        SkillsCopy::new(to, Arc::clone(&self.contents))
    }

    /// The skills that trials share; `None` if each trial needs its own.
    pub(super) fn shared_for(self: &Arc<Self>, is_mounted: bool) -> Result<Option<SkillsUse>, WorkspaceError> {
        if self.is_apart.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut shared = self.shared();
        let known = match &*shared {
            Some(known) => Arc::clone(known),
            None => Arc::clone(shared.insert(Arc::new(self.new_shared()?))),
        };
        known.users.lock().unwrap_or_else(PoisonError::into_inner).trials += 1;
        Ok(Some(SkillsUse { shared: known, originals: Arc::clone(self), is_mounted }))
    }

    fn new_shared(&self) -> Result<SharedSkills, WorkspaceError> {
        // Next to the directories of trials, with a name like theirs.
        let scratch = self.directory.ancestors().nth(2).unwrap_or(&self.directory);
        let directory = numbered(scratch)?;
        let place = RootedPath::open_closed(&directory).at(&directory)?.join(TrialEnv::SKILLS);
        Ok(SharedSkills { copy: self.copy_for(place)?, directory: Some(directory), users: Mutex::default() })
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
        // The directory of plugins.
        let around = slug.parent().filter(|path| !path.as_os_str().is_empty());
        let is_new = |path: &&Path| !self.directories.iter().any(|known| known == path);
        self.directories.extend(around.filter(is_new).map(Path::to_path_buf));
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

    /// Whether nobody touched anything in it. Its stamps show new names, times, permissions and attributes too.
    pub(super) fn is_untouched(&self) -> bool {
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

// The skills as they will be after a change: prepared in the runner's directory, and put in place while the agent works.
//
// A change moves directories between two directories that were opened before the agent started. So no link that the agent
// puts there leads anywhere else.

/// The error of a change that nobody prepared.
const NOT_PREPARED: &str = "it was not got ready";

/// The changes that are ready to be made.
#[derive(Debug)]
pub(super) struct PreparedChanges {
    /// Has a directory for each new version, by the change's number, and later for each old version.
    waiting: RootedPath,
    /// The trial environment's skills.
    skills: RootedPath,
    pub(super) versions: Vec<ChangedSkillVersion>,
}

impl PreparedChanges {
    fn new(trial_env: &TrialEnv) -> Result<Self, WorkspaceError> {
        let control = trial_env.control();
        let waiting = RootedPath::open(&control).at(&control)?.join("waiting");
        waiting.create_dir_all()?;
        let skills = trial_env.skills();
        let pinned = |path: &RootedPath| path.pinned().map_err(|error| path.error(error));
        Ok(Self { waiting: pinned(&waiting)?, skills: pinned(&skills)?, versions: Vec::new() })
    }

    fn make(&self, number: usize) -> Result<(), String> {
        let ChangedSkillVersion { kind, skill, .. } = self.versions.get(number).ok_or(NOT_PREPARED)?;
        let skill = self.skills.join(skill);
        let exists = skill.exists();
        match kind {
            ChangeKind::Add if exists => return Err("the agent has such a skill already".to_owned()),
            ChangeKind::Edit | ChangeKind::Remove if !exists => return Err("the agent has no such skill".to_owned()),
            _ => {}
        }
        let [new, old] = [number.to_string(), format!("{number}.before")].map(|name| self.waiting.join(name));
        if exists {
            skill.rename(&old).map_err(|error| error.to_string())?;
        }
        if *kind == ChangeKind::Remove {
            return Ok(());
        }
        new.rename(&skill).map_err(|error| {
            if exists && let Err(lost) = old.rename(&skill) {
                return format!("{error}; the skill is gone: {lost}");
            }
            error.to_string()
        })
    }
}

impl TrialEnv {
    /// Prepares the next change. `material` is the skill's new version. The trial environment has its copy of the skills.
    pub fn prepare_change(&mut self, change: &SkillChange, material: Option<&Material>) -> Result<(), WorkspaceError> {
        let mut changes = self.changes.take().map_or_else(|| PreparedChanges::new(self), Ok)?;
        let mut contents = SkillContents::default();
        if let Some(material) = material {
            let to = changes.waiting.join(changes.versions.len().to_string());
            to.create_dir_all()?;
            let copied = contents.copy_skill(&change.skill, material, &to);
            copied.map_err(|problem| WorkspaceError::Skill { directory: to.relative().to_path_buf(), problem })?;
        }
        changes.versions.push(ChangedSkillVersion { kind: change.kind, skill: change.skill.clone(), contents });
        self.changes = Some(changes);
        Ok(())
    }

    /// Makes the change with this number, from 0. It renames directories, so the agent sees the old or the new version of the
    /// skill and nothing in between.
    pub fn make_change(&self, number: usize) -> Result<(), String> {
        self.changes.as_ref().ok_or(NOT_PREPARED)?.make(number)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::agent::trial_env::{OriginalSkills, ScratchDir};
    use crate::text::diagnostic::SourceLocation;

    /// A trial environment with the skill greeting; the first change edits the skill and the second removes it.
    fn trial_env(parent: &Path) -> (ScratchDir, TrialEnv) {
        let material = |name: &str, text: &str| {
            let directory = parent.join(name).join("greeting");
            fs::create_dir_all(&directory).expect("a directory");
            fs::write(directory.join("SKILL.md"), text).expect("a file");
            Material::list(&directory)
        };
        let (old, new) = (material("old", "Ahoy."), material("new", "Salute."));
        let originals = parent.join("originals");
        fs::create_dir_all(originals.join("greeting")).expect("a directory");
        let mut contents = SkillContents::default();
        let place = RootedPath::open(&originals).expect("a directory").join("greeting");
        contents.copy_skill("greeting", &old, &place).expect("a copy");
        let originals = OriginalSkills::new(originals, contents).expect("the skills");
        let scratch = ScratchDir::open(Some(&parent.join("scratch")), None).expect("a scratch directory");
        let mut trial_env = scratch.trial_env().expect("a trial environment");
        trial_env.copy_skills(&Arc::new(originals)).expect("a copy");
        let origin = SourceLocation::file("evals/tasks/it.json");
        for (kind, material) in [(ChangeKind::Edit, Some(&new)), (ChangeKind::Remove, None)] {
            let skill = "greeting".to_owned();
            let change =
                SkillChange { after_turn: 1, kind, skill, folder: None, expect_seen: false, origin: origin.clone() };
            trial_env.prepare_change(&change, material).expect("it is prepared");
        }
        (scratch, trial_env)
    }

    #[test]
    fn a_change_is_made_in_the_original_directory_even_if_the_agent_replaced_it_with_a_link() {
        let parent = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let (_scratch, trial_env) = trial_env(parent.path());
        let room = trial_env.directory.join("room");
        let (skills, moved) = (room.join("skills"), room.join("moved"));
        let outside = parent.path().join("outside");
        fs::create_dir_all(outside.join("greeting")).expect("a directory");
        fs::write(outside.join("greeting/mine"), "precious").expect("a file");
        fs::rename(&skills, &moved).expect("it is moved");
        std::os::unix::fs::symlink(&outside, &skills).expect("a link");
        assert_eq!(trial_env.make_change(0), Ok(()));
        assert_eq!(fs::read_to_string(moved.join("greeting/SKILL.md")).expect("the skill"), "Salute.");
        assert_eq!(trial_env.make_change(1), Ok(()));
        assert!(!moved.join("greeting").exists());
        assert_eq!(fs::read_to_string(outside.join("greeting/mine")).expect("the file"), "precious");
        assert_eq!(fs::read_dir(&outside).expect("a directory").count(), 1);
    }

    #[test]
    fn a_skill_is_as_it_was_when_its_edit_fails() {
        let parent = tempfile::tempdir_in("/var/tmp").expect("a directory");
        let (_scratch, trial_env) = trial_env(parent.path());
        let waiting = trial_env.changes.as_ref().expect("changes").waiting.join("0");
        waiting.remove().expect("it is removed");
        assert!(trial_env.make_change(0).is_err());
        assert_eq!(trial_env.skills().join("greeting/SKILL.md").read(100).expect("the skill"), b"Ahoy.");
        assert_eq!(trial_env.make_change(2), Err(NOT_PREPARED.to_owned()));
    }
}
