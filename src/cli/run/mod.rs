//! `skill-evals run`.

mod options;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args;

use super::select;
use super::start::{self, StartArgs};
use super::{CliResult, CliResultOf, print_json};
use crate::cli::color::paint;
use crate::cli::exit_code::Exit;
use crate::cli::export::{self, ExportArgs};
use crate::cli::next::after_built_in;
use crate::cli::output::{stderr, stdout};
use crate::cli::terminal::Terminal;
use options::ChoiceArgs;
use skill_evals::decide::plan::{USUAL_POWER, USUAL_RATE, detectable_fixed};
use skill_evals::decide::{MARGIN, Rule};
use skill_evals::process::interrupt;
use skill_evals::report::export::Results;
use skill_evals::report::{comparison, diagnostics, estimate as words, table};
use skill_evals::results::estimate::{self, Estimate};
use skill_evals::results::summary::{CaseCounts, Summary};
use skill_evals::run::context::RunContext;
use skill_evals::run::plan::{self, PlannedCase, RunPlan};
use skill_evals::run::promote::{self, FailedTrials};
use skill_evals::run::{history, ready, scheduler, trial};
use skill_evals::settings::Settings;
use skill_evals::settings::mode::Mode;
use skill_evals::store::{self, RunFolder};
use skill_evals::text::diagnostic::once;
use skill_evals::text::name::Filters;
use skill_evals::text::safe;
use skill_evals::trial::event::{EventListener, RunEvent};
use skill_evals::trial::id::TrialId;
use skill_evals::trial::outcome::{NoOutcome, Outcome, Verdict};
use skill_evals::trial::run_record::RunChoices;

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "options as the command line has them")]
#[command(after_help = crate::cli::exit_code::HELP)]
pub struct RunArgs {
    #[command(flatten)]
    choice: ChoiceArgs,
    #[command(flatten)]
    start: StartArgs,
    /// Only trials whose recording is stale.
    #[arg(long, conflicts_with_all = ["resume", "replay", "failed"])]
    stale: bool,
    /// Only trials whose recording is aged: the names or descriptions of other skills changed since.
    #[arg(long, conflicts_with_all = ["resume", "replay", "failed"])]
    aged: bool,
    /// Only cases that did not pass in this run: failed, not measured, not judged or not run
    #[arg(long, value_name = "RUN-ID", conflicts_with_all = ["resume", "replay"])]
    failed: Option<String>,
    /// Record the run when it ends, as `record` does
    #[arg(long, conflicts_with = "replay")]
    record: bool,
    /// With --record: record failing trials too
    #[arg(long, requires = "record")]
    accept_failing: bool,
    /// With --replay: fail for a case without a recording [default: if the variable CI is set]
    #[arg(long, requires = "replay")]
    require_recordings: bool,
    /// Store the run for --replay too; a live run is always stored
    #[arg(long)]
    write_progress: bool,
    #[command(flatten)]
    exports: ExportArgs,
}

pub fn run(args: &RunArgs) -> CliResult {
    if let Some(name) = args.exports.file_is_output() {
        return Err(format!("--{name} needs a file here: `skill-evals summary RUN --{name} -` prints it").into());
    }
    args.exports.check_files()?;
    let (repository, mut settings, catalog) = args.start.read()?;
    settings.record |= args.record;
    settings.require_recordings = Some(true).filter(|_| args.require_recordings).or(settings.require_recordings);
    let chosen = args.choice.chosen();
    let chosen = match earlier(&repository.root, &settings, args.failed.as_deref())? {
        Some(earlier) => chosen.or(earlier),
        None => chosen,
    };
    select::apply(&chosen, &mut settings)?;
    let mut run = args.narrowed(start::planned(repository, settings, catalog, chosen)?)?;
    let keeps = run.settings.live || args.write_progress;
    match args.start.begin(&mut run, keeps, |run| dry_run(args, run))? {
        Some(exit) => Ok(exit),
        None => execute(args, &run),
    }
}

impl RunArgs {
    /// Whether more is printed than what was asked for.
    fn says_more(&self) -> bool {
        !self.start.quiet && !self.exports.in_place()
    }

    /// The run with only what is asked for of its plan.
    fn narrowed(&self, mut run: RunContext) -> CliResultOf<RunContext> {
        let mut plan = std::mem::take(&mut run.plan);
        if let Some(failed) = &self.failed {
            let summary = super::summary::of_run(&RunFolder::open(&run.root, failed)?, &run.settings)?;
            let not_passed = |row: &CaseCounts| row.verdict() != Some(Verdict::Pass);
            if !summary.cases.values().any(not_passed) {
                return Err(format!("every case of the run {failed} passed").into());
            }
            let row = |entry: &PlannedCase| summary.cases.get(&entry.planned.case_in_mode());
            plan.entries.retain(|entry| row(entry).is_some_and(not_passed));
            run.chosen.trials_by_name = names(&plan);
            if plan.is_empty() {
                return Err(format!("no case of the run {failed} that did not pass is selected here").into());
            }
        } else if !run.chosen.trials_by_name.is_empty() {
            let wanted: BTreeSet<&String> = run.chosen.trials_by_name.iter().collect();
            plan.entries.retain(|entry| wanted.contains(&entry.planned.trial(1).to_string()));
        }
        if plan.is_empty() {
            return Err(select::nothing(&run.chosen.filters, &run.catalog, &run.settings).into());
        }
        if self.stale || self.aged {
            plan = self.outdated(&run)?;
            run.chosen.trials_by_name = names(&plan);
        }
        Ok(run.with_plan(plan))
    }

