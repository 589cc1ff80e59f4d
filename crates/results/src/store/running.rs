//! A running comparison: the pairs of trials that were begun for the same contents of both sides, and the trials that have ended,
//! in `kept/comparisons/<key>/<measurement>/`. Each start of the same comparison continues it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::kept::{KeptAs, KeptTrial, KeptTrials, age, time};
use super::run_files::{append, as_lines, read_lines};
use super::seal::SealKey;
use super::{
    At, GENERATE, JournalContents, RunFolder, StoreError, TrialFolder, WORK, make_runs, read_json, runs_folder,
    sub_folders, trials_in, write_json,
};
use crate::files::{look, rooted};
use crate::store::journal;
use crate::trial::evidence::digest;
use crate::trial::id::TrialId;
use crate::trial::outcome::Verdict;
use crate::trial::run_record::{RunEndKind, TrialRecord};

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

/// A pair or a look that was begun. No other of its comparison has its case and number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptPair {
    /// The name of its case in the comparison.
    pub case: String,
    /// The repeat of the candidate's trial, from 1.
    pub number: u32,
    /// Whether the candidate ran alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// From so many failed looks on, all cases of its comparison get pairs, as it was chosen before the first trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_from: Option<u64>,
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
    let KeptPair { case, number, alone, all_from, began } = pair;
    let alone = if *alone { "\nalone" } else { "" };
    let all_from = all_from.map(|looks| format!("\nall from {looks}")).unwrap_or_default();
    seal_key.digest(format!("{key}\n{measurement}\n{case}\n{number}\n{began}{alone}{all_from}").as_bytes())
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

// The trials of a run that ended. Their grades are the source of every figure. The progress file is read in their place as far
// as they confirm it, which takes a fraction of the time.

/// What a run has besides the lines of its progress file that its grades confirm.
#[derive(Debug, Default)]
pub struct UnconfirmedTrials {
    /// The trials with a grade for which the file has no line.
    pub graded: Vec<TrialFolder>,
    /// What lines for other grades say of their trials, and the rest of the file.
    pub noted: JournalContents,
    /// The number of trials that ended, by the lines and by the grades.
    ended: usize,
    /// The number of trials with a grade, and of those whose grade is missing.
    with_grade: usize,
    lost: usize,
}

/// The part of a line that decides whether its trial must have a grade.
#[derive(Deserialize)]
struct NotedTrial {
    #[serde(flatten)]
    id: TrialId,
    verdict: Verdict,
}

/// The part of `summary.json` that counts the trials.
#[derive(Deserialize)]
struct SummarizedRun {
    total: SummarizedTrials,
}

#[derive(Deserialize)]
struct SummarizedTrials {
    passed: usize,
    failed: usize,
    errors: usize,
    unscored: usize,
}

impl RunFolder {
    /// Calls `take` with the line of each trial that ended, if the grade of the trial is the one that the line was written for. A
    /// trial without a grade was replayed, or could not be measured: its line is all there is.
    pub fn each_confirmed(&self, mut take: impl FnMut(&[u8])) -> Result<UnconfirmedTrials, StoreError> {
        let (mut confirmed, mut others) = (HashSet::new(), Vec::new());
        let (mut taken, mut graded, mut lost) = (0, 0, 0);
        let hasher = RandomState::new();
        let mut noted = journal::each_last(&self.progress_path(), |line, grade| {
            let Ok(NotedTrial { id, verdict }) = serde_json::from_slice(line) else { return Ok(()) };
            let found = self.trial(&id).grade_digest()?;
            let is_measured = matches!(verdict, Verdict::Pass | Verdict::Fail);
            let is_lost = is_measured && grade.is_some() && found.is_none();
            graded += usize::from(found.is_some() || is_lost);
            lost += usize::from(is_lost);
            if is_lost || found.as_deref() != grade && found.is_some() {
                others.extend(serde_json::from_slice::<TrialRecord>(line).ok());
                return Ok(());
            }
            if found.is_some() {
                confirmed.insert(hasher.hash_one(&id));
            }
            taken += 1;
            take(line);
            Ok(())
        })?;
        let mut unconfirmed = Vec::new();
        for trial in trials_in(&self.path().join(WORK), usize::MAX)? {
            let is_confirmed = trial.id().is_some_and(|id| confirmed.contains(&hasher.hash_one(&id)));
            if !is_confirmed && trial.has_grade()? {
                unconfirmed.push(trial);
            }
        }
        for record in others {
            noted.records.insert(record.id.clone(), record);
        }
        let ended = taken + unconfirmed.len();
        Ok(UnconfirmedTrials { graded: unconfirmed, noted, ended, with_grade: graded, lost })
    }

    /// Fails if fewer trials are here than the summary counted, which is written at the end.
    fn check_count(&self, here: usize) -> Result<(), StoreError> {
        if !self.has_summary()? || self.is_live() {
            return Ok(());
        }
        let SummarizedRun { total } = read_json(&self.path().join(super::run_files::SUMMARY))?;
        let counted = total.passed + total.failed + total.errors + total.unscored;
        // A run that could not store a result counted it all the same.
        let end = || Some(self.run_record().ok()??.ended?.how);
        if here >= counted || end() == Some(RunEndKind::NotStored) {
            return Ok(());
        }
        Err(self.half(&format!("{} of its {counted} trials are missing, by its summary", counted - here)))
    }

