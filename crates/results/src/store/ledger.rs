//! `progress.jsonl`: a line for every trial that has ended, appended as it ends.

use std::collections::{BTreeMap, HashSet};
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{At, StoreError};
use crate::text::lines::{self, TraceLine};
use crate::trace::trouble::Trouble;
use crate::trial::id::TrialId;
use crate::trial::run_record::{ProgressLine, TrialRecord};
use crate::trial::spent::AttemptCost;

/// How long a line may be only in the system's cache. It survives this process at once, and a power cut after this time.
const SYNC: Duration = Duration::from_secs(1);

/// The file, to append to. Several processes may append to one.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    open: Mutex<OpenLedger>,
}

#[derive(Debug)]
struct OpenLedger {
    file: File,
    synced: Instant,
    /// Whether the last line was cut short because the disk was full.
    cut: bool,
}

impl Ledger {
    pub(super) fn open(path: PathBuf) -> Result<Self, StoreError> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path).at(&path)?;
        // A line cut short by a crash is closed, so that the next one is not lost with it.
        if ends_within_a_line(&mut file) {
            file.write_all(b"\n").at(&path)?;
        }
        Ok(Self { path, open: Mutex::new(OpenLedger { file, synced: Instant::now(), cut: false }) })
    }

    pub fn append(&self, line: &ProgressLine) -> Result<(), StoreError> {
        let mut line = serde_json::to_vec(line).map_err(std::io::Error::from).at(&self.path)?;
        line.push(b'\n');
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.cut {
            line.insert(0, b'\n');
        }
        // In one piece: the system appends it after lines of other processes.
        let written = open.file.write_all(&line);
        open.cut = written.is_err();
        written.at(&self.path)?;
        if open.synced.elapsed() > SYNC {
            open.file.sync_data().at(&self.path)?;
            open.synced = Instant::now();
        }
        Ok(())
    }
}

/// Whether the last line of `file` was cut short.
pub(super) fn ends_within_a_line(file: &mut File) -> bool {
    let mut last = [b'\n'];
    let read = file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last));
    // An empty file has no last byte.
    read.is_ok() && last != *b"\n"
}

#[derive(Debug, Default)]
pub struct LedgerContents {
    /// The last line of each trial.
    pub records: BTreeMap<TrialId, TrialRecord>,
    /// Further attempts whose cost counts, in order: those that the provider refused, and those whose trial ran again in a later
    /// part of the run.
    pub refused: Vec<(TrialId, AttemptCost)>,
    /// Number of unreadable lines: cut short by a crash, or damaged.
    pub damaged: usize,
}

impl LedgerContents {
    /// Adds the record of a trial, and returns the earlier one. A record with a time is about an attempt. One without is a new
    /// grade for the same attempt, whose time and number stay.
    pub fn insert(&mut self, mut record: TrialRecord) -> Option<TrialRecord> {
        if record.ended.is_none()
            && let Some(known) = self.records.get(&record.id)
        {
            record.ended.clone_from(&known.ended);
            record.attempts = record.attempts.max(known.attempts);
        }
        self.records.insert(record.id.clone(), record)
    }

    fn add(&mut self, line: &[u8]) {
        match serde_json::from_slice::<ProgressLine>(line) {
            Ok(ProgressLine::Ended(record)) => {
                let (id, ended) = (record.id.clone(), record.ended.clone());
                if let Some(earlier) = self.insert(*record)
                    && ended.is_some()
                    && earlier.ended != ended
                {
                    self.refused.push((id, earlier.spent));
                }
            }
            Ok(ProgressLine::Refused { refused, spent }) => self.refused.push((refused, spent)),
            Err(_) => self.damaged += 1,
        }
    }

    /// The cost of all attempts, including refused ones.
    pub fn spent(&self) -> AttemptCost {
        let refused = self.refused.iter().map(|(_, spent)| *spent);
        self.records.values().map(TrialRecord::cost).chain(refused).fold(AttemptCost::default(), AttemptCost::and)
    }

