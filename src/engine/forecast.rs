//! What a month of gates is expected to take, by the changes that the repository had.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::compare::ComparisonRequest;
use super::{Engine, Loaded};
use crate::cases::catalog::FoundSkill;
use crate::decide::promise::{ExpectedCases, usual_trials};
use crate::process::git;
use crate::results::estimate::AmountRange;
use crate::results::forecast::Forecast;
use crate::run::expected_cost;
use crate::run::planned::PlannedRun;
use crate::settings::GateSettings;
use crate::stats::real;
use crate::text::problem::Problem;
use crate::trial::id::TrialId;
use crate::trial::run_record::RunChoices;

/// How many weeks of changes are looked at.
const WEEKS: u64 = 12;

const WEEK_S: i64 = 7 * 24 * 3600;

impl Engine<'_> {
    /// By the commits of the base's own line, one for each change that was merged. Starts nothing.
    ///
    /// # Errors
    ///
    /// If git does not know the base, or the cases cannot be read.
    pub fn forecast(&self, loaded: Loaded, asked: &GateSettings) -> Result<Forecast, Problem> {
        let root = loaded.repository.root.clone();
        let base = asked.base.clone().or_else(|| git::default_branch(&root)).unwrap_or_else(|| "HEAD".to_owned());
        let commit = git::commit(&root, &base)?;
        let now = Timestamp::now().as_second();
        let age_s = now - git::began(&root, &commit)?;
        let weeks = WEEKS.min(u64::try_from(age_s / WEEK_S).unwrap_or_default().max(1));
        let request = ComparisonRequest { is_gate: true, ..ComparisonRequest::about(None) };
        let run = self.once_each(loaded, RunChoices::default(), &request, false)?;
        let with_cases = |slug: &str| run.catalog.cases_of(slug).next().is_some();
        let changes = git::changes(&root, &commit, weeks)?.into_iter().map(|paths| {
            let skills = run.catalog.skills.iter().map(FoundSkill::skill);
            let is_touched = |folder: &std::path::Path| paths.iter().any(|path| path.starts_with(folder));
            let touched = skills.filter(|skill| is_touched(&skill.folder) && with_cases(&skill.slug));
            touched.map(|skill| skill.slug.clone()).collect::<BTreeSet<_>>()
        });
        let changes: Vec<BTreeSet<String>> = changes.filter(|skills| !skills.is_empty()).collect();
        let mut known = BTreeMap::new();
        let trials =
            changes.iter().map(|skills| *known.entry(skills).or_insert_with(|| of_change(&run, skills, asked)));
        let trials: f64 = trials.sum();
        let (cost_usd, is_measured) = cost(&run).unzip();
        let changes = changes.len() as u64;
        let of_change = if changes == 0 { 0.0 } else { trials / real(changes) };
        let base = format!("{} ({:.12})", git::short_name(&base), commit);
        Ok(Forecast::new(base, (weeks, changes), of_change, cost_usd, is_measured == Some(true)))
    }
}

/// The trials of a gate of a harmless change of these skills, without kept ones.
fn of_change(run: &PlannedRun, skills: &BTreeSet<String>, asked: &GateSettings) -> f64 {
    let cases = run.plan.entries.iter().map(|entry| &entry.planned).filter(|case| skills.contains(&*case.found.skill));
    let expected = ExpectedCases::by(expected_cost::rates(run, cases).into_iter());
    let limit = asked.max_trials.unwrap_or(asked.plan.default_limit(expected.rates.len()));
    usual_trials(asked.plan, &expected, limit, &asked.rule())
}

/// What a trial costs in US dollars, and whether earlier trials say so.
fn cost(run: &PlannedRun) -> Option<(AmountRange<f64>, bool)> {
    let ids: Vec<TrialId> = run.plan.entries.iter().map(|entry| entry.planned.trial(1)).collect();
    let estimate = expected_cost::estimate(run, &ids);
    if let Some(cost) = estimate.of_trials(1).cost_usd {
        return Some((AmountRange { low: cost, high: cost }, true));
    }
    let expected = estimate.expected?;
    let AmountRange { low, high } = expected.cost_usd?;
    let trials = real(expected.trials.max(1));
    Some((AmountRange { low: low / trials, high: high / trials }, false))
}
