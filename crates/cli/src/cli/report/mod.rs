//! `skill-evals report`.

mod reader;
mod sessions;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;

use self::reader::ReportReader;
use super::named_runs;
use super::{CliResult, CliResultOf, RepositoryArgs, custom_checks};
use crate::cli::exit_code::{self, Exit};
use crate::cli::output::{text_stdout, warn};
use crate::decide::{MARGIN, Rule};
use crate::engine::Loaded;
use crate::exports::html::overview::{self, Overview};
use crate::process::run_to_end;
use crate::report::compared::short_names;
use crate::report::diagnostics::counted;
use crate::results::changed_texts::changed_texts;
use crate::results::compared::{self, ComparisonResults};
use crate::results::history::{self, HistoryPoint, TrendFilter};
use crate::results::side_results::SideReader;
use crate::results::stored_comparison;
use crate::results::stored_sides::{self, TrialSide};
use crate::results::stored_summary::no_trials;
use crate::results::summary::Summary;
use crate::run::live::Redactors;
use crate::run::planned::PlannedRun;
use crate::store::{self, RunFolder};
use crate::text::diagnostic::shown_path;
use crate::text::escape;
use crate::trial::id::TrialId;
use crate::trial::run_record::ComparedSides;

/// The most runs in the history.
const MAX_RUNS: usize = 20;

/// The default of `--max-size`.
const MAX_SIZE: u64 = 50_000_000;

/// The most skills that have a history of their own.
const MAX_SKILLS: usize = 30;

