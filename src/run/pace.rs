//! How fast trials may start: while a provider refuses, later and fewer at once.
//!
//! Each account has a pace of its own: modes that log in alike share it, whichever agent they start. A refusal stops new starts for a pause and halves how many run at
//! once; every trial that gets through lets one more run. The pause doubles with each refusal in a row, and is spread
//! at random, so that several runs on one account do not come back at the same moment. Once a trial has used up its
//! retries, the others are tried only once until one gets through: a limit of hours must not keep a run waiting for days.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::agent::login::Account;
use crate::process::interrupt;
use crate::settings::{LONGEST_RETRY_WAIT, Settings};

/// How often a waiting trial checks whether the run is to end.
const LOOK: Duration = Duration::from_millis(50);

/// The paces of all accounts.
#[derive(Debug, Default)]
pub struct Pace {
    providers: Mutex<HashMap<Account, AccountPace>>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct AccountPace {
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

/// What a refused trial waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaceWait {
    /// For how long nothing of this provider starts.
    pub pause: Duration,
    /// The most that all pauses may take together, this one included, until the trial is given up.
    pub at_most: Duration,
}

/// Permission to run an agent, for a trial or its judge, until dropped.
#[derive(Debug)]
pub struct Permit<'a> {
    pace: &'a Pace,
    account: Account,
    since: Instant,
}

