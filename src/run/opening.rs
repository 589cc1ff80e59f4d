//! Opens a run: its folder, the lock that keeps it to its runner, its record, the snapshot of the skills, and what it
//! keeps of an earlier part of it.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::agent::snapshot::SkillSnapshot;
use crate::agent::trial_env::{ScratchDir, WorkspaceError};
use crate::cases::catalog::Catalog;
use crate::process::{background, watchdog};
use crate::results::table;
use crate::run::context::RunContext;
use crate::run::digests::{SkillFolders, opened_skills};
use crate::run::live::{LiveRun, Redactors, RunOpenError, Snapshots};
use crate::run::ready;
use crate::settings::{Settings, TestSelection};
use crate::store::{Ledger, RunFolder, StoreError};
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::event::{EventListener, RunEvent};
use crate::trial::id::TrialId;
use crate::trial::run_record::{ProgressLine, RUN_FORMAT, RunChoices, RunRecord, TrialRecord};

/// Opens the run at the first call: its folder, its lock, its record, the snapshot of the skills.
pub fn live(run: &RunContext) -> Result<&LiveRun, &RunOpenError> {
    let opened = run.live.get_or_init(|| {
        let (live, progress_file) = open(run)?;
        run.begin(&live, progress_file);
        Ok(live)
    });
    opened.as_ref()
}

/// Opens the run; the second value writes its progress file.
fn open(run: &RunContext) -> Result<(LiveRun, ProgressWriter), RunOpenError> {
    let files = |error: &dyn fmt::Display| RunOpenError::Trouble(Trouble::new(TroubleKind::Files, error.to_string()));
    ready::check(run).map_err(RunOpenError::Refused)?;
    let (folder, begun) = folder(run)?;
    let mut runner = background::this_process();
    if run.shared_id.is_some() {
        runner = background::parent_process();
        runner.shared = true;
    }
    let lock = folder.lock(runner).map_err(|error| RunOpenError::Refused(error.to_string()))?;
    let alone = run.shared_id.is_none();
    if alone && !begun && folder.is_run() {
        // Another process had the run while this one waited for the lock.
        return Err(RunOpenError::Refused(StoreError::Exists(folder.id().to_owned()).to_string()));
    }
    let earlier = if begun { folder.run_record().ok().flatten() } else { None };
    // What an earlier part of the run was to do stays what the run is to do. Kept before anything that takes long: a run
    // that is killed meanwhile must not go on with more than it was to do. What is compared may go further than before.
    let record = alone.then(|| match earlier {
        Some(earlier) => {
            // What was said of repeats when it went on holds from then on.
            let chosen = RunChoices {
                trials: run.chosen.trials.or(earlier.chosen.trials),
                threshold: run.chosen.threshold.or(earlier.chosen.threshold),
                ..earlier.chosen
            };
            let grows = earlier.grows || run.plan.grows();
            RunRecord { chosen, grows, sides: run.sides.clone().or(earlier.sides), ..earlier }
        }
        None => record(run, folder.id()),
    });
    let keep_record = |planned: usize| match &record {
        Some(record) => folder.write_run(&RunRecord { planned, ended: None, ..record.clone() }),
        None => Ok(()),
    };
    keep_record(record.as_ref().map_or(0, |record| record.planned)).map_err(|error| files(&error))?;
    if begun {
        let prices = &run.settings.prices;
        if alone {
            table::repair_progress(&folder, prices)
        } else {
            table::complete_progress(&folder, run.plan.ids(), prices)
        }
        .map_err(|error| files(&error))?;
    }
    let before = folder.progress().map_err(|error| files(&error))?;
    let ledger = folder.ledger().map_err(|error| files(&error))?;
    let scratch = ScratchDir::open(run.settings.scratch.as_deref()).map_err(|error| files(&error))?;
    watchdog::remove_afterwards(scratch.path());
    let snapshots = snapshots(run, &folder, &scratch).map_err(|error| files(&error))?;
    let kept_although_changed = if begun { changed(run, &folder, &snapshots)? } else { Vec::new() };
    let planned = folder.add_to_plan(run.plan.lines()).map_err(|error| files(&error))?;
    keep_record(planned).map_err(|error| files(&error))?;
    let redactors = Redactors::new(&run.settings);
    let ledger_trouble = Arc::<Mutex<Option<String>>>::default();
    let progress = ProgressWriter { ledger, folder: folder.clone(), trouble: Arc::clone(&ledger_trouble) };
    lock.keep_room(&folder).map_err(|error| files(&error))?;
    let live = LiveRun { folder, scratch, snapshots, redactors, kept_although_changed, before, ledger_trouble, lock };
    Ok((live, progress))
}

/// Copies every version of the skills, and keeps a copy of each in the run's folder.
fn snapshots(run: &RunContext, folder: &RunFolder, scratch: &ScratchDir) -> Result<Snapshots, WorkspaceError> {
    let mut taken = HashMap::new();
    let mut take = |commit: Option<&String>, name: &str, root: &Path, catalog: &Catalog| {
        let snapshot = SkillSnapshot::take(scratch, name, root, catalog)?;
        snapshot.keep(&folder.snapshot(commit.map(String::as_str)))?;
        taken.insert(commit.cloned(), Arc::new(snapshot));
        Ok::<_, WorkspaceError>(())
    };
    take(None, "skills", &run.root, &run.catalog)?;
    for (number, version) in run.versions.iter().enumerate() {
        take(Some(&version.commit), &format!("skills-{number}"), version.root(), &version.catalog)?;
    }
    Ok(Snapshots::new(taken))
}

