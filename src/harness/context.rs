//! What the trials of one harness process share.

use std::io::{self, IsTerminal, Write};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use libtest_mimic::{Completion, Failed};

use super::args::ParsedArgs;
use super::{CaseBuilder, Harness};
use crate::cases::case::FoundCase;
use crate::cases::catalog::Catalog;
use crate::cases::repository::{Repository, Scope};
use crate::report::paint::Paint;
use crate::report::progress::{self, ProgressBoard};
use crate::report::{diagnostics, trial_text as report};
use crate::run::custom_check::CustomChecks;
use crate::run::planned::PlannedRun;
use crate::run::started::StartedRun;
use crate::run::{preflight, record, stubs};
use crate::settings::{Settings, load};
use crate::text::escape;
use crate::text::name::RelativePath;
use crate::trial::event::{EventListener, RunEvent};
use crate::trial::outcome::{Outcome, Verdict};

/// What the trials of one process share.
#[derive(Debug)]
pub(super) struct TestContext {
    pub run: StartedRun,
    pub parsed: ParsedArgs,
    /// A problem of the setup; it fails every trial.
    pub setup_problem: Option<String>,
    /// The problem that other programs would grade without the checks of this harness.
    pub unnamed: Option<String>,
    /// Whether nextest runs this process for one trial.
    pub nextest: bool,
    pub tally: ProcessTally,
}

/// What a process counts while its trials run.
#[derive(Debug, Default)]
pub(super) struct ProcessTally {
    failed: AtomicBool,
    /// Replayed trials of mock models.
    scripted: AtomicUsize,
    unrecorded: AtomicUsize,
    watch: OnceLock<Watch>,
}

impl TestContext {
    /// Whether ignored trials run, too: they cannot be ignored again.
    pub fn ignored_too(&self) -> bool {
        self.nextest || self.parsed.args.ignored || self.parsed.args.include_ignored
    }

    /// Whether a program reads the output: nextest shows progress by itself, and JSON must not be mixed with messages.
    pub fn silent(&self) -> bool {
        self.nextest || self.parsed.json()
    }

    /// The colors of failures. libtest-mimic removes them if no colors are wanted.
    pub fn paint(&self) -> Paint {
        if self.silent() { Paint::Plain } else { Paint::Color }
    }

    pub fn watch(&self, watch: Watch) {
        self.run.read_by(watch.listener());
        let _ = self.tally.watch.set(watch);
    }

