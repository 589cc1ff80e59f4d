//! What is kept on disk: run folders below `artifacts/skill-evals/`, recordings below `evals/recordings/`. The only
//! place that knows the layout of either.

mod ledger;
mod recordings;
mod run_files;
mod seal;
mod shared;

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

use crate::grade::rubric::{JUDGEMENT_FORMAT, Judgement};
use crate::text::diagnostic::suggest;
use crate::trial::evidence::{META_FORMAT, Meta};
use crate::trial::id::TrialId;
use crate::trial::outcome::{GRADE_FORMAT, Grade};

pub use recordings::Recordings;

pub use ledger::{Ledger, Ledgered};
pub use run_files::{RunLock, runs};

/// Run folders, from the repository's root.
pub const RUNS: &str = "artifacts/skill-evals";

/// Recordings, from the repository's root.
pub const RECORDINGS: &str = "evals/recordings";

/// The file with the facts of a trial, in its folder.
pub const META: &str = "meta.json";

const WORK: &str = "work";
const SNAPSHOT: &str = "skills_snapshot";
const GRADE: &str = "grade.json";
const JUDGEMENT: &str = "judge.json";
const JUDGING: &str = "judge";
const SESSION: &str = "session.md";
const FINAL: &str = "final.txt";
const WORKSPACE: &str = "workspace";

/// Why something could not be read or kept.
#[derive(Debug, Error)]
pub enum StoreError {
    /// The system refused.
    #[error("{path}: {source}")]
    Io {
        /// The path.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A stored file does not hold what it should.
    #[error("{path}: {why}; the file is damaged or from another version")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// There is no such run.
    #[error("there is no run `{id}` in {RUNS}; {hint}")]
    UnknownRun {
        /// The id asked for.
        id: String,
        /// What there is instead.
        hint: String,
    },
    /// A run id that cannot be a folder's name.
    #[error("the run id {id:?} {why}")]
    BadRunId {
        /// The id asked for.
        id: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Another process runs the run.
    #[error(
        "the run `{id}` is being run{who}; `skill-evals status --run-id {id}` shows it, `skill-evals stop {id}` ends it"
    )]
    Running {
        /// The run's id.
        id: String,
        /// The process, where it is known.
        who: String,
    },
    /// A new run was to get the id of an old one.
    #[error("there is a run `{0}` already; --resume goes on with it, another --run-id begins a new one")]
    Exists(String),
}

trait At<T> {
    fn at(self, path: &Path) -> Result<T, StoreError>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, path: &Path) -> Result<T, StoreError> {
        self.map_err(|source| StoreError::Io { path: path.to_path_buf(), source })
    }
}

