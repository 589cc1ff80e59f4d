//! How fast trials may start: while a provider refuses, later and fewer at once.
//!
//! Each provider has a pace of its own, by agent. A refusal stops new starts for a pause and halves how many run at
//! once; every trial that gets through lets one more run. The pause doubles with each refusal in a row, and is spread
//! at random, so that several runs on one account do not come back at the same moment. Once a trial has used up its
//! retries, the others are tried only once until one gets through: a limit of hours must not keep a run waiting for days.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::process::interrupt;
use crate::settings::mode::AgentKind;
use crate::settings::{LONGEST_RETRY_WAIT, Settings};

/// How often a waiting trial checks whether the run is to end.
const LOOK: Duration = Duration::from_millis(50);

/// The paces of all providers.
#[derive(Debug, Default)]
pub struct Pace {
    providers: Mutex<HashMap<AgentKind, Provider>>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Provider {
    running: usize,
    /// How many may run at once; `None` while nothing was refused.
    most: Option<usize>,
    not_before: Option<Instant>,
    /// Refusals in a row.
    refusals: u32,
    /// When the last refusal arrived: refusals of trials that were already running then say nothing new.
    refused: Option<Instant>,
    /// Whether a trial used up its retries and none got through since: the next ones are tried once and do not wait.
    given_up: bool,
}

/// Permission to run an agent, for a trial or its judge, until dropped.
#[derive(Debug)]
pub struct Permit<'a> {
    pace: &'a Pace,
    kind: AgentKind,
    since: Instant,
}

impl Pace {
    /// Waits until a trial of this provider may start. `None` when the run is to end.
    pub fn enter(&self, kind: AgentKind) -> Option<Permit<'_>> {
        let mut providers = self.lock();
        loop {
            if interrupt::raised() {
                return None;
            }
            let now = Instant::now();
            let provider = providers.entry(kind).or_default();
            let pause = provider.not_before.map_or(Duration::ZERO, |at| at.saturating_duration_since(now));
            let room = provider.most.is_none_or(|most| provider.running < most);
            if pause.is_zero() && room {
                provider.running += 1;
                return Some(Permit { pace: self, kind, since: now });
            }
            let look = if pause.is_zero() { LOOK } else { pause.min(LOOK) };
            let waited = self.changed.wait_timeout(providers, look);
            providers = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AgentKind, Provider>> {
        self.providers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit<'_> {
    /// The agent was refused, for the `times`th time. Returns for how long nothing of this provider starts; `None` where
    /// it is not to be tried again, since it was refused more often than the settings allow, or another one just was.
    #[must_use]
    pub fn refused_again(self, times: u32, settings: &Settings) -> Option<Duration> {
        if times > settings.retries {
            self.give_up();
            return None;
        }
        self.refused(settings.retry_wait)
    }

    /// The trial was refused and would be tried again. Returns for how long no trial of this provider starts; `None`
    /// when it should not be tried again.
    fn refused(self, first: Duration) -> Option<Duration> {
        let now = Instant::now();
        let mut providers = self.pace.lock();
        let provider = providers.entry(self.kind).or_default();
        if provider.given_up {
            return None;
        }
        if provider.refused.is_none_or(|refused| self.since >= refused) {
            provider.most = Some(provider.running.div_ceil(2).max(1));
            provider.not_before = Some(now + pause(first, provider.refusals, fastrand::f64()));
            provider.refusals += 1;
            provider.refused = Some(now);
        }
        provider.not_before.map(|at| at.saturating_duration_since(now))
    }

    /// The trial was refused once too often.
    fn give_up(self) {
        if let Some(provider) = self.pace.lock().get_mut(&self.kind) {
            (provider.given_up, provider.not_before) = (true, None);
        }
    }

    /// The trial got through.
    pub fn through(self) {
        let mut providers = self.pace.lock();
        let provider = providers.entry(self.kind).or_default();
        if provider.refused.is_none_or(|refused| self.since >= refused) {
            (provider.refusals, provider.given_up) = (0, false);
            provider.most = provider.most.map(|most| most + 1);
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if let Some(provider) = self.pace.lock().get_mut(&self.kind) {
            provider.running = provider.running.saturating_sub(1);
        }
        self.pace.changed.notify_all();
    }
}

/// The pause after `before` refusals in a row: `first`, doubled with each, of which `share` of the upper half is taken
/// off at random.
fn pause(first: Duration, before: u32, share: f64) -> Duration {
    let whole = first.saturating_mul(1 << before.min(16)).min(LONGEST_RETRY_WAIT);
    whole.mul_f64(1.0 - share / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_are_spread() {
        let first = Duration::from_secs(2);
        let seconds = |before, share| pause(first, before, share).as_secs_f64();
        assert_eq!((seconds(0, 0.0), seconds(1, 0.0), seconds(2, 0.0)), (2.0, 4.0, 8.0));
        assert_eq!((seconds(0, 1.0), seconds(2, 0.5)), (1.0, 6.0));
        assert_eq!(pause(first, 40, 0.0), LONGEST_RETRY_WAIT);
    }

    #[test]
    fn a_refusal_halves_what_runs_at_once_and_each_trial_that_gets_through_adds_one() {
        let pace = Pace::default();
        let mut permits: Vec<Permit<'_>> = (0..8).filter_map(|_| pace.enter(AgentKind::Codex)).collect();
        let most = || pace.lock()[&AgentKind::Codex].most;
        let first = permits.pop().expect("a permit");
        let _ = first.refused(Duration::from_millis(1));
        assert_eq!(most(), Some(4));
        // The others were already running: their refusals and successes belong to the time before.
        let _ = permits.pop().expect("a permit").refused(Duration::from_millis(1));
        permits.pop().expect("a permit").through();
        assert_eq!((most(), pace.lock()[&AgentKind::Codex].refusals), (Some(4), 1));
        drop(permits);
        let later = pace.enter(AgentKind::Codex).expect("a permit");
        later.through();
        assert_eq!((most(), pace.lock()[&AgentKind::Codex].refusals), (Some(5), 0));
    }
}
