//! How fast trials may start: later and fewer at once while a provider refuses them.
//!
//! Each account has a rate limiter of its own, shared by all modes with the same credentials. A refusal stops new starts for a
//! pause, and halves how many trials run at once; each accepted trial allows one more. The pause doubles with each refusal
//! in a row. It is spread at random, so that several runs with one account do not start again at the same moment. After a
//! trial has used up its retries, others are tried only once until one is accepted.
//!
//! A limit that lasts longer than the run waits closes the account: nothing more starts with it. So does a provider that did not
//! answer in any way to two attempts, one after the other, and to none between them. Other accounts continue.

use std::cell::Cell;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::{Timestamp, Zoned};

use crate::agent::login::Account;
use crate::agent::refusal;
use crate::process::interrupt;
use crate::run::plan::{PlannedCase, RunPlan};
use crate::settings::limits::LONGEST_RETRY_WAIT;
use crate::settings::mode::AgentKind;
use crate::settings::{Settings, Stop};
use crate::stats::real;
use crate::store::Follower;
use crate::text::problem::Problem;
use crate::trace::trouble::{Trouble, TroubleKind};
use crate::trial::outcome::NotRun;

/// How often a waiting trial checks whether the user interrupts the run.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

#[derive(Debug, Default)]
pub struct RateLimiter {
    accounts: Mutex<HashMap<Account, AccountLimit>>,
    changed: Condvar,
    /// Whether refusals keep no other trial from starting.
    ignores_refusals: bool,
}

#[derive(Debug, Default)]
struct AccountLimit {
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
    /// When an attempt ended that met nobody, if none was answered since.
    unreachable: Option<Instant>,
    /// Why nothing more starts.
    closed: Option<ClosedLogin>,
}

/// Credentials with which nothing more starts.
#[derive(Clone, Debug)]
pub struct ClosedLogin {
    /// The agent that was refused first.
    pub agent: AgentKind,
    pub why: ClosedBy,
}

/// What closes a login.
#[derive(Clone, Debug)]
pub enum ClosedBy {
    /// A limit that lasts longer than the run waits, and when it ends, if the provider says so.
    UsageLimit(Option<Timestamp>),
    /// Its provider does not answer in any way, in the agent's words.
    Unreachable(String),
}

/// What a refused trial waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimitWait {
    /// How long nothing of this account starts.
    pub pause: Duration,
    /// Maximum sum of this and all later pauses of the trial.
    pub at_most: Duration,
}

/// Permission to run an agent, for a trial or its judge, until dropped.
#[derive(Debug)]
pub struct Permit<'a> {
    rate_limiter: &'a RateLimiter,
    account: Account,
    since: Instant,
}

impl RateLimiter {
    /// The rate limiter of trials that a scripted model refuses: none says anything about another.
    pub fn ignoring_refusals() -> Self {
        Self { ignores_refusals: true, ..Self::default() }
    }