    /// The cases whose recordings are outdated as the options say, in every mode in which they are recorded.
    fn outdated(&self, run: &RunContext) -> CliResultOf<RunPlan> {
        let filters = Filters::new(&run.chosen.filters, false);
        let mut entries = Vec::new();
        for found in run.settings.selection.cases(&run.catalog).map_err(|problems| problems.join("\n"))? {
            let recorded = store::recorded_modes(&run.root, &found.skill, &found.id);
            for planned in plan::planned(&run.settings, found, &recorded) {
                let replayed = ready::ready(run, &planned).and_then(|ready| trial::replay(run, &ready, 1));
                let is_wanted = match replayed {
                    Ok(outcome) => self.aged && outcome.aged,
                    Err(NoOutcome::Stale { .. } | NoOutcome::Unreadable(_)) => self.stale,
                    Err(_) => false,
                };
                if is_wanted && filters.want(|| planned.test_name()) {
                    entries.push(PlannedCase::of(planned, &run.settings));
                }
            }
        }
        if entries.is_empty() {
            let which = if self.stale { "stale" } else { "aged" };
            return Err(format!("no recording is {which}").into());
        }
        Ok(RunPlan { entries })
    }
}

/// What the run to go on with, or the run `failed`, was to do, where there is one and that can still be read.
fn earlier(root: &Path, settings: &Settings, failed: Option<&str>) -> Result<Option<RunChoices>, Box<dyn Error>> {
    if let Some(failed) = failed {
        let record = RunFolder::open(root, failed)?.run_record().ok().flatten();
        if record.as_ref().is_some_and(|record| record.sides.is_some()) {
            return Err(format!(
                "{failed} is a comparison: its trials are of two sides, and run in pairs only; skill-evals summary {failed} says what \
                 did not pass, and skill-evals run --case runs such cases with today's skills"
            )
            .into());
        }
        let chosen = record.map(|record| record.chosen);
        // Which of its cases run is known by how they ended. What was replayed runs with its agent now.
        return Ok(chosen.map(|mut chosen| {
            chosen.replay = false;
            chosen.trials_by_name.clear();
            chosen
        }));
    }
    if !settings.resume {
        return Ok(None);
    }
    let folder = start::to_resume(root, settings)?;
    let id = folder.id();
    match folder.run_record() {
        Ok(Some(record)) if record.sides.is_some() => {
            Err(format!("{id} is a comparison; to resume: skill-evals compare --resume --run-id {id}").into())
        }
        Ok(Some(record)) => Ok(Some(record.chosen)),
        Ok(None) | Err(_) if settings.force => Ok(None),
        Ok(None) => Err(format!(
            "{id} does not say what it was to do: it has no run.json; --force resumes with what is chosen here and keeps \
             what was measured"
        )
        .into()),
        Err(error) => Err(format!("{error}; --force resumes without it and keeps what was measured").into()),
    }
}

fn names(plan: &RunPlan) -> Vec<String> {
    plan.entries.iter().map(|entry| entry.planned.trial(1).to_string()).collect()
}

fn dry_run(args: &RunArgs, run: &RunContext) -> CliResult {
    let settings = &run.settings;
    let problems = |entry: &PlannedCase| ready::wrong(run, entry);
    let (entries, broken): (Vec<PlannedCase>, Vec<PlannedCase>) =
        run.plan.entries.iter().cloned().partition(|entry| problems(entry).is_empty());
    let plan = RunPlan { entries };
    let wrong = once(broken.iter().flat_map(problems));
    let ids: Vec<TrialId> = plan.ids_at_most().collect();
    let known = if settings.live { history::known_costs(&run.root, &settings.prices, &ids) } else { BTreeMap::new() };
    let at_least = Some(plan.len()).filter(|_| plan.grows());
    let exit = if wrong.is_empty() { Exit::Clean } else { Exit::CouldNotRun };
    // Runs are compared mode by mode.
    let mut in_mode: BTreeMap<&str, u64> = BTreeMap::new();
    for id in &ids {
        *in_mode.entry(&id.mode).or_default() += 1;
    }
    let fewest = in_mode.into_values().min().filter(|_| settings.live && at_least.is_none());
    let rule = Rule { margin: Some(MARGIN), ..Rule::default() };
    let detectable_drop = fewest.and_then(|pairs| detectable_fixed(pairs, USUAL_RATE, &rule, USUAL_POWER));
    let estimate = Estimate {
        at_least,
        detectable_drop,
        problems: wrong,
        ..estimate::estimate(&ids, &known, settings.max_cost_usd)
    };
    let mut out = stdout();
    let json = args.exports.has("json");
    if json {
        print_json(&mut out, &estimate)?;
    } else if settings.live {
        out.write_all(words::render(&estimate).as_bytes())?;
    } else {
        writeln!(out, "{}\nreplaying recordings costs nothing", estimate.trials.join("\n"))?;
    }
    if !json && !estimate.problems.is_empty() {
        writeln!(out, "these cases would not run:")?;
        out.write_all(diagnostics::render(&estimate.problems, paint(&io::stdout())).as_bytes())?;
    }
    Ok(exit)
}