    /// The cost of each attempt of this run, and whether it may have cost something if that is unknown.
    pub fn attempts(&self) -> impl Iterator<Item = (AttemptCost, bool)> {
        let ended = self.records.values().filter(|record| record.kept.is_none());
        let ended = ended.map(|record| (record.spent, record.trouble.as_ref().is_none_or(Trouble::may_have_spent)));
        ended.chain(self.refused.iter().map(|(_, spent)| (*spent, false)))
    }

    pub fn into_lines(self) -> Vec<ProgressLine> {
        let refused = self.refused.into_iter().map(|(refused, spent)| ProgressLine::Refused { refused, spent });
        refused.chain(self.records.into_values().map(|record| ProgressLine::Ended(Box::new(record)))).collect()
    }
}

/// Reads the file at `path`. A missing file is empty.
pub(super) fn read(path: &Path) -> Result<LedgerContents, StoreError> {
    let mut found = LedgerContents::default();
    lines::for_each(path, |line| match line {
        TraceLine::Whole(line) => found.add(line),
        TraceLine::Overlong => found.damaged += 1,
    })
    .at(path)?;
    Ok(found)
}

/// Calls `take` with the last record of each trial in the file at `path`, and returns the rest of the content, without
/// records. Keeps a few bytes of each trial, since a file may have a million of them.
pub(super) fn each_record(path: &Path, mut take: impl FnMut(&TrialRecord)) -> Result<LedgerContents, StoreError> {
    let (mut once, mut often, hasher) = (HashSet::new(), HashSet::new(), RandomState::new());
    let trial = |line: &[u8]| serde_json::from_slice::<TrialId>(line).ok().map(|id| hasher.hash_one(id));
    let (mut found, mut lines) = (LedgerContents::default(), 0_usize);
    lines::for_each(path, |line| {
        lines += 1;
        if let TraceLine::Whole(line) = line
            && let Some(again) = trial(line).filter(|trial| !once.insert(*trial))
        {
            often.insert(again);
        }
    })
    .at(path)?;
    drop(once);
    lines::for_each(path, |line| {
        // Lines that another process appended meanwhile may be of any trial.
        let Some(left) = lines.checked_sub(1) else { return };
        lines = left;
        let TraceLine::Whole(line) = line else { return found.damaged += 1 };
        match serde_json::from_slice::<TrialRecord>(line) {
            Ok(record) if !often.contains(&hasher.hash_one(&record.id)) => take(&record),
            _ => found.add(line),
        }
    })
    .at(path)?;
    std::mem::take(&mut found.records).values().for_each(take);
    Ok(found)
}

/// Follows a progress file that other processes append to as well.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    read_up_to: u64,
    seen: LedgerContents,
}

impl Follower {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, read_up_to: 0, seen: LedgerContents::default() }
    }

    /// Reads new lines and returns the content so far. A line that is still being written counts the next time.
    pub fn look(&mut self) -> Result<&LedgerContents, StoreError> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(&self.seen),
            Err(error) => return Ok(Err(error).at(&self.path)?),
        };
        let mut new = Vec::new();
        file.seek(SeekFrom::Start(self.read_up_to)).and_then(|_| file.read_to_end(&mut new)).at(&self.path)?;
        let whole = new.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        for line in new[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            self.seen.add(line);
        }
        self.read_up_to += whole as u64;
        Ok(&self.seen)
    }

    /// The content at the last look.
    pub fn seen(&self) -> &LedgerContents {
        &self.seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_grade_keeps_the_time_and_the_number_of_its_attempt() {
        let line = |verdict, more| {
            format!(
                r#"{{"skill":"s","case":"c","mode":"m","trial":1,"verdict":"{verdict}","duration_ms":1,"effective_commands":0{more}}}"#
            )
        };
        let mut contents = LedgerContents::default();
        contents.add(line("fail", r#","attempts":3,"ended":"2026-01-01T00:00:00Z""#).as_bytes());
        contents.add(line("pass", "").as_bytes());
        let record = contents.records.values().next().expect("a record");
        let facts = (record.verdict, record.attempts, record.ended.as_deref());
        assert_eq!(facts, (crate::trial::outcome::Verdict::Pass, 3, Some("2026-01-01T00:00:00Z")));
        assert!(contents.refused.is_empty() && contents.damaged == 0);
    }
}