    /// Waits until a trial with this account may start. Fails if the user interrupted the run, or the account is closed.
    pub fn enter(&self, account: Account) -> Result<Permit<'_>, NotRun> {
        let mut accounts = self.lock();
        loop {
            if interrupt::raised() {
                return Err(NotRun::Interrupted);
            }
            let now = Instant::now();
            let rate_limiter = accounts.entry(account.clone()).or_default();
            match rate_limiter.closed.as_ref().map(|closed| &closed.why) {
                Some(ClosedBy::UsageLimit(_)) => return Err(NotRun::UsageLimit),
                Some(ClosedBy::Unreachable(_)) => return Err(NotRun::Unreachable),
                None => {}
            }
            let pause = rate_limiter.not_before.map_or(Duration::ZERO, |at| at.saturating_duration_since(now));
            if pause.is_zero() && rate_limiter.most.is_none_or(|most| rate_limiter.running < most) {
                rate_limiter.running += 1;
                return Ok(Permit { rate_limiter: self, account, since: now });
            }
            let timeout = if pause.is_zero() { POLL_INTERVAL } else { pause.min(POLL_INTERVAL) };
            accounts = self.changed.wait_timeout(accounts, timeout).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The logins with which nothing more starts, by the names of their agents.
    pub fn closed(&self) -> Vec<ClosedLogin> {
        let mut closed: Vec<ClosedLogin> =
            self.lock().values().filter_map(|rate_limiter| rate_limiter.closed.clone()).collect();
        closed.sort_by_key(|closed| closed.agent.as_str());
        closed
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Account, AccountLimit>> {
        self.accounts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Permit<'_> {
    /// Reports that the provider refused the agent with this trouble, for the `times`th time. `None` if the agent is not to be
    /// tried again: its retries are used up, those of another trial were, the refusal lasts longer than [`LONGEST_RETRY_WAIT`], or
    /// the provider did not answer in any way again. In the last two cases nothing more starts with its account.
    pub fn refused_again(
        self,
        times: u32,
        settings: &Settings,
        agent: AgentKind,
        trouble: &Trouble,
    ) -> Option<RateLimitWait> {
        if self.rate_limiter.ignores_refusals {
            return None;
        }
        let now = Zoned::now();
        let lasts =
            trouble.retry_after_s.map(Duration::from_secs).or_else(|| refusal::refusal_lasts(&trouble.detail, &now));
        if lasts.map_or(trouble.kind == TroubleKind::UsageLimit, |lasts| lasts > LONGEST_RETRY_WAIT) {
            let ends = lasts.and_then(|lasts| now.timestamp().checked_add(lasts).ok());
            return self.close(agent, ClosedBy::UsageLimit(ends));
        }
        if trouble.kind == TroubleKind::Unreachable && self.meets_nobody_again() {
            return self.close(agent, ClosedBy::Unreachable(trouble.detail.clone()));
        }
        if times > settings.retries {
            if let Some(rate_limiter) = self.rate_limiter.lock().get_mut(&self.account) {
                (rate_limiter.given_up, rate_limiter.not_before) = (true, None);
            }
            return None;
        }
        self.refused(
            settings.retry_wait,
            lasts.unwrap_or_default(),
            trouble.attempts(settings.retries).saturating_sub(times + 1),
        )
    }

    /// Nothing more starts with the account.
    fn close(&self, agent: AgentKind, why: ClosedBy) -> Option<RateLimitWait> {
        if let Some(rate_limiter) = self.rate_limiter.lock().get_mut(&self.account) {
            rate_limiter.closed.get_or_insert(ClosedLogin { agent, why });
        }
        None
    }

    /// Whether an attempt that ended before this one began met nobody either, and none was answered since.
    fn meets_nobody_again(&self) -> bool {
        let mut accounts = self.rate_limiter.lock();
        let Some(rate_limiter) = accounts.get_mut(&self.account) else { return false };
        let before = *rate_limiter.unreachable.get_or_insert_with(Instant::now);
        self.since >= before
    }

    /// `left` is how often the trial may still be refused after this.
    fn refused(self, first: Duration, retry_after: Duration, left: u32) -> Option<RateLimitWait> {
        let now = Instant::now();
        let mut accounts = self.rate_limiter.lock();
        let rate_limiter = accounts.entry(self.account.clone()).or_default();
        if rate_limiter.given_up || rate_limiter.closed.is_some() {
            return None;
        }
        if rate_limiter.refused.is_none_or(|refused| self.since >= refused) {
            // One is enough to see whether the provider can be reached again.
            rate_limiter.most =
                Some(if rate_limiter.unreachable.is_some() { 1 } else { rate_limiter.running.div_ceil(2).max(1) });
            rate_limiter.not_before = Some(now + pause(first, rate_limiter.refusals, fastrand::f64()).max(retry_after));
            rate_limiter.refusals += 1;
            rate_limiter.refused = Some(now);
        }
        let pause = rate_limiter.not_before?.saturating_duration_since(now);
        let later = (0..left).map(|more| self::pause(first, rate_limiter.refusals + more, 0.0));
        Some(RateLimitWait { pause, at_most: later.fold(pause, Duration::saturating_add) })
    }

    /// Reports that the provider accepted the trial.
    pub fn through(self) {
        let mut accounts = self.rate_limiter.lock();
        let rate_limiter = accounts.entry(self.account.clone()).or_default();
        rate_limiter.unreachable = None;
        if rate_limiter.refused.is_none_or(|refused| self.since >= refused) {
            (rate_limiter.refusals, rate_limiter.given_up) = (0, false);
            rate_limiter.most = rate_limiter.most.map(|most| most + 1);
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        if let Some(rate_limiter) = self.rate_limiter.lock().get_mut(&self.account) {
            rate_limiter.running = rate_limiter.running.saturating_sub(1);
        }
        self.rate_limiter.changed.notify_all();
    }
}

/// The pause after `before` refusals in a row: `first`, doubled by each. `share` of its upper half is taken off.
fn pause(first: Duration, before: u32, share: f64) -> Duration {
    let whole = first.saturating_mul(1 << before.min(16)).min(LONGEST_RETRY_WAIT);
    whole.mul_f64(1.0 - share / 2.0)
}

// Limits how many trials run at once, whichever thread started them.

#[derive(Debug)]
pub struct Semaphore {
    free: Mutex<usize>,
    freed: Condvar,
}

/// Permission to run a trial, until dropped.
#[derive(Debug)]
pub struct SemaphorePermit<'a>(&'a Semaphore);

impl Semaphore {
    pub fn new(count: usize) -> Self {
        Self { free: Mutex::new(count.max(1)), freed: Condvar::new() }
    }

    pub fn take(&self) -> SemaphorePermit<'_> {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.freed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        SemaphorePermit(self)
    }
}

impl Drop for SemaphorePermit<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

// Which prompts a provider's cache has by now. Trials in a mode begin with the same text: tools, instructions, the list of skills. The
// first of them leads, and the others start when its model has begun to answer: only then can they read what the leader wrote to
// the cache. Nobody waits longer than for the leader's end.

/// How long a cache keeps what nobody reads.
const CACHE_LIFE: Duration = Duration::from_secs(300);

/// What a cache has of a prompt.
#[derive(Clone, Copy, Debug)]
pub(super) enum CachedPrompt {
    /// A trial is about to write it.
    Leading,
    /// It was read or written then, or its leader ended without an answer: nobody waits for another one.
    Since(Instant),
}

impl CachedPrompt {
    pub fn now() -> Self {
        Self::Since(Instant::now())
    }

    /// Whether a trial has to wait for another one; `None` if it leads itself.
    pub fn waits(known: Option<&Self>) -> Option<bool> {
        match known {
            Some(Self::Leading) => Some(true),
            Some(Self::Since(at)) if at.elapsed() < CACHE_LIFE => Some(false),
            _ => None,
        }
    }
}

/// The prompts of a run that trials share, by `prefix`.
#[derive(Debug, Default)]
pub struct CacheLeaders {
    prompts: Mutex<HashMap<String, CachedPrompt>>,
    changed: Condvar,
}

/// A trial with a shared prompt, until dropped.
#[derive(Debug)]
pub(super) struct CacheLeader<'a> {
    cache_leaders: &'a CacheLeaders,
    prefix: String,
    /// Whether it leads, and its model has not begun to answer.
    is_awaited: Cell<bool>,
}

impl CacheLeaders {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, CachedPrompt>> {
        self.prompts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while another trial with this prefix leads.
    pub(super) fn enter(&self, prefix: String) -> CacheLeader<'_> {
        let mut prompts = self.lock();
        loop {
            match CachedPrompt::waits(prompts.get(&prefix)) {
                Some(true) if !interrupt::raised() => {
                    let waited = self.changed.wait_timeout(prompts, POLL_INTERVAL);
                    prompts = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
                Some(_) => return CacheLeader { cache_leaders: self, prefix, is_awaited: Cell::new(false) },
                None => {
                    prompts.insert(prefix.clone(), CachedPrompt::Leading);
                    return CacheLeader { cache_leaders: self, prefix, is_awaited: Cell::new(true) };
                }
            }
        }
    }
}

impl CacheLeader<'_> {
    /// The model has begun an answer.
    pub fn answers(&self) {
        self.cache_leaders.lock().insert(self.prefix.clone(), CachedPrompt::now());
        if self.is_awaited.replace(false) {
            self.cache_leaders.changed.notify_all();
        }
    }
}

impl Drop for CacheLeader<'_> {
    fn drop(&mut self) {
        if self.is_awaited.get() {
            self.answers();
        }
    }
}

