//! `skill-evals run`.

mod lift;
mod print;
mod repeats;
mod watch;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::Args;

use super::given::{ALONE, Given};
use super::select::{self, SelectArgs};
use super::shard::ShardArgs;
use super::start::StartArgs;
use super::trial_list::TrialListArgs;
use super::{CliResult, CliResultOf, print_json};
use crate::cases::selection::selected_cases;
use crate::cli::color::paint;
use crate::cli::exit_code::Exit;
use crate::cli::export_args::ExportArgs;
use crate::cli::output::{Stream, document_stdout, stderr, text_stdout, warn};
use crate::cli::terminal::Terminal;
use crate::decide::plan::{USUAL_POWER, USUAL_RATE, detectable_fixed};
use crate::decide::{MARGIN, Rule};
use crate::engine::choose::{self, planned, to_resume};
use crate::engine::compare::{name_shard, no_case};
use crate::engine::{Engine, Loaded};
use crate::process::interrupt;
use crate::report::export::Results;
use crate::report::{diagnostics, estimate as report, table};
use crate::results::estimate::Estimate;
use crate::results::summary::CaseCounts;
use crate::run::change_locations::change_locations;
use crate::run::context::RunContext;
use crate::run::kept;
use crate::run::kept_store::KeptStore;
use crate::run::plan::{self, PlannedCase, RunPlan};
use crate::run::record::{self, FailedTrials};
use crate::run::{history, preflight, scheduler, trial};
use crate::settings::mode::Mode;
use crate::settings::trials::Trials;
use crate::settings::{Settings, Stop};
use crate::store::{self, RunFolder};
use crate::text::diagnostic::{Diagnostic, grouped, once};
use crate::text::escape;
use crate::text::name::Filters;
use crate::trial::event::{EventListener, RunEvent};
use crate::trial::id::TrialId;
use crate::trial::outcome::{Outcome, TrialError, Verdict};
use crate::trial::run_record::{RunChoices, RunRecord};

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "options as the command line has them")]
#[command(after_help = crate::cli::exit_code::HELP)]
pub struct RunArgs {
    // First: what is read of the arguments is taken out of them.
    #[command(flatten)]
    pub given: Given,
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
    /// Keep the trials for the bases of later gates; for a run of the default branch, such as each night
    #[arg(long, conflicts_with_all = ["replay", "record", "resume", "failed"])]
    keep: bool,
    /// With --record: record failing trials too
    #[arg(long, requires = "record")]
    accept_failing: bool,
    /// With --replay: fail for a case without a recording [default: if the variable CI is set]
    #[arg(long, requires = "replay")]
    require_recordings: bool,
    /// Stay, and run what each edit touches: replay it, or with =live also run agents for what is stale or not recorded
    #[arg(long, value_name = "HOW", num_args = 0..=1, require_equals = true, default_missing_value = watch::REPLAY, group = ALONE)]
    #[arg(value_parser = [watch::REPLAY, watch::LIVE], conflicts_with_all = WITHOUT_WATCH.split(' '))]
    watch: Option<String>,
    /// Store the run for --replay too; a live run is always stored
    #[arg(long, hide = true)]
    write_progress: bool,
    /// Run each case without the skills too, in pairs, and print the difference that the skills make; =false runs none of these
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_name = "true|false")]
    #[arg(conflicts_with_all = WITHOUT_LIFT.split(' '))]
    lift: Option<bool>,
    /// Print trials and cases that passed too
    #[arg(long, short, conflicts_with = "quiet")]
    verbose: bool,
    #[command(flatten)]
    exports: ExportArgs,
}

/// Options of one run, which watching has none of.
const WITHOUT_WATCH: &str = "cases_from resume failed stale aged keep shard run_id background dry_run write_progress junit github quiet in_place";

/// Options of a run that compares nothing.
const WITHOUT_LIFT: &str =
    "resume failed stale aged shard record keep watch replay threshold write_progress junit github in_place";

