//! The directory of a trial, in a run or as a recording, how it comes to its place whole, and which cases have recordings.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::seal::SealKey;
use super::{
    At, DEPTH, FINAL, GRADE, JUDGING, JUDGMENT, META, RECORDINGS, RunFolder, SESSION, StoreError, USER, WORK,
    WORKSPACE, as_json, check_format, make_runs, no_file_at, read_json, readable_trials, recorded_folders, runs_folder,
    snapshot_name, sub_folders, trial_path, write_json, write_whole,
};
use crate::files::at::PathError;
use crate::files::inside::{WalkControl, WalkedFile};
use crate::files::look::{self, Walk};
use crate::files::rooted::{self, RootedPath};
use crate::files::{bounded, inside};
use crate::grade::rubric::{JUDGMENT_FORMAT, Judgment};
use crate::store::seal;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation};
use crate::text::name::{check_case_id, check_id};
use crate::trace::spoken;
use crate::trial::evidence::{META_FORMAT, Meta, digest};
use crate::trial::id::TrialId;
use crate::trial::outcome::{GRADE_FORMAT, Grade};

/// The directory of a trial, in a run or as a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialFolder {
    path: PathBuf,
    /// How many of the last names of its path are of `skill/case/mode/number`. Its files must agree with them.
    named: usize,
    /// The key of its seal, for a kept trial.
    key: Option<SealKey>,
}

impl TrialFolder {
    pub(super) fn of(path: PathBuf) -> Self {
        Self { path, named: DEPTH, key: None }
    }

    /// The names in its path say which trial it must be.
    pub(super) fn found(named: usize, path: PathBuf) -> Self {
        Self { path, named, key: None }
    }

    /// A kept trial, which is sealed with this key.
    pub(super) fn kept(path: PathBuf, key: SealKey) -> Self {
        Self { path, named: 0, key: Some(key) }
    }

    fn names(&self) -> Vec<String> {
        let names = self.path.iter().rev().take(self.named).map(|name| name.to_string_lossy().into_owned());
        let mut names: Vec<String> = names.collect();
        names.reverse();
        names
    }

    pub fn id(&self) -> Option<TrialId> {
        let [skill, case, mode, number] = self.names().try_into().ok()?;
        Some(TrialId { skill, case, mode, number: number.parse().ok()? })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a trial is stored here. A recording without its facts exists, but cannot be read.
    pub fn exists(&self) -> Result<bool, StoreError> {
        if look::is_file(&self.path.join(META))? {
            return Ok(true);
        }
        let is_recorded = self.is_recording() && !look::entries(&self.path)?.is_empty();
        if self.is_recording() && !is_recorded {
            no_file_at(&self.path)?;
        }
        Ok(is_recorded)
    }

    /// Whether it is a recording: it is not among the trials of a run.
    pub fn is_recording(&self) -> bool {
        let path = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        path.ancestors().nth(DEPTH).and_then(Path::file_name).is_none_or(|name| name != WORK)
    }

    pub fn has_grade(&self) -> Result<bool, StoreError> {
        Ok(look::is_file(&self.path.join(GRADE))?)
    }

    /// The digest of its grade, if it has one.
    pub(super) fn grade_digest(&self) -> Result<Option<String>, StoreError> {
        let path = self.path.join(GRADE);
        match bounded::read(&path) {
            Ok(grade) => Ok(Some(digest(&grade))),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Ok(Err(error).at(&path)?),
        }
    }

    /// Empties the directory, or creates it.
    pub fn clear(&self) -> Result<(), StoreError> {
        self.remove()?;
        Ok(fs::create_dir_all(&self.path).at(&self.path)?)
    }

    /// Reserves disk space for the trial before it costs anything, until the file is dropped.
    pub fn take_disk_space(&self) -> Result<File, StoreError> {
        super::take_disk_space(&self.path)
    }

    /// Removes the directory with its content.
    pub fn remove(&self) -> Result<(), StoreError> {
        Ok(rooted::remove(&self.path)?)
    }

    /// The copy of the skills, of a commit or of the working tree, that the trial's run gave to its agents, if there is one.
    pub fn snapshot(&self, commit: Option<&str>) -> Result<Option<PathBuf>, StoreError> {
        // In the run: work, skill, case, mode, number.
        let Some(run) = self.path.ancestors().nth(5) else { return Ok(None) };
        let snapshot = run.join(snapshot_name(commit));
        Ok(look::is_directory(&snapshot)?.then_some(snapshot))
    }

    /// The agent's event stream.
    pub fn trace(&self) -> PathBuf {
        self.path.join("trace.jsonl")
    }

    /// The record of its requests, if its network was limited.
    pub fn wire(&self) -> PathBuf {
        self.path.join("wire.jsonl")
    }

    /// The agent's standard error.
    pub fn stderr(&self) -> PathBuf {
        self.path.join("stderr.txt")
    }

    /// The files that the agent created or changed.
    pub fn workspace(&self) -> PathBuf {
        self.path.join(WORKSPACE)
    }

    /// The content of a file that the agent created or changed. A recording has only small contents.
    pub fn workspace_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        inside::read_beneath(&self.path, &Path::new(WORKSPACE).join(path), bounded::MAX_FILE)
    }

