//! The trials of a run.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::cases::case::{Case, FoundCase, ReadCase};
use crate::cases::catalog::Catalog;
use crate::cases::selection::TestCase;
use crate::cases::selection::{modes, selected_cases};
use crate::decide::threshold;
use crate::settings::trials::Trials;
use crate::settings::{EffectiveRepetition, Settings};
use crate::stats::proportion::Rate;
use crate::store::{self, Recordings, RunFolder, StoreError};
use crate::text::name::Filters;
use crate::text::problem::Problem;
use crate::trial::id::TrialId;
use crate::trial::run_record::PlanLine;
use crate::trial::shard::Shard;

/// The trials of a run, in order.
#[derive(Clone, Debug, Default)]
pub struct RunPlan {
    pub entries: Vec<PlannedCase>,
}

/// A case in a mode, and how often it runs.
#[derive(Clone, Debug)]
pub struct PlannedCase {
    pub planned: TestCase,
    /// At least 1.
    pub repeats: u32,
    /// Set for a case that runs until it is decided: more trials than `repeats` may follow.
    pub until: Option<DecisionGoal>,
}

/// A case runs until its trials decide on which side of a threshold it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecisionGoal {
    /// The share of trials that must pass.
    pub threshold: f64,
    /// Maximum number of trials.
    pub most: u32,
}

impl PlannedCase {
    pub fn times(planned: TestCase, repeats: u32) -> Self {
        Self { planned, repeats, until: None }
    }

    /// Repeats as the settings and the case say.
    pub fn of(planned: TestCase, settings: &Settings) -> Self {
        let EffectiveRepetition { trials, threshold } =
            settings.repetition.of(&planned.found.skill, planned.found.repetition());
        match trials {
            Trials::Times(repeats) => Self::times(planned, repeats),
            Trials::UntilDecided(most) => {
                let first = threshold::sure(Rate::default(), 0, threshold, u64::from(most));
                let repeats = u32::try_from(first).unwrap_or(most);
                Self { planned, repeats, until: Some(DecisionGoal { threshold, most }) }
            }
        }
    }

    /// Maximum number of trials.
    pub fn most(&self) -> u32 {
        self.until.map_or(self.repeats, |until| until.most.max(self.repeats))
    }

    pub fn ids(&self) -> impl Iterator<Item = TrialId> {
        (1..=self.repeats).map(|number| self.planned.trial(number))
    }
}

impl RunPlan {
    pub fn ids(&self) -> impl Iterator<Item = TrialId> {
        self.entries.iter().flat_map(PlannedCase::ids)
    }

    /// The name of the first trial of each case.
    pub fn first_trials(&self) -> Vec<String> {
        self.entries.iter().map(|entry| entry.planned.trial(1).to_string()).collect()
    }

    /// The trials as lines of a run's plan, which mark cases that may get more.
    pub fn lines(&self) -> impl Iterator<Item = PlanLine> {
        self.entries.iter().flat_map(|entry| {
            let (threshold, max_trials) = entry.until.map(|until| (until.threshold, until.most)).unzip();
            entry.ids().map(move |id| PlanLine { id, threshold, max_trials })
        })
    }

    /// The trials, with all that may follow.
    pub fn ids_at_most(&self) -> impl Iterator<Item = TrialId> {
        self.entries.iter().flat_map(|entry| (1..=entry.most()).map(|number| entry.planned.trial(number)))
    }

    #[must_use]
    pub fn part(&self, shard: Shard) -> Self {
        let entries = self.entries.iter().filter(|entry| shard.has(&entry.planned.case_in_mode()));
        Self { entries: entries.cloned().collect() }
    }

    pub fn len(&self) -> usize {
        self.entries.iter().map(|entry| entry.repeats as usize).sum()
    }

    /// Maximum number of trials.
    pub fn most(&self) -> usize {
        self.entries.iter().map(|entry| entry.most() as usize).sum()
    }

