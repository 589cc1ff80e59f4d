//! Turns cases into libtest-mimic trials.

use std::collections::HashSet;
use std::sync::Arc;

use libtest_mimic::{Completion, Failed, Trial};

use super::context::TestContext;
use crate::cases::repository::Repository;
use crate::cases::test_case::TestCase;
use crate::lint;
use crate::report::paint::Paint;
use crate::report::{diagnostics, rate, table, trial_text as report};
use crate::results::share::needed;
use crate::results::summary::{CaseCounts, TrialCounts};
use crate::run::context::RunContext;
use crate::run::plan::{PlannedCase, RunPlan};
use crate::run::preflight;
use crate::run::scheduler;
use crate::run::stubs;
use crate::store;
use crate::text::diagnostic::{Diagnostic, Severity};
use crate::trial::outcome::{TrialError, Verdict};

pub(super) struct Test {
    pub name: String,
    /// Whether it is known to have nothing to run.
    pub ignored: bool,
    /// Its name before it was renamed, if an earlier test has that name.
    duplicate: Option<String>,
    body: TestBody,
}

enum TestBody {
    /// The lint of the skill with this index in the catalog.
    Skill(usize),
    Repository,
    Case(PlannedCase),
}

/// All tests: the planned cases in their modes, and a lint for each skill and for the repository.
pub(super) fn all(context: &TestContext, plan: RunPlan) -> Vec<Test> {
    let (run, parsed) = (&context.run, &context.parsed);
    let mut tests = Vec::with_capacity(run.catalog.skills.len() + plan.entries.len() + 1);
    for (index, found) in run.catalog.skills.iter().enumerate() {
        tests.push(Test::new(stubs::skill_lint(&found.skill().slug), false, TestBody::Skill(index)));
    }
    tests.push(Test::new(stubs::REPOSITORY_LINT.to_owned(), false, TestBody::Repository));
    // With --ignored, and for nextest, the list of tests says what is ignored; otherwise the test says it, with the reason.
    let lists_ignored =
        (parsed.args.ignored || (context.nextest && !parsed.args.list)) && context.setup_problem.is_none();
    for entry in plan.entries {
        let name = entry.planned.test_name();
        // Cases that the filter leaves out are not read: that takes longer than listing them.
        let ignored = lists_ignored && parsed.wants(&name) && is_ignored(run, &entry.planned);
        tests.push(Test::new(name, ignored, TestBody::Case(entry)));
    }
    rename_duplicates(&mut tests);
    tests
}

/// Renames tests that have the name of an earlier test: tools would mix them up.
fn rename_duplicates(tests: &mut [Test]) {
    let mut names = HashSet::with_capacity(tests.len());
    let mut duplicates = Vec::new();
    for (index, test) in tests.iter().enumerate() {
        if !names.insert(test.name.as_str()) {
            duplicates.push(index);
        }
    }
    if duplicates.is_empty() {
        return;
    }
    let mut names: HashSet<String> = names.into_iter().map(str::to_owned).collect();
    for index in duplicates {
        let mut name = format!("{}_again", tests[index].name);
        while !names.insert(name.clone()) {
            name.push_str("_again");
        }
        tests[index].duplicate = Some(std::mem::replace(&mut tests[index].name, name));
    }
}

impl Test {
    fn new(name: String, ignored: bool, body: TestBody) -> Self {
        Self { name, ignored, duplicate: None, body }
    }

    /// The test as libtest-mimic runs it.
    pub(super) fn trial(self, context: &Arc<TestContext>) -> Trial {
        let Self { name, ignored, duplicate, body } = self;
        let context = Arc::clone(context);
        let timed = context.parsed.report_time.then(|| name.clone());
        let run = move || {
            context.test(timed.as_deref(), || match (duplicate, body) {
                (Some(duplicate), _) => Err(Failed::from(format!(
                    "the test name `{duplicate}` is taken: `-`, `+`, `.` and `_` count as one; rename the skill, case or mode"
                ))),
                (None, TestBody::Skill(index)) => skill_lint(&context, index),
                (None, TestBody::Repository) => repository_lint(&context),
                (None, TestBody::Case(entry)) => case_test(&context, &entry),
            })
        };
        Trial::ignorable_test(name, run).with_ignored_flag(ignored)
    }
}

