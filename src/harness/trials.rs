//! Turns cases into libtest-mimic trials.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::panic::{self, AssertUnwindSafe, Location, PanicHookInfo, catch_unwind, resume_unwind};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use libtest_mimic::{Arguments, Completion, Conclusion, Failed, FormatSetting, Trial};
use serde_json::{Map, Value, json};
use thiserror::Error;

use super::args::{self, EXIT_BAD_ARGUMENTS};
use super::context::TestContext;
use super::context::say;
use super::{Harness, HarnessPlan, own_rerun_command, planned};
use crate::cases::catalog::RustCase;
use crate::cases::repository::Repository;
use crate::cases::selection::TestCase;
use crate::report::paint::Paint;
use crate::report::trial_text::{self, RerunCommand};
use crate::report::{diagnostics, rate, table, trial_text as report};
use crate::results::share::needed;
use crate::results::summary::{CaseCounts, TrialCounts};
use crate::run::plan::{PlannedCase, RunPlan};
use crate::run::planned::{self, PlannedRun};
use crate::run::{preflight, scheduler, stubs};
use crate::store;
use crate::text::diagnostic::{Diagnostic, Severity, SourceLocation};
use crate::text::problem::Problem;
use crate::trial::event::{EventListener, RunEvent};
use crate::trial::id::TrialId;
use crate::trial::outcome::{Grade, TrialError, Verdict};

pub(super) struct Test {
    pub name: String,
    /// Why it is known to have nothing to run.
    pub ignored: Option<String>,
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
        tests.push(Test::new(stubs::skill_lint(&found.skill().slug), None, TestBody::Skill(index)));
    }
    tests.push(Test::new(stubs::REPOSITORY_LINT.to_owned(), None, TestBody::Repository));
    // With --ignored, as JSON and for nextest, the list of tests says what is ignored; otherwise the test says it, with the reason.
    let is_said = parsed.args.ignored || if parsed.args.list { parsed.json() } else { context.nextest };
    let lists_ignored = is_said && context.setup_problem.is_none();
    for entry in plan.entries {
        let name = entry.planned.test_name();
        // Cases that the filter leaves out are not read: that takes longer than listing them.
        let ignored = if lists_ignored && parsed.wants(&name) { why_ignored(run, &entry.planned) } else { None };
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
    fn new(name: String, ignored: Option<String>, body: TestBody) -> Self {
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
        Trial::ignorable_test(name, run).with_ignored_flag(ignored.is_some())
    }
}

/// Why a valid case is ignored: it has nothing to replay, or asks for what this program does not do. An invalid case fails.
fn why_ignored(run: &PlannedRun, planned: &TestCase) -> Option<String> {
    let unsupported = preflight::unsupported(run, &planned.found);
    if !unsupported.is_empty() {
        return Some(report::unsupported(&unsupported));
    }
    let is_ignored = !run.settings.live
        && !run.settings.needs_recordings()
        && store::is_recorded(&run.root, &planned.trial(1)).is_ok_and(|is_recorded| !is_recorded)
        && planned.found.case().is_ok();
    is_ignored.then(|| report::NO_RECORDING.to_owned())
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
    let until =
        planned.found.case().ok().filter(|_| case.verdict() == Some(Verdict::Fail)).and_then(planned::quarantine);
    // What is said next to the results has no colors.
    let paint = if until.is_some() { Paint::Plain } else { context.paint() };
    problems.extend(report::graded(&run.root, &planned.found, &not_passed, paint));
    problems.extend(run.early_end_message().filter(|_| context.nextest).map(|why| format!("{why}\n")));
    // All repeats of an invalid case have the same problem.
    problems.dedup();
    if let Some(until) = until {
        context.say(&problems.join("\n"));
        return Ok(Completion::ignored_with(format!(
            "in quarantine {until}: {} of {} trials passed",
            counts.passed,
            counts.ended()
        )));
    }
    Err(problems.join("\n").into())
}

fn skill_lint(context: &TestContext, index: usize) -> Result<Completion, Failed> {
    let run = &context.run;
    let (repository, slug) = (Repository::new(run.root.clone()), &run.catalog.skills[index].skill().slug);
    verdict_of(context, preflight::skill_problems(&repository, &run.settings, &run.catalog, slug))
}

fn repository_lint(context: &TestContext) -> Result<Completion, Failed> {
    let run = &context.run;
    if run.catalog.cases.is_empty() {
        return Err(format!("no skills and no cases found in {}", run.root.display()).into());
    }
    if let Some(why) = &context.unnamed {
        return Err(why.into());
    }
    let mut problems = preflight::repository_problems(&run.settings, &run.catalog);
    problems.extend(run.settings.repetition.unknown_skills(&run.catalog.slugs()));
    let stale = preflight::stub_problems(&run.root, &run.settings, &run.catalog);
    if stale.iter().any(|stale| stale.severity == Severity::Warning) {
        // Warnings fail no test, so they are printed.
        context.say(&diagnostics::render(&stale, Paint::Plain));
    }
    problems.extend(stale);
    verdict_of(context, problems)
}

