//! Turns cases into libtest-mimic trials.

use std::collections::HashSet;
use std::sync::Arc;

use libtest_mimic::{Completion, Failed, Trial};

use super::args::Front;
use super::session::Session;
use crate::cases::repository::Repository;
use crate::harness::stubs;
use crate::lint;
use crate::report::{diagnostics, trial as report};
use crate::run::scheduler;
use crate::run::shared::Run;
use crate::settings::selection;
use crate::store::{self, Recordings};
use crate::text::diagnostic::Diagnostic;
use crate::trial::event::Event;
use crate::trial::id::Planned;
use crate::trial::outcome::{NoOutcome, Verdict};

/// All tests: the `wanted` cases in their modes, and a lint for each skill and for the repository.
pub(super) fn all(session: &Arc<Session>, front: &Front, wanted: &[usize]) -> Vec<Trial> {
    let mut trials = Trials { session, taken: HashSet::with_capacity(wanted.len()), list: Vec::new() };
    for (index, found) in session.run.catalog.skills.iter().enumerate() {
        trials.push(stubs::skill_lint(&found.skill().slug), false, move |session| skill_lint(&session.run, index));
    }
    trials.push(stubs::REPOSITORY_LINT.to_owned(), false, |session| repository_lint(&session.run));

    let run = &session.run;
    // What is ignored has to be known before, where that is what is asked; else the trial says it, with the reason.
    let tell_ignored = (front.args.ignored || (session.nextest && !front.args.list)) && !session.is_broken();
    let mut recordings = Recordings::new(&run.root);
    for &index in wanted {
        let found = &run.catalog.cases[index];
        let recorded = if run.settings.live { Vec::new() } else { recordings.modes(&found.skill, &found.id) };
        for mode in selection::modes(&run.settings, found, &recorded) {
            let planned = Planned { found, mode };
            let name = planned.test_name();
            // Nobody sees what the filter leaves out, and reading a whole case takes longer than finding it.
            let ignored = tell_ignored && front.wants(&name) && is_ignored(run, &planned);
            let position = run.settings.modes.iter().position(|known| known == mode).unwrap_or_default();
            trials.push(name, ignored, move |session| {
                let run = &session.run;
                case_test(session, &Planned { found: &run.catalog.cases[index], mode: &run.settings.modes[position] })
            });
        }
    }
    trials.list
}

struct Trials<'a> {
    session: &'a Arc<Session>,
    taken: HashSet<String>,
    list: Vec<Trial>,
}

impl Trials<'_> {
    fn push(
        &mut self,
        mut name: String,
        ignored: bool,
        body: impl FnOnce(&Session) -> Result<Completion, Failed> + Send + 'static,
    ) {
        let session = Arc::clone(self.session);
        // Tools take two tests of one name for one.
        let first = name.clone();
        while self.taken.contains(&name) {
            name.push_str("_again");
        }
        self.taken.insert(name.clone());
        let own_name = name.clone();
        let run = move || {
            session.test(&own_name, || {
                if own_name == first {
                    return body(&session);
                }
                let why = format!(
                    "the test name `{first}` is taken: `-`, `+`, `.` and `_` count as one; rename the skill, case or mode"
                );
                Err(Failed::from(why))
            })
        };
        self.list.push(Trial::ignorable_test(name, run).with_ignored_flag(ignored));
    }
}

/// How many runs of cases these trials come to, lints and those left out aside.
pub(super) fn runs(session: &Session, front: &Front, trials: &[Trial]) -> usize {
    let is_case = |trial: &&Trial| trial.name().matches("::").count() == 2;
    let runs = |trial: &Trial| !front.args.is_filtered_out(trial) && !front.args.is_ignored(trial);
    let repeats = if session.run.settings.live { session.run.settings.trials as usize } else { 1 };
    trials.iter().filter(is_case).filter(|trial| runs(trial)).count() * repeats
}

/// Whether there is nothing to replay for a case that could be replayed. A broken case is not ignored: it fails.
fn is_ignored(run: &Run, planned: &Planned<'_>) -> bool {
    !run.settings.live && !store::recording(&run.root, &planned.trial(1)).exists() && planned.found.case().is_ok()
}

/// How many repeats of a planned trial are recorded.
fn recordings(run: &Run, planned: &Planned<'_>) -> u32 {
    let exists = |number: &u32| store::recording(&run.root, &planned.trial(*number)).exists();
    (1..=1000).take_while(exists).count().try_into().unwrap_or(0)
}

fn case_test(session: &Session, planned: &Planned<'_>) -> Result<Completion, Failed> {
    let run = &session.run;
    let repeats = if run.settings.live { run.settings.trials } else { recordings(run, planned).max(1) };
    let mut passed = 0;
    let mut texts = Vec::new();
    for number in 1..=repeats {
        let outcome = one_run(session, planned, number);
        match outcome {
            Ok(outcome) if outcome.grade.verdict == Verdict::Pass => passed += 1,
            Ok(outcome) => texts.push(report::graded(&run.root, planned.found, &outcome)),
            // Who asked for ignored trials wants them run, and nextest would show an ignored one as passed.
            Err(NoOutcome::NotRecorded) if !session.ignored_too => {
                return Ok(Completion::ignored_with(report::NO_RECORDING));
            }
            Err(problem) => return Err(report::not_graded(&planned.trial(number), &problem).into()),
        }
    }
    if f64::from(passed) >= run.settings.threshold * f64::from(repeats) {
        return Ok(Completion::Completed);
    }
    if repeats > 1 {
        let needed = run.settings.threshold * 100.0;
        texts.insert(0, format!("{passed} of {repeats} trials passed; {needed:.0}% must\n"));
    }
    Err(texts.join("\n").into())
}

fn one_run(session: &Session, planned: &Planned<'_>, number: u32) -> Result<crate::trial::outcome::Outcome, NoOutcome> {
    let run = &session.run;
    let tell = |event| match event {
        Event::Started(id) => session.on_watch(|watch| watch.started(&id)),
        Event::Heard(id, words) => session.on_watch(|watch| watch.heard(&id, words)),
        Event::Finished { id, result, .. } => session.on_watch(|watch| watch.finished(&id, &result)),
        _ => {}
    };
    let outcome = scheduler::trial(run, planned, number, &tell);
    if let Ok(outcome) = &outcome {
        session.note(planned.found, outcome);
    }
    outcome
}

fn skill_lint(run: &Run, index: usize) -> Result<Completion, Failed> {
    let tree = Repository { root: run.root.clone() };
    verdict_of(&lint::skill_trial(&run.catalog, &run.catalog.skills[index].skill().slug, &tree))
}

fn repository_lint(run: &Run) -> Result<Completion, Failed> {
    if run.catalog.cases.is_empty() {
        return Err(format!("there are no skills and no cases in {}", run.root.display()).into());
    }
    let mut problems = run.catalog.problems.clone();
    problems.extend(stubs::problems(&run.root, &run.catalog));
    verdict_of(&problems)
}

/// Warnings do not fail a test; errors do.
fn verdict_of(problems: &[Diagnostic]) -> Result<Completion, Failed> {
    let errors: Vec<Diagnostic> = problems.iter().filter(|problem| problem.is_error()).cloned().collect();
    if errors.is_empty() { Ok(Completion::Completed) } else { Err(diagnostics::render(&errors, false).into()) }
}