    /// Calls `take` for each stored file of the workspace, until one fails.
    pub fn each_workspace_file(&self, mut take: impl FnMut(&WalkedFile<'_>) -> io::Result<()>) -> io::Result<()> {
        let mut taken = Ok(());
        let walked = inside::walk_beneath(&self.path, Path::new(WORKSPACE), |_| false, &mut |file| {
            taken = take(file);
            if taken.is_ok() { WalkControl::On } else { WalkControl::Stop }
        });
        match walked {
            // An agent that wrote nothing has no workspace.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(false) if taken.is_ok() => Err(io::Error::other("not all of it can be read")),
            Ok(_) => taken,
        }
    }

    /// The skills after each change during the session, a directory for each change by its number, from 0.
    pub fn changes(&self) -> PathBuf {
        self.path.join("changes")
    }

    pub fn write_meta(&self, meta: &Meta) -> Result<(), StoreError> {
        write_json(&self.path.join(META), meta)
    }

    /// Writes the grade. It is written last, so a trial with a grade is finished. Before it, a trial of a run gets its seal.
    pub fn write_grade(&self, grade: &Grade) -> Result<(), StoreError> {
        let path = self.path.join(GRADE);
        let text = as_json(grade).at(&path)?;
        if !self.is_recording() {
            // Without the old grade: a process that is killed here leaves a trial that is not finished, and none that is damaged.
            if self.has_grade()? {
                fs::remove_file(&path).at(&path)?;
            }
            seal::seal_graded(&self.path, &text)?;
        }
        write_whole(&path, &text)
    }

    pub fn write_judgment(&self, judgment: &Judgment) -> Result<(), StoreError> {
        write_json(&self.path.join(JUDGMENT), judgment)
    }

    /// The directory of one attempt at one vote of the judge, both from 1, which may not exist yet.
    #[must_use]
    pub fn judging(&self, vote: u32, attempt: usize) -> Self {
        Self::found(0, self.path.join(JUDGING).join(format!("{vote}-{attempt}")))
    }

    /// The directory of one attempt at a message of the user, which may not exist yet.
    #[must_use]
    pub fn playing(&self, message: usize, attempt: u32) -> Self {
        Self::found(0, self.path.join(USER).join(format!("{message}-{attempt}")))
    }

    pub fn write_final(&self, text: &str) -> Result<(), StoreError> {
        write_whole(&self.path.join(FINAL), text.as_bytes())
    }

    pub fn write_session(&self, text: &str) -> Result<(), StoreError> {
        write_whole(&self.path.join(SESSION), text.as_bytes())
    }

    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), StoreError> {
        write_whole(&self.path.join(name), content)
    }

    /// Writes the digests of all its files, as one of `repeats` recordings of a case in a mode. It is refused once a file has
    /// changed or a repeat is gone.
    pub fn seal(&self, repeats: u32) -> Result<(), StoreError> {
        seal::seal(&self.path, repeats, self.key.as_ref())
    }

