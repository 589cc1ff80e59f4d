//! What variants of a skill or of a model show. Why a skill does not help: what its body is worth, what its description loses, and
//! what its neighbors take. Which model is enough.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::decide::MARGIN;
use crate::decide::fixed::{self, BestStanding};
use crate::results::run_status;
use crate::results::side_results::{CaseUsage, SideReader, SideResults};
use crate::results::triggering::skill_name;
use crate::stats::difference::{self, Difference};
use crate::stats::proportion::Rate;
use crate::stats::stratified::Stratum;
use crate::stats::{Interval, LEVEL, len};
use crate::store::{RunFolder, StoreError};
use crate::trial::outcome::AttemptCost;
use crate::trial::outcome::Verdict;
use crate::trial::run_record::{RunRecord, TrialRecord};
use crate::trial::run_record::{Variant, VariantQuestion, VariantRun};

pub use crate::decide::fixed::BestResult;

/// The format number of the document.
const DIAGNOSIS_FORMAT: u32 = 1;

/// What a body may change and still be worth nothing: a skill costs tokens in every session.
const WORTHLESS: f64 = 0.1;

/// The chance that a body is falsely called worth nothing.
const ALPHA: f64 = 0.05;

/// What the trials of a diagnosis show.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct Diagnosis {
    /// The number of the format.
    #[cfg_attr(feature = "schemars", schemars(extend("const" = DIAGNOSIS_FORMAT)))]
    pub format: u32,
    /// The run's id.
    pub run: String,
    /// The skill's slug.
    pub skill: String,
    /// The confidence of the intervals.
    pub level: f64,
    /// Each variant, in the order none, forced, routed, alone; those that did not run are missing.
    pub variants: Vec<DiagnosedVariant>,
    /// Whether any case judges the outcome. If not, the body cannot be measured.
    pub judges_outcome: bool,
    /// Whether other skills were offered too.
    pub has_neighbors: bool,
    /// Activations, forced less all: how far calls of the skill are from loading it. Null if nothing was forced.
    pub forcing: Option<DiagnosedPart>,
    /// Passed trials, forced less none: what the body is worth. A forced trial counts whether it loaded the skill or not. Like the
    /// others, null if it was not measured; also if calls of the skill are shown not to load it.
    pub body: Option<DiagnosedPart>,
    /// Whether the body is worth nothing. Null if `body` is.
    pub nothing: Option<WorthNothing>,
    /// Activations, routed less all: what the description loses, with all its neighbors.
    pub description: Option<DiagnosedPart>,
    /// Activations, alone less all: what the description loses without neighbors.
    pub description_alone: Option<DiagnosedPart>,
    /// Activations, routed less alone: what neighbors take.
    pub neighbors: Option<DiagnosedPart>,
    /// Passed trials, routed less forced: what the lost activations cost.
    pub outcome: Option<DiagnosedPart>,
    /// The skills that were activated instead, by the number of routed trials, the most frequent first.
    pub taken_by: Vec<TakenTrials>,
    /// What to fix; null if no loss is shown.
    pub advice: Option<DiagnosisAdvice>,
    /// What the trials took.
    pub spent: VariantSpending,
    /// The names of cases that were left out, with the reason.
    pub left_out: Vec<(String, String)>,
    /// Why answers are not a model's own.
    pub scripted: BTreeSet<String>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct DiagnosedVariant {
    #[cfg_attr(feature = "schemars", schemars(extend("enum" = [Variant::NONE, Variant::FORCED, Variant::ROUTED, Variant::ALONE])))]
    pub name: String,
    pub mode: String,
    /// How often it passed the cases that judge the outcome.
    pub passed: Option<VariantRate>,
    /// How often the skill was activated, in all cases. Null without skills.
    pub activated: Option<VariantRate>,
    /// Trials that could not be measured.
    pub not_measured: u64,
}

#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct DiagnosedPart {
    #[serde(flatten)]
    pub difference: Difference,
    /// Whether the interval is above 0 or under it.
    pub shown: bool,
}

impl DiagnosedPart {
    fn of(strata: &[Stratum]) -> Option<Self> {
        let difference = difference::of(strata, LEVEL)?;
        Some(Self { difference, shown: !difference.interval.contains(0.0) })
    }

