//! A running comparison: the pairs of trials that were begun for the same contents of both sides, and the trials that have ended,
//! in `kept/comparisons/<key>/<measurement>/`. Each start of the same comparison continues it.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::kept::{KeptAs, KeptTrial, KeptTrials, age, time};
use super::run_files::{append, as_lines, read_lines};
use super::seal_key::SealKey;
use super::{At, StoreError, TrialFolder, make_runs, sub_folders};
use crate::files::{look, rooted};
use crate::trial::evidence::digest;

const COMPARISONS: &str = "comparisons";

/// The file with the pairs, in the order in which they were begun.
const PAIRS: &str = "pairs.jsonl";

/// Locked while a process has the comparison.
pub(super) const LOCK: &str = "lock";

/// How often a lock of another process is tried again.
const PAUSE: Duration = Duration::from_millis(100);

/// A running comparison, which is this process's until it is dropped.
#[derive(Debug)]
pub struct RunningComparison {
    folder: PathBuf,
    key: String,
    seal_key: SealKey,
    /// Which measurement of the same contents it is, from 1.
    pub measurement: u32,
    /// The pairs that earlier starts began, in that order.
    pub pairs: Vec<KeptPair>,
    _lock: File,
}

/// A pair that was begun. No other pair of its comparison has its case and number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptPair {
    /// The name of its case in the comparison.
    pub case: String,
    /// The repeat of both trials, from 1.
    pub number: u32,
    /// When it began, RFC 3339, UTC.
    pub began: String,
}

/// A line of the file with the pairs.
#[derive(Serialize, Deserialize)]
struct PairLine {
    #[serde(flatten)]
    pair: KeptPair,
    seal: String,
}

/// A side of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairSide {
    Baseline,
    Candidate,
}

impl PairSide {
    pub const BOTH: [Self; 2] = [Self::Baseline, Self::Candidate];

    fn as_str(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Candidate => "candidate",
        }
    }
}

impl KeptTrials {
    /// The comparison of these contents, for this process alone. While another process has it, `waits` is called before each pause.
    /// It is a new measurement if the last one began too long ago to be used.
    pub fn comparison(&self, key: &str, waits: &mut dyn FnMut()) -> Result<RunningComparison, StoreError> {
        let of_key = self.folder.join(COMPARISONS).join(key);
        if let Some(runs) = self.folder.parent() {
            make_runs(runs)?;
        }
        let lock = lock(&of_key, waits)?;
        let mut measurement = latest(&of_key)?.unwrap_or(1);
        let mut pairs = self.pairs(key, measurement)?;
        let is_old = |first: &KeptPair| age(&first.began).is_none_or(|age| age > self.max_age);
        if pairs.first().is_some_and(is_old) {
            measurement += 1;
            pairs.clear();
        }
        let folder = of_key.join(measurement.to_string());
        fs::create_dir_all(&folder).at(&folder)?;
        let (key, seal_key) = (key.to_owned(), self.seal_key);
        Ok(RunningComparison { folder, key, seal_key, measurement, pairs, _lock: lock })
    }

    /// How many trials of the comparison of these contents are here and would be used.
    pub fn measured(&self, key: &str) -> usize {
        let of_key = self.folder.join(COMPARISONS).join(key);
        let Ok(Some(measurement)) = latest(&of_key) else { return 0 };
        let pairs = self.pairs(key, measurement).unwrap_or_default();
        let is_young = pairs.first().is_some_and(|first| age(&first.began).is_some_and(|age| age <= self.max_age));
        let trials = self.names_in(&of_key.join(measurement.to_string()));
        if is_young { trials.iter().filter(|name| !name.starts_with('.')).count() } else { 0 }
    }

    /// The pairs of a measurement. Warns of those without the seal of this user; a last line that was cut short is no pair.
    fn pairs(&self, key: &str, measurement: u32) -> Result<Vec<KeptPair>, StoreError> {
        let path = self.folder.join(COMPARISONS).join(key).join(measurement.to_string()).join(PAIRS);
        let lines: Vec<PairLine> = read_lines(&path).at(&path)?;
        let (sealed, others): (Vec<_>, Vec<_>) =
            lines.into_iter().partition(|line| line.seal == seal(&self.seal_key, key, measurement, &line.pair));
        let sealed: Vec<KeptPair> = sealed.into_iter().map(|line| line.pair).collect();
        if !others.is_empty() {
            self.warn(self.unsealed());
        } else if let Some(folder) = path.parent() {
            // A pair is written before its trials.
            let of_pairs: BTreeSet<String> =
                sealed.iter().flat_map(|pair| PairSide::BOTH.map(|side| trial_name(pair, side))).collect();
            let trials = self.names_in(folder).into_iter().filter(|name| !name.starts_with('.'));
            let lost = trials.filter(|name| !of_pairs.contains(name)).count();
            if lost > 0 {
                self.warn(format!(
                    "{} lacks the pairs of kept trials beside it ({lost}): they are measured again",
                    path.display()
                ));
            }
        }
        Ok(sealed)
    }

