//! `skill-evals export`.

mod trials;

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use self::trials::TrialExporter;
use super::{CliResult, RepositoryArgs, custom_checks, named_runs};
use crate::cli::exit_code::Exit;
use crate::cli::output::{text_stdout, warn};
use crate::engine::Loaded;
use crate::exports::EXPORTS;
use crate::report::diagnostics::counted;
use crate::report::export::{ChangeLocations, Export, ExportKind, Results};
use crate::results::stored_summary::of_runs;
use crate::run::planned::PlannedRun;
use crate::store;
use crate::text::diagnostic::shown_path;
use crate::text::escape;

const HELP: &str = "Exit codes:
  0  written, whatever the verdicts
  2  not written: invalid arguments, an unknown run, no trials
  3  written, but a trial could not be read and is missing";

#[derive(Args)]
#[command(after_help = HELP)]
pub struct ExportCommandArgs {
    /// Runs or recordings, by id or directory [default: the latest run]
    #[arg(value_name = "RUN-ID|DIR")]
    what: Vec<String>,
    /// Format
    #[arg(long, value_name = "FORMAT", value_parser = format())]
    to: &'static Export,
    /// Output file, or new directory (`-` is stdout) [default: stdout; a directory must be named]
    #[arg(long, short, value_name = "FILE|DIR")]
    output: Option<PathBuf>,
    #[command(flatten)]
    repository: RepositoryArgs,
}

/// The exports that make sense without a CI job.
fn offered() -> impl Iterator<Item = &'static Export> {
    EXPORTS.iter().copied().filter(|export| !matches!(export.kind, ExportKind::Job { .. }))
}

fn format() -> impl TypedValueParser<Value = &'static Export> {
    let names = offered().map(|export| PossibleValue::new(export.name).help(export.about));
    PossibleValuesParser::new(names)
        .try_map(|name| offered().find(|export| export.name == name).ok_or("an unknown format"))
}

pub fn export(args: &ExportCommandArgs) -> CliResult {
    let output = args.output.clone().unwrap_or_else(|| store::STDOUT.into());
    if let ExportKind::TrialFolder(_) = args.to.kind {
        if output == Path::new(store::STDOUT) {
            return Err(format!("--to {} writes a directory: name it with --output", args.to.name).into());
        }
        store::check_new_folder(&output)?;
    } else {
        store::check_out(&output)?;
    }
    let Loaded { repository, settings, catalog } = args.repository.read()?;
    let runs = named_runs::open_all_or_latest(&repository.root, &args.what)?;
    let mut run = PlannedRun::new(repository.root, settings, catalog);
    // Recordings have no grades.
    if !named_runs::have_own_trials(runs.iter())? {
        run.custom_checks = custom_checks(&run.root, &run.settings)?;
    }
    let (trials, unreadable) = match args.to.kind {
        ExportKind::File(render) | ExportKind::Output(render) | ExportKind::Job { render, .. } => {
            let (summary, unreadable) = of_runs(&runs, &run.settings)?;
            let text =
                render(&Results { summary: &summary, needs_recordings: false, locations: &ChangeLocations::default })?;
            store::write_out(&output, |file| file.write_all(text.as_bytes()))?;
            (summary.total.ended(), unreadable.iter().map(ToString::to_string).collect())
        }
        ExportKind::Trials(start) => {
            let mut trials = TrialExporter::of(&run, &runs)?;
            store::write_out(&output, |file| {
                let mut out = BufWriter::new(file);
                trials.write(start, |part| out.write_all(part.text.as_bytes()))?;
                out.flush()
            })?;
            trials.finish()
        }
        ExportKind::TrialFolder(start) => {
            let mut trials = TrialExporter::of(&run, &runs)?;
            store::write_folder(&output, |folder| {
                trials.write(start, |part| {
                    let file = folder.join(part.file.unwrap_or_default());
                    store::write_whole(&file, part.text.as_bytes())
                })
            })?;
            trials.finish()
        }
    };
    if output != Path::new(store::STDOUT) {
        let shown = escape::line(&shown_path(&run.root, &output).display().to_string());
        writeln!(text_stdout(), "{shown} ({})", counted(trials, "trial"))?;
    }
    for why in &unreadable {
        warn(&format!("not exported: {why}"))?;
    }
    Ok(if unreadable.is_empty() { Exit::Clean } else { Exit::Infrastructure })
}
