//! The files of a run's directory about the run as a whole, and the lock that lets only one process run it.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::journal::{Follower, Journal, JournalContents};
use super::{
    At, RUN, RunFolder, StoreError, WORK, check_format, make_runs, read_json, runs_folder, sub_folders, write_json,
};
use crate::files::at::PathError;
use crate::files::{look, rooted};
use crate::store::{journal, pkbllm, seal};
use crate::text::lines::{self, TraceLine};
use crate::trial::event::{CurrentTrials, Runner};
use crate::trial::evidence::digest;
use crate::trial::id::TrialId;
use crate::trial::run_record::{
    PairRecord, PlanLine, ProgressLine, RUN_FORMAT, RunEnd, RunEndKind, RunRecord, TrialRecord,
};
use crate::trial::shard::ShardedCase;

const PLAN: &str = "plan.jsonl";
const ALL_CASES: &str = "all-cases.jsonl";
const PAIRS: &str = "pairs.jsonl";
const COMPARISON: &str = "comparison.json";
const PROGRESS: &str = "progress.jsonl";
const CURRENT: &str = "current.json";
const PARTIAL: &str = "summary.partial.json";
pub(super) const SUMMARY: &str = "summary.json";
const SUMMARY_TEXT: &str = "summary.md";
const LOG: &str = "runner.log";
const RUNNER: &str = "runner.pid";
const STOPPING: &str = "stopping";
const LOCK: &str = "runner.lock";

/// The prefix of runs that are being removed. No run has such a name: ids do not begin with a dot.
const REMOVED: &str = ".removed-";

/// How often a lock of another process is tried again.
const LOCK_TRIES: usize = 10;

/// The lock of the run's only runner, until dropped. The system releases it when the process ends, however it ends.
#[derive(Debug)]
pub struct RunLock {
    _file: File,
    room: Mutex<Option<File>>,
}

impl RunLock {
    /// Reserves disk space, so that the end of the run can be stored even if trials fill the disk.
    pub fn keep_disk_space(&self, folder: &RunFolder) -> Result<(), StoreError> {
        *self.room.lock().unwrap_or_else(PoisonError::into_inner) = Some(super::take_disk_space(&folder.path)?);
        Ok(())
    }

