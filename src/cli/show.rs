//! `skill-evals show`.

use std::io::{self, IsTerminal, Write};
use std::path::Path;

use clap::Args;
use serde::Serialize;

use super::{CliResult, CliResultOf, RepositoryArgs, no_trials, own_checks, print_json, replayed};
use crate::cli::color::paint;
use crate::cli::exit_code::Exit;
use crate::cli::output::stdout;
use skill_evals::process::{brief, interrupt};
use skill_evals::report::show::{self as report, ShownTrial};
use skill_evals::results::session::{self, Session};
use skill_evals::results::timeline::Timeline;
use skill_evals::run::context::RunContext;
use skill_evals::run::review::TrialReview;
use skill_evals::store::{self, RunFolder, TrialFolder};
use skill_evals::text::diagnostic::{nearest_few, shown_path};
use skill_evals::text::name::{Filters, as_test_name};
use skill_evals::trial::evidence::Meta;
use skill_evals::trial::id::TrialId;
use skill_evals::trial::outcome::{Grade, Verdict};

/// Most names that are listed where a name is not known, or means several trials.
const MOST_NAMES: usize = 8;

#[derive(Args)]
pub struct ShowArgs {
    /// Trial: `greeting/implicit/codex`, a test name, a session id, or a part of a name that only one trial
    /// has; append `/2` for a repeat [default: the first that did not pass, else the first]
    #[arg(value_name = "TRIAL")]
    name: Option<String>,
    /// Run, by id or directory [default: the latest, else the recordings]
    #[arg(long, value_name = "RUN-ID|DIR")]
    run: Option<String>,
    /// Show the recording, graded as the case says today.
    #[arg(long, conflicts_with = "run")]
    recording: bool,
    /// Print a JSON object: the whole session, from the prompt to the last check.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

/// What `--json` prints.
#[derive(Serialize)]
struct ShowOutput<'a> {
    session: Session<'a>,
    #[serde(flatten)]
    id: TrialId,
    folder: &'a Path,
    meta: &'a Meta,
    grade: &'a Grade,
    timeline: &'a Timeline,
}

pub fn show(args: &ShowArgs) -> CliResult {
    let (repository, settings, catalog) = args.repository.read()?;
    let mut run = RunContext::new(repository.root, settings, catalog);
    let (place, trials) = args.trials(&run.root)?;
    let chosen = choose(args.name.as_deref(), trials, &place)?;
    if chosen.iter().any(|(_, folder)| !folder.has_grade()) {
        run.own_checks = own_checks(&run.root)?;
    }
    let (id, folder, review) = first_not_passed(&run, chosen)?;
    let timeline = review.timeline();
    let shown_folder = shown_path(&run.root, folder.path());
    let mut out = stdout();
    if args.json {
        let (meta, grade) = (&review.meta, &review.grade);
        let session = Session::new(meta, grade, review.final_text.as_deref());
        print_json(&mut out, &ShowOutput { session, id, folder: &shown_folder, meta, grade, timeline: &timeline })?;
        return Ok(Exit::Clean);
    }
    let found = run.catalog.cases.iter().find(|found| (&*found.skill, &found.id) == (&*id.skill, &id.case));
    let case = found.map(|found| (&*found.file, found.line));
    let shown =
        ShownTrial { meta: &review.meta, grade: &review.grade, timeline: &timeline, case, folder: &shown_folder };
    let text = report::show(&shown, paint(&io::stdout()));
    let pager = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    if io::stdout().is_terminal() && !pager.trim().is_empty() {
        drop(out);
        // Ctrl-C is for the pager.
        interrupt::listen(false)?;
        if brief::page(&pager, &text)? {
            return Ok(Exit::Clean);
        }
        out = stdout();
    }
    out.write_all(text.as_bytes())?;
    Ok(Exit::Clean)
}