/// Writes a file whole: beside it first, then renamed into place.
///
/// # Errors
/// When it cannot be written; the old file, if any, is then untouched.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<(), StoreError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).at(folder)?;
    let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder).at(folder)?;
    file.write_all(content).at(path)?;
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.as_file().set_permissions(permissions).at(path)?;
    file.persist(path).map_err(|error| error.error).at(path)?;
    Ok(())
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<(), StoreError> {
    let mut text = serde_json::to_vec_pretty(value).map_err(io::Error::from).at(path)?;
    text.push(b'\n');
    write_whole(path, &text)
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, StoreError> {
    let bytes = fs::read(path).at(path)?;
    serde_json::from_slice(&bytes)
        .map_err(|error| StoreError::Damaged { path: path.to_path_buf(), why: error.to_string() })
}

/// The folder of one run.
#[derive(Clone, Debug)]
pub struct RunFolder {
    id: String,
    path: PathBuf,
}

impl RunFolder {
    /// Makes the folder of a new run, or takes that of a run of the given id.
    ///
    /// # Errors
    /// When the id cannot be a folder's name, or the folder cannot be made.
    pub fn create(root: &Path, id: Option<&str>) -> Result<Self, StoreError> {
        let runs = root.join(RUNS);
        fs::create_dir_all(&runs).at(&runs)?;
        if let Some(id) = id {
            check_run_id(id)?;
            let path = runs.join(id);
            fs::create_dir_all(&path).at(&path)?;
            return Ok(Self { id: id.to_owned(), path });
        }
        let stamp = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
        let mut id = stamp.clone();
        let mut number = 1;
        loop {
            let path = runs.join(&id);
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self { id, path }),
                // Another process began its run in this very second.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    number += 1;
                    id = format!("{stamp}-{number}");
                }
                Err(error) => return Err(error).at(&path),
            }
        }
    }

    /// Makes the folder of a new run, of the given id where there is one.
    ///
    /// # Errors
    /// As [`RunFolder::create`], and when there is such a run already.
    pub fn create_new(root: &Path, id: Option<&str>) -> Result<Self, StoreError> {
        if let Some(id) = id {
            check_run_id(id)?;
            // An empty folder was made by whoever began and could not go on, and holds nothing to lose.
            let begun = fs::read_dir(root.join(RUNS).join(id)).is_ok_and(|mut entries| entries.next().is_some());
            if begun {
                return Err(StoreError::Exists(id.to_owned()));
            }
        }
        Self::create(root, id)
    }

    /// The folder of an earlier run.
    ///
    /// # Errors
    /// When there is none; the error names the runs that there are.
    pub fn open(root: &Path, id: &str) -> Result<Self, StoreError> {
        check_run_id(id)?;
        let path = root.join(RUNS).join(id);
        if path.is_dir() {
            return Ok(Self { id: id.to_owned(), path });
        }
        let mut ids: Vec<String> = sub_folders(&root.join(RUNS));
        ids.sort_by(|a, b| b.cmp(a));
        ids.truncate(10);
        let known: Vec<&str> = ids.iter().map(String::as_str).collect();
        let hint = if known.is_empty() { "there are no runs yet".to_owned() } else { suggest(id, &known) };
        Err(StoreError::UnknownRun { id: id.to_owned(), hint })
    }

    /// The run's id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the run keeps its copy of the skills.
    #[must_use]
    pub fn snapshot(&self) -> PathBuf {
        self.path.join(SNAPSHOT)
    }

    /// The folder of a trial, which may not exist yet.
    #[must_use]
    pub fn trial(&self, id: &TrialId) -> TrialFolder {
        TrialFolder { path: trial_path(&self.path.join(WORK), id) }
    }

    /// The folders of all trials that have a `meta.json`, in order.
    #[must_use]
    pub fn trials(&self) -> Vec<TrialFolder> {
        trials_below(&self.path.join(WORK))
    }
}

fn check_run_id(id: &str) -> Result<(), StoreError> {
    crate::cases::name::check_id(id).map_err(|why| StoreError::BadRunId { id: id.to_owned(), why })
}

fn trial_path(base: &Path, id: &TrialId) -> PathBuf {
    base.join(&id.skill).join(&id.case).join(&id.mode).join(id.number.to_string())
}

fn sub_folders(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// All folders with a `meta.json` at or below `path`, in order.
#[must_use]
pub fn trials_below(path: &Path) -> Vec<TrialFolder> {
    let walk = walkdir::WalkDir::new(path).max_depth(6).sort_by_file_name().into_iter().flatten();
    walk.filter(|entry| entry.file_name() == META && entry.file_type().is_file())
        .filter_map(|entry| Some(TrialFolder { path: entry.path().parent()?.to_path_buf() }))
        .collect()
}

/// The recordings of a case in the repository at `root`: the names of the modes that have one.
#[must_use]
pub fn recorded_modes(root: &Path, skill: &str, case: &str) -> Vec<String> {
    sub_folders(&root.join(RECORDINGS).join(skill).join(case))
}

/// The folder of a trial's recording, which may not exist.
#[must_use]
pub fn recording(root: &Path, id: &TrialId) -> TrialFolder {
    TrialFolder { path: trial_path(&root.join(RECORDINGS), id) }
}

/// The folder of one trial: in a run, or a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrialFolder {
    path: PathBuf,
}

