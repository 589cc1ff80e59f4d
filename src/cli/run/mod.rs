//! `skill-evals run`.

mod options;

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Args;

use super::select::{self, LimitArgs};
use super::{CliResult, RepositoryArgs, detached, own_checks, print_json};
use crate::cli::color::paint;
use crate::cli::exit_code::Exit;
use crate::cli::github::add_to_page;
use crate::cli::next::after_built_in;
use crate::cli::terminal::Terminal;
use options::ChoiceArgs;
use skill_evals::cases::catalog::Catalog;
use skill_evals::cases::name::Filters;
use skill_evals::decide::plan::{USUAL_POWER, USUAL_RATE, detectable_fixed};
use skill_evals::decide::{MARGIN, Rule};
use skill_evals::process::{background, git, interrupt};
use skill_evals::report::{comparison, diagnostics, estimate as words, github, markdown, table};
use skill_evals::results::estimate::{self, Estimate};
use skill_evals::results::summary::{CaseCounts, Summary};
use skill_evals::run::plan::{self, Entry, Plan};
use skill_evals::run::promote::{self, Failing};
use skill_evals::run::shared::Run;
use skill_evals::run::{history, opening, ready, scheduler, trial};
use skill_evals::settings::Settings;
use skill_evals::settings::mode::Mode;
use skill_evals::store::{self, RunFolder};
use skill_evals::text::diagnostic::once;
use skill_evals::text::safe;
use skill_evals::trial::event::{Event, Listener};
use skill_evals::trial::id::TrialId;
use skill_evals::trial::outcome::{NoOutcome, Outcome, Verdict};
use skill_evals::trial::run_record::Chosen;

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "options as the command line has them")]
#[command(after_help = crate::cli::exit_code::HELP)]
pub struct RunArgs {
    #[command(flatten)]
    choice: ChoiceArgs,
    #[command(flatten)]
    limits: LimitArgs,
    /// Seconds a judge may take.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    judge_timeout_s: Option<u64>,
    /// The run's name below artifacts/skill-evals [default: the time, UTC].
    #[arg(long, value_name = "ID", overrides_with = "run_id")]
    run_id: Option<String>,
    /// Go on with the run of --run-id: keep what was measured, run the rest.
    #[arg(long)]
    resume: bool,
    /// With --resume: keep what was measured even though its case, skill or settings have changed; it is listed.
    #[arg(long, requires = "resume")]
    force: bool,
    /// Only trials whose recording is stale.
    #[arg(long, conflicts_with_all = ["resume", "replay", "failed"])]
    stale: bool,
    /// Only what did not pass in this run: cases that failed, measured nothing, or were not judged or run.
    #[arg(long, value_name = "RUN-ID", conflicts_with_all = ["resume", "replay"])]
    failed: Option<String>,
    /// Make what was measured the recordings when the run ends, as `record` does.
    #[arg(long, conflicts_with = "replay")]
    record: bool,
    /// With --record: record what fails too.
    #[arg(long, requires = "record")]
    accept_failing: bool,
    /// Run detached; `status` shows the run and `stop` ends it.
    #[arg(long, conflicts_with_all = ["dry_run", "json"])]
    background: bool,
    /// Keep a run folder for --replay too; a live run always keeps one.
    #[arg(long)]
    write_progress: bool,
    /// Print what would run and the most it may cost; run nothing.
    #[arg(long)]
    dry_run: bool,
    /// Write the results as JUnit XML to this file when the run ends.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// In GitHub Actions: mark each case that did not pass at its own line, and add the summary to the job's page.
    #[arg(long, conflicts_with = "json")]
    github: bool,
    /// Print nothing but the last line.
    #[arg(long, short, conflicts_with = "json")]
    quiet: bool,
    /// Print one JSON document, the summary, at the end.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn run(args: &RunArgs) -> CliResult {
    let in_background = background::is_background();
    if args.junit.as_deref() == Some(Path::new(store::STDOUT)) {
        return Err("--junit needs a file here: `skill-evals summary RUN --junit -` prints it".into());
    }
    let (repository, mut settings, catalog) = args.repository.read()?;
    args.apply(&mut settings);
    let chosen = args.choice.chosen();
    let chosen = match earlier(&repository.root, &settings, args.failed.as_deref())? {
        Some(earlier) => chosen.or(earlier),
        None => chosen,
    };
    select::apply(&chosen, &mut settings)?;
    let (plan, chosen) = args.plan(&repository.root, &settings, &catalog, chosen)?;
    let mut run = Run::new(repository.root, settings, catalog).with_plan(plan);
    run.chosen = chosen;
    if args.stale {
        let stale = stale(&run)?;
        run.chosen.trials_by_name = names(&stale);
        run = run.with_plan(stale);
    }
    if args.dry_run {
        let exit = dry_run(args, &run)?;
        ready::agents(&run)?;
        return Ok(exit);
    }
    ready::check(&run)?;
    run.own_checks = own_checks(&run.root)?;
    if args.background && !in_background {
        return detached::start(&run.root, &run.settings);
    }
    interrupt::listen(in_background)?;
    if run.settings.live || args.write_progress {
        let live = opening::live(&run).map_err(ToString::to_string)?;
        for (id, changed) in &live.kept_although_changed {
            let kept = format!("{id}: kept although changed since: {}", changed.join(", "));
            writeln!(io::stderr(), "{}", safe::line(&kept))?;
        }
    }
    execute(args, &run)
}

