//! `skill-evals run`.

mod lift;
mod watch;

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use clap::Args;

use super::select::{ALONE, Given, SelectArgs, TrialListArgs};
use super::shard::ShardArgs;
use super::start::{ProgramHost, StartArgs};
use super::{CliResult, CliResultOf, print_json};
use crate::cli::exit_code::Exit;
use crate::cli::export_args::ExportArgs;
use crate::cli::next_step::{after_built_in, next};
use crate::cli::output::{Stream, document_stdout, paint, stderr, text_stdout};
use crate::cli::select;
use crate::engine::choose::{self, planned};
use crate::engine::run::{EndedRun, RunPart, RunRequest, estimated, recorded};
use crate::engine::{Engine, Loaded};
use crate::process::interrupt;
use crate::report::diagnostics::{self, counted};
use crate::report::export::Results;
use crate::report::trial_text::scripted;
use crate::report::{compared, estimate as report, table};
use crate::results::summary::Summary;
use crate::run::changed_skills::change_locations;
use crate::run::plan::RunPlan;
use crate::run::planned::PlannedRun;
use crate::run::preflight;
use crate::run::record::FailedTrials;
use crate::run::record_mocks::{self, RecordedMocks};
use crate::run::replay_model;
use crate::run::started::StartedRun;
use crate::settings::Settings;
use crate::settings::mode::Mode;
use crate::settings::trials::Trials;
use crate::text::diagnostic::{Diagnostic, grouped};
use crate::text::escape;
use crate::trial::event::{EventListener, RunEvent};
use crate::trial::id::TrialId;
use crate::trial::outcome::{Outcome, Verdict};
use crate::trial::run_record::RunChoices;

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
    /// Real programs that answer what no mock answers: what they print is written as mocks, for review (repeatable)
    #[arg(long, value_name = "COMMAND", value_delimiter = ',')]
    #[arg(conflicts_with_all = ["replay", "record", "resume", "keep", "shard", "background"])]
    record_mocks: Vec<String>,
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
    /// Run the agents of today against the model's answers in the recordings: free, without an account. Each trial says where
    /// it asks for something else than was recorded
    #[arg(long, conflicts_with_all = WITHOUT_MODEL.split(' '))]
    replay_model: bool,
    /// Print trials and cases that passed too
    #[arg(long, short, conflicts_with = "quiet")]
    verbose: bool,
    #[command(flatten)]
    exports: ExportArgs,
}

/// Options of one run, which watching has none of.
const WITHOUT_WATCH: &str = "cases_from resume failed stale aged keep record_mocks shard run_id background dry_run write_progress junit github quiet in_place";

/// Options of a run that asks a model.
const WITHOUT_MODEL: &str =
    "replay record record_mocks keep resume lift watch trials threshold shard network judge model endpoint background";

/// Options of a run that compares nothing.
const WITHOUT_LIFT: &str = "resume failed stale aged shard record record_mocks keep watch replay threshold write_progress junit github in_place";

/// Options that decide what is measured. A resumed run keeps those of its first part.
#[derive(Args)]
struct ChoiceArgs {
    /// Only trials whose name contains one of these, or of these skills by path: `greeting`, `xlsx/verify`, `/mcp`
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
    #[arg(long, short = 'n', value_name = "N", value_parser = Trials::from_str)]
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
        chosen.overrides.trials = self.trials;
        chosen.overrides.threshold = self.threshold;
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
        let is_stored = self.record
            || self.keep
            || !self.record_mocks.is_empty()
            || choice.replay
            || self.write_progress
            || self.replay_model
            || !exports.is_empty();
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
        if is_empty { Err(choose::no_match(&run.chosen.filters, &run.catalog, &run.settings).into()) } else { Ok(()) }
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
    let mut loaded = args.start.read()?;
    if args.lift.unwrap_or(loaded.settings.lift && !args.compares_nothing()) {
        return lift::lift(args, loaded);
    }
    let host = args.host();
    let engine = host.engine(&args.start);
    let Loaded { repository, settings, catalog } = &mut loaded;
    settings.record |= args.record;
    if args.replay_model {
        replay_model::choose(settings);
    }
    record_mocks::ask_for(settings, &repository.root, &args.record_mocks)?;
    settings.require_recordings = Some(true).filter(|_| args.require_recordings).or(settings.require_recordings);
    let mut chosen = args.choice.chosen(settings)?;
    args.choice.trial_list.choose(&mut chosen, settings, catalog)?;
    let stored = args.write_progress || args.start.run_id.is_some();
    let request = RunRequest { chosen, part: args.part(), keep: args.keep, stored };
    let Some(planned) = engine.prepare_run(loaded, request)? else {
        let which = if args.stale { "stale" } else { "aged" };
        writeln!(text_stdout(), "no recording is {which}: nothing to run")?;
        return Ok(Exit::Clean);
    };
    if args.start.dry_run {
        return dry_run(args, &planned);
    }
    match engine.begin(planned)? {
        Some(run) => execute(args, &engine, &run),
        None => Ok(Exit::Clean),
    }
}

