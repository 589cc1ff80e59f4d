//! The pass rate of a repository's cases, run by run.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::files::material::Material;
use crate::results::run_status::ProgressDifferences;
use crate::results::share::{self, CaseShare};
use crate::results::side_results::{SideReader, SideResults};
use crate::stats::Interval;
use crate::stats::proportion::Rate;
use crate::store::{RunFolder, StoreError};
use crate::trial::evidence::digest;

/// The trials that count.
#[derive(Clone, Debug, Default)]
pub struct TrendFilter {
    /// If set, only trials of this skill, by slug.
    pub skill: Option<String>,
    /// If set, only trials in this mode.
    pub mode: Option<String>,
}

/// The pass rate of a run.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct HistoryPoint {
    /// The run's id.
    pub run: String,
    /// When the run began, RFC 3339, UTC; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// All measured trials together.
    #[serde(flatten)]
    pub rate: Rate,
    /// The pass rate, cases weighted equally.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub share: f64,
    /// The 95 % confidence interval of `share`.
    pub interval: Interval,
    /// A digest of the skills, cases, checks, settings and modes.
    pub inputs: String,
    /// The authors of mock models whose answers were replayed.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub scripted: BTreeSet<String>,
    /// Where the progress file of the run differs from the grades of its trials.
    #[serde(flatten)]
    pub differences: ProgressDifferences,
}

/// Groups of neighboring runs with the same inputs, in the order of `points`. Only runs of one group show a trend.
pub fn trends(points: &[HistoryPoint]) -> impl DoubleEndedIterator<Item = &[HistoryPoint]> {
    points.chunk_by(|before, after| before.inputs == after.inputs)
}

impl TrendFilter {
    fn matches(&self, skill: &str, mode: &str) -> bool {
        self.skill.as_deref().is_none_or(|only| only == skill) && self.mode.as_deref().is_none_or(|only| only == mode)
    }
}

/// The point of a run; `None` if nothing that matches was measured, if it is a comparison, which has two points, or a shard, which
/// has a part of the cases.
pub fn point(run: &RunFolder, filter: &TrendFilter) -> Result<Option<HistoryPoint>, StoreError> {
    let record = run.run_record().ok().flatten();
    if record.as_ref().is_some_and(|record| record.compares() || record.chosen.shard.is_some()) {
        return Ok(None);
    }
    let (reader, differences) = SideReader::of(run)?;
    let mut results = SideResults::default();
    reader.add_to(&mut results, |case| filter.matches(&case.skill, &case.mode).then(|| case.compared_as(true)));
    results.counts.retain(|_, counts| counts.rate.trials > 0);
    let mut cases = Vec::new();
    // One skill may change without the others.
    let snapshot = run.snapshot(None);
    let skills = filter.skill.as_ref().map_or_else(|| snapshot.clone(), |skill| snapshot.join(skill));
    let skills = Material::list(&skills).whole().ok().and_then(|material| material.digest().ok());
    let mut inputs = vec![skills.unwrap_or_default()];
    for (name, counts) in &results.counts {
        cases.push(CaseShare { rate: counts.rate, until_decided: results.until_decided.get(name).copied().flatten() });
        // Rows of old runs have no digests.
        let digests: Vec<String> = results.inputs.get(name).into_iter().flatten().cloned().collect();
        inputs.push(format!("{name} {}", digests.join(" ")));
    }
    let Some((share, interval)) = share::together(&cases) else { return Ok(None) };
    Ok(Some(HistoryPoint {
        run: run.id().to_owned(),
        created: record.map(|record| record.created),
        rate: cases.into_iter().fold(Rate::default(), |sum, case| sum.plus(case.rate)),
        share,
        interval,
        inputs: digest(inputs.join("\n").as_bytes()),
        scripted: results.scripted,
        differences,
    }))
}
