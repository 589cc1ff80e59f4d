//! `progress.jsonl`: a line for every trial that has ended, appended as it ends. It is a cache of the trials' grades, and has
//! besides what no other file has: when trials ended, how often they were tried, and what refused attempts cost.

use std::collections::{BTreeMap, HashSet};
use std::fs::{File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{At, RunFolder, StoreError};
use crate::store::seal;
use crate::text::lines::{self, TraceLine};
use crate::trace::trouble::Trouble;
use crate::trial::id::TrialId;
use crate::trial::outcome::AttemptCost;
use crate::trial::run_record::{ProgressLine, TrialRecord};

/// How long a line may be only in the system's cache. It survives this process at once, and a power cut after this time.
const SYNC: Duration = Duration::from_secs(1);

/// The file, to append to. Several processes may append to one.
#[derive(Debug)]
pub struct Journal {
    run: RunFolder,
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

impl Journal {
    pub(super) fn open(run: RunFolder, path: PathBuf) -> Result<Self, StoreError> {
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(&path).at(&path)?;
        // A line cut short by a crash is closed, so that the next one is not lost with it.
        if ends_within_a_line(&mut file) {
            file.write_all(b"\n").at(&path)?;
        }
        Ok(Self { run, path, open: Mutex::new(OpenLedger { file, synced: Instant::now(), cut: false }) })
    }

    pub fn append(&self, line: &ProgressLine) -> Result<(), StoreError> {
        let mut line = stored_line(&self.run, line)?;
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
pub struct JournalContents {
    /// The last line of each trial.
    pub records: BTreeMap<TrialId, TrialRecord>,
    /// Further attempts whose cost counts, in order: those that the provider refused, and those whose trial ran again in a later
    /// part of the run.
    pub refused: Vec<(TrialId, AttemptCost)>,
    /// Number of lines that are not as they were written: cut short by a crash, or changed.
    pub damaged: usize,
    /// The digests of the lines, of which a copy does not count.
    lines: HashSet<u64>,
    hasher: RandomState,
}

impl JournalContents {
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
        let Some(digest) = NotedLine(line).digest() else { return self.damaged += 1 };
        if !self.lines.insert(self.hasher.hash_one(digest)) {
            return;
        }
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

    /// Adds the refused attempts whose lines were lost, by the number of all attempts at each trial that had several: nobody
    /// knows what they cost.
    pub fn add_lost_attempts(&mut self, attempts: &BTreeMap<TrialId, u32>) {
        let mut lost: BTreeMap<&TrialId, u32> = attempts.iter().map(|(id, all)| (id, all.saturating_sub(1))).collect();
        for (id, _) in &self.refused {
            lost.entry(id).and_modify(|lost| *lost = lost.saturating_sub(1));
        }
        let unknown = AttemptCost { tokens_incomplete: true, cost_incomplete: true, ..AttemptCost::default() };
        let lost: Vec<TrialId> =
            lost.into_iter().flat_map(|(id, lost)| std::iter::repeat_n(id.clone(), lost as usize)).collect();
        self.refused.extend(lost.into_iter().map(|id| (id, unknown)));
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
pub(super) fn read(path: &Path) -> Result<JournalContents, StoreError> {
    let mut found = JournalContents::default();
    lines::for_each(path, |line| match line {
        TraceLine::Whole(line) => found.add(line),
        TraceLine::Overlong => found.damaged += 1,
    })
    .at(path)?;
    Ok(found)
}

/// Calls `take` with the last line of each trial in the file at `path`, and with the digest of the grade that it was written
/// for. Returns the rest of the content, without records. Keeps a few bytes of each trial, since a file may have a million of
/// them.
pub(super) fn each_last(
    path: &Path,
    mut take: impl FnMut(&[u8], Option<&str>) -> Result<(), StoreError>,
) -> Result<JournalContents, StoreError> {
    let (mut once, mut often, hasher) = (HashSet::new(), HashSet::new(), RandomState::new());
    let trial = |line: &[u8]| NotedLine(line).trial().map(|trial| hasher.hash_one(trial));
    let (mut found, mut lines) = (JournalContents::default(), 0_usize);
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
    let (mut grades, mut result) = (BTreeMap::new(), Ok(()));
    lines::for_each(path, |line| {
        // Lines that another process appended meanwhile may be of any trial.
        let Some(left) = lines.checked_sub(1) else { return };
        lines = left;
        let TraceLine::Whole(line) = line else { return found.damaged += 1 };
        let noted = NotedLine(line);
        if trial(line).is_some_and(|trial| !often.contains(&trial)) && noted.digest().is_some() {
            if result.is_ok() {
                result = take(line, noted.grade());
            }
            return;
        }
        if let Some(grade) = noted.grade()
            && let Ok(id) = serde_json::from_slice::<TrialId>(line)
        {
            grades.insert(id, grade.to_owned());
        }
        found.add(line);
    })
    .at(path)?;
    result?;
    for record in std::mem::take(&mut found.records).into_values() {
        let line = serde_json::to_vec(&record).map_err(std::io::Error::from).at(path)?;
        take(&line, grades.get(&record.id).map(String::as_str))?;
    }
    Ok(found)
}

/// Follows a progress file that other processes append to as well.
#[derive(Debug)]
pub struct Follower {
    path: PathBuf,
    read_up_to: u64,
    seen: JournalContents,
}

impl Follower {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, read_up_to: 0, seen: JournalContents::default() }
    }

    /// Reads new lines and returns the content so far. A line that is still being written counts the next time.
    pub fn look(&mut self) -> Result<&JournalContents, StoreError> {
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
    pub fn seen(&self) -> &JournalContents {
        &self.seen
    }
}

// The form of a line of `progress.jsonl`: the record of a trial, the digest of the grade that it was written for, and a digest
// of the line. So a line that was changed is known by itself, and one that is out of date by the grade.

/// What comes before the digest of the grade, and its length.
const GRADE: &[u8] = b",\"grade\":\"";
const GRADE_LENGTH: usize = 32;

/// A line of the file, without its line break.
#[derive(Clone, Copy)]
pub(super) struct NotedLine<'a>(pub &'a [u8]);

/// The line, as it is stored in the file of this run.
pub(super) fn stored_line(run: &RunFolder, line: &ProgressLine) -> Result<Vec<u8>, StoreError> {
    let mut json = serde_json::to_vec(line).map_err(std::io::Error::from).map_err(|source| run.not_written(source))?;
    json.pop();
    match line {
        ProgressLine::Ended(record) => {
            if let Some(grade) = run.trial(&record.id).grade_digest()? {
                json.extend([GRADE, grade.as_bytes(), b"\""].concat());
            }
        }
        // Two refusals may have cost the same: only a copy of a line has the same number.
        ProgressLine::Refused { .. } => json.extend(format!(",\"written\":\"{}\"", grade_number()).into_bytes()),
    }
    json.push(b'}');
    Ok(seal::lines(&json))
}

/// A number that no other line has.
fn grade_number() -> String {
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let count = WRITTEN.fetch_add(1, Ordering::Relaxed);
    format!("{}-{}-{count}", jiff::Timestamp::now().as_nanosecond(), std::process::id())
}

impl<'a> NotedLine<'a> {
    /// The digest of the line; `None` if it is not as it was written.
    pub(super) fn digest(self) -> Option<&'a [u8]> {
        seal::checked_line(self.0).and_then(|at| self.0.get(at..))
    }

    /// The digest of the grade that it was written for; `None` of a trial that had none.
    pub(super) fn grade(self) -> Option<&'a str> {
        let rest = self.0.get(..seal::checked_line(self.0)?)?.strip_suffix(b"\"")?;
        let (before, grade) = rest.split_at_checked(rest.len().checked_sub(GRADE_LENGTH)?)?;
        if before.ends_with(GRADE) { std::str::from_utf8(grade).ok() } else { None }
    }

    /// The part of it that names the trial; `None` if it is not about one that ended.
    pub(super) fn trial(self) -> Option<&'a [u8]> {
        const NUMBER: &[u8] = b",\"trial\":";
        let at = self.0.windows(NUMBER.len()).position(|part| part == NUMBER)? + NUMBER.len();
        let end = self.0.get(at..)?.iter().position(|byte| *byte == b',')?;
        self.0.get(..at + end).filter(|name| name.starts_with(b"{\"skill\":"))
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
        let mut contents = JournalContents::default();
        let mut add = |line: String| contents.add(seal::lines(line.as_bytes()).trim_ascii());
        add(line("fail", r#","attempts":3,"ended":"2026-01-01T00:00:00Z""#));
        add(line("pass", ""));
        let record = contents.records.values().next().expect("a record");
        let facts = (record.verdict, record.attempts, record.ended.as_deref());
        assert_eq!(facts, (crate::trial::outcome::Verdict::Pass, 3, Some("2026-01-01T00:00:00Z")));
        assert!(contents.refused.is_empty() && contents.damaged == 0);
    }

    #[test]
    fn a_line_of_which_any_byte_changed_is_not_as_it_was_written() {
        let id = TrialId { skill: "s".into(), case: "c".into(), mode: "m".into(), number: 1 };
        let refused = ProgressLine::Refused { refused: id, spent: AttemptCost::default() };
        let run = RunFolder::at(std::path::Path::new("/absent"));
        let line = stored_line(&run, &refused).expect("a line");
        let line = line.trim_ascii();
        assert!(NotedLine(line).digest().is_some() && NotedLine(line).trial().is_none());
        for at in 0..line.len() {
            let mut other = line.to_vec();
            other[at] ^= 1;
            assert_eq!(NotedLine(&other).digest(), None, "{at}");
            assert_eq!(NotedLine(&line[..at]).digest(), None, "{at}");
        }
        // Two refusals of one trial are two lines.
        assert_ne!(stored_line(&run, &refused).expect("a line").trim_ascii(), line);
    }
}