    /// Runs the body of a test as the arguments say, and prints its time if its name is given.
    pub fn test(
        &self,
        name: Option<&str>,
        body: impl FnOnce() -> Result<Completion, Failed>,
    ) -> Result<Completion, Failed> {
        if self.parsed.fail_fast && self.tally.failed.load(Ordering::SeqCst) {
            return Ok(Completion::ignored_with("not run: --fail-fast, and a trial failed before"));
        }
        let started = Instant::now();
        let result = match &self.setup_problem {
            Some(problem) => Err(Failed::from(problem)),
            None => catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
                self.tally.failed.store(true, Ordering::SeqCst);
                resume_unwind(panic)
            }),
        };
        if let Some(name) = name {
            self.say(&format!("{name}: {:.3} s", started.elapsed().as_secs_f64()));
        }
        if let Err(failed) = &result {
            self.tally.failed.store(true, Ordering::SeqCst);
            if self.nextest {
                // nextest puts this message into JUnit.
                say(&format!("Error: {}", failed.message().unwrap_or("failed")));
            }
        }
        result
    }

    /// Counts or shows a trial that has an outcome.
    pub fn note(&self, found: &FoundCase, outcome: &Outcome) {
        if outcome.scripted.is_some() && !self.run.settings.live {
            self.tally.scripted.fetch_add(1, Ordering::Relaxed);
        }
        if self.parsed.show_output && !self.parsed.json() && outcome.grade.verdict == Verdict::Pass {
            self.say(&report::graded(&self.run.root, found, [outcome], Paint::Plain).concat());
        }
    }

    pub fn note_unrecorded(&self) {
        self.tally.unrecorded.fetch_add(1, Ordering::Relaxed);
    }

    /// Prints a message between the results.
    pub fn say(&self, text: &str) {
        if let Some(watch) = self.tally.watch.get() {
            watch.clear();
        }
        say(text.trim_end());
    }

    /// Ends the run, and prints messages about all trials.
    pub fn close(&self) {
        if let Some(watch) = self.tally.watch.get() {
            watch.end();
        }
        let live = self.run.opened();
        if let Some(note) = live.and_then(|live| live.scratch.note()) {
            say(&format!("skill-evals: warning: {note}"));
        }
        // nextest has a process for each trial.
        let ignored = live.filter(|_| !self.nextest).and_then(|_| preflight::copied_by(&self.run));
        if let Some(problem) = ignored {
            say(&format!("skill-evals: warning: {}", problem.message));
        }
        for (id, changed) in live.iter().flat_map(|live| &live.kept_although_changed) {
            say(&format!("skill-evals: {id}: kept an outdated result; changed: {}", changed.join(", ")));
        }
        for left in live.iter().flat_map(|live| live.scratch.left()) {
            say(&format!("skill-evals: {left}"));
        }
        let problems = self.run.close();
        // In a process of its own, the trial's error says it.
        if let Some(why) = self.run.early_end_message().filter(|_| !self.nextest) {
            say(&format!("skill-evals: {why}"));
        }
        for problem in problems {
            say(&format!("skill-evals: warning: {problem}; the trials' own directories are complete"));
        }
        if self.run.settings.record && live.is_some() {
            match record::record(&self.run, &self.run.plan, record::FailedTrials::Keep) {
                Ok(recorded) => recorded.iter().for_each(|recorded| say(&format!("skill-evals: {recorded}"))),
                Err(error) => say(&format!("skill-evals: error: not recorded: {error}")),
            }
        }
        let scripted = self.tally.scripted.load(Ordering::Relaxed);
        if scripted > 0 && !self.silent() {
            say(&progress::scripted(scripted));
        }
        let unrecorded = self.tally.unrecorded.load(Ordering::Relaxed);
        if unrecorded > 0 && !self.silent() {
            let cases = diagnostics::counted(unrecorded, "case");
            say(&format!(
                "skill-evals: not run: {cases} without a recording; SKILL_EVALS_REQUIRE_RECORDINGS=1 makes that a failure"
            ));
        }
    }
}

// What is wrong with a harness itself. Every trial fails for it, whichever program asks.

/// The problems of a harness, including checks that are about no case, if the whole `catalog` is known.
pub(super) fn problems(harness: &Harness, settings: &Settings, catalog: Option<&Catalog>) -> Vec<String> {
    let mut problems: Vec<String> = unknown_agent(&harness.agents, settings).into_iter().collect();
    problems.extend(harness.custom_checks.check_names().err().map(|why| why.to_string()));
    problems.extend(catalog.into_iter().flat_map(|catalog| harness.custom_checks.without_effect(catalog)));
    problems
}

/// The same of the repository at `root`. Its settings have problems of their own, which others report.
pub(super) fn problems_at(harness: &Harness, root: &Path) -> Vec<String> {
    let Ok(mut settings) = load::read(root, harness.trust()) else { return Vec::new() };
    if let Ok(Some(roots)) = harness.skill_roots() {
        settings.skill_roots = Some(roots);
    }
    let repository = Repository::new(root);
    let mut catalog = repository.catalog(preflight::layout(&settings), Scope::All);
    catalog.add_rust_cases(root, harness.cases.iter().cloned().map(CaseBuilder::into_case));
    problems(harness, &settings, Some(&catalog))
}

/// Why one of these agents is none that a harness reads, in words.
fn unknown_agent(agents: &[String], settings: &Settings) -> Option<String> {
    let is_read =
        |name: &String| settings.custom_agents().any(|agent| agent.as_str() == name && agent.is_read_in_rust());
    let name = agents.iter().find(|name| !is_read(name))?;
    Some(format!(
        "the harness reads the agent `{name}`, which evals/evals.toml does not describe; add [agents.{name}] with \
         `protocol = \"rust\"`: see docs/rust.md"
    ))
}