// The limits of a run in money and tokens. They cover all its processes and refused attempts, which its progress file
// lists.

/// How often a waiting trial looks whether the user interrupted the run, or another process has spent something.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(100);

/// What a gate or a comparison may cost that nobody limited: in US dollars, or else in tokens.
const DEFAULT_COST_USD: f64 = 5.0;
const DEFAULT_TOKENS: u64 = 5_000_000;

/// How many attempts may report nothing before any reports something. An agent that never does would never reach a limit.
const MOST_UNKNOWN: u32 = 3;

/// What the attempts of a run have used of a limit.
#[derive(Clone, Copy, Debug, Default)]
struct LimitUse {
    amount: f64,
    /// The attempts whose amount this is.
    known: u32,
    /// The attempts that reported nothing.
    unknown: u32,
    /// The attempts with tokens that have no price.
    unpriced: u32,
}

impl LimitUse {
    fn add(&mut self, amount: Option<f64>, may_have_spent: bool) {
        self.amount += amount.unwrap_or_default();
        self.known += u32::from(amount.is_some());
        self.unknown += u32::from(amount.is_none() && may_have_spent);
    }

    /// The amount with this many further attempts. These, and the unknown ones, each count as much as the mean of the known.
    fn with(self, further: u32) -> f64 {
        let more = f64::from(self.unknown) + f64::from(further);
        self.amount * (1.0 + more / f64::from(self.known.max(1)))
    }
}

