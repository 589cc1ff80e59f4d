//! How fast trials may start: later and fewer at once while a provider refuses them.
//!
//! Each account has a pace of its own, shared by all modes with the same credentials. A refusal stops new starts for a
//! pause, and halves how many trials run at once; each accepted trial allows one more. The pause doubles with each refusal
//! in a row. It is spread at random, so that several runs with one account do not start again at the same moment. After a
//! trial has used up its retries, others are tried only once until one is accepted: a limit of hours must not keep a run
//! waiting for days.

use std::collections::HashMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::agent::login::Account;
use crate::process::interrupt;
use crate::settings::{LONGEST_RETRY_WAIT, Settings};

/// How often a waiting trial checks whether the user interrupts the run.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
pub struct Pace {
    accounts: Mutex<HashMap<Account, AccountPace>>,
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
    /// The time of the last refusal that counted. Refusals of trials that were already running then do not count.
    refused: Option<Instant>,
    /// Whether a trial used up its retries, and none was accepted since: the next ones are tried once and do not wait.
    given_up: bool,
}

/// What a refused trial waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaceWait {
    /// How long nothing of this account starts.
    pub pause: Duration,
    /// Maximum sum of this and all later pauses of the trial.
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
    /// Waits until a trial with this account may start. `None` if the user interrupted the run.
    pub fn enter(&self, account: Account) -> Option<Permit<'_>> {
        let mut accounts = self.lock();
        loop {
            if interrupt::raised() {
                return None;
            }
            let now = Instant::now();
            let pace = accounts.entry(account.clone()).or_default();
            let pause = pace.not_before.map_or(Duration::ZERO, |at| at.saturating_duration_since(now));
            if pause.is_zero() && pace.most.is_none_or(|most| pace.running < most) {
                pace.running += 1;
                return Some(Permit { pace: self, account, since: now });
            }
            let timeout = if pause.is_zero() { POLL_INTERVAL } else { pause.min(POLL_INTERVAL) };
            accounts = self.changed.wait_timeout(accounts, timeout).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Account, AccountPace>> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit<'_> {
    /// Reports that the provider refused the agent, for the `times`th time, and perhaps said when to retry. `None` if the
    /// agent is not to be tried again: its retries are used up, those of another trial were, or the provider wants a
    /// longer wait than [`LONGEST_RETRY_WAIT`].
    pub fn refused_again(self, times: u32, settings: &Settings, retry_after: Option<Duration>) -> Option<PaceWait> {
        let retry_after = retry_after.unwrap_or_default();
        if times > settings.retries || retry_after > LONGEST_RETRY_WAIT {
            if let Some(pace) = self.pace.lock().get_mut(&self.account) {
                (pace.given_up, pace.not_before) = (true, None);
            }
            return None;
        }
        self.refused(settings.retry_wait, retry_after, settings.retries - times)
    }

    /// `left` is how often the trial may still be refused after this.
    fn refused(self, first: Duration, retry_after: Duration, left: u32) -> Option<PaceWait> {
        let now = Instant::now();
        let mut accounts = self.pace.lock();
        let pace = accounts.entry(self.account.clone()).or_default();
        if pace.given_up {
            return None;
        }
        if pace.refused.is_none_or(|refused| self.since >= refused) {
            pace.most = Some(pace.running.div_ceil(2).max(1));
            pace.not_before = Some(now + pause(first, pace.refusals, fastrand::f64()).max(retry_after));
            pace.refusals += 1;
            pace.refused = Some(now);
        }
        let pause = pace.not_before?.saturating_duration_since(now);
        let later = (0..left).map(|more| self::pause(first, pace.refusals + more, 0.0));
        Some(PaceWait { pause, at_most: later.fold(pause, Duration::saturating_add) })
    }

    /// Reports that the provider accepted the trial.
    pub fn through(self) {
        let mut accounts = self.pace.lock();
        let pace = accounts.entry(self.account.clone()).or_default();
        if pace.refused.is_none_or(|refused| self.since >= refused) {
            (pace.refusals, pace.given_up) = (0, false);
            pace.most = pace.most.map(|most| most + 1);
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if let Some(pace) = self.pace.lock().get_mut(&self.account) {
            pace.running = pace.running.saturating_sub(1);
        }
        self.pace.changed.notify_all();
    }
}

/// The pause after `before` refusals in a row: `first`, doubled by each. `share` of its upper half is taken off.
fn pause(first: Duration, before: u32, share: f64) -> Duration {
    let whole = first.saturating_mul(1 << before.min(16)).min(LONGEST_RETRY_WAIT);
    whole.mul_f64(1.0 - share / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::login::{Login, LoginSources};
    use crate::settings::mode::{AgentKind, Delivery, Mode};

    fn account_with(mode: &Mode, login: Login) -> Account {
        LoginSources::new(&Settings::default(), mode.agent, Some(mode)).account(login)
    }

    /// The account of the built-in mode of this name, with these additional arguments.
    fn account(mode: &str, arguments: &[&str]) -> Account {
        let mut mode = Mode::built_in().into_iter().find(|known| known.name == mode).expect("a mode");
        mode.args = arguments.iter().map(ToString::to_string).collect();
        account_with(&mode, Login::Missing(String::new()))
    }

    #[test]
    fn modes_wait_together_when_their_credentials_are_the_same() {
        let pace = Pace::default();
        let refused = pace.enter(account("native", &[])).expect("a permit");
        let _ = refused.refused(Duration::from_secs(60), Duration::ZERO, 0);
        let waits = |account| pace.lock().get(&account).is_some_and(|pace| pace.not_before.is_some());
        assert!(waits(account("cli-native", &["--verbose"])), "another program with the same login");
        assert!(waits(account("mcp", &[])) && waits(account("none", &[])));
        assert!(!waits(account("native", &["--settings", "other.json"])), "its own arguments name another login");
        assert!(!waits(account("codex", &[])), "another vendor");
        let settings = Settings::default();
        let judge = LoginSources::new(&settings, AgentKind::ClaudeCli, None);
        assert!(waits(judge.account(Login::Missing(String::new()))), "a judge has no mode, but a login");
    }

    #[test]
    fn agents_of_several_vendors_wait_together_if_they_read_the_same_variable() {
        let by = |agent, variable: &str| {
            account_with(&Mode::new("m", agent, Delivery::Native), Login::Set(variable.to_owned()))
        };
        assert_eq!(by(AgentKind::ClaudeCli, "ANTHROPIC_API_KEY"), by(AgentKind::OpenCode, "ANTHROPIC_API_KEY"));
        assert_ne!(by(AgentKind::OpenCode, "OPENAI_API_KEY"), by(AgentKind::OpenCode, "ANTHROPIC_API_KEY"));
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
    fn a_wait_is_at_least_as_long_as_the_provider_asks() {
        let pace = Pace::default();
        let settings = Settings { retries: 3, retry_wait: Duration::from_secs(2), ..Settings::default() };
        let refused = |times, asked: u64| {
            let permit = pace.enter(account("codex", &[])).expect("a permit");
            let wait = permit.refused_again(times, &settings, Some(Duration::from_secs(asked)));
            // The next attempt begins at once here.
            pace.lock().get_mut(&account("codex", &[])).expect("an account").not_before = None;
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
    fn a_refusal_halves_what_runs_at_once_and_an_accepted_trial_adds_one() {
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
