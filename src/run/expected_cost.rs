//! The cost of a planned run: by earlier runs and recordings, else by the requests that the agents send.

use std::collections::{BTreeMap, BTreeSet};

use super::calibration::InstalledAgent;
use super::digests::MODEL;
use super::planned::PlannedRun;
use crate::agent;
use crate::cases::selection::TestCase;
use crate::results::estimate::{self, AmountRange, Estimate, ExpectedCost, KnownCost};
use crate::settings::mode::{Delivery, Mode};
use crate::settings::{Price, Settings};
use crate::stats::proportion::Rate;
use crate::stats::real;
use crate::store::{self, TrialFolder, TrialOrigin};
use crate::trace::exposure::Reference;
use crate::trial::evidence::digest;
use crate::trial::id::{CaseInMode, TrialId};
use crate::trial::outcome::AttemptCost;
use crate::trial::outcome::Verdict;

/// Maximum number of earlier runs that are read.
const RUNS: usize = 50;

/// Requests of a trial: a skill is opened with the second at the earliest, and few trials need more than the last.
const REQUESTS: AmountRange<u64> = AmountRange { low: 2, high: 12 };

/// Tokens that a model writes for a request.
const WRITTEN: AmountRange<u64> = AmountRange { low: 50, high: 1_000 };

/// Bytes of a token, about.
const TOKEN_BYTES: usize = 4;

/// What these trials of the run may cost.
pub fn estimate(run: &PlannedRun, ids: &[TrialId]) -> Estimate {
    let settings = &run.settings;
    let mut known = if settings.live { known_costs(run, ids) } else { BTreeMap::new() };
    if run.sides.is_some() || run.variants.is_some() {
        complete(&mut known, ids);
    }
    // A scripted model costs nothing that its script does not say.
    let is_asked = settings.live && settings.scripted.is_none();
    let expected = if is_asked { expected(run, ids, &known) } else { None };
    Estimate { expected, ..estimate::estimate(ids, &known, settings.max_cost_usd) }
}

/// What the trials without known tokens may take, if the size of their agent's first request is known.
fn expected(run: &PlannedRun, ids: &[TrialId], known: &BTreeMap<CaseInMode, KnownCost>) -> Option<ExpectedCost> {
    let mut trials: BTreeMap<CaseInMode, u64> = BTreeMap::new();
    for case in ids.iter().map(CaseInMode::of) {
        if known.get(&case).is_none_or(|known| known.tokens.is_none()) {
            *trials.entry(case).or_default() += 1;
        }
    }
    let (mut all, mut overheads, mut priced) = (ExpectedCost::default(), BTreeMap::new(), BTreeMap::new());
    let mut cost = Some(AmountRange::<f64>::default());
    for case in run.plan.entries.iter().map(|entry| &entry.planned) {
        let Some(trials) = trials.remove(&case.case_in_mode()) else { continue };
        let agent = case.mode.agent.as_str();
        let overhead = overheads.entry(agent).or_insert_with(|| overhead(&run.settings, &case.mode));
        let Some(overhead) = overhead else { continue };
        let of = of_trial(run, case, overhead.tokens);
        all.trials += trials;
        all.tokens.low += trials * of.low.all();
        all.tokens.high += trials * of.high.all();
        let model = (agent, run.settings.model_for(&case.mode));
        let priced = priced.entry(model).or_insert_with(|| PricedModel::of(run, &case.mode, ids));
        cost = cost.zip(priced.range(of)).map(|(sum, of)| AmountRange {
            low: sum.low + real(trials) * of.low,
            high: sum.high + real(trials) * of.high,
        });
        for basis in std::iter::once(&overhead.basis).chain(&priced.basis) {
            if !all.basis.contains(basis) {
                all.basis.push(basis.clone());
            }
        }
    }
    all.cost_usd = cost;
    Some(all).filter(|all| all.trials > 0)
}

