//! What the trials of one harness process share.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use libtest_mimic::{Completion, Failed};

use super::args::ParsedArgs;
use super::watch::{Watch, say};
use crate::cases::case::FoundCase;
use crate::report::paint::Paint;
use crate::report::{diagnostics, progress, trial as report};
use crate::run::context::RunContext;
use crate::run::promote;
use crate::trial::outcome::Outcome;

/// What the trials of one process share.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "options as the command line has them")]
pub(super) struct TestContext {
    pub(super) run: RunContext,
    /// What is wrong with the setup; it fails every trial.
    setup_problem: Option<String>,
    /// The line that evals.toml lacks to name this harness, which adds checks.
    unnamed: Option<String>,
    /// Whether nextest runs us: one process for each trial.
    pub(super) nextest: bool,
    /// Whether ignored trials were asked for, so that being ignored again is no answer.
    pub(super) ignored_too: bool,
    /// How failures are painted. Where no colours are wanted libtest-mimic takes them out again; what programs read has none.
    pub(super) paint: Paint,
    fail_fast: bool,
    pub(super) report_time: bool,
    show_output: bool,
    failed: AtomicBool,
    scripted: AtomicUsize,
    unrecorded: AtomicUsize,
    watch: OnceLock<Watch>,
}

impl TestContext {
    pub(super) fn new(
        run: RunContext,
        setup_problem: Option<String>,
        unnamed: Option<String>,
        nextest: bool,
        front: &ParsedArgs,
    ) -> Self {
        Self {
            run,
            setup_problem,
            unnamed,
            nextest,
            ignored_too: nextest || front.args.ignored || front.args.include_ignored,
            paint: if nextest || front.json() { Paint::Plain } else { Paint::Color },
            fail_fast: front.fail_fast,
            report_time: front.report_time,
            show_output: front.show_output && !front.json(),
            failed: AtomicBool::new(false),
            scripted: AtomicUsize::new(0),
            unrecorded: AtomicUsize::new(0),
            watch: OnceLock::new(),
        }
    }

    /// Why other programs would grade without the checks of this harness, if they would.
    pub(super) fn unnamed_harness(&self) -> Option<String> {
        let line = self.unnamed.as_ref()?;
        Some(format!(
            "this harness adds checks, and evals/evals.toml does not name it: `skill-evals run`, `grade` and `compare` would reach \
             other verdicts\nadd to evals/evals.toml: {line}"
        ))
    }

    /// Shows from now on what runs.
    pub(super) fn watch(&self, watch: Watch) {
        self.run.read_by(watch.reader());
        let _ = self.watch.set(watch);
    }

    /// Whether a wrong setup fails every trial.
    pub(super) fn is_broken(&self) -> bool {
        self.setup_problem.is_some()
    }

    /// Changes what is shown, where anything is.
    fn on_watch(&self, show: impl FnOnce(&Watch)) {
        if let Some(watch) = self.watch.get() {
            show(watch);
        }
    }

    /// Runs the body of a test as the arguments say; its time is told where the test is named.
    pub(super) fn test(
        &self,
        timed: Option<&str>,
        body: impl FnOnce() -> Result<Completion, Failed>,
    ) -> Result<Completion, Failed> {
        if self.fail_fast && self.failed.load(Ordering::SeqCst) {
            return Ok(Completion::ignored_with("not run: --fail-fast, and a trial failed before"));
        }
        let started = Instant::now();
        let result = match &self.setup_problem {
            Some(problem) => Err(Failed::from(problem)),
            None => catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
                self.failed.store(true, Ordering::SeqCst);
                resume_unwind(panic)
            }),
        };
        if let Some(name) = timed {
            self.say(&format!("{name}: {:.3} s", started.elapsed().as_secs_f64()));
        }
        if let Err(failed) = &result {
            self.failed.store(true, Ordering::SeqCst);
            if self.nextest {
                // Where nextest finds the message that it puts into JUnit.
                say(&format!("Error: {}", failed.message().unwrap_or("failed")));
            }
        }
        result
    }

    /// Takes note of a trial that has an outcome.
    pub(super) fn note(&self, found: &FoundCase, outcome: &Outcome) {
        if outcome.scripted.is_some() && !self.run.settings.live {
            self.scripted.fetch_add(1, Ordering::Relaxed);
        }
        if self.show_output && outcome.grade.verdict == crate::trial::outcome::Verdict::Pass {
            self.say(&report::graded(&self.run.root, found, [outcome], Paint::Plain).concat());
        }
    }

    /// Takes note of a case that is not run for want of a recording.
    pub(super) fn note_unrecorded(&self) {
        self.unrecorded.fetch_add(1, Ordering::Relaxed);
    }

    /// Makes what the run measured the recordings.
    fn record(&self) {
        match promote::record(&self.run, &self.run.plan, promote::FailedTrials::Keep) {
            Ok(recorded) => recorded.iter().for_each(|recorded| say(&format!("skill-evals: {recorded}"))),
            Err(error) => say(&format!("skill-evals: error: not recorded: {error}")),
        }
    }

    /// Prints what people should know beside the results.
    pub(super) fn say(&self, text: &str) {
        self.on_watch(Watch::clear);
        say(text.trim_end());
    }

    /// Ends the run, and prints what concerns all trials together.
    pub(super) fn close(&self, silent: bool) {
        self.on_watch(Watch::end);
        let live = self.run.opened();
        for (id, changed) in live.iter().flat_map(|live| &live.kept_although_changed) {
            say(&format!("skill-evals: {id}: kept although changed since: {}", changed.join(", ")));
        }
        let kept = self.run.close();
        if let Some(why) = self.run.told_not_stored() {
            say(&format!("skill-evals: {why}"));
        }
        if let Err(error) = kept {
            say(&format!("skill-evals: warning: {error}; the trials' own directories are complete"));
        }
        if let Some(trouble) = self.run.ledger_trouble() {
            say(&format!("skill-evals: warning: {trouble}; the trials' own directories are complete"));
        }
        if self.run.settings.record && live.is_some() {
            self.record();
        }
        let scripted = self.scripted.load(Ordering::Relaxed);
        if scripted > 0 && !silent {
            say(&progress::scripted(scripted));
        }
        let unrecorded = self.unrecorded.load(Ordering::Relaxed);
        if unrecorded > 0 && !silent {
            let cases = diagnostics::counted(unrecorded, "case");
            say(&format!(
                "skill-evals: not run: {cases}, for want of a recording; SKILL_EVALS_REQUIRE_RECORDINGS=1 makes that a failure"
            ));
        }
    }
}
