//! `skill-evals summary`.

use std::collections::BTreeSet;
use std::io::{self, Write};

use clap::Args;

use super::export::{self, ExportArgs};
use super::{CliResult, CliResultOf, RepositoryArgs, named_runs};
use crate::cli::color::paint;
use crate::cli::exit_code::{self, Exit};
use crate::cli::output::{stderr, stdout};
use skill_evals::report::export::Results;
use skill_evals::report::{markdown, table, triggering};
use skill_evals::results::not_run::NotRunReasons;
use skill_evals::results::run_status;
use skill_evals::results::summary::Summary;
use skill_evals::results::table as results;
use skill_evals::settings::{Prices, Settings, load};
use skill_evals::store::{self, LedgerContents, RunFolder, StoreError, TrialFolder};
use skill_evals::text::safe;
use skill_evals::trial::id::TrialId;

#[derive(Args)]
#[command(after_help = exit_code::HELP)]
pub struct SummaryArgs {
    /// Runs, by id or directory; parts of one run make one summary [default: the latest run]
    #[arg(value_name = "RUN-ID|DIR")]
    what: Vec<String>,
    #[command(flatten)]
    exports: ExportArgs,
    /// Rewrite the summary files of a single run
    #[arg(long)]
    write: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn summary(args: &SummaryArgs) -> CliResult {
    if let Some(name) = args.exports.file_is_output().filter(|_| args.exports.in_place()) {
        return Err(format!(
            "--{name} - and what is printed in place of the table are both for standard output: give --{name} a file"
        )
        .into());
    }
    let root = args.repository.open()?.root;
    let settings = load::read(&root)?;
    let mut summary = Summary::new(Vec::new(), settings.repetition.threshold());
    summary.isolation_wanted = settings.isolation.kind;
    let what = if args.what.is_empty() { vec![named_runs::latest(&root)?.id().to_owned()] } else { args.what.clone() };
    let folders = named_runs::open(&root, &what)?;
    named_runs::distinct(folders.iter())?;
    let mut unreadable = Vec::new();
    for (what, run) in what.iter().zip(&folders) {
        summary.runs.push(run.id().to_owned());
        unreadable.extend(add_run(&mut summary, run, named_runs::is_folder(what), &settings.prices)?);
    }
    if summary.total.ended() == 0 && unreadable.is_empty() {
        return Err(super::no_trials(&what.join(", "), &folders).into());
    }
    if args.write {
        let [run] = folders.as_slice() else { return Err("--write needs exactly one run, by its id".into()) };
        run.write_summary(&summary, &markdown::summary(&summary))?;
    }
    let places =
        || args.repository.read_quietly().map(|(_, _, catalog)| export::places(&root, &catalog)).unwrap_or_default();
    let results = Results { summary: &summary, places: &places };
    args.exports.write_files(&results)?;
    let mut out = stdout();
    args.exports.print(&results, &mut out)?;
    if !args.exports.in_place() && args.exports.file_is_output().is_none() {
        write!(out, "{}{}", table::table(&summary, paint(&io::stdout())), triggering::triggering(&summary))?;
        write!(out, "{}\n{}", table::closing(&summary, paint(&io::stdout())), table::shown(&summary))?;
    }
    if let Some(trouble) = args.exports.add_to_page(&results) {
        writeln!(stderr(), "warning: {}", safe::line(&trouble))?;
    }
    for error in &unreadable {
        writeln!(stderr(), "warning: not counted: {}", safe::line(&error.to_string()))?;
    }
    let exit = Exit::of_summary(&summary);
    Ok(if unreadable.is_empty() { exit } else { exit.worse(Exit::Infrastructure) })
}

/// The summary of a stored run.
pub fn of_run(run: &RunFolder, settings: &Settings) -> CliResultOf<Summary> {
    let mut summary = Summary::new(vec![run.id().to_owned()], settings.repetition.threshold());
    summary.isolation_wanted = settings.isolation.kind;
    add_run(&mut summary, run, false, &settings.prices)?;
    Ok(summary)
}

/// Writes the summary files of a stored run anew.
pub fn write(run: &RunFolder, settings: &Settings) -> CliResultOf<()> {
    let summary = of_run(run, settings)?;
    Ok(run.write_summary(&summary, &markdown::summary(&summary))?)
}

/// Adds the trials of a run from their own folders, and what its plan has beside them. Returns what could not be read.
fn add_run(summary: &mut Summary, run: &RunFolder, part: bool, prices: &Prices) -> CliResultOf<Vec<StoreError>> {
    let folders = if part { store::trials_below(run.path()) } else { run.trials() };
    let (mut unreadable, mut seen) = (Vec::new(), BTreeSet::new());
    let progress = run.progress()?;
    // A trial without a grade was cut short, and counts as not run.
    for folder in folders.into_iter().filter(TrialFolder::has_grade) {
        match results::row(&folder, prices) {
            Ok(mut row) => {
                // How often its agent was started only the progress file knows.
                let attempts = progress.records.get(&row.id).map_or(row.attempts, |known| known.attempts);
                seen.insert(row.id.clone());
                row.attempts = attempts;
                summary.add(&row);
            }
            Err(error) => unreadable.push(error),
        }
    }
    unreadable.extend(run.run_record().err());
    add_rest(summary, run, &progress, &seen)?;
    Ok(unreadable)
}

/// Adds what a run has beside the trials that were `seen`: what was refused, and what was not run. Returns the latter, as
/// far as it is known which they are.
pub fn add_rest(
    summary: &mut Summary,
    run: &RunFolder,
    progress: &LedgerContents,
    seen: &BTreeSet<TrialId>,
) -> CliResultOf<Vec<TrialId>> {
    let mut not_run = Vec::new();
    let compares = run.run_record().ok().flatten().is_some_and(|record| record.sides.is_some());
    summary.comparisons.extend(compares.then(|| run.id().to_owned()));
    for (id, spent) in &progress.refused {
        summary.add_refused(id, *spent);
    }
    if let Some(planned) = run_status::planned(run)? {
        summary.planned = Some(summary.planned.unwrap_or_default() + planned);
        let plan = run.plan()?;
        not_run = plan.difference(seen).cloned().collect();
        let reasons = NotRunReasons::of(run);
        for id in &not_run {
            summary.add_not_run(id, reasons.why(id));
        }
        // Of a plan that lacks lines only the number is known.
        let unnamed = planned.saturating_sub(seen.len() + not_run.len());
        if unnamed > 0 {
            *summary.not_run.entry(reasons.otherwise.to_owned()).or_default() += unnamed;
        }
    }
    Ok(not_run)
}
