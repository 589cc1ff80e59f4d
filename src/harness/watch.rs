//! Shows on standard error what runs, while libtest-mimic has nothing to print yet.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::report::progress::ProgressBoard;
use crate::text::escape;
use crate::trial::event::{EventListener, RunEvent};

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
