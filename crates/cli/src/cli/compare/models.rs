//! Compares models: which is the cheapest within the margin of the best.

use super::CompareArgs;
use crate::cli::exit_code::Exit;
use crate::cli::variants;
use crate::cli::{CliResult, print_answer};
use crate::engine::{self, variants::VariantRequest};
use crate::report::models as report;
use crate::results::models::ModelComparison;
use crate::run::variants::TrialLimit;
use crate::store::RunFolder;
use crate::trial::variants::{VariantQuestion, VariantRun};

/// Runs the cases with each model: those of `--models`, or of the run to resume.
pub fn compare(args: &CompareArgs) -> CliResult {
    let loaded = args.start.read()?;
    let mut chosen = args.select.chosen();
    chosen.modes = args.select.names.with_modes(&args.mode);
    let rule = args.rule();
    let (mut models, mut rule) = (args.models.clone(), (rule.margin.unwrap_or_default(), rule.alpha));
    let mut limit = args.max_trials.map_or(TrialLimit::Usual, TrialLimit::AtMost);
    if args.start.resume {
        let (earlier, VariantRun { question, variants, rounds, .. }) =
            engine::variants::earlier(&loaded.repository.root, &loaded.settings, "compare")?;
        chosen = chosen.or(earlier);
        models = variants.into_iter().map(|variant| variant.name).collect();
        limit = TrialLimit::Rounds(rounds);
        if let VariantQuestion::CheapestModel { margin, alpha, .. } = question {
            rule = (margin, alpha);
        }
    }
    let host = args.start.host(!args.json);
    let engine = host.engine(&args.start);
    let run = engine.vary(loaded, chosen, &VariantRequest::CheapestModel(models, rule), limit)?;
    match variants::run(&args.start, &engine, run, args.json)? {
        Err(exit) => Ok(exit),
        Ok(measured) => variants::end(&measured, show(args, &measured.folder)?, args.says_more()),
    }
}

/// Prints the comparison that a run measured.
pub fn show(args: &CompareArgs, run: &RunFolder) -> CliResult {
    let compared = ModelComparison::of(run)?
        .ok_or_else(|| format!("{} compares no models; its result: skill-evals diagnose {0}", run.id()))?;
    print_answer(&compared, (args.json, args.start.quiet), [report::sentence, report::render])?;
    let lost: u64 = compared.models.iter().map(|model| model.not_measured).sum();
    let exit = match compared.cheapest {
        _ if !compared.not_counted.is_empty() => Exit::Infrastructure,
        Some(_) => Exit::Clean,
        None if compared.cases == 0 => Exit::Infrastructure,
        None => Exit::Undecided,
    };
    variants::exit_with_lost(run, lost, exit)
}
