//! `skill-evals record`.

use std::io::{self, Write};

use clap::Args;

use super::{CliResult, RepositoryArgs};
use crate::cli::exit_code::Exit;
use skill_evals::run::promote::{self, Recorded};
use skill_evals::store::RunFolder;
use skill_evals::text::diagnostic::shown_path;

#[derive(Args)]
pub struct RecordArgs {
    /// The run, as named below artifacts/skill-evals.
    run_id: String,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn record(args: &RecordArgs) -> CliResult {
    let repository = args.repository.open()?;
    let run = RunFolder::open(&repository.root, &args.run_id)?;
    let mut out = io::stdout().lock();
    let mut all_kept = true;
    let recorded = promote::record(&repository.root, &run)?;
    if recorded.is_empty() {
        writeln!(out, "the run {} has no finished trials", run.id())?;
        return Ok(Exit::CouldNotRun);
    }
    for trial in recorded {
        match trial {
            Recorded::Kept { id, verdict, folder } => {
                writeln!(out, "{id}  {verdict}  {}", shown_path(&repository.root, &folder).display())?;
            }
            Recorded::NotMeasured { id, verdict } => {
                all_kept = false;
                writeln!(out, "{id}  {verdict}  not recorded: it measured nothing")?;
            }
        }
    }
    Ok(if all_kept { Exit::Clean } else { Exit::Infrastructure })
}