/// Keeps the outcomes of a run in memory, to compare its modes.
#[derive(Debug, Default)]
struct OutcomeCollector(Vec<Outcome>);

impl EventListener for OutcomeCollector {
    fn on_event(&mut self, event: &RunEvent) {
        self.0.extend(event.outcome().cloned());
    }
}

/// Runs what is planned, and prints the results.
fn execute(args: &RunArgs, run: &RunContext) -> CliResult {
    let terminal = Arc::new(Mutex::new(Terminal::new(run, run.plan.len(), args.says_more())));
    run.read_by(Arc::clone(&terminal));
    let modes = modes_side_by_side(&run.plan);
    let compared = Arc::<Mutex<OutcomeCollector>>::default();
    if !modes.is_empty() {
        run.read_by(Arc::clone(&compared));
    }
    scheduler::run(run);
    terminal.lock().unwrap_or_else(PoisonError::into_inner).end();
    // Reported last, where it is seen: the trials are stored, only their summary is not.
    let kept = run.close().map_err(|error| error.to_string());
    let summary = &run.figures().summary;
    let mut exit = Exit::of_summary(summary);
    // What others are told of it is no reason to say nothing here.
    let results = Results { summary, places: &|| export::places(&run.root, &run.catalog) };
    let file = args.exports.write_files(&results).err();
    // What cannot be printed is stored and recorded all the same.
    let printed =
        args.exports.print(&results, &mut stdout()).and_then(|()| print(args, run, summary, &modes, &compared));
    let page = args.exports.add_to_page(&results);
    if let Some(why) = run.told_not_stored() {
        exit = exit.worse(Exit::Infrastructure);
        writeln!(stderr(), "{}", safe::line(&why))?;
    }
    let told = file.into_iter().map(|error| error.to_string()).chain(page);
    if start::warn_of(kept.err().into_iter().chain(run.ledger_trouble()).chain(told))? {
        exit = exit.worse(Exit::Infrastructure);
    }
    if run.settings.record && !interrupt::raised() {
        let failing = if args.accept_failing { FailedTrials::Keep } else { FailedTrials::LeaveOut };
        let recorded = promote::record(run, &run.plan, failing)?;
        exit = exit.worse(super::record::tell(run, &recorded, !args.says_more())?);
    }
    let required = run.settings.needs_recordings();
    let unrecorded = table::unrecorded(summary, required).filter(|_| !run.settings.live);
    if unrecorded.is_some() && required {
        exit = exit.worse(Exit::Infrastructure);
    }
    printed?;
    if let Some(text) = unrecorded.filter(|_| args.says_more()) {
        writeln!(stdout(), "{text}")?;
    }
    Ok(if interrupt::raised() { Exit::Interrupted } else { exit })
}

/// Prints what the run came to.
fn print(
    args: &RunArgs,
    run: &RunContext,
    summary: &Summary,
    modes: &[Mode],
    compared: &Mutex<OutcomeCollector>,
) -> io::Result<()> {
    let mut out = stdout();
    if !args.exports.in_place() {
        if !args.start.quiet && run.plan.len() > 1 {
            write!(out, "\n{}", table::table(summary, paint(&io::stdout())))?;
        }
        if !modes.is_empty() && !args.start.quiet {
            let mut compared = compared.lock().unwrap_or_else(PoisonError::into_inner);
            compared.0.sort_by(|a, b| a.id.cmp(&b.id));
            let outcomes: Vec<&Outcome> = compared.0.iter().collect();
            write!(out, "\n{}\n", comparison::comparison(&outcomes, modes, paint(&io::stdout())))?;
        }
        writeln!(out, "{}", table::closing(summary, paint(&io::stdout())))?;
        if !args.start.quiet {
            out.write_all(table::shown(summary).as_bytes())?;
        }
        if let Some(path) = run.folder().filter(|_| !args.start.quiet) {
            writeln!(out, "{}", path.display())?;
        }
    }
    if run.settings.live && args.says_more() {
        after_built_in(run.plan.entries.iter().map(|entry| entry.planned.found.as_ref()));
    }
    out.flush()
}

/// The modes of what is planned, where there are several to compare; only then are outcomes kept in memory.
fn modes_side_by_side(plan: &RunPlan) -> Vec<Mode> {
    let mut modes: Vec<Mode> = Vec::new();
    for entry in &plan.entries {
        let mode = entry.planned.mode.as_ref();
        if !modes.contains(mode) {
            modes.push(mode.clone());
        }
    }
    if modes.len() > 1 { modes } else { Vec::new() }
}