/// The highest known cost of a trial of each of these cases. Cases of unknown cost are missing.
fn known_costs(run: &PlannedRun, ids: &[TrialId]) -> BTreeMap<CaseInMode, KnownCost> {
    // What a scripted model took says nothing about another.
    let is_like = |scripted: &Option<String>| scripted.is_none() || *scripted == run.settings.scripted;
    let mut known: BTreeMap<CaseInMode, KnownCost> =
        ids.iter().map(|id| (CaseInMode::of(id), KnownCost::default())).collect();
    for earlier in store::runs(&run.root).unwrap_or_default().into_iter().take(RUNS) {
        // Runs with unreadable progress are ignored.
        for record in earlier.noted().map(|noted| noted.records).unwrap_or_default().into_values() {
            let known = known.get_mut(&CaseInMode::of(&record.id)).filter(|_| is_like(&record.scripted));
            if let Some(known) = known {
                // An incomplete sum is not a maximum.
                let spent = record.spent;
                let cost_usd = spent.cost_usd.filter(|_| !spent.cost_incomplete);
                known.at_least(cost_usd, spent.tokens.filter(|_| !spent.tokens_incomplete));
            }
        }
    }
    for id in ids {
        let folder = store::recording(&run.root, id);
        let (Ok(meta), Some(known)) = (folder.meta(), known.get_mut(&CaseInMode::of(id))) else { continue };
        if !is_like(&meta.scripted) {
            continue;
        }
        // The usage alone needs no skill texts.
        let reference = Reference { names: meta.tool_names(), ..Reference::default() };
        let trace = agent::of(meta.agent.kind).decode(&reference, folder.path());
        let usage = trace.ok().and_then(|trace| trace.usage);
        let spent = AttemptCost::by(meta.agent.kind, &meta.agent.models(), usage.as_ref(), &run.settings.prices);
        known.at_least(spent.cost_usd, spent.tokens);
    }
    known.retain(|_, known| *known != KnownCost::default());
    known
}

/// How often these cases passed in earlier runs and in kept trials, whatever their skills were then.
pub fn rates<'a>(run: &PlannedRun, cases: impl Iterator<Item = &'a TestCase>) -> Vec<Rate> {
    rates_besides(run, &cases.collect::<Vec<_>>(), BTreeSet::new())
}

/// The same without the kept trial of each case that may be evidence. What chooses the evidence must not know it.
pub fn rates_apart_from_evidence<'a>(run: &PlannedRun, cases: impl Iterator<Item = &'a TestCase>) -> Vec<Rate> {
    let planned: Vec<&TestCase> = cases.collect();
    let first = |planned: &&TestCase| run.kept.as_ref()?.unused(planned).into_iter().next();
    let evidence = planned.iter().filter_map(first).map(|trial| TrialOrigin::of(&trial.meta)).collect();
    rates_besides(run, &planned, evidence)
}

/// The rates by all trials but those in `seen`.
fn rates_besides(run: &PlannedRun, planned: &[&TestCase], mut seen: BTreeSet<TrialOrigin>) -> Vec<Rate> {
    let cases: Vec<CaseInMode> = planned.iter().map(|case| case.case_in_mode()).collect();
    let mut known: BTreeMap<&CaseInMode, Rate> = cases.iter().map(|case| (case, Rate::default())).collect();
    let mut add = |case: &CaseInMode, verdict: Verdict| {
        if let (Some(rate), Verdict::Pass | Verdict::Fail) = (known.get_mut(case), verdict) {
            rate.add(verdict == Verdict::Pass);
        }
    };
    // Runs that took in kept trials have copies of them.
    let mut add_trial = |case: &CaseInMode, trial: &TrialFolder| {
        let (Ok(meta), Ok(grade)) = (trial.meta(), trial.grade()) else { return };
        if meta.scripted == run.settings.scripted && seen.insert(TrialOrigin::of(&meta)) {
            add(case, grade.verdict);
        }
    };
    // What is unreadable in earlier runs says nothing of these cases.
    for earlier in store::runs(&run.root).unwrap_or_default().into_iter().take(RUNS) {
        for trial in earlier.trials().unwrap_or_default() {
            if let Some(case) = trial.id().map(|id| CaseInMode::of(&id)).filter(|case| cases.contains(case)) {
                add_trial(&case, &trial);
            }
        }
    }
    for (planned, case) in planned.iter().zip(&cases) {
        let kept = run.kept.iter().flat_map(|store| store.unused(planned));
        kept.for_each(|trial| add_trial(case, &trial.folder));
    }
    cases.iter().map(|case| known.get(case).copied().unwrap_or_default()).collect()
}

/// No provider keeps a prompt that is shorter, in tokens. They name 1,024, and for some models up to 4,096.
const SHORTEST_CACHED: u64 = 1_024;

/// Whether no provider keeps the prompts of a mode: no trial of the last run with it took as many tokens, all requests together. A mode
/// with the skills of a commit is like the one that it was made of.
pub fn has_short_prompts(run: &PlannedRun, mode: &Mode) -> bool {
    let is_of =
        |id: &TrialId| mode.name.strip_prefix(&id.mode).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let tokens = |earlier: store::RunFolder| {
        let records = earlier.noted().ok()?.records.into_values();
        let of_mode = records.filter(|record| record.scripted.is_none() && is_of(&record.id));
        let spent = of_mode.filter(|record| !record.spent.tokens_incomplete).filter_map(|record| record.spent.tokens);
        spent.max()
    };
    let mut runs = store::runs(&run.root).unwrap_or_default().into_iter().take(RUNS);
    runs.find_map(tokens).is_some_and(|most| most < SHORTEST_CACHED)
}

