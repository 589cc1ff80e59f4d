//! What `diagnose` and `compare --models` share: they run the same cases in several variants.

use std::io::Write;

use super::documents::{Format, VariantsPlan};
use super::start::StartArgs;
use super::{CliResult, CliResultOf, print_sorted_json};
use crate::cli::exit_code::Exit;
use crate::cli::output::{document_stdout, stderr, text_stdout};
use crate::engine::Engine;
use crate::engine::variants::EndedVariants;
use crate::report::diagnostics::counted;
use crate::report::estimate as words;
use crate::results::run_status::standing;
use crate::run::planned::PlannedRun;
use crate::run::{expected_cost, preflight};
use crate::store::RunFolder;
use crate::text::escape;
use crate::trial::id::TrialId;

/// The exit code after this result of measured variants, and why their run ended early. Nothing else may be printed afterwards.
pub fn end(measured: &EndedVariants, exit: Exit, prints: bool) -> CliResult {
    if let Some(why) = &measured.ended_early {
        writeln!(stderr(), "{}", escape::line(why))?;
    }
    if prints {
        writeln!(document_stdout(), "{}", measured.folder.path().display())?;
    }
    Ok(exit.of_live(measured.ended_early.is_some()))
}

/// The exit code of a result that lacks the trials that a run `lost`: they might have led to another.
pub fn exit_with_lost(run: &RunFolder, lost: u64, exit: Exit) -> CliResult {
    if lost == 0 || exit == Exit::Problems {
        return Ok(exit);
    }
    writeln!(stderr(), "trials that were not measured: {lost}; {}", run.remedy())?;
    Ok(Exit::Infrastructure)
}

/// The exit code of a stored run after this result, and why it is not the last.
pub fn end_of_stored(run: &RunFolder, exit: Exit) -> CliResult {
    let standing = standing(run)?;
    if standing.remaining.is_none_or(|remaining| remaining == 0) {
        return Ok(exit);
    }
    writeln!(stderr(), "{}: not all of its trials have run; {}", run.id(), run.remedy())?;
    Ok(exit.of_live(true))
}

/// Runs the variants. After a dry run, or if a background process runs them, returns the exit code.
pub fn run(
    start: &StartArgs,
    engine: &Engine<'_>,
    run: PlannedRun,
    json: bool,
) -> CliResultOf<Result<EndedVariants, Exit>> {
    if start.dry_run {
        preflight::check_dry_run(&run)?;
        dry_run(&run, json)?;
        preflight::agents(&run)?;
        return Ok(Err(Exit::Clean));
    }
    let Some(measured) = engine.measure(run)? else { return Ok(Err(Exit::Clean)) };
    if !json && !start.quiet {
        writeln!(document_stdout())?;
    }
    Ok(Ok(measured))
}

fn dry_run(run: &PlannedRun, json: bool) -> CliResultOf<()> {
    let ids: Vec<TrialId> = run.plan.ids().collect();
    let estimate = expected_cost::estimate(run, &ids);
    if json {
        let variants = run.variants.as_ref();
        return Ok(print_sorted_json(&VariantsPlan { format: Format, variants, estimate: &estimate })?);
    }
    let mut out = text_stdout();
    if let Some(variants) = &run.variants {
        let names: Vec<&str> = variants.variants.iter().map(|variant| variant.name.as_str()).collect();
        writeln!(out, "variants: {}; {} of each case in each", names.join(", "), counted(variants.rounds, "trial"))?;
        for (case, why) in &variants.left_out {
            writeln!(out, "{} is left out: {}", escape::line(case), escape::line(why))?;
        }
    }
    Ok(out.write_all(words::render(&estimate).as_bytes())?)
}