/// The limits of a run, and the file that records its cost.
#[derive(Debug)]
pub struct Budget {
    max_cost_usd: Option<f64>,
    max_tokens: Option<u64>,
    /// Whether nobody chose them: what cannot be counted stops nothing then.
    is_default: bool,
    progress: Mutex<Follower>,
    /// How many trials are running, whose cost is not known yet.
    running: Mutex<u32>,
    ended: Condvar,
}

/// The place of a running trial, until it is dropped.
#[derive(Debug)]
pub struct BudgetPermit<'a>(&'a Budget);

impl Budget {
    pub fn new(settings: &Settings, progress: Follower) -> Self {
        let Settings { max_cost_usd, max_tokens, limit_is_default: is_default, .. } = *settings;
        let progress = Mutex::new(progress);
        Self { max_cost_usd, max_tokens, is_default, progress, running: Mutex::default(), ended: Condvar::new() }
    }

    /// Waits until a trial may start: until those that are running are expected to leave something of the limit. `None` if
    /// the limit is reached, or the user interrupted the run.
    pub fn enter(&self) -> Option<BudgetPermit<'_>> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if interrupt::raised() || self.used_up().is_some() {
                return None;
            }
            if self.has_room_besides(*running) {
                *running += 1;
                return Some(BudgetPermit(self));
            }
            running = self.ended.wait_timeout(running, FOLLOW_INTERVAL).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether the limits leave something if each running trial costs as much as those that ended. Before any ended, one runs
    /// alone, if somebody chose the limits.
    fn has_room_besides(&self, running: u32) -> bool {
        if running == 0 || self.max_cost_usd.is_none() && self.max_tokens.is_none() {
            return true;
        }
        let [cost, tokens] = self.used();
        let leaves = |used: LimitUse, limit: f64| match used.known {
            0 => self.is_default,
            _ => used.with(running) < limit,
        };
        self.max_cost_usd.is_none_or(|limit| leaves(cost, limit))
            && self.max_tokens.is_none_or(|limit| leaves(tokens, real(limit)))
    }

    /// The limit that the run has reached, if any.
    pub fn used_up(&self) -> Option<NotRun> {
        if self.max_cost_usd.is_none() && self.max_tokens.is_none() {
            return None;
        }
        let [cost, tokens] = self.used();
        let reached = |used: LimitUse, limit: f64, reason: NotRun| {
            if used.unpriced > 0 {
                return Some(NotRun::NoPrice(used.unpriced));
            }
            if used.known == 0 && used.unknown >= MOST_UNKNOWN && !self.is_default {
                return Some(NotRun::UsageUnknown(used.unknown));
            }
            (used.with(0) >= limit).then_some(reason)
        };
        let (mut max_cost_usd, mut max_tokens) = (self.max_cost_usd, self.max_tokens);
        if self.is_default && cost.unpriced > 0 {
            (max_cost_usd, max_tokens) = (None, max_tokens.or(Some(DEFAULT_TOKENS)));
        }
        let cost = max_cost_usd.and_then(|limit| reached(cost, limit, NotRun::CostLimit(limit)));
        cost.or_else(|| max_tokens.and_then(|limit| reached(tokens, real(limit), NotRun::TokenLimit(limit))))
    }

    /// The limit that somebody set and that no attempt could count against, although the run ended by itself, with the number of
    /// attempts.
    pub fn uncounted(&self) -> Option<(String, u32)> {
        let [cost, tokens] = self.used();
        let is_uncounted = |used: LimitUse| used.known == 0 && used.unknown > 0 && !self.is_default;
        let cost = self.max_cost_usd.filter(|_| is_uncounted(cost)).map(|limit| (format!("${limit}"), cost.unknown));
        let tokens =
            self.max_tokens.filter(|_| is_uncounted(tokens)).map(|limit| (format!("{limit} tokens"), tokens.unknown));
        cost.or(tokens).filter(|_| self.used_up().is_none())
    }

    /// What the run has cost in dollars, each attempt of unknown cost as much as the mean of the known; `None` if none is known.
    pub fn cost_usd(&self) -> Option<f64> {
        let [cost, _] = self.used();
        let is_known = cost.unpriced == 0 && (cost.known > 0 || cost.unknown == 0);
        is_known.then(|| cost.with(0))
    }

    /// What the run has used in dollars and in tokens.
    fn used(&self) -> [LimitUse; 2] {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        // If the file cannot be read now, its contents at the last look count.
        let _ = progress.look();
        let mut both = <[LimitUse; 2]>::default();
        for (spent, may_have_spent) in progress.seen().attempts() {
            let [cost, tokens] = &mut both;
            // A whole usage without a price says that the next one has no price either.
            cost.unpriced += u32::from(spent.cost_incomplete && !spent.tokens_incomplete);
            cost.add(spent.cost_usd, may_have_spent);
            tokens.add(spent.tokens.map(real), may_have_spent);
        }
        both
    }
}

