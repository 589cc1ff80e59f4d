//! The files on disk: runs in `artifacts/skill-evals/` and recordings in `evals/recordings/`. No other module knows their layout.

mod journal;
mod kept;
mod kept_age;
mod nights;
mod outputs;
pub mod pkbllm;
mod run_files;
mod running;
mod seal;
mod trial_folder;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

use nix::unistd::AccessFlags;
use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::cases::catalog::ARTIFACTS;
use crate::files::at::{At, PathError};
use crate::files::look::{self, Walk, WalkStep};
use crate::files::{bounded, inside};
use crate::process::git;
use crate::text::diagnostic::suggest;
use crate::text::problem::Problem;
use crate::trial::id::TrialId;
use crate::trial::shard::Shard;

pub use journal::{Follower, Journal, JournalContents};
pub use kept::{KeptAs, KeptTrial, KeptTrials, TrialOrigin};
pub use nights::{Night, NightCase, NightInputs, nights};
pub use outputs::{
    STDOUT, check_new_folder, check_out, take_disk_space, write_folder, write_out, write_whole, write_with,
};
pub use run_files::{RunLock, latest, remove_left_over, runs};
pub use running::{KeptPair, PairSide, RunningComparison};
pub use running::{Proposal, UnfinishedTune};
pub use running::{UnconfirmedTrials, each_of_baseline};
pub use seal::lines as with_digests;
pub use trial_folder::Staging;
pub use trial_folder::{
    Recordings, TrialFolder, damaged_recordings, is_recorded, modes_of_recordings, recorded_cases, recording_in,
    recording_problem, recordings, rename_recordings,
};

/// The directories of runs, from the repository's root.
pub const RUNS: &str = "artifacts/skill-evals";

/// The directories of gates, next to those of runs: what a gate found, and kept trials.
const GATE: &str = "gate";
const KEPT: &str = "kept";

/// The directory of what agents answered to `generate`, next to those of runs.
const GENERATE: &str = "generate";

/// The program's directory in the user's cache; `None` if the user has neither a cache directory nor a home.
fn users_cache() -> Option<PathBuf> {
    let path = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = path("XDG_CACHE_HOME").or_else(|| Some(path("HOME")?.join(".cache")))?;
    Some(cache.join("skill-evals"))
}

/// The directory of all runs, which may not exist yet. What git tracks there is refused: a branch could bring runs and kept trials
/// with any result. What git does not track is the user's own, a link too.
fn runs_folder(root: &Path) -> Result<PathBuf, StoreError> {
    static CHECKED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let mut checked = CHECKED.lock().unwrap_or_else(PoisonError::into_inner);
    if !checked.contains(root) {
        let tracked = match git::tracked(root, Path::new(ARTIFACTS)).map_err(|why| StoreError::Git(why.to_string()))? {
            Some(tracked) => tracked,
            // Without git, nothing shows whose link it is.
            None => inside::place(root, Path::new(RUNS)).map(|_| Vec::new()).at(&root.join(RUNS))?,
        };
        let is_of_runs = |path: &PathBuf| {
            let path = path.to_string_lossy().to_ascii_lowercase();
            Path::new(RUNS).starts_with(&path) || Path::new(&path).starts_with(RUNS)
        };
        if let Some(path) = tracked.into_iter().find(is_of_runs) {
            return Err(StoreError::Tracked(path));
        }
        checked.insert(root.to_path_buf());
    }
    Ok(root.join(RUNS))
}

/// Where a gate writes what it found.
pub fn gate_folder(root: &Path) -> Result<PathBuf, StoreError> {
    Ok(runs_folder(root)?.join(GATE))
}

/// Where the evidence is stored of an agent that drafted something for the skill `slug`. Creates the directory above it.
pub fn drafting_folder(root: &Path, slug: &str) -> Result<TrialFolder, StoreError> {
    let runs = runs_folder(root)?;
    make_runs(&runs)?;
    Ok(TrialFolder::found(0, runs.join(GENERATE).join(slug)))
}

/// Recordings, from the repository's root.
pub const RECORDINGS: &str = "evals/recordings";

/// The file with the facts of a trial, in its directory.
pub const META: &str = "meta.json";

