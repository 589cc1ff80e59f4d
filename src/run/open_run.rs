//! Opens a run: its directory, its lock, its record, the snapshots of the skills, and what an earlier part of it left.

use crate::run::case_digests;
use crate::run::live::{LiveRun, Redactors, Snapshots};
use std::collections::HashMap;
use std::error::Error;
use std::fmt::Display;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::agent::isolation;
use crate::agent::snapshot::SkillSnapshot;
use crate::agent::trial_env::{ScratchDir, WorkspaceError};
use crate::cases::catalog::Catalog;
use crate::files::look;
use crate::process::{background, watchdog};
use crate::results::graded_trial;
use crate::run::agent_run::files;
use crate::run::calibration::{self};
use crate::run::digests::{SkillFolders, opened_skills};
use crate::run::planned::PlannedRun;
use crate::run::preflight;
use crate::run::rate_limiter::Budget;
use crate::run::started::StartedRun;
use crate::settings::TestSelection;
use crate::settings::mode::Mode;
use crate::store::{Journal, RunFolder, RunLock, StoreError};
use crate::text::problem::Problem;
use crate::trace::trouble::TroubleKind;
use crate::trial::event::{EventListener, RunEvent};
use crate::trial::id::TrialId;
use crate::trial::run_record::Overrides;
use crate::trial::run_record::{ProgressLine, RUN_FORMAT, RunChoices, RunRecord, TrialRecord};
use crate::trial::shard::ShardedCase;

/// Opens the run at the first call. If that fails, every later call fails in the same way.
pub fn live(run: &StartedRun) -> Result<&LiveRun, &Problem> {
    let opened = run.live.get_or_init(|| {
        let (live, progress_file) = open(run)?;
        run.begin(&live, progress_file);
        Ok(live)
    });
    opened.as_ref()
}

fn trouble(error: impl Error) -> Problem {
    files(&error).into()
}

/// Opens the run; the second value writes its progress file.
fn open(run: &StartedRun) -> Result<(LiveRun, ProgressWriter), Problem> {
    preflight::check(run)?;
    let resumes = run.settings.resume;
    let folder = folder(run)?;
    let is_shared = run.shared_id.is_some();
    let lock = locked(&folder, is_shared, resumes)?;
    // The record is written before anything that takes long: if the run is killed meanwhile, it must not resume with more
    // than it was to do.
    let mut record = (!is_shared).then(|| {
        let earlier = if resumes { folder.run_record().ok().flatten() } else { None };
        let record = earlier.map_or_else(|| record(run, folder.id()), |earlier| resumed(run, earlier));
        RunRecord { ended: None, ..record }
    });
    let write_record = |record: &Option<RunRecord>| match record {
        Some(record) => folder.write_run(record),
        None => Ok(()),
    };
    write_record(&record).map_err(trouble)?;
    if resumes && is_shared {
        graded_trial::complete_progress(&folder, run.plan.ids(), &run.settings.prices).map_err(trouble)?;
    } else if resumes {
        graded_trial::repair_progress(&folder, &run.settings.prices).map_err(trouble)?;
    }
    let before = folder.noted().map_err(trouble)?;
    let journal = folder.journal().map_err(trouble)?;
    let scratch = isolation::scratch(&run.settings).map_err(trouble)?;
    watchdog::remove_afterwards(scratch.path());
    let of_files =
        |record: &TrialRecord| record.trouble.as_ref().is_some_and(|trouble| trouble.kind == TroubleKind::Files);
    let is_apart = before.records.values().any(of_files);
    let snapshots = snapshots(run, &folder, &scratch, is_apart).map_err(trouble)?;
    let kept_although_changed = if resumes { changed(run, &folder, &snapshots)? } else { Vec::new() };
    let planned = folder.add_to_plan(run.plan.lines()).map_err(trouble)?;
    if let Some(record) = &mut record {
        record.planned = planned;
        record.all_cases = all_cases(run, &folder)?.or(record.all_cases.take());
    }
    write_record(&record).map_err(trouble)?;
    let redactors = Redactors::new(&run.settings);
    let journal_trouble = Arc::<Mutex<Option<String>>>::default();
    let progress = ProgressWriter { journal, folder: folder.clone(), trouble: Arc::clone(&journal_trouble) };
    lock.keep_disk_space(&folder).map_err(trouble)?;
    let modes: HashMap<&String, &Mode> =
        run.plan.entries.iter().map(|entry| (&entry.planned.mode.name, &*entry.planned.mode)).collect();
    let known = calibration::known(&run.settings, &run.calibrated, modes.into_values());
    let budget = Budget::new(&run.settings, folder.follower());
    let live = LiveRun {
        folder,
        snapshots,
        scratch,
        redactors,
        known,
        kept_although_changed,
        before,
        journal_trouble,
        recorded_mocks: Mutex::default(),
        budget,
        not_stored: OnceLock::new(),
        lock,
    };
    Ok((live, progress))
}

