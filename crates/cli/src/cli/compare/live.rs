//! Runs both sides of a comparison until its plan is done.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::earlier::{continued, earlier, tell_of_gone};
use super::{CompareArgs, LiveRequest, gate};
use crate::cli::exit_code::Exit;
use crate::cli::output::{document_stdout, stderr, text_stdout, warn};
use crate::cli::shard::{name_shard, shard_is_empty};
use crate::cli::start::StartArgs;
use crate::cli::terminal::Terminal;
use crate::cli::{CliResult, CliResultOf, LoadedRepository, default_agent, print_json, select, start};
use crate::decide::plan::{USUAL_RATE, reach};
use crate::decide::promise::{ExpectedCases, PlanPromise};
use crate::report::paint::Paint;
use crate::report::table::dollars;
use crate::report::{diagnostics, estimate as words, rate};
use crate::results::compared::{self, ComparisonResults};
use crate::results::estimate::{self, Estimate};
use crate::results::gate::ComparedRun;
use crate::results::stored_comparison;
use crate::run::budget;
use crate::run::context::RunContext;
use crate::run::kept;
use crate::run::kept_store::KeptStore;
use crate::run::pairing::{self, Pairing};
use crate::run::pairs::{self, PairsStopped};
use crate::run::skill_version::SkillVersion;
use crate::run::{history, open_run, same_contents};
use crate::settings::Stop;
use crate::settings::trials::Trials;
use crate::trial::id::TrialId;
use crate::trial::run_record::{ComparedSides, RunChoices};

pub struct LiveComparison {
    pub compared: ComparisonResults,
    /// The directory of the run; `None` if both sides have the same skills, so that nothing ran.
    pub folder: Option<PathBuf>,
    /// Why the run ended before its plan was done, and what to do.
    pub ended_early: Option<String>,
    /// How to measure trials that were lost.
    pub remedy: String,
    /// What it took, and why cases failed.
    pub took: ComparedRun,
    /// What it cost in dollars; `None` if that is unknown.
    pub cost_usd: Option<f64>,
}

/// Compares by running trials: `sides`, or those of the run to resume.
pub fn compare(args: &CompareArgs, sides: Option<ComparedSides>) -> CliResult {
    match measure(args.request(sides))? {
        Err(exit) => Ok(exit),
        Ok(live) => live.tell(args),
    }
}

impl LiveComparison {
    fn tell(self, args: &CompareArgs) -> CliResult {
        let folder = self.folder.filter(|_| args.says_more());
        if folder.is_some() {
            writeln!(text_stdout())?;
        }
        let exit = args.tell(&self.compared, self.ended_early, &self.remedy)?;
        if let Some(folder) = folder {
            writeln!(text_stdout(), "{}", folder.display())?;
        }
        Ok(exit)
    }
}

