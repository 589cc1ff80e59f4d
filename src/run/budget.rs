//! The limits of a run in money and tokens. They cover all its processes and refused attempts, which its progress file
//! lists.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::run::plan::RunPlan;
use crate::settings::Settings;
use crate::settings::mode::AgentKind;
use crate::store::{Follower, LedgerContents};
use crate::trial::outcome::NotRun;

/// The limits of a run, and the file that records its cost.
#[derive(Debug)]
pub struct Budget {
    max_cost_usd: Option<f64>,
    max_tokens: Option<u64>,
    progress: Mutex<Follower>,
}

impl Budget {
    pub fn new(settings: &Settings, progress: Follower) -> Self {
        let Settings { max_cost_usd, max_tokens, .. } = *settings;
        Self { max_cost_usd, max_tokens, progress: Mutex::new(progress) }
    }

    /// The limit that the run has reached, if any.
    pub fn used_up(&self) -> Option<NotRun> {
        if self.max_cost_usd.is_none() && self.max_tokens.is_none() {
            return None;
        }
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        // If the file cannot be read now, its contents at the last look count.
        let spent = progress.look().map(LedgerContents::spent).unwrap_or_default();
        let cost = self.max_cost_usd.filter(|limit| spent.cost_usd.unwrap_or_default() >= *limit);
        let tokens = self.max_tokens.filter(|limit| spent.tokens.unwrap_or_default() >= *limit);
        cost.map(NotRun::CostLimit).or(tokens.map(NotRun::TokenLimit))
    }
}

/// Refuses a limit in dollars if the cost of some trial could not be known: the limit would never stop the run.
pub fn check(settings: &Settings, plan: &RunPlan) -> Result<(), String> {
    if settings.max_cost_usd.is_none() {
        return Ok(());
    }
    let modes = plan.entries.iter().map(|entry| &entry.planned.mode);
    let mut unpriced: BTreeSet<String> =
        modes.filter_map(|mode| unpriced(settings, mode.agent, settings.model_for(mode))).collect();
    if plan.is_judged(settings) {
        unpriced.extend(self::unpriced(settings, settings.judge.agent, settings.judge.model.as_deref()));
    }
    let Some(first) = unpriced.first() else { return Ok(()) };
    let list = unpriced.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    Err(format!(
        "a limit in dollars cannot be enforced: {list} does not report what it costs; \
         give a price in evals/evals.toml, [prices.\"{first}\"] with `input` and `output` in dollars for a million tokens, \
         or limit tokens with --max-tokens"
    ))
}

/// The name of a model, or of an agent with its default model, if its cost is unknown.
fn unpriced(settings: &Settings, agent: AgentKind, model: Option<&str>) -> Option<String> {
    let known = agent.profile().reports_cost || settings.prices.of(agent.as_str(), model).is_some();
    (!known).then(|| model.unwrap_or(agent.as_str()).to_owned())
}