    /// How far the skill is from being activated in every trial. Only the measured rate has an interval. A loss is shown if the
    /// whole interval is more than the usual margin away.
    fn lost(activated: &BTreeMap<String, Rate>) -> Option<Self> {
        let rates: Vec<Rate> = activated.values().copied().filter(|rate| rate.trials > 0).collect();
        let (share, interval) = difference::mean_of(&rates, LEVEL)?;
        let interval = Interval { low: interval.low - 1.0, high: interval.high - 1.0 };
        let difference =
            Difference { baseline: 1.0, candidate: share, difference: share - 1.0, interval, cases: rates.len() };
        Some(Self { difference, shown: interval.high < -MARGIN })
    }

    /// Of activations: whether there are none, or a loss is shown.
    fn never_or_too_rarely(&self) -> bool {
        self.is_loss() || self.difference.candidate <= 0.0
    }

    pub fn is_loss(&self) -> bool {
        self.shown && self.difference.difference < 0.0
    }

    pub fn is_gain(&self) -> bool {
        self.shown && self.difference.difference > 0.0
    }
}

/// Whether a body is shown to be worth nothing, by two one-sided tests.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct WorthNothing {
    /// What counts as nothing, in both directions.
    pub margin: f64,
    /// The interval of the difference with a confidence of 90 %.
    pub interval: Interval,
    /// Whether the interval is within the margin.
    pub shown: bool,
    /// The trials of all variants that would show it with a probability of 80 %, if it is so. Null if it is shown, or if no affordable
    /// number would.
    pub trials_needed: Option<u64>,
}

impl WorthNothing {
    /// `round` is the number of trials of one round: of each variant of each case.
    fn of(strata: &[Stratum], round: u64) -> Option<Self> {
        let interval = difference::of_two_one_sided_tests(strata, ALPHA)?;
        let shown = interval.low > -WORTHLESS && interval.high < WORTHLESS;
        let needed = difference::trials_to_show_none(strata, WORTHLESS, ALPHA, 0.8).filter(|_| !shown);
        Some(Self {
            margin: WORTHLESS,
            interval,
            shown,
            trials_needed: needed.map(|of_a_case| of_a_case.saturating_mul(round)),
        })
    }
}

/// A skill that was activated instead of the skill under test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct TakenTrials {
    /// Its slug.
    pub skill: String,
    /// The number of routed trials.
    pub trials: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum DiagnosisAdvice {
    /// The body: the skill does harm where it is loaded, or is worth nothing.
    Body,
    /// The description: the model does not choose the skill.
    Description,
    /// The descriptions of the skill and its neighbors: alone, no loss of the skill is shown.
    Neighbors,
}

impl Diagnosis {
    /// The diagnosis of a run; `None` if the run is not one.
    pub fn of(run: &RunFolder) -> Result<Option<Self>, StoreError> {
        let Some(MeasuredVariants { record, sides, spending }) = MeasuredVariants::read(run, true)? else {
            return Ok(None);
        };
        let VariantQuestion::Diagnosis { skill } = record.question.clone() else { return Ok(None) };
        let empty = SideResults::default();
        let side = |name: &str| {
            let place = record.variants.iter().position(|variant| variant.name == name);
            place.map_or(&empty, |place| &sides[place])
        };
        let [none, forced, routed, alone] = [Variant::NONE, Variant::FORCED, Variant::ROUTED, Variant::ALONE].map(side);
        let activated = |side: &SideResults| -> BTreeMap<String, Rate> {
            side.triggered.rates().map(|(case, rate)| (case.clone(), rate)).collect()
        };
        let (in_forced, in_routed, in_alone) = (activated(forced), activated(routed), activated(alone));
        let forcing = DiagnosedPart::lost(&in_forced);
        let by_forcing =
            |part| if forcing.as_ref().is_some_and(DiagnosedPart::never_or_too_rarely) { None } else { part };
        let of_body = strata(&passed(none), &passed(forced));
        let round = spending.planned as u64 / u64::from(record.rounds.max(1));
        let body = by_forcing(DiagnosedPart::of(&of_body));
        let mut diagnosis = Self {
            format: DIAGNOSIS_FORMAT,
            run: run.id().to_owned(),
            level: LEVEL,
            judges_outcome: has(&record, Variant::NONE),
            has_neighbors: has(&record, Variant::ALONE),
            forcing,
            nothing: body.and_then(|_| WorthNothing::of(&of_body, round)),
            body,
            description: DiagnosedPart::lost(&in_routed),
            description_alone: DiagnosedPart::lost(&in_alone),
            neighbors: DiagnosedPart::of(&strata(&in_alone, &in_routed)),
            outcome: by_forcing(DiagnosedPart::of(&strata(&passed(forced), &passed(routed)))),
            taken_by: taken_by(run, &record, &skill)?,
            advice: None,
            spent: spending,
            variants: variants(&record, &sides),
            left_out: record.left_out,
            scripted: sides.iter().flat_map(|side| side.scripted.iter().cloned()).collect(),
            skill,
        };
        diagnosis.advice = diagnosis.advice();
        Ok(Some(diagnosis))
    }

