//! Shows on standard error what runs, while libtest-mimic has nothing to print yet.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::report::progress::ProgressBoard;
use crate::text::safe;
use crate::trial::event::{EventListener, RunEvent};
use crate::trial::outcome::NoOutcome;

/// How often a terminal is redrawn.
const TURN: Duration = Duration::from_millis(250);

/// How long a run is silent at first: replaying takes no time.
const QUIET: Duration = Duration::from_secs(1);

/// What standard error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Audience {
    /// A program: nothing is shown.
    Nobody,
    /// A file or a pipe: a line now and then.
    Reader,
    /// A terminal.
    Terminal,
}

impl Audience {
    /// What this process has as standard error.
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
    state: Mutex<Screen>,
    over: Condvar,
    audience: Audience,
    start: Instant,
}

#[derive(Debug)]
struct Screen {
    board: ProgressBoard,
    /// How many lines are drawn now.
    drawn: usize,
    /// Nothing is drawn before: the result of a trial is about to be printed.
    not_before: Duration,
    over: bool,
}

impl Watch {
    /// A watch over `total` trials, `jobs` at once.
    pub(super) fn new(audience: Audience, total: usize, jobs: usize) -> Self {
        let state = Screen { board: ProgressBoard::new(total, jobs), drawn: 0, not_before: QUIET, over: false };
        let shared =
            Arc::new(WatchState { state: Mutex::new(state), over: Condvar::new(), audience, start: Instant::now() });
        let ticker = (audience != Audience::Nobody).then(|| {
            let shared = Arc::clone(&shared);
            // Without the thread there is nothing to see, and nothing else is lost.
            thread::Builder::new().name("progress".to_owned()).spawn(move || shared.tick()).ok()
        });
        Self { shared, ticker: ticker.flatten() }
    }

    /// The reader of the run's events.
    pub(super) fn reader(&self) -> WatchListener {
        WatchListener(Arc::clone(&self.shared))
    }

    /// Erases what is drawn, so that something else can be printed.
    pub(super) fn clear(&self) {
        let now = self.shared.start.elapsed();
        self.shared.state().make_room(now);
    }

    /// Shows nothing any more.
    pub(super) fn end(&self) {
        let mut state = self.shared.state();
        state.over = true;
        state.erase();
        self.shared.over.notify_all();
    }
}

/// Reads the events of the run that is watched.
pub(super) struct WatchListener(Arc<WatchState>);

impl EventListener for WatchListener {
    fn on_event(&mut self, event: &RunEvent) {
        let shared = &self.0;
        let now = shared.start.elapsed();
        let mut state = shared.state();
        let news = match event {
            RunEvent::Planned(_) => {
                state.board.planned();
                return;
            }
            RunEvent::Started(id) => {
                state.board.started(id, now);
                return;
            }
            RunEvent::Heard(id, words) => {
                state.board.heard(id, words);
                return;
            }
            RunEvent::Waits { .. } => state.board.waits(event),
            RunEvent::Finished { id, result, .. } => state.board.finished(id, result, now),
            RunEvent::Kept { outcome, .. } => state.board.finished(&outcome.id, &Ok((**outcome).clone()), now),
            RunEvent::Skipped(id, why) => state.board.finished(id, &Err(NoOutcome::NotRun(*why)), now),
            RunEvent::Refused { .. } | RunEvent::Repeated { .. } | RunEvent::Tick => return,
        };
        // The result is printed next; it must not end up among the drawn lines.
        state.make_room(now);
        if let (Audience::Reader, Some(line)) = (shared.audience, news) {
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
    fn state(&self) -> MutexGuard<'_, Screen> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn tick(&self) {
        let mut state = self.state();
        while !state.over {
            state = self.over.wait_timeout(state, TURN).unwrap_or_else(PoisonError::into_inner).0;
            let now = self.start.elapsed();
            match self.audience {
                Audience::Terminal if !state.over && now >= state.not_before => state.draw(now),
                Audience::Reader => state.board.due(now).iter().for_each(|line| say(line)),
                _ => {}
            }
        }
    }
}

impl Screen {
    /// Erases what is drawn, and draws nothing for a turn.
    fn make_room(&mut self, now: Duration) {
        self.erase();
        self.not_before = self.not_before.max(now + TURN);
    }

    fn draw(&mut self, now: Duration) {
        self.erase();
        if self.board.is_idle() {
            return;
        }
        let lines = self.board.lines(now);
        // Lines are cut at the margin while they are written: a wrapped one would be two to erase.
        let text = lines.join("\n");
        let _ = io::stderr().lock().write_all(format!("\x1b[?7l{text}\n\x1b[?7h").as_bytes());
        self.drawn = lines.len();
    }

    fn erase(&mut self) {
        if self.drawn > 0 {
            let _ = io::stderr().lock().write_all(format!("\x1b[{}A\x1b[J", self.drawn).as_bytes());
            self.drawn = 0;
        }
    }
}

/// A line on standard error; if that is closed, the line is lost.
pub(super) fn say(line: &str) {
    let _ = io::stderr().lock().write_all(format!("{}\n", safe::block(line)).as_bytes());
}