/// Compares by running trials, and prints only their progress. Returns the exit code if nothing was compared: after a dry run,
/// of a run in the background, and of a shard without cases.
pub fn measure(mut request: LiveRequest<'_>) -> CliResultOf<Result<LiveComparison, Exit>> {
    let start = request.start;
    let LoadedRepository { repository, mut settings, catalog } = start.read()?;
    settings.max_cost_usd = request.max_cost_usd.or(settings.max_cost_usd);
    let chosen = std::mem::take(&mut request.chosen);
    if let Some(shard) = chosen.shard {
        name_shard(&repository.root, &mut settings, shard, !start.dry_run)?;
    }
    let (chosen, mut sides, mut begun) = match request.sides.take() {
        Some(sides) => (chosen, sides, Vec::new()),
        None => earlier(&repository.root, &settings, chosen)?,
    };
    let asked_to_stop = chosen.stop;
    let has_modes = sides.baseline.mode.is_some() && sides.candidate.mode.is_some();
    let mut run = planned(start, LoadedRepository { repository, settings, catalog }, chosen, request.stop, has_modes)?;
    run.versions = versions(&run, &sides, request.must_decide)?;
    let mut pairing = pairing::pair(&run, &sides)?;
    check(&pairing)?;
    let all = pairing.cases.len();
    if let Some(shard) = run.chosen.shard {
        run = run.of_shard(shard)?;
        pairing = pairing.part(shard);
        if pairing.cases.is_empty() {
            writeln!(stderr(), "{}: nothing to run", shard_is_empty(shard, all))?;
            return Ok(Err(Exit::Clean));
        }
    }
    if !start.resume && pairing::unchanged(&run, &sides) {
        return unchanged(&request, &run, sides, &pairing);
    }
    sides.cases = pairing.cases.iter().map(|case| case.name.clone()).collect();
    sides.left_out.clone_from(&pairing.left_out);
    sides.outcome_only = pairing.outcome_only;
    if sides.outcome_only {
        check_end(asked_to_stop)?;
        run.settings.stop = Some(Stop::End);
    }
    if !start.resume {
        let keeps = request.max_age.map(|max_age| KeptStore::new(&run, max_age, pairing.baselines()));
        run.kept = keeps.transpose()?;
        begun = continued(&request, &mut run, &pairing, &mut sides)?;
    }
    tell_of_gone(&begun, &pairing, run.settings.force)?;
    // Pairs that started count, whatever the limit is now.
    sides.max_trials = most_trials(request.max_trials, &mut sides, all).max(2 * begun.len() as u64);
    let rule = stored_comparison::rule(&sides);
    if request.must_decide {
        let numbers = (pairing.cases.len(), sides.max_trials / 2);
        gate::check(request.fails, &rule, "pairs of trials", request.remedy, |result| {
            reach(sides.plan, numbers, &rule, result)
        })?;
    }
    run = run.with_plan(pairing.plan(&pairs::begun(&begun)));
    run.sides = Some(sides.clone());
    let check_dry_run = |run: &RunContext| dry_run(&request, run, &pairing, &sides);
    match start.begin(&mut run, true, check_dry_run)? {
        Some(exit) => Ok(Err(exit)),
        None => execute(&request, &run, &sides, &pairing).map(Ok),
    }
}

/// The trials of all compared cases, if each has a limit of its own.
fn most_of_each(sides: &mut ComparedSides) -> Option<u64> {
    let ComparedSides { pairs, cases, .. } = sides;
    pairs.retain(|case, _| cases.contains(case));
    (!pairs.is_empty()).then(|| 2 * pairs.values().sum::<u64>())
}

/// The most trials of both sides, of whose cases a shard has a part of `all`.
fn most_trials(asked: Option<u64>, sides: &mut ComparedSides, all: usize) -> u64 {
    let cases = sides.cases.len() as u64;
    match (most_of_each(sides).or(asked), sides.max_trials) {
        // That of an earlier part, of which a shard has its part already.
        (None, earlier @ 1..) => earlier,
        (asked, _) => asked.unwrap_or_else(|| sides.plan.default_limit(all)) * cases / all as u64,
    }
}

/// Refuses trials that end before their outcome shows.
fn check_end(asked: Option<Stop>) -> Result<(), &'static str> {
    if asked == Some(Stop::Settled) {
        return Err(
            "a comparison with and without the skill is about the outcome, which only the end of a trial shows: leave out \
                    --trial-end settled",
        );
    }
    Ok(())
}

fn versions(run: &RunContext, sides: &ComparedSides, is_gate: bool) -> CliResultOf<Vec<SkillVersion>> {
    let versions = pairing::versions(run, sides)?;
    // A gate has said it.
    warn_of_settings(if is_gate { &[] } else { &versions })?;
    Ok(versions)
}

/// Warns of commits whose settings do not count.
pub fn warn_of_settings(versions: &[SkillVersion]) -> CliResultOf<()> {
    Ok(versions.iter().filter_map(|version| version.warning.as_deref()).try_for_each(warn)?)
}

/// The run of the chosen cases, once each, without its sides, and whether these have modes of their own.
pub(super) fn planned(
    start: &StartArgs,
    loaded: LoadedRepository,
    mut chosen: RunChoices,
    stop: Stop,
    has_modes: bool,
) -> CliResultOf<RunContext> {
    let LoadedRepository { repository, mut settings, catalog } = loaded;
    settings.resume = start.resume;
    settings.record = false;
    settings.repetition.asked.trials = Some(Trials::Times(1));
    select::apply(&chosen, &mut settings)?;
    settings.stop.get_or_insert(stop);
    // A side's model rules over the model of both.
    if let Some(model) = settings.model.take() {
        settings.modes.iter_mut().for_each(|mode| Arc::make_mut(mode).model = Some(model.clone()));
    }
    if !has_modes {
        default_agent::choose(&mut settings, &catalog, &mut chosen)?;
    }
    let mut run = start::planned(repository, settings, catalog, chosen)?;
    if start.repository.for_gate {
        budget::limit_gate(&mut run.settings, &run.plan);
    }
    Ok(run)
}

