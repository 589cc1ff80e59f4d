//! Compares trials that are stored.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::slice;

use super::target::{StoredSide, is_path};
use super::{CompareArgs, refuse_what_decided};
use crate::cases::selection::stored_cases;
use crate::cli::given::CASES;
use crate::cli::output::warn;
use crate::cli::{CliResultOf, named_runs};
use crate::decide::{SideCounts, plan};
use crate::engine::compare::{check_reachable, unreadable_pairs};
use crate::files::{bounded, look};
use crate::report::run_status::differences;
use crate::results::compared::{self, ComparisonResults};
use crate::results::ended::AgentVersions;
use crate::results::outcome_table::OutcomeTable;
use crate::results::run_status::{RunState, is_live, standing};
use crate::results::side_results::{SideReader, SideResults};
use crate::results::stored_comparison;
use crate::results::stored_sides::{self, Incomparable, TrialSide};
use crate::store::RunFolder;
use crate::text::problem::About;
use crate::trial::run_record::{RunEndKind, RunRecord};

/// Compares stored trials of two sides; and says which run is not whole, if one is.
pub fn compare(
    args: &CompareArgs,
    root: &Path,
    a: &StoredSide,
    b: &StoredSide,
) -> CliResultOf<(ComparisonResults, Option<String>)> {
    args.refuse_what_runs()?;
    let (of_a, of_b) = (sources(root, a)?, sources(root, b)?);
    if let (true, Some(both)) = (a.mode == b.mode, of_a.iter().find(|path| of_b.contains(path))) {
        return Err(format!("{} is on both sides: its trials would be compared with themselves", both.display()).into());
    }
    let side = |side: &StoredSide, paths: &[PathBuf]| -> CliResultOf<TrialSide> {
        Ok(TrialSide { label: side.label.clone(), trials: read(paths)?, mode: side.mode.clone() })
    };
    let (a, b) = (side(a, &of_a)?, side(b, &of_b)?);
    warn_of_versions(of_a.iter().chain(&of_b))?;
    let stored = a.trials.cases().chain(b.trials.cases()).collect();
    let chosen = stored_cases(&args.select.names.selection(), &stored)?;
    let (in_a, in_b) =
        stored_sides::counts(&a, &b, |skill, case| chosen.contains(&(skill, case))).map_err(|why| match why {
            Incomparable::NoCommonMode { .. } => {
                format!("{why}: choose one of each with --baseline mode=… --candidate mode=…")
            }
            Incomparable::NoTrials { .. } => why.to_string(),
        })?;
    let mut compared = decided(args, (a.label.clone(), b.label.clone()), &in_a, &in_b)?;
    if let Some(case) = compared.changed_cases.first() {
        compared.changed_parts = changed_parts(case, &of_a, &of_b);
    }
    // Of chosen cases nobody knows whether they are whole.
    let whole = args.given.first(&[CASES]).is_none().then(|| of_a.iter().chain(&of_b));
    Ok((compared, whole.into_iter().flatten().find_map(|path| unfinished(path))))
}

/// That the run of a progress file is not whole, if it is not.
fn unfinished(path: &Path) -> Option<String> {
    let run = RunFolder::at(path.parent()?);
    let record = run.run_record().ok().flatten()?;
    // Of processes that share a run, none knows that it is the last.
    let is_whole = match record.ended {
        Some(ended) => ended.how == RunEndKind::Finished,
        None => record.shared_by.is_some() || record.imported.is_some(),
    };
    if is_whole && record.absent.is_empty() {
        return None;
    }
    let next = if is_live(&run) { "it is running".to_owned() } else { run.remedy() };
    Some(format!("{} has not run to its end; {next}", run.id()))
}

/// Compares outcomes that were measured elsewhere.
pub fn of_table(args: &CompareArgs, file: &Path) -> CliResultOf<ComparisonResults> {
    args.refuse_what_runs()?;
    if let Some(option) = args.given.first(&[CASES]) {
        return Err(format!("{option}: the rows of the table are compared, all of them; leave it out").into());
    }
    let text = bounded::read_text(file).about(file.display())?;
    let table = OutcomeTable::read(&text).about(file.display())?;
    let [(a, in_a), (b, in_b)] = [table.baseline, table.candidate]
        .map(|(label, counts)| (label, SideResults { counts, ..SideResults::default() }));
    decided(args, (a, b), &in_a, &in_b)
}

/// The comparison, if it can reach what its gate asks for.
pub fn decided(
    args: &CompareArgs,
    labels: (String, String),
    a: &SideResults,
    b: &SideResults,
) -> CliResultOf<ComparisonResults> {
    let rule = args.rule();
    if !args.fail_on.is_empty() {
        let design = design(&a.counts, &b.counts);
        let numbers = "trials of each case on each side";
        let remedy = "measure more with run --trials, or choose other results";
        check_reachable(&args.fail_on, &rule, numbers, remedy, |claim| plan::reach_fixed(&design, &rule, claim))?;
    }
    Ok(compared::stored(labels, a, b, rule))
}

