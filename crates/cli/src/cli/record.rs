//! `skill-evals record`.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use clap::Args;

use super::documents::{Format, RecordList, RecordState, RecordedCase};
use super::{CliResult, CliResultOf, RepositoryArgs, custom_checks, print_json, select};
use crate::cases::selection::{TestCase, wants_skill};
use crate::cli::exit_code::Exit;
use crate::cli::output::{stderr, text_stdout, warn};
use crate::engine::{Loaded, choose};
use crate::run::plan::{PlannedCase, RunPlan};
use crate::run::planned::PlannedRun;
use crate::run::record::{self, FailedTrials, RecordedTrials, RecordingResult};
use crate::run::rename_recordings;
use crate::settings::TestSelection;
use crate::store::RunFolder;
use crate::text::escape;
use crate::text::name::Filters;
use crate::trial::id::TrialId;

#[derive(Args)]
pub struct RecordArgs {
    /// Run, as named in artifacts/skill-evals
    #[arg(required_unless_present = "rename")]
    run_id: Option<String>,
    /// Only trials whose name contains one of these, or of these skills by path: `greeting`, `xlsx/verify`, `/mcp`
    #[arg(value_name = "FILTER")]
    filters: Vec<String>,
    /// Give the recordings of a case that was renamed to the case of the new id
    #[arg(long, num_args = 2, value_names = ["SKILL/OLD-ID", "NEW-ID"], conflicts_with_all = ["run_id", "accept_failing", "json"])]
    rename: Vec<String>,
    /// Record failing trials too; their tests then fail
    #[arg(long)]
    accept_failing: bool,
    /// Print one JSON document.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn record(args: &RecordArgs) -> CliResult {
    let Loaded { repository, mut settings, catalog } = args.repository.read()?;
    if let [old, new] = args.rename.as_slice() {
        for place in rename_recordings::rename(&repository.root, &catalog, old, new)? {
            let place = place.strip_prefix(&repository.root).unwrap_or(&place);
            writeln!(text_stdout(), "{}", escape::line(&format!("{old}: moved to {}", place.display())))?;
        }
        return Ok(Exit::Clean);
    }
    let from = RunFolder::open(&repository.root, args.run_id.as_deref().unwrap_or_default())?;
    from.check_whole()?;
    select::apply_threshold_of(&from, &mut settings);
    let mut selection = TestSelection::default();
    let filters = Filters::new(&choose::filters(&args.filters, &mut selection, &catalog), false);
    let mut run = PlannedRun::new(repository.root, settings, catalog);
    let mut plan = RunPlan::default();
    let cases: HashMap<_, _> =
        run.catalog.cases.iter().map(|found| ((&*found.skill, found.id.as_str()), found)).collect();
    for folder in from.trials()? {
        let id = folder.meta()?.id();
        let found = cases.get(&(id.skill.as_str(), id.case.as_str()));
        let (Some(found), Some(mode)) = (found, run.settings.mode(&id.mode)) else {
            warn(&format!("{id}: not recorded: its case or mode no longer exists"))?;
            continue;
        };
        let planned = TestCase { found: Arc::clone(found), mode: mode.clone() };
        // Repeats of a case follow each other.
        match plan.entries.last_mut().filter(|entry| entry.planned.trial(1) == planned.trial(1)) {
            Some(entry) => entry.repeats = entry.repeats.max(id.number),
            None if wants_skill(&selection, &id.skill) && filters.want(|| planned.test_name()) => {
                plan.entries.push(PlannedCase::times(planned, id.number));
            }
            None => {}
        }
    }
    if plan.is_empty() {
        let named = match args.filters.join("` or `") {
            filters if filters.is_empty() => "trials to record".to_owned(),
            filters => format!("trial whose name contains `{filters}`"),
        };
        return Err(format!("the run {} has no finished {named}", from.id()).into());
    }
    run.custom_checks = custom_checks(&run.root, &run.settings)?;
    let run = run.with_plan(plan);
    let failing = if args.accept_failing { FailedTrials::Keep } else { FailedTrials::LeaveOut };
    let recorded = record::record_from(&run, &from, failing)?;
    if args.json {
        let cases: Vec<RecordedCase<'_>> = recorded.iter().map(|recorded| RecordedCase::of(&run, recorded)).collect();
        print_json(&RecordList { format: Format, cases: &cases })?;
        return Ok(exit(&recorded));
    }
    print(&run, &recorded, false)
}

impl<'a> RecordedCase<'a> {
    fn of(run: &PlannedRun, recorded: &'a RecordedTrials) -> Self {
        let (state, now) = match &recorded.now {
            RecordingResult::Kept(now, _) => (RecordState::Recorded, Some(now)),
            RecordingResult::Failing(now) => (RecordState::Failing, Some(now)),
            RecordingResult::NotMeasured => (RecordState::NotMeasured, None),
            RecordingResult::Partial(..) => (RecordState::Partial, None),
            RecordingResult::EndedEarly => (RecordState::EndedEarly, None),
            RecordingResult::UsersSetup => (RecordState::UsersSetup, None),
            RecordingResult::RecordedAnswers => (RecordState::RecordedAnswers, None),
        };
        let TrialId { skill, case, mode, .. } = &recorded.id;
        Self { skill, case, mode, state, before: recorded.before.as_ref(), now, recording: recorded.place(&run.root) }
    }
}

/// Prints a line for each recording, on standard error if standard output is for something else.
pub fn print(run: &PlannedRun, recorded: &[RecordedTrials], on_stderr: bool) -> CliResultOf<Exit> {
    for recorded in recorded {
        let path = recorded.place(&run.root).map(|path| format!("  {}", path.display())).unwrap_or_default();
        let line = escape::line(&format!("{recorded}{path}"));
        if on_stderr {
            writeln!(stderr(), "{line}")?;
        } else {
            writeln!(text_stdout(), "{line}")?;
        }
    }
    Ok(exit(recorded))
}

fn exit(recorded: &[RecordedTrials]) -> Exit {
    let exits = recorded.iter().map(|recorded| match recorded.now {
        RecordingResult::Kept(..) => Exit::Clean,
        RecordingResult::Failing(_) => Exit::Problems,
        RecordingResult::NotMeasured
        | RecordingResult::Partial(..)
        | RecordingResult::EndedEarly
        | RecordingResult::UsersSetup
        | RecordingResult::RecordedAnswers => Exit::Infrastructure,
    });
    exits.fold(Exit::Clean, Exit::worse)
}
