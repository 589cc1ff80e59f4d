//! How long an agent wrote nothing: shows what it was doing when its time was up.

use std::time::{Duration, Instant};

use crate::trial::evidence::Ending;

/// The times in which one agent wrote nothing.
pub(super) struct Silence {
    started: Instant,
    /// When the last line came.
    last: Option<Instant>,
    longest: Duration,
}

impl Silence {
    pub(super) fn new() -> Self {
        Self { started: Instant::now(), last: None, longest: Duration::ZERO }
    }

    /// A line came.
    pub(super) fn broken(&mut self) {
        let now = Instant::now();
        // The time before the first line is the program's start.
        self.longest = self.longest.max(self.last.map_or(Duration::ZERO, |last| now - last));
        self.last = Some(now);
    }

    /// Adds them to the ending of an agent that ran into its timeout.
    pub(super) fn add_to(&self, ending: &mut Ending, timeout: Duration) {
        if let (true, Some(last)) = (ending.timed_out, self.last) {
            let silent = timeout.saturating_sub(last - self.started);
            let ms = |time: Duration| u64::try_from(time.as_millis()).ok();
            (ending.silent_ms, ending.longest_silence_ms) = (ms(silent), ms(self.longest));
        }
    }
}
