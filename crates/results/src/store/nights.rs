//! What nightly runs measured, in `artifacts/skill-evals/kept/nights`, for a year. Each file has the seal of the kept trials.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::kept::{KeptTrials, age};
use super::{At, KEPT, StoreError, make_runs, runs_folder, write_whole};
use crate::files::{bounded, look};
use crate::stats::proportion::Rate;

const NIGHTS: &str = "nights";

/// How long a night is kept: a year, and the month in which it is still shown.
const MOST_AGE: Duration = Duration::from_secs(400 * 24 * 3600);

/// A run whose trials were kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Night {
    pub run: String,
    /// When it began, RFC 3339, UTC.
    pub created: String,
    pub cases: Vec<NightCase>,
}

/// The trials of a case in a night. All of them ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NightCase {
    pub skill: String,
    pub case: String,
    pub mode: String,
    /// The agent with its version, if it reports it.
    pub agent: Option<String>,
    /// The model that the agent reports, or the requested one.
    pub model: Option<String>,
    pub inputs: NightInputs,
    /// Its trials that passed, of those that were measured.
    pub passed: u64,
    pub trials: u64,
    /// What its trials cost in US dollars, if that is known.
    pub cost_usd: Option<f64>,
}

/// Digests of what decides the trials of a case, as the repository has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NightInputs {
    /// The files of its skill.
    pub skill: Option<String>,
    /// The names and descriptions of all offered skills.
    pub descriptions: Option<String>,
    /// The case, its checks, and the settings.
    pub besides: String,
}

impl NightCase {
    pub fn rate(&self) -> Rate {
        Rate::new(self.passed, self.trials)
    }
}

impl KeptTrials {
    /// Keeps a night. It replaces one of the same run.
    pub fn add_night(&self, night: &Night) -> Result<(), StoreError> {
        let folder = self.folder.join(NIGHTS);
        if let Some(runs) = self.folder.parent() {
            make_runs(runs)?;
        }
        fs::create_dir_all(&folder).at(&folder)?;
        let path = folder.join(format!("{}.json", night.run));
        let text = serde_json::to_string(night).map_err(std::io::Error::from).at(&path)?;
        write_whole(&path, format!("{text}\n{}\n", self.seal_key.digest(text.as_bytes())).as_bytes())
    }

    /// The nights that this user kept, in their order. Warns of others.
    pub fn nights(&self) -> Result<Vec<Night>, StoreError> {
        let folder = self.folder.join(NIGHTS);
        let mut nights = Vec::new();
        if look::is_directory(&folder)? {
            for file in look::Walk::new(&folder).all()? {
                nights.extend(self.night(file.path())?);
            }
        }
        nights.sort_by(|a: &Night, b| (&a.created, &a.run).cmp(&(&b.created, &b.run)));
        Ok(nights)
    }

    fn night(&self, path: &Path) -> Result<Option<Night>, StoreError> {
        let text = bounded::read_text(path).at(path)?;
        let sealed =
            text.trim_end().rsplit_once('\n').filter(|(night, seal)| self.seal_key.digest(night.as_bytes()) == *seal);
        let night = sealed.and_then(|(night, _)| serde_json::from_str(night).ok());
        if night.is_none() {
            self.warn(self.unsealed());
        }
        Ok(night)
    }

    pub(super) fn remove_old_nights(&self) -> Result<(), StoreError> {
        for night in self.nights()?.iter().filter(|night| age(&night.created).is_none_or(|age| age > MOST_AGE)) {
            let path = self.folder.join(NIGHTS).join(format!("{}.json", night.run));
            fs::remove_file(&path).at(&path)?;
        }
        Ok(())
    }
}

/// The nights of the repository at `root`, and warnings about those that were not read.
pub fn nights(root: &Path) -> Result<(Vec<Night>, Vec<String>), StoreError> {
    // Only reading kept trials makes the key.
    if !look::is_directory(&runs_folder(root)?.join(KEPT).join(NIGHTS))? {
        return Ok((Vec::new(), Vec::new()));
    }
    let kept = KeptTrials::new(root, Duration::MAX)?;
    Ok((kept.nights()?, kept.warnings()))
}
