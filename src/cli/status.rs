//! `skill-evals status`, `skill-evals runs`.

use std::io::{self, Write};

use clap::Args;

use super::{CliResult, RepositoryArgs, named_runs, print_json, print_list};
use crate::cli::color::paint;
use crate::cli::exit_code::Exit;
use crate::cli::output::{stderr, stdout};
use skill_evals::report::run_status as words;
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
    let standing = run_status::standing(&run)?;
    let mut out = stdout();
    if args.json {
        print_json(&mut out, &standing)?;
    } else {
        let paint = paint(&io::stdout());
        out.write_all(words::status(&standing, paint).as_bytes())?;
    }
    Ok(Exit::Clean)
}

pub fn runs(args: &RunsArgs) -> CliResult {
    let root = args.repository.open()?.root;
    let mut standings = Vec::new();
    for run in store::runs(&root) {
        match run_status::standing(&run) {
            Ok(standing) => standings.push(standing),
            Err(error) => {
                writeln!(stderr(), "warning: {}: {}", run.id(), safe::line(&error.to_string()))?;
            }
        }
    }
    let mut out = stdout();
    if args.json {
        print_list(&mut out, "runs", &standings)?;
    } else if standings.is_empty() {
        writeln!(out, "no runs found")?;
    } else {
        let paint = paint(&io::stdout());
        out.write_all(words::runs(&standings, paint).as_bytes())?;
    }
    Ok(Exit::Clean)
}
