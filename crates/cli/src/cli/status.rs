//! `skill-evals status`, `skill-evals runs`.

use std::io::Write;

use clap::Args;

use super::documents::{Format, RunList};
use super::{CliResult, RepositoryArgs, named_runs, print_json};
use crate::cli::color::paint;
use crate::cli::exit_code::Exit;
use crate::cli::output::{Stream, document_stdout, text_stdout, warn};
use crate::report::run_status as report;
use crate::results::run_status;
use crate::store::{self, RunFolder};

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
