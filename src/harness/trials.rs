//! Turns cases into libtest-mimic trials.

use std::collections::HashSet;
use std::sync::Arc;

use libtest_mimic::{Completion, Failed, Trial};

use super::args::ParsedArgs;
use super::context::TestContext;
use crate::cases::repository::Repository;
use crate::cases::test_case::TestCase;
use crate::grade::share::{TrialTally, needed};
use crate::harness::stubs;
use crate::lint;
use crate::report::paint::Paint;
use crate::report::{diagnostics, rate, table, trial as report};
use crate::results::summary::CaseCounts;
use crate::run::context::RunContext;
use crate::run::plan::{PlannedCase, RunPlan};
use crate::run::scheduler;
use crate::store;
use crate::text::diagnostic::{Diagnostic, Severity};
use crate::trial::outcome::{NoOutcome, Verdict};

/// A test that there is.
pub(super) struct Test {
    /// What tools call it.
    pub name: String,
    /// Whether it is known to have nothing to run.
    pub ignored: bool,
    /// The name that an earlier test has, where this is the second of it.
    taken: Option<String>,
    body: TestBody,
}

/// What a test looks at.
enum TestBody {
    /// The skill at this place in the catalog.
    Skill(usize),
    /// The repository as a whole.
    Repository,
    /// A case in a mode.
    Case(PlannedCase),
}

/// All tests: these cases in their modes, and a lint for each skill and for the repository.
pub(super) fn all(context: &TestContext, front: &ParsedArgs, plan: RunPlan) -> Vec<Test> {
    let run = &context.run;
    let skills = run.catalog.skills.iter().enumerate();
    let skills = skills.map(|(at, found)| (stubs::skill_lint(&found.skill().slug), false, TestBody::Skill(at)));
    let repository = (stubs::REPOSITORY_LINT.to_owned(), false, TestBody::Repository);
    // What is ignored has to be known before, where that is what is asked; else the trial says it, with the reason.
    let tell_ignored = (front.args.ignored || (context.nextest && !front.args.list)) && !context.is_broken();
    let cases = plan.entries.into_iter().map(|entry| {
        let name = entry.planned.test_name();
        // A name that the filter leaves out is not shown, and reading a whole case takes longer than finding it.
        let ignored = tell_ignored && front.wants(&name) && is_ignored(run, &entry.planned);
        (name, ignored, TestBody::Case(entry))
    });
    let tests = skills.chain([repository]).chain(cases);
    let mut tests: Vec<Test> = tests.map(|(name, ignored, body)| Test { name, ignored, taken: None, body }).collect();
    rename_repeated(&mut tests);
    tests
}

/// Gives tests of a name that an earlier one has names of their own: tools take two tests of one name for one.
fn rename_repeated(tests: &mut [Test]) {
    let mut names = HashSet::with_capacity(tests.len());
    let repeated = tests.iter().enumerate().filter(|(_, test)| !names.insert(test.name.as_str()));
    let repeated: Vec<usize> = repeated.map(|(at, _)| at).collect();
    // There are some in few repositories: names are only kept for them.
    let mut names: HashSet<String> = names.into_iter().filter(|_| !repeated.is_empty()).map(str::to_owned).collect();
    for at in repeated {
        let mut name = format!("{}_again", tests[at].name);
        while !names.insert(name.clone()) {
            name.push_str("_again");
        }
        tests[at].taken = Some(std::mem::replace(&mut tests[at].name, name));
    }
}

impl Test {
    /// The test as libtest-mimic runs it.
    pub(super) fn trial(self, context: &Arc<TestContext>) -> Trial {
        let Self { name, ignored, taken, body } = self;
        let context = Arc::clone(context);
        // Of a hundred thousand names few are wanted again.
        let timed = context.report_time.then(|| name.clone());
        let run = move || {
            context.test(timed.as_deref(), || match (taken, body) {
                (Some(taken), _) => Err(Failed::from(format!(
                    "the test name `{taken}` is taken: `-`, `+`, `.` and `_` count as one; rename the skill, case or mode"
                ))),
                (None, TestBody::Skill(index)) => skill_lint(&context, index),
                (None, TestBody::Repository) => repository_lint(&context),
                (None, TestBody::Case(entry)) => case_test(&context, &entry),
            })
        };
        Trial::ignorable_test(name, run).with_ignored_flag(ignored)
    }
}

/// Whether there is nothing to replay for a case that could be replayed. A broken case is not ignored: it fails.
fn is_ignored(run: &RunContext, planned: &TestCase) -> bool {
    !run.settings.live
        && !run.settings.needs_recordings()
        && !store::is_recorded(&run.root, &planned.trial(1))
        && planned.found.case().is_ok()
}

fn case_test(context: &TestContext, entry: &PlannedCase) -> Result<Completion, Failed> {
    let (run, planned) = (&context.run, &entry.planned);
    let mut ended = TrialTally::default();
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
        return Err(format!("no skills and no cases found in {}", run.root.display()).into());
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
