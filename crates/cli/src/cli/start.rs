//! The start of the commands that start agents: their options, and this program around the engine.

use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

use clap::Args;

use super::export_args::IN_PLACE;
use super::select::{ALONE, LimitArgs, STARTS};
use super::{CliResult, CliResultOf, RepositoryArgs};
use crate::cli::exit_code::Exit;
use crate::cli::output::{Stream, paint, stderr, text_stdout, warn};
use crate::cli::terminal::Terminal;
use crate::engine::{Engine, Host, Loaded, MostTrials};
use crate::process::{background, interrupt};
use crate::report::calibration::sentence;
use crate::report::diagnostics;
use crate::results::calibration::AgentCalibration;
use crate::run::calibration::misplaced;
use crate::run::planned::PlannedRun;
use crate::run::started::StartedRun;
use crate::settings::Settings;
use crate::setup::calibrate;
use crate::store::RunFolder;
use crate::text::escape;
use crate::text::problem::Problem;

/// Options of a command that starts agents.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "options as the command line has them")]
pub struct StartArgs {
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Name of the run in artifacts/skill-evals [default: the time, UTC]
    #[arg(long, value_name = "ID", overrides_with = "run_id", groups = [STARTS, ALONE])]
    pub run_id: Option<String>,
    /// Resume the run --run-id: keep what was measured, run the rest
    #[arg(long, group = ALONE)]
    pub resume: bool,
    /// With --resume: keep results although their case, skill or settings changed; they are listed
    #[arg(long, requires = "resume")]
    force: bool,
    /// Run detached; `status` shows the run, `stop` stops it
    #[arg(long, conflicts_with_all = ["dry_run", IN_PLACE], groups = [STARTS, ALONE])]
    pub background: bool,
    /// Print what would run and what it may cost; run nothing.
    #[arg(long, groups = [STARTS, ALONE])]
    pub dry_run: bool,
    /// Start trials at once: for agents without a cache
    #[arg(long, group = STARTS)]
    no_lead: bool,
    /// Print only the result
    #[arg(long, short, conflicts_with = IN_PLACE)]
    pub quiet: bool,
    #[command(flatten)]
    pub repository: RepositoryArgs,
}

impl StartArgs {
    /// The repository, its settings with the limits and the run id, and its catalog.
    pub fn read(&self) -> CliResultOf<Loaded> {
        // First, because a run in the background leaves its terminal, which may close.
        let _ = background::is_background();
        let Loaded { repository, mut settings, catalog } = self.repository.read()?;
        self.limits.apply(&mut settings)?;
        settings.run_id = self.run_id.clone().or(settings.run_id.take());
        settings.resume |= self.resume;
        settings.force |= self.force;
        settings.lead &= !self.no_lead;
        Ok(Loaded { repository, settings, catalog })
    }

    /// The engine, which tells the terminal what happens; trials too, if this command `prints` them.
    pub fn host(&self, prints: bool) -> ProgramHost {
        ProgramHost { background: self.background, prints: prints && !self.quiet, findings: None }
    }
}

/// This program around the engine.
pub struct ProgramHost {
    background: bool,
    prints: bool,
    /// Set if what is found in a trial is printed, not its result alone: whether for trials that passed, too.
    findings: Option<bool>,
}

impl ProgramHost {
    /// The same, with what is found in each trial that did not pass; with `passed`, in all.
    pub fn with_findings(self, passed: bool) -> Self {
        Self { findings: Some(passed), ..self }
    }

    /// The engine of a command.
    pub fn engine(&self, args: &StartArgs) -> Engine<'_> {
        Engine { host: self, dry_run: args.dry_run }
    }
}

impl Host for ProgramHost {
    fn note(&self, line: &str) {
        // If standard error is closed, nobody waits.
        let _ = writeln!(stderr(), "{}", escape::block(line));
    }

    fn warn(&self, line: &str) {
        let _ = warn(line);
    }

    fn detach(&self, run: &PlannedRun) -> Result<bool, Problem> {
        let in_background = background::is_background();
        if self.background && !in_background {
            start(&run.root, &run.settings)?;
            return Ok(true);
        }
        interrupt::listen(in_background)?;
        Ok(false)
    }

    fn calibrate(&self, run: &PlannedRun) -> Result<Vec<AgentCalibration>, Problem> {
        let mut made = Vec::new();
        for agent in calibrate::due(run) {
            self.note(&format!(
                "nobody knows yet whether {} is read rightly on this machine: calibrating it first",
                escape::line(&agent.name())
            ));
            let calibration = calibrate::calibrate(&agent, &run.settings)
                .map_err(|why| format!("{why}\nto run without, set SKILL_EVALS_CALIBRATE=off"))?;
            let paint = paint(Stream::Errors);
            let problems: Vec<_> = misplaced(&run.settings, &calibration).into_iter().collect();
            writeln!(stderr(), "{}", sentence(&calibration, paint))?;
            write!(stderr(), "{}", diagnostics::render(&problems, paint))?;
            made.push(calibration);
        }
        Ok(made)
    }

    fn watch(&self, run: &StartedRun, most: MostTrials, work: &mut dyn FnMut()) {
        let (MostTrials::Exactly(total) | MostTrials::AtMost(total)) = most;
        let terminal = Terminal::new(run, total, self.prints);
        let terminal = match self.findings {
            Some(passed) => terminal.with_passed(passed),
            None => terminal.in_brief(),
        };
        let terminal = if matches!(most, MostTrials::AtMost(_)) { terminal.up_to() } else { terminal };
        terminal.over(run, work);
        if let Some(warning) = run.limit_warning() {
            self.warn(&warning);
        }
    }
}

// Starts a command in the background, away from the terminal.

/// How long the process may take until it owns its run directory.
const STARTUP: Duration = Duration::from_secs(20);

/// Starts this same command again, detached, and waits until its run has begun.
pub fn start(root: &Path, settings: &Settings) -> CliResult {
    let folder = match (&settings.run_id, settings.resume) {
        (Some(id), true) => RunFolder::open(root, id)?,
        (id, _) => RunFolder::create(root, id.as_deref())?,
    };
    let log = folder.log();
    let mut child = background::start(&["--run-id", folder.id()], &log)?;
    let pid = i32::try_from(child.id()).unwrap_or_default();
    let started = Instant::now();
    loop {
        if folder.runner().is_some_and(|runner| runner.pid == pid) {
            let id = folder.id();
            writeln!(text_stdout(), "{id} runs in the background as process {pid}\nskill-evals status {id}")?;
            return Ok(Exit::Clean);
        }
        if let Some(status) = child.try_wait()? {
            let text = fs::read_to_string(&log).unwrap_or_default();
            return Err(format!("the run ended at once ({status}):\n{}", text.trim_end()).into());
        }
        if started.elapsed() > STARTUP {
            return Err(format!("did not start; see {}", log.display()).into());
        }
        thread::sleep(Duration::from_millis(10));
    }
}