/// Options that decide what is measured. A resumed run keeps those of its first part.
#[derive(Args)]
struct ChoiceArgs {
    /// Only trials whose name contains one of these: `greeting`, `xlsx/verify`, `/codex`
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    #[command(flatten)]
    select: SelectArgs,
    #[command(flatten)]
    trial_list: TrialListArgs,
    /// Mode to use (repeatable): an agent, and how it gets skills. `native`, `cli-native`, `mcp` and `none` are Claude
    #[arg(long, value_name = "MODE")]
    mode: Vec<String>,
    /// Agent that gets the skills natively (repeatable); `installed` is each that can run here
    #[arg(long, value_name = "AGENT")]
    agent: Vec<String>,
    /// Trials of each case, whatever the case says: a number, `until decided`, or `until decided at most N`
    #[arg(long, value_name = "N", value_parser = Trials::from_str)]
    trials: Option<Trials>,
    /// Share of a case's trials that must pass, whatever the case says: 0.8 is four of five
    #[arg(long, value_name = "SHARE", value_parser = select::share)]
    threshold: Option<f64>,
    /// Replay recordings; start no agent.
    #[arg(long)]
    replay: bool,
    #[command(flatten)]
    shard: ShardArgs,
}

impl ChoiceArgs {
    fn chosen(&self, settings: &Settings) -> CliResultOf<RunChoices> {
        let mut chosen = self.select.chosen();
        let mut modes = self.mode.clone();
        if !self.agent.is_empty() {
            let (native, left_out) = preflight::native_modes(settings, &self.agent, self.replay)?;
            for problem in left_out {
                writeln!(stderr(), "left out: {}", escape::block(&problem))?;
            }
            modes.extend(native);
        }
        chosen.modes = self.select.names.with_modes(&modes);
        chosen.trials = self.trials;
        chosen.threshold = self.threshold;
        chosen.replay = self.replay;
        chosen.filters.clone_from(&self.filters);
        chosen.shard = self.shard.shard()?;
        Ok(chosen)
    }
}

impl RunArgs {
    /// Whether it has one of the options [`WITHOUT_LIFT`].
    fn compares_nothing(&self) -> bool {
        let Self { start, choice, exports, .. } = self;
        let is_part = start.resume || self.failed.is_some() || self.stale || self.aged || choice.shard.is_given();
        let is_stored = self.record || self.keep || choice.replay || self.write_progress || !exports.is_empty();
        is_part || is_stored || choice.threshold.is_some()
    }

    /// Refuses names of agents, modes, skills and cases that the run would refuse. What is installed here decides nothing.
    pub fn check_names(mut self, loaded: Loaded) -> CliResultOf<()> {
        let Loaded { repository, mut settings, catalog } = loaded;
        self.choice.replay = true;
        let mut chosen = self.choice.chosen(&settings)?;
        self.choice.trial_list.choose(&mut chosen, &settings, &catalog)?;
        choose::apply(&chosen, &mut settings)?;
        let run = planned(Loaded { repository, settings, catalog }, chosen)?;
        let is_empty = run.plan.is_empty();
        if is_empty { Err(select::no_match(&run.chosen.filters, &run.catalog, &run.settings).into()) } else { Ok(()) }
    }
}

