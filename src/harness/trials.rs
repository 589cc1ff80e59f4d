//! Turns cases into libtest-mimic trials.

use std::sync::Arc;

use libtest_mimic::{Completion, Failed, Trial};

use crate::diagnostic::Diagnostic;
use crate::discovery::Repository;
use crate::engine;
use crate::lint;
use crate::mode::Mode;
use crate::outcome::{NoOutcome, Verdict};
use crate::plan::{self, Planned};
use crate::report::{diagnostics, trial as report};
use crate::run::Run;
use crate::selection;
use crate::store;

/// All tests: the cases in their modes, and a lint for each skill and for the repository.
pub(super) fn all(run: &Arc<Run>, setup_problem: Option<&str>) -> Vec<Trial> {
    let mut trials = Vec::new();
    for found in &run.catalog.skills {
        let slug = found.skill().slug.clone();
        let name = format!("{}::lint", plan::segment(&slug));
        let run = Arc::clone(run);
        trials.push(test(name, setup_problem, false, move || skill_lint(&run, &slug)));
    }
    let whole = Arc::clone(run);
    trials.push(test("repository::lint".to_owned(), setup_problem, false, move || repository_lint(&whole)));
    for index in 0..run.catalog.cases.len() {
        for mode in modes(run, index) {
            let planned = Planned { found: &run.catalog.cases[index], mode: &mode };
            let name = planned.test_name();
            let recordings = recordings(run, &planned);
            let ignored = !run.settings.live && recordings == 0 && planned.found.case().is_ok();
            let run = Arc::clone(run);
            trials.push(test(name, setup_problem, ignored, move || {
                let planned = Planned { found: &run.catalog.cases[index], mode: &mode };
                case_test(&run, &planned, recordings)
            }));
        }
    }
    trials
}

/// A test that fails for the setup's sake, or runs `body`.
fn test(
    name: String,
    setup_problem: Option<&str>,
    ignored: bool,
    body: impl FnOnce() -> Result<Completion, Failed> + Send + 'static,
) -> Trial {
    let problem = setup_problem.map(str::to_owned);
    let ignored = ignored && problem.is_none();
    let run = move || problem.map_or_else(body, |problem| Err(Failed::from(problem)));
    Trial::ignorable_test(name, run).with_ignored_flag(ignored)
}

/// The modes in which a case is a test: those asked for, or the default ones and, in replay, those with a recording.
fn modes(run: &Run, index: usize) -> Vec<Mode> {
    let found = &run.catalog.cases[index];
    let recorded =
        if run.settings.live { Vec::new() } else { store::recorded_modes(&run.root, &found.skill, &found.id) };
    selection::modes(&run.settings, &recorded).into_iter().cloned().collect()
}

/// How many repeats of a planned trial are recorded.
fn recordings(run: &Run, planned: &Planned<'_>) -> u32 {
    (1..=1000)
        .take_while(|&number| store::recording(&run.root, &planned.trial(number)).exists())
        .count()
        .try_into()
        .unwrap_or(0)
}

fn case_test(run: &Run, planned: &Planned<'_>, recordings: u32) -> Result<Completion, Failed> {
    let repeats = if run.settings.live { run.settings.trials } else { recordings.max(1) };
    let mut passed = 0;
    let mut texts = Vec::new();
    for number in 1..=repeats {
        match engine::trial(run, planned, number, &|_| {}) {
            Ok(outcome) if outcome.grade.verdict == Verdict::Pass => passed += 1,
            Ok(outcome) => texts.push(report::graded(&run.root, planned.found, &outcome)),
            Err(NoOutcome::NotRecorded) => return Ok(Completion::ignored_with(report::NO_RECORDING)),
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

fn skill_lint(run: &Run, slug: &str) -> Result<Completion, Failed> {
    let tree = Repository { root: run.root.clone() };
    verdict_of(&lint::skill_trial(&run.catalog, slug, &tree))
}

fn repository_lint(run: &Run) -> Result<Completion, Failed> {
    if run.catalog.cases.is_empty() {
        return Err(format!("there are no skills and no cases in {}", run.root.display()).into());
    }
    verdict_of(&run.catalog.problems)
}

/// Warnings do not fail a test; errors do.
fn verdict_of(problems: &[Diagnostic]) -> Result<Completion, Failed> {
    let errors: Vec<Diagnostic> = problems.iter().filter(|problem| problem.is_error()).cloned().collect();
    if errors.is_empty() { Ok(Completion::Completed) } else { Err(diagnostics::render(&errors, false).into()) }
}
