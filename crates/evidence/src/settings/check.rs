//! `check`: the scripts of the repository that check trials, and how long each may take.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::settings::keys::defaults;
use crate::settings::problems::{Number, Problems};
use crate::text::diagnostic::SourceLocation;
use crate::text::relative_path::RelativePath;

/// A script that the settings file names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedScript {
    /// Its path from the repository's root.
    pub path: RelativePath,
    /// Where the settings file names it.
    pub place: SourceLocation,
}

defaults! {
    /// The scripts that check every trial, or every trial of a skill.
    #[derive(Clone, Debug)]
    pub struct CheckSettings {
        all: Vec<NamedScript> = Vec::new(),
        of_skills: BTreeMap<String, Vec<NamedScript>> = BTreeMap::new(),
        /// Maximum duration of a program that answers a check.
        pub timeout: Duration = Duration::from_secs(60),
    }
}

impl CheckSettings {
    /// The scripts that check the trials of the skill with this slug.
    pub fn of(&self, skill: &str) -> impl Iterator<Item = &NamedScript> {
        self.all.iter().chain(self.of_skills.get(skill).into_iter().flatten())
    }

    /// Adds the scripts of every trial, or those of a skill: a path or a list of paths.
    pub(super) fn add(&mut self, skill: Option<String>, written: &Number, problems: &mut Problems<'_>) {
        let paths = match written.get_ref() {
            toml::Value::Array(paths) => paths.as_slice(),
            path => std::slice::from_ref(path),
        };
        let place = problems.place(written.span());
        let mut scripts = Vec::new();
        for path in paths {
            match path.as_str().map(RelativePath::parse) {
                Some(Ok(path)) => scripts.push(NamedScript { path, place: place.clone() }),
                Some(Err(why)) => problems.add(written.span(), format!("the check {path} {why}")),
                None => problems.add(written.span(), format!("`check` has {path}; expected a path or a list of paths")),
            }
        }
        match skill {
            Some(skill) => self.of_skills.entry(skill).or_default().extend(scripts),
            None => self.all.extend(scripts),
        }
    }
}