/// The answer if both sides have the same skills, so that nothing runs.
fn unchanged(
    request: &LiveRequest<'_>,
    run: &RunContext,
    sides: ComparedSides,
    pairing: &Pairing,
) -> CliResultOf<Result<LiveComparison, Exit>> {
    if request.start.dry_run && request.json {
        let nothing = estimate::estimate(&[], &BTreeMap::new(), run.settings.max_cost_usd);
        return print_plan(request, pairing, &sides, None, &nothing, (0, 0)).map(Err);
    }
    let rule = stored_comparison::rule(&sides);
    let compared = compared::unchanged((sides.baseline.label, sides.candidate.label), rule);
    let took = ComparedRun::default();
    Ok(Ok(LiveComparison {
        compared,
        folder: None,
        ended_early: None,
        remedy: String::new(),
        took,
        cost_usd: Some(0.0),
    }))
}

/// Runs pairs until the plan is done.
fn execute(
    request: &LiveRequest<'_>,
    run: &RunContext,
    sides: &ComparedSides,
    pairing: &Pairing,
) -> CliResultOf<LiveComparison> {
    let began = Instant::now();
    let live = open_run::live(run).map_err(ToString::to_string)?;
    let most = usize::try_from(sides.max_trials).unwrap_or(usize::MAX);
    let terminal = Terminal::new(run, most, !request.start.quiet && !request.json).in_brief().up_to();
    let state = stored_comparison::sequential_test(sides);
    let (state, stopped) = terminal.over(run, || pairs::run(run, live, pairing, state, sides.max_trials))?;
    let mut errors = run.close();
    let compared = stored_comparison::compared(&live.folder, sides, &state)?;
    errors.extend(live.folder.write_comparison(&compared).err().map(|error| error.to_string()));
    start::warn_of(errors)?;
    if let Err(error) = kept::remove_old(run) {
        warn(&error.to_string())?;
    }
    for warning in kept::warnings(run) {
        warn(&warning)?;
    }
    let folder = Some(live.folder.path().to_path_buf());
    let summary = run.figures().summary.clone();
    let mut took = stored_comparison::run_cost(&live.folder, sides, &summary, began.elapsed())?;
    took.max_cost_usd = run.settings.max_cost_usd;
    let remedy = live.folder.remedy();
    let ended_early = ended_early(&stopped, run, &remedy);
    Ok(LiveComparison { compared, folder, ended_early, remedy, took, cost_usd: run.cost_usd() })
}

/// Why a comparison ended before its plan was done, and what to do; `None` if its plan is done.
fn ended_early(stopped: &PairsStopped, run: &RunContext, next: &str) -> Option<String> {
    match stopped {
        PairsStopped::Decided | PairsStopped::Trials => None,
        PairsStopped::NothingMeasured => Some(run.told_early_end().unwrap_or_else(|| {
            format!(
                "it ended early: again and again nothing was measured, see the errors above and skill-evals doctor; {next}"
            )
        })),
        PairsStopped::NoMore => Some(run.told_early_end().unwrap_or_else(|| {
            let why = run.no_more().map(|why| format!(": {why}")).unwrap_or_default();
            format!("it ended early{why}; {next}")
        })),
        PairsStopped::CannotRun => Some(format!("it ended early: a case cannot run, see above; once that is mended, {next}")),
        PairsStopped::Unreadable => Some(format!(
            "it ended early: what an earlier part of it measured cannot be graded, see above; once that is mended, {next}"
        )),
    }
}

/// Refuses what cannot be compared before it costs anything.
fn check(pairing: &Pairing) -> Result<(), String> {
    for case in &pairing.cases {
        if let Err(problems) = case.baseline.found.case() {
            return Err(format!("a case to compare is wrong\n{}", diagnostics::render(problems, Paint::Plain)));
        }
    }
    if !pairing.cases.is_empty() {
        return Ok(());
    }
    match pairing.left_out.first() {
        Some((case, why)) => Err(format!("no case can be compared; {case}: {why}")),
        None => Err("no case is selected".to_owned()),
    }
}