/// The checks of this harness, run by a process of their own.
pub(super) fn in_own_process(checks: CustomChecks, root: &Path, problem: &mut Option<String>) -> CustomChecks {
    checks.in_own_process(root).unwrap_or_else(|error| {
        problem.get_or_insert_with(|| format!("this harness cannot be started once more to run its checks: {error}"));
        CustomChecks::default()
    })
}

/// The problem that other programs would grade without the checks of this harness, the test of this name that cargo runs.
pub(super) fn unnamed(run: &PlannedRun, test: &str) -> Option<String> {
    run.custom_checks.names().next()?;
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from)?;
    let (package, root) = (package.canonicalize().ok()?, run.root.canonicalize().ok()?);
    let package = package.strip_prefix(root).ok()?;
    let line = stubs::line(package, test);
    let others = "`skill-evals run`, `grade` and `compare` would reach other verdicts";
    let Some(named) = run.settings.harness.as_ref().map(RelativePath::as_path) else {
        return Some(format!(
            "this harness adds checks, and evals/evals.toml does not name it: {others}\nadd to evals/evals.toml: {line}"
        ));
    };
    (!is_named(named, package, test)).then(|| {
        format!(
            "this harness adds checks, and evals/evals.toml names another one, `{}`: {others}\nadd all checks to one harness, and name \
             that: {line}",
            named.display()
        )
    })
}

/// Whether the settings name this test of the crate in `package`, or its name in the workspace around the crate.
fn is_named(named: &Path, package: &Path, test: &str) -> bool {
    // Cargo writes `-` as `_` in the names of programs.
    let plain = |name: &str| name.replace('-', "_");
    let is_test = named.file_name().is_some_and(|name| plain(&name.to_string_lossy()) == plain(test));
    is_test && package.starts_with(named.parent().unwrap_or(Path::new("")))
}

// Shows on standard error what runs, while libtest-mimic has nothing to print yet.

/// How often a terminal is redrawn.
const REDRAW: Duration = Duration::from_millis(250);

/// Nothing is drawn at first, because replays take no time.
const DELAY: Duration = Duration::from_secs(1);

/// Who reads standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Audience {
    /// Nothing is shown to a program.
    Nobody,
    /// A file or a pipe gets a line from time to time.
    Reader,
    Terminal,
}

impl Audience {
    #[expect(clippy::disallowed_methods, reason = "nothing is printed")]
    pub(super) fn of_stderr() -> Self {
        if io::stderr().is_terminal() { Self::Terminal } else { Self::Reader }
    }
}

/// Watches a run until it is dropped.
#[derive(Debug)]
pub(super) struct Watch {
    shared: Arc<WatchState>,
    ticker: Option<thread::JoinHandle<()>>,
}

#[derive(Debug)]
pub(super) struct WatchState {
    screen: Mutex<Screen>,
    ended: Condvar,
    audience: Audience,
    start: Instant,
}

/// Hands a run's events to its watch.
#[derive(Debug)]
pub(super) struct WatchListener(Arc<WatchState>);

#[derive(Debug)]
struct Screen {
    board: ProgressBoard,
    /// Nothing is drawn before: libtest-mimic may print a result.
    not_before: Duration,
    ended: bool,
}

impl Watch {
    /// A watch over `total` trials, `jobs` at once.
    pub(super) fn new(audience: Audience, total: usize, jobs: usize) -> Self {
        let screen = Screen { board: ProgressBoard::new(total, jobs), not_before: DELAY, ended: false };
        let (screen, ended, start) = (Mutex::new(screen), Condvar::new(), Instant::now());
        let shared = Arc::new(WatchState { screen, ended, audience, start });
        let ticker = (audience != Audience::Nobody).then(|| {
            let shared = Arc::clone(&shared);
            // Without the thread nothing is shown, but nothing else is lost.
            thread::Builder::new().name("progress".to_owned()).spawn(move || shared.tick()).ok()
        });
        Self { shared, ticker: ticker.flatten() }
    }

    pub(super) fn listener(&self) -> WatchListener {
        WatchListener(Arc::clone(&self.shared))
    }