    fn advice(&self) -> Option<DiagnosisAdvice> {
        let is_loss = |part: &Option<DiagnosedPart>| part.is_some_and(|part| part.is_loss());
        if self.is_not_forced() {
            // No description helps a skill that is not loaded where the prompt calls it.
            return None;
        }
        if is_loss(&self.body) || self.is_worth_nothing() {
            return Some(DiagnosisAdvice::Body);
        }
        if is_loss(&self.neighbors) && !is_loss(&self.description_alone) {
            return Some(DiagnosisAdvice::Neighbors);
        }
        is_loss(&self.description).then_some(DiagnosisAdvice::Description)
    }

    /// Whether the body is shown to be worth nothing, and not a little that is something.
    pub fn is_worth_nothing(&self) -> bool {
        self.nothing.is_some_and(|nothing| nothing.shown) && !self.body.is_some_and(|body| body.shown)
    }

    /// Whether the skill is shown not to load where the prompt calls it, so that nobody knows what its body is worth.
    pub fn is_not_forced(&self) -> bool {
        self.forcing.as_ref().is_some_and(DiagnosedPart::never_or_too_rarely)
    }

    /// Whether something that could be measured was not.
    pub fn lacks_measurements(&self) -> bool {
        self.body.is_none() || self.description.is_none() || (self.has_neighbors && self.neighbors.is_none())
    }
}

fn has(record: &VariantRun, name: &str) -> bool {
    record.variants.iter().any(|variant| variant.name == name)
}

fn variants(record: &VariantRun, sides: &[SideResults]) -> Vec<DiagnosedVariant> {
    let both = record.variants.iter().zip(sides);
    let variant = |(Variant { name, mode }, side): (&Variant, &SideResults)| DiagnosedVariant {
        name: name.clone(),
        mode: mode.clone(),
        passed: VariantRate::of(&passed(side).into_values().collect::<Vec<_>>()),
        activated: VariantRate::of(&side.triggered.rates().map(|(_, rate)| rate).collect::<Vec<_>>()),
        not_measured: side.counts.values().map(|counts| counts.not_measured).sum(),
    };
    both.map(variant).collect()
}

/// The rates of the cases that judge the outcome.
fn passed(side: &SideResults) -> BTreeMap<String, Rate> {
    let judged = side.counts.iter().filter(|(case, _)| side.judged.contains(*case));
    judged.map(|(case, counts)| (case.clone(), counts.rate)).collect()
}

/// The cases that were measured in both variants.
fn strata(baseline: &BTreeMap<String, Rate>, candidate: &BTreeMap<String, Rate>) -> Vec<Stratum> {
    let both = baseline.iter().filter_map(|(case, rate)| Some((*rate, *candidate.get(case)?)));
    both.map(|(baseline, candidate)| Stratum { baseline, candidate }).collect()
}

