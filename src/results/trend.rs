//! How often a repository's cases passed, run by run.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::files::material::Material;
use crate::results::share::{self, CaseShare};
use crate::results::side_results::{SideReader, SideResults};
use crate::stats::Interval;
use crate::stats::proportion::Rate;
use crate::store::{RunFolder, StoreError};
use crate::trial::evidence::digest;

/// Which trials are looked at.
#[derive(Clone, Debug, Default)]
pub struct TrendFilter {
    /// Only those of this skill, by slug.
    pub skill: Option<String>,
    /// Only those in this mode.
    pub mode: Option<String>,
}

/// What a run came to.
#[derive(Clone, Debug, Serialize)]
pub struct TrendPoint {
    /// The run's id.
    pub run: String,
    /// When it began, RFC 3339, UTC; absent where that was not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// All measured trials together.
    #[serde(flatten)]
    pub rate: Rate,
    /// The mean of the cases' shares, each weighing the same.
    pub share: f64,
    /// Where the true mean may lie.
    pub interval: Interval,
    /// What tells runs of the same skills, cases, checks, settings and modes from others.
    pub inputs: String,
    /// Why answers are not a model's own, where they are not.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub scripted: BTreeSet<String>,
    /// Lines of its progress file that cannot be read, whichever trials they were of.
    #[serde(skip_serializing_if = "is_none")]
    pub damaged_lines: usize,
}

/// Stretches of runs of the same skills, cases, checks, settings and modes, in the order of `points`. Only within one do
/// shares tell a trend.
#[must_use]
pub fn trends(points: &[TrendPoint]) -> impl DoubleEndedIterator<Item = &[TrendPoint]> {
    points.chunk_by(|before, after| before.inputs == after.inputs)
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

/// The point of a run; none where it measured nothing of what is wanted, or compared two arms, which are no one point.
///
/// # Errors
/// When its progress file cannot be read.
pub fn point(run: &RunFolder, wanted: &TrendFilter) -> Result<Option<TrendPoint>, StoreError> {
    let record = run.run_record().ok().flatten();
    if record.as_ref().is_some_and(|record| record.sides.is_some()) {
        return Ok(None);
    }
    let reader = SideReader::of(&run.progress_path())?;
    let mut found = SideResults::default();
    let is = |wanted: &Option<String>, name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
    reader.add_to(&mut found, |case| {
        (is(&wanted.skill, &case.skill) && is(&wanted.mode, &case.mode)).then(|| case.compared_as(true))
    });
    found.counts.retain(|_, counts| counts.rate.trials > 0);
    let cases = found.counts.iter();
    let cases =
        cases.map(|(name, counts)| CaseShare { rate: counts.rate, until_decided: found.until_decided.contains(name) });
    let cases: Vec<CaseShare> = cases.collect();
    let Some((share, interval)) = share::together(&cases) else { return Ok(None) };
    // One skill may change without the others.
    let snapshot = run.snapshot(None);
    let skills = wanted.skill.as_ref().map_or_else(|| snapshot.clone(), |skill| snapshot.join(skill));
    let skills = Material::list(&skills).whole().ok().and_then(|material| material.digest().ok());
    // What each case asked and checked; rows of old runs do not tell.
    let asked = |case: &String| found.inputs.get(case).into_iter().flatten().cloned().collect::<Vec<_>>().join(" ");
    let asked_of: Vec<String> = found.counts.keys().map(|case| format!("{case} {}", asked(case))).collect();
    let inputs = digest(format!("{}\n{}", skills.unwrap_or_default(), asked_of.join("\n")).as_bytes());
    Ok(Some(TrendPoint {
        run: run.id().to_owned(),
        created: record.map(|record| record.created),
        rate: cases.into_iter().fold(Rate::default(), |sum, case| sum.plus(case.rate)),
        share,
        interval,
        inputs,
        scripted: found.scripted,
        damaged_lines: reader.damaged,
    }))
}
