//! The files of a run folder that are about the run as a whole, and the lock that lets only one process run it.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::ledger::{self, Follower, Ledger, LedgerContents};
use super::pkbllm;
use super::{At, RUN, RUNS, RunFolder, StoreError, check_format, read_json, sub_folders, write_json};
use crate::files::at::PathError;
use crate::text::lines::{self, TraceLine};
use crate::trial::id::TrialId;
use crate::trial::run_record::{
    CurrentTrials, PairRecord, PlanLine, ProgressLine, RUN_FORMAT, RunEnd, RunEndKind, RunRecord, Runner,
};

const PLAN: &str = "plan.jsonl";
const PAIRS: &str = "pairs.jsonl";
const COMPARISON: &str = "comparison.json";
const PROGRESS: &str = "progress.jsonl";
const CURRENT: &str = "current.json";
const PARTIAL: &str = "summary.partial.json";
const SUMMARY: &str = "summary.json";
const SUMMARY_TEXT: &str = "summary.md";
const LOG: &str = "runner.log";
const RUNNER: &str = "runner.pid";
const STOPPING: &str = "stopping";
const LOCK: &str = "runner.lock";

/// How often a lock that another process has is tried again.
const LOCK_TRIES: usize = 10;

/// Shows that this process is the run's only runner, until dropped. The system releases it when the process ends,
/// however it ends.
#[derive(Debug)]
pub struct RunLock {
    _file: File,
    room: Mutex<Option<File>>,
}

impl RunLock {
    /// Takes room on the disk of the run: where trials fill it, how the run ended can still be noted.
    pub fn keep_room(&self, folder: &RunFolder) -> Result<(), StoreError> {
        *self.room.lock().unwrap_or_else(PoisonError::into_inner) = Some(super::take_room(&folder.path)?);
        Ok(())
    }

