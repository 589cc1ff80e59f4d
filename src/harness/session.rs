//! What the trials of one harness process share.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use libtest_mimic::{Completion, Failed};

use super::args::Front;
use super::watch::{Watch, say};
use crate::cases::case::Found;
use crate::cases::catalog::Catalog;
use crate::report::{progress, trial as report};
use crate::run::shared::Run;
use crate::trial::outcome::Outcome;

/// What the trials of one process share.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "options as the command line has them")]
pub(super) struct Session {
    pub(super) run: Run,
    /// What is wrong with the setup, and so fails every trial.
    setup_problem: Option<String>,
    /// Whether nextest runs us: one process for each trial.
    pub(super) nextest: bool,
    /// Whether ignored trials were asked for, so that being ignored again is no answer.
    pub(super) ignored_too: bool,
    fail_fast: bool,
    report_time: bool,
    show_output: bool,
    failed: AtomicBool,
    scripted: AtomicUsize,
    watch: OnceLock<Watch>,
}

impl Session {
    pub(super) fn new(run: Run, setup_problem: Option<String>, nextest: bool, front: &Front) -> Self {
        Self {
            run,
            setup_problem,
            nextest,
            ignored_too: nextest || front.args.ignored || front.args.include_ignored,
            fail_fast: front.fail_fast,
            report_time: front.report_time,
            show_output: front.show_output && !front.json(),
            failed: AtomicBool::new(false),
            scripted: AtomicUsize::new(0),
            watch: OnceLock::new(),
        }
    }

    /// Shows from now on what runs.
    pub(super) fn watch(&self, watch: Watch) {
        let _ = self.watch.set(watch);
    }

    /// Whether trials fail for the setup's sake, whatever they are.
    pub(super) fn is_broken(&self) -> bool {
        self.setup_problem.is_some()
    }

    /// Shows to `show` whoever looks on, if anybody does.
    pub(super) fn on_watch(&self, show: impl FnOnce(&Watch)) {
        if let Some(watch) = self.watch.get() {
            show(watch);
        }
    }

    /// Runs the body of a test as the arguments say.
    pub(super) fn test(
        &self,
        name: &str,
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
        if self.report_time {
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
    pub(super) fn note(&self, found: &Found, outcome: &Outcome) {
        if outcome.scripted.is_some() && !self.run.settings.live {
            self.scripted.fetch_add(1, Ordering::Relaxed);
        }
        if self.show_output && outcome.grade.verdict == crate::trial::outcome::Verdict::Pass {
            self.say(&report::graded(&self.run.root, found, outcome));
        }
    }

    fn say(&self, text: &str) {
        self.on_watch(Watch::clear);
        say(text.trim_end());
    }

    /// Ends the watch, and says what all trials together have to say.
    pub(super) fn close(&self, silent: bool) {
        self.on_watch(Watch::end);
        let scripted = self.scripted.load(Ordering::Relaxed);
        if scripted > 0 && !silent {
            say(&progress::scripted(scripted));
        }
    }
}

/// Where these cases of the catalog stand in it.
pub(super) fn positions(catalog: &Catalog, cases: &[&Found]) -> Vec<usize> {
    if cases.len() == catalog.cases.len() {
        return (0..cases.len()).collect();
    }
    let mut wanted = cases.iter().map(|found| std::ptr::from_ref(*found)).peekable();
    let of = |(index, found): (usize, &Found)| wanted.next_if(|next| std::ptr::eq(*next, found)).map(|_| index);
    catalog.cases.iter().enumerate().filter_map(of).collect()
}