    /// Releases that space.
    pub fn give_disk_space(&self) {
        self.room.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl RunFolder {
    /// Locks the run for this process, or for the processes of a shared run, and stores who runs it.
    pub fn lock(&self, runner: Runner) -> Result<RunLock, StoreError> {
        let path = self.path.join(LOCK);
        let file = File::create(&path).at(&path)?;
        let take = || if runner.shared { file.try_lock_shared() } else { file.try_lock() };
        // A process that checks whether the run is running has the lock for a moment.
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
        // An earlier part of the run may have left it, if a `stop` was killed.
        let _ = fs::remove_file(self.path.join(STOPPING));
        Ok(RunLock { _file: file, room: Mutex::default() })
    }

    /// Whether a process is running this run.
    pub fn is_live(&self) -> bool {
        let lock = File::open(self.path.join(LOCK));
        lock.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }

    pub fn is_run(&self) -> Result<bool, StoreError> {
        Ok(look::is_file(&self.path.join(RUN))? || look::is_file(&self.path.join(PROGRESS))?)
    }

    /// Whether it says what it is to do, as every run but a part of one does.
    pub fn has_record(&self) -> Result<bool, StoreError> {
        Ok(look::is_file(&self.path.join(RUN))?)
    }

    /// Whether it has what is left of a run. A run that could not start leaves an empty directory, and one may be starting.
    fn is_rest(&self) -> Result<bool, StoreError> {
        let has = |name| look::exists(&self.path.join(name));
        Ok((has(PLAN)? || has(SUMMARY)? || has(WORK)?) && !self.is_live())
    }

    /// Adds the trials that are not in the run's plan yet. Returns how many the plan has then.
    pub fn add_to_plan(&self, trials: impl Iterator<Item = PlanLine>) -> Result<usize, StoreError> {
        let mut known = self.plan()?;
        let new: Vec<PlanLine> = trials.filter(|line| known.insert(line.id.clone())).collect();
        self.plan_further(&new)?;
        Ok(known.len())
    }

    pub fn plan_further(&self, trials: &[PlanLine]) -> Result<(), StoreError> {
        let path = self.path.join(PLAN);
        let lines = as_lines(trials).map(|lines| seal::lines(&lines));
        Ok(lines.and_then(|lines| append(&path, lines)).at(&path)?)
    }

    /// The trials of all parts of the run and all processes that share it.
    pub fn plan(&self) -> Result<BTreeSet<TrialId>, StoreError> {
        let mut plan = BTreeSet::new();
        self.each_planned(|line| _ = plan.insert(line.id))?;
        Ok(plan)
    }

    /// Calls `take` with each line of the plan, in the order in which the trials were planned. A changed line is an error: a run
    /// that is resumed would run other trials. A line that was cut short by a crash is ignored: its trial did not start.
    pub fn each_planned(&self, mut take: impl FnMut(PlanLine)) -> Result<(), StoreError> {
        let path = self.path.join(PLAN);
        let (mut number, mut changed) = (0, None);
        lines::for_each_line(&path, |line| {
            number += 1;
            match seal::opened_line(line).and_then(|line| serde_json::from_slice(&line).ok()) {
                Some(line) => take(line),
                None if line.ends_with(b"}") => _ = changed.get_or_insert(number),
                None => {}
            }
        })
        .at(&path)?;
        changed.map_or(Ok(()), |line| {
            let why = format!("line {line} is not as the run wrote it; restore the file, or start a new run");
            Err(StoreError::Damaged { path, why })
        })
    }

    /// Writes the cases of the run of all shards. Returns a digest of the file.
    pub fn write_all_cases(&self, cases: &[ShardedCase]) -> Result<String, StoreError> {
        let path = self.path.join(ALL_CASES);
        let text = as_lines(cases).at(&path)?;
        super::write_whole(&path, &text)?;
        Ok(digest(&text))
    }

    /// The cases of the run of all shards. The file must have this digest.
    pub fn all_cases(&self, expected: &str) -> Result<Vec<ShardedCase>, StoreError> {
        let path = self.path.join(ALL_CASES);
        if digest(&fs::read(&path).at(&path)?) != expected {
            let why = "it is not as the run wrote it, by its digest in run.json".to_owned();
            return Err(StoreError::Damaged { path, why });
        }
        Ok(read_lines(&path).at(&path)?)
    }

    /// Adds a pair of trials that starts.
    pub fn add_pair(&self, pair: &PairRecord) -> Result<(), StoreError> {
        let path = self.path.join(PAIRS);
        Ok(as_lines(&[pair]).and_then(|line| append(&path, line)).at(&path)?)
    }

    /// The pairs of trials that have started, in order. A damaged last line was cut short: its pair did not start.
    pub fn pairs(&self) -> Result<Vec<PairRecord>, StoreError> {
        let path = self.path.join(PAIRS);
        Ok(read_lines(&path).at(&path)?)
    }

    /// Number of damaged lines in the file of pairs, whose pairs are not counted. A last line that was cut short is not one of
    /// them.
    pub fn damaged_pairs(&self) -> Result<usize, StoreError> {
        let path = self.path.join(PAIRS);
        let (mut damaged, mut is_last_damaged) = (0, false);
        lines::for_each(&path, |line| {
            is_last_damaged = match line {
                TraceLine::Whole(line) => serde_json::from_slice::<PairRecord>(line).is_err(),
                TraceLine::Overlong => true,
            };
            damaged += usize::from(is_last_damaged);
        })
        .at(&path)?;
        let is_cut = is_last_damaged && File::open(&path).is_ok_and(|mut file| journal::ends_within_a_line(&mut file));
        Ok(damaged - usize::from(is_cut))
    }

    /// Writes the result of comparing the run's sides.
    pub fn write_comparison(&self, comparison: &impl Serialize) -> Result<(), StoreError> {
        write_json(&self.path.join(COMPARISON), comparison)
    }

    /// Marks the run as being stopped, before its runner gets the signal.
    pub fn note_stopping(&self) -> Result<(), StoreError> {
        super::write_whole(&self.path.join(STOPPING), b"")
    }

    pub fn is_stopping(&self) -> bool {
        look::is_usable(&self.path.join(STOPPING))
    }

    /// Writes how and why the run ended, if it has a record.
    pub fn write_ended(&self, how: RunEndKind, why: Option<&str>) -> Result<(), StoreError> {
        let Some(record) = self.run_record()? else { return Ok(()) };
        let ended = Some(RunEnd { at: jiff::Timestamp::now().to_string(), how, why: why.map(str::to_owned) });
        self.write_run(&RunRecord { ended, ..record })?;
        // An earlier part of the run may have left it.
        let _ = fs::remove_file(self.path.join(STOPPING));
        Ok(())
    }

    /// The process that runs this run, or was the last to do so.
    pub fn runner(&self) -> Option<Runner> {
        read_json(&self.path.join(RUNNER)).ok()
    }

    /// The output of a run in the background.
    pub fn log(&self) -> PathBuf {
        self.path.join(LOG)
    }

    pub fn write_run(&self, record: &RunRecord) -> Result<(), StoreError> {
        write_json(&self.path.join(RUN), record)
    }

    /// The record of the run, if it has one.
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

    /// The command line that resumes the run.
    pub fn resume_command(&self) -> String {
        let record = self.run_record().ok().flatten();
        let command = record.as_ref().map_or("run", RunRecord::command);
        let is_untrusted = record.is_some_and(|record| record.chosen.overrides.untrusted == Some(true));
        let untrusted = if is_untrusted { " --untrusted" } else { "" };
        format!("skill-evals {command} --resume --run-id {}{untrusted}", self.id)
    }

    /// How to measure what the run did not.
    pub fn remedy(&self) -> String {
        match self.run_record() {
            Ok(Some(RunRecord { absent, .. })) if !absent.is_empty() => {
                format!("run shard {}, then merge again", absent.join(", "))
            }
            Ok(Some(record @ RunRecord { sides: Some(_), .. })) if !record.merged.is_empty() => {
                let shards = record.merged.join(", ");
                format!("run the shards that are behind again, then merge again: {shards}")
            }
            Ok(Some(record)) if record.is_of_gate() => {
                let what = if record.chosen.shard.is_some() { "this shard" } else { "the gate" };
                format!("run {what} again: it uses the trials that were measured")
            }
            _ => format!("to resume: {}", self.resume_command()),
        }
    }

    /// The progress file, to append to.
    pub fn journal(&self) -> Result<Journal, StoreError> {
        Journal::open(self.clone(), self.path.join(PROGRESS))
    }

    /// The progress file, to follow while it grows.
    pub fn follower(&self) -> Follower {
        Follower::new(self.path.join(PROGRESS))
    }

    pub fn progress_path(&self) -> PathBuf {
        self.path.join(PROGRESS)
    }

    /// What the progress file says, whatever the grades say: its costs, and what is repaired. Damaged lines are not an error.
    pub fn noted(&self) -> Result<JournalContents, StoreError> {
        journal::read(&self.path.join(PROGRESS))
    }

    /// The same, where `take` gets the records: a run may have a million.
    pub fn each_noted(&self, mut take: impl FnMut(&TrialRecord)) -> Result<JournalContents, StoreError> {
        journal::each_last(&self.path.join(PROGRESS), |line, _| {
            serde_json::from_slice(line).iter().for_each(&mut take);
            Ok(())
        })
    }

    /// Replaces the progress file by these lines.
    pub fn write_progress(&self, lines: &[ProgressLine]) -> Result<(), StoreError> {
        let path = self.path.join(PROGRESS);
        let mut text = Vec::new();
        for line in lines {
            text.extend(journal::stored_line(self, line)?);
        }
        super::write_whole(&path, &text)
    }

    /// The error of a line that cannot be written to the progress file.
    pub(super) fn not_written(&self, source: io::Error) -> StoreError {
        StoreError::Io(PathError { path: self.path.join(PROGRESS), source })
    }

    pub fn write_current(&self, current: &CurrentTrials) -> Result<(), StoreError> {
        write_json(&self.path.join(CURRENT), current)
    }

    /// The trials that were running when that was last written.
    pub fn current(&self) -> CurrentTrials {
        read_json(&self.path.join(CURRENT)).unwrap_or_default()
    }

    /// Writes the summary so far.
    pub fn write_partial_summary(&self, summary: &impl Serialize) -> Result<(), StoreError> {
        write_json(&self.path.join(PARTIAL), summary)
    }

    /// Writes the summary, as data and as text, and removes the partial one.
    pub fn write_summary(&self, summary: &impl Serialize, text: &str) -> Result<(), StoreError> {
        write_json(&self.path.join(SUMMARY), summary)?;
        super::write_whole(&self.path.join(SUMMARY_TEXT), text.as_bytes())?;
        for name in [PARTIAL, CURRENT] {
            // A file that stays is only out of date.
            let _ = fs::remove_file(self.path.join(name));
        }
        Ok(())
    }

    /// Whether the run has a summary, which is written at its end.
    pub fn has_summary(&self) -> Result<bool, StoreError> {
        Ok(look::is_file(&self.path.join(SUMMARY))?)
    }

    pub fn summary(&self) -> Result<Value, StoreError> {
        read_json(&self.path.join(SUMMARY))
    }

    /// Removes the run. It is renamed first, so no part of it is ever taken for a run. [`remove_left_over`] removes what an
    /// interrupted removal leaves.
    pub fn remove(&self) -> Result<(), StoreError> {
        let removed = self.path.with_file_name(format!("{REMOVED}{}", self.id));
        rooted::remove(&removed)?;
        fs::rename(&self.path, &removed).at(&self.path)?;
        Ok(rooted::remove(&removed)?)
    }

    /// Checks that the record of the run is there, which says how many trials it planned, unless this is only a part of a run.
    pub fn check_record(&self) -> Result<(), StoreError> {
        if !self.is_run()? || self.has_record()? { Ok(()) } else { Err(self.half(&format!("it has no {RUN}"))) }
    }

    /// The error of a run of which only a part is there.
    pub fn half(&self, what: &str) -> StoreError {
        let why = format!("{what}: a part of the run was removed; restore it, or remove the rest");
        StoreError::Damaged { path: self.path.clone(), why }
    }

    /// When the run's files last changed, to find the latest run.
    fn changed(&self) -> Option<std::time::SystemTime> {
        let modified = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
        let files = [RUN, PROGRESS, SUMMARY].into_iter().filter_map(|name| modified(&self.path.join(name)));
        files.max().or_else(|| modified(&self.path))
    }
}

/// The JSON values of a file's lines. Damaged lines are ignored.
pub(super) fn read_lines<T: DeserializeOwned>(path: &Path) -> io::Result<Vec<T>> {
    let mut found = Vec::new();
    lines::for_each_line(path, |line| found.extend(serde_json::from_slice::<T>(line).ok()))?;
    Ok(found)
}

pub(super) fn as_lines<T: Serialize>(values: &[T]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    for value in values {
        serde_json::to_writer(&mut text, value)?;
        text.push(b'\n');
    }
    Ok(text)
}

/// Appends lines to a file.
pub(super) fn append(path: &Path, mut lines: Vec<u8>) -> io::Result<()> {
    let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
    // A line cut short by a crash is closed, so that the next one is not lost with it.
    if journal::ends_within_a_line(&mut file) {
        lines.insert(0, b'\n');
    }
    // In one piece: the system appends it after lines of other processes.
    file.write_all(&lines)
}

/// All runs of the repository at `root`, the latest first, without those of other runners.
pub fn runs(root: &Path) -> Result<Vec<RunFolder>, StoreError> {
    runs_like(root, RunFolder::is_run)
}

/// The latest run, if there is one. One of which only a part is there is an error: no other is the latest.
pub fn latest(root: &Path) -> Result<Option<RunFolder>, StoreError> {
    match runs_like(root, |run| Ok(run.is_run()? || run.is_rest()?))?.into_iter().next() {
        Some(run) if !run.is_run()? => Err(run.half(&format!("it has neither {RUN} nor {PROGRESS}"))),
        latest => Ok(latest),
    }
}

fn runs_like(
    root: &Path,
    is_wanted: impl Fn(&RunFolder) -> Result<bool, StoreError>,
) -> Result<Vec<RunFolder>, StoreError> {
    let folder = runs_folder(root)?;
    let mut runs = Vec::new();
    for id in sub_folders(&folder)?.into_iter().filter(|id| super::check_run_id(id).is_ok()) {
        let run = RunFolder { path: folder.join(&id), id };
        if is_wanted(&run)? && !pkbllm::is_one(&run.path)? {
            runs.push(run);
        }
    }
    runs.sort_by_cached_key(|run| std::cmp::Reverse((run.changed(), run.id.clone())));
    Ok(runs)
}

/// Removes what an interrupted [`RunFolder::remove`] left.
pub fn remove_left_over(root: &Path) -> Result<(), StoreError> {
    let folder = runs_folder(root)?;
    for name in sub_folders(&folder)?.into_iter().filter(|name| name.starts_with(REMOVED)) {
        rooted::remove(&folder.join(name))?;
    }
    Ok(())
}

// A run that several processes share: nextest starts one for each trial.

/// Locked while a process searches the shared run, or starts it.
const SHARED_LOCK: &str = ".lock";

impl RunFolder {
    /// The run that is shared under `key`, for example a UUID. The first process creates it. Its id is the given one, else its
    /// start time and the start of the key. `begin` makes its record if there is none yet.
    pub fn shared(
        root: &Path,
        id: Option<&str>,
        key: &str,
        begin: impl FnOnce(&str) -> RunRecord,
    ) -> Result<Self, StoreError> {
        let runs = runs_folder(root)?;
        make_runs(&runs)?;
        let lock = runs.join(SHARED_LOCK);
        let file = File::create(&lock).at(&lock)?;
        // Locked until the file is closed.
        file.lock().at(&lock)?;
        let run = if let Some(id) = id {
            match Self::create(root, Some(id)) {
                Err(StoreError::Exists(_)) => {
                    let run = Self::open(root, id)?;
                    let same = run.run_record()?.is_some_and(|record| record.shared_by.as_deref() == Some(key));
                    if !same {
                        return Err(StoreError::Exists(id.to_owned()));
                    }
                    run
                }
                made => made?,
            }
        } else {
            let key: String = key.chars().filter(char::is_ascii_alphanumeric).take(12).collect();
            let ending = format!("-{key}");
            let id = sub_folders(&runs)?.into_iter().find(|id| id.ends_with(&ending)).unwrap_or_else(|| {
                let stamp = jiff::Timestamp::now().strftime("%Y%m%d-%H%M%S").to_string();
                format!("{stamp}{ending}")
            });
            let path = runs.join(&id);
            fs::create_dir_all(&path).at(&path)?;
            Self { id, path }
        };
        if run.run_record()?.is_none() {
            run.write_run(&begin(run.id()))?;
        }
        Ok(run)
    }
}