fn dry_run(request: &LiveRequest<'_>, run: &RunContext, pairing: &Pairing, sides: &ComparedSides) -> CliResult {
    let ids: Vec<TrialId> = run.plan.ids().collect();
    let estimate = history::estimate(run, &ids);
    let store = run.kept.as_ref();
    let kept = store.map_or(0, |store| pairing.baselines().filter(|case| !store.unused(case).is_empty()).count());
    let contents = store.and_then(|_| same_contents::of_comparison(run, pairing, sides).ok());
    let measured = store.zip(contents).map_or(0, |(store, contents)| store.measured(&contents));
    let expected = Expectation::of(run, pairing, sides, &estimate);
    if request.json {
        return print_plan(request, pairing, sides, Some(&expected), &estimate, (kept, measured));
    }
    let mut out = text_stdout();
    writeln!(
        out,
        "{}, at most {} trials in pairs, {} of them for a first look at every case",
        diagnostics::counted(pairing.cases.len(), "case"),
        sides.max_trials,
        ids.len()
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
    out.write_all(words::render(&estimate).as_bytes())?;
    out.write_all(words::of_trials(&estimate, sides.max_trials).as_bytes())?;
    Ok(Exit::Clean)
}

/// What the comparison is expected to find.
struct Expectation {
    promise: PlanPromise,
    /// With as many trials as the limit of cost pays, if that is fewer.
    within_cost: Option<PlanPromise>,
    /// The earlier trials that say how often the cases pass, and the cases that have none.
    earlier: u64,
    unknown: usize,
}

impl Expectation {
    fn of(run: &RunContext, pairing: &Pairing, sides: &ComparedSides, estimate: &Estimate) -> Self {
        let rates = history::rates(run, pairing.cases.iter().map(|case| &case.baseline));
        let cases = ExpectedCases::by(rates.iter().copied());
        let rule = stored_comparison::rule(sides);
        let promise = |max_trials| PlanPromise::of(sides.plan, &cases, max_trials, &rule);
        let paid = run.settings.max_cost_usd.and_then(|limit| estimate.trials_for(limit));
        Self {
            promise: promise(sides.max_trials),
            within_cost: paid.filter(|paid| *paid < sides.max_trials).map(promise),
            earlier: rates.iter().map(|rate| rate.trials).sum(),
            unknown: rates.iter().filter(|rate| rate.trials == 0).count(),
        }
    }

    /// What the promise rests on, in words.
    fn basis(&self) -> String {
        let usual = rate::points(USUAL_RATE);
        let unknown = diagnostics::counted(self.unknown, "case");
        match (self.earlier, self.unknown) {
            (0, _) => format!("this assumes that the cases pass {usual} % now, since no earlier trial of them is here"),
            (earlier, 0) => {
                format!("this rests on {} of these cases", diagnostics::counted(earlier, "earlier trial"))
            }
            (earlier, _) => {
                let earlier = diagnostics::counted(earlier, "earlier trial");
                format!("this rests on {earlier}, and takes {unknown} without any to pass {usual} %")
            }
        }
    }
}

/// Prints what would run as one document. `expected` is `None` if both sides are the same, so that nothing runs.
fn print_plan(
    request: &LiveRequest<'_>,
    pairing: &Pairing,
    sides: &ComparedSides,
    expected: Option<&Expectation>,
    first_pass: &Estimate,
    (kept, measured): (usize, usize),
) -> CliResult {
    let most = expected.map_or(0, |_| sides.max_trials);
    let plan = serde_json::json!({"unchanged": expected.is_none(), "cases": pairing.cases.len(), "plan": sides.plan,
        "max_trials": most, "rule": stored_comparison::rule(sides),
        "promise": expected.map(|expected| expected.promise),
        "promise_within_cost": expected.and_then(|expected| expected.within_cost),
        "earlier_trials": expected.map_or(0, |expected| expected.earlier),
        "first_pass": first_pass,
        "all_trials": first_pass.of_trials(most), "left_out": pairing.left_out,
        "kept_trials": kept, "measured_trials": measured});
    let document = request.within.clone().map(|mut within| {
        within["comparison"] = plan.clone();
        within
    });
    print_json(&mut document_stdout(), &document.unwrap_or(plan))?;
    Ok(Exit::Clean)
}