/// The record of a resumed run: what it was to do stays, except for new choices about repeats. A comparison may go further.
fn resumed(run: &PlannedRun, earlier: RunRecord) -> RunRecord {
    let chosen = RunChoices {
        overrides: Overrides {
            trials: run.chosen.overrides.trials,
            threshold: run.chosen.overrides.threshold,
            ..Overrides::default()
        }
        .or(earlier.chosen.overrides),
        ..earlier.chosen
    };
    let grows = earlier.grows || run.plan.grows();
    let sides = run.sides.clone().or(earlier.sides);
    // A merged run gets trials of its own, which must not be merged away.
    RunRecord { chosen, grows, sides, merged: Vec::new(), absent: Vec::new(), ..earlier }
}

/// Copies every version of the skills, for the agents and into the run's directory. If the files of earlier trials were no longer what
/// they had been, the trials `is_apart`: each has its own.
fn snapshots(
    run: &PlannedRun,
    folder: &RunFolder,
    scratch: &ScratchDir,
    is_apart: bool,
) -> Result<Snapshots, WorkspaceError> {
    let (mut versions, mut copies) = (HashMap::new(), HashMap::new());
    let mut take = |commit: Option<&String>, root: &Path, catalog: &Catalog| {
        let snapshot = SkillSnapshot::take(scratch, root, catalog)?;
        let mut path = folder.snapshot(commit.map(String::as_str));
        // By an earlier part of the run. Its trials are read by that one.
        if look::exists(&path)? && !snapshot.is_copied_to(&path)? {
            let name = snapshot.copy_name()?;
            path = folder.snapshot(Some(&name));
            copies.insert(commit.cloned(), name);
        }
        snapshot.keep(&path)?;
        if is_apart {
            snapshot.keep_apart();
        }
        versions.insert(commit.cloned(), Arc::new(snapshot));
        Ok::<_, WorkspaceError>(())
    };
    take(None, &run.root, &run.catalog)?;
    for version in &run.versions {
        take(Some(&version.commit), version.root(), &version.catalog)?;
    }
    Ok(Snapshots::new(versions, copies))
}

/// Makes this process, or the one that shares the run, its runner.
fn locked(folder: &RunFolder, is_shared: bool, resumes: bool) -> Result<RunLock, Problem> {
    let mut runner = background::this_process();
    if is_shared {
        runner = background::parent_process();
        runner.shared = true;
    }
    let lock = folder.lock(runner)?;
    if !is_shared && !resumes && folder.is_run()? {
        // Another process had the run while this one waited for the lock.
        return Err(StoreError::Exists(folder.id().to_owned()).into());
    }
    Ok(lock)
}

/// Stores what all shards of the run are to have, if it is one of them. Returns its digest.
fn all_cases(run: &PlannedRun, folder: &RunFolder) -> Result<Option<String>, Problem> {
    let Some(whole) = &run.whole_plan else { return Ok(None) };
    let mut cases: Vec<ShardedCase> = whole.entries.iter().map(|entry| case_digests::sharded(run, entry)).collect();
    // The order of the files decides nothing.
    cases.sort_by(|a, b| a.case.cmp(&b.case));
    Ok(Some(folder.write_all_cases(&cases).map_err(trouble)?))
}

fn folder(run: &PlannedRun) -> Result<RunFolder, Problem> {
    let id = run.settings.run_id.as_deref();
    let folder = match (&run.shared_id, id) {
        (_, None) if run.settings.resume => return Err("to resume, set SKILL_EVALS_RUN_ID".into()),
        (_, Some(id)) if run.settings.resume => RunFolder::open(&run.root, id),
        (Some(key), _) => RunFolder::shared(&run.root, id, key, |id| record(run, id)),
        (None, _) => RunFolder::create(&run.root, id),
    };
    Ok(folder?)
}

