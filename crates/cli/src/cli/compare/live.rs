//! Runs both sides of a comparison until its plan is done, and prints what would run.

use std::collections::BTreeMap;
use std::io::Write;

use super::CompareArgs;
use crate::cli::documents::{ComparisonPlan, GatePlan};
use crate::cli::exit_code::Exit;
use crate::cli::output::{stderr, text_stdout};
use crate::cli::start::StartArgs;
use crate::cli::{CliResult, CliResultOf, print_sorted_json};
use crate::engine::compare::{
    ComparisonRequest, Expectation, MeasuredComparison, PreparedComparison, ReadyComparison, no_case,
};
use crate::engine::{Engine, Loaded};
use crate::report::compared::named_broken;
use crate::report::table::{self, dollars};
use crate::report::{diagnostics, estimate as words};
use crate::results::estimate::{self, Estimate};
use crate::results::stored_comparison;
use crate::run::pairing::Pairing;
use crate::run::preflight;
use crate::text::escape;
use crate::trial::run_record::ComparedSides;

/// What a dry run prints.
#[derive(Default)]
pub struct DryRun<'a> {
    pub json: bool,
    /// The document in which the plan is a part.
    pub within: Option<GatePlan<'a>>,
}

/// Compares by running trials: `sides`, or those of the run to resume.
pub fn compare(args: &CompareArgs, sides: Option<ComparedSides>) -> CliResult {
    let host = args.start.host(!args.json);
    let dry = DryRun { json: args.json, within: None };
    match measure(&host.engine(&args.start), &args.start, args.start.read()?, args.request(sides), dry)? {
        Err(exit) => Ok(exit),
        Ok(measured) => tell(measured, args),
    }
}

fn tell(measured: MeasuredComparison, args: &CompareArgs) -> CliResult {
    let folder = measured.folder.filter(|_| args.says_more());
    if folder.is_some() {
        writeln!(text_stdout())?;
    }
    let exit = args.tell(&measured.compared, measured.ended_early, &measured.remedy)?;
    if let Some(folder) = folder {
        let mut out = text_stdout();
        let broken = named_broken(&measured.compared.comparison);
        for (name, counts) in broken.filter_map(|name| Some((name, measured.took.reasons.get(name)?))) {
            writeln!(out, "  {}: {}", escape::line(name), table::reason(counts))?;
        }
        writeln!(out, "  cost: {}", table::cost(&measured.took.spent))?;
        writeln!(out, "{}", folder.display())?;
    }
    Ok(exit)
}

/// Compares by running trials, and prints only their progress. Returns the exit code if nothing was compared: after a dry run,
/// of a run in the background, and of a shard without cases.
pub fn measure(
    engine: &Engine<'_>,
    start: &StartArgs,
    loaded: Loaded,
    request: ComparisonRequest,
    dry: DryRun<'_>,
) -> CliResultOf<Result<MeasuredComparison, Exit>> {
    match engine.prepare(loaded, request)? {
        PreparedComparison::NoCase(shard, all) => {
            writeln!(stderr(), "{}: nothing to run", no_case(shard, all))?;
            Ok(Err(Exit::Clean))
        }
        PreparedComparison::Unchanged(unchanged) if start.dry_run && dry.json => {
            let nothing = estimate::estimate(&[], &BTreeMap::new(), unchanged.max_cost_usd);
            print_plan(dry, &unchanged.pairing, &unchanged.sides, None, &nothing, (0, 0)).map(Err)
        }
        PreparedComparison::Unchanged(unchanged) => Ok(Ok(unchanged.answer())),
        PreparedComparison::Ready(ready) if start.dry_run => {
            ready.check()?;
            dry_run(&ready, dry)?;
            preflight::agents(&ready.run)?;
            Ok(Err(Exit::Clean))
        }
        PreparedComparison::Ready(ready) => Ok(engine.compare(*ready)?.ok_or(Exit::Clean)),
    }
}

fn dry_run(ready: &ReadyComparison, dry: DryRun<'_>) -> CliResult {
    let ReadyComparison { run, pairing, sides } = ready;
    let (kept, measured) = ready.known();
    let expected = ready.expected();
    let estimate = &expected.first_pass;
    if dry.json {
        return print_plan(dry, pairing, sides, Some(&expected), estimate, (kept, measured));
    }
    let mut out = text_stdout();
    writeln!(
        out,
        "{}, at most {} trials, {} of them for a first look at every case",
        diagnostics::counted(pairing.cases.len(), "case"),
        sides.max_trials,
        run.plan.len()
    )?;
    writeln!(out, "plan {}", words::promise(&expected.promise))?;
    if let Some((limit, promise)) = run.settings.max_cost_usd.zip(expected.within_cost.as_ref()) {
        let (limit, trials) = (dollars(limit), promise.max_trials);
        writeln!(out, "for {limit}, about {trials} trials: it finds {}", words::finds(&promise.power))?;
    }
    writeln!(out, "{}", expected.basis())?;
    for (case, why) in &pairing.left_out {
        writeln!(out, "{case} is left out: {why}")?;
    }
    if measured > 0 {
        let trials = diagnostics::counted(measured, "trial");
        writeln!(out, "{trials} of the same contents have been measured and need not run again")?;
    } else if kept > 0 {
        let trials = diagnostics::counted(kept, "kept trial");
        writeln!(out, "of these, up to {trials} of the base need not run, if the agent and its setup are the same")?;
    }
    writeln!(out, "the first look:")?;
    out.write_all(words::render(estimate).as_bytes())?;
    out.write_all(words::of_trials(estimate, sides.max_trials).as_bytes())?;
    Ok(Exit::Clean)
}

/// Prints what would run as one document. `expected` is `None` if both sides are the same, so that nothing runs.
fn print_plan(
    dry: DryRun<'_>,
    pairing: &Pairing,
    sides: &ComparedSides,
    expected: Option<&Expectation>,
    first_pass: &Estimate,
    (kept, measured): (usize, usize),
) -> CliResult {
    let most = expected.map_or(0, |_| sides.max_trials);
    let plan = ComparisonPlan {
        unchanged: expected.is_none(),
        cases: pairing.cases.len(),
        plan: sides.plan,
        max_trials: most,
        rule: stored_comparison::rule(sides),
        promise: expected.map(|expected| expected.promise),
        promise_within_cost: expected.and_then(|expected| expected.within_cost),
        earlier_trials: expected.map_or(0, |expected| expected.earlier),
        first_pass,
        all_trials: first_pass.of_trials(most),
        left_out: &pairing.left_out,
        kept_trials: kept,
        measured_trials: measured,
    };
    match dry.within {
        Some(gate) => print_sorted_json(&GatePlan { comparison: Some(plan), ..gate })?,
        None => print_sorted_json(&plan)?,
    }
    Ok(Exit::Clean)
}