impl Pace {
    /// Waits until a trial under this account may start. `None` when the run is to end.
    pub fn enter(&self, account: Account) -> Option<Permit<'_>> {
        let mut providers = self.lock();
        loop {
            if interrupt::raised() {
                return None;
            }
            let now = Instant::now();
            let provider = providers.entry(account.clone()).or_default();
            let pause = provider.not_before.map_or(Duration::ZERO, |at| at.saturating_duration_since(now));
            let room = provider.most.is_none_or(|most| provider.running < most);
            if pause.is_zero() && room {
                provider.running += 1;
                return Some(Permit { pace: self, account, since: now });
            }
            let look = if pause.is_zero() { LOOK } else { pause.min(LOOK) };
            let waited = self.changed.wait_timeout(providers, look);
            providers = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Account, AccountPace>> {
        self.providers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit<'_> {
    /// The agent was refused, for the `times`th time; its provider may have `asked` for a wait. Returns what is waited for;
    /// `None` if it is not to be tried again: it was refused more often than the settings allow, another one just was, or
    /// the provider asks for a longer wait than a run makes.
    pub fn refused_again(self, times: u32, settings: &Settings, asked: Option<Duration>) -> Option<PaceWait> {
        let asked = asked.unwrap_or_default();
        if times > settings.retries || asked > LONGEST_RETRY_WAIT {
            self.give_up();
            return None;
        }
        self.refused(settings.retry_wait, asked, settings.retries - times)
    }

    /// The trial was refused and would be tried again, and so often more if it is refused again.
    fn refused(self, first: Duration, asked: Duration, left: u32) -> Option<PaceWait> {
        let now = Instant::now();
        let mut providers = self.pace.lock();
        let provider = providers.entry(self.account.clone()).or_default();
        if provider.given_up {
            return None;
        }
        if provider.refused.is_none_or(|refused| self.since >= refused) {
            provider.most = Some(provider.running.div_ceil(2).max(1));
            provider.not_before = Some(now + pause(first, provider.refusals, fastrand::f64()).max(asked));
            provider.refusals += 1;
            provider.refused = Some(now);
        }
        let pause = provider.not_before?.saturating_duration_since(now);
        let later = (0..left).map(|more| self::pause(first, provider.refusals + more, 0.0));
        Some(PaceWait { pause, at_most: later.fold(pause, Duration::saturating_add) })
    }

    /// The trial was refused once too often.
    fn give_up(self) {
        if let Some(provider) = self.pace.lock().get_mut(&self.account) {
            (provider.given_up, provider.not_before) = (true, None);
        }
    }

    /// The trial got through.
    pub fn through(self) {
        let mut providers = self.pace.lock();
        let provider = providers.entry(self.account.clone()).or_default();
        if provider.refused.is_none_or(|refused| self.since >= refused) {
            (provider.refusals, provider.given_up) = (0, false);
            provider.most = provider.most.map(|most| most + 1);
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if let Some(provider) = self.pace.lock().get_mut(&self.account) {
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
    use crate::agent::login::LoginSources;
    use crate::settings::mode::{AgentKind, Mode};

    /// Under which account the built-in mode of this name runs, with these arguments of its own.
    fn account(mode: &str, arguments: &[&str]) -> Account {
        let mut mode = Mode::built_in().into_iter().find(|known| known.name == mode).expect("a mode");
        mode.args = arguments.iter().map(ToString::to_string).collect();
        LoginSources::new(&Settings::default(), mode.agent, Some(&mode)).account()
    }

    #[test]
    fn modes_that_log_in_alike_wait_together_and_others_do_not() {
        let pace = Pace::default();
        let refused = pace.enter(account("native", &[])).expect("a permit");
        let _ = refused.refused(Duration::from_secs(60), Duration::ZERO, 0);
        let waits = |account| pace.lock().get(&account).is_some_and(|provider| provider.not_before.is_some());
        assert!(waits(account("cli-native", &["--verbose"])), "another program with the same login");
        assert!(waits(account("mcp", &[])) && waits(account("none", &[])));
        assert!(!waits(account("native", &["--settings", "other.json"])), "its own arguments name another login");
        assert!(!waits(account("codex", &[])), "another vendor");
        let judge = LoginSources::new(&Settings::default(), AgentKind::ClaudeCli, None).account();
        assert!(waits(judge), "a judge has no mode, but a login");
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_are_spread() {
        let first = Duration::from_secs(2);
        let seconds = |before, share| pause(first, before, share).as_secs_f64();
        assert_eq!((seconds(0, 0.0), seconds(1, 0.0), seconds(2, 0.0)), (2.0, 4.0, 8.0));
        assert_eq!((seconds(0, 1.0), seconds(2, 0.5)), (1.0, 6.0));
        assert_eq!(pause(first, 40, 0.0), LONGEST_RETRY_WAIT);
    }

    #[test]
    fn a_wait_is_no_shorter_than_the_provider_asks_and_tells_how_long_all_of_it_may_take() {
        let pace = Pace::default();
        let settings = Settings { retries: 3, retry_wait: Duration::from_secs(2), ..Settings::default() };
        let refused = |times, asked: u64| {
            let permit = pace.enter(account("codex", &[])).expect("a permit");
            let wait = permit.refused_again(times, &settings, Some(Duration::from_secs(asked)));
            // The next attempt begins at once here.
            pace.lock().get_mut(&account("codex", &[])).expect("a provider").not_before = None;
            wait.map(|wait| (wait.pause.as_secs(), wait.at_most.as_secs()))
        };
        assert_eq!(refused(1, 30), Some((30, 30 + 4 + 8)));
        assert_eq!(refused(2, 7), Some((7, 7 + 8)));
        assert_eq!(refused(3, 100), Some((100, 100)));
        assert_eq!(refused(4, 1), None, "it was tried often enough");
        let asked = pace.enter(account("native", &[])).expect("a permit");
        assert_eq!(asked.refused_again(1, &settings, Some(LONGEST_RETRY_WAIT * 2)), None, "nobody waits for that");
    }

    #[test]
    fn a_refusal_halves_what_runs_at_once_and_each_trial_that_gets_through_adds_one() {
        let pace = Pace::default();
        let mut permits: Vec<Permit<'_>> = (0..8).filter_map(|_| pace.enter(account("codex", &[]))).collect();
        let most = || pace.lock()[&account("codex", &[])].most;
        let first = permits.pop().expect("a permit");
        let ms = Duration::from_millis;
        let _ = first.refused(ms(1), ms(0), 0);
        assert_eq!(most(), Some(4));
        // The others were already running: their refusals and successes belong to the time before.
        let _ = permits.pop().expect("a permit").refused(ms(1), ms(0), 0);
        permits.pop().expect("a permit").through();
        assert_eq!((most(), pace.lock()[&account("codex", &[])].refusals), (Some(4), 1));
        drop(permits);
        let later = pace.enter(account("codex", &[])).expect("a permit");
        later.through();
        assert_eq!((most(), pace.lock()[&account("codex", &[])].refusals), (Some(5), 0));
    }
}
