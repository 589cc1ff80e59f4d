//! What earlier runs and recordings tell of a run that is to come, or of one that goes on.

use std::collections::BTreeMap;
use std::path::Path;

use crate::agent;
use crate::report::estimate::Known;
use crate::report::status::{RunningFor, Standing, State};
use crate::report::summary::{CaseInMode, Summary};
use crate::run::shared::Run;
use crate::store::{self, RunFolder, StoreError, TrialFolder};
use crate::trial::evidence::Inputs;
use crate::trial::id::{Planned, TrialId};
use crate::trial::outcome::NoOutcome;

/// How many earlier runs are asked what cases cost.
const RUNS: usize = 50;

/// The most that trials of these cases were known to take.
#[must_use]
pub fn known_costs(root: &Path, ids: &[TrialId]) -> BTreeMap<CaseInMode, Known> {
    let key = |id: &TrialId| CaseInMode { skill: id.skill.clone(), case: id.case.clone(), mode: id.mode.clone() };
    let mut known: BTreeMap<CaseInMode, Known> = ids.iter().map(|id| (key(id), Known::default())).collect();
    for run in store::runs(root).into_iter().take(RUNS) {
        // A run whose progress cannot be read tells nothing.
        for record in run.progress().map(|progress| progress.records).unwrap_or_default().into_values() {
            if let Some(known) = known.get_mut(&key(&record.id)) {
                known.at_least(record.cost_usd, record.tokens);
            }
        }
    }
    for id in ids {
        let folder = store::recording(root, id);
        let Ok(meta) = folder.meta() else { continue };
        let usage =
            agent::of(meta.agent.kind).decode(&meta.tool_names(), folder.path()).ok().and_then(|trace| trace.usage);
        if let (Some(known), Some(usage)) = (known.get_mut(&key(id)), usage) {
            known.at_least(usage.cost_usd, Some(usage.total_tokens()));
        }
    }
    known
}

/// What decides these trials, each part with its digest: what a resumed run must find unchanged.
///
/// # Errors
/// When a case is wrong, or a file cannot be read.
pub fn inputs(run: &Run, planned: &[Planned<'_>]) -> std::io::Result<Inputs> {
    let settings = &run.settings;
    let mut inputs = Inputs::default();
    let mut add = |name: &str, content: String| inputs.add(format!("setting {name}"), content.as_bytes());
    add("model", format!("{:?}", settings.model));
    add("trials", settings.trials.to_string());
    add("timeout_s", settings.timeout.as_secs().to_string());
    add("env", format!("{:?}", settings.env));
    add("pass_env", format!("{:?}", settings.pass_env));
    add("agents", format!("{:?}", settings.agents));
    add("judge", format!("{:?}", settings.judge));
    add("secret_env", format!("{:?}", settings.secret_env));
    add("scripted", format!("{:?}", settings.scripted));
    let names: Vec<String> = planned.iter().map(|planned| planned.trial(1).to_string()).collect();
    inputs.add("selection of cases and modes", names.join("\n").as_bytes());
    for planned in planned {
        let name = format!("case {}/{}", planned.found.skill, planned.found.id);
        let Ok(case) = planned.found.case() else {
            inputs.add(name, b"broken");
            continue;
        };
        let parts = run.inputs.read(&run.root, &run.catalog, &case, planned.mode, &[])?;
        for (part, digest) in parts.0 {
            let shared = part.starts_with("skill ") || part.starts_with("catalogue");
            inputs.0.insert(if shared { part } else { format!("{name}: {part} ({})", planned.mode) }, digest);
        }
        inputs.add(format!("{name}: expectations"), format!("{:?} {:?}", case.timeout, case.expectations).as_bytes());
    }
    Ok(inputs)
}

/// Where a run stands.
///
/// # Errors
/// When its files cannot be read.
pub fn standing(run: &RunFolder) -> Result<Standing, StoreError> {
    let live = run.is_live();
    let progress = run.progress()?;
    // A damaged run.json is no reason to be silent about what was measured.
    let planned = run.run_record().ok().flatten().map(|record| record.planned);
    let mut summary = Summary::new(Vec::new());
    let mut failed = Vec::new();
    for record in progress.records.values() {
        summary.add(record);
        if !record.failed.is_empty() {
            failed.push(format!("{}: {}", record.id, record.failed.join(", ")));
        }
    }
    let done = summary.total;
    let state = match (live, run.has_summary()) {
        (true, _) => State::Running,
        (false, true) => State::Finished,
        (false, false) => State::Ended,
    };
    let now = jiff::Timestamp::now();
    let current = run.current();
    let running = current.running.into_iter().filter(|running| !progress.records.contains_key(&running.id));
    let seconds = |since: &str| {
        let until = if live { now } else { current.updated.parse().unwrap_or(now) };
        let since: jiff::Timestamp = since.parse().unwrap_or(until);
        u64::try_from(until.duration_since(since).as_secs()).unwrap_or_default()
    };
    Ok(Standing {
        id: run.id().to_owned(),
        state,
        pid: run.runner().map(|runner| runner.pid),
        planned,
        left: planned.map(|planned| planned.saturating_sub(done.measured() + done.unscored)),
        failed,
        running: running
            .map(|running| RunningFor { trial: running.id.to_string(), seconds: seconds(&running.since) })
            .collect(),
        done,
        damaged_lines: progress.damaged,
    })
}

/// The summary of these trials, made again from their folders. Says which could not be read.
#[must_use]
pub fn summarize(runs: Vec<String>, trials: &[TrialFolder]) -> (Summary, Vec<StoreError>) {
    let mut summary = Summary::new(runs);
    let mut unreadable = Vec::new();
    for trial in trials {
        match trial.record() {
            Ok(record) => summary.add(&record),
            Err(error) => unreadable.push(error),
        }
    }
    (summary, unreadable)
}

/// What is wrong with the cases that cannot run.
#[must_use]
pub fn broken(planned: &[Planned<'_>]) -> Vec<(TrialId, NoOutcome)> {
    let broken = |planned: &Planned<'_>| {
        let problems = planned.found.case().err()?;
        Some((planned.trial(1), NoOutcome::BadCase(problems)))
    };
    planned.iter().filter_map(broken).collect()
}