    /// Gives that room back.
    pub fn give_room(&self) {
        self.room.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl RunFolder {
    /// Takes the run for this process, or for this and others of a shared run, and notes who runs it.
    pub fn lock(&self, runner: Runner) -> Result<RunLock, StoreError> {
        let path = self.path.join(LOCK);
        let file = File::create(&path).at(&path)?;
        let take = || if runner.shared { file.try_lock_shared() } else { file.try_lock() };
        // A process that asks whether the run is live has the lock for a moment.
        let mut tried = take();
        for _ in 0..LOCK_TRIES {
            if tried.is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
            tried = take();
        }
        match tried {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let who = self.runner().map_or_else(String::new, |runner| format!(" by process {}", runner.pid));
                return Err(StoreError::Running { id: self.id.clone(), who });
            }
            Err(TryLockError::Error(error)) => return Ok(Err(error).at(&path)?),
        }
        write_json(&self.path.join(RUNNER), &runner)?;
        // Left over from an earlier part of the run, if a `stop` was itself killed.
        let _ = fs::remove_file(self.path.join(STOPPING));
        Ok(RunLock { _file: file, room: Mutex::default() })
    }

    /// Whether a process runs this run.
    pub fn is_live(&self) -> bool {
        let lock = File::open(self.path.join(LOCK));
        lock.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Whether this is the folder of a run, rather than of something that somebody put beside the runs.
    pub fn is_run(&self) -> bool {
        [RUN, PROGRESS].into_iter().any(|name| self.path.join(name).is_file())
    }

    /// Adds trials to the run's plan, those that are not in it yet. Returns how many it has then.
    pub fn add_to_plan(&self, trials: impl Iterator<Item = PlanLine>) -> Result<usize, StoreError> {
        let path = self.path.join(PLAN);
        let mut known = self.plan()?;
        let new: Vec<PlanLine> = trials.filter(|line| known.insert(line.id.clone())).collect();
        append(&path, &new).at(&path)?;
        Ok(known.len())
    }

    /// Adds a trial to the plan that is not in it yet.
    pub fn plan_further(&self, id: &TrialId) -> Result<(), StoreError> {
        let path = self.path.join(PLAN);
        Ok(append(&path, &[id]).at(&path)?)
    }

    /// The trials that the run has, of all its parts and all processes that share it.
    pub fn plan(&self) -> Result<BTreeSet<TrialId>, StoreError> {
        Ok(self.plan_lines()?.into_iter().map(|line| line.id).collect())
    }

    /// The same, with what was planned of their cases, in the order in which they were planned.
    pub fn plan_lines(&self) -> Result<Vec<PlanLine>, StoreError> {
        let path = self.path.join(PLAN);
        Ok(read_lines(&path).at(&path)?)
    }

    /// Adds a pair of trials to those that the run has begun.
    pub fn add_pair(&self, pair: &PairRecord) -> Result<(), StoreError> {
        let path = self.path.join(PAIRS);
        Ok(append(&path, &[pair]).at(&path)?)
    }

    /// The pairs of trials that the run has begun, in their order.
    pub fn pairs(&self) -> Result<Vec<PairRecord>, StoreError> {
        let path = self.path.join(PAIRS);
        Ok(read_lines(&path).at(&path)?)
    }

    /// How many lines of the file of pairs are none: their pairs are in no figure. A last one that was cut short is none of
    /// them, since its pair did not begin.
    pub fn damaged_pairs(&self) -> Result<usize, StoreError> {
        let path = self.path.join(PAIRS);
        let is_pair = |line: &TraceLine<'_>| matches!(line, TraceLine::Whole(line) if serde_json::from_slice::<PairRecord>(line).is_ok());
        let (mut damaged, mut last) = (0, true);
        lines::for_each(&path, |line| {
            last = is_pair(&line);
            damaged += usize::from(!last);
        })
        .at(&path)?;
        let cut = !last && File::open(&path).is_ok_and(|mut file| ledger::ends_within_a_line(&mut file));
        Ok(damaged - usize::from(cut))
    }

    /// Keeps what comparing the run's arms came to.
    pub fn write_comparison(&self, comparison: &impl Serialize) -> Result<(), StoreError> {
        write_json(&self.path.join(COMPARISON), comparison)
    }

    /// Notes that the run is being stopped, before its runner is told to end.
    pub fn note_stopping(&self) -> Result<(), StoreError> {
        super::write_whole(&self.path.join(STOPPING), b"")
    }

    /// Whether the run is being stopped.
    pub fn is_stopping(&self) -> bool {
        self.path.join(STOPPING).exists()
    }

    /// Notes how the run ended, and why if that is not clear, where it is known what it was to do.
    pub fn write_ended(&self, how: RunEndKind, why: Option<&str>) -> Result<(), StoreError> {
        let Some(record) = self.run_record()? else { return Ok(()) };
        let ended = Some(RunEnd { at: jiff::Timestamp::now().to_string(), how, why: why.map(str::to_owned) });
        self.write_run(&RunRecord { ended, ..record })?;
        // Left over from the run's earlier part at most.
        let _ = fs::remove_file(self.path.join(STOPPING));
        Ok(())
    }

    /// The process that runs this run, or ran it last.
    pub fn runner(&self) -> Option<Runner> {
        read_json(&self.path.join(RUNNER)).ok()
    }

    /// Where a run in the background writes what it has to say.
    pub fn log(&self) -> PathBuf {
        self.path.join(LOG)
    }

    /// Keeps what the run is to do.
    pub fn write_run(&self, record: &RunRecord) -> Result<(), StoreError> {
        write_json(&self.path.join(RUN), record)
    }

    /// What the run is to do; `None` where that was never written.
    pub fn run_record(&self) -> Result<Option<RunRecord>, StoreError> {
        let path = self.path.join(RUN);
        match read_json::<RunRecord>(&path) {
            Ok(record) => {
                check_format(&path, record.format, RUN_FORMAT)?;
                Ok(Some(record))
            }
            Err(StoreError::Io(PathError { source, .. })) if source.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The progress file, to append to.
    pub fn ledger(&self) -> Result<Ledger, StoreError> {
        Ledger::open(self.path.join(PROGRESS))
    }

    /// The progress file, to follow while it grows.
    pub fn follower(&self) -> Follower {
        Follower::new(self.path.join(PROGRESS))
    }

    /// Where the progress file is.
    pub fn progress_path(&self) -> PathBuf {
        self.path.join(PROGRESS)
    }

    /// What the progress file says.
    pub fn progress(&self) -> Result<LedgerContents, StoreError> {
        ledger::read(&self.path.join(PROGRESS))
    }

    /// Replaces the progress file by these lines.
    pub fn write_progress(&self, lines: &[ProgressLine]) -> Result<(), StoreError> {
        let path = self.path.join(PROGRESS);
        let mut text = Vec::new();
        for line in lines {
            serde_json::to_writer(&mut text, line).map_err(io::Error::from).at(&path)?;
            text.push(b'\n');
        }
        super::write_whole(&path, &text)
    }

    /// Keeps what runs at this moment.
    pub fn write_current(&self, current: &CurrentTrials) -> Result<(), StoreError> {
        write_json(&self.path.join(CURRENT), current)
    }

    /// What ran when that was last noted.
    pub fn current(&self) -> CurrentTrials {
        read_json(&self.path.join(CURRENT)).unwrap_or_default()
    }

    /// Keeps the summary so far.
    pub fn write_partial_summary(&self, summary: &impl Serialize) -> Result<(), StoreError> {
        write_json(&self.path.join(PARTIAL), summary)
    }

    /// Keeps the summary, as data and as text, in place of the partial one.
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
    pub fn has_summary(&self) -> bool {
        self.path.join(SUMMARY).is_file()
    }

    /// The summary as it was kept.
    pub fn summary(&self) -> Result<Value, StoreError> {
        read_json(&self.path.join(SUMMARY))
    }

    /// Removes the run and all that it kept.
    pub fn remove(&self) -> Result<(), StoreError> {
        Ok(fs::remove_dir_all(&self.path).at(&self.path)?)
    }

    /// When something in the run's folder last changed, to find the latest run.
    fn changed(&self) -> Option<std::time::SystemTime> {
        let time = |path: &Path| fs::metadata(path).and_then(|found| found.modified()).ok();
        [RUN, PROGRESS, SUMMARY].into_iter().filter_map(|name| time(&self.path.join(name))).max().or(time(&self.path))
    }
}

/// What the whole lines of a file hold, a JSON value each; lines that are none are left out.
fn read_lines<T: DeserializeOwned>(path: &Path) -> io::Result<Vec<T>> {
    let mut found = Vec::new();
    lines::for_each(path, |line| {
        if let TraceLine::Whole(line) = line {
            found.extend(serde_json::from_slice::<T>(line).ok());
        }
    })?;
    Ok(found)
}

/// Adds lines to a file, a JSON value each.
fn append<T: Serialize>(path: &Path, values: &[T]) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    // A line cut short by a crash is closed, so that the next one is not lost with it.
    let mut text = if ledger::ends_within_a_line(&mut file) { vec![b'\n'] } else { Vec::new() };
    for value in values {
        serde_json::to_writer(&mut text, value)?;
        text.push(b'\n');
    }
    // In one piece: the system puts it behind what other processes append.
    file.write_all(&text)
}

/// Hands each line of a progress file to `take`; one that is too long to be one is handed over empty.
pub fn each_line(path: &Path, mut take: impl FnMut(&[u8])) -> Result<(), StoreError> {
    let found = lines::for_each(path, |line| match line {
        TraceLine::Whole(line) => take(line),
        TraceLine::Overlong => take(b""),
    });
    Ok(found.at(path)?)
}

/// All runs of the repository at `root`, the latest first; not those that another runner left.
pub fn runs(root: &Path) -> Vec<RunFolder> {
    let folder = root.join(RUNS);
    let ids = sub_folders(&folder).into_iter().filter(|id| super::check_run_id(id).is_ok());
    let mut runs: Vec<RunFolder> = ids.map(|id| RunFolder { path: folder.join(&id), id }).collect();
    runs.retain(|run| run.is_run() && !pkbllm::is_one(&run.path));
    runs.sort_by_cached_key(|run| std::cmp::Reverse((run.changed(), run.id.clone())));
    runs
}
