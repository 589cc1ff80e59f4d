//! What a run may take in money and tokens, and what it has taken so far: in all its processes, refused attempts
//! included, according to its progress file.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::run::plan::RunPlan;
use crate::settings::Settings;
use crate::store::Follower;
use crate::trial::outcome::NotRun;

/// The limits of a run, and the file that records what it took.
#[derive(Debug)]
pub struct Budget {
    max_cost_usd: Option<f64>,
    max_tokens: Option<u64>,
    progress: Mutex<Follower>,
}

impl Budget {
    /// The limits in the settings, checked against this progress file.
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
        // A file that cannot be read now was written a moment ago; what it said then still counts.
        let spent = progress.look().map(crate::store::LedgerContents::spent).unwrap_or_default();
        let cost = self.max_cost_usd.filter(|limit| spent.cost_usd.unwrap_or_default() >= *limit);
        let tokens = self.max_tokens.filter(|limit| spent.tokens.unwrap_or_default() >= *limit);
        cost.map(NotRun::CostLimit).or(tokens.map(NotRun::TokenLimit))
    }
}

/// Refuses a limit in dollars where what a trial costs could not be known: it would never stop the run.
pub fn check(settings: &Settings, plan: &RunPlan) -> Result<(), String> {
    if settings.max_cost_usd.is_none() {
        return Ok(());
    }
    let unpriced = |agent: crate::settings::mode::AgentKind, model: Option<&str>| {
        let known = agent.profile().reports_cost || settings.prices.of(agent.as_str(), model).is_some();
        (!known).then(|| model.unwrap_or(agent.as_str()).to_owned())
    };
    let modes = plan.entries.iter().filter_map(|entry| {
        let mode = &entry.planned.mode;
        unpriced(mode.agent, settings.model_for(mode))
    });
    let mut names: BTreeSet<String> = modes.collect();
    if plan.is_judged(settings) {
        names.extend(unpriced(settings.judge.agent, settings.judge.model.as_deref()));
    }
    let Some(first) = names.first() else { return Ok(()) };
    let list = names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    Err(format!(
        "a limit in dollars cannot be enforced: {list} does not report what it costs; \
         give a price in evals/evals.toml, [prices.\"{first}\"] with `input` and `output` in dollars for a million tokens, \
         or limit tokens with --max-tokens"
    ))
}
