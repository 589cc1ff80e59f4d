//! Runs the trials of the chosen cases: all of them, or those that an earlier run or a recording leaves open.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use super::choose::{self, no_match, planned, to_resume};
use super::compare::{name_shard, no_case};
use super::{Engine, Loaded, MostTrials};
use crate::cases::selection::selected_cases;
use crate::decide::USUAL_RATE;
use crate::decide::plan::{USUAL_POWER, detectable_fixed};
use crate::decide::{MARGIN, Rule};
use crate::results::estimate::Estimate;
use crate::results::stored_summary;
use crate::results::summary::{CaseCounts, Summary};
use crate::run::kept_store::KeptStore;
use crate::run::plan::{self, PlannedCase, RunPlan};
use crate::run::planned::PlannedRun;
use crate::run::record::{self, FailedTrials, RecordedTrials};
use crate::run::started::StartedRun;
use crate::run::{expected_cost, kept, preflight, scheduler, trial};
use crate::settings::{Settings, Stop};
use crate::store::{self, RunFolder};
use crate::text::diagnostic::once;
use crate::text::name::Filters;
use crate::text::problem::Problem;
use crate::trial::id::{CaseInMode, TrialId};
use crate::trial::outcome::{TrialError, Verdict};
use crate::trial::run_record::{RunChoices, RunRecord};

/// A run that is to happen, whoever asks for it.
#[derive(Clone, Debug, Default)]
pub struct RunRequest {
    pub chosen: RunChoices,
    pub part: RunPart,
    /// Whether the trials are kept for the bases of later gates.
    pub keep: bool,
    /// Whether a replay has a directory, too.
    pub stored: bool,
}

/// Which of the chosen trials run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RunPart {
    #[default]
    All,
    /// Those of the cases that did not pass in this run.
    NotPassed(String),
    /// Those whose recording is stale.
    Stale,
    /// Those whose recording is aged.
    Aged,
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedRun {
    /// What of its files could not be written.
    pub unwritten: Vec<String>,
    /// Why it ended before its plan was done, and what to do.
    pub early: Option<String>,
}

impl Engine<'_> {
    /// Finds the trials to run. `None` if no recording is outdated in the way that the request asks for.
    ///
    /// # Errors
    ///
    /// If something that is chosen does not exist, or cannot run.
    pub fn prepare_run(&self, loaded: Loaded, request: RunRequest) -> Result<Option<PlannedRun>, Problem> {
        let RunRequest { mut chosen, part, keep, stored } = request;
        let Loaded { repository, mut settings, catalog } = loaded;
        if let Some(shard) = chosen.shard {
            name_shard(&repository.root, &mut settings, shard, (stored || !chosen.replay) && !self.dry_run)?;
        }
        if let Some(earlier) = earlier(&repository.root, &settings, &part)? {
            chosen = chosen.or(earlier);
        }
        choose::apply(&chosen, &mut settings)?;
        if settings.record && chosen.overrides.stop == Some(Stop::Settled) {
            return Err("a recording needs whole trials: leave out --trial-end settled or --record".into());
        }
        if keep {
            // As gates do: a trial stands for another one that would end at the same time.
            settings.stop.get_or_insert(Stop::Settled);
        }
        self.choose_default_modes(&repository.root, &mut settings, &catalog, &mut chosen)?;
        let mut run = with_part(planned(Loaded { repository, settings, catalog }, chosen)?, &part)?;
        if run.plan.is_empty() {
            return Ok(None);
        }
        if let RunPart::NotPassed(failed) = &part {
            let summary = stored_summary::of_run(&RunFolder::open(&run.root, failed)?, &run.settings)?;
            let gone = gone(&run, &summary);
            if !gone.is_empty() {
                self.host.warn(&format!("left out, since no file has them any more: {}", gone.join(", ")));
            }
        }
        if let Some(shard) = run.chosen.shard {
            let all = run.plan.entries.len();
            run = run.of_shard(shard)?;
            if run.plan.is_empty() {
                self.host.note(&format!("{}: nothing to run", no_case(shard, all)));
            } else if let Some(limit) = run.settings.limit() {
                self.host.note(&format!(
                    "shard {shard} has a limit of {limit}; each shard may exceed its share by one trial"
                ));
            }
        }
        if keep {
            run.kept = Some(keeps(&run)?);
        }
        run.is_stored = run.settings.live || stored;
        Ok(Some(run))
    }

    /// Runs the plan. The results are those that the run's listeners get, and its summary.
    pub fn run(&self, run: &StartedRun) -> EndedRun {
        self.host.watch(run, MostTrials::Exactly(run.plan.len()), &mut || scheduler::run(run));
        EndedRun { unwritten: run.close(), early: run.early_end_message() }
    }

    /// Keeps the trials of an ended run for later gates, if that was asked for.
    ///
    /// # Errors
    ///
    /// If they cannot be written.
    pub fn keep(&self, run: &StartedRun) -> Result<(), Problem> {
        if run.kept.is_some() {
            kept::keep_plan(run)?;
            for warning in kept::warnings(run) {
                self.host.warn(&warning);
            }
        }
        Ok(())
    }
}