impl Drop for BudgetPermit<'_> {
    fn drop(&mut self) {
        let mut running = self.0.running.lock().unwrap_or_else(PoisonError::into_inner);
        *running = running.saturating_sub(1);
        self.0.ended.notify_all();
    }
}

/// Refuses a limit in dollars if the cost of some trial could not be known: the limit would never stop the run.
pub fn check_budget(settings: &Settings, plan: &RunPlan) -> Result<(), Problem> {
    if settings.max_cost_usd.is_none() {
        return Ok(());
    }
    let modes = plan.entries.iter().map(|entry| &entry.planned.mode);
    let mut unpriced: BTreeSet<String> =
        modes.filter_map(|mode| unpriced(settings, mode.agent, settings.model_for(mode), settings.stops())).collect();
    if plan.is_judged(settings) {
        unpriced.extend(self::unpriced(settings, settings.judge.agent, settings.judge.model.as_deref(), Stop::End));
    }
    let Some(first) = unpriced.first() else { return Ok(()) };
    let whole = if settings.stops() == Stop::Settled {
        ", or let trials run to their end with `trial_end = \"end\"`"
    } else {
        ""
    };
    let list = unpriced.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    Err(format!(
        "a limit in dollars cannot be enforced: {list} does not report what it costs; \
         give a price in evals/evals.toml, [prices.\"{first}\"] with `input` and `output` in dollars for a million tokens, \
         or limit tokens with --max-tokens{whole}"
    ).into())
}