/// Warns of an agent that ran in several versions, by the first trial of each run.
fn warn_of_versions<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> CliResultOf<()> {
    let mut versions = AgentVersions::default();
    let runs = paths.filter_map(|path| path.parent()).map(RunFolder::at);
    for run in runs {
        if let Some(meta) = run.first_trial("")?.and_then(|trial| trial.meta().ok()) {
            versions.add(meta.agent);
        }
    }
    for agents in versions.mixed() {
        warn(&format!("the runs had different versions of an agent: {agents}"))?;
    }
    Ok(())
}

/// What differs between the trials of a case on both sides, besides skills, by the first trial of each run. Empty if those of one
/// side are not stored.
fn changed_parts(case: &str, a: &[PathBuf], b: &[PathBuf]) -> Vec<String> {
    let inputs = |paths: &[PathBuf]| {
        let runs = paths.iter().filter_map(|path| path.parent()).map(RunFolder::at);
        runs.filter_map(|run| Some(run.first_trial(case).ok()??.meta().ok()?.inputs)).collect::<Vec<_>>()
    };
    let (a, b) = (inputs(a), inputs(b));
    let pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a, b)));
    let mut parts: BTreeSet<String> = pairs.flat_map(|(a, b)| a.differences_besides_skills(b)).collect();
    if parts.is_empty() && !a.is_empty() && !b.is_empty() {
        parts.insert("what is checked".to_owned());
    }
    parts.into_iter().collect()
}

/// The trials of each case that both sides have.
fn design(a: &SideCounts, b: &SideCounts) -> Vec<(u64, u64)> {
    let both = a.iter().filter_map(|(case, in_a)| Some((in_a.rate.trials, b.get(case)?.rate.trials)));
    both.collect()
}

/// The files with the trials of a side, each once: baseline files, and those of runs or of their shards.
fn sources(root: &Path, side: &StoredSide) -> CliResultOf<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for source in &side.sources {
        let file = PathBuf::from(source);
        let found = match named_runs::open_all(root, slice::from_ref(source)) {
            _ if named_runs::is_directory(source) && !look::is_directory(&file)? => vec![file],
            Err(_) if is_path(source) && !look::is_directory(&file)? => vec![file],
            Err(_) if is_path(source) => vec![RunFolder::at(&file).progress_path()],
            runs => runs?.iter().map(RunFolder::progress_path).collect(),
        };
        for path in found {
            if !look::is_file(&path)? {
                let path = path.display();
                return Err(format!("{path}: no such file; a baseline is the progress.jsonl of a run").into());
            }
            let path = path.canonicalize()?;
            if paths.contains(&path) {
                return Err(format!("{source} is named twice on one side: its trials would count twice").into());
            }
            paths.push(path);
        }
    }
    let is_of = |run: &RunFolder| run.progress_path().canonicalize().is_ok_and(|path| paths.contains(&path));
    let runs = paths.iter().filter_map(|path| path.parent()).map(RunFolder::at).filter(is_of).collect::<Vec<_>>();
    named_runs::check_distinct(&runs.iter())?;
    Ok(paths)
}

/// The trials that these progress files tell of.
fn read(paths: &[PathBuf]) -> CliResultOf<SideReader> {
    let mut trials = SideReader::default();
    for path in paths {
        // A file that was copied of a run has lost its grades.
        let run = path.parent().map(RunFolder::at).filter(|run| run.progress_path() == *path);
        match run {
            Some(run) if run.has_record()? => {
                if let Some(differences) = differences(trials.run(&run)?) {
                    warn(&format!("{}: {differences}", run.id()))?;
                }
            }
            _ => {
                trials.baseline(path)?;
            }
        }
    }
    Ok(trials)
}

/// The result of a run that compares, so far; and why it is not the last, if its plan is not done.
pub fn again(args: &CompareArgs, run: &RunFolder) -> CliResultOf<(ComparisonResults, Option<String>)> {
    args.refuse_what_runs()?;
    refuse_what_decided(args, run.id())?;
    let Some(RunRecord { sides: Some(sides), absent, .. }) = run.run_record()? else {
        return Err(format!("{} compared nothing", run.id()).into());
    };
    let course = stored_comparison::course(run, &sides)?;
    let compared = stored_comparison::compared(run, &sides, &course)?;
    let (id, standing) = (run.id(), standing(run)?);
    if let Some(differences) = differences(standing.differences) {
        warn(&format!("{id}: {differences}"))?;
    }
    if let Some(why) = unreadable_pairs(run)? {
        warn(&why)?;
    }
    let early = match standing.state {
        _ if !absent.is_empty() => Some(format!("{id} lacks shards; {}", run.remedy())),
        _ if course.is_done() => None,
        RunState::Running => Some(format!("{id} is running: this is its result so far")),
        RunState::Finished if compared.lost().is_some() => None,
        RunState::Finished => Some(format!("{id} ended early; {}", run.remedy())),
        state => Some(format!("{id} was {} before its plan was done; {}", state.as_str(), run.remedy())),
    };
    Ok((compared, early))
}
