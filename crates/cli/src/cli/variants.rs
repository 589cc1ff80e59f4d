//! What `diagnose` and `compare --models` share: they run the same cases in several variants.

use std::io::Write;
use std::path::Path;

use super::start::{self, StartArgs};
use super::{CliResult, CliResultOf, print_json};
use crate::cli::exit_code::Exit;
use crate::cli::output::{document_stdout, stderr, text_stdout};
use crate::cli::terminal::Terminal;
use crate::report::diagnostics::counted;
use crate::report::estimate as words;
use crate::results::run_status::standing;
use crate::run::context::RunContext;
use crate::run::variants::VariantPlan;
use crate::run::{history, same_contents, scheduler};
use crate::settings::Settings;
use crate::store::RunFolder;
use crate::text::escape;
use crate::trial::id::TrialId;
use crate::trial::run_record::{RunChoices, RunRecord};
use crate::trial::variants::VariantRun;

pub struct MeasuredRun {
    pub folder: RunFolder,
    /// Why not all trials ran, and what to do.
    pub ended_early: Option<String>,
}

impl MeasuredRun {
    /// The exit code after this result, and why the run ended early. Nothing else may be printed afterwards.
    pub fn end(&self, exit: Exit, prints: bool) -> CliResult {
        if let Some(why) = &self.ended_early {
            writeln!(stderr(), "{}", escape::line(why))?;
        }
        if prints {
            writeln!(document_stdout(), "{}", self.folder.path().display())?;
        }
        Ok(exit.of_live(self.ended_early.is_some()))
    }
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

/// The choices and the variants of the run to resume, which `command` has to resume.
pub fn earlier(root: &Path, settings: &Settings, command: &str) -> CliResultOf<(RunChoices, VariantRun)> {
    let folder = start::to_resume(root, settings)?;
    let id = folder.id();
    match folder.run_record()? {
        Some(record) if record.command() != command => {
            Err(format!("to resume {id}: {}", folder.resume_command()).into())
        }
        Some(RunRecord { variants: Some(variants), chosen, .. }) => Ok((chosen, variants)),
        _ => Err(format!("{id} does not say what it was to do: it has no run.json").into()),
    }
}

/// Runs the variants. After a dry run, or if a background process runs them, returns the exit code.
pub fn run(
    start: &StartArgs,
    run: RunContext,
    planned: VariantPlan,
    json: bool,
) -> CliResultOf<Result<MeasuredRun, Exit>> {
    let VariantPlan { plan, record } = planned;
    let mut run = run.with_plan(plan);
    if !start.resume && !start.dry_run {
        let question = serde_json::to_string(&record)?;
        let cases = || run.plan.entries.iter().map(|entry| &entry.planned);
        let contents = start.contents(same_contents::of_cases(&run, cases(), &question))?;
        run.contents = contents.map(|contents| same_contents::with_names(&contents, cases()));
    }
    run.variants = Some(record);
    if let Some(folder) = start.unfinished(&run)? {
        run.settings.resume = true;
        run.settings.run_id = Some(folder.id().to_owned());
    }
    if let Some(exit) = start.begin(&mut run, true, |run| dry_run(run, json))? {
        return Ok(Err(exit));
    }
    let prints = !json && !start.quiet;
    Terminal::new(&run, run.plan.len(), prints).in_brief().over(&run, || scheduler::run(&run));
    start::warn_of(run.close())?;
    let folder = run.opened().ok_or("the run could not be opened")?.folder.clone();
    let ended_early = ended_early(&run, &folder)?;
    if prints {
        writeln!(document_stdout())?;
    }
    Ok(Ok(MeasuredRun { folder, ended_early }))
}

fn ended_early(run: &RunContext, folder: &RunFolder) -> CliResultOf<Option<String>> {
    if let Some(why) = run.told_early_end() {
        return Ok(Some(why));
    }
    let Some(why) = run.no_more() else { return Ok(None) };
    let ended = folder.noted()?.records.len();
    if ended >= run.plan.len() {
        return Ok(None);
    }
    Ok(Some(format!("it ended early: {why}; {}", folder.remedy())))
}

fn dry_run(run: &RunContext, json: bool) -> CliResult {
    let ids: Vec<TrialId> = run.plan.ids().collect();
    let estimate = history::estimate(run, &ids);
    if json {
        let plan = serde_json::json!({"format": 1, "variants": run.variants, "estimate": estimate});
        print_json(&mut document_stdout(), &plan)?;
        return Ok(Exit::Clean);
    }
    let mut out = text_stdout();
    if let Some(variants) = &run.variants {
        let names: Vec<&str> = variants.variants.iter().map(|variant| variant.name.as_str()).collect();
        writeln!(out, "variants: {}; {} of each case in each", names.join(", "), counted(variants.rounds, "trial"))?;
        for (case, why) in &variants.left_out {
            writeln!(out, "{} is left out: {}", escape::line(case), escape::line(why))?;
        }
    }
    out.write_all(words::render(&estimate).as_bytes())?;
    Ok(Exit::Clean)
}
