//! Which trials a run has, and how often each case runs.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::cases::case::{Case, Found};
use crate::cases::catalog::Catalog;
use crate::cases::name::Filters;
use crate::settings::Settings;
use crate::settings::selection::modes;
use crate::store::{self, Recordings};
use crate::trial::id::{Planned, TrialId};

/// The trials of a run, in order.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// A case in a mode each.
    pub entries: Vec<Entry>,
}

/// A case in a mode, and how often it runs.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The case and the mode.
    pub planned: Planned,
    /// How often, at least once.
    pub repeats: u32,
}

impl Entry {
    /// Its trials.
    pub fn ids(&self) -> impl Iterator<Item = TrialId> {
        (1..=self.repeats).map(|number| self.planned.trial(number))
    }
}

impl Plan {
    /// All trials.
    pub fn ids(&self) -> impl Iterator<Item = TrialId> {
        self.entries.iter().flat_map(Entry::ids)
    }

    /// How many trials there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.iter().map(|entry| entry.repeats as usize).sum()
    }

    /// Whether there is no trial.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Takes cases as often as an earlier part of the run planned them; others stay.
    pub fn repeat_as_in(&mut self, earlier: &BTreeSet<TrialId>) {
        for entry in &mut self.entries {
            let (first, last) = (entry.planned.trial(1), entry.planned.trial(u32::MAX));
            if let Some(last) = earlier.range(first..=last).next_back() {
                entry.repeats = last.number;
            }
        }
    }

    /// Whether any of the trials is to be judged.
    #[must_use]
    pub fn is_judged(&self, settings: &Settings) -> bool {
        match settings.judge.wanted {
            Some(wanted) => wanted && !self.is_empty(),
            None => self.entries.iter().any(|entry| entry.planned.found.case().is_ok_and(|case| case.judge)),
        }
    }
}

/// The plan for what the settings select of the catalog, and of that what the filters match.
///
/// # Errors
/// A message for every name in the selection that is not in the catalog.
pub fn plan(root: &Path, settings: &Settings, catalog: &Catalog, filters: &Filters) -> Result<Plan, Vec<String>> {
    let cases = settings.selection.cases(catalog)?;
    let mut recordings = Recordings::new(root);
    let mut entries = Vec::new();
    for found in cases {
        let recorded = if settings.live { Vec::new() } else { recordings.modes(&found.skill, &found.id) };
        for planned in planned(settings, found, &recorded).filter(|planned| filters.want(|| planned.test_name())) {
            let is_recorded = recorded.contains(&planned.mode.name);
            let repeats = if settings.live {
                settings.repetition.of(&found.skill, found.repetition()).trials
            } else if is_recorded {
                recorded_repeats(root, &planned)
            } else {
                1
            };
            entries.push(Entry { planned, repeats });
        }
    }
    Ok(Plan { entries })
}

/// A case in each of its modes: those chosen, else its default one and those of `recorded`.
pub fn planned<'a>(
    settings: &'a Settings,
    found: &'a Arc<Found>,
    recorded: &[String],
) -> impl Iterator<Item = Planned> + use<'a> {
    let modes = modes(settings, found, recorded).into_iter();
    modes.map(|mode| Planned { found: Arc::clone(found), mode: Arc::clone(mode) })
}

/// How many repeats of a case in a mode are recorded; 1 where none is, so that the missing recording is reported.
fn recorded_repeats(root: &Path, planned: &Planned) -> u32 {
    let recorded = |number: &u32| store::recording(root, &planned.trial(*number)).exists();
    (1..=1000).take_while(recorded).count().try_into().unwrap_or(1).max(1)
}

/// Whether a trial of `case` is to be judged.
#[must_use]
pub fn is_judged(case: &Case, settings: &Settings) -> bool {
    settings.judge.wanted.unwrap_or(case.judge)
}
