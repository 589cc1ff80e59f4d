//! `skill-evals show`.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;

use clap::Args;

use super::documents::ShowOutput;
use super::{CliResult, CliResultOf, RepositoryArgs, custom_checks, named_runs, print_json};
use crate::cli::exit_code::Exit;
use crate::cli::output::paint;
use crate::cli::output::{Stream, as_printed, document_stdout};
use crate::engine::Loaded;
use crate::process::{interrupt, run_to_end};
use crate::report::show::{self as report, ShownTrial};
use crate::results::session::{self, Session};
use crate::results::stored_summary::no_trials;
use crate::run::planned::PlannedRun;
use crate::run::regrade::TrialReview;
use crate::store::{self, RunFolder, TrialFolder};
use crate::text::cut;
use crate::text::diagnostic::{nearest_few, shown_path};
use crate::text::name::{Filters, as_test_name};
use crate::trial::id::TrialId;
use crate::trial::outcome::Verdict;

/// The most names in an error message.
const MAX_NAMES: usize = 8;

#[derive(Args)]
pub struct ShowArgs {
    /// Trial: `greeting/implicit/mcp`, a test name, a session id, or a part of a name that only one trial
    /// has; append `/2` for a repeat [default: the first that did not pass, else the first]
    #[arg(value_name = "TRIAL")]
    name: Option<String>,
    /// Run, by id or directory [default: the latest with the trial, else the recordings]
    #[arg(long, value_name = "RUN-ID|DIR")]
    run: Option<String>,
    /// Show the recording, graded as the case says today.
    #[arg(long, conflicts_with = "run")]
    recording: bool,
    /// Print a JSON object: the whole session, from the prompt to the last check.
    #[arg(long)]
    json: bool,
    /// Print long texts in full
    #[arg(long, short)]
    verbose: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn show(args: &ShowArgs) -> CliResult {
    let Loaded { repository, settings, catalog } = args.repository.read()?;
    let mut run = PlannedRun::new(repository.root, settings, catalog);
    let (place, trials) = args.trials(&run.root)?;
    let chosen = choose(args.name.as_deref(), trials, &place)?;
    let mut lacks_grade = false;
    for (_, folder) in &chosen {
        lacks_grade |= !folder.has_grade()?;
    }
    if lacks_grade {
        run.custom_checks = custom_checks(&run.root, &run.settings)?;
    }
    let (id, folder, review) = first_not_passed(&run, chosen)?;
    let timeline = review.timeline();
    let (meta, grade) = (&review.meta, &review.grade);
    let shown_folder = shown_path(&run.root, folder.path());
    if args.json {
        let session = Session::new(meta, grade, review.final_text.as_deref());
        let output =
            ShowOutput { session, id, folder: &shown_folder, meta, grade, timeline: &timeline, stale: &review.stale };
        print_json(&output)?;
        return Ok(Exit::Clean);
    }
    let found = run.catalog.cases.iter().find(|found| (&*found.skill, &found.id) == (&*id.skill, &id.case));
    let case = found.map(|found| (&*found.file, found.line));
    let (stale, is_whole) = (&review.stale, args.verbose);
    let shown = ShownTrial { meta, grade, timeline: &timeline, stale, case, folder: &shown_folder, is_whole };
    let text = as_printed(&report::show(&shown, paint(Stream::Output)));
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    if Stream::Output.is_terminal() && !pager.trim().is_empty() {
        // Ctrl-C is for the pager.
        interrupt::listen(false)?;
        if run_to_end::page(&pager, &text)? {
            return Ok(Exit::Clean);
        }
    }
    document_stdout().write_all(text.as_bytes())?;
    Ok(Exit::Clean)
}

impl ShowArgs {
    /// The trials to choose from, and the name of the place that holds them.
    fn trials(&self, root: &Path) -> CliResultOf<(String, Vec<TrialFolder>)> {
        let run = match &self.run {
            Some(name) => Some(named_runs::open(root, name)?),
            None if self.recording => None,
            None => self.latest(root)?,
        };
        let Some(run) = run else {
            let recorded = store::trials_below(&root.join(store::RECORDINGS))?;
            if recorded.is_empty() && !self.recording {
                named_runs::latest(root)?;
            }
            return Ok(("the recordings".to_owned(), recorded));
        };
        let trials = named_runs::trials(root, &run)?;
        // What failed is shown first, and may be what is missing.
        if self.name.is_none() && !run.is_live() {
            run.check_whole()?;
        }
        if trials.is_empty() {
            return Err(no_trials(run.id(), std::slice::from_ref(&run)).into());
        }
        Ok((format!("the run {}", run.id()), trials))
    }
}

impl ShowArgs {
    /// The latest run that has the named trial, if one has; none if only a recording has it. Else the latest run.
    fn latest(&self, root: &Path) -> CliResultOf<Option<RunFolder>> {
        let first = store::latest(root)?;
        let Some(name) = &self.name else { return Ok(first) };
        let has_it = |trials: Vec<TrialFolder>| !matching(name, &with_ids(trials)).is_empty();
        for run in store::runs(root)? {
            // A run that cannot be read is reported if it is named.
            if named_runs::trials(root, &run).is_ok_and(has_it) {
                return Ok(Some(run));
            }
            // An earlier one would be shown as the latest that has it. A run that resumes measures some trials again.
            if !run.is_live() {
                run.check_whole()?;
                check_not_ended(name, &run)?;
            }
        }
        let is_recorded = has_it(store::trials_below(&root.join(store::RECORDINGS))?);
        Ok(first.filter(|_| !is_recorded))
    }
}

/// Fails if the named trial ended in this run, of which it has no directory.
fn check_not_ended(name: &str, run: &RunFolder) -> CliResultOf<()> {
    let mut ended = Vec::new();
    run.each_noted(|record| ended.push((record.id.clone(), ())))?;
    let Some((id, ())) = matching(name, &ended).into_iter().next() else { return Ok(()) };
    let (path, id_of_run) = (run.path().display(), run.id());
    let why = "it did not start, or was removed";
    let help = format!("skill-evals summary {id_of_run} has its result, and --run names an earlier run");
    Err(format!("{path} has no directory of {id}, which ended in this run: {why}; {help}").into())
}

fn with_ids(trials: Vec<TrialFolder>) -> Vec<(TrialId, TrialFolder)> {
    trials.into_iter().filter_map(|folder| Some((folder.id()?, folder))).collect()
}

/// The trials that `name` means, all of one case in one mode. All trials without a name.
fn choose(name: Option<&str>, trials: Vec<TrialFolder>, place: &str) -> CliResultOf<Vec<(TrialId, TrialFolder)>> {
    let known = with_ids(trials);
    if known.is_empty() {
        return Err(format!("no trials found in {place}").into());
    }
    let Some(name) = name else { return Ok(known) };
    let matching = matching(name, &known);
    let names = cases_in_modes(&matching);
    match names.len() {
        1 => Ok(matching),
        0 => {
            let known = cases_in_modes(&known);
            let nearest = nearest_few(name, known.iter().map(String::as_str), MAX_NAMES);
            Err(format!("unknown trial `{name}` in {place}; nearest: {}", nearest.join(", ")).into())
        }
        count => {
            let names: Vec<String> = names.into_iter().collect();
            Err(format!("`{name}` is {count} trials in {place}: {}", cut::names(&names, MAX_NAMES)).into())
        }
    }
}

/// The names of the trials without the numbers of repeats.
fn cases_in_modes(trials: &[(TrialId, TrialFolder)]) -> BTreeSet<String> {
    trials.iter().map(|(id, _)| TrialId { number: 1, ..id.clone() }.to_string()).collect()
}

/// The trial with this session id. Else those with exactly this name, then those of this repeat, of this case, then those whose name
/// contains it.
fn matching<T: Clone>(name: &str, known: &[(TrialId, T)]) -> Vec<(TrialId, T)> {
    let all = |is_wanted: &dyn Fn(&TrialId) -> bool| -> Vec<(TrialId, T)> {
        known.iter().filter(|(id, _)| is_wanted(id)).cloned().collect()
    };
    let session_id = name.strip_prefix(session::FAILED).unwrap_or(name);
    let mut matching = all(&|id| session::id(id, Verdict::Pass) == session_id);
    if matching.is_empty() {
        let test_name = as_test_name(name, true);
        matching = all(&|id| id.test_name() == test_name);
    }
    if let (true, Some((case, number))) = (matching.is_empty(), split_repeat(name)) {
        let (test_name, part) = (as_test_name(case, true), Filters::new(&[case.to_owned()], false));
        matching = all(&|id| id.number == number && id.test_name() == test_name);
        if matching.is_empty() {
            matching = all(&|id| id.number == number && part.want(|| id.test_name()));
        }
    }
    if matching.is_empty() {
        // A case in all its modes.
        matching = all(&|id| name.split_once('/').is_some_and(|(skill, case)| id.skill == skill && id.case == case));
    }
    if matching.is_empty() {
        let part = Filters::new(&[name.to_owned()], false);
        matching = all(&|id| part.want(|| id.test_name()));
    }
    matching
}

/// Splits `skill/case/mode/2` and `skill::case::mode::2`.
fn split_repeat(name: &str) -> Option<(&str, u32)> {
    let (case, number) = name.rsplit_once(['/', ':'])?;
    Some((case.trim_end_matches(':'), number.parse().ok()?))
}

/// The first trial that did not pass, else the first.
fn first_not_passed(
    run: &PlannedRun,
    chosen: Vec<(TrialId, TrialFolder)>,
) -> CliResultOf<(TrialId, TrialFolder, TrialReview)> {
    let mut first = None;
    for (id, folder) in chosen {
        let review = TrialReview::of(run, &folder)?;
        if review.grade.verdict != Verdict::Pass {
            return Ok((id, folder, review));
        }
        first.get_or_insert((id, folder, review));
    }
    first.ok_or_else(|| "no trial to show".into())
}