const RUN: &str = "run.json";
const WORK: &str = "work";
const SNAPSHOT: &str = "skills_snapshot";
const GRADE: &str = "grade.json";
const JUDGMENT: &str = "judge.json";
const JUDGING: &str = "judge";

/// The directory with the player of the user who answers, message by message.
const USER: &str = "user";
const SESSION: &str = "session.md";
const FINAL: &str = "final.txt";
const WORKSPACE: &str = "workspace";

/// Why something could not be read or written.
#[derive(Debug, Error)]
pub enum StoreError {
    /// An error of the system.
    #[error(transparent)]
    Io(#[from] PathError),
    /// Runs cannot be stored in the repository.
    #[error(
        "{path}: {source}; runs are kept in the repository's {RUNS}: make it writable, or work in a clone that is yours"
    )]
    NoPlace {
        /// The directory that is not writable.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A stored file has invalid content.
    #[error("{path}: {why}; the file is damaged or from another version: restore it, or remove it and measure again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The trial's seal was not made with the key of this user.
    #[error("{}: it is not sealed with the key of this user", .0.display())]
    Unsealed(PathBuf),
    /// git tracks runs or kept trials.
    #[error(
        "git tracks {}: runs and kept trials are made here, and those of a repository are not believed; remove it with \
         `git rm -r --cached` and ignore {RUNS}",
        .0.display()
    )]
    Tracked(PathBuf),
    /// git does not say what it tracks.
    #[error(
        "{0}; git says whether runs in {RUNS} were made here: install git, or let it read this directory, as by `git config --global \
         --add safe.directory`"
    )]
    Git(String),
    /// The run does not exist.
    #[error("unknown run `{id}`: not in {RUNS}; {hint}")]
    UnknownRun {
        /// The requested id.
        id: String,
        /// The runs that exist.
        hint: String,
    },
    /// The directory belongs to a run of another runner.
    #[error("pkbllm's runner left the run `{0}`; `skill-evals grade {RUNS}/{0} --as pkbllm` makes a stored run of it")]
    Foreign(String),
    /// The run id cannot be the name of a directory.
    #[error("the run id {id:?} {why}")]
    BadRunId {
        /// The requested id.
        id: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Another process is running the run.
    #[error("the run `{id}` is being run{who}; `skill-evals status {id}` shows it, `skill-evals stop {id}` ends it")]
    Running {
        /// The run's id.
        id: String,
        /// The process, if known.
        who: String,
    },
    /// The directory to make has files.
    #[error("{0}: the directory is not empty; name another, or remove it")]
    NotEmpty(PathBuf),
    /// The id of a new run is that of an old one.
    #[error("the run `{0}` exists; --resume resumes it, another --run-id starts a new one")]
    Exists(String),
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
    write_whole(path, &as_json(value).at(path)?)
}

