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
use crate::report::{diagnostics, progress, trial_text as report};
use crate::run::context::RunContext;
use crate::run::{ignored, record};
use crate::trial::outcome::{Outcome, Verdict};

/// What the trials of one process share.
#[derive(Debug)]
pub(super) struct TestContext {
    pub run: RunContext,
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
        let ignored = live.filter(|_| !self.nextest).and_then(|_| ignored::copied_by(&self.run));
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
        if let Some(why) = self.run.told_early_end().filter(|_| !self.nextest) {
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