    /// Fails if a part of the run is missing.
    fn check_trials(&self) -> Result<(), StoreError> {
        self.each_confirmed(|_| ())?.of_whole(self).map(|_| ())
    }

    /// Whether the run replayed recordings, which have its evidence.
    pub fn is_replay(&self) -> bool {
        self.run_record().ok().flatten().is_some_and(|record| record.chosen.replay)
    }

    /// Fails if a part of the run was removed. Directories of another kind have no parts that are known.
    pub fn check_whole(&self) -> Result<(), StoreError> {
        if self.is_run()? && !self.is_replay() { self.check_trials() } else { Ok(()) }
    }
}

impl UnconfirmedTrials {
    /// The same of a run of which no part is missing.
    pub fn of_whole(self, run: &RunFolder) -> Result<Self, StoreError> {
        // A trial that a running run measures again has no grade, and has not ended.
        if self.lost > 0 && !run.is_live() {
            return Err(run.half(&format!("{} of its {} graded trials are missing", self.lost, self.with_grade)));
        }
        run.check_count(self.ended)?;
        Ok(self)
    }
}

/// Calls `take` with the line of each trial in a progress file without its run, of which nothing else is known. Fails if one is
/// not as it was written.
pub fn each_of_baseline(path: &Path, mut take: impl FnMut(&[u8])) -> Result<(), StoreError> {
    let (mut taken, path) = (0, path.to_path_buf());
    let noted = journal::each_last(&path, |line, _| {
        taken += 1;
        take(line);
        Ok(())
    })?;
    if noted.damaged == 0 {
        return Ok(());
    }
    let why = format!(
        "{} of its lines are not as a run wrote them, {taken} are; restore it, or copy it again from the run",
        noted.damaged
    );
    Err(StoreError::Damaged { path, why })
}

// What a `tune` that gave no answer has paid for, in `generate/<slug>.tune.json`, which the next one with the same question uses; and how
// often cases have decided.

/// What an unfinished `tune` of a skill has paid for. It is forgotten with the answer.
#[derive(Debug)]
pub struct UnfinishedTune {
    path: PathBuf,
    paid: Paid,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Paid {
    proposal: Option<Proposal>,
    /// The ids of the comparisons that have ended.
    runs: Vec<String>,
    /// How many answers each held-out case has decided.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    decided: BTreeMap<String, u32>,
}

/// Descriptions that an agent proposed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// Digest of what was asked, and of whom.
    pub asked: String,
    pub descriptions: Vec<String>,
    /// The agent, its version and model, and the day.
    pub author: String,
    /// In dollars, if it is known.
    pub cost_usd: Option<f64>,
}

impl UnfinishedTune {
    /// That of the skill `slug`; a new one if there is none. One that cannot be used is an error: nothing is paid twice unsaid.
    pub fn of(root: &Path, slug: &str) -> Result<Self, StoreError> {
        let runs = runs_folder(root)?;
        let path = runs.join(GENERATE).join(format!("{slug}.tune.json"));
        let unusable = |why: &str| StoreError::Damaged {
            path: path.clone(),
            why: format!("{why}; remove it, and a tune pays anew for what it had"),
        };
        let paid = match look::kind(&path)? {
            None => Paid::default(),
            Some(kind) if !kind.is_file() => return Err(unusable("it is not a file")),
            Some(_) => match read_json::<Paid>(&path) {
                Err(StoreError::Damaged { why, .. }) => return Err(unusable(&why)),
                paid => paid?,
            },
        };
        for run in &paid.runs {
            if !look::is_directory(&runs.join(run))? {
                return Err(unusable(&format!("it names the run {run}, which is gone")));
            }
        }
        Ok(Self { path, paid })
    }

    /// What was proposed when this was asked.
    pub fn proposal(&self, asked: &str) -> Option<Proposal> {
        self.paid.proposal.clone().filter(|proposal| proposal.asked == asked)
    }

    /// The comparisons that have ended.
    pub fn runs(&self) -> &[String] {
        &self.paid.runs
    }

    /// Keeps what was proposed.
    pub fn propose(&mut self, proposal: Proposal) -> Result<(), StoreError> {
        self.paid.proposal = Some(proposal);
        self.write()
    }

    /// Notes that this comparison has ended.
    pub fn compared(&mut self, run: &str) -> Result<(), StoreError> {
        if !self.paid.runs.iter().any(|known| known == run) {
            self.paid.runs.push(run.to_owned());
        }
        self.write()
    }

    /// How many answers these cases have decided: as many as the one of them that was asked most often.
    pub fn decided(&self, held_out: &[String]) -> u32 {
        held_out.iter().filter_map(|case| self.paid.decided.get(case)).copied().max().unwrap_or_default()
    }

    /// Forgets what was paid for: there is an answer, which these cases decided.
    pub fn answered(mut self, held_out: &[String]) -> Result<(), StoreError> {
        for case in held_out {
            *self.paid.decided.entry(case.clone()).or_default() += 1;
        }
        self.paid = Paid { decided: self.paid.decided, ..Paid::default() };
        self.write()
    }

    fn write(&self) -> Result<(), StoreError> {
        let folder = self.path.parent().unwrap_or(&self.path);
        make_runs(folder.parent().unwrap_or(folder))?;
        fs::create_dir_all(folder).at(folder)?;
        write_json(&self.path, &self.paid)
    }
}