/// Limits a gate or a comparison that nobody limited: dollars, or tokens if the cost of some trial could not be known. An agent
/// that the user describes may tell neither.
pub fn set_default_limit(settings: &mut Settings, plan: &RunPlan) {
    if settings.max_cost_usd.is_some() || settings.max_tokens.is_some() {
        return;
    }
    settings.limit_is_default = true;
    settings.max_cost_usd = Some(DEFAULT_COST_USD);
    if check_budget(settings, plan).is_err() {
        let tells_tokens = |entry: &PlannedCase| !matches!(entry.planned.mode.agent, AgentKind::Custom(_));
        settings.max_cost_usd = None;
        settings.max_tokens = plan.entries.iter().all(tells_tokens).then_some(DEFAULT_TOKENS);
    }
}

/// The name of a model, or of an agent with its default model, if its cost is unknown.
fn unpriced(settings: &Settings, agent: AgentKind, model: Option<&str>, stop: Stop) -> Option<String> {
    // An agent reports its cost at its end, which a trial that ends early does not reach.
    let is_reported = agent.profile().reports.cost && stop == Stop::End;
    let known = is_reported || settings.prices.of(agent.as_str(), model.as_slice()).is_some();
    (!known).then(|| model.unwrap_or(agent.as_str()).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::login::{Login, LoginSources};
    use crate::settings::mode::Delivery;
    use crate::settings::mode::Mode;

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
        let rate_limiter = RateLimiter::default();
        let refused = rate_limiter.enter(account("native", &[])).expect("a permit");
        let _ = refused.refused(Duration::from_secs(60), Duration::ZERO, 0);
        let waits =
            |account| rate_limiter.lock().get(&account).is_some_and(|rate_limiter| rate_limiter.not_before.is_some());
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
        let rate_limiter = RateLimiter::default();
        let settings = Settings { retries: 3, retry_wait: Duration::from_secs(2), ..Settings::default() };
        let refused = |times, asked: u64| {
            let permit = rate_limiter.enter(account("codex", &[])).expect("a permit");
            let trouble = Trouble::new(TroubleKind::RateLimit, "429").after(Some(Duration::from_secs(asked)));
            let wait = permit.refused_again(times, &settings, AgentKind::Codex, &trouble);
            // The next attempt begins at once here.
            rate_limiter.lock().get_mut(&account("codex", &[])).expect("an account").not_before = None;
            wait.map(|wait| (wait.pause.as_secs(), wait.at_most.as_secs()))
        };
        assert_eq!(refused(1, 30), Some((30, 30 + 4 + 8)));
        assert_eq!(refused(2, 7), Some((7, 7 + 8)));
        assert_eq!(refused(3, 100), Some((100, 100)));
        assert_eq!(refused(4, 1), None, "it was tried often enough");
    }

    #[test]
    fn nothing_more_starts_with_an_account_whose_limit_lasts_longer_than_a_run_waits() {
        let settings = Settings { retries: 3, ..Settings::default() };
        let limit = |kind, detail: &str, retry_after_s| {
            let rate_limiter = RateLimiter::default();
            let (first, other) = (account("native", &[]), account("codex", &[]));
            let running = rate_limiter.enter(first.clone()).expect("a permit");
            let permit = rate_limiter.enter(first.clone()).expect("a permit");
            let trouble = Trouble { retry_after_s, ..Trouble::new(kind, detail) };
            let waits = permit.refused_again(1, &settings, AgentKind::ClaudeCli, &trouble).is_some();
            assert!(rate_limiter.enter(other).is_ok(), "other accounts continue");
            let closed = rate_limiter.closed();
            assert_ne!(waits, !closed.is_empty());
            let known = closed.first().map(|closed| matches!(closed.why, ClosedBy::UsageLimit(Some(_))));
            if known.is_some() {
                assert_eq!(rate_limiter.enter(first.clone()).err(), Some(NotRun::UsageLimit));
                // What is running continues, and is not tried again.
                let short = Trouble::new(TroubleKind::RateLimit, "429");
                assert_eq!(running.refused_again(1, &settings, AgentKind::ClaudeCli, &short), None);
            }
            known
        };
        assert_eq!(limit(TroubleKind::RateLimit, "429", Some(7200)), Some(true));
        assert_eq!(limit(TroubleKind::RateLimit, "try again in 2 days 3 hours", None), Some(true));
        assert_eq!(
            limit(TroubleKind::UsageLimit, "You've hit your weekly limit · resets Dec 24 (UTC)", None),
            Some(true)
        );
        assert_eq!(limit(TroubleKind::UsageLimit, "You're out of usage credits", None), Some(false), "who knows");
        assert_eq!(limit(TroubleKind::UsageLimit, "daily quota; retry in 7s", None), None, "it waits for that");
        assert_eq!(limit(TroubleKind::RateLimit, "429", Some(300)), None);
    }

    #[test]
    fn nothing_more_starts_with_an_account_whose_provider_twice_did_not_answer_in_any_way() {
        let settings = Settings { retry_wait: Duration::from_millis(1), ..Settings::default() };
        let first = account("codex", &[]);
        let unreachable = Trouble::new(TroubleKind::Unreachable, "Connection refused");
        let refused = |permit: Permit<'_>| permit.refused_again(1, &settings, AgentKind::Codex, &unreachable).is_some();
        let rate_limiter = RateLimiter::default();
        let enter = || rate_limiter.enter(first.clone());
        let together = [enter().expect("a permit"), enter().expect("a permit")];
        assert!(together.into_iter().all(refused), "they ran at the same time");
        enter().expect("a permit").through();
        assert!(refused(enter().expect("a permit")), "another was answered since");
        assert!(rate_limiter.closed().is_empty());
        assert!(!refused(enter().expect("a permit")));
        assert_eq!(enter().err(), Some(NotRun::Unreachable));
        assert!(rate_limiter.enter(account("native", &[])).is_ok(), "other accounts continue");
        let why: Vec<ClosedBy> = rate_limiter.closed().into_iter().map(|closed| closed.why).collect();
        assert!(matches!(&why[..], [ClosedBy::Unreachable(why)] if why == "Connection refused"), "{why:?}");
    }

    #[test]
    fn a_refusal_halves_what_runs_at_once_and_an_accepted_trial_adds_one() {
        let rate_limiter = RateLimiter::default();
        let mut permits: Vec<Permit<'_>> =
            (0..8).map(|_| rate_limiter.enter(account("codex", &[])).expect("a permit")).collect();
        let most = || rate_limiter.lock()[&account("codex", &[])].most;
        let first = permits.pop().expect("a permit");
        let ms = Duration::from_millis;
        let _ = first.refused(ms(1), ms(0), 0);
        assert_eq!(most(), Some(4));
        // The others were already running: their refusals and successes belong to the time before.
        let _ = permits.pop().expect("a permit").refused(ms(1), ms(0), 0);
        permits.pop().expect("a permit").through();
        assert_eq!((most(), rate_limiter.lock()[&account("codex", &[])].refusals), (Some(4), 1));
        drop(permits);
        let later = rate_limiter.enter(account("codex", &[])).expect("a permit");
        later.through();
        assert_eq!((most(), rate_limiter.lock()[&account("codex", &[])].refusals), (Some(5), 0));
    }
}