fn as_json(value: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    Ok(text)
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, StoreError> {
    let (folder, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
    let bytes = inside::read_beneath(folder, Path::new(name), bounded::MAX_FILE).at(path)?;
    serde_json::from_slice(&bytes)
        .map_err(|error| StoreError::Damaged { path: path.to_path_buf(), why: error.to_string() })
}

#[derive(Clone, Debug)]
pub struct RunFolder {
    id: String,
    path: PathBuf,
}

impl RunFolder {
    /// Creates the directory of a new run, with this id or one made from the time.
    pub fn create(root: &Path, id: Option<&str>) -> Result<Self, StoreError> {
        let runs = runs_folder(root)?;
        if let Some(id) = id {
            check_run_id(id)?;
            let run = Self { path: runs.join(id), id: id.to_owned() };
            // An empty directory is left by a run that could not start.
            if run.is_run()? {
                return Err(StoreError::Exists(id.to_owned()));
            }
            make_runs(&runs)?;
            fs::create_dir_all(&run.path).at(&run.path)?;
            return Ok(run);
        }
        make_runs(&runs)?;
        let stamp = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
        let mut id = stamp.clone();
        let mut number = 1;
        loop {
            let path = runs.join(&id);
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { id, path }),
                // Another process started its run in the same second.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    number += 1;
                    id = format!("{stamp}-{number}");
                }
                Err(error) => return Ok(Err(error).at(&path)?),
            }
        }
    }

    /// Checks that a new run can have this id. Creates nothing.
    pub fn check_new(root: &Path, id: &str) -> Result<(), StoreError> {
        check_run_id(id)?;
        let run = Self { path: runs_folder(root)?.join(id), id: id.to_owned() };
        if run.is_run()? { Err(StoreError::Exists(id.to_owned())) } else { Ok(()) }
    }

    /// Checks that a new run can have a directory. Creates nothing.
    pub fn check_place(root: &Path) -> Result<(), StoreError> {
        let runs = runs_folder(root)?;
        let found = runs.ancestors().map(|above| Ok((above, look::kind(above)?)));
        let found = found.collect::<Result<Vec<_>, PathError>>()?;
        let Some((nearest, kind)) = found.into_iter().find_map(|(above, kind)| Some((above, kind?))) else {
            return Ok(());
        };
        let can = nix::unistd::access(nearest, AccessFlags::W_OK | AccessFlags::X_OK);
        let can = if kind.is_dir() { can } else { Err(nix::Error::ENOTDIR) };
        can.map_err(|error| StoreError::NoPlace { path: nearest.to_path_buf(), source: error.into() })
    }

    /// The directory of an earlier run. The error names the latest runs.
    pub fn open(root: &Path, id: &str) -> Result<Self, StoreError> {
        check_run_id(id)?;
        let runs = runs_folder(root)?;
        let path = runs.join(id);
        if look::is_directory(&path)? {
            if pkbllm::is_one(&path)? {
                return Err(StoreError::Foreign(id.to_owned()));
            }
            return Ok(Self { id: id.to_owned(), path });
        }
        let mut ids = sub_folders(&runs)?;
        // What gates found is next to them, and a run that cannot be read is no help here.
        ids.retain(|id| Self::at(&runs.join(id)).is_run().unwrap_or(false));
        let known: Vec<&str> = ids.iter().rev().take(10).map(String::as_str).collect();
        let hint = if known.is_empty() { "no runs found".to_owned() } else { suggest(id, &known) };
        Err(StoreError::UnknownRun { id: id.to_owned(), hint })
    }

    /// A directory of a run, or of a part of one, wherever it is.
    pub fn at(path: &Path) -> Self {
        let id = path.file_name().map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy());
        Self { id: id.into_owned(), path: path.to_path_buf() }
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The run's copy of the skills of a commit, or of the working tree.
    pub fn snapshot(&self, commit: Option<&str>) -> PathBuf {
        self.path.join(snapshot_name(commit))
    }

    /// The HTML report of this run alone.
    pub fn report(&self) -> PathBuf {
        self.path.join("report.html")
    }

    /// The directory of a trial, which may not exist yet.
    pub fn trial(&self, id: &TrialId) -> TrialFolder {
        TrialFolder::of(trial_path(&self.path.join(WORK), id))
    }

    /// Adds a copy of a trial of another run.
    pub fn add_trial(&self, trial: &TrialFolder, id: &TrialId) -> Result<(), StoreError> {
        trial_folder::copy_tree(trial.path(), self.trial(id).path())
    }

    /// Adds the other run's copies of skills that this one lacks.
    pub fn add_snapshots(&self, other: &RunFolder) -> Result<(), StoreError> {
        for name in sub_folders(&other.path)?.into_iter().filter(|name| name.starts_with(SNAPSHOT)) {
            let to = self.path.join(&name);
            if !look::exists(&to)? {
                trial_folder::copy_tree(&other.path.join(&name), &to)?;
            }
        }
        Ok(())
    }

    /// The runs of the shards of the run `id`, in order.
    pub fn shards(root: &Path, id: &str) -> Result<Vec<Self>, StoreError> {
        let runs = runs_folder(root)?;
        let mut shards = Vec::new();
        for name in sub_folders(&runs)? {
            if let Some((_, shard)) = Shard::of_run(&name).filter(|(run, _)| *run == id) {
                shards.push((shard.of, shard.number, Self { path: runs.join(&name), id: name.clone() }));
            }
        }
        shards.sort_by_key(|(of, number, _)| (*of, *number));
        Ok(shards.into_iter().map(|(.., run)| run).collect())
    }

    /// The directories of all trials that have a `meta.json` or a grade, in order.
    pub fn trials(&self) -> Result<Vec<TrialFolder>, StoreError> {
        trials_in(&self.path.join(WORK), usize::MAX)
    }

    /// The first of them in a part of the run: `skill/id/mode`, the start of that, or nothing. The others are not looked for.
    pub fn first_trial(&self, part: &str) -> Result<Option<TrialFolder>, StoreError> {
        Ok(trials_in(&self.path.join(WORK).join(part), 1)?.pop())
    }
}

