//! `skill-evals status`, `skill-evals runs`.

use std::io::{self, Write};

use clap::Args;

use super::{CliResult, RepositoryArgs, named_runs, print_json, print_list};
use crate::cli::color::paint;
use crate::cli::exit_code::Exit;
use crate::cli::output::{stderr, stdout, text_stdout};
use skill_evals::report::run_status as report;
use skill_evals::results::run_status;
use skill_evals::store::{self, RunFolder};
use skill_evals::text::safe;

#[derive(Args)]
pub struct StatusArgs {
    /// The run [default: the latest].
    #[arg(long, value_name = "ID")]
    run_id: Option<String>,
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
    let run = match &args.run_id {
        Some(id) => RunFolder::open(&root, id)?,
        None => named_runs::latest(&root)?,
    };
    let status = run_status::standing(&run)?;
    if args.json {
        print_json(&mut stdout(), &status)?;
    } else {
        text_stdout().write_all(report::status(&status, paint(&io::stdout())).as_bytes())?;
    }
    Ok(Exit::Clean)
}

pub fn runs(args: &RunsArgs) -> CliResult {
    let root = args.repository.open()?.root;
    let mut statuses = Vec::new();
    for run in store::runs(&root) {
        match run_status::standing(&run) {
            Ok(status) => statuses.push(status),
            Err(error) => writeln!(stderr(), "warning: {}: {}", run.id(), safe::line(&error.to_string()))?,
        }
    }
    if args.json {
        print_list("runs", &statuses)?;
    } else if statuses.is_empty() {
        writeln!(stdout(), "no runs found")?;
    } else {
        text_stdout().write_all(report::runs(&statuses, paint(&io::stdout())).as_bytes())?;
    }
    Ok(Exit::Clean)
}
