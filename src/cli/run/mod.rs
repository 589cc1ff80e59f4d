//! `skill-evals run`.

mod options;
mod terminal;

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Write};
use std::time::Duration;

use clap::Args;

use super::{CliResult, RepositoryArgs, color, print_json};
use crate::cli::exit_code::Exit;
use options::ChoiceArgs;
use skill_evals::cases::case::Found;
use skill_evals::process::{background, interrupt};
use skill_evals::report::{comparison, diagnostics, estimate, table};
use skill_evals::run::history;
use skill_evals::run::judge;
use skill_evals::run::plan;
use skill_evals::run::progress_files::ProgressFiles;
use skill_evals::run::scheduler;
use skill_evals::run::shared::Run;
use skill_evals::settings::Settings;
use skill_evals::settings::mode::Mode;
use skill_evals::store::{self, RunFolder, RunLock};
use skill_evals::trial::id::{Planned, TrialId};
use skill_evals::trial::outcome::Outcome;
use skill_evals::trial::run_record::{RUN_FORMAT, RunRecord};
use terminal::Terminal;

/// How long a run in the background may take until it has its run folder.
const BEGINNING: Duration = Duration::from_secs(20);

/// A run to go on with, and what it was to do where that can still be read.
type Resumed = (RunFolder, Option<RunRecord>);

#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "options as the command line has them")]
#[command(after_help = crate::cli::exit_code::HELP)]
pub struct RunArgs {
    #[command(flatten)]
    choice: ChoiceArgs,
    /// How many trials run at once.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    jobs: Option<u32>,
    /// Seconds a judge may take.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    judge_timeout_s: Option<u64>,
    /// Start no trial once the run is known to have cost this much; what is left counts as not run.
    #[arg(long, value_name = "DOLLARS", value_parser = options::amount)]
    max_cost_usd: Option<f64>,
    /// The run's name below artifacts/skill-evals [default: the time, UTC].
    #[arg(long, value_name = "ID", overrides_with = "run_id")]
    run_id: Option<String>,
    /// Go on with the run of --run-id: what was measured stands, the rest runs.
    #[arg(long)]
    resume: bool,
    /// With --resume: go on even though skills, cases or settings have changed.
    #[arg(long, requires = "resume")]
    force: bool,
    /// Detach; `status` and `stop` tell and end it.
    #[arg(long, conflicts_with_all = ["dry_run", "json"])]
    background: bool,
    /// Keep a run folder for --replay too; a live run always keeps one.
    #[arg(long)]
    write_progress: bool,
    /// Say what would run and what it may cost at most, and run nothing.
    #[arg(long)]
    dry_run: bool,
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
    let (repository, mut settings, catalog) = args.repository.read()?;
    args.apply(&mut settings);
    let resumed = args.resumed(&repository.root, &settings)?;
    let earlier = resumed.as_ref().and_then(|(_, record)| record.as_ref());
    let chosen = args.choice.chosen();
    let chosen = earlier.map_or_else(|| chosen.clone(), |earlier| chosen.clone().or(earlier.chosen.clone()));
    options::apply(&chosen, &mut settings)?;
    let mut run = Run::new(repository.root, settings, catalog);
    let (ids, replaced);
    {
        let planned = plan(&run)?;
        ids = trial_ids(&run, &planned);
        if args.dry_run {
            return dry_run(args, &run, &ids);
        }
        // A template that cannot be used is better known before the agents are paid.
        if judge::any_wanted(&run.settings, &planned) {
            run.rubric().map_err(|problem| diagnostics::render(std::slice::from_ref(problem), false))?;
        }
        replaced = check_unchanged(args, &run, &planned, earlier)?;
    }
    if !run.settings.live && !args.write_progress {
        return execute(args, &run, &plan(&run)?, None, in_background);
    }
    let folder = match resumed {
        Some((folder, _)) => folder,
        None if in_background => RunFolder::create(&run.root, run.settings.run_id.as_deref())?,
        None => RunFolder::create_new(&run.root, run.settings.run_id.as_deref())?,
    };
    run.settings.run_id = Some(folder.id().to_owned());
    if args.background && !in_background {
        return start_in_background(&folder);
    }
    let _lock: RunLock = folder.lock(background::this_process())?;
    if run.settings.resume {
        folder.mend_progress()?;
    }
    let planned = plan(&run)?;
    if replaced {
        folder.write_run(&RunRecord {
            format: RUN_FORMAT,
            id: folder.id().to_owned(),
            created: earlier_or_now(&folder),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            planned: ids.len(),
            chosen: options::effective(&chosen, &run.settings),
            inputs: history::inputs(&run, &planned)?,
        })?;
    }
    execute(args, &run, &planned, Some(folder), in_background)
}