pub(super) fn record(run: &PlannedRun, id: &str) -> RunRecord {
    RunRecord {
        format: RUN_FORMAT,
        id: id.to_owned(),
        created: jiff::Timestamp::now().to_string(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        shared_by: run.shared_id.clone(),
        planned: run.plan.len(),
        grows: run.shared_id.is_none() && run.plan.grows(),
        chosen: choices(run),
        sides: run.sides.clone(),
        contents: run.contents.clone(),
        all_cases: None,
        merged: Vec::new(),
        absent: Vec::new(),
        variants: run.variants.clone(),
        imported: None,
        ended: None,
    }
}

/// The settings in force, wherever they were set: a resumed run uses them again.
fn choices(run: &PlannedRun) -> RunChoices {
    let (chosen, settings) = (&run.chosen, &run.settings);
    let suite = Some(settings.selection.suite().to_string());
    RunChoices {
        selection: TestSelection { suite, ..settings.selection.clone() },
        modes: settings.selected_modes.clone().unwrap_or_default(),
        default_modes: settings.default_modes.clone(),
        // A run of several models has none in its settings.
        overrides: Overrides::of(settings)
            .or(Overrides { model: chosen.overrides.model.clone(), ..Overrides::default() }),
        replay: !settings.live,
        filters: chosen.filters.clone(),
        trials_by_name: chosen.trials_by_name.clone(),
        shard: chosen.shard,
    }
}

/// The trials that an earlier part of the run measured and whose inputs have changed since, with these inputs. Fails if
/// there are some and `--force` was not given.
fn changed(
    run: &PlannedRun,
    folder: &RunFolder,
    snapshots: &Snapshots,
) -> Result<Vec<(TrialId, Vec<String>)>, Problem> {
    let mut outdated = Vec::new();
    for (entry, id) in run.plan.entries.iter().flat_map(|entry| entry.ids().map(move |id| (entry, id))) {
        // Unreadable trials are measured again.
        let (Ok(meta), Ok(case)) = (folder.trial(&id).meta(), entry.planned.found.case()) else { continue };
        let mode = &entry.planned.mode;
        let snapshot = snapshots.offered(mode, &case.skill, run.plugin_for(mode, case))?;
        let now = run
            .digested(&SkillFolders::Snapshot(&snapshot), case, mode, &opened_skills(&meta.inputs))
            .map_err(trouble)?;
        let changed = meta.inputs.differences(&now);
        if !changed.is_empty() {
            outdated.push((id, changed));
        }
    }
    if outdated.is_empty() || run.settings.force {
        return Ok(outdated);
    }
    let list = outdated.iter().take(20).map(|(id, changed)| format!("{id}: {}", changed.join(", ")));
    let more = outdated.len().saturating_sub(20);
    let list: Vec<String> = list.chain((more > 0).then(|| format!("and {more} more"))).collect();
    Err(format!(
        "the run `{}` cannot resume: what decides these results has changed since they were measured\n  {}\n\
         --force (SKILL_EVALS_RESUME=force) keeps them all the same; without --resume a new run measures them again",
        folder.id(),
        list.join("\n  ")
    )
    .into())
}

/// Writes the run's progress file: a line for every trial that ends, and for every attempt that was refused.
#[derive(Debug)]
struct ProgressWriter {
    journal: Journal,
    folder: RunFolder,
    trouble: Arc<Mutex<Option<String>>>,
}

impl ProgressWriter {
    /// Keeps the first error for the user. Nothing is lost: the trial's own directory has the same facts.
    fn stored<E: Display>(&self, result: Result<(), E>) {
        if let Err(error) = result {
            self.trouble.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error.to_string());
        }
    }
}

impl EventListener for ProgressWriter {
    fn on_event(&mut self, event: &RunEvent) {
        let line = match event {
            RunEvent::Planned(id) => return self.stored(self.folder.plan_further(&[id.clone().into()])),
            RunEvent::Finished { result, attempts, .. } => {
                let Ok(outcome) = result.as_ref() else { return };
                let mut record = TrialRecord::new(outcome, *attempts);
                record.ended = Some(jiff::Timestamp::now().to_string());
                ProgressLine::Ended(Box::new(record))
            }
            RunEvent::Resumed { outcome, attempts, news: true } => {
                ProgressLine::Ended(Box::new(TrialRecord::new(outcome, *attempts)))
            }
            RunEvent::Refused { id, spent } => ProgressLine::Refused { refused: id.clone(), spent: *spent },
            _ => return,
        };
        self.stored(self.journal.append(&line));
    }
}
