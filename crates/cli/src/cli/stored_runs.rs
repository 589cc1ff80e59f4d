//! `skill-evals status`, `runs`, `stop`, `clean`: runs that are stored, and what to do about them.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use clap::Args;

use super::documents::{Format, RunList};
use super::{CliResult, CliResultOf, RepositoryArgs, print_json};
use crate::cli::exit_code::Exit;
use crate::cli::named_runs;
use crate::cli::output::{Stream, document_stdout, paint, text_stdout, warn};
use crate::process::background;
use crate::report::run_status as report;
use crate::results::run_status;
use crate::store::{self, RunFolder};
use crate::trial::run_record::RunEndKind;
use crate::trial::shard::Shard;

/// How long a runner may take to end its agents and store their trials.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Args)]
pub struct StopArgs {
    /// The run [default: the one that is running]
    run_id: Option<String>,
    #[command(flatten)]
    repository: RepositoryArgs,
}

#[derive(Args)]
pub struct CleanArgs {
    /// Number of latest runs to keep
    #[arg(long, value_name = "N")]
    keep: usize,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn stop(args: &StopArgs) -> CliResult {
    let root = args.repository.open()?.root;
    let runs = match &args.run_id {
        Some(id) => named_runs::open_id(&root, id)?,
        None => vec![only_running(&root)?],
    };
    runs.iter().try_for_each(stop_run)?;
    Ok(Exit::Clean)
}

/// The only run that is running.
fn only_running(root: &Path) -> CliResultOf<RunFolder> {
    let mut running: Vec<RunFolder> = store::runs(root)?.into_iter().filter(run_status::is_live).collect();
    match running.len() {
        0 => Err("no run is running".into()),
        1 => Ok(running.remove(0)),
        _ => {
            let ids: Vec<&str> = running.iter().map(RunFolder::id).collect();
            Err(format!("several runs are running, name one: {}", ids.join(", ")).into())
        }
    }
}

fn stop_run(run: &RunFolder) -> CliResultOf<()> {
    let Some(runner) = run.runner().filter(|_| run_status::is_live(run)) else {
        return Ok(writeln!(text_stdout(), "{} is not running", run.id())?);
    };
    run.note_stopping()?;
    let killed = background::stop(runner, PATIENCE)?;
    // For a runner that was killed, and for several runners of one run.
    run.write_ended(RunEndKind::Stopped, None)?;
    let ended = if killed { "killed" } else { "stopped" };
    Ok(writeln!(text_stdout(), "{} {ended}; {}", run.id(), run.remedy())?)
}

pub fn clean(args: &CleanArgs) -> CliResult {
    let root = args.repository.open()?.root;
    store::remove_left_over(&root)?;
    let mut out = text_stdout();
    let mut kept = BTreeSet::new();
    for run in store::runs(&root)? {
        // The shards of a run are one run, with what they were merged into.
        let whole = Shard::of_run(run.id()).map_or(run.id(), |(whole, _)| whole);
        if kept.len() < args.keep {
            kept.insert(whole.to_owned());
        }
        if kept.contains(whole) {
            continue;
        }
        // The lock keeps other processes from resuming the run while it is removed.
        let lock = if run_status::is_live(&run) { None } else { run.lock(background::this_process()).ok() };
        let Some(_lock) = lock else {
            writeln!(out, "{} is running; not removed", run.id())?;
            continue;
        };
        run.remove()?;
        writeln!(out, "{} removed", run.id())?;
    }
    Ok(Exit::Clean)
}

// `skill-evals status`, `skill-evals runs`.

#[derive(Args)]
pub struct StatusArgs {
    /// The run; the id of a run with shards shows each shard [default: the latest]
    run_id: Option<String>,
    /// The run, as in the script of earlier runners
    #[arg(long = "run-id", value_name = "RUN_ID", conflicts_with = "run_id", hide = true)]
    named: Option<String>,
    /// Print a JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

#[derive(Args)]
pub struct RunsArgs {
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn status(args: &StatusArgs) -> CliResult {
    let root = args.repository.open()?.root;
    let named = match args.run_id.as_ref().or(args.named.as_ref()) {
        Some(id) => named_runs::open_id(&root, id)?,
        None => vec![named_runs::latest(&root)?],
    };
    let [run] = named.as_slice() else { return print_runs(named, args.json) };
    let status = run_status::standing(run)?;
    if args.json {
        print_json(&status)?;
    } else {
        text_stdout().write_all(report::status(&status, paint(Stream::Output)).as_bytes())?;
    }
    Ok(Exit::Clean)
}

pub fn runs(args: &RunsArgs) -> CliResult {
    print_runs(store::runs(&args.repository.open()?.root)?, args.json)
}

fn print_runs(runs: Vec<RunFolder>, as_json: bool) -> CliResult {
    let (mut statuses, mut exit) = (Vec::new(), Exit::Clean);
    for run in runs {
        match run_status::standing(&run) {
            Ok(status) => statuses.push(status),
            Err(error) => {
                warn(&format!("{}: {error}", run.id()))?;
                exit = Exit::Problems;
            }
        }
    }
    if as_json {
        print_json(&RunList { format: Format, runs: &statuses })?;
    } else if !statuses.is_empty() {
        text_stdout().write_all(report::runs(&statuses, paint(Stream::Output)).as_bytes())?;
    } else if exit == Exit::Clean {
        writeln!(document_stdout(), "no runs found")?;
    }
    Ok(exit)
}