/// In a run of each case in several variants, one that never ran costs about as much as another of the same case.
fn complete(known: &mut BTreeMap<CaseInMode, KnownCost>, ids: &[TrialId]) {
    let mut of_case = BTreeMap::new();
    for (case, cost) in known.iter() {
        of_case.entry((case.skill.clone(), case.case.clone())).or_insert(*cost);
    }
    for id in ids {
        if let Some(cost) = of_case.get(&(id.skill.clone(), id.case.clone())) {
            known.entry(CaseInMode::of(id)).or_insert(*cost);
        }
    }
}

/// What is known of the price of a mode's model.
#[derive(Debug, Default)]
struct PricedModel {
    /// One price, or those that it may have; none if nothing is known.
    prices: Vec<Price>,
    /// What that rests on, if not on the name of the model.
    basis: Option<String>,
}

impl PricedModel {
    /// Of the requested model. An alias or a default is the model that the agent last named for it, else one of its family.
    fn of(run: &PlannedRun, mode: &Mode, ids: &[TrialId]) -> Self {
        let (agent, requested) = (mode.agent.as_str(), run.settings.model_for(mode));
        let price = |name: &str| run.settings.prices.of(agent, &[name]).map(|(price, _)| price);
        let own: Vec<&str> = requested.into_iter().collect();
        if let Some((price, _)) = run.settings.prices.of(agent, &own) {
            return Self { prices: vec![price], basis: None };
        }
        let alias = requested.map_or_else(|| format!("the default model of {agent}"), |name| format!("`{name}`"));
        let last = last_named(run, mode, ids);
        if let Some((model, price)) = last.as_ref().and_then(|name| Some((name, price(name)?))) {
            let basis = format!("{alias} at the price of {model}, which the agent last named");
            return Self { prices: vec![price], basis: Some(basis) };
        }
        let is_of = |name: &str| requested.is_none_or(|alias| name.split('-').any(|part| part == alias));
        let family: Vec<&str> =
            mode.agent.profile().prices.iter().map(|(name, _)| *name).filter(|name| is_of(name)).collect();
        let prices: Vec<Price> = family.iter().filter_map(|name| price(name)).collect();
        let basis = (!prices.is_empty())
            .then(|| format!("{alias} at the prices of {}: no run here shows which of them it is", family.join(", ")));
        Self { prices, basis }
    }

    /// What a trial costs, from the least to the most.
    fn range(&self, tokens: AmountRange<TrialTokens>) -> Option<AmountRange<f64>> {
        let costs = |tokens: TrialTokens| self.prices.iter().map(move |price| tokens.cost(*price));
        Some(AmountRange { low: costs(tokens.low).reduce(f64::min)?, high: costs(tokens.high).reduce(f64::max)? })
    }
}

/// The model that the agent of a mode reported in its last trial with the same requested model: of runs, else of recordings.
fn last_named(run: &PlannedRun, mode: &Mode, ids: &[TrialId]) -> Option<String> {
    let requested = run.settings.model_for(mode).map(|name| digest(name.as_bytes()));
    let named = |folder: &TrialFolder| {
        let meta = folder.meta().ok()?;
        let is_it = meta.agent.kind == mode.agent && meta.inputs.0.get(MODEL) == requested.as_ref();
        meta.agent.model.filter(|_| is_it && meta.scripted.is_none())
    };
    let runs = store::runs(&run.root).unwrap_or_default().into_iter().take(RUNS);
    let mut trials = runs.filter_map(|run| run.trials().ok()).flatten();
    let of_runs = trials.find_map(|trial| trial.id().filter(|id| id.mode == mode.name).and_then(|_| named(&trial)));
    let recorded = ids.iter().filter(|id| id.mode == mode.name).map(|id| store::recording(&run.root, id));
    of_runs.or_else(|| recorded.into_iter().find_map(|folder| named(&folder)))
}

/// What an agent itself adds to each request.
#[derive(Debug)]
struct Overhead {
    tokens: u64,
    /// How that is known, and what is estimated by it.
    basis: String,
}

/// The overhead of a mode's agent, if it was ever measured.
fn overhead(settings: &Settings, mode: &Mode) -> Option<Overhead> {
    let calibration = InstalledAgent::find(settings, mode.agent).ok().and_then(|agent| agent.calibration(settings));
    let profile = mode.agent.profile();
    let (tokens, how) = match calibration.and_then(|found| found.first_request_tokens) {
        Some(tokens) => (tokens, "calibrated here".to_owned()),
        None => (profile.first_request_tokens?, format!("measured with {}", profile.measured.last()?)),
    };
    let AmountRange { low, high } = REQUESTS;
    let basis = format!(
        "{}: {low} … {high} requests a trial, each with about {tokens} tokens of the agent itself ({how}), the skill list, \
         SKILL.md and the prompt; longer trials and what tools print take more",
        mode.agent.as_str()
    );
    Some(Overhead { tokens, basis })
}