impl RunArgs {
    /// Settings that no earlier part of a run decides.
    fn apply(&self, settings: &mut Settings) {
        settings.jobs = self.jobs.map_or(settings.jobs, |jobs| jobs as usize);
        settings.run_id = self.run_id.clone().or(settings.run_id.take());
        settings.resume |= self.resume;
        settings.judge.timeout = self.judge_timeout_s.map_or(settings.judge.timeout, Duration::from_secs);
        settings.max_cost_usd = self.max_cost_usd.or(settings.max_cost_usd);
    }

    /// The run to go on with, if that is wanted.
    fn resumed(&self, root: &std::path::Path, settings: &Settings) -> Result<Option<Resumed>, Box<dyn Error>> {
        if !settings.resume {
            return Ok(None);
        }
        let Some(id) = &settings.run_id else {
            let latest = store::runs(root).first().map(|run| format!("; the latest run is {}", run.id()));
            return Err(format!("--resume needs --run-id{}", latest.unwrap_or_default()).into());
        };
        let folder = RunFolder::open(root, id)?;
        match folder.run_record() {
            Ok(record) => Ok(Some((folder, record))),
            Err(_) if self.force => Ok(Some((folder, None))),
            Err(error) => Err(format!("{error}; --force goes on without it and keeps what was measured").into()),
        }
    }
}

fn plan(run: &Run) -> Result<Vec<Planned<'_>>, Box<dyn Error>> {
    let cases = run.settings.selection.cases(&run.catalog).map_err(|problems| problems.join("\n"))?;
    let recorded = |found: &Found| {
        if run.settings.live { Vec::new() } else { store::recorded_modes(&run.root, &found.skill, &found.id) }
    };
    let planned = plan::plan(cases, &run.settings, recorded);
    if planned.is_empty() { Err("no case is selected".into()) } else { Ok(planned) }
}

