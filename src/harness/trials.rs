//! Turns cases into libtest-mimic trials.

use std::collections::HashSet;
use std::sync::Arc;

use libtest_mimic::{Completion, Failed, Trial};

use super::args::Front;
use super::context::TestContext;
use crate::cases::planned::Planned;
use crate::cases::repository::Repository;
use crate::grade::share::{Ended, needed};
use crate::harness::stubs;
use crate::lint;
use crate::report::paint::Paint;
use crate::report::{diagnostics, rate, table, trial as report};
use crate::results::summary::CaseCounts;
use crate::run::plan::{Entry, Plan};
use crate::run::scheduler;
use crate::run::shared::Run;
use crate::store;
use crate::text::diagnostic::{Diagnostic, Severity};
use crate::trial::outcome::{NoOutcome, Verdict};

/// All tests: these cases in their modes, and a lint for each skill and for the repository.
pub(super) fn all(context: &Arc<TestContext>, front: &Front, plan: Plan) -> Vec<Trial> {
    let mut trials = Trials { context, taken: HashSet::with_capacity(plan.entries.len()), list: Vec::new() };
    for (index, found) in context.run.catalog.skills.iter().enumerate() {
        trials.push(stubs::skill_lint(&found.skill().slug), false, move |context| skill_lint(context, index));
    }
    trials.push(stubs::REPOSITORY_LINT.to_owned(), false, repository_lint);

    let run = &context.run;
    // What is ignored has to be known before, where that is what is asked; else the trial says it, with the reason.
    let tell_ignored = (front.args.ignored || (context.nextest && !front.args.list)) && !context.is_broken();
    for entry in plan.entries {
        let name = entry.planned.test_name();
        // A name that the filter leaves out is not shown, and reading a whole case takes longer than finding it.
        let ignored = tell_ignored && front.wants(&name) && is_ignored(run, &entry.planned);
        trials.push(name, ignored, move |context| case_test(context, &entry));
    }
    trials.list
}

struct Trials<'a> {
    context: &'a Arc<TestContext>,
    taken: HashSet<String>,
    list: Vec<Trial>,
}

impl Trials<'_> {
    fn push(
        &mut self,
        mut name: String,
        ignored: bool,
        body: impl FnOnce(&TestContext) -> Result<Completion, Failed> + Send + 'static,
    ) {
        let context = Arc::clone(self.context);
        // Tools take two tests of one name for one.
        let mut first = None;
        while !self.taken.insert(name.clone()) {
            first.get_or_insert_with(|| name.clone());
            name.push_str("_again");
        }
        // Of a hundred thousand names few are wanted again.
        let timed = context.report_time.then(|| name.clone());
        let run = move || {
            context.test(timed.as_deref(), || {
                let Some(first) = first else { return body(&context) };
                let why = format!(
                    "the test name `{first}` is taken: `-`, `+`, `.` and `_` count as one; rename the skill, case or mode"
                );
                Err(Failed::from(why))
            })
        };
        self.list.push(Trial::ignorable_test(name, run).with_ignored_flag(ignored));
    }
}

/// Whether there is nothing to replay for a case that could be replayed. A broken case is not ignored: it fails.
fn is_ignored(run: &Run, planned: &Planned) -> bool {
    !run.settings.live
        && !run.settings.needs_recordings()
        && !store::is_recorded(&run.root, &planned.trial(1))
        && planned.found.case().is_ok()
}

fn case_test(context: &TestContext, entry: &Entry) -> Result<Completion, Failed> {
    let (run, planned) = (&context.run, &entry.planned);
    let mut ended = Ended::default();
    let (mut failed, mut problems) = (Vec::new(), Vec::new());
    for (number, result) in (1..).zip(scheduler::repeats(run, entry)) {
        match result {
            Ok(outcome) => {
                context.note(&planned.found, &outcome);
                ended.add(outcome.grade.verdict);
                if outcome.grade.verdict != Verdict::Pass {
                    failed.push(outcome);
                }
            }
            // Where ignored trials were asked for they are to run, and nextest would show an ignored one as passed.
            Err(NoOutcome::NotRecorded) if !context.ignored_too && !run.settings.needs_recordings() => {
                context.note_unrecorded();
                return Ok(Completion::ignored_with(report::NO_RECORDING));
            }
            Err(problem) => {
                let mut text = report::not_graded(&planned.trial(number), &problem, &run.door, context.paint);
                if matches!(problem, NoOutcome::NotRecorded) && run.settings.needs_recordings() {
                    text.push_str(report::RECORDINGS_REQUIRED);
                }
                problems.push(text);
            }
        }
    }
    let repetition = run.repetition(&planned.found);
    if problems.is_empty() && CaseCounts::of(ended, repetition).verdict() == Some(Verdict::Pass) {
        return Ok(Completion::Completed);
    }
    if ended.all() > 1 && problems.is_empty() {
        let (passed, all, must) = (ended.passed, ended.all(), needed(ended.all(), repetition.threshold));
        let case = CaseCounts::of(ended, repetition);
        let share = rate::of_case(&case).map(|share| format!(", {share}")).unwrap_or_default();
        let decided = table::decided(&case).map(|decided| format!("; {decided}")).unwrap_or_default();
        problems.push(format!("{passed} of {all} trials passed{share}; {must} must{decided}\n"));
    }
    problems.extend(report::graded(&run.root, &planned.found, &failed, context.paint));
    // A broken case breaks each of its repeats in the same way.
    problems.dedup();
    Err(problems.join("\n").into())
}

fn skill_lint(context: &TestContext, index: usize) -> Result<Completion, Failed> {
    let run = &context.run;
    let tree = Repository { root: run.root.clone() };
    let problems = lint::skill_trial(&run.catalog, &run.catalog.skills[index].skill().slug, &tree);
    verdict_of(context, problems)
}

fn repository_lint(context: &TestContext) -> Result<Completion, Failed> {
    let run = &context.run;
    if run.catalog.cases.is_empty() {
        return Err(format!("there are no skills and no cases in {}", run.root.display()).into());
    }
    if let Some(why) = context.unnamed_harness() {
        return Err(why.into());
    }
    let mut problems = run.catalog.problems.clone();
    let stale = run.settings.lint.judged(stubs::problems(&run.root, &run.catalog));
    if stale.iter().any(|stale| stale.severity == Severity::Warning) {
        // No trial is wrong for it, and who only runs the tests has to know.
        context.say(&diagnostics::render(&stale, Paint::Plain));
    }
    problems.extend(stale);
    problems.extend(run.settings.repetition.unknown_skills(&run.catalog.slugs()));
    verdict_of(context, problems)
}

/// Warnings do not fail a test; errors do.
fn verdict_of(context: &TestContext, problems: Vec<Diagnostic>) -> Result<Completion, Failed> {
    let mut problems = context.run.settings.lint.judged(problems);
    if !problems.iter().any(Diagnostic::is_error) {
        return Ok(Completion::Completed);
    }
    problems.retain(|problem| problem.severity != Severity::Warning);
    Err(diagnostics::render(&problems, context.paint).into())
}
