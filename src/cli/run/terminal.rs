//! Tells people of a run while it goes: results on standard output; what runs, on a standard error that is a terminal.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use crate::cli::exit_code::Exit;
use skill_evals::report::progress::{Board, duration};
use skill_evals::report::trial as report;
use skill_evals::run::shared::Run;
use skill_evals::trial::event::Event;
use skill_evals::trial::id::{Planned, TrialId};
use skill_evals::trial::outcome::{NoOutcome, Outcome, Verdict};

/// How long drawn lines stand before they are drawn anew.
const TURN: Duration = Duration::from_millis(200);

/// Reads a run's events and prints.
pub struct Terminal<'a> {
    run: &'a Run,
    planned: &'a [Planned<'a>],
    /// Whether each trial's result is printed.
    tells: bool,
    draws: bool,
    board: Board,
    start: Instant,
    drawn: usize,
    drawn_at: Option<Duration>,
    exit: Exit,
}

impl<'a> Terminal<'a> {
    pub fn new(run: &'a Run, planned: &'a [Planned<'a>], tells: bool, count: usize) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            run,
            planned,
            tells,
            draws: tells && io::stderr().is_terminal() && !dumb,
            board: Board::new(count, run.settings.jobs),
            start: Instant::now(),
            drawn: 0,
            drawn_at: None,
            exit: Exit::Clean,
        }
    }

    pub fn hear(&mut self, event: Event) {
        let now = self.start.elapsed();
        match event {
            Event::Started(id) => self.board.started(&id, now),
            Event::Heard(id, words) => self.board.heard(&id, words),
            Event::Refused { id, attempt, pause } => {
                let pause = duration(pause);
                self.note(&format!("{id}: refused by the provider (attempt {attempt}); trying again in {pause}"));
            }
            Event::Finished { id, result, .. } => {
                self.board.finished(&id, &result, now);
                self.finished(&id, &result);
            }
            Event::Kept(outcome) => {
                self.board.finished(&outcome.id.clone(), &Ok((*outcome).clone()), now);
                self.exit = self.exit.worse(Exit::of_verdict(outcome.grade.verdict));
                self.print(&format!("{}: {} (kept)\n", outcome.id, outcome.grade.verdict));
            }
            Event::Skipped(id, why) => {
                let result = Err(NoOutcome::NotRun(why));
                self.board.finished(&id, &result, now);
                self.print(&report::not_graded(&id, &NoOutcome::NotRun(why)));
            }
            Event::Tick => {}
        }
        self.draw(now);
    }

    fn finished(&mut self, id: &TrialId, result: &Result<Outcome, NoOutcome>) {
        match result {
            Ok(outcome) => {
                self.exit = self.exit.worse(Exit::of_verdict(outcome.grade.verdict));
                let planned = self.planned.iter().find(|planned| planned.trial(id.number) == *id);
                let text = match planned {
                    Some(planned) if outcome.grade.verdict != Verdict::Pass => {
                        report::graded(&self.run.root, planned.found, outcome)
                    }
                    _ => report::passed(outcome),
                };
                self.print(&text);
            }
            Err(problem) => {
                if !matches!(problem, NoOutcome::NotRecorded) {
                    self.exit = self.exit.worse(Exit::CouldNotRun);
                }
                self.print(&report::not_graded(id, problem));
            }
        }
    }

    /// Prints a result, in place of what is drawn.
    fn print(&mut self, text: &str) {
        if self.tells {
            self.erase();
            // A reader that went away does not end the run.
            let _ = io::stdout().lock().write_all(text.as_bytes());
        }
    }

    /// Says something that is no result.
    fn note(&mut self, text: &str) {
        if self.tells {
            self.erase();
            let _ = writeln!(io::stderr(), "{text}");
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

    /// Takes what is drawn away; says what the trials so far mean for the exit code.
    pub fn end(&mut self) -> Exit {
        self.erase();
        self.exit
    }
}