/// Creates the directory of all runs, which git ignores: artifacts are large and belong to this machine.
fn make_runs(runs: &Path) -> Result<(), StoreError> {
    fs::create_dir_all(runs).at(runs)?;
    let rules = runs.join(".gitignore");
    if look::exists(&rules)? { Ok(()) } else { write_whole(&rules, b"*\n") }
}

/// The name of the copy of the skills of a commit, or of the working tree. An agent may have written the `commit`.
fn snapshot_name(commit: Option<&str>) -> String {
    match commit.filter(|commit| commit.bytes().all(|byte| byte.is_ascii_hexdigit())) {
        Some(commit) => format!("{SNAPSHOT}_{}", commit.get(..12).unwrap_or(commit)),
        None => SNAPSHOT.to_owned(),
    }
}

fn check_run_id(id: &str) -> Result<(), StoreError> {
    let reserved = match id {
        GATE | KEPT => Err("is the name of a directory of gates"),
        GENERATE => Err("is the name of a directory of `generate`"),
        _ => Ok(()),
    };
    reserved
        .and_then(|()| crate::text::name::check_id(id))
        .map_err(|why| StoreError::BadRunId { id: id.to_owned(), why })
}

fn trial_path(base: &Path, id: &TrialId) -> PathBuf {
    base.join(&id.skill).join(&id.case).join(&id.mode).join(id.number.to_string())
}