    /// The facts of the trial. An error if they contradict each other, or the files of a recording or of a graded trial have
    /// changed.
    pub fn meta(&self) -> Result<Meta, StoreError> {
        if self.is_recording() {
            self.check_links()?;
            seal::verify(&self.path, self.key.as_ref())?;
        } else if self.has_grade()? {
            seal::verify_graded(&self.path)?;
        }
        let path = self.path.join(META);
        let meta: Meta = read_json(&path)?;
        check_format(&path, meta.format, META_FORMAT)?;
        match self.check_id(&meta.id()).err().or_else(|| meta.contradiction()) {
            None => Ok(meta),
            Some(why) => Err(StoreError::Damaged { path, why }),
        }
    }

    /// Checks that no link leads from the directory of all recordings to this one.
    fn check_links(&self) -> Result<(), StoreError> {
        let inner: PathBuf = self.names().iter().collect();
        let Some(all) = self.path.ancestors().nth(self.named) else { return Ok(()) };
        match RootedPath::open(all).and_then(|all| all.join(inner).pinned()) {
            Ok(_) => return Ok(()),
            Err(error) if look::is_loop(&error) || look::is_absent(&error) => {}
            Err(error) => return Err(error).at(&self.path)?,
        }
        if !look::is_directory(&self.path)? {
            return Ok(());
        }
        let why = "it is behind a symbolic link, which is not followed".to_owned();
        Err(StoreError::Damaged { path: self.path.clone(), why })
    }

    /// Checks that the facts are about the trial in this directory. Agents can write such files too, and the names in them must
    /// not lead to other directories.
    fn check_id(&self, id: &TrialId) -> Result<(), String> {
        let mode = id.mode.replace('+', "-");
        for (what, name) in [("skill", &id.skill), ("mode", &mode)] {
            check_id(name).map_err(|why| format!("its {what} {name:?} {why}"))?;
        }
        check_case_id(&id.case).map_err(|why| format!("its case {:?} {why}", id.case))?;
        let said = [id.skill.clone(), id.case.clone(), id.mode.clone(), id.number.to_string()];
        let names = self.names();
        if said.ends_with(&names) {
            return Ok(());
        }
        Err(format!("it is of the trial {id}, but in the directory of {}", names.join("/")))
    }

    pub fn grade(&self) -> Result<Grade, StoreError> {
        let path = self.path.join(GRADE);
        let grade: Grade = read_json(&path)?;
        check_format(&path, grade.format, GRADE_FORMAT)?;
        Ok(grade)
    }

    /// The judgment, if there is one.
    pub fn judgment(&self) -> Result<Option<Judgment>, StoreError> {
        let path = self.path.join(JUDGMENT);
        if !look::exists(&path)? {
            return Ok(None);
        }
        let judgment: Judgment = read_json(&path)?;
        check_format(&path, judgment.format, JUDGMENT_FORMAT)?;
        Ok(Some(judgment))
    }

