//! The start of the commands that start agents: their options, and this program around the engine.

use std::io::Write;

use clap::Args;

use super::export_args::IN_PLACE;
use super::given::{ALONE, STARTS};
use super::select::LimitArgs;
use super::{CliResultOf, RepositoryArgs, detached};
use crate::cli::color::paint;
use crate::cli::output::{Stream, stderr, warn};
use crate::cli::terminal::Terminal;
use crate::engine::{Engine, Host, Loaded, MostTrials};
use crate::process::{background, interrupt};
use crate::report::calibration::sentence;
use crate::report::diagnostics;
use crate::results::calibration::AgentCalibration;
use crate::run::calibration::misplaced;
use crate::run::planned::PlannedRun;
use crate::run::started::StartedRun;
use crate::setup::calibrate;
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
            detached::start(&run.root, &run.settings)?;
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
    }
}
