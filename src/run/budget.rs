//! The limits of a run in money and tokens. They cover all its processes and refused attempts, which its progress file
//! lists.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::process::interrupt;
use crate::run::plan::{PlannedCase, RunPlan};
use crate::settings::mode::AgentKind;
use crate::settings::{Settings, Stop};
use crate::stats::real;
use crate::store::Follower;
use crate::text::problem::Problem;
use crate::trial::not_run::NotRun;

/// How often a waiting trial looks whether the user interrupted the run, or another process has spent something.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// What a gate may cost that nobody limited: in US dollars, or else in tokens.
const GATE_COST_USD: f64 = 5.0;
const GATE_TOKENS: u64 = 5_000_000;

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
        let Settings { max_cost_usd, max_tokens, .. } = *settings;
        let progress = Mutex::new(progress);
        Self { max_cost_usd, max_tokens, progress, running: Mutex::default(), ended: Condvar::new() }
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
            running = self.ended.wait_timeout(running, POLL_INTERVAL).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Whether the limits leave something if each running trial costs as much as those that ended. Before any ended, one runs
    /// alone.
    fn has_room_besides(&self, running: u32) -> bool {
        if running == 0 || self.max_cost_usd.is_none() && self.max_tokens.is_none() {
            return true;
        }
        let [cost, tokens] = self.used();
        let leaves = |used: LimitUse, limit: f64| used.known > 0 && used.with(running) < limit;
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
            if used.known == 0 && used.unknown >= MOST_UNKNOWN {
                return Some(NotRun::UsageUnknown(used.unknown));
            }
            (used.with(0) >= limit).then_some(reason)
        };
        let cost = self.max_cost_usd.and_then(|limit| reached(cost, limit, NotRun::CostLimit(limit)));
        cost.or_else(|| self.max_tokens.and_then(|limit| reached(tokens, real(limit), NotRun::TokenLimit(limit))))
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
pub fn check(settings: &Settings, plan: &RunPlan) -> Result<(), Problem> {
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

/// Limits a run of a gate that nobody limited: dollars, or tokens if the cost of some trial could not be known. An agent that the
/// user describes may tell neither, and a limit that cannot be kept ends a run.
pub fn limit_gate(settings: &mut Settings, plan: &RunPlan) {
    if settings.max_cost_usd.is_some() || settings.max_tokens.is_some() {
        return;
    }
    settings.max_cost_usd = Some(GATE_COST_USD);
    if check(settings, plan).is_err() {
        let tells_tokens = |entry: &PlannedCase| !matches!(entry.planned.mode.agent, AgentKind::Custom(_));
        settings.max_cost_usd = None;
        settings.max_tokens = plan.entries.iter().all(tells_tokens).then_some(GATE_TOKENS);
    }
}

/// The name of a model, or of an agent with its default model, if its cost is unknown.
fn unpriced(settings: &Settings, agent: AgentKind, model: Option<&str>, stop: Stop) -> Option<String> {
    // An agent reports its cost at its end, which a trial that ends early does not reach.
    let is_reported = agent.profile().reports.cost && stop == Stop::End;
    let known = is_reported || settings.prices.of(agent.as_str(), model.as_slice()).is_some();
    (!known).then(|| model.unwrap_or(agent.as_str()).to_owned())
}