/// The skills that were activated in the routed trials in which the skill under test was not.
fn taken_by(run: &RunFolder, record: &VariantRun, skill: &str) -> Result<Vec<TakenTrials>, StoreError> {
    let routed = record.variants.iter().find(|variant| variant.name == Variant::ROUTED);
    let mut taken: BTreeMap<String, u64> = BTreeMap::new();
    run_status::each_ended(run, |record| {
        let is_measured = matches!(record.verdict, Verdict::Pass | Verdict::Fail);
        let activated: BTreeSet<String> = record.activated.iter().map(|name| skill_name(name)).collect();
        let is_routed = routed.is_some_and(|variant| variant.mode == record.id.mode);
        if is_measured && is_routed && !activated.contains(skill) {
            for other in activated {
                *taken.entry(other).or_default() += 1;
            }
        }
    })?;
    let mut taken: Vec<TakenTrials> = taken.into_iter().map(|(skill, trials)| TakenTrials { skill, trials }).collect();
    taken.sort_by_key(|taken| std::cmp::Reverse(taken.trials));
    Ok(taken)
}

// The results of each variant of a run, and what all of them took.

/// How often something happened in the trials of a variant.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct VariantRate {
    /// All trials together.
    pub rate: Rate,
    /// The mean of the cases' rates, cases weighted equally.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub share: f64,
    /// Where the true mean may be.
    pub interval: Interval,
}

impl VariantRate {
    /// `None` if no case was measured.
    pub fn of(cases: &[Rate]) -> Option<Self> {
        let (share, interval) = difference::mean_of(cases, LEVEL)?;
        let rate = cases.iter().copied().fold(Rate::default(), Rate::plus);
        Some(Self { rate, share, interval })
    }
}

/// What all trials of a run took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct VariantSpending {
    pub trials: usize,
    pub planned: usize,
    /// US dollars, as far as they are known.
    pub cost_usd: Option<f64>,
    /// Tokens, as far as they are known.
    pub tokens: Option<u64>,
}

/// A run of variants, read back.
pub struct MeasuredVariants {
    pub record: VariantRun,
    pub sides: Vec<SideResults>,
    pub spending: VariantSpending,
}

impl MeasuredVariants {
    /// The results of this run; `None` if it has no variants. With `outcome_only`, checks that ask for the skill do not count.
    pub fn read(run: &RunFolder, outcome_only: bool) -> Result<Option<Self>, StoreError> {
        let Some(RunRecord { variants: Some(record), planned, .. }) = run.run_record()? else { return Ok(None) };
        let (reader, _) = SideReader::of(run)?;
        let mut sides = Vec::new();
        for variant in &record.variants {
            let mut side = SideResults { outcome_only, ..SideResults::default() };
            reader.add_to(&mut side, |case| (case.mode == variant.mode).then(|| case.compared_as(false)));
            sides.push(side);
        }
        let (records, rest) = run_status::all_ended(run)?;
        let costs = records.values().map(TrialRecord::cost).chain(rest.refused.iter().map(|(_, spent)| *spent));
        let spent = costs.fold(AttemptCost::default(), AttemptCost::and);
        let (trials, cost_usd, tokens) = (records.len(), spent.cost_usd, spent.tokens);
        Ok(Some(Self { record, sides, spending: VariantSpending { trials, planned, cost_usd, tokens } }))
    }
}

// Which of several models is the cheapest within the margin of the best.

/// The format number of the document.
const MODELS_FORMAT: u32 = 1;

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ModelComparison {
    /// The number of the format.
    #[cfg_attr(feature = "schemars", schemars(extend("const" = MODELS_FORMAT)))]
    pub format: u32,
    /// The run's id.
    pub run: String,
    /// The tolerated loss in pass rate.
    pub margin: f64,
    /// The chance of any false `no-worse`, and of any false `worse`.
    pub alpha: f64,
    /// The models, the cheapest first.
    pub models: Vec<ComparedModel>,
    /// What decides which model is cheaper.
    pub ranked_by: ModelRank,
    /// The cheapest model within the margin of the best; null if none is shown to be.
    pub cheapest: Option<String>,
    /// The cases that were measured with every model. Only they count.
    pub cases: usize,
    /// The cases that were not measured with every model.
    pub not_counted: Vec<String>,
    /// What the trials took.
    pub spent: VariantSpending,
    /// Why answers are not a model's own.
    pub scripted: BTreeSet<String>,
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ComparedModel {
    pub model: String,
    /// How often it passed the cases that count.
    pub passed: Option<VariantRate>,
    /// Trials that could not be measured.
    pub not_measured: u64,
    /// The mean cost of a measured trial in US dollars; null if the cost of a trial is unknown.
    pub cost_usd: Option<f64>,
    /// The mean number of tokens of a measured trial.
    pub tokens: Option<f64>,
    /// How it stands next to the others; absent if no case was measured with every model.
    #[serde(flatten)]
    pub standing: Option<BestStanding>,
}

/// What decides which model is cheaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ModelRank {
    /// The cost in money, which is known of every trial.
    Cost,
    /// The number of tokens, because a cost is unknown.
    Tokens,
    /// Nothing: neither is known of every trial.
    Unknown,
}

