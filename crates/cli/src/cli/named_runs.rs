//! Stored runs that users name on the command line.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{CliResultOf, archive};
use crate::files::look;
use crate::run::merge;
use crate::store::{self, RunFolder, Staging, TrialFolder};

/// Whether `name` is a directory rather than the id of a run.
pub fn is_directory(name: &str) -> bool {
    name.contains('/')
}

/// The run with this id, or the run or recordings in this directory.
pub fn open(root: &Path, name: &str) -> CliResultOf<RunFolder> {
    Ok(if is_directory(name) { RunFolder::at(Path::new(name)) } else { RunFolder::open(root, name)? })
}

/// The same for several names.
pub fn open_all(root: &Path, names: &[String]) -> CliResultOf<Vec<RunFolder>> {
    let mut runs = Vec::new();
    for name in names {
        if is_directory(name) {
            runs.push(RunFolder::at(Path::new(name)));
        } else {
            runs.extend(open_whole(root, name)?);
        }
    }
    Ok(runs)
}

/// The runs with these names, or the latest run without names. Refuses runs that share trials.
pub fn open_all_or_latest(root: &Path, names: &[String]) -> CliResultOf<Vec<RunFolder>> {
    let runs = if names.is_empty() { vec![latest(root)?] } else { open_all(root, names)? };
    check_distinct(&runs.iter())?;
    Ok(runs)
}

/// The run with this id, or its shards if only they are here.
pub fn open_id(root: &Path, id: &str) -> CliResultOf<Vec<RunFolder>> {
    RunFolder::open(root, id).map(|run| vec![run]).or_else(|unknown| match RunFolder::shards(root, id)? {
        shards if shards.is_empty() => Err(unknown.into()),
        shards => Ok(shards),
    })
}

/// As [`open_id`], but fails if some of the shards are not here, or do not belong together.
fn open_whole(root: &Path, id: &str) -> CliResultOf<Vec<RunFolder>> {
    let runs = open_id(root, id)?;
    if runs.iter().any(|run| run.id() != id) {
        merge::check_whole(id, &runs)?;
    }
    Ok(runs)
}

pub struct Shards {
    pub runs: Vec<RunFolder>,
    /// Those of tar files lie here as long as this lives.
    _unpacked: Option<Staging>,
}

/// The shards with these names, and in these tar files. The id of a run stands for its shards, whether they are merged or not.
pub fn open_shards(root: &Path, names: &[String]) -> CliResultOf<Shards> {
    let mut runs = Vec::new();
    let mut unpacked = None;
    for (at, name) in names.iter().enumerate() {
        let shards = RunFolder::shards(root, name)?;
        if !shards.is_empty() {
            runs.extend(shards);
        } else if is_archive(name) {
            let staging = unpacked.take().map_or_else(|| Staging::of_runs(root), Ok)?;
            let folder = staging.path().join(at.to_string());
            unpacked = Some(staging);
            runs.extend(archive::unpack(Path::new(name), &folder)?);
        } else {
            runs.push(open(root, name)?);
        }
    }
    Ok(Shards { runs, _unpacked: unpacked })
}

/// Whether `name` is a file, as only archives are.
pub fn is_archive(name: &str) -> bool {
    look::is_usable_file(Path::new(name))
}

pub fn latest(root: &Path) -> CliResultOf<RunFolder> {
    Ok(store::latest(root)?.ok_or("no runs found; `skill-evals run` makes one")?)
}

/// Whether this is a run with trials of its own, rather than recordings or a replay of them.
pub fn has_own_trials(run: &RunFolder) -> CliResultOf<bool> {
    Ok(run.is_run()? && !(run.is_replay() && run.trials()?.is_empty()))
}

/// The same of all these runs.
pub fn have_own_trials<'a>(mut runs: impl Iterator<Item = &'a RunFolder>) -> CliResultOf<bool> {
    runs.try_fold(true, |all, run| Ok(all & has_own_trials(run)?))
}

/// The trials of a run, or of a part of one. For a replay, the recordings that it replayed.
pub fn trials(root: &Path, run: &RunFolder) -> CliResultOf<Vec<TrialFolder>> {
    let trials = if run.is_run()? { run.trials()? } else { store::trials_below(run.path())? };
    if !trials.is_empty() || !run.is_replay() {
        return Ok(trials);
    }
    let plan = run.plan()?;
    let mut recordings = store::trials_below(&root.join(store::RECORDINGS))?;
    recordings.retain(|recording| recording.id().is_some_and(|id| plan.contains(&id)));
    Ok(recordings)
}

/// Whether two progress files tell of the same trials, because one is a copy: they begin with the same trial, if that says when it ended.
pub fn is_copy(a: &Path, b: &Path) -> bool {
    // A file that cannot be read is told by who reads its trials.
    let first = |path: &Path| {
        let line = BufReader::new(File::open(path).ok()?).lines().next()?.ok()?;
        serde_json::from_str::<Value>(&line).ok().filter(|trial| trial["ended"].is_string())
    };
    first(a).is_some_and(|line| first(b) == Some(line))
}

/// Refuses runs that share trials: one within another or a copy of it, and a merged run next to one of its shards.
pub fn check_distinct<'a>(runs: &(impl Iterator<Item = &'a RunFolder> + Clone)) -> CliResultOf<()> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for run in runs.clone() {
        let path = run.path().canonicalize().unwrap_or_else(|_| run.path().to_path_buf());
        if paths.iter().any(|other| path.starts_with(other) || other.starts_with(&path)) {
            return Err(
                format!("{} is named twice, or is within another: its trials would count twice", run.id()).into()
            );
        }
        paths.push(path);
    }
    for run in runs.clone() {
        let merged = run.run_record().ok().flatten().map(|record| record.merged).unwrap_or_default();
        if let Some(shard) = runs.clone().find(|other| merged.iter().any(|id| id == other.id())) {
            return Err(format!("{} is merged into {}: its trials would count twice", shard.id(), run.id()).into());
        }
    }
    for (number, run) in runs.clone().enumerate() {
        let progress = run.progress_path();
        if let Some(copy) = runs.clone().take(number).find(|other| is_copy(&other.progress_path(), &progress)) {
            let (run, copy) = (run.path().display(), copy.path().display());
            return Err(format!("{run} is a copy of {copy}: its trials would count twice").into());
        }
    }
    Ok(())
}
