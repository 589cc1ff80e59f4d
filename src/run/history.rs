//! The cost of a planned run, according to earlier runs and recordings.

use std::collections::BTreeMap;
use std::path::Path;

use crate::agent;
use crate::results::estimate::KnownCost;
use crate::settings::Prices;
use crate::store;
use crate::trace::exposure::Reference;
use crate::trial::id::{CaseInMode, TrialId};
use crate::trial::spent::AttemptCost;

/// Maximum number of earlier runs that are read.
const RUNS: usize = 50;

/// The highest known cost of a trial of each of these cases. Cases of unknown cost are missing.
pub fn known_costs(root: &Path, prices: &Prices, ids: &[TrialId]) -> BTreeMap<CaseInMode, KnownCost> {
    let mut known: BTreeMap<CaseInMode, KnownCost> =
        ids.iter().map(|id| (CaseInMode::of(id), KnownCost::default())).collect();
    for run in store::runs(root).unwrap_or_default().into_iter().take(RUNS) {
        // Runs with unreadable progress are ignored.
        for record in run.progress().map(|progress| progress.records).unwrap_or_default().into_values() {
            if let Some(known) = known.get_mut(&CaseInMode::of(&record.id)) {
                // An incomplete sum is not a maximum.
                let spent = record.spent;
                let cost_usd = spent.cost_usd.filter(|_| !spent.cost_incomplete);
                known.at_least(cost_usd, spent.tokens.filter(|_| !spent.tokens_incomplete));
            }
        }
    }
    for id in ids {
        let folder = store::recording(root, id);
        let (Ok(meta), Some(known)) = (folder.meta(), known.get_mut(&CaseInMode::of(id))) else { continue };
        // The usage alone needs no skill texts.
        let reference = Reference { names: meta.tool_names(), ..Reference::default() };
        let trace = agent::of(meta.agent.kind).decode(&reference, folder.path());
        let usage = trace.ok().and_then(|trace| trace.usage);
        let spent = AttemptCost::by(meta.agent.kind, &meta.agent.models(), usage.as_ref(), prices);
        known.at_least(spent.cost_usd, spent.tokens);
    }
    known.retain(|_, known| *known != KnownCost::default());
    known
}

/// The same for a run of each case in several variants: one that never ran costs about as much as another of the same case.
pub fn known_costs_of_variants(root: &Path, prices: &Prices, ids: &[TrialId]) -> BTreeMap<CaseInMode, KnownCost> {
    let mut known = known_costs(root, prices, ids);
    let mut of_case = BTreeMap::new();
    for (case, cost) in &known {
        of_case.entry((case.skill.clone(), case.case.clone())).or_insert(*cost);
    }
    for id in ids {
        if let Some(cost) = of_case.get(&(id.skill.clone(), id.case.clone())) {
            known.entry(CaseInMode::of(id)).or_insert(*cost);
        }
    }
    known
}