/// Records the trials of an ended run, if its settings ask for that.
///
/// # Errors
///
/// If a recording cannot be written.
pub fn recorded(run: &StartedRun, failing: FailedTrials) -> Result<Vec<RecordedTrials>, Problem> {
    if run.settings.record { Ok(record::record(run, &run.plan, failing)?) } else { Ok(Vec::new()) }
}

/// What a run is expected to take, and what keeps cases from running.
///
/// # Errors
///
/// If nothing could run.
pub fn estimated(run: &PlannedRun) -> Result<Estimate, Problem> {
    preflight::check_dry_run(run)?;
    let (mut entries, mut problems) = (Vec::new(), Vec::new());
    for entry in &run.plan.entries {
        let found = preflight::wrong(run, entry);
        if found.is_empty() {
            entries.push(entry.clone());
        }
        problems.extend(found);
    }
    let plan = RunPlan { entries };
    let ids: Vec<TrialId> = plan.ids_at_most().collect();
    let at_least = Some(plan.len()).filter(|_| plan.grows());
    // Runs are compared mode by mode.
    let mut trials_of_mode: BTreeMap<&str, u64> = BTreeMap::new();
    for id in &ids {
        *trials_of_mode.entry(&id.mode).or_default() += 1;
    }
    let fewest = trials_of_mode.into_values().min().filter(|_| run.settings.live && at_least.is_none());
    let rule = Rule { margin: Some(MARGIN), ..Rule::default() };
    let detectable_drop = fewest.and_then(|pairs| detectable_fixed(pairs, USUAL_RATE, &rule, USUAL_POWER));
    Ok(Estimate { at_least, detectable_drop, problems: once(problems), ..expected_cost::estimate(run, &ids) })
}

/// The choices of the run to resume, or of the run in which cases did not pass.
fn earlier(root: &Path, settings: &Settings, part: &RunPart) -> Result<Option<RunChoices>, Problem> {
    if let RunPart::NotPassed(failed) = part {
        let record = RunFolder::open(root, failed)?.run_record().ok().flatten();
        if record.as_ref().is_some_and(RunRecord::compares) {
            return Err(format!(
                "{failed} is a comparison: its trials run only together with those that they are compared with; skill-evals summary {failed} lists the cases that did not \
                 pass, and skill-evals run --case runs them with today's skills"
            )
            .into());
        }
        // The verdicts choose the cases, and their agents run now, even after a replay.
        let mut chosen = record.map(|record| record.chosen);
        if let Some(chosen) = &mut chosen {
            chosen.replay = false;
            chosen.shard = None;
            chosen.trials_by_name.clear();
        }
        return Ok(chosen);
    }
    if !settings.resume {
        return Ok(None);
    }
    let folder = to_resume(root, settings)?;
    let id = folder.id();
    match folder.run_record() {
        Ok(Some(record)) if record.compares() => {
            Err(format!("{id} is a comparison; {}", folder.remedy()).into())
        }
        Ok(Some(record)) => Ok(Some(record.chosen)),
        Ok(None) | Err(_) if settings.force => Ok(None),
        Ok(None) => Err(format!(
            "{id} has no run.json, which says what to run; --force resumes with what is chosen here and keeps the results"
        )
        .into()),
        Err(error) => Err(format!("{error}; --force resumes without it and keeps the results").into()),
    }
}