impl RunArgs {
    /// Whether text for people is printed, beyond the result.
    fn prints_details(&self) -> bool {
        !self.start.quiet && !self.exports.in_place()
    }

    /// This program around the engine, which prints the findings of trials.
    fn host(&self) -> ProgramHost {
        self.start.host(self.prints_details()).with_findings(self.verbose)
    }

    fn part(&self) -> RunPart {
        match &self.failed {
            Some(failed) => RunPart::NotPassed(failed.clone()),
            None if self.stale => RunPart::Stale,
            None if self.aged => RunPart::Aged,
            None => RunPart::All,
        }
    }
}

/// Says what would run, and what keeps it from running.
fn dry_run(args: &RunArgs, run: &PlannedRun) -> CliResult {
    let exit = print_plan(args, run)?;
    preflight::agents(run)?;
    Ok(exit)
}

fn print_plan(args: &RunArgs, run: &PlannedRun) -> CliResult {
    let estimate = estimated(run)?;
    let exit = if estimate.problems.iter().any(Diagnostic::is_error) { Exit::CouldNotRun } else { Exit::Clean };
    if args.exports.has("json") {
        print_json(&estimate)?;
        return Ok(exit);
    }
    let mut out = text_stdout();
    if run.settings.live {
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
fn execute(args: &RunArgs, engine: &Engine<'_>, run: &StartedRun) -> CliResult {
    let start = Instant::now();
    let modes = several_modes(&run.plan);
    let outcomes = Arc::<Mutex<OutcomeCollector>>::default();
    if !modes.is_empty() {
        run.read_by(Arc::clone(&outcomes));
    }
    let EndedRun { unwritten: mut errors, early } = engine.run(run);
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
        print_results(args, run, summary, &modes, &outcomes.0, start)
    });
    errors.extend(args.exports.add_to_page(&results));
    if let Some(why) = early {
        exit = exit.worse(Exit::Infrastructure);
        writeln!(stderr(), "{}", escape::line(&why))?;
    }
    // Last, next to the cursor: the trials are stored, only their summary is not.
    if engine.unwritten(errors) {
        exit = exit.worse(Exit::Infrastructure);
    }
    engine.keep(run)?;
    print_mocks(run)?;
    if !interrupt::raised() {
        let failing = if args.accept_failing { FailedTrials::Keep } else { FailedTrials::LeaveOut };
        let recorded = recorded(run, failing)?;
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

/// Writes the answers that were recorded, and prints where they are and what to do with them.
fn print_mocks(run: &StartedRun) -> CliResultOf<()> {
    let mut first = None;
    for RecordedMocks { trial, file, answers, left_out } in record_mocks::write(run)? {
        let what = match &file {
            Some(file) => format!("{} in {}", counted(answers, "recorded answer"), file.display()),
            None => "no call was recorded".to_owned(),
        };
        writeln!(stderr(), "{}", escape::line(&format!("{trial}: {what}")))?;
        for call in left_out {
            let why = "its whole output was not seen (longer than 4 MiB, not read, or the trial ended first)";
            writeln!(stderr(), "{}", escape::line(&format!("{trial}: not recorded: `{call}`: {why}")))?;
        }
        first = first.or(file.map(|file| (trial, file)));
    }
    if let Some((TrialId { skill, case, .. }, file)) = first {
        next(&format!(
            "review it, then name it in the case: `/{}` in the column `mocks`, or its content at the key `mocks` of a task file; then `skill-evals run --case {}`",
            file.display(),
            escape::word(&format!("{skill}/{case}"))
        ));
    }
    Ok(())
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

// What `run` prints when it ends.

/// Prints the results, those that did not pass last.
fn print_results(
    args: &RunArgs,
    run: &StartedRun,
    summary: &Summary,
    modes: &[Mode],
    outcomes: &[Outcome],
    start: Instant,
) -> io::Result<()> {
    let paint = paint(Stream::Output);
    let mut out = text_stdout();
    let closing = table::closing(summary, paint);
    let time = table::clock(start.elapsed());
    if args.start.quiet {
        writeln!(out, "{closing}")?;
    } else if args.watch.is_some() {
        writeln!(out, "{closing}; took {time}")?;
        write_scripted(&mut out, summary)?;
    } else if args.prints_details() {
        let compared = compared::comparison(&compared_outcomes(outcomes, args.verbose), modes, paint);
        if !compared.is_empty() {
            write!(out, "\n{compared}")?;
        }
        write!(out, "\n{}", table::triggering(summary))?;
        if run.plan.len() > 1 {
            out.write_all(table::table(summary, args.verbose, paint).as_bytes())?;
        }
        write!(out, "{closing}; took {time}\n{}", table::shown(summary))?;
        if let Some(note) = fewer_recorded(run, summary).filter(|_| !run.settings.live) {
            writeln!(out, "{note}")?;
        }
        write_scripted(&mut out, summary)?;
        if let Some(path) = run.folder() {
            writeln!(out, "{}", path.display())?;
        }
        if run.settings.live && !interrupt::raised() {
            after_built_in(run.plan.entries.iter().map(|entry| entry.planned.found.as_ref()));
            if let Some(id) = run.folder().and_then(Path::file_name).filter(|_| summary.cases_with(Verdict::Fail) > 0) {
                let id = escape::word(&id.to_string_lossy());
                let limits = limits(args, &run.settings);
                next(&format!(
                    "edit the skill, or the case if it expects too much; `skill-evals run --failed {id}{limits}` runs again what did \
                     not pass"
                ));
            }
        }
    }
    out.flush()
}

/// The options that limit what a run may do, so that the next one does not have more.
fn limits(args: &RunArgs, settings: &Settings) -> String {
    if args.start.repository.untrusted {
        return " --untrusted".to_owned();
    }
    let reach = settings.network.limit().map(|reach| format!(" --network {}", escape::word(&reach.to_string())));
    reach.unwrap_or_default()
}

fn write_scripted(out: &mut impl Write, summary: &Summary) -> io::Result<()> {
    summary.scripted.iter().try_for_each(|by| writeln!(out, "{}", escape::line(&scripted(by))))
}

/// The outcomes of cases that did not pass in every mode; with `verbose`, all.
fn compared_outcomes(outcomes: &[Outcome], verbose: bool) -> Vec<&Outcome> {
    let not_passed = outcomes.iter().filter(|outcome| verbose || outcome.grade.verdict != Verdict::Pass);
    let cases: BTreeSet<_> = not_passed.map(|outcome| (&outcome.id.skill, &outcome.id.case)).collect();
    outcomes.iter().filter(|outcome| cases.contains(&(&outcome.id.skill, &outcome.id.case))).collect()
}

// Repeats that a case asks for and its recordings lack.

/// The note that cases ask for more trials than a replay had; `None` if none does.
pub fn fewer_recorded(run: &PlannedRun, summary: &Summary) -> Option<String> {
    let (mut cases, mut replayed, mut asked) = (0, 0, 0);
    for planned in run.plan.entries.iter().map(|entry| &entry.planned) {
        let ended = summary.cases.get(&planned.case_in_mode()).map_or(0, |case| case.counts.ended());
        match run.repetition(&planned.found).trials {
            Trials::Times(trials) if ended > 0 && ended < trials as usize => {
                (cases, replayed, asked) = (cases + 1, replayed + ended, asked + trials as usize);
            }
            _ => {}
        }
    }
    let cases = (cases > 0).then(|| counted(cases, "case"))?;
    Some(format!("{cases}: only {replayed} of {asked} trials are recorded; `skill-evals run --record` measures all"))
}