/// Fails if there are errors, not if there are only warnings.
fn verdict_of(context: &TestContext, mut problems: Vec<Diagnostic>) -> Result<Completion, Failed> {
    if !problems.iter().any(Diagnostic::is_error) {
        return Ok(Completion::Completed);
    }
    problems.retain(|problem| problem.severity != Severity::Warning);
    Err(diagnostics::render(&problems, context.paint()).into())
}

// Results of trials as data.

/// The result of a trial.
#[derive(Clone, Debug)]
pub struct TrialResult {
    /// Which trial.
    pub id: TrialId,
    /// Its grade, or why it was not graded.
    pub grade: Result<Grade, String>,
}

impl TrialResult {
    /// Whether it was measured and passed.
    pub fn passed(&self) -> bool {
        self.grade.as_ref().is_ok_and(|grade| grade.verdict == Verdict::Pass)
    }
}

/// Why no trial was run.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct HarnessError(Problem);

impl<E: Into<Problem>> From<E> for HarnessError {
    fn from(why: E) -> Self {
        Self(why.into())
    }
}

/// Collects results as they come.
#[derive(Debug)]
struct ResultCollector {
    results: Arc<Mutex<Vec<TrialResult>>>,
    rerun_command: RerunCommand,
}

impl EventListener for ResultCollector {
    fn on_event(&mut self, event: &RunEvent) {
        let (id, grade) = match event {
            RunEvent::Finished { id, result, .. } => {
                let not_graded = |why: &TrialError| match why {
                    TrialError::NotRun(why) => why.to_string(),
                    _ => trial_text::not_graded(id, why, &self.rerun_command, Paint::Plain),
                };
                (id, result.as_ref().as_ref().map(|outcome| outcome.grade.clone()).map_err(not_graded))
            }
            RunEvent::Resumed { outcome, .. } => (&outcome.id, Ok(outcome.grade.clone())),
            _ => return,
        };
        self.results.lock().unwrap_or_else(PoisonError::into_inner).push(TrialResult { id: id.clone(), grade });
    }
}

impl Harness {
    /// Runs the trials whose names contain one of these filters, or all if there are none, and returns their results in the order
    /// in which they ended. They replay recordings; with `SKILL_EVALS_LIVE=1` the agents run. Prints nothing.
    ///
    /// ```no_run
    /// # fn main() -> Result<(), skill_evals::harness::HarnessError> {
    /// let results = skill_evals::harness::Harness::new().results(["greeting"])?;
    /// assert!(results.iter().all(|trial| trial.passed()), "{results:#?}");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the repository is not found, its settings are invalid, or no trial has such a name.
    pub fn results<'a>(mut self, filters: impl IntoIterator<Item = &'a str>) -> Result<Vec<TrialResult>, HarnessError> {
        let filters = filters.into_iter().map(str::to_owned);
        let parsed = match args::parse(filters, |name| std::env::var(name).ok())? {
            args::HarnessRequest::Trials(parsed) => parsed,
            args::HarnessRequest::Help => {
                return Err("`--help` is for a test that prints: `results` takes filters".into());
            }
        };
        self.rerun_command = own_rerun_command();
        let root = self.root.find()?;
        let HarnessPlan { run, setup_problem, .. } = planned(self, root, &parsed);
        if let Some(problem) = setup_problem {
            return Err(problem.into());
        }
        if run.plan.entries.is_empty() {
            return Err(format!("no trial in {} has such a name", run.root.display()).into());
        }
        let run = run.start();
        let results = Arc::<Mutex<Vec<TrialResult>>>::default();
        run.read_by(ResultCollector { results: Arc::clone(&results), rerun_command: run.rerun_command.clone() });
        scheduler::run(&run);
        if let Some(problem) = run.close().first() {
            return Err(problem.as_str().into());
        }
        let results = std::mem::take(&mut *results.lock().unwrap_or_else(PoisonError::into_inner));
        Ok(results)
    }
}

// Runs trials with libtest-mimic, which prints the results and panics if it cannot.

#[derive(Debug)]
pub(super) enum PrintError {
    /// The reader has ended, as in `-- --list | head`.
    Closed,
    Error(String),
}

impl PrintError {
    /// The exit code; `runs` is whether trials were to run.
    pub(super) fn exit_code(&self, runs: bool) -> ExitCode {
        match self {
            Self::Closed if !runs => return ExitCode::SUCCESS,
            Self::Closed => {}
            Self::Error(why) => say(&format!("error: the results cannot be printed: {why}")),
        }
        ExitCode::from(EXIT_BAD_ARGUMENTS)
    }
}

/// Prints these tests as libtest does, but buffered: a system call for each of a hundred thousand names would take longer than
/// finding them.
pub(super) fn list<'a>(arguments: &Arguments, tests: impl Iterator<Item = &'a Test>) -> Result<(), PrintError> {
    print_list(arguments, tests).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => PrintError::Closed,
        _ => PrintError::Error(error.to_string()),
    })
}

/// Writes a text of our own to standard output.
#[expect(clippy::disallowed_methods, reason = "nothing in it is from outside")]
pub(super) fn write_text(text: &str) -> io::Result<()> {
    io::stdout().lock().write_all(text.as_bytes())
}