pub fn run(args: &RunArgs) -> CliResult {
    if let Some(how) = &args.watch {
        return watch::watch(args, how == watch::LIVE);
    }
    if let Some(name) = args.exports.file_is_output() {
        return Err(format!("--{name} needs a file here: `skill-evals summary RUN --{name} -` prints it").into());
    }
    args.exports.check_files()?;
    let loaded = args.start.read()?;
    let host = args.start.host(true);
    let engine = host.engine(&args.start);
    if args.lift.unwrap_or(loaded.settings.lift && !args.compares_nothing()) {
        return lift::lift(args, &engine, loaded);
    }
    let Loaded { repository, mut settings, catalog } = loaded;
    settings.record |= args.record;
    settings.require_recordings = Some(true).filter(|_| args.require_recordings).or(settings.require_recordings);
    let mut chosen = args.choice.chosen(&settings)?;
    args.choice.trial_list.choose(&mut chosen, &settings, &catalog)?;
    if let Some(shard) = chosen.shard {
        let is_stored = args.stores(!chosen.replay) && !args.start.dry_run;
        name_shard(&repository.root, &mut settings, shard, is_stored)?;
    }
    if let Some(earlier) = earlier_choices(&repository.root, &settings, args.failed.as_deref())? {
        chosen = chosen.or(earlier);
    }
    choose::apply(&chosen, &mut settings)?;
    if settings.record && chosen.stop == Some(Stop::Settled) {
        return Err("a recording needs whole trials: leave out --trial-end settled or --record".into());
    }
    if args.keep {
        // As gates do: a trial stands for another one that would end at the same time.
        settings.stop.get_or_insert(Stop::Settled);
    }
    engine.choose_default_modes(&mut settings, &catalog, &mut chosen);
    let mut run = args.with_chosen_plan(planned(Loaded { repository, settings, catalog }, chosen)?)?;
    if run.plan.is_empty() {
        let which = if args.stale { "stale" } else { "aged" };
        writeln!(text_stdout(), "no recording is {which}: nothing to run")?;
        return Ok(Exit::Clean);
    }
    if let Some(shard) = run.chosen.shard {
        let all = run.plan.entries.len();
        run = run.of_shard(shard)?;
        if run.plan.is_empty() {
            writeln!(stderr(), "{}: nothing to run", no_case(shard, all))?;
        } else if let Some(limit) = run.settings.limit() {
            writeln!(stderr(), "shard {shard} has a limit of {limit}; each shard may exceed its share by one trial")?;
        }
    }
    if args.keep {
        run.kept = Some(keeps(&run)?);
    }
    let is_stored = args.stores(run.settings.live);
    if args.start.dry_run {
        return dry_run(args, &run, is_stored);
    }
    if engine.begin(&mut run, is_stored)? { execute(args, &engine, &run) } else { Ok(Exit::Clean) }
}

/// What a run with `--keep` keeps. Refuses cases whose results decide how many trials they have.
fn keeps(run: &RunContext) -> CliResultOf<KeptStore> {
    if run.plan.grows() {
        return Err("--keep needs a number of trials that no result decides: add --trials 1".into());
    }
    Ok(KeptStore::new(run, Duration::MAX, run.plan.entries.iter().map(|entry| &entry.planned))?)
}

impl RunArgs {
    /// Whether text for people is printed, beyond the result.
    fn prints_details(&self) -> bool {
        !self.start.quiet && !self.exports.in_place()
    }

    /// Whether the run has a directory. A replay has one if somebody names it.
    fn stores(&self, is_live: bool) -> bool {
        is_live || self.write_progress || self.start.run_id.is_some()
    }