/// The names of the directories in a directory, and of links to some.
fn sub_folders(path: &Path) -> Result<Vec<String>, StoreError> {
    let mut names = Vec::new();
    for entry in look::entries(path)? {
        let is_linked = || look::is_directory(entry.path());
        if entry.file_type().is_dir() || entry.file_type().is_symlink() && is_linked()? {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(names)
}

/// The same among recordings. What stands in the place of a directory hides what belongs there, and is an error.
fn recorded_folders(path: &Path) -> Result<Vec<String>, StoreError> {
    let names = sub_folders(path)?;
    if names.is_empty() {
        no_file_at(path)?;
    }
    Ok(names)
}

/// Fails if this directory of recordings cannot exist, since there is a file in its place or above it.
fn no_file_at(path: &Path) -> Result<(), StoreError> {
    for above in path.ancestors() {
        match look::kind(above)? {
            Some(kind) if !kind.is_dir() => {
                let why = "it is not a directory, and hides the recordings that belong there".to_owned();
                return Err(StoreError::Damaged { path: above.to_path_buf(), why });
            }
            Some(_) => break,
            None => {}
        }
    }
    Ok(())
}

/// The depth of a trial in the directory of all trials: skill, case, mode, and the repeat's number.
const DEPTH: usize = 4;

/// All trials in a run, in a part of one, or among recordings. A trial's directory, where agents write, is not searched further.
pub fn trials_below(path: &Path) -> Result<Vec<TrialFolder>, StoreError> {
    let work = path.join(WORK);
    let is_run = look::is_directory(&work)? && !look::exists(&path.join(META))?;
    trials_in(if is_run { &work } else { path }, usize::MAX)
}

/// The trial in this directory.
pub fn trial_at(path: &Path) -> TrialFolder {
    TrialFolder::found(0, path.to_path_buf())
}

/// The kept trial in this directory, which is sealed with the key that this secret makes.
pub fn kept_at(path: &Path, secret: &[u8]) -> TrialFolder {
    TrialFolder::kept(path.to_path_buf(), seal::SealKey::of(secret))
}

/// The first `most` trials at most [`DEPTH`] directories under `path`, in order. Links are not followed.
fn trials_in(path: &Path, most: usize) -> Result<Vec<TrialFolder>, StoreError> {
    // A link may lead to the directory of all trials, and not to one.
    if look::own_kind(path)?.is_some_and(|kind| kind.is_dir()) && is_trial(path)? {
        return Ok(vec![TrialFolder::found(0, path.to_path_buf())]);
    }
    let (trials, unread) = readable_trials(path, most);
    unread.into_iter().next().map_or(Ok(trials), |error| Err(error.into()))
}

/// Those of them that can be found, and what cannot be read.
fn readable_trials(path: &Path, most: usize) -> (Vec<TrialFolder>, Vec<PathError>) {
    let (mut trials, mut failed) = (Vec::new(), Vec::new());
    let unread = Walk::new(path).max_depth(DEPTH).each(|entry| {
        // Recordings that are being replaced.
        if !entry.file_type().is_dir() || entry.file_name().as_encoded_bytes().starts_with(trial_folder::NEW.as_bytes())
        {
            return WalkStep::Over;
        }
        match is_trial(entry.path()) {
            Ok(false) => return if entry.depth() == DEPTH { WalkStep::Over } else { WalkStep::Into },
            Ok(true) => trials.push(TrialFolder::found(entry.depth(), entry.path().to_path_buf())),
            Err(error) => failed.push(error),
        }
        if trials.len() == most { WalkStep::Stop } else { WalkStep::Over }
    });
    unread.report(|error| failed.push(error));
    (trials, failed)
}

/// Whether a directory is one of a trial. Without its facts, it is reported when they are read.
fn is_trial(path: &Path) -> Result<bool, PathError> {
    for name in [META, GRADE, seal::DIGESTS] {
        if look::own_kind(&path.join(name))?.is_some_and(|kind| kind.is_file()) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrialOwner {
    /// This run of the repository.
    Run(String),
    /// The recordings of the repository.
    Recordings,
}

/// The owner of a trial's directory in the repository at `root`, by its path alone.
pub fn place(root: &Path, folder: &Path) -> Option<TrialOwner> {
    if folder.starts_with(root.join(RECORDINGS)) {
        return Some(TrialOwner::Recordings);
    }
    let run = folder.strip_prefix(root.join(RUNS)).ok()?.iter().next()?;
    Some(TrialOwner::Run(run.to_string_lossy().into_owned()))
}

/// The names of the modes in which a case of the repository at `root` is recorded.
pub fn recorded_modes(root: &Path, skill: &str, case: &str) -> Result<Vec<String>, StoreError> {
    recorded_folders(&root.join(RECORDINGS).join(skill).join(case))
}

/// The directory of a trial's recording, which may not exist.
pub fn recording(root: &Path, id: &TrialId) -> TrialFolder {
    TrialFolder::of(trial_path(&root.join(RECORDINGS), id))
}

fn check_format(path: &Path, format: u32, known: u32) -> Result<(), StoreError> {
    if format == known {
        return Ok(());
    }
    let why = format!("it has format {format}, this version reads format {known}");
    Err(StoreError::Damaged { path: path.to_path_buf(), why })
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::Said(error.to_string())
    }
}

// Calibrations of agents, which are kept in the user's cache directory.

/// The calibrations of an agent, each under a key that says of what it is.
#[derive(Clone, Debug)]
pub struct CalibrationCache(PathBuf);

impl CalibrationCache {
    /// Those of the agent with this name; `None` if the user has neither a cache directory nor a home.
    pub fn of(agent: &str) -> Option<Self> {
        Some(Self(users_cache()?.join("calibrations").join(agent)))
    }

    /// Whether the agent was ever calibrated here.
    pub fn exists(&self) -> bool {
        look::is_usable_directory(&self.0)
    }

    /// What is kept under this key, unless it cannot be read: it is then measured again.
    pub fn read<T: DeserializeOwned>(&self, key: &str) -> Option<T> {
        serde_json::from_slice(&bounded::read(&self.0.join(format!("{key}.json"))).ok()?).ok()
    }

    pub fn write(&self, key: &str, calibration: &impl Serialize) -> Result<(), StoreError> {
        fs::create_dir_all(&self.0).at(&self.0)?;
        let text = serde_json::to_vec_pretty(calibration).unwrap_or_default();
        write_whole(&self.0.join(format!("{key}.json")), &text)
    }
}