    /// The trial of a pair, if it was kept.
    pub fn trial_of(&self, comparison: &RunningComparison, pair: &KeptPair, side: PairSide) -> Option<KeptTrial> {
        let path = comparison.trial(pair, side);
        look::exists(&path).unwrap_or(true).then(|| self.read(path, &comparison.key_of(pair, side))).flatten()
    }

    /// Keeps the trial of a pair, in the place of one that cannot be used. Does nothing if it is kept already.
    pub fn add_to(
        &self,
        comparison: &RunningComparison,
        (pair, side): (&KeptPair, PairSide),
        write: impl FnOnce(&TrialFolder) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        if self.trial_of(comparison, pair, side).is_some() {
            return Ok(());
        }
        let place = comparison.trial(pair, side);
        rooted::remove(&place)?;
        let kept_as = KeptAs { key: comparison.key_of(pair, side), ..KeptAs::default() };
        let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.put(&comparison.folder, &kept_as, |_| name, write)
    }
}

impl RunningComparison {
    /// Adds a pair that begins.
    pub fn begin(&self, pair: &KeptPair) -> Result<(), StoreError> {
        let seal = seal(&self.seal_key, &self.key, self.measurement, pair);
        let path = self.folder.join(PAIRS);
        let line = as_lines(&[PairLine { pair: pair.clone(), seal }]);
        Ok(line.and_then(|line| append(&path, line)).at(&path)?)
    }

    fn trial(&self, pair: &KeptPair, side: PairSide) -> PathBuf {
        self.folder.join(trial_name(pair, side))
    }

    fn key_of(&self, pair: &KeptPair, side: PairSide) -> String {
        format!("{}/{}/{} {} {}", self.key, self.measurement, pair.case, pair.number, side.as_str())
    }
}

/// The name of the directory of a trial.
fn trial_name(pair: &KeptPair, side: PairSide) -> String {
    format!("{}-{}-{}", digest(pair.case.as_bytes()), pair.number, side.as_str())
}

fn seal(seal_key: &SealKey, key: &str, measurement: u32, pair: &KeptPair) -> String {
    let KeptPair { case, number, began } = pair;
    seal_key.digest(format!("{key}\n{measurement}\n{case}\n{number}\n{began}").as_bytes())
}

/// The latest measurement in the directory of a comparison.
fn latest(of_key: &Path) -> Result<Option<u32>, StoreError> {
    Ok(sub_folders(of_key)?.iter().filter_map(|name| name.parse().ok()).max())
}

fn lock(of_key: &Path, waits: &mut dyn FnMut()) -> Result<File, StoreError> {
    let path = of_key.join(LOCK);
    loop {
        fs::create_dir_all(of_key).at(of_key)?;
        let file = File::create(&path).at(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                waits();
                std::thread::sleep(PAUSE);
                continue;
            }
            Err(TryLockError::Error(error)) => return Ok(Err(error).at(&path)?),
        }
        // Its directory may have been removed meanwhile.
        let is_same = |found: fs::Metadata| file.metadata().is_ok_and(|locked| locked.ino() == found.ino());
        if fs::metadata(&path).is_ok_and(is_same) {
            return Ok(file);
        }
    }
}

/// The measurements of comparisons that no process has, and when each began. Those without a pair are as old as can be.
pub(super) fn idle(kept: &Path) -> Result<Vec<(Option<Timestamp>, PathBuf)>, StoreError> {
    let mut found = Vec::new();
    for of_key in sub_folders(&kept.join(COMPARISONS))?.into_iter().map(|key| kept.join(COMPARISONS).join(key)) {
        let Ok(lock) = File::open(of_key.join(LOCK)) else { continue };
        if lock.try_lock().is_err() {
            continue;
        }
        for measurement in sub_folders(&of_key)? {
            let folder = of_key.join(measurement);
            let first =
                read_lines::<PairLine>(&folder.join(PAIRS)).ok().and_then(|lines| Some(lines.into_iter().next()?.pair));
            found.push((first.and_then(|pair| time(&pair.began)), folder));
        }
    }
    Ok(found)
}