/// The run's folder, and whether an earlier part of the run is in it.
fn folder(run: &RunContext) -> Result<(RunFolder, bool), RunOpenError> {
    let refused = |error: crate::store::StoreError| RunOpenError::Refused(error.to_string());
    let settings = &run.settings;
    if settings.resume {
        let Some(id) = &settings.run_id else {
            return Err(RunOpenError::Refused("to resume, set SKILL_EVALS_RUN_ID".to_owned()));
        };
        let folder = RunFolder::open(&run.root, id).map_err(refused)?;
        return Ok((folder, true));
    }
    let folder = match &run.shared_id {
        Some(key) => RunFolder::shared(&run.root, settings.run_id.as_deref(), key, |id| record(run, id)),
        None => RunFolder::create(&run.root, settings.run_id.as_deref()),
    };
    Ok((folder.map_err(refused)?, false))
}

fn record(run: &RunContext, id: &str) -> RunRecord {
    RunRecord {
        format: RUN_FORMAT,
        id: id.to_owned(),
        created: jiff::Timestamp::now().to_string(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        shared_by: run.shared_id.clone(),
        planned: run.plan.len(),
        grows: run.shared_id.is_none() && run.plan.grows(),
        chosen: in_force(&run.chosen, &run.settings),
        sides: run.sides.clone(),
        imported: None,
        ended: None,
    }
}

/// The settings in force, wherever they were chosen: a resumed run uses them again.
fn in_force(chosen: &RunChoices, settings: &Settings) -> RunChoices {
    let TestSelection { suite, skills, tasks, cases, max_skills, max_cases } = settings.selection.clone();
    RunChoices {
        suite: Some(suite.name().to_owned()),
        skills,
        tasks,
        cases,
        max_skills,
        max_cases,
        modes: settings.selected_modes.clone().unwrap_or_default(),
        model: settings.model.clone().or_else(|| chosen.model.clone()),
        trials: settings.repetition.asked.trials,
        threshold: settings.repetition.asked.threshold,
        timeout_s: Some(settings.timeout.as_secs()),
        judge: settings.judge.wanted,
        judge_votes: Some(settings.judge.votes),
        replay: !settings.live,
        filters: chosen.filters.clone(),
        trials_by_name: chosen.trials_by_name.clone(),
    }
}

/// The trials that an earlier part of the run measured and whose inputs have changed since, with what has changed.
fn changed(
    run: &RunContext,
    folder: &RunFolder,
    snapshots: &Snapshots,
) -> Result<Vec<(TrialId, Vec<String>)>, RunOpenError> {
    let mut found = Vec::new();
    for (entry, id) in run.plan.entries.iter().flat_map(|entry| entry.ids().map(move |id| (entry, id))) {
        // What cannot be read is measured again.
        let Ok(meta) = folder.trial(&id).meta() else { continue };
        let Ok(case) = entry.planned.found.case() else { continue };
        let snapshot = snapshots.offered(&entry.planned.mode, &case.skill).map_err(RunOpenError::Trouble)?;
        let skills = SkillFolders::Snapshot(&snapshot);
        let now = run.digested(&skills, case, &entry.planned.mode, &opened_skills(&meta.inputs));
        let now = now.map_err(|error| RunOpenError::Trouble(Trouble::new(TroubleKind::Files, error.to_string())))?;
        let changed = meta.inputs.differences(&now);
        if !changed.is_empty() {
            found.push((id, changed));
        }
    }
    if found.is_empty() || run.settings.force {
        return Ok(found);
    }
    let mut list: Vec<String> = found.iter().map(|(id, changed)| format!("{id}: {}", changed.join(", "))).collect();
    let more = list.len().saturating_sub(20);
    list.truncate(20);
    if more > 0 {
        list.push(format!("and {more} more"));
    }
    Err(RunOpenError::Refused(format!(
        "the run `{}` cannot resume: what decides these results has changed since they were measured\n  {}\n\
         --force (SKILL_EVALS_RESUME=force) keeps them all the same; without --resume a new run measures them again",
        folder.id(),
        list.join("\n  ")
    )))
}

/// Writes the run's progress file: a line for every trial that ends, and for every attempt that was refused.
#[derive(Debug)]
struct ProgressWriter {
    ledger: Ledger,
    folder: RunFolder,
    trouble: Arc<Mutex<Option<String>>>,
}

impl ProgressWriter {
    /// The trial's own folder says the same, so nothing is lost, but the user has to know.
    fn stored<E: fmt::Display>(&self, result: Result<(), E>) {
        if let Err(error) = result {
            self.trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error.to_string());
        }
    }
}

impl EventListener for ProgressWriter {
    fn on_event(&mut self, event: &RunEvent) {
        let line = match event {
            RunEvent::Planned(id) => return self.stored(self.folder.plan_further(id)),
            RunEvent::Finished { result, attempts, .. } => {
                let Ok(outcome) = result.as_ref() else { return };
                let mut record = TrialRecord::new(outcome, *attempts);
                record.ended = Some(jiff::Timestamp::now().to_string());
                ProgressLine::Ended(Box::new(record))
            }
            RunEvent::Kept { outcome, attempts, news: true } => {
                ProgressLine::Ended(Box::new(TrialRecord::new(outcome, *attempts)))
            }
            RunEvent::Refused { id, spent } => ProgressLine::Refused { refused: id.clone(), spent: *spent },
            _ => return,
        };
        self.stored(self.ledger.append(&line));
    }
}