#[expect(clippy::disallowed_methods, reason = "what runs tests reads it")]
fn print_list<'a>(arguments: &Arguments, tests: impl Iterator<Item = &'a Test>) -> io::Result<()> {
    let out: Box<dyn Write> = match &arguments.logfile {
        Some(path) => Box::new(File::create(path)?),
        None => Box::new(io::stdout().lock()),
    };
    let mut out = BufWriter::with_capacity(1 << 16, out);
    if !matches!(arguments.format, Some(FormatSetting::Json)) {
        for test in tests {
            out.write_all(test.name.as_bytes())?;
            out.write_all(b": test\n")?;
        }
        return out.flush();
    }
    writeln!(out, "{}", json!({ "type": "suite", "event": "discovery" }))?;
    let (mut total, mut ignored) = (0, 0);
    for Test { name, ignored: why, .. } in tests {
        (total, ignored) = (total + 1, ignored + usize::from(why.is_some()));
        let message = why.as_deref().unwrap_or_default();
        let event = json!({
            "type": "test", "event": "discovered", "name": name, "ignore": why.is_some(), "ignore_message": message
        });
        writeln!(out, "{event}")?;
    }
    let end = json!({
        "type": "suite", "event": "completed", "tests": total, "benchmarks": 0, "total": total, "ignored": ignored
    });
    writeln!(out, "{end}")?;
    out.flush()
}

pub(super) fn run_tests(arguments: &Arguments, trials: Vec<Trial>) -> Result<Conclusion, PrintError> {
    let print_error = Arc::<Mutex<Option<PrintError>>>::default();
    let (hook_error, default_hook) = (Arc::clone(&print_error), panic::take_hook());
    panic::set_hook(Box::new(move |panic| match print_error_of(panic) {
        Some(error) => *hook_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error),
        None => default_hook(panic),
    }));
    catch_unwind(AssertUnwindSafe(|| libtest_mimic::run(arguments, trials))).map_err(|panic| {
        let error = print_error.lock().unwrap_or_else(PoisonError::into_inner).take();
        error.unwrap_or_else(|| resume_unwind(panic))
    })
}

/// The error of libtest-mimic's printer, if the panic is about it.
fn print_error_of(panic: &PanicHookInfo<'_>) -> Option<PrintError> {
    let file = panic.location()?.file();
    let why = panic.payload().downcast_ref::<String>()?;
    if !(file.contains("libtest-mimic") && file.ends_with("printer.rs")) {
        return None;
    }
    // The text has the `Debug` form of an `io::Error`.
    let message = why.split_once("message: \"").and_then(|(_, rest)| rest.split('"').next());
    let message = message.unwrap_or(why).to_owned();
    Some(if why.contains("BrokenPipe") { PrintError::Closed } else { PrintError::Error(message) })
}

// Cases in Rust.

/// What a case asks and expects. Every field that a case file can have is one of [`set`](Self::set).
#[derive(Clone, Debug)]
pub struct CaseBuilder(RustCase);

impl CaseBuilder {
    pub(super) fn new(skill: String, id: String, place: &Location<'_>) -> Self {
        let place = SourceLocation {
            line: usize::try_from(place.line()).unwrap_or_default(),
            column: usize::try_from(place.column()).unwrap_or_default(),
            ..SourceLocation::file(place.file())
        };
        Self(RustCase { skill, id, place, fields: Map::new() })
    }

    pub(super) fn into_case(self) -> RustCase {
        self.0
    }

    /// Sets what the agent is asked.
    #[must_use]
    pub fn prompt(self, prompt: impl Into<String>) -> Self {
        self.set("prompt", prompt.into())
    }

    /// Sets whether the skill should be activated. By default, that is not checked.
    #[must_use]
    pub fn should_trigger(self, should_trigger: bool) -> Self {
        self.set("should_trigger", should_trigger)
    }

    /// Adds a regular expression that the final message must match.
    #[must_use]
    pub fn must_include(self, pattern: impl Into<String>) -> Self {
        self.push("must_include", pattern.into())
    }

    /// Adds a regular expression that the final message must not match.
    #[must_use]
    pub fn must_not_include(self, pattern: impl Into<String>) -> Self {
        self.push("must_not_include", pattern.into())
    }

    /// Adds a tag.
    #[must_use]
    pub fn tag(self, tag: impl Into<String>) -> Self {
        self.push("tags", tag.into())
    }

    /// Adds a file with this content to the workspace.
    #[must_use]
    pub fn file(self, path: impl Into<String>, content: impl Into<String>) -> Self {
        self.push("files", json!({ "path": path.into(), "content": content.into() }))
    }

    /// Sets a field by its column in `prompts.csv` or its key in a task file, to the value that a task file would have.
    #[must_use]
    pub fn set(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.0.fields.insert(field.to_owned(), value.into());
        self
    }

    fn push(mut self, field: &str, value: impl Into<Value>) -> Self {
        let values = self.0.fields.entry(field).or_insert_with(|| json!([]));
        match values {
            Value::Array(values) => values.push(value.into()),
            other => *other = json!([other.take(), value.into()]),
        }
        self
    }
}
