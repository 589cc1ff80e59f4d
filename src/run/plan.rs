//! Which trials a run has, and how often each case runs.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::cases::case::{Case, FoundCase};
use crate::cases::catalog::Catalog;
use crate::cases::selection::modes;
use crate::cases::test_case::TestCase;
use crate::decide::threshold;
use crate::settings::trials::Trials;
use crate::settings::{EffectiveRepetition, Settings};
use crate::stats::proportion::Rate;
use crate::store::{self, Recordings, RunFolder, StoreError};
use crate::text::name::Filters;
use crate::trial::id::TrialId;
use crate::trial::run_record::PlanLine;

/// The trials of a run, in order.
#[derive(Clone, Debug, Default)]
pub struct RunPlan {
    /// A case in a mode each.
    pub entries: Vec<PlannedCase>,
}

/// A case in a mode, and how often it runs.
#[derive(Clone, Debug)]
pub struct PlannedCase {
    /// The case and the mode.
    pub planned: TestCase,
    /// How often, at least once.
    pub repeats: u32,
    /// When it is enough, where that is for its trials to tell: more than `repeats` may follow.
    pub until: Option<DecisionGoal>,
}

/// A case goes on until its trials tell on which side of its threshold it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecisionGoal {
    /// The share of its trials that must pass.
    pub threshold: f64,
    /// The most trials.
    pub most: u32,
}

impl PlannedCase {
    /// A case in a mode that runs so often.
    #[must_use]
    pub fn times(planned: TestCase, repeats: u32) -> Self {
        Self { planned, repeats, until: None }
    }

    /// A case in a mode that runs as the settings and the case say.
    #[must_use]
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

    /// The most trials that it may come to.
    #[must_use]
    pub fn most(&self) -> u32 {
        self.until.map_or(self.repeats, |until| until.most.max(self.repeats))
    }

    /// Its trials.
    pub fn ids(&self) -> impl Iterator<Item = TrialId> {
        (1..=self.repeats).map(|number| self.planned.trial(number))
    }
}

impl RunPlan {
    /// All trials.
    pub fn ids(&self) -> impl Iterator<Item = TrialId> {
        self.entries.iter().flat_map(PlannedCase::ids)
    }

    /// The same as lines of a run's plan, which say of which cases more may follow.
    pub fn lines(&self) -> impl Iterator<Item = PlanLine> {
        self.entries.iter().flat_map(|entry| {
            let (threshold, at_most) = entry.until.map(|until| (until.threshold, until.most)).unzip();
            entry.ids().map(move |id| PlanLine { id, threshold, max_trials: at_most })
        })
    }

    /// All trials that there may be.
    pub fn ids_at_most(&self) -> impl Iterator<Item = TrialId> {
        self.entries.iter().flat_map(|entry| (1..=entry.most()).map(|number| entry.planned.trial(number)))
    }

    /// How many trials there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.iter().map(|entry| entry.repeats as usize).sum()
    }

    /// The most trials that there may be.
    #[must_use]
    pub fn most(&self) -> usize {
        self.entries.iter().map(|entry| entry.most() as usize).sum()
    }

    /// Whether cases go on until they are decided, so that trials are planned on the way.
    #[must_use]
    pub fn grows(&self) -> bool {
        self.entries.iter().any(|entry| entry.until.is_some())
    }

    /// Whether there is no trial.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Takes cases as often as an earlier part of the run planned them, whatever they say today. Only what a variable or the
    /// command line asks for may be more.
    fn go_on_from(&mut self, earlier: &BTreeSet<TrialId>, settings: &Settings) {
        let asked = settings.repetition.asked.trials.is_some();
        for entry in &mut self.entries {
            let (first, last) = (entry.planned.trial(1), entry.planned.trial(u32::MAX));
            if let Some(last) = earlier.range(first..=last).next_back() {
                let more = asked || entry.until.is_some();
                entry.repeats = if more { entry.repeats.max(last.number) } else { last.number };
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
pub fn plan(root: &Path, settings: &Settings, catalog: &Catalog, filters: &Filters) -> Result<RunPlan, Vec<String>> {
    let cases = settings.selection.cases(catalog)?;
    let mut recordings = Recordings::new(root);
    let mut entries = Vec::new();
    for found in cases {
        let recorded = if settings.live { Vec::new() } else { recordings.modes(&found.skill, &found.id) };
        for planned in planned(settings, found, &recorded).filter(|planned| filters.want(|| planned.test_name())) {
            let is_recorded = recorded.contains(&planned.mode.name);
            entries.push(if settings.live {
                PlannedCase::of(planned, settings)
            } else {
                let repeats = if is_recorded { recorded_repeats(root, &planned) } else { 1 };
                PlannedCase::times(planned, repeats)
            });
        }
    }
    let mut plan = RunPlan { entries };
    if let (true, Some(id)) = (settings.live && settings.resume, &settings.run_id) {
        // Where it cannot be read, opening the run says so.
        let earlier = RunFolder::open(root, id).and_then(|folder| planned_before(&folder));
        plan.go_on_from(&earlier.unwrap_or_default(), settings);
    }
    Ok(plan)
}

/// The trials that an earlier part of the run planned; none where its plan lacks lines and so does not say how often.
fn planned_before(folder: &RunFolder) -> Result<BTreeSet<TrialId>, StoreError> {
    let (plan, record) = (folder.plan()?, folder.run_record()?);
    Ok(if record.is_some_and(|record| plan.len() >= record.planned) { plan } else { BTreeSet::new() })
}

/// A case in each of its modes: those chosen, else its default one and those of `recorded`.
pub fn planned<'a>(
    settings: &'a Settings,
    found: &'a Arc<FoundCase>,
    recorded: &[String],
) -> impl Iterator<Item = TestCase> + use<'a> {
    let modes = modes(settings, found, recorded).into_iter();
    modes.map(|mode| TestCase { found: Arc::clone(found), mode: Arc::clone(mode) })
}

/// How many repeats of a case in a mode are recorded; 1 where none is, so that the missing recording is reported.
fn recorded_repeats(root: &Path, planned: &TestCase) -> u32 {
    let recorded = |number: &u32| store::recording(root, &planned.trial(*number)).exists();
    (1..=1000).take_while(recorded).count().try_into().unwrap_or(1).max(1)
}

/// Whether a trial of `case` is to be judged.
#[must_use]
pub fn is_judged(case: &Case, settings: &Settings) -> bool {
    settings.judge.wanted.unwrap_or(case.judge)
}