    /// Whether trials may be added during the run.
    pub fn grows(&self) -> bool {
        self.entries.iter().any(|entry| entry.until.is_some())
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Sets the repeats of an earlier part of the run, whatever the cases say today. A variable or the command line may
    /// request more.
    fn resume(&mut self, earlier: &BTreeSet<TrialId>, settings: &Settings) {
        let requested = settings.repetition.asked.trials.is_some();
        for entry in &mut self.entries {
            let (first, last) = (entry.planned.trial(1), entry.planned.trial(u32::MAX));
            if let Some(last) = earlier.range(first..=last).next_back() {
                let may_grow = requested || entry.until.is_some();
                entry.repeats = if may_grow { entry.repeats.max(last.number) } else { last.number };
            }
        }
    }

    pub fn is_judged(&self, settings: &Settings) -> bool {
        if let Some(wanted) = settings.judge.wanted {
            return wanted && !self.is_empty();
        }
        let is_it = |case: &Case| case.is_judged(settings) && case.runs(settings.partial);
        self.entries.iter().any(|entry| entry.planned.found.case().is_ok_and(is_it))
    }
}

/// The plan for the cases that the settings select and the filters match. Fails with a message for every selected name
/// that is not in the catalog.
pub fn plan(root: &Path, settings: &Settings, catalog: &Catalog, filters: &Filters) -> Result<RunPlan, Problem> {
    let cases = selected_cases(&settings.selection, catalog)?;
    let replays = !settings.live || settings.replay_model;
    let mut recordings = Recordings::new(root);
    let mut entries = Vec::new();
    for found in cases {
        let recorded = if replays { recordings.modes(&found.skill, &found.id) } else { Ok(Vec::new()) };
        let (found, recorded) = match recorded {
            Ok(recorded) => (Arc::clone(found), recorded),
            Err(error) => (without_recording(root, found, &error), Vec::new()),
        };
        for planned in planned(settings, &found, &recorded).filter(|planned| filters.want(|| planned.test_name())) {
            entries.push(if !replays {
                PlannedCase::of(planned, settings)
            } else if recorded.contains(&planned.mode.name) {
                replayed(root, planned)
            } else {
                PlannedCase::times(planned, 1)
            });
        }
    }
    let mut plan = RunPlan { entries };
    if let (true, Some(id)) = (settings.live && settings.resume, &settings.run_id) {
        // If the run cannot be read, opening it says so.
        let earlier = RunFolder::open(root, id).and_then(|folder| planned_before(&folder));
        plan.resume(&earlier.unwrap_or_default(), settings);
    }
    Ok(plan)
}

/// The trials that an earlier part of the run planned; none if lines are missing from its plan.
fn planned_before(folder: &RunFolder) -> Result<BTreeSet<TrialId>, StoreError> {
    let (plan, record) = (folder.plan()?, folder.run_record()?);
    Ok(if record.is_some_and(|record| plan.len() >= record.planned) { plan } else { BTreeSet::new() })
}

/// A case in each of its modes: the selected ones, or its default mode and those in `recorded`.
pub fn planned<'a>(
    settings: &'a Settings,
    found: &'a Arc<FoundCase>,
    recorded: &[String],
) -> impl Iterator<Item = TestCase> + use<'a> {
    modes(settings, found, recorded)
        .into_iter()
        .map(|mode| TestCase { found: Arc::clone(found), mode: Arc::clone(mode) })
}

/// A case in a mode with the repeats that are recorded; at least 1, so that a missing recording is reported.
fn replayed(root: &Path, planned: TestCase) -> PlannedCase {
    let mut repeats = 0;
    loop {
        match store::recording(root, &planned.trial(repeats + 1)).exists() {
            Ok(true) if repeats < 1000 => repeats += 1,
            Ok(_) => return PlannedCase::times(planned, repeats.max(1)),
            Err(error) => {
                let found = without_recording(root, &planned.found, &error);
                return PlannedCase::times(TestCase { found, ..planned }, 1);
            }
        }
    }
}

/// The same case with the problem of its recordings, which cannot be read: nobody knows how often and in which modes it was recorded.
fn without_recording(root: &Path, found: &FoundCase, error: &StoreError) -> Arc<FoundCase> {
    let source = ReadCase::new(found.format(), Err(vec![store::recording_problem(root, error)]));
    Arc::new(FoundCase::new(found.id.clone(), Arc::clone(&found.skill), Arc::clone(&found.file), found.line, source))
}
