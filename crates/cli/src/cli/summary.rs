//! `skill-evals summary`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use clap::Args;

use super::export_args::ExportArgs;
use super::{CliResult, CliResultOf, RepositoryArgs, named_runs};
use crate::cli::color::paint;
use crate::cli::exit_code::{self, Exit};
use crate::cli::output::{Stream, document_stdout, text_stdout, warn};
use crate::report::export::Results;
use crate::report::{markdown, table};
use crate::results::run_status;
use crate::results::run_status::NotRunReasons;
use crate::results::summary::Summary;
use crate::results::table as results;
use crate::run::change_locations::change_locations;
use crate::settings::{Prices, Settings, load};
use crate::store::{self, RunFolder, StoreError};
use crate::trial::id::TrialId;
use crate::trial::run_record::TrialRecord;
use crate::trial::spent::AttemptCost;

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

/// The summary of stored runs, or of parts of them, and the errors of trials that cannot be read. Fails without trials.
pub fn of_runs(runs: &[RunFolder], settings: &Settings) -> CliResultOf<(Summary, Vec<StoreError>)> {
    let mut summary = Summary::new(Vec::new(), settings);
    let mut unreadable = Vec::new();
    for run in runs {
        summary.runs.push(run.id().to_owned());
        unreadable.extend(add_run(&mut summary, run, &settings.prices)?);
    }
    if summary.total.ended() == 0 && unreadable.is_empty() {
        let names: Vec<&str> = runs.iter().map(RunFolder::id).collect();
        return Err(super::no_trials(&names.join(", "), runs).into());
    }
    Ok((summary, unreadable))
}

pub fn of_run(run: &RunFolder, settings: &Settings) -> CliResultOf<Summary> {
    let mut summary = Summary::new(vec![run.id().to_owned()], settings);
    add_run(&mut summary, run, &settings.prices)?;
    Ok(summary)
}

/// Rewrites the summary files of a stored run.
pub fn write(run: &RunFolder, settings: &Settings) -> CliResultOf<()> {
    let summary = of_run(run, settings)?;
    Ok(run.write_summary(&summary, &markdown::summary(&summary))?)
}

/// Adds the trials of a run, or of a part of one, from their directories, and the rest of its plan. Returns the errors of those
/// that cannot be read.
fn add_run(summary: &mut Summary, run: &RunFolder, prices: &Prices) -> CliResultOf<Vec<StoreError>> {
    let folders = if run.is_run()? { run.trials()? } else { store::trials_below(run.path())? };
    let (mut unreadable, mut rest) = (Vec::new(), RestOfRun::of(run)?);
    // A trial without a grade was cut short, and counts as not run.
    for folder in folders {
        if !folder.has_grade()? {
            continue;
        }
        match results::row(&folder, prices) {
            Ok(mut record) => {
                rest.without(&mut record);
                summary.add(&record);
            }
            Err(error) => unreadable.push(error),
        }
    }
    unreadable.extend(run.run_record().err());
    rest.add_to(summary, run)?;
    Ok(unreadable)
}

/// What a run has besides the directories of its trials.
pub struct RestOfRun {
    /// The number of attempts of trials that had several: only the progress file has it.
    attempts: BTreeMap<TrialId, u32>,
    refused: Vec<(TrialId, AttemptCost)>,
    planned: Option<usize>,
    /// The planned trials without a directory.
    left: BTreeSet<TrialId>,
    counted: usize,
}

impl RestOfRun {
    pub fn of(run: &RunFolder) -> CliResultOf<Self> {
        run.check_record()?;
        let mut attempts = BTreeMap::new();
        let mut progress = run.each_noted(|record| {
            if record.attempts > 1 {
                attempts.insert(record.id.clone(), record.attempts);
            }
        })?;
        progress.add_lost_attempts(&attempts);
        let left = run.plan()?;
        let planned = run_status::planned(run, left.len());
        Ok(Self { attempts, refused: progress.refused, planned, left, counted: 0 })
    }

    /// Takes out the trial of a directory, and adds what its directory does not have.
    pub fn without(&mut self, record: &mut TrialRecord) {
        record.attempts = self.attempts.get(&record.id).copied().unwrap_or(record.attempts);
        self.left.remove(&record.id);
        self.counted += 1;
    }

    /// Adds the refused attempts of the run, and its planned trials without a directory. Returns these, each with the reason.
    pub fn add_to(self, summary: &mut Summary, run: &RunFolder) -> CliResultOf<Vec<(TrialId, String)>> {
        if !self.left.is_empty() {
            named_runs::check_trials(run)?;
        }
        let mut not_run = Vec::new();
        let compares = run.run_record().ok().flatten().is_some_and(|record| record.compares());
        summary.comparisons.extend(compares.then(|| run.id().to_owned()));
        for (id, spent) in &self.refused {
            summary.add_refused(id, *spent);
        }
        let Some(planned) = self.planned else { return Ok(not_run) };
        summary.planned = Some(summary.planned.unwrap_or_default() + planned);
        // A plan that was cut short lacks lines.
        let unnamed = planned.saturating_sub(self.counted + self.left.len());
        if unnamed + self.left.len() == 0 {
            return Ok(not_run);
        }
        let reasons = NotRunReasons::of(run);
        for id in self.left {
            let why = reasons.why(&id);
            summary.add_not_run(&id, why.clone());
            not_run.push((id, why.to_string()));
        }
        if unnamed > 0 {
            *summary.not_run.entry(reasons.otherwise).or_default() += unnamed;
        }
        Ok(not_run)
    }
}
