//! What a `tune` that gave no answer has paid for, in `generate/<slug>.tune.json`. The next one with the same question uses it.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{At, GENERATE, StoreError, make_runs, read_json, runs_folder, write_json};
use crate::files::look;

/// What an unfinished `tune` of a skill has paid for. It is removed with the answer.
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

    /// Forgets all of it: there is an answer.
    pub fn answered(self) -> Result<(), StoreError> {
        let gone = fs::remove_file(&self.path);
        Ok(look::unless_absent(gone).at(&self.path).map(|_| ())?)
    }

    fn write(&self) -> Result<(), StoreError> {
        let folder = self.path.parent().unwrap_or(&self.path);
        make_runs(folder.parent().unwrap_or(folder))?;
        fs::create_dir_all(folder).at(folder)?;
        write_json(&self.path, &self.paid)
    }
}
