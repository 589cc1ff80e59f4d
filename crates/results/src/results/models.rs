//! Which of several models is the cheapest within the margin of the best.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::decide::fixed::{self, BestStanding};
use crate::results::side_results::{CaseUsage, SideResults};
use crate::results::variants::{MeasuredVariants, VariantRate, VariantSpending};
use crate::stats::len;
use crate::stats::proportion::Rate;
use crate::store::{RunFolder, StoreError};
use crate::trial::variants::VariantQuestion;

pub use crate::decide::fixed::BestResult;

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