impl RunArgs {
    /// Settings that no earlier part of a run decides.
    fn apply(&self, settings: &mut Settings) {
        self.limits.apply(settings);
        settings.run_id = self.run_id.clone().or(settings.run_id.take());
        settings.resume |= self.resume;
        settings.force |= self.force;
        settings.record |= self.record;
        settings.judge.timeout = self.judge_timeout_s.map_or(settings.judge.timeout, Duration::from_secs);
    }

    /// The plan, and what was chosen with what this makes of it.
    fn plan(
        &self,
        root: &Path,
        settings: &Settings,
        catalog: &Catalog,
        mut chosen: Chosen,
    ) -> Result<(Plan, Chosen), Box<dyn Error>> {
        let filters = Filters::new(&chosen.filters, false);
        let mut plan = plan::plan(root, settings, catalog, &filters).map_err(|problems| problems.join("\n"))?;
        if let Some(failed) = &self.failed {
            let summary = super::summary::of_run(&RunFolder::open(root, failed)?, settings)?;
            let not_passed = |row: &CaseCounts| row.verdict() != Some(Verdict::Pass);
            if !summary.cases.values().any(not_passed) {
                return Err(format!("every case of the run {failed} passed").into());
            }
            let row = |entry: &Entry| summary.cases.get(&entry.planned.case_in_mode());
            plan.entries.retain(|entry| row(entry).is_some_and(not_passed));
            chosen.trials_by_name = names(&plan);
            if plan.is_empty() {
                return Err(format!("no case of the run {failed} that did not pass is selected here").into());
            }
        } else if !chosen.trials_by_name.is_empty() {
            let wanted: BTreeSet<&String> = chosen.trials_by_name.iter().collect();
            plan.entries.retain(|entry| wanted.contains(&entry.planned.trial(1).to_string()));
        }
        if plan.is_empty() { Err("no case is selected".into()) } else { Ok((plan, chosen)) }
    }
}

/// What the run to go on with, or the run `failed`, was to do, where there is one and that can still be read.
fn earlier(root: &Path, settings: &Settings, failed: Option<&str>) -> Result<Option<Chosen>, Box<dyn Error>> {
    if let Some(failed) = failed {
        let record = RunFolder::open(root, failed)?.run_record().ok().flatten();
        if record.as_ref().is_some_and(|record| record.arms.is_some()) {
            return Err(format!(
                "{failed} is a comparison: its trials are of two arms, and run in pairs only; skill-evals summary {failed} says what \
                 did not pass, and skill-evals run --case runs such cases with today's skills"
            )
            .into());
        }
        let chosen = record.map(|record| record.chosen);
        // Which of its cases run is known by how they ended. What was replayed runs with its agent now.
        return Ok(chosen.map(|chosen| Chosen { replay: false, trials_by_name: Vec::new(), ..chosen }));
    }
    if !settings.resume {
        return Ok(None);
    }
    let Some(id) = &settings.run_id else {
        let latest = store::runs(root).first().map(|run| format!("; the latest run is {}", run.id()));
        return Err(format!("--resume needs --run-id{}", latest.unwrap_or_default()).into());
    };
    match RunFolder::open(root, id)?.run_record() {
        Ok(Some(record)) if record.arms.is_some() => {
            Err(format!("{id} is a comparison; to go on: skill-evals compare --resume --run-id {id}").into())
        }
        Ok(Some(record)) => Ok(Some(record.chosen)),
        Ok(None) | Err(_) if settings.force => Ok(None),
        Ok(None) => Err(format!(
            "{id} does not say what it was to do: it has no run.json; --force goes on with what is chosen here and keeps \
             what was measured"
        )
        .into()),
        Err(error) => Err(format!("{error}; --force goes on without it and keeps what was measured").into()),
    }
}

fn names(plan: &Plan) -> Vec<String> {
    plan.entries.iter().map(|entry| entry.planned.trial(1).to_string()).collect()
}

/// Of the plan what is recorded and stale, in every mode in which it is recorded.
fn stale(run: &Run) -> Result<Plan, Box<dyn Error>> {
    let mut entries = Vec::new();
    for found in run.settings.selection.cases(&run.catalog).map_err(|problems| problems.join("\n"))? {
        let recorded = store::recorded_modes(&run.root, &found.skill, &found.id);
        for planned in plan::planned(&run.settings, found, &recorded) {
            let replayed = trial::replay(run, &planned, 1);
            if matches!(replayed, Err(NoOutcome::Stale { .. } | NoOutcome::Unreadable(_))) {
                entries.push(Entry::of(planned, &run.settings));
            }
        }
    }
    let filters = Filters::new(&run.chosen.filters, false);
    entries.retain(|entry: &Entry| filters.want(|| entry.planned.test_name()));
    if entries.is_empty() { Err("no recording is stale".into()) } else { Ok(Plan { entries }) }
}