impl ShowArgs {
    /// The trials to choose from, and the place that they are in.
    fn trials(&self, root: &Path) -> CliResultOf<(String, Vec<TrialFolder>)> {
        let recorded = || ("the recordings".to_owned(), store::trials_below(&root.join(store::RECORDINGS)));
        if self.recording {
            return Ok(recorded());
        }
        let run = match &self.run {
            Some(folder) if folder.contains('/') => RunFolder::at(Path::new(folder)),
            Some(id) => RunFolder::open(root, id)?,
            None => match store::runs(root).into_iter().next() {
                Some(latest) => latest,
                // A replay leaves no run.
                None => return Ok(recorded()),
            },
        };
        // A folder may be a part of a run, or of recordings.
        let trials = if run.is_run() { run.trials() } else { store::trials_below(run.path()) };
        if trials.is_empty() && replayed(&run) {
            return Ok(recorded());
        }
        if trials.is_empty() {
            return Err(no_trials(run.id(), std::slice::from_ref(&run)).into());
        }
        Ok((format!("the run {}", run.id()), trials))
    }
}

/// The repeats that `name` means, all of one case in one mode; all trials without a name.
fn choose(name: Option<&str>, trials: Vec<TrialFolder>, place: &str) -> CliResultOf<Vec<(TrialId, TrialFolder)>> {
    let known: Vec<(TrialId, TrialFolder)> =
        trials.into_iter().filter_map(|folder| Some((folder.id()?, folder))).collect();
    if known.is_empty() {
        return Err(format!("no trials found in {place}").into());
    }
    let Some(name) = name else { return Ok(known) };
    let found = matching(name, &known);
    let tests: std::collections::BTreeSet<String> = found.iter().map(|(id, _)| without_repeat(id)).collect();
    match tests.len() {
        1 => Ok(found),
        0 => {
            let all: std::collections::BTreeSet<String> = known.iter().map(|(id, _)| without_repeat(id)).collect();
            let near = nearest_few(name, all.iter().map(String::as_str), MOST_NAMES);
            Err(format!("unknown trial `{name}` in {place}; nearest: {}", near.join(", ")).into())
        }
        all => {
            let first: Vec<&str> = tests.iter().take(MOST_NAMES).map(String::as_str).collect();
            let more = if all > MOST_NAMES { format!(" and {} more", all - MOST_NAMES) } else { String::new() };
            Err(format!("`{name}` is {all} trials in {place}: {}{more}", first.join(", ")).into())
        }
    }
}

fn without_repeat(id: &TrialId) -> String {
    TrialId { number: 1, ..id.clone() }.to_string()
}

/// The one with this id; those of this very name; those of that repeat; else those whose names hold it.
fn matching(name: &str, known: &[(TrialId, TrialFolder)]) -> Vec<(TrialId, TrialFolder)> {
    let all = |wanted: &dyn Fn(&TrialId) -> bool| -> Vec<(TrialId, TrialFolder)> {
        known.iter().filter(|(id, _)| wanted(id)).cloned().collect()
    };
    let exact = as_test_name(name, true);
    let part = |name: &str| Filters::new(&[name.to_owned()], false);
    let repeat = name.rsplit_once(['/', ':']).and_then(|(before, number)| {
        let number: u32 = number.parse().ok()?;
        let before = before.trim_end_matches(':');
        Some((as_test_name(before, true), part(before), number))
    });
    let of_session = name.strip_prefix(session::FAILED).unwrap_or(name);
    let mut found = all(&|id| session::id(id, Verdict::Pass) == of_session);
    if found.is_empty() {
        found = all(&|id| id.test_name() == exact);
    }
    if let (true, Some((before, part, number))) = (found.is_empty(), repeat) {
        found = all(&|id| id.number == number && id.test_name() == before);
        if found.is_empty() {
            found = all(&|id| id.number == number && part.want(|| id.test_name()));
        }
    }
    if found.is_empty() {
        let part = part(name);
        found = all(&|id| part.want(|| id.test_name()));
    }
    found
}

/// The first that did not pass, or the first.
fn first_not_passed(
    run: &RunContext,
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
