//! What earlier runs and recordings say about the cost of a planned run.

use std::collections::BTreeMap;
use std::path::Path;

use crate::agent;
use crate::results::estimate::KnownCost;
use crate::settings::Prices;
use crate::store;
use crate::trace::exposure::Reference;
use crate::trial::id::{CaseInMode, TrialId};
use crate::trial::spent::AttemptCost;

/// How many earlier runs are read for what cases cost.
const RUNS: usize = 50;

/// The most that trials of these cases are known to have taken; nothing of cases of which nothing is known.
#[must_use]
pub fn known_costs(root: &Path, prices: &Prices, ids: &[TrialId]) -> BTreeMap<CaseInMode, KnownCost> {
    let mut known: BTreeMap<CaseInMode, KnownCost> =
        ids.iter().map(|id| (CaseInMode::of(id), KnownCost::default())).collect();
    for run in store::runs(root).into_iter().take(RUNS) {
        // A run whose progress cannot be read tells nothing.
        for record in run.progress().map(|progress| progress.records).unwrap_or_default().into_values() {
            if let Some(known) = known.get_mut(&CaseInMode::of(&record.id)) {
                // What is known in part is no most.
                let AttemptCost { tokens, cost_usd, tokens_incomplete: more_tokens, cost_incomplete: more_cost } =
                    record.spent;
                known.at_least(cost_usd.filter(|_| !more_cost), tokens.filter(|_| !more_tokens));
            }
        }
    }
    for id in ids {
        let folder = store::recording(root, id);
        let Ok(meta) = folder.meta() else { continue };
        // For the usage alone no text of a skill is needed.
        let reference = Reference { names: meta.tool_names(), ..Reference::default() };
        let trace = agent::of(meta.agent.kind).decode(&reference, folder.path());
        let usage = trace.ok().and_then(|trace| trace.usage);
        let spent = AttemptCost::by(meta.agent.kind, meta.agent.model.as_deref(), usage.as_ref(), prices);
        if let Some(known) = known.get_mut(&CaseInMode::of(id)) {
            known.at_least(spent.cost_usd, spent.tokens);
        }
    }
    known.retain(|_, known| *known != KnownCost::default());
    known
}
