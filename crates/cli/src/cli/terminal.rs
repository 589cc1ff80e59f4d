//! Shows an active run: results on standard output, and the running trials on standard error if that is a terminal.

use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::cases::case::FoundCase;
use crate::cli::output::paint;
use crate::cli::output::{Stream, draw, stderr, text_stdout};
use crate::report::paint::Paint;
use crate::report::progress::ProgressBoard;
use crate::report::trial_text as report;
use crate::report::trial_text::RerunCommand;
use crate::run::started::StartedRun;
use crate::settings::machine::Machine;
use crate::text::diagnostic::Diagnostic;
use crate::text::escape;
use crate::trial::event::{EventListener, RunEvent};
use crate::trial::id::{CaseInMode, TrialId};
use crate::trial::outcome::{Outcome, TrialError, Verdict};

/// How often the running trials are drawn again.
const REDRAW_INTERVAL: Duration = Duration::from_millis(200);

#[derive(Clone, Copy, PartialEq, Eq)]
enum TrialDetail {
    /// The trials that did not pass, with their findings.
    NotPassed,
    /// All trials.
    All,
    /// All trials, a failure in one line: for readers of a comparison.
    OneLine,
}

/// Reads a run's events and prints them.
pub struct Terminal {
    root: PathBuf,
    rerun_command: RerunCommand,
    found: HashMap<CaseInMode, Arc<FoundCase>>,
    /// How many trials of each case have not ended. Empty for a comparison, which may have any number of them.
    remaining: HashMap<CaseInMode, u32>,
    /// Trials that did not pass, until all repeats have ended: equal failures are printed together.
    pending: HashMap<CaseInMode, Vec<Outcome>>,
    /// What was printed of trials without an outcome, and why other trials could not be measured.
    printed: HashSet<String>,
    /// How many recordings are stale, and how many cases have none.
    stale: usize,
    unrecorded: usize,
    /// Whether results are printed.
    prints: bool,
    detail: TrialDetail,
    draws: bool,
    paint: Paint,
    board: ProgressBoard,
    start: Instant,
    drawn_at: Option<Duration>,
}

impl Terminal {
    /// For a run of `total` trials.
    pub fn new(run: &StartedRun, total: usize, prints: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let (mut found, mut remaining) = (HashMap::new(), HashMap::new());
        for entry in &run.plan.entries {
            let key = entry.planned.case_in_mode();
            found.insert(key.clone(), Arc::clone(&entry.planned.found));
            remaining.insert(key, entry.repeats);
        }
        Self {
            root: run.root.clone(),
            rerun_command: run.rerun_command.clone(),
            found,
            remaining,
            pending: HashMap::new(),
            printed: HashSet::new(),
            stale: 0,
            unrecorded: 0,
            prints,
            detail: TrialDetail::NotPassed,
            draws: prints && Stream::Errors.is_terminal() && !dumb,
            paint: paint(Stream::Output),
            board: ProgressBoard::new(total, run.settings.jobs()),
            start: Instant::now(),
            drawn_at: None,
        }
    }

    /// Prints trials that passed too, if `verbose`.
    pub fn with_passed(self, verbose: bool) -> Self {
        Self { detail: if verbose { TrialDetail::All } else { TrialDetail::NotPassed }, ..self }
    }

    /// Prints one line for each trial, whatever its verdict.
    pub fn in_brief(self) -> Self {
        Self { detail: TrialDetail::OneLine, remaining: HashMap::new(), ..self }
    }

    /// For a run of at most that many trials.
    pub fn up_to(self) -> Self {
        Self { board: self.board.may_end_early(), ..self }
    }

    /// Prints what happens in the run while `work` is done.
    pub fn over<T>(self, run: &StartedRun, work: impl FnOnce() -> T) -> T {
        let mut terminal = self;
        terminal.tell_jobs(run);
        let terminal = Arc::new(Mutex::new(terminal));
        run.read_by(Arc::clone(&terminal));
        let done = work();
        terminal.lock().unwrap_or_else(PoisonError::into_inner).end();
        done
    }

    /// Says how many agents run at once, and why so many if nobody chose that.
    fn tell_jobs(&mut self, run: &StartedRun) {
        let (settings, trials) = (&run.settings, self.board.total());
        if settings.live && settings.jobs.is_none() && trials > 1 {
            let jobs = settings.jobs().min(trials);
            self.note(&format!("{}, {jobs} at once ({})", self.board.total_in_words(), Machine::at_start()));
        }
    }