fn dry_run(args: &RunArgs, run: &Run) -> CliResult {
    let settings = &run.settings;
    ready::foresee(run, settings.live || args.write_progress)?;
    let problems = |entry: &Entry| ready::wrong(run, entry);
    let (entries, broken): (Vec<Entry>, Vec<Entry>) =
        run.plan.entries.iter().cloned().partition(|entry| problems(entry).is_empty());
    let plan = Plan { entries };
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
    let estimate =
        Estimate { at_least, detectable_drop, wrong, ..estimate::estimate(&ids, &known, settings.max_cost_usd) };
    let mut out = io::stdout().lock();
    if args.json {
        print_json(&mut out, &estimate)?;
    } else if settings.live {
        out.write_all(words::render(&estimate).as_bytes())?;
    } else {
        writeln!(out, "{}\nreplaying recordings costs nothing", estimate.trials.join("\n"))?;
    }
    if !args.json && !estimate.wrong.is_empty() {
        writeln!(out, "these cases would not run:")?;
        out.write_all(diagnostics::render(&estimate.wrong, paint(&out)).as_bytes())?;
    }
    Ok(exit)
}

/// Keeps the outcomes of a run in memory, to compare its modes.
#[derive(Debug, Default)]
struct Compared(Vec<Outcome>);

impl Listener for Compared {
    fn hear(&mut self, event: &Event) {
        self.0.extend(event.outcome().cloned());
    }
}

/// Runs what is planned, and prints the results.
fn execute(args: &RunArgs, run: &Run) -> CliResult {
    let terminal = Arc::new(Mutex::new(Terminal::new(run, run.plan.len(), !args.quiet && !args.json)));
    run.read_by(Arc::clone(&terminal));
    let modes = modes_side_by_side(&run.plan);
    let compared = Arc::<Mutex<Compared>>::default();
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
    let junit = args.junit.as_ref().and_then(|file| super::summary::write_junit(file, summary).err());
    let mut out = io::stdout().lock();
    let page = if args.github { for_github(&mut out, run, summary)? } else { None };
    if args.json {
        print_json(&mut out, summary)?;
    } else {
        if !args.quiet && run.plan.len() > 1 {
            write!(out, "\n{}", table::table(summary, paint(&out)))?;
        }
        if !modes.is_empty() && !args.quiet {
            let mut compared = compared.lock().unwrap_or_else(PoisonError::into_inner);
            compared.0.sort_by(|a, b| a.id.cmp(&b.id));
            let outcomes: Vec<&Outcome> = compared.0.iter().collect();
            write!(out, "\n{}\n", comparison::comparison(&outcomes, &modes, paint(&out)))?;
        }
        writeln!(out, "{}", table::closing(summary, paint(&out)))?;
        if !args.quiet {
            out.write_all(table::shown(summary).as_bytes())?;
        }
        if let Some(path) = run.folder().filter(|_| !args.quiet) {
            writeln!(out, "{}", path.display())?;
        }
    }
    if run.settings.live && !args.json && !args.quiet {
        after_built_in(run.plan.entries.iter().map(|entry| entry.planned.found.as_ref()));
    }
    let told = junit.into_iter().map(|error| error.to_string()).chain(page);
    for trouble in kept.err().into_iter().chain(run.ledger_trouble()).chain(told) {
        exit = exit.worse(Exit::Infrastructure);
        writeln!(
            io::stderr(),
            "warning: {}; the trials' own folders are complete, `skill-evals summary` reads them",
            safe::line(&trouble)
        )?;
    }
    if run.settings.record && !interrupt::raised() {
        let failing = if args.accept_failing { Failing::Keep } else { Failing::LeaveOut };
        let recorded = promote::record(run, &run.plan, failing)?;
        exit = exit.worse(super::record::tell(run, &recorded, args.json || args.quiet)?);
    }
    Ok(if interrupt::raised() { Exit::Interrupted } else { exit })
}

/// Marks cases for GitHub Actions, and adds the summary to the file that it names for that. Returns why that failed.
fn for_github(out: &mut impl Write, run: &Run, summary: &Summary) -> io::Result<Option<String>> {
    // It knows files by their place in the whole repository.
    let above = git::place(&run.root).unwrap_or_default();
    let found = run.plan.entries.iter().map(|entry| entry.planned.found.as_ref());
    let places = found.map(|found| ((found.skill.as_str(), found.id.as_str()), (above.join(&found.file), found.line)));
    out.write_all(github::annotations(summary, &places.collect()).as_bytes())?;
    Ok(add_to_page(&markdown::summary(summary)))
}

/// The modes of what is planned, where there are several to compare; only then are outcomes kept in memory.
fn modes_side_by_side(plan: &Plan) -> Vec<Mode> {
    let mut modes: Vec<Mode> = Vec::new();
    for entry in &plan.entries {
        let mode = entry.planned.mode.as_ref();
        if !modes.contains(mode) {
            modes.push(mode.clone());
        }
    }
    if modes.len() > 1 { modes } else { Vec::new() }
}
