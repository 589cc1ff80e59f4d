//! `skill-evals export`.

use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::{CliResult, RepositoryArgs, custom_checks};
use crate::cli::exit_code::Exit;
use crate::cli::output::{text_stdout, warn};
use crate::cli::{CliResultOf, named_runs};
use crate::engine::Loaded;
use crate::exports::EXPORTS;
use crate::report::diagnostics::counted;
use crate::report::export::{ChangeLocations, Export, ExportKind, Results, StartTrials};
use crate::report::export::{ExportPart, ExportedTrial, TrialPlan};
use crate::results::graded_trial;
use crate::results::stored_summary::{no_trials, of_runs};
use crate::run::planned::PlannedRun;
use crate::run::regrade::TrialReview;
use crate::store::{self, RunFolder, TrialFolder};
use crate::text::diagnostic::shown_path;
use crate::text::escape;
use crate::trial::run_record::TrialRecord;

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

// Reads stored trials for an export, one by one.

/// Stored trials on their way into an export.
pub struct TrialExporter<'a> {
    run: &'a PlannedRun,
    /// Each with the number of attempts, which only the progress file has.
    trials: Vec<(TrialFolder, Option<u32>)>,
    plan: TrialPlan,
    exported: usize,
    unreadable: Vec<String>,
}

impl<'a> TrialExporter<'a> {
    pub fn of(run: &'a PlannedRun, runs: &[RunFolder]) -> CliResultOf<Self> {
        let names = runs.iter().map(RunFolder::id).collect::<Vec<_>>().join(", ");
        let (mut trials, mut unreadable, mut modes) = (Vec::new(), Vec::new(), BTreeMap::new());
        for stored in runs {
            stored.check_whole()?;
            let progress = stored.noted()?;
            let has_grades = named_runs::has_own_trials(stored)?;
            // A trial of a run that has no grade was cut short.
            for folder in named_runs::trials(&run.root, stored)? {
                if has_grades && !folder.has_grade()? {
                    continue;
                }
                match folder.meta() {
                    Ok(meta) => {
                        let attempts = progress.records.get(&meta.id()).map(|record| record.attempts);
                        modes.insert(meta.mode, meta.delivery.offers_skills());
                        trials.push((folder, attempts));
                    }
                    Err(why) => unreadable.push(why.to_string()),
                }
            }
        }
        if trials.is_empty() && unreadable.is_empty() {
            return Err(no_trials(&names, runs).into());
        }
        Ok(Self { run, trials, plan: TrialPlan { runs: names, modes }, exported: 0, unreadable })
    }

    /// Passes every part of the export to `put`.
    pub fn write<E>(&mut self, start: StartTrials, mut put: impl FnMut(ExportPart) -> Result<(), E>) -> Result<(), E> {
        let mut writer = start(&self.plan);
        for (folder, attempts) in &self.trials {
            let review = match TrialReview::of(self.run, folder) {
                Ok(review) => review,
                Err(why) => {
                    self.unreadable.push(why.to_string());
                    continue;
                }
            };
            let (meta, grade) = (&review.meta, &review.grade);
            let outcome = graded_trial::outcome(meta.id(), grade.clone(), meta, folder, &self.run.settings.prices);
            let record = TrialRecord::new(&outcome, attempts.unwrap_or(1));
            let trial = ExportedTrial {
                record: &record,
                evidence: review.evidence(),
                grade,
                timeline: &review.timeline(),
                files: self.files(&review, folder),
            };
            writer.trial(&trial).into_iter().try_for_each(&mut put)?;
            self.exported += 1;
        }
        writer.end().into_iter().try_for_each(put)
    }

    fn files(&self, review: &TrialReview, folder: &TrialFolder) -> Vec<(PathBuf, String)> {
        let changed = review.files(self.run, folder).into_iter();
        changed.filter_map(|file| Some((file.path.into(), file.after?))).collect()
    }

    /// The number of exported trials, and why others were not.
    pub fn finish(self) -> (usize, Vec<String>) {
        (self.exported, self.unreadable)
    }
}