    /// The final message, if there is one.
    pub fn final_text(&self) -> Result<Option<String>, StoreError> {
        let path = self.path.join(FINAL);
        match inside::read_beneath(&self.path, Path::new(FINAL), bounded::MAX_FILE) {
            Ok(bytes) => Ok(spoken(String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Ok(Err(error).at(&path)?),
        }
    }
}

/// The directory of a trial's recording in `recordings`, which has the layout of all recordings.
pub fn recording_in(recordings: &Path, id: &TrialId) -> TrialFolder {
    TrialFolder::of(trial_path(recordings, id))
}

/// Whether any repeat of the case and mode of `id` is recorded.
pub fn is_recorded(root: &Path, id: &TrialId) -> Result<bool, StoreError> {
    let first = trial_path(&root.join(RECORDINGS), id);
    Ok(!recorded_folders(first.parent().unwrap_or(&first))?.is_empty())
}

/// The recordings of the repository at `root` that can be found, and the problems of what cannot be read among them.
pub fn recordings(root: &Path) -> (Vec<TrialFolder>, Vec<Diagnostic>) {
    let (trials, unread) = readable_trials(&root.join(RECORDINGS), usize::MAX);
    (trials, unread.into_iter().map(|error| recording_problem(root, &error.into())).collect())
}

/// The damaged recordings of the repository at `root`, with the problem of each. What cannot be read is of no trial that is known.
pub fn damaged_recordings(root: &Path) -> Vec<(Option<TrialFolder>, Diagnostic)> {
    let (trials, unread) = recordings(root);
    let damaged = trials.into_iter().filter_map(|recording| {
        let problem = match recording.meta() {
            Ok(_) => return None,
            Err(error @ StoreError::Damaged { .. }) => recording_problem(root, &error),
            Err(other) => problem_at(root, recording.path(), other.to_string()),
        };
        Some((Some(recording), problem))
    });
    damaged.chain(unread.into_iter().map(|problem| (None, problem))).collect()
}

/// The problem that keeps a recording of the repository at `root` from being replayed.
pub fn recording_problem(root: &Path, error: &StoreError) -> Diagnostic {
    match error {
        StoreError::Damaged { path, why } => problem_at(root, path, why.clone()),
        StoreError::Io(PathError { path, source }) => problem_at(root, path, format!("cannot be read: {source}")),
        other => problem_at(root, &root.join(RECORDINGS), other.to_string()),
    }
}

fn problem_at(root: &Path, path: &Path, why: String) -> Diagnostic {
    let place = SourceLocation::file(path.strip_prefix(root).unwrap_or(path));
    let problem = Diagnostic::new(Code::DamagedRecording, place, why);
    problem.help("make it readable for this user, or record it again with `skill-evals run --record`")
}

/// Looks up the recordings of a repository. Cases come skill by skill, so one skill is remembered.
#[derive(Debug)]
pub struct Recordings {
    folder: PathBuf,
    /// The last skill, and its cases that have recordings.
    last: (String, HashSet<String>),
}

impl Recordings {
    /// Those of the repository at `root`.
    pub fn new(root: &Path) -> Self {
        Self { folder: root.join(RECORDINGS), last: Default::default() }
    }

    /// The names of the modes in which a case is recorded, sorted.
    pub fn modes(&mut self, skill: &str, case: &str) -> Result<Vec<String>, StoreError> {
        if self.last.0 != skill {
            self.last = (skill.to_owned(), recorded_folders(&self.folder.join(skill))?.into_iter().collect());
        }
        let folder = self.folder.join(skill).join(case);
        if !self.last.1.contains(case) {
            no_file_at(&folder)?;
            return Ok(Vec::new());
        }
        recorded_folders(&folder)
    }
}

/// The recorded cases of the repository at `root`, as skill and id. Whoever replays a case says what cannot be read.
pub fn recorded_cases(root: &Path) -> Vec<(String, String)> {
    let recordings = root.join(RECORDINGS);
    let mut cases = Vec::new();
    for skill in recorded_folders(&recordings).unwrap_or_default() {
        let ids = recorded_folders(&recordings.join(&skill)).unwrap_or_default();
        cases.extend(ids.into_iter().map(|id| (skill.clone(), id)));
    }
    cases
}

/// The mode of each case that is recorded in it, in the repository at `root`.
pub fn modes_of_recordings(root: &Path) -> Vec<String> {
    let modes = |(skill, case): (String, String)| super::recorded_modes(root, &skill, &case).unwrap_or_default();
    recorded_cases(root).into_iter().flat_map(modes).collect()
}

/// Makes the recordings of a case those of another id of its skill. Returns their directories.
pub fn rename_recordings(root: &Path, skill: &str, old: &str, new: &str) -> Result<Vec<PathBuf>, StoreError> {
    let mut places = Vec::new();
    for mode in super::recorded_modes(root, skill, old)? {
        let id = |case: &str, number| TrialId { skill: skill.into(), case: case.into(), mode: mode.clone(), number };
        let mut repeats = 0;
        while super::recording(root, &id(old, repeats + 1)).exists()? {
            repeats += 1;
        }
        let staged = Staging::of_recordings(root)?;
        for number in 1..=repeats {
            let from = super::recording(root, &id(old, number));
            let mut meta = from.meta()?;
            new.clone_into(&mut meta.case.id);
            let to = recording_in(staged.path(), &id(new, number));
            copy_tree(from.path(), to.path())?;
            to.write_meta(&meta)?;
            to.seal(repeats)?;
        }
        places.push(staged.put_recordings(&id(new, 1))?);
    }
    let folder = root.join(RECORDINGS).join(skill).join(old);
    rooted::remove(&folder)?;
    Ok(places)
}

// Directories that replace others in one step: new recordings, and merged runs.

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