/// The tokens of a trial.
#[derive(Clone, Copy, Debug)]
struct TrialTokens {
    /// Read at the price of input.
    fresh: u64,
    /// Read from the model's cache.
    cached: u64,
    written: u64,
}

impl TrialTokens {
    fn all(self) -> u64 {
        self.fresh + self.cached + self.written
    }

    /// In US dollars.
    fn cost(self, price: Price) -> f64 {
        let sum =
            real(self.fresh) * price.input + real(self.cached) * price.cached_input + real(self.written) * price.output;
        sum / 1e6
    }
}

/// From the least to the most that a trial of a case may take.
fn of_trial(run: &PlannedRun, case: &TestCase, overhead: u64) -> AmountRange<TrialTokens> {
    let (mode, own) = (&case.mode, &*case.found.skill);
    let mut bytes = case.found.case().map_or(0, |case| case.prompt.len());
    for found in run.catalog.skills.iter().filter(|_| mode.delivery != Delivery::None) {
        let skill = found.skill();
        if mode.offer.includes(own, &skill.slug) {
            bytes += skill.name.len() + skill.description.len();
        }
        if *skill.slug == *own {
            bytes += found.bytes.len();
        }
    }
    let first = overhead + (bytes / TOKEN_BYTES) as u64;
    // Each request reads what the ones before it read and wrote.
    let of = |requests: u64, written: u64, is_cached: bool| {
        let again = (1..requests).map(|number| first + number * written).sum();
        let (fresh, cached) = if is_cached { (first, again) } else { (first + again, 0) };
        TrialTokens { fresh, cached, written: requests * written }
    };
    AmountRange { low: of(REQUESTS.low, WRITTEN.low, true), high: of(REQUESTS.high, WRITTEN.high, false) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases::catalog::Catalog;
    use crate::store::RunFolder;
    use crate::trial::evidence::{CaseMeta, Inputs, Meta, SkillMeta};

    /// The prices of Claude Code's model in the repository at `root`, if this one is requested.
    fn priced(root: &std::path::Path, model: Option<&str>) -> PricedModel {
        let settings = Settings { model: model.map(str::to_owned), ..Settings::default() };
        let run = PlannedRun::new(root.to_path_buf(), settings, Catalog::default());
        let mode = run.settings.mode("cli-native").cloned().expect("a mode");
        PricedModel::of(&run, &mode, &[])
    }

    #[test]
    fn an_alias_has_the_price_of_what_the_agent_last_named_else_of_its_family() {
        let root = tempfile::tempdir().expect("a directory");
        let [own, alias, default, other] =
            [Some("claude-opus-5-5"), Some("opus"), None, Some("gpt-oss")].map(|model| priced(root.path(), model));
        assert_eq!((own.prices.len(), own.basis), (1, None));
        let inputs: Vec<f64> = alias.prices.iter().map(|price| price.input).collect();
        assert_eq!(inputs, [4.0, 5.0, 5.0]);
        let basis = alias.basis.expect("a basis");
        assert!(
            basis.starts_with("`opus` at the prices of claude-opus-5-5, claude-opus-5, claude-opus-4-5: "),
            "{basis}"
        );
        assert!(
            default.prices.len() > 3 && default.basis.is_some_and(|basis| basis.starts_with("the default model of "))
        );
        assert!(other.prices.is_empty() && other.basis.is_none());

        let run = RunFolder::create(root.path(), Some("r")).expect("a run");
        let mut meta = Meta::new(
            SkillMeta::default(),
            CaseMeta::default(),
            crate::trial::evidence::AgentMeta::default(),
            Delivery::Native,
        );
        let id = TrialId { skill: "tidy".into(), case: "a".into(), mode: "cli-native".into(), number: 1 };
        (meta.skill.slug, meta.case.id, meta.mode) = (id.skill.clone(), id.case.clone(), id.mode.clone());
        meta.agent.kind = Settings::default().mode("cli-native").expect("a mode").agent;
        meta.agent.model = Some("claude-opus-5".to_owned());
        meta.inputs = Inputs::default();
        meta.inputs.add(MODEL, b"opus");
        run.trial(&id).write_meta(&meta).expect("a trial");
        run.write_run(&super::super::open_run::record(
            &PlannedRun::new(root.path().into(), Settings::default(), Catalog::default()),
            "r",
        ))
        .expect("a run");
        let last = priced(root.path(), Some("opus"));
        assert_eq!(last.basis.as_deref(), Some("`opus` at the price of claude-opus-5, which the agent last named"));
        assert_eq!(priced(root.path(), Some("sonnet")).prices.len(), 2, "another alias");
    }
}