    /// Erases what is drawn, so that something else can be printed.
    pub(super) fn clear(&self) {
        let now = self.shared.start.elapsed();
        self.shared.screen().make_room(now);
    }

    /// Erases what is drawn, and draws no more.
    pub(super) fn end(&self) {
        let mut screen = self.shared.screen();
        screen.ended = true;
        screen.erase();
        self.shared.ended.notify_all();
    }
}

impl EventListener for WatchListener {
    fn on_event(&mut self, event: &RunEvent) {
        let Self(watch) = self;
        let now = watch.start.elapsed();
        let mut screen = watch.screen();
        let news = screen.board.on_event(event, now);
        if matches!(event, RunEvent::Finished { .. } | RunEvent::Resumed { .. }) {
            // libtest-mimic prints the result next, which must not be among the drawn lines.
            screen.make_room(now);
        }
        if let (Audience::Reader, Some(line)) = (watch.audience, news) {
            say(&line);
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.end();
        if let Some(ticker) = self.ticker.take() {
            let _ = ticker.join();
        }
    }
}

impl WatchState {
    fn screen(&self) -> MutexGuard<'_, Screen> {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self) {
        let mut screen = self.screen();
        while !screen.ended {
            screen = self.ended.wait_timeout(screen, REDRAW).unwrap_or_else(PoisonError::into_inner).0;
            let now = self.start.elapsed();
            match self.audience {
                Audience::Terminal if !screen.ended && now >= screen.not_before => write(&screen.board.redrawn(now)),
                Audience::Reader => screen.board.due(now).iter().for_each(|line| say(line)),
                _ => {}
            }
        }
    }
}

impl Screen {
    /// Erases what is drawn, and draws nothing for a moment.
    fn make_room(&mut self, now: Duration) {
        self.erase();
        self.not_before = self.not_before.max(now + REDRAW);
    }

    fn erase(&mut self) {
        write(&self.board.erased());
    }
}

/// Prints a line on standard error.
pub(super) fn say(line: &str) {
    write(&format!("{}\n", escape::block(line)));
}

/// If standard error is closed, the text is lost.
#[expect(clippy::disallowed_methods, reason = "lines are made safe before")]
fn write(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::{Check, Finding};

    fn check(name: &str) -> Check {
        Check::new(name, |_| Ok(Finding::NotAsked))
    }

    #[test]
    fn every_program_is_told_of_a_check_about_a_skill_that_is_not_here_and_of_two_checks_with_one_name() {
        let root = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(root.path().join("skills/greeting")).expect("a directory");
        let skill = "---\nname: greeting\ndescription: Greets.\n---\nSay hello.\n";
        std::fs::write(root.path().join("skills/greeting/SKILL.md"), skill).expect("a file");
        let harness = || Harness::new().check(check("one").skill("greeting").case("in-rust"));
        let harness = || harness().case("greeting", "in-rust", |case| case.prompt("Hi"));
        assert_eq!(problems_at(&harness(), root.path()), [""; 0]);
        let problems =
            problems_at(&harness().check(check("one").skill("greting")).agent("mine", |_| Ok(vec![])), root.path());
        assert_eq!(problems.len(), 3, "{problems:#?}");
        assert!(problems[0].contains("the harness reads the agent `mine`"), "{problems:#?}");
        assert!(problems[1].contains("two checks have the name `one`"), "{problems:#?}");
        assert!(
            problems[2].contains("the skill `greting`, which is not here; did you mean `greeting`?"),
            "{problems:#?}"
        );
    }

    #[test]
    fn a_root_that_is_not_a_directory_is_refused() {
        let why = Harness::new().root("nowhere").root.find().expect_err("no directory").to_string();
        assert!(
            why.starts_with("the harness's root is ") && why.ends_with("nowhere, which is not a directory"),
            "{why}"
        );
    }

    #[test]
    fn settings_that_name_another_harness_are_a_problem_of_this_one() {
        let named = |line: &str, package: &str| is_named(Path::new(line), Path::new(package), "skill_evals");
        assert!(named("skill_evals", "") && named("evals/skill-evals", "evals") && named("skill_evals", "member"));
        assert!(!named("one/skill_evals", "two") && !named("other", ""));
    }
}