/// Whether a valid case has nothing to replay, or asks for what this program does not do. An invalid case is not ignored: it fails.
fn is_ignored(run: &RunContext, planned: &TestCase) -> bool {
    if !preflight::unsupported(run, &planned.found).is_empty() {
        return true;
    }
    !run.settings.live
        && !run.settings.needs_recordings()
        && store::is_recorded(&run.root, &planned.trial(1)).is_ok_and(|is_recorded| !is_recorded)
        && planned.found.case().is_ok()
}

fn case_test(context: &TestContext, entry: &PlannedCase) -> Result<Completion, Failed> {
    let (run, planned) = (&context.run, &entry.planned);
    let mut counts = TrialCounts::default();
    let (mut not_passed, mut problems) = (Vec::new(), Vec::new());
    for (number, result) in (1..).zip(scheduler::repeats(run, entry)) {
        match result {
            Ok(outcome) => {
                context.note(&planned.found, &outcome);
                counts.add_verdict(outcome.grade.verdict);
                if outcome.grade.verdict != Verdict::Pass {
                    not_passed.push(outcome);
                }
            }
            // With --ignored and --include-ignored it must fail, and nextest would show an ignored trial as passed.
            Err(TrialError::NotRecorded) if !context.ignored_too() && !run.settings.needs_recordings() => {
                context.note_unrecorded();
                return Ok(Completion::ignored_with(report::NO_RECORDING));
            }
            Err(TrialError::Unsupported(problems)) if !context.ignored_too() => {
                return Ok(Completion::ignored_with(report::unsupported(&problems)));
            }
            Err(problem) => {
                let mut text =
                    report::not_graded(&planned.trial(number), &problem, &run.rerun_command, context.paint());
                if matches!(problem, TrialError::NotRecorded) && run.settings.needs_recordings() {
                    text.push_str(report::RECORDINGS_REQUIRED);
                }
                problems.push(text);
            }
        }
    }
    let repetition = run.repetition(&planned.found);
    let case = CaseCounts::of(counts, repetition);
    if problems.is_empty() && case.verdict() == Some(Verdict::Pass) {
        return Ok(Completion::Completed);
    }
    if counts.ended() > 1 && problems.is_empty() {
        let (passed, all, must) = (counts.passed, counts.ended(), needed(counts.ended(), repetition.threshold));
        let share = rate::of_case(case.case_share()).map(|share| format!(", {share}")).unwrap_or_default();
        let decided = table::decided(&case).map(|decided| format!("; {decided}")).unwrap_or_default();
        problems.push(format!("{passed} of {all} trials passed{share}; {must} must{decided}\n"));
    }
    problems.extend(report::graded(&run.root, &planned.found, &not_passed, context.paint()));
    problems.extend(run.told_early_end().filter(|_| context.nextest).map(|why| format!("{why}\n")));
    // All repeats of an invalid case have the same problem.
    problems.dedup();
    Err(problems.join("\n").into())
}

fn skill_lint(context: &TestContext, index: usize) -> Result<Completion, Failed> {
    let run = &context.run;
    let repository = Repository::new(run.root.clone());
    let problems = lint::skill_trial(&run.catalog, &run.catalog.skills[index].skill().slug, &repository);
    verdict_of(context, problems)
}

fn repository_lint(context: &TestContext) -> Result<Completion, Failed> {
    let run = &context.run;
    if run.catalog.cases.is_empty() {
        return Err(format!("no skills and no cases found in {}", run.root.display()).into());
    }
    if let Some(why) = &context.unnamed {
        return Err(why.into());
    }
    let mut problems = run.catalog.problems.clone();
    let stale = run.settings.lint.judged(stubs::problems(&run.root, &run.catalog));
    if stale.iter().any(|stale| stale.severity == Severity::Warning) {
        // Warnings fail no test, so they are printed.
        context.say(&diagnostics::render(&stale, Paint::Plain));
    }
    problems.extend(stale);
    problems.extend(run.settings.repetition.unknown_skills(&run.catalog.slugs()));
    problems.extend(lint::unknown_plugins(&run.settings, &run.catalog));
    verdict_of(context, problems)
}

/// Fails if there are errors, not if there are only warnings.
fn verdict_of(context: &TestContext, problems: Vec<Diagnostic>) -> Result<Completion, Failed> {
    let mut problems = context.run.settings.lint.judged(problems);
    if !problems.iter().any(Diagnostic::is_error) {
        return Ok(Completion::Completed);
    }
    problems.retain(|problem| problem.severity != Severity::Warning);
    Err(diagnostics::render(&problems, context.paint()).into())
}
