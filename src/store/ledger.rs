//! `progress.jsonl`: a line for every trial that has ended, appended as it ends.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{At, StoreError};
use crate::text::lines::{self, Line};
use crate::trial::id::TrialId;
use crate::trial::run_record::TrialRecord;

/// How long a line may be only in the system's memory: it outlives this process at once, a power cut after this.
const SYNC: Duration = Duration::from_secs(1);

/// The file, to append to. Several processes may append to one.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    open: Mutex<Open>,
}

#[derive(Debug)]
struct Open {
    file: File,
    synced: Instant,
    /// Whether a line was cut short since the disk was full.
    cut: bool,
}

impl Ledger {
    pub(super) fn open(path: PathBuf) -> Result<Self, StoreError> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path).at(&path)?;
        // A line cut short by a crash is closed, so that the next one is not lost with it.
        if ends_within_a_line(&mut file) {
            file.write_all(b"\n").at(&path)?;
        }
        Ok(Self { path, open: Mutex::new(Open { file, synced: Instant::now(), cut: false }) })
    }

    /// Appends a line.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn append(&self, record: &TrialRecord) -> Result<(), StoreError> {
        let mut line = serde_json::to_vec(record).map_err(std::io::Error::from).at(&self.path)?;
        line.push(b'\n');
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.cut {
            line.insert(0, b'\n');
        }
        // In one piece: the system puts it behind what other processes append.
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

fn ends_within_a_line(file: &mut File) -> bool {
    let mut last = [b'\n'];
    let read = file.seek(SeekFrom::End(-1)).and_then(|_| file.read_exact(&mut last));
    // An empty file has no last byte.
    read.is_ok() && last != *b"\n"
}

/// What a progress file says.
#[derive(Debug, Default)]
pub struct Ledgered {
    /// The last line of each trial.
    pub records: BTreeMap<TrialId, TrialRecord>,
    /// Lines that say nothing: cut short by a crash, or damaged.
    pub damaged: usize,
}

/// Reads the file at `path`. One that is not there says nothing.
pub(super) fn read(path: &Path) -> Result<Ledgered, StoreError> {
    let mut found = Ledgered::default();
    lines::for_each(path, |line| match line {
        Line::Whole(line) => match serde_json::from_slice::<TrialRecord>(line) {
            Ok(record) => {
                found.records.insert(record.id.clone(), record);
            }
            Err(_) => found.damaged += 1,
        },
        Line::Overlong => found.damaged += 1,
    })
    .at(path)?;
    Ok(found)
}