    /// The run with the part of its plan that `--failed`, `--stale` or an earlier part of the run chooses.
    fn with_chosen_plan(&self, mut run: RunContext) -> CliResultOf<RunContext> {
        let mut plan = std::mem::take(&mut run.plan);
        if let Some(failed) = &self.failed {
            let summary = super::summary::of_run(&RunFolder::open(&run.root, failed)?, &run.settings)?;
            let did_not_pass = |counts: &CaseCounts| counts.verdict() != Some(Verdict::Pass);
            if !summary.cases.values().any(did_not_pass) {
                return Err(format!("nothing to rerun: {failed} passed").into());
            }
            plan.entries.retain(|entry| summary.cases.get(&entry.planned.case_in_mode()).is_some_and(did_not_pass));
            run.chosen.trials_by_name = names(&plan);
            if plan.is_empty() {
                return Err(format!("no case is selected that did not pass in {failed}").into());
            }
        } else if !run.chosen.trials_by_name.is_empty() {
            let chosen: BTreeSet<&String> = run.chosen.trials_by_name.iter().collect();
            plan.entries.retain(|entry| chosen.contains(&entry.planned.trial(1).to_string()));
        }
        if plan.is_empty() {
            return Err(select::no_match(&run.chosen.filters, &run.catalog, &run.settings).into());
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
        for found in selected_cases(&run.settings.selection, &run.catalog).map_err(|problems| problems.join("\n"))? {
            let recorded = store::recorded_modes(&run.root, &found.skill, &found.id)?;
            for planned in plan::planned(&run.settings, found, &recorded) {
                let replayed = preflight::ready(run, &planned).and_then(|ready| trial::replay(run, &ready, 1));
                let is_wanted = match replayed {
                    Ok(outcome) => self.aged && outcome.aged,
                    Err(TrialError::Stale { .. } | TrialError::Unreadable(_)) => self.stale,
                    Err(_) => false,
                };
                if is_wanted && filters.want(|| planned.test_name()) {
                    entries.push(PlannedCase::of(planned, &run.settings));
                }
            }
        }
        Ok(RunPlan { entries })
    }
}

/// The choices of the run to resume, or of the run `failed`.
fn earlier_choices(root: &Path, settings: &Settings, failed: Option<&str>) -> CliResultOf<Option<RunChoices>> {
    if let Some(failed) = failed {
        let record = RunFolder::open(root, failed)?.run_record().ok().flatten();
        if record.as_ref().is_some_and(RunRecord::compares) {
            return Err(format!(
                "{failed} is a comparison: its trials run only together with those that they are compared with; skill-evals summary {failed} lists the cases that did not \
                 pass, and skill-evals run --case runs them with today's skills"
            )
            .into());
        }
        // The verdicts choose the cases, and their agents run now, even after a replay.
        let mut chosen = record.map(|record| record.chosen);
        if let Some(chosen) = &mut chosen {
            chosen.replay = false;
            chosen.shard = None;
            chosen.trials_by_name.clear();
        }
        return Ok(chosen);
    }
    if !settings.resume {
        return Ok(None);
    }
    let folder = to_resume(root, settings)?;
    let id = folder.id();
    match folder.run_record() {
        Ok(Some(record)) if record.compares() => {
            Err(format!("{id} is a comparison; {}", folder.remedy()).into())
        }
        Ok(Some(record)) => Ok(Some(record.chosen)),
        Ok(None) | Err(_) if settings.force => Ok(None),
        Ok(None) => Err(format!(
            "{id} has no run.json, which says what to run; --force resumes with what is chosen here and keeps the results"
        )
        .into()),
        Err(error) => Err(format!("{error}; --force resumes without it and keeps the results").into()),
    }
}

fn names(plan: &RunPlan) -> Vec<String> {
    plan.entries.iter().map(|entry| entry.planned.trial(1).to_string()).collect()
}

/// Says what would run, and what keeps it from running.
fn dry_run(args: &RunArgs, run: &RunContext, is_stored: bool) -> CliResult {
    preflight::check_dry_run(run, is_stored)?;
    let exit = print_plan(args, run)?;
    preflight::agents(run)?;
    Ok(exit)
}

fn print_plan(args: &RunArgs, run: &RunContext) -> CliResult {
    let settings = &run.settings;
    let (mut entries, mut problems) = (Vec::new(), Vec::new());
    for entry in &run.plan.entries {
        let found = preflight::wrong(run, entry);
        if found.is_empty() {
            entries.push(entry.clone());
        }
        problems.extend(found);
    }
    let plan = RunPlan { entries };
    let ids: Vec<TrialId> = plan.ids_at_most().collect();
    let at_least = Some(plan.len()).filter(|_| plan.grows());
    let exit = if problems.iter().any(Diagnostic::is_error) { Exit::CouldNotRun } else { Exit::Clean };
    // Runs are compared mode by mode.
    let mut trials_of_mode: BTreeMap<&str, u64> = BTreeMap::new();
    for id in &ids {
        *trials_of_mode.entry(&id.mode).or_default() += 1;
    }
    let fewest = trials_of_mode.into_values().min().filter(|_| settings.live && at_least.is_none());
    let rule = Rule { margin: Some(MARGIN), ..Rule::default() };
    let detectable_drop = fewest.and_then(|pairs| detectable_fixed(pairs, USUAL_RATE, &rule, USUAL_POWER));
    let estimate = Estimate { at_least, detectable_drop, problems: once(problems), ..history::estimate(run, &ids) };
    if args.exports.has("json") {
        print_json(&mut document_stdout(), &estimate)?;
        return Ok(exit);
    }
    let mut out = text_stdout();
    if settings.live {
        out.write_all(report::render(&estimate).as_bytes())?;
    } else {
        writeln!(out, "{}\nreplaying recordings costs nothing", estimate.trials.join("\n"))?;
    }
    if !estimate.problems.is_empty() {
        writeln!(out, "these cases would not run:")?;
        let problems = grouped(estimate.problems);
        out.write_all(diagnostics::render(&problems, paint(Stream::Output)).as_bytes())?;
    }
    Ok(exit)
}

/// Collects the outcomes of a run's trials, to compare its modes.
#[derive(Debug, Default)]
struct OutcomeCollector(Vec<Outcome>);

impl EventListener for OutcomeCollector {
    fn on_event(&mut self, event: &RunEvent) {
        self.0.extend(event.outcome().cloned());
    }
}

/// Runs the plan and prints the results.
fn execute(args: &RunArgs, engine: &Engine<'_>, run: &RunContext) -> CliResult {
    let start = Instant::now();
    let terminal = Terminal::new(run, run.plan.len(), args.prints_details()).with_passed(args.verbose);
    let modes = several_modes(&run.plan);
    let outcomes = Arc::<Mutex<OutcomeCollector>>::default();
    if !modes.is_empty() {
        run.read_by(Arc::clone(&outcomes));
    }
    terminal.over(run, || scheduler::run(run));
    let mut errors = run.close();
    let summary = &run.figures().summary;
    let mut exit = if run.plan.is_empty() { Exit::Clean } else { Exit::of_summary(summary) };
    let required = run.settings.needs_recordings();
    let locations = || change_locations(&run.root, &run.catalog, None);
    let results = Results { summary, needs_recordings: required, locations: &locations };
    // An error of one output leaves the others, and the recordings, to be written.
    errors.extend(args.exports.write_files(&results).err().map(|error| error.to_string()));
    let printed = args.exports.print(&results, &mut document_stdout());
    let printed = printed.and_then(|()| {
        let mut outcomes = outcomes.lock().unwrap_or_else(PoisonError::into_inner);
        outcomes.0.sort_by(|a, b| a.id.cmp(&b.id));
        print::results(args, run, summary, &modes, &outcomes.0, start)
    });
    errors.extend(args.exports.add_to_page(&results));
    if let Some(why) = run.told_early_end() {
        exit = exit.worse(Exit::Infrastructure);
        writeln!(stderr(), "{}", escape::line(&why))?;
    }
    // Last, next to the cursor: the trials are stored, only their summary is not.
    if engine.unwritten(errors) {
        exit = exit.worse(Exit::Infrastructure);
    }
    if args.keep {
        kept::keep_plan(run)?;
        for warning in kept::warnings(run) {
            warn(&warning)?;
        }
    }
    if run.settings.record && !interrupt::raised() {
        let failing = if args.accept_failing { FailedTrials::Keep } else { FailedTrials::LeaveOut };
        let recorded = record::record(run, &run.plan, failing)?;
        exit = exit.worse(super::record::print(run, &recorded, !args.prints_details())?);
    }
    let unrecorded = table::unrecorded(summary, required).filter(|_| !run.settings.live);
    if unrecorded.is_some() && required {
        exit = exit.worse(Exit::Infrastructure);
    }
    printed?;
    if let Some(text) = unrecorded.filter(|_| args.prints_details()) {
        writeln!(text_stdout(), "{text}")?;
    }
    if !interrupt::raised() {
        return Ok(exit);
    }
    if let Some(live) = run.opened() {
        writeln!(stderr(), "interrupted; {}", escape::line(&live.folder.remedy()))?;
    }
    Ok(Exit::Interrupted)
}

/// The modes of the plan, if there are several to compare. Only then are outcomes kept in memory.
fn several_modes(plan: &RunPlan) -> Vec<Mode> {
    let mut modes: Vec<Mode> = Vec::new();
    for entry in &plan.entries {
        if !modes.contains(entry.planned.mode.as_ref()) {
            modes.push(Mode::clone(&entry.planned.mode));
        }
    }
    if modes.len() > 1 { modes } else { Vec::new() }
}
