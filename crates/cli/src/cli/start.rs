//! The start of the commands that start agents: `run` and `compare`.

use std::io::{self, Write};
use std::path::Path;

use clap::Args;

use super::export_args::IN_PLACE;
use super::select::LimitArgs;
use super::{CliResult, CliResultOf, LoadedRepository, RepositoryArgs, custom_checks, detached};
use crate::cases::catalog::Catalog;
use crate::cases::repository::Repository;
use crate::cli::color::paint;
use crate::cli::exit_code::Exit;
use crate::cli::output::{Stream, stderr, warn};
use crate::process::{background, interrupt};
use crate::report::calibration::sentence;
use crate::report::diagnostics;
use crate::report::trial_text::RerunCommand;
use crate::run::calibration::misplaced;
use crate::run::context::RunContext;
use crate::run::{ignored, open_run, plan, preflight, same_contents};
use crate::settings::Settings;
use crate::setup::calibrate;
use crate::store::{self, RunFolder};
use crate::text::escape;
use crate::text::name::Filters;
use crate::trial::run_record::RunChoices;

/// Options of a command that starts agents.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "options as the command line has them")]
pub struct StartArgs {
    #[command(flatten)]
    pub limits: LimitArgs,
    /// Name of the run in artifacts/skill-evals [default: the time, UTC]
    #[arg(long, value_name = "ID", overrides_with = "run_id")]
    pub run_id: Option<String>,
    /// Resume the run --run-id: keep what was measured, run the rest
    #[arg(long)]
    pub resume: bool,
    /// With --resume: keep results although their case, skill or settings changed; they are listed
    #[arg(long, requires = "resume")]
    force: bool,
    /// Run detached; `status` shows the run, `stop` stops it
    #[arg(long, conflicts_with_all = ["dry_run", IN_PLACE])]
    pub background: bool,
    /// Print what would run and what it may cost; run nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Start trials at once: for agents without a cache
    #[arg(long)]
    no_lead: bool,
    /// Print only the result
    #[arg(long, short, conflicts_with = IN_PLACE)]
    pub quiet: bool,
    #[command(flatten)]
    pub repository: RepositoryArgs,
}

impl StartArgs {
    /// The repository, its settings with the limits and the run id, and its catalog.
    pub fn read(&self) -> CliResultOf<LoadedRepository> {
        // First, because a run in the background leaves its terminal, which may close.
        let _ = background::is_background();
        let LoadedRepository { repository, mut settings, catalog } = self.repository.read()?;
        self.limits.apply(&mut settings)?;
        settings.run_id = self.run_id.clone().or(settings.run_id.take());
        settings.resume |= self.resume;
        settings.force |= self.force;
        settings.lead &= !self.no_lead;
        Ok(LoadedRepository { repository, settings, catalog })
    }

    /// What decides the trials of a run, by which a later start finds it. Warns if that cannot be told.
    pub fn contents(&self, told: Result<String, String>) -> io::Result<Option<String>> {
        match told {
            Ok(contents) => Ok(Some(contents)),
            // A start without agents says why it has none.
            Err(_) if self.dry_run => Ok(None),
            Err(why) => {
                warn(&format!("{why}: no earlier start of this run is continued, and none can continue it"))?;
                Ok(None)
            }
        }
    }

    /// The run of the same contents that was killed or stopped, if there is one, to be resumed instead of a new one. Says so.
    pub fn unfinished(&self, run: &RunContext) -> CliResultOf<Option<RunFolder>> {
        if self.dry_run || run.settings.resume {
            return Ok(None);
        }
        let found = same_contents::unfinished(run);
        if let Some(folder) = &found {
            writeln!(stderr(), "{} had the same contents and did not end: resuming it", folder.id())?;
        }
        Ok(found)
    }

    /// Opens the run and returns `None`. With --dry-run, or if a background process runs it, returns the exit code. A run that
    /// `is_stored` has a directory from now on.
    pub fn begin(
        &self,
        run: &mut RunContext,
        is_stored: bool,
        dry_run: impl FnOnce(&RunContext) -> CliResult,
    ) -> CliResultOf<Option<Exit>> {
        if self.dry_run {
            preflight::check_dry_run(run, is_stored)?;
            let exit = dry_run(run)?;
            preflight::agents(run)?;
            return Ok(Some(exit));
        }
        preflight::check(run)?;
        run.custom_checks = custom_checks(&run.root, &run.settings)?;
        let in_background = background::is_background();
        if self.background && !in_background {
            return detached::start(&run.root, &run.settings).map(Some);
        }
        interrupt::listen(in_background)?;
        for agent in calibrate::due(run) {
            let name = escape::line(&agent.name());
            writeln!(
                stderr(),
                "nobody knows yet whether {name} is read rightly on this machine: calibrating it first"
            )?;
            let calibration = calibrate::calibrate(&agent, &run.settings)
                .map_err(|why| format!("{why}\nto run without, set SKILL_EVALS_CALIBRATE=off"))?;
            let paint = paint(Stream::Errors);
            let problems: Vec<_> = misplaced(&run.settings, &calibration).into_iter().collect();
            writeln!(stderr(), "{}", sentence(&calibration, paint))?;
            write!(stderr(), "{}", diagnostics::render(&problems, paint))?;
            run.calibrated.push(calibration);
        }
        if is_stored {
            let live = open_run::live(run).map_err(ToString::to_string)?;
            if let Some(note) = live.scratch.note() {
                warn(note)?;
            }
            if let Some(problem) = ignored::copied_by(run) {
                warn(&problem.message)?;
            }
            for (id, changed) in &live.kept_although_changed {
                let outdated = format!("{id}: kept an outdated result; changed: {}", changed.join(", "));
                writeln!(stderr(), "{}", escape::line(&outdated))?;
            }
            for left in live.scratch.left() {
                writeln!(stderr(), "{}", escape::line(left))?;
            }
        }
        Ok(None)
    }
}

/// The run of the chosen cases. The settings have the choices already.
pub fn planned(
    repository: Repository,
    settings: Settings,
    catalog: Catalog,
    chosen: RunChoices,
) -> CliResultOf<RunContext> {
    let filters = Filters::new(&chosen.filters, false);
    let plan = plan::plan(&repository.root, &settings, &catalog, &filters).map_err(|problems| problems.join("\n"))?;
    let mut run = RunContext::new(repository.root, settings, catalog).with_plan(plan);
    run.rerun_command = RerunCommand::Program(chosen.model.clone());
    run.chosen = chosen;
    Ok(run)
}

pub fn to_resume(root: &Path, settings: &Settings) -> CliResultOf<RunFolder> {
    let Some(id) = &settings.run_id else {
        let latest = store::runs(root)?.first().map(|run| format!("; the latest run is {}", run.id()));
        return Err(format!("--resume needs --run-id{}", latest.unwrap_or_default()).into());
    };
    Ok(RunFolder::open(root, id)?)
}

/// Warns of results that could not be written. Returns whether there are any.
pub fn warn_of(errors: impl IntoIterator<Item = String>) -> io::Result<bool> {
    let mut any = false;
    for error in errors {
        any = true;
        warn(&format!("{error}; the trials' own directories are complete, `skill-evals summary` reads them"))?;
    }
    Ok(any)
}