/// The run with a part of its plan.
///
/// # Errors
///
/// If that part has no trial, unless it is what is outdated.
pub fn with_part(mut run: PlannedRun, part: &RunPart) -> Result<PlannedRun, Problem> {
    let mut plan = std::mem::take(&mut run.plan);
    if let RunPart::NotPassed(failed) = part {
        let summary = stored_summary::of_run(&RunFolder::open(&run.root, failed)?, &run.settings)?;
        let did_not_pass = |counts: &CaseCounts| counts.verdict() != Some(Verdict::Pass);
        if !summary.cases.values().any(did_not_pass) {
            return Err(format!("nothing to rerun: {failed} passed").into());
        }
        plan.entries.retain(|entry| summary.cases.get(&entry.planned.case_in_mode()).is_some_and(did_not_pass));
        run.chosen.trials_by_name = plan.first_trials();
        if plan.is_empty() {
            let gone = gone(&run, &summary);
            let gone =
                if gone.is_empty() { String::new() } else { format!("; no file has {} any more", gone.join(", ")) };
            return Err(format!("no case is selected that did not pass in {failed}{gone}").into());
        }
    } else if !run.chosen.trials_by_name.is_empty() {
        let chosen: BTreeSet<&String> = run.chosen.trials_by_name.iter().collect();
        plan.entries.retain(|entry| chosen.contains(&entry.planned.trial(1).to_string()));
    }
    if plan.is_empty() {
        return Err(no_match(&run.chosen.filters, &run.catalog, &run.settings).into());
    }
    if matches!(part, RunPart::Stale | RunPart::Aged) {
        plan = outdated(&run, *part == RunPart::Aged)?;
        run.chosen.trials_by_name = plan.first_trials();
    }
    Ok(run.with_plan(plan))
}

/// The cases of a run that did not pass, and that no file has any more.
fn gone(run: &PlannedRun, summary: &Summary) -> Vec<String> {
    let is_here = |of: &CaseInMode| run.catalog.cases.iter().any(|case| *case.skill == of.skill && case.id == of.case);
    let open = summary.cases.iter().filter(|(_, counts)| counts.verdict() != Some(Verdict::Pass));
    let gone: BTreeSet<String> =
        open.filter(|(of, _)| !is_here(of)).map(|(of, _)| format!("{}/{}", of.skill, of.case)).collect();
    gone.into_iter().collect()
}

/// The cases whose recordings are aged, or stale, in every mode in which they are recorded.
fn outdated(run: &PlannedRun, is_aged: bool) -> Result<RunPlan, Problem> {
    let filters = Filters::new(&run.chosen.filters, false);
    let mut entries = Vec::new();
    for found in selected_cases(&run.settings.selection, &run.catalog)? {
        let recorded = store::recorded_modes(&run.root, &found.skill, &found.id)?;
        for planned in plan::planned(&run.settings, found, &recorded) {
            let replayed = preflight::ready(run, &planned).and_then(|ready| trial::replay(run, &ready, 1, &|_| ()));
            let is_wanted = match replayed {
                Ok(outcome) => is_aged && outcome.aged,
                Err(TrialError::Stale { .. } | TrialError::Unreadable(_)) => !is_aged,
                Err(_) => false,
            };
            if is_wanted && filters.want(|| planned.test_name()) {
                entries.push(PlannedCase::of(planned, &run.settings));
            }
        }
    }
    Ok(RunPlan { entries })
}

/// What is kept of a run. Refuses cases whose results decide how many trials they have.
fn keeps(run: &PlannedRun) -> Result<KeptStore, Problem> {
    if run.plan.grows() {
        return Err("--keep needs a number of trials that no result decides: add --trials 1".into());
    }
    Ok(KeptStore::new(run, Duration::MAX, run.plan.entries.iter().map(|entry| &entry.planned))?)
}
