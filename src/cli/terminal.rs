//! Shows a run while it goes on: results on standard output; what is running, on standard error if that is a terminal.

use std::collections::{HashMap, HashSet};
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::cli::color::paint;
use skill_evals::cases::case::FoundCase;
use skill_evals::report::paint::Paint;
use skill_evals::report::progress::ProgressBoard;
use skill_evals::report::trial as report;
use skill_evals::report::trial::RerunCommand;
use skill_evals::run::context::RunContext;
use skill_evals::text::safe;
use skill_evals::trial::event::{EventListener, RunEvent};
use skill_evals::trial::id::TrialId;
use skill_evals::trial::outcome::{NoOutcome, Outcome, Verdict};

/// How often drawn lines are redrawn.
const TURN: Duration = Duration::from_millis(200);

/// A case in a mode.
type InMode = (String, String, String);

fn in_mode(id: &TrialId) -> InMode {
    (id.skill.clone(), id.case.clone(), id.mode.clone())
}

/// Reads a run's events and prints.
pub struct Terminal {
    root: PathBuf,
    door: RerunCommand,
    /// Where each case is written down.
    found: HashMap<InMode, Arc<FoundCase>>,
    /// How many of its trials have not ended; a comparison may have any number of them, and holds none back.
    left: HashMap<InMode, u32>,
    /// Trials that did not pass, until all repeats have ended: those that failed alike are told together.
    held: HashMap<InMode, Vec<Outcome>>,
    /// What was told of trials without an outcome, and in brief why others measured nothing.
    told: HashSet<String>,
    /// Whether each trial's result is printed.
    tells: bool,
    /// Whether a failure is a line, for a reader who looks for the difference and not for the cause.
    brief: bool,
    draws: bool,
    /// How results are painted.
    paint: Paint,
    board: ProgressBoard,
    start: Instant,
    drawn: usize,
    drawn_at: Option<Duration>,
}

impl Terminal {
    /// For a run of `total` trials.
    pub fn new(run: &RunContext, total: usize, tells: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let keyed = || run.plan.entries.iter().map(|entry| (in_mode(&entry.planned.trial(1)), entry));
        Self {
            root: run.root.clone(),
            door: run.door.clone(),
            found: keyed().map(|(key, entry)| (key, Arc::clone(&entry.planned.found))).collect(),
            left: keyed().map(|(key, entry)| (key, entry.repeats)).collect(),
            held: HashMap::new(),
            told: HashSet::new(),
            tells,
            brief: false,
            draws: tells && io::stderr().is_terminal() && !dumb,
            paint: paint(&io::stdout()),
            board: ProgressBoard::new(total, run.settings.jobs),
            start: Instant::now(),
            drawn: 0,
            drawn_at: None,
        }
    }

    /// The same with a line for each trial, whatever it came to.
    pub fn in_brief(self) -> Self {
        Self { brief: true, left: HashMap::new(), ..self }
    }

    fn finished(&mut self, id: &TrialId, result: &Result<Outcome, NoOutcome>) {
        let text = match result {
            Ok(outcome) => match outcome.grade.verdict {
                Verdict::Pass => report::passed(outcome, self.paint),
                Verdict::Fail if self.brief => report::failed(outcome, self.paint),
                _ if self.brief && self.has_told(outcome) => report::as_above(outcome, self.paint),
                _ => {
                    self.held.entry(in_mode(id)).or_default().push(outcome.clone());
                    String::new()
                }
            },
            Err(problem) => report::not_graded(id, problem, &self.door, self.paint),
        };
        // What is wrong with a case, or with its skill in a mode, is wrong with each of its trials.
        if !text.is_empty() && (result.is_ok() || self.told.insert(text.clone())) {
            self.print(&text);
        }
        self.ended(id);
    }

    /// Whether it was told of another trial why this one measured nothing. From now on it is.
    fn has_told(&mut self, outcome: &Outcome) -> bool {
        outcome.grade.trouble.as_ref().is_some_and(|trouble| !self.told.insert(trouble.to_string()))
    }

    /// A trial of a case in a mode has ended: with the last of its repeats, those that did not pass are printed together.
    fn ended(&mut self, id: &TrialId) {
        let key = in_mode(id);
        let left = self.left.get_mut(&key).map_or(0, |left| {
            *left = left.saturating_sub(1);
            *left
        });
        if left == 0 {
            self.tell_held(&key);
        }
    }

    fn tell_held(&mut self, key: &InMode) {
        let Some(mut outcomes) = self.held.remove(key) else { return };
        outcomes.sort_by_key(|outcome| outcome.id.number);
        let Some(found) = self.found.get(key) else { return };
        for text in report::graded(&self.root, found, &outcomes, self.paint) {
            self.print(&text);
        }
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

    /// Prints what is held back, and erases what is drawn.
    pub fn end(&mut self) {
        let held: Vec<InMode> = self.held.keys().cloned().collect();
        for key in held {
            self.tell_held(&key);
        }
        self.erase();
    }
}

impl EventListener for Terminal {
    fn on_event(&mut self, event: &RunEvent) {
        let now = self.start.elapsed();
        match event {
            RunEvent::Planned(_) => self.board.planned(),
            RunEvent::Started(id) => self.board.started(id, now),
            RunEvent::Heard(id, words) => self.board.heard(id, words),
            RunEvent::Waits { .. } => {
                if let Some(line) = self.board.waits(event) {
                    self.note(&line);
                }
            }
            RunEvent::Finished { id, result, .. } => {
                self.board.finished(id, result, now);
                self.finished(id, result);
            }
            RunEvent::Kept { outcome, .. } => {
                self.board.finished(&outcome.id, &Ok((**outcome).clone()), now);
                self.print(&format!("{} (kept)\n", report::headline(outcome, self.paint)));
                self.ended(&outcome.id);
            }
            RunEvent::Skipped(id, why) => {
                let result = Err(NoOutcome::NotRun(*why));
                self.board.finished(id, &result, now);
                self.finished(id, &result);
            }
            RunEvent::Refused { .. } | RunEvent::Repeated { .. } | RunEvent::Tick => {}
        }
        self.draw(now);
    }
}