    fn finished(&mut self, id: &TrialId, result: &Result<Outcome, TrialError>) {
        let brief = self.detail == TrialDetail::OneLine;
        match result {
            Ok(outcome) if outcome.grade.verdict == Verdict::Pass => {
                if self.detail != TrialDetail::NotPassed {
                    self.print(&report::passed(outcome, self.paint));
                }
            }
            Ok(outcome) if brief && outcome.grade.verdict == Verdict::Fail => {
                self.print(&report::failed(outcome, self.paint));
            }
            Ok(outcome) => self.pending.entry(CaseInMode::of(id)).or_default().push(outcome.clone()),
            Err(problem) => {
                let is_first = match problem {
                    TrialError::Stale { .. } => counts_first(&mut self.stale),
                    TrialError::NotRecorded => counts_first(&mut self.unrecorded),
                    TrialError::BadCase(problems) => self.printed.insert(messages(problems)),
                    _ => true,
                };
                let whole = report::not_graded(id, problem, &self.rerun_command, self.paint);
                // A problem of a case, or of its skill in a mode, is the same for each of its trials.
                if self.printed.insert(whole.clone()) {
                    let again = || report::not_graded_either(id, problem, self.paint);
                    self.print(&if is_first { whole } else { again() });
                }
            }
        }
        self.ended(id);
    }

    /// Whether the same trouble of another trial was printed before.
    fn was_explained(&mut self, outcome: &Outcome) -> bool {
        outcome.grade.trouble.as_ref().is_some_and(|trouble| !self.printed.insert(trouble.to_string()))
    }

    /// Counts a trial that ended. After the last repeat, those that did not pass are printed together.
    fn ended(&mut self, id: &TrialId) {
        let key = CaseInMode::of(id);
        if let Some(remaining) = self.remaining.get_mut(&key) {
            *remaining = remaining.saturating_sub(1);
            if *remaining > 0 {
                return;
            }
        }
        self.print_pending(&key);
    }

    fn print_pending(&mut self, key: &CaseInMode) {
        let Some(mut outcomes) = self.pending.remove(key) else { return };
        outcomes.sort_by_key(|outcome| outcome.id.number);
        // One cause is shown once, with the names of the other cases behind it.
        if outcomes.iter().all(|outcome| outcome.grade.verdict == Verdict::Error && self.was_explained(outcome)) {
            let times = if outcomes.len() > 1 { format!("{}× ", outcomes.len()) } else { String::new() };
            if let Some(first) = outcomes.first() {
                self.print(&format!("{times}{}", report::as_above(first, self.paint)));
            }
            return;
        }
        let Some(found) = self.found.get(key) else { return };
        for text in report::graded(&self.root, found, &outcomes, self.paint) {
            self.print(&text);
        }
    }

    /// Prints a result, whose text is safe already, over the drawn lines.
    fn print(&mut self, text: &str) {
        if self.prints {
            self.erase();
            // A closed standard output does not end the run.
            let _ = text_stdout().write_all(text.as_bytes());
        }
    }

    /// Prints something that is not a result.
    fn note(&mut self, text: &str) {
        if self.prints {
            self.erase();
            let _ = writeln!(stderr(), "{}", escape::block(text));
        }
    }

    fn draw(&mut self, now: Duration) {
        if self.draws && self.drawn_at.is_none_or(|at| now.saturating_sub(at) >= REDRAW_INTERVAL) {
            let text = self.board.redrawn(now);
            draw(&text);
            self.drawn_at = (!text.is_empty()).then_some(now);
        }
    }

    fn erase(&mut self) {
        draw(&self.board.erased());
        self.drawn_at = None;
    }

    /// Prints the pending trials and erases the drawn lines.
    fn end(&mut self) {
        let keys: Vec<CaseInMode> = self.pending.keys().cloned().collect();
        for key in keys {
            self.print_pending(&key);
        }
        if self.stale > 1 {
            let stale = self.stale;
            self.print(&format!(
                "{stale} recordings are stale: `skill-evals run --stale --record` measures their cases again\n"
            ));
        }
        self.erase();
    }
}

/// What is wrong, wherever it is.
fn messages(problems: &[Diagnostic]) -> String {
    let messages: Vec<&str> = problems.iter().map(|problem| &*problem.message).collect();
    messages.join("\n")
}

/// Counts one more. Returns whether it is the first.
fn counts_first(count: &mut usize) -> bool {
    *count += 1;
    *count == 1
}

impl EventListener for Terminal {
    fn on_event(&mut self, event: &RunEvent) {
        let now = self.start.elapsed();
        let news = self.board.on_event(event, now);
        match event {
            RunEvent::Waits { .. } => news.iter().for_each(|line| self.note(line)),
            RunEvent::Finished { id, result, .. } => self.finished(id, result),
            RunEvent::Resumed { outcome, .. } => {
                if self.detail != TrialDetail::NotPassed || outcome.grade.verdict != Verdict::Pass {
                    self.print(&format!("{} (kept)\n", report::headline(outcome, self.paint)));
                }
                self.ended(&outcome.id);
            }
            _ => {}
        }
        self.draw(now);
        if !self.draws
            && self.detail == TrialDetail::NotPassed
            && let Some(counts) = self.board.summary_due(now)
        {
            self.note(&counts);
        }
    }
}