#[derive(Args)]
#[command(after_help = exit_code::HELP)]
pub struct ReportArgs {
    /// Runs or recordings, by id or directory [default: the latest run]
    #[arg(value_name = "RUN-ID|DIR")]
    what: Vec<String>,
    /// Compare with this run, trial by trial
    #[arg(long, value_name = "RUN-ID|DIR")]
    against: Vec<String>,
    /// Open the file when it is written.
    #[arg(long)]
    open: bool,
    /// Output file (`-` is stdout) [default: report.html in the run's directory; here for several runs]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Maximum size of the sessions in the file; those of passed trials are left out first.
    #[arg(long, value_name = "SIZE", default_value = "50MB", value_parser = size)]
    max_size: u64,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn report(args: &ReportArgs) -> CliResult {
    let Loaded { repository, settings, catalog } = args.repository.read()?;
    let root = &repository.root;
    let runs =
        if args.what.is_empty() { vec![named_runs::latest(root)?] } else { named_runs::open_all(root, &args.what)? };
    let against = named_runs::open_all(root, &args.against)?;
    named_runs::check_distinct(&runs.iter().chain(&against))?;
    let is_directory = args.what.iter().any(|name| named_runs::is_directory(name));
    let default = match runs.as_slice() {
        [run] if !is_directory => run.report(),
        _ => PathBuf::from("report.html"),
    };
    let output = args.output.clone().unwrap_or(default);
    if args.open && output == Path::new(store::STDOUT) {
        return Err("--open needs a file, and -o - writes none".into());
    }
    let run = PlannedRun::new(root.clone(), settings, catalog);
    let (trials, exit) = write(run, &runs, &against, &output, args.max_size)?;
    if output != Path::new(store::STDOUT) {
        let size = std::fs::metadata(&output).map_or(0, |metadata| metadata.len());
        let shown = escape::line(&shown_path(root, &output).display().to_string());
        writeln!(text_stdout(), "{shown} ({}, {} KB)", counted(trials, "trial"), size.div_ceil(1000))?;
        if args.open
            && let Err(why) = run_to_end::open(&output)
        {
            warn(&format!("no browser can be opened ({why}): open the file yourself"))?;
        }
    }
    Ok(exit)
}

/// Writes the report of the run in the directory `run`, of the repository at `root`.
pub fn write_run(root: &Path, run: &Path, output: &Path) -> CliResultOf<()> {
    let Loaded { repository, settings, catalog } =
        RepositoryArgs { root: Some(root.to_path_buf()), untrusted: false, for_gate: false, gate_base: None }
            .read_quietly()?;
    let context = PlannedRun::new(repository.root, settings, catalog);
    write(context, &[RunFolder::at(run)], &[], output, MAX_SIZE)?;
    Ok(())
}

/// Writes the report of these runs, and returns the number of their trials and the exit code.
fn write(
    mut run: PlannedRun,
    runs: &[RunFolder],
    against: &[RunFolder],
    output: &Path,
    max_size: u64,
) -> CliResultOf<(usize, Exit)> {
    // Recordings have no grades.
    if !named_runs::have_own_trials(runs.iter().chain(against))? {
        run.custom_checks = custom_checks(&run.root, &run.settings)?;
    }
    let of_run = if against.is_empty() { sides_of(runs)? } else { None };
    let labels = match &of_run {
        Some((sides, _)) => Some((sides.baseline.label.clone(), sides.candidate.label.clone())),
        None => (!against.is_empty()).then(|| (label(against), label(runs))),
    };
    let ids = runs.iter().chain(against).map(|run| run.id().to_owned()).collect();
    let mut reader = ReportReader::new(&run, ids, labels.as_ref().map(|(a, b)| short_names((a, b))))?;
    reader.pairs = of_run.as_ref().map(|(_, pairs)| pairs.clone()).unwrap_or_default();
    let (summary, trials) = reader.read(0, runs)?;
    reader.only_mode = only_mode(against, &trials)?;
    let candidate = TrialSide { label: label(runs), trials, mode: None };
    let (summary_against, trials) = reader.read(runs.len(), against)?;
    let baseline = TrialSide { label: label(against), trials, mode: None };
    if reader.index.rows.is_empty() && reader.unreadable == 0 {
        return Err(no_trials(&candidate.label, runs).into());
    }
    reader.keep_within(max_size);
    let compared = match (&of_run, runs) {
        (Some((sides, _)), [run]) => {
            Some(stored_comparison::compared(run, sides, &stored_comparison::course(run, sides)?)?)
        }
        _ if against.is_empty() => None,
        _ => Some(compare(&baseline, &candidate)?),
    };
    let history = history(&run.root, &summary);
    let overview = Overview {
        summary: &summary,
        compared: compared.as_ref(),
        against: (!against.is_empty()).then_some(&summary_against),
        baseline_modes: &reader.pairs.keys().map(|id| id.mode.clone()).collect(),
        created: &reader.created,
        agents: &reader.agents,
        history: &history,
        notes: &reader.notes,
    };
    let (title, overview) = (overview::title(&overview), overview::overview(&overview));
    let redactor = Redactors::new(&run.settings).masking(Vec::new());
    let edits = match (of_run.as_ref().map(|(sides, _)| sides), runs, against) {
        // Without skills, and with the same ones again, there is nothing to compare.
        (Some(sides), [run], _) if [&sides.baseline, &sides.candidate].iter().all(|side| !side.without) => {
            let [before, after] = [&sides.baseline, &sides.candidate].map(|side| run.snapshot(side.commit.as_deref()));
            changed_texts(&before, &after, &redactor)
        }
        (None, [after], [before]) => changed_texts(&before.snapshot(None), &after.snapshot(None), &redactor),
        _ => Vec::new(),
    };
    store::write_out(output, |file| reader.write(file, &title, &overview, &edits))?;
    Ok((reader.index.rows.len(), reader.exit(&summary)))
}

fn label(runs: &[RunFolder]) -> String {
    runs.iter().map(RunFolder::id).collect::<Vec<_>>().join(", ")
}

/// The sides of a comparison, with the candidate mode of each paired baseline trial.
type SidesOfRun = (ComparedSides, BTreeMap<TrialId, String>);

fn sides_of(runs: &[RunFolder]) -> CliResultOf<Option<SidesOfRun>> {
    let [run] = runs else { return Ok(None) };
    // The reader notes a record that cannot be read.
    let Some(sides) = run.run_record().ok().flatten().and_then(|record| record.sides) else { return Ok(None) };
    let pairs = run.pairs()?.into_iter().map(|pair| (pair.baseline, pair.candidate.mode)).collect();
    Ok(Some((sides, pairs)))
}

fn compare(baseline: &TrialSide, candidate: &TrialSide) -> CliResultOf<ComparisonResults> {
    let (before, after) = stored_sides::counts(baseline, candidate, |_, _| true)?;
    let rule = Rule { margin: Some(MARGIN), ..Rule::default() };
    Ok(compared::stored((baseline.label.clone(), candidate.label.clone()), &before, &after, rule))
}

/// The mode of the reported trials, if each side has a single mode: then the mode is the difference, and no part of the case.
fn only_mode(against: &[RunFolder], reported: &SideReader) -> CliResultOf<Option<String>> {
    let mut trials = SideReader::default();
    for run in against {
        trials.run(run)?;
    }
    let (modes, reported) = (trials.modes(), reported.modes());
    // `compare` reports sides that cannot be compared.
    let differs = !modes.is_empty() && stored_sides::by_mode(&modes, &reported) == Ok(false);
    Ok(reported.first().filter(|_| differs).map(|mode| (*mode).to_owned()))
}

/// The latest runs of this repository, for all skills together and for each alone.
fn history(root: &Path, summary: &Summary) -> Vec<(String, Vec<HistoryPoint>)> {
    let runs: Vec<RunFolder> = store::runs(root).unwrap_or_default().into_iter().take(MAX_RUNS).collect();
    let mut skills = vec![None];
    if summary.skills.len() <= MAX_SKILLS {
        skills.extend(summary.skills.keys().map(Some));
    }
    let mut history = Vec::new();
    for skill in skills {
        let filter = TrendFilter { skill: skill.cloned(), mode: None };
        // `history` and `runs` report a run that cannot be read.
        let mut points: Vec<HistoryPoint> = runs.iter().filter_map(|run| history::point(run, &filter).ok()?).collect();
        points.sort_by(|a, b| (&a.created, &a.run).cmp(&(&b.created, &b.run)));
        history.push((skill.map_or_else(|| "all skills".to_owned(), Clone::clone), points));
    }
    history
}

/// Parses a number of bytes: `50MB`, `800KB`, `1GB`, `4096`.
fn size(text: &str) -> Result<u64, String> {
    let units = [("GB", 1_000_000_000), ("MB", 1_000_000), ("KB", 1_000), ("B", 1), ("", 1)];
    let upper = text.trim().to_uppercase();
    let read = units
        .iter()
        .find_map(|(unit, bytes)| upper.strip_suffix(unit)?.trim().parse::<u64>().ok()?.checked_mul(*bytes));
    read.ok_or_else(|| "expected a size such as 50MB, 800KB or 1GB".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_a_number_of_bytes_or_of_a_unit() {
        assert_eq!(
            (size("50MB"), size("8 kb"), size("7"), size("1GB")),
            (Ok(50_000_000), Ok(8_000), Ok(7), Ok(1_000_000_000))
        );
        for wrong in ["", "MB", "-1", "1.5MB", "99999999999GB"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
