//! How long an agent wrote nothing: shows what it was doing when its time was up.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::agent::WorkOwner;
use crate::process::CpuWait;
use crate::trial::evidence::Ending;

/// How long an agent may try to reach a provider that does not answer in any way, before the model's first answer. Long enough for a
/// network that comes back at once.
const UNREACHABLE: Duration = Duration::from_secs(8);

/// Measures the silences of an agent.
pub(super) struct SilenceTimer {
    started: Instant,
    timeout: Duration,
    /// Does not count against the timeout.
    cpu_wait: Arc<CpuWait>,
    last: Option<Instant>,
    /// The longest silence before an answer of the model. A silence of a tool says nothing about the model.
    longest: Duration,
    /// Whether the model has answered, and when the agent first met nobody before that.
    answered: bool,
    unreachable: Option<Instant>,
}

impl SilenceTimer {
    pub(super) fn new(timeout: Duration, cpu_wait: Arc<CpuWait>) -> Self {
        Self {
            started: Instant::now(),
            timeout,
            cpu_wait,
            last: None,
            longest: Duration::ZERO,
            answered: false,
            unreachable: None,
        }
    }

    pub(super) fn broken(&mut self, by: WorkOwner) {
        self.broken_at(Instant::now(), by);
    }

    fn broken_at(&mut self, now: Instant, by: WorkOwner) {
        let late = now - self.started > self.limit();
        match by {
            WorkOwner::Model => self.answered = true,
            WorkOwner::Unreachable(_) => {
                self.unreachable.get_or_insert(now);
            }
            _ => {}
        }
        match by {
            // What the agent writes while it is being ended is not work, and neither is its last word.
            WorkOwner::Other | WorkOwner::Waits(_) | WorkOwner::Unreachable(_) | WorkOwner::End if late => return,
            // The time before the first line is the start of the program.
            WorkOwner::Model | WorkOwner::End if !late => {
                let silent = self.last.map_or(Duration::ZERO, |last| now - last);
                self.longest = self.longest.max(silent);
            }
            _ => {}
        }
        self.last = Some(now);
    }

    /// Leaves out a time in which the agent waited for its user.
    pub(super) fn waited(&mut self, time: Duration) {
        self.started += time;
        self.last = self.last.map(|last| last + time);
    }

    /// Whether a wait that begins now lasts until the agent's timeout.
    pub(super) fn outlasts(&self, wait: Duration) -> bool {
        self.started.elapsed() + wait >= self.limit()
    }

    /// Whether an agent that has met nobody, and now waits for `wait`, is not to try for longer.
    pub(super) fn reaches_nobody(&self, wait: Duration) -> bool {
        let since = self.unreachable.filter(|_| !self.answered);
        since.is_some_and(|since| since.elapsed() + wait >= UNREACHABLE)
    }

    /// The wall time that the agent has, as far as it is known.
    fn limit(&self) -> Duration {
        self.timeout + self.cpu_wait.get()
    }

    /// Adds the silences to the ending of an agent that timed out.
    pub(super) fn add_to(&self, ending: &mut Ending) {
        if let (true, Some(last)) = (ending.timed_out, self.last) {
            let silent = self.limit().saturating_sub(last - self.started);
            let ms = |time: Duration| u64::try_from(time.as_millis()).ok();
            (ending.silent_ms, ending.longest_silence_ms) = (ms(silent), ms(self.longest));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last and the longest silence, in seconds, of an agent with a timeout of 30 s and lines after these numbers
    /// of seconds.
    fn ending(lines: &[(u64, WorkOwner)]) -> (Option<u64>, Option<u64>) {
        let mut silence = SilenceTimer::new(Duration::from_secs(30), Arc::default());
        for (after, by) in lines {
            silence.broken_at(silence.started + Duration::from_secs(*after), *by);
        }
        let mut ending = Ending { timed_out: true, ..Ending::default() };
        silence.add_to(&mut ending);
        (ending.silent_ms.map(|ms| ms / 1000), ending.longest_silence_ms.map(|ms| ms / 1000))
    }

    #[test]
    fn a_silence_of_a_tool_does_not_count_as_one_of_the_model() {
        use WorkOwner::{Model, Other};
        assert_eq!(ending(&[(1, Other), (3, Model), (15, Other), (16, Model)]), (Some(14), Some(2)));
    }

    #[test]
    fn an_agent_that_reaches_nobody_is_ended_soon_unless_its_model_has_answered() {
        let since = |lines: &[WorkOwner], seconds: u64, wait: u64| {
            let mut silence = SilenceTimer::new(Duration::from_secs(30), Arc::default());
            let began = Instant::now().checked_sub(Duration::from_secs(seconds)).expect("a time");
            silence.started = began;
            for by in lines {
                silence.broken_at(began, *by);
            }
            silence.reaches_nobody(Duration::from_secs(wait))
        };
        let nobody = WorkOwner::Unreachable(Duration::ZERO);
        assert_eq!([since(&[nobody], 0, 0), since(&[nobody], 8, 0), since(&[nobody], 1, 9)], [false, true, true]);
        assert_eq!([since(&[WorkOwner::Model, nobody], 20, 0), since(&[WorkOwner::Other], 20, 0)], [false, false]);
    }

    #[test]
    fn only_an_answer_of_the_model_counts_after_the_timeout() {
        use WorkOwner::{End, Model, Other};
        assert_eq!(ending(&[(1, Other), (2, Model), (31, Other)]), (Some(28), Some(1)));
        assert_eq!(ending(&[(1, Other), (2, Model), (31, End)]), (Some(28), Some(1)));
        assert_eq!(ending(&[(1, Other), (2, Model), (31, Model)]), (Some(0), Some(1)));
        assert_eq!(ending(&[]), (None, None));
    }
}