impl ModelComparison {
    /// The comparison that a run measured; `None` if it compares no models.
    pub fn of(run: &RunFolder) -> Result<Option<Self>, StoreError> {
        let Some(MeasuredVariants { record, sides, spending }) = MeasuredVariants::read(run, false)? else {
            return Ok(None);
        };
        let VariantQuestion::CheapestModel { margin, alpha } = record.question else { return Ok(None) };
        let is_measured =
            |side: &SideResults, case: &String| side.counts.get(case).is_some_and(|counts| counts.rate.trials > 0);
        let known: BTreeSet<&String> = sides.iter().flat_map(|side| side.counts.keys()).collect();
        let (cases, not_counted): (Vec<&String>, Vec<&String>) =
            known.into_iter().partition(|case| sides.iter().all(|side| is_measured(side, case)));
        let rates: Vec<Vec<Rate>> =
            sides.iter().map(|side| cases.iter().map(|case| side.counts[*case].rate).collect()).collect();
        let standings = fixed::standings(&rates, margin, alpha);
        let mut models = Vec::new();
        for (at, (variant, side)) in record.variants.iter().zip(&sides).enumerate() {
            models.push(ComparedModel {
                model: variant.name.clone(),
                passed: VariantRate::of(&rates[at]),
                not_measured: side.counts.values().map(|counts| counts.not_measured).sum(),
                cost_usd: mean_amount(side, &cases, |took| &took.cost_usd),
                tokens: mean_amount(side, &cases, |took| &took.tokens),
                standing: standings.as_ref().map(|standings| standings[at]),
            });
        }
        let ranked_by = match &models {
            models if models.iter().all(|model| model.cost_usd.is_some()) => ModelRank::Cost,
            models if models.iter().all(|model| model.tokens.is_some()) => ModelRank::Tokens,
            _ => ModelRank::Unknown,
        };
        let amount = |model: &ComparedModel| match ranked_by {
            ModelRank::Cost => model.cost_usd,
            ModelRank::Tokens => model.tokens,
            ModelRank::Unknown => None,
        };
        models.sort_by(|a, b| amount(a).unwrap_or_default().total_cmp(&amount(b).unwrap_or_default()));
        let holds = |model: &&ComparedModel| model.standing.is_some_and(|found| found.result == BestResult::NoWorse);
        let cheapest = models.iter().filter(|_| ranked_by != ModelRank::Unknown).find(holds);
        Ok(Some(Self {
            format: MODELS_FORMAT,
            run: run.id().to_owned(),
            margin,
            alpha,
            cheapest: cheapest.map(|model| model.model.clone()),
            models,
            ranked_by,
            cases: cases.len(),
            not_counted: not_counted.into_iter().cloned().collect(),
            spent: spending,
            scripted: sides.iter().flat_map(|side| side.scripted.iter().cloned()).collect(),
        }))
    }
}

/// The mean of an amount over these cases, weighted equally. `None` if it is unknown of a measured trial.
fn mean_amount(side: &SideResults, cases: &[&String], of: fn(&CaseUsage) -> &Vec<f64>) -> Option<f64> {
    let mut sum = 0.0;
    for case in cases {
        let (amounts, trials) = (of(side.took.get(*case)?), side.counts[*case].rate.trials);
        if amounts.len() as u64 != trials {
            return None;
        }
        sum += amounts.iter().sum::<f64>() / len(amounts.len());
    }
    (!cases.is_empty()).then(|| sum / len(cases.len()))
}