impl TrialFolder {
    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a trial was kept here.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.path.join(META).is_file()
    }

    /// Whether a grade was kept here, as it is in a run.
    #[must_use]
    pub fn has_grade(&self) -> bool {
        self.path.join(GRADE).is_file()
    }

    /// Empties the folder, or makes it.
    ///
    /// # Errors
    /// When that fails.
    pub fn clear(&self) -> Result<(), StoreError> {
        match fs::remove_dir_all(&self.path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).at(&self.path),
        }
        fs::create_dir_all(&self.path).at(&self.path)
    }

    /// Where the agent's event stream goes.
    #[must_use]
    pub fn trace(&self) -> PathBuf {
        self.path.join("trace.jsonl")
    }

    /// Where the agent's standard error goes.
    #[must_use]
    pub fn stderr(&self) -> PathBuf {
        self.path.join("stderr.txt")
    }

    /// Where the files go that the agent made or changed.
    #[must_use]
    pub fn workspace(&self) -> PathBuf {
        self.path.join(WORKSPACE)
    }

    /// Keeps the facts of the run.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn write_meta(&self, meta: &Meta) -> Result<(), StoreError> {
        write_json(&self.path.join(META), meta)
    }

    /// Keeps the grade; written last, it says that the trial is finished.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_grade(&self, grade: &Grade) -> Result<(), StoreError> {
        write_json(&self.path.join(GRADE), grade)
    }

    /// Keeps what a judge said.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_judgement(&self, judgement: &Judgement) -> Result<(), StoreError> {
        write_json(&self.path.join(JUDGEMENT), judgement)
    }

    /// The folder of one attempt at one vote of the judge, both from 1, which may not exist yet.
    #[must_use]
    pub fn judging(&self, vote: u32, attempt: usize) -> TrialFolder {
        TrialFolder { path: self.path.join(JUDGING).join(format!("{vote}-{attempt}")) }
    }

    /// Keeps the final message.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_final(&self, text: &str) -> Result<(), StoreError> {
        write_whole(&self.path.join(FINAL), text.as_bytes())
    }

    /// Keeps the readable log.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_session(&self, text: &str) -> Result<(), StoreError> {
        write_whole(&self.path.join(SESSION), text.as_bytes())
    }

    /// Keeps another file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<(), StoreError> {
        write_whole(&self.path.join(name), content)
    }

    /// Keeps the digests of all its files, as a recording: from then on it is refused once one of them has changed.
    ///
    /// # Errors
    /// When a file cannot be read, or the digests cannot be written.
    pub fn seal(&self) -> Result<(), StoreError> {
        seal::seal(&self.path)
    }

    /// The facts of the run.
    ///
    /// # Errors
    /// When they cannot be read, deny each other, or a recording's files have changed since it was sealed.
    pub fn meta(&self) -> Result<Meta, StoreError> {
        seal::verify(&self.path)?;
        let path = self.path.join(META);
        let meta: Meta = read_json(&path)?;
        check_format(&path, meta.format, META_FORMAT)?;
        match meta.contradiction() {
            None => Ok(meta),
            Some(why) => Err(StoreError::Damaged { path, why }),
        }
    }

    /// The grade.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn grade(&self) -> Result<Grade, StoreError> {
        let path = self.path.join(GRADE);
        let grade: Grade = read_json(&path)?;
        check_format(&path, grade.format, GRADE_FORMAT)?;
        Ok(grade)
    }

    /// What a judge said; `None` where none was asked.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn judgement(&self) -> Result<Option<Judgement>, StoreError> {
        let path = self.path.join(JUDGEMENT);
        if !path.exists() {
            return Ok(None);
        }
        let judgement: Judgement = read_json(&path)?;
        check_format(&path, judgement.format, JUDGEMENT_FORMAT)?;
        Ok(Some(judgement))
    }

    /// The final message; `None` where there was none.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn final_text(&self) -> Result<Option<String>, StoreError> {
        let path = self.path.join(FINAL);
        match fs::read(&path) {
            Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).at(&path),
        }
    }
}

fn check_format(path: &Path, found: u32, known: u32) -> Result<(), StoreError> {
    if found == known {
        return Ok(());
    }
    let why = format!("it has format {found}, this version reads format {known}");
    Err(StoreError::Damaged { path: path.to_path_buf(), why })
}
