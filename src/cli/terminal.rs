//! Shows a run while it goes on: results on standard output; what is running, on standard error if that is a terminal.

use std::collections::HashMap;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::cli::color::paint;
use skill_evals::cases::case::Found;
use skill_evals::report::paint::Paint;
use skill_evals::report::progress::{Board, duration};
use skill_evals::report::trial as report;
use skill_evals::report::trial::Door;
use skill_evals::run::shared::Run;
use skill_evals::text::safe;
use skill_evals::trial::event::{Event, Listener};
use skill_evals::trial::id::TrialId;
use skill_evals::trial::outcome::{NoOutcome, Outcome, Verdict};

/// How often drawn lines are redrawn.
const TURN: Duration = Duration::from_millis(200);

/// Reads a run's events and prints.
pub struct Terminal {
    root: PathBuf,
    door: Door,
    /// Where each case is written down, by its trial without the repeat.
    found: HashMap<(String, String), Arc<Found>>,
    /// Whether each trial's result is printed.
    tells: bool,
    /// Whether a failure is a line, for a reader who looks for the difference and not for the cause.
    brief: bool,
    draws: bool,
    /// How results are painted.
    paint: Paint,
    board: Board,
    start: Instant,
    drawn: usize,
    drawn_at: Option<Duration>,
}

impl Terminal {
    /// For a run of `total` trials.
    pub fn new(run: &Run, total: usize, tells: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let found = run.plan.entries.iter().map(|entry| &entry.planned.found);
        Self {
            root: run.root.clone(),
            door: run.door.clone(),
            found: found.map(|found| ((found.skill.clone(), found.id.clone()), Arc::clone(found))).collect(),
            tells,
            brief: false,
            draws: tells && io::stderr().is_terminal() && !dumb,
            paint: paint(&io::stdout()),
            board: Board::new(total, run.settings.jobs),
            start: Instant::now(),
            drawn: 0,
            drawn_at: None,
        }
    }

    /// The same with a line for each trial, whatever it came to.
    pub fn in_brief(self) -> Self {
        Self { brief: true, ..self }
    }

    fn finished(&mut self, id: &TrialId, result: &Result<Outcome, NoOutcome>) {
        let text = match result {
            Ok(outcome) => match self.found.get(&(id.skill.clone(), id.case.clone())) {
                Some(_) if self.brief && outcome.grade.verdict == Verdict::Fail => report::failed(outcome, self.paint),
                Some(found) if outcome.grade.verdict != Verdict::Pass => {
                    report::graded(&self.root, found, outcome, self.paint)
                }
                _ => report::passed(outcome, self.paint),
            },
            Err(problem) => report::not_graded(id, problem, &self.door, self.paint),
        };
        self.print(&text);
    }

    /// Prints a result, which is safe to show already, in place of what is drawn.
    fn print(&mut self, text: &str) {
        if self.tells {
            self.erase();
            // A closed standard output does not end the run.
            let _ = io::stdout().lock().write_all(text.as_bytes());
        }
    }

    /// Prints something that is not a result.
    fn note(&mut self, text: &str) {
        if self.tells {
            self.erase();
            let _ = writeln!(io::stderr(), "{}", safe::block(text));
        }
    }

    fn draw(&mut self, now: Duration) {
        let due = self.drawn == 0 || self.drawn_at.is_none_or(|at| now.saturating_sub(at) >= TURN);
        if !self.draws || !due || self.board.is_idle() {
            return;
        }
        self.erase();
        let lines = self.board.lines(now);
        // Lines are cut at the margin while they are written: a wrapped one would be two to erase.
        let text = format!("\x1b[?7l{}\n\x1b[?7h", lines.join("\n"));
        let _ = io::stderr().lock().write_all(text.as_bytes());
        (self.drawn, self.drawn_at) = (lines.len(), Some(now));
    }

    fn erase(&mut self) {
        if self.drawn > 0 {
            let _ = io::stderr().lock().write_all(format!("\x1b[{}A\x1b[J", self.drawn).as_bytes());
            self.drawn = 0;
        }
    }

    /// Erases what is drawn.
    pub fn end(&mut self) {
        self.erase();
    }
}

impl Listener for Terminal {
    fn hear(&mut self, event: &Event) {
        let now = self.start.elapsed();
        match event {
            Event::Started(id) => self.board.started(id, now),
            Event::Heard(id, words) => self.board.heard(id, words),
            Event::Refused { id, attempt, pause, .. } => {
                let pause = duration(*pause);
                self.note(&format!("{id}: refused by the provider (attempt {attempt}); trying again in {pause}"));
            }
            Event::Finished { id, result, .. } => {
                self.board.finished(id, result, now);
                self.finished(id, result);
            }
            Event::Kept { outcome, .. } => {
                self.board.finished(&outcome.id, &Ok((**outcome).clone()), now);
                self.print(&format!("{} (kept)\n", report::headline(outcome, self.paint)));
            }
            Event::Skipped(id, why) => {
                let result = Err(NoOutcome::NotRun(*why));
                self.board.finished(id, &result, now);
                self.finished(id, &result);
            }
            Event::Repeated { .. } | Event::Tick => {}
        }
        self.draw(now);
    }
}
