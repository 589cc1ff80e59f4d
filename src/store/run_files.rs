//! The files of a run folder that are about the run as a whole, and the lock that keeps it to one runner.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use super::ledger::{self, Ledger, Ledgered};
use super::{At, RUNS, RunFolder, StoreError, TrialFolder, check_format, read_json, sub_folders, write_json};
use crate::trial::run_record::{Current, RUN_FORMAT, RunRecord, Runner, TrialRecord};

const RUN: &str = "run.json";
const PROGRESS: &str = "progress.jsonl";
const CURRENT: &str = "current.json";
const PARTIAL: &str = "summary.partial.json";
const SUMMARY: &str = "summary.json";
const SUMMARY_TEXT: &str = "summary.md";
const LOG: &str = "runner.log";
const RUNNER: &str = "runner.pid";
const LOCK: &str = "runner.lock";

/// How often a lock that is held is tried again.
const LOCK_TRIES: usize = 10;

/// Says that this process is the run's only runner, until dropped. The system takes it back when the process ends,
/// however it ends.
#[derive(Debug)]
pub struct RunLock {
    _file: File,
}

impl RunFolder {
    /// Takes the run for this process, and notes who it is.
    ///
    /// # Errors
    /// When another process has it, or the files cannot be written.
    pub fn lock(&self, runner: Runner) -> Result<RunLock, StoreError> {
        let path = self.path.join(LOCK);
        let file = File::create(&path).at(&path)?;
        // Whoever asks whether the run is live holds the lock for a moment.
        let mut tried = file.try_lock();
        for _ in 0..LOCK_TRIES {
            if tried.is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
            tried = file.try_lock();
        }
        match tried {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let who = self.runner().map_or_else(String::new, |runner| format!(" by process {}", runner.pid));
                return Err(StoreError::Running { id: self.id.clone(), who });
            }
            Err(TryLockError::Error(error)) => return Err(error).at(&path),
        }
        write_json(&self.path.join(RUNNER), &runner)?;
        Ok(RunLock { _file: file })
    }

    /// Whether a process runs this run.
    #[must_use]
    pub fn is_live(&self) -> bool {
        let lock = File::open(self.path.join(LOCK));
        lock.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// The process that runs this run, or ran it last.
    #[must_use]
    pub fn runner(&self) -> Option<Runner> {
        read_json(&self.path.join(RUNNER)).ok()
    }

    /// Where a run in the background writes what it has to say.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.path.join(LOG)
    }

    /// Keeps what the run is to do.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_run(&self, record: &RunRecord) -> Result<(), StoreError> {
        write_json(&self.path.join(RUN), record)
    }

    /// What the run is to do; `None` where that was never written.
    ///
    /// # Errors
    /// When the file is damaged.
    pub fn run_record(&self) -> Result<Option<RunRecord>, StoreError> {
        let path = self.path.join(RUN);
        match read_json::<RunRecord>(&path) {
            Ok(record) => {
                check_format(&path, record.format, RUN_FORMAT)?;
                Ok(Some(record))
            }
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The progress file, to append to.
    ///
    /// # Errors
    /// When it cannot be opened.
    pub fn ledger(&self) -> Result<Ledger, StoreError> {
        Ledger::open(self.path.join(PROGRESS))
    }

    /// What the progress file says.
    ///
    /// # Errors
    /// When it cannot be read; what it holds is never an error.
    pub fn progress(&self) -> Result<Ledgered, StoreError> {
        ledger::read(&self.path.join(PROGRESS))
    }

    /// Writes the progress file anew from the trials' own folders, which are never behind it; what only it knows of
    /// them (attempts, when they ended) is kept.
    ///
    /// # Errors
    /// When files cannot be read or written.
    pub fn mend_progress(&self) -> Result<(), StoreError> {
        let Ledgered { mut records, .. } = self.progress()?;
        for folder in self.trials() {
            let Ok(record) = folder.record() else { continue };
            match records.get(&record.id) {
                Some(known) if known.verdict == record.verdict => {}
                _ => {
                    records.insert(record.id.clone(), record);
                }
            }
        }
        let path = self.path.join(PROGRESS);
        let mut text = Vec::new();
        for record in records.values() {
            serde_json::to_writer(&mut text, record).map_err(io::Error::from).at(&path)?;
            text.push(b'\n');
        }
        super::write_whole(&path, &text)
    }

    /// Keeps what runs at this moment.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_current(&self, current: &Current) -> Result<(), StoreError> {
        write_json(&self.path.join(CURRENT), current)
    }

    /// What ran when that was last noted.
    #[must_use]
    pub fn current(&self) -> Current {
        read_json(&self.path.join(CURRENT)).unwrap_or_default()
    }

    /// Keeps the summary so far.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_partial_summary(&self, summary: &impl Serialize) -> Result<(), StoreError> {
        write_json(&self.path.join(PARTIAL), summary)
    }

    /// Keeps the summary, as data and as text, in place of the partial one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write_summary(&self, summary: &impl Serialize, text: &str) -> Result<(), StoreError> {
        write_json(&self.path.join(SUMMARY), summary)?;
        super::write_whole(&self.path.join(SUMMARY_TEXT), text.as_bytes())?;
        for name in [PARTIAL, CURRENT] {
            // What is left over is only out of date.
            let _ = fs::remove_file(self.path.join(name));
        }
        Ok(())
    }

    /// Whether the run came to its end.
    #[must_use]
    pub fn has_summary(&self) -> bool {
        self.path.join(SUMMARY).is_file()
    }

    /// The summary as it was kept.
    ///
    /// # Errors
    /// When there is none, or it is damaged.
    pub fn summary(&self) -> Result<Value, StoreError> {
        read_json(&self.path.join(SUMMARY))
    }

    /// Removes the run and all that it kept.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn remove(&self) -> Result<(), StoreError> {
        fs::remove_dir_all(&self.path).at(&self.path)
    }

    /// When something in the run's folder last changed, to find the latest run.
    fn changed(&self) -> Option<std::time::SystemTime> {
        let time = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).ok();
        [RUN, PROGRESS, SUMMARY].into_iter().filter_map(|name| time(&self.path.join(name))).max().or(time(&self.path))
    }
}

/// All runs of the repository at `root`, the latest first.
#[must_use]
pub fn runs(root: &Path) -> Vec<RunFolder> {
    let folder = root.join(RUNS);
    let ids = sub_folders(&folder).into_iter().filter(|id| super::check_run_id(id).is_ok());
    let mut runs: Vec<RunFolder> = ids.map(|id| RunFolder { path: folder.join(&id), id }).collect();
    runs.sort_by_cached_key(|run| std::cmp::Reverse((run.changed(), run.id.clone())));
    runs
}

impl TrialFolder {
    /// What the progress file would say of the trial kept here, so far as the folder tells.
    ///
    /// # Errors
    /// When its files cannot be read.
    pub fn record(&self) -> Result<TrialRecord, StoreError> {
        let (meta, grade) = (self.meta()?, self.grade()?);
        let (id, scripted) = (meta.id(), meta.scripted);
        let outcome = crate::trial::outcome::Outcome { id, grade, folder: self.path.clone(), scripted };
        Ok(TrialRecord::new(&outcome, 1))
    }
}
