//! `skill-evals summary`.

use std::io::Write;

use clap::Args;

use super::export_args::ExportArgs;
use super::{CliResult, CliResultOf, RepositoryArgs, named_runs};
use crate::cli::color::paint;
use crate::cli::exit_code::{self, Exit};
use crate::cli::output::{Stream, document_stdout, text_stdout, warn};
use crate::report::export::Results;
use crate::report::{markdown, table};
use crate::results::stored_summary::{of_run, of_runs};
use crate::run::changed_skills::change_locations;
use crate::settings::{Settings, load};
use crate::store::RunFolder;

#[derive(Args)]
#[command(after_help = exit_code::HELP)]
pub struct SummaryArgs {
    /// Runs, by id or directory; parts of one run make one summary [default: the latest run]
    #[arg(value_name = "RUN-ID|DIR")]
    what: Vec<String>,
    #[command(flatten)]
    exports: ExportArgs,
    /// List the cases that passed too
    #[arg(long, short)]
    verbose: bool,
    /// Rewrite the summary files of a single run
    #[arg(long)]
    write: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn summary(args: &SummaryArgs) -> CliResult {
    if let Some(name) = args.exports.file_is_output().filter(|_| args.exports.in_place()) {
        return Err(format!("--{name} - and the other output both go to standard output: give --{name} a file").into());
    }
    let root = args.repository.open()?.root;
    let settings = load::read(&root, args.repository.trust())?;
    let runs = named_runs::open_all_or_latest(&root, &args.what)?;
    let (summary, unreadable) = of_runs(&runs, &settings)?;
    if args.write {
        let [run] = runs.as_slice() else { return Err("--write needs exactly one run, by its id".into()) };
        run.write_summary(&summary, &markdown::summary(&summary))?;
    }
    let locations = || {
        let read = args.repository.read_quietly();
        read.map(|loaded| change_locations(&root, &loaded.catalog, None)).unwrap_or_default()
    };
    let results = Results { summary: &summary, needs_recordings: false, locations: &locations };
    args.exports.write_files(&results)?;
    args.exports.print(&results, &mut document_stdout())?;
    if !args.exports.in_place() && args.exports.file_is_output().is_none() {
        let paint = paint(Stream::Output);
        let mut out = text_stdout();
        write!(out, "{}{}", table::triggering(&summary), table::table(&summary, args.verbose, paint))?;
        let time = table::agent_time(&summary.total);
        write!(out, "{}; agents ran {time}\n{}", table::closing(&summary, paint), table::shown(&summary))?;
    }
    if let Some(error) = args.exports.add_to_page(&results) {
        warn(&error)?;
    }
    for error in &unreadable {
        warn(&format!("not counted: {error}"))?;
    }
    let exit = Exit::of_summary(&summary);
    Ok(if unreadable.is_empty() { exit } else { exit.worse(Exit::Infrastructure) })
}

/// Rewrites the summary files of a stored run.
pub fn write(run: &RunFolder, settings: &Settings) -> CliResultOf<()> {
    let summary = of_run(run, settings)?;
    Ok(run.write_summary(&summary, &markdown::summary(&summary))?)
}
