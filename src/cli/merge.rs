//! `skill-evals merge`.

use std::io::Write;

use clap::Args;

use super::{CliResult, RepositoryArgs, named_runs};
use crate::cli::exit_code::{self, Exit};
use crate::cli::output::text_stdout;

#[derive(Args)]
#[command(after_help = exit_code::HELP)]
pub struct MergeArgs {
    /// Shards of one run, by id or directory; the id of the whole run names all its shards
    #[arg(value_name = "RUN-ID|DIR", required = true)]
    what: Vec<String>,
    /// Id of the merged run
    #[arg(long, value_name = "RUN-ID")]
    into: String,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn merge(args: &MergeArgs) -> CliResult {
    let root = args.repository.open()?.root;
    let runs = named_runs::open_all(&root, &args.what)?;
    writeln!(text_stdout(), "{} into {}", runs.len(), args.into)?;
    Ok(Exit::Clean)
}
