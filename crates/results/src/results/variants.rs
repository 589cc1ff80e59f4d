//! The results of each variant of a run, and what all of them took.

use serde::Serialize;

use crate::results::ended;
use crate::results::side_results::{SideReader, SideResults};
use crate::stats::difference;
use crate::stats::proportion::Rate;
use crate::stats::{Interval, LEVEL};
use crate::store::{RunFolder, StoreError};
use crate::trial::run_record::{RunRecord, TrialRecord};
use crate::trial::spent::AttemptCost;
use crate::trial::variants::VariantRun;

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
        let (records, rest) = ended::all(run)?;
        let costs = records.values().map(TrialRecord::cost).chain(rest.refused.iter().map(|(_, spent)| *spent));
        let spent = costs.fold(AttemptCost::default(), AttemptCost::and);
        let (trials, cost_usd, tokens) = (records.len(), spent.cost_usd, spent.tokens);
        Ok(Some(Self { record, sides, spending: VariantSpending { trials, planned, cost_usd, tokens } }))
    }
}
