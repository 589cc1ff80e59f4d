//! `check`: the scripts of the repository that check trials, and how long each may take.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;

use crate::settings::Problems;
use crate::text::diagnostic::SourceLocation;
use crate::text::relative_path::RelativePath;

/// The time that a script gets.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// A script that the settings file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedScript {
    /// Its path from the repository's root.
    pub path: RelativePath,
    /// Where the settings file names it.
    pub place: SourceLocation,
}

/// The scripts that check every trial, or every trial of a skill.
#[derive(Clone, Debug)]
pub struct CheckSettings {
    all: Vec<NamedScript>,
    of_skills: BTreeMap<String, Vec<NamedScript>>,
    /// Maximum duration of a program that answers a check.
    pub timeout: Duration,
}

impl Default for CheckSettings {
    fn default() -> Self {
        Self { all: Vec::new(), of_skills: BTreeMap::new(), timeout: DEFAULT_TIMEOUT }
    }
}

/// A path or a list of paths.
#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expected a path or a list of paths")]
pub(super) enum WrittenScripts {
    One(toml::Spanned<String>),
    Several(Vec<toml::Spanned<String>>),
}

impl CheckSettings {
    /// The scripts that check the trials of the skill with this slug.
    pub fn of(&self, skill: &str) -> impl Iterator<Item = &NamedScript> {
        self.all.iter().chain(self.of_skills.get(skill).into_iter().flatten())
    }

    /// Adds scripts for every trial, or for those of a skill.
    pub(super) fn add(&mut self, skill: Option<String>, written: WrittenScripts, problems: &mut Problems<'_>) {
        let written = match written {
            WrittenScripts::One(path) => vec![path],
            WrittenScripts::Several(paths) => paths,
        };
        let to = match skill {
            Some(skill) => self.of_skills.entry(skill).or_default(),
            None => &mut self.all,
        };
        for path in written {
            let place = problems.place(path.span());
            to.extend(
                problems.paths([path], "the check").into_iter().map(|path| NamedScript { path, place: place.clone() }),
            );
        }
    }
}
