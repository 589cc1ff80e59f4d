//! `skill-evals merge`.

use std::io::Write;

use clap::Args;

use super::{CliResult, RepositoryArgs, named_runs};
use crate::cli::exit_code::Exit;
use crate::cli::output::{text_stdout, warn};
use crate::report::diagnostics::counted;
use crate::run::merge;
use crate::settings::load;
use crate::text::diagnostic::shown_path;
use crate::text::escape;

/// Maximum number of missing trials to name.
const MAX_MISSING: usize = 20;

const HELP: &str = "The merged run is a stored run like any other. Merging again replaces it with
what the shards have by then.

Exit codes:
  0    merged; every planned trial has a result, whatever it is
  2    could not merge: not shards of one run, a shard twice, or different
       skills, cases, checks or options
  3    merged, but planned trials have no result";

#[derive(Args)]
#[command(after_help = HELP)]
pub struct MergeArgs {
    /// Shards of one run, by id, directory or tar file (.tar, .tar.gz); the id of the whole run names all its shards
    #[arg(value_name = "RUN-ID|DIR|TAR", required = true)]
    what: Vec<String>,
    /// Id of the merged run
    #[arg(long, value_name = "ID")]
    run_id: String,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn merge(args: &MergeArgs) -> CliResult {
    let root = args.repository.open()?.root;
    let settings = load::read(&root, args.repository.trust())?;
    let shards = named_runs::open_shards(&root, &args.what)?;
    let merged = merge::merge(&root, &settings, &shards.runs, &args.run_id)?;
    for agents in &merged.mixed_agents {
        warn(&format!("the shards ran different versions of an agent: {agents}"))?;
    }
    let mut out = text_stdout();
    let shown = escape::line(&shown_path(&root, merged.run.path()).display().to_string());
    let (of, trials) = (counted(shards.runs.len(), "shard"), counted(merged.summary.total.ended(), "trial"));
    writeln!(out, "{shown}: {trials} of {of}")?;
    for (id, why) in merged.missing.iter().take(MAX_MISSING) {
        writeln!(out, "missing: {}", escape::line(&format!("{id} ({why})")))?;
    }
    let more = merged.missing.len().saturating_sub(MAX_MISSING);
    if more > 0 {
        writeln!(out, "missing: {more} more; `skill-evals summary {}` counts them", args.run_id)?;
    }
    Ok(if merged.missing.is_empty() { Exit::Clean } else { Exit::Infrastructure })
}