fn trial_ids(run: &Run, planned: &[Planned<'_>]) -> Vec<TrialId> {
    let repeats = scheduler::repeats(run);
    planned.iter().flat_map(|planned| (1..=repeats).map(|number| planned.trial(number))).collect()
}

fn dry_run(args: &RunArgs, run: &Run, ids: &[TrialId]) -> CliResult {
    let known = if run.settings.live { history::known_costs(&run.root, ids) } else { BTreeMap::new() };
    let estimate = estimate::estimate(ids, &known, run.settings.max_cost_usd);
    let mut out = io::stdout().lock();
    if args.json {
        print_json(&mut out, &estimate)?;
    } else if run.settings.live {
        out.write_all(estimate::render(&estimate).as_bytes())?;
    } else {
        writeln!(out, "{}\nreplaying recordings costs nothing", estimate.trials.join("\n"))?;
    }
    Ok(Exit::Clean)
}

/// Refuses to go on with a run that would now measure something else. Returns whether `run.json` is to be written.
fn check_unchanged(
    args: &RunArgs,
    run: &Run,
    planned: &[Planned<'_>],
    earlier: Option<&RunRecord>,
) -> Result<bool, Box<dyn Error>> {
    let Some(earlier) = earlier else { return Ok(true) };
    let changed = earlier.inputs.differences(&history::inputs(run, planned)?);
    if changed.is_empty() || args.force {
        return Ok(!changed.is_empty());
    }
    let list = changed.join("\n  ");
    Err(format!(
        "the run `{}` cannot go on: since it began there changed\n  {list}\n--force goes on all the same",
        earlier.id
    )
    .into())
}

/// When the run began: a part of it that is written anew stays one run.
fn earlier_or_now(folder: &RunFolder) -> String {
    let earlier = folder.run_record().ok().flatten().map(|record| record.created);
    earlier.unwrap_or_else(|| jiff::Timestamp::now().to_string())
}

/// Starts this very command again, detached, and waits until it has begun.
fn start_in_background(folder: &RunFolder) -> CliResult {
    let log = folder.log();
    let mut child = background::start(&["--run-id", folder.id()], &log)?;
    let began = std::time::Instant::now();
    let pid = i32::try_from(child.id()).unwrap_or_default();
    loop {
        if folder.runner().is_some_and(|runner| runner.pid == pid) {
            writeln!(io::stdout(), "{} runs in the background as process {pid}", folder.id())?;
            writeln!(io::stdout(), "skill-evals status --run-id {}", folder.id())?;
            return Ok(Exit::Clean);
        }
        if let Some(status) = child.try_wait()? {
            let said = std::fs::read_to_string(&log).unwrap_or_default();
            return Err(format!("it ended at once ({status}):\n{}", said.trim_end()).into());
        }
        if began.elapsed() > BEGINNING {
            return Err(format!("it has not begun; see {}", log.display()).into());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Runs what is planned, and tells.
fn execute(
    args: &RunArgs,
    run: &Run,
    planned: &[Planned<'_>],
    folder: Option<RunFolder>,
    in_background: bool,
) -> CliResult {
    interrupt::listen(in_background)?;
    let count = planned.len() * scheduler::repeats(run) as usize;
    let mut terminal = Terminal::new(run, planned, !args.quiet && !args.json, count);
    let path = folder.as_ref().map(|folder| folder.path().to_path_buf());
    let mut files = ProgressFiles::new(folder, count);
    let modes = modes_side_by_side(planned);
    let mut compared: Vec<Outcome> = Vec::new();
    scheduler::run(run, planned, |event| {
        files.hear(&event);
        if !modes.is_empty() {
            compared.extend(event.outcome().cloned());
        }
        terminal.hear(event);
    });
    let mut exit = terminal.end();
    let summary = &files.summary;
    if !summary.not_run.is_empty() && !only_unrecorded(run, summary) {
        exit = exit.worse(Exit::Infrastructure);
    }
    let mut out = io::stdout().lock();
    if args.json {
        print_json(&mut out, summary)?;
    } else {
        if !args.quiet && count > 1 {
            write!(out, "\n{}", table::table(summary, color(&out)))?;
        }
        if !modes.is_empty() && !args.quiet {
            compared.sort_by(|a, b| a.id.cmp(&b.id));
            let outcomes: Vec<&Outcome> = compared.iter().collect();
            write!(out, "\n{}\n", comparison::comparison(&outcomes, &modes))?;
        }
        writeln!(out, "{}", table::closing(summary))?;
        if let Some(path) = path.filter(|_| !args.quiet) {
            writeln!(out, "{}", path.display())?;
        }
    }
    // Told last, where it is seen: the trials are kept, only their overview is not.
    let kept = files.finish().map_err(|error| error.to_string());
    for trouble in kept.err().into_iter().chain(run.ledger_trouble()) {
        exit = exit.worse(Exit::Infrastructure);
        writeln!(
            io::stderr(),
            "warning: {trouble}; the trials' own folders are complete, `skill-evals summary` reads them"
        )?;
    }
    Ok(if interrupt::raised() { Exit::Interrupted } else { exit })
}

/// The modes of what is planned, where there are several to compare; only then are outcomes kept in memory.
fn modes_side_by_side(planned: &[Planned<'_>]) -> Vec<Mode> {
    let mut modes: Vec<Mode> = Vec::new();
    for planned in planned {
        if !modes.contains(planned.mode) {
            modes.push(planned.mode.clone());
        }
    }
    if modes.len() > 1 { modes } else { Vec::new() }
}

/// In replay a case without a recording is no fault.
fn only_unrecorded(run: &Run, summary: &skill_evals::report::summary::Summary) -> bool {
    !run.settings.live && summary.not_run.keys().all(|why| why == "no recording")
}
