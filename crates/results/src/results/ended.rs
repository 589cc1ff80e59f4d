//! The trials of a run that ended, with the figures of their grades, and the versions of their agents.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::results::{is_default, table};
use crate::settings::Prices;
use crate::store::{RunFolder, StoreError, UnconfirmedTrials};
use crate::trial::evidence::AgentMeta;
use crate::trial::id::TrialId;
use crate::trial::run_record::TrialRecord;
use crate::trial::spent::AttemptCost;

/// What a run has besides its trials, and where its progress file differed from their grades.
#[derive(Clone, Debug, Default)]
pub struct RestOfProgress {
    /// Further attempts whose cost counts.
    pub refused: Vec<(TrialId, AttemptCost)>,
    pub differences: ProgressDifferences,
}

/// Where a progress file differs from the grades of its trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ProgressDifferences {
    /// Lines that are not as they were written.
    pub damaged_lines: usize,
    /// Trials that it lacks or has with another grade, and which were read from their grades.
    #[serde(skip_serializing_if = "is_default")]
    pub read_from_grades: usize,
}

impl ProgressDifferences {
    /// Those of two runs together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            damaged_lines: self.damaged_lines + other.damaged_lines,
            read_from_grades: self.read_from_grades + other.read_from_grades,
        }
    }
}

/// Calls `take` with each trial of the run that ended. Fails if a part of the run is missing.
pub fn each(run: &RunFolder, take: impl FnMut(&TrialRecord)) -> Result<RestOfProgress, StoreError> {
    each_of(run, |rest| rest.of_whole(run), take)
}

/// The trials of the run that ended. Fails if a part of the run is missing.
pub fn all(run: &RunFolder) -> Result<(BTreeMap<TrialId, TrialRecord>, RestOfProgress), StoreError> {
    let mut records = BTreeMap::new();
    let rest = each(run, |record| _ = records.insert(record.id.clone(), record.clone()))?;
    Ok((records, rest))
}

/// The same of what is left of a run.
pub fn all_here(run: &RunFolder) -> Result<(BTreeMap<TrialId, TrialRecord>, RestOfProgress), StoreError> {
    let mut records = BTreeMap::new();
    let rest = each_of(run, Ok, |record| _ = records.insert(record.id.clone(), record.clone()))?;
    Ok((records, rest))
}

fn each_of(
    run: &RunFolder,
    check: impl FnOnce(UnconfirmedTrials) -> Result<UnconfirmedTrials, StoreError>,
    mut take: impl FnMut(&TrialRecord),
) -> Result<RestOfProgress, StoreError> {
    let mut attempts = BTreeMap::new();
    let rest = run.each_confirmed(|line| {
        let Ok(record) = serde_json::from_slice::<TrialRecord>(line) else { return };
        attempts.extend((record.attempts > 1).then(|| (record.id.clone(), record.attempts)));
        take(&record);
    })?;
    let mut rest = check(rest)?;
    rest.noted.add_lost_attempts(&attempts);
    read_grades(run, rest, take)
}

/// Calls `take` with the trials that the progress file lacks, or has for another grade. A grade that is damaged is an error. Their
/// costs are by the built-in prices.
pub(super) fn read_grades(
    run: &RunFolder,
    rest: UnconfirmedTrials,
    mut take: impl FnMut(&TrialRecord),
) -> Result<RestOfProgress, StoreError> {
    let UnconfirmedTrials { graded, mut noted, .. } = rest;
    let differences = ProgressDifferences {
        damaged_lines: noted.damaged,
        // The last trials of a running run have no line yet.
        read_from_grades: if run.is_live() { 0 } else { graded.len() },
    };
    for folder in graded {
        let row = TrialRecord { run: String::new(), ..table::row(&folder, &Prices::default())? };
        let id = row.id.clone();
        noted.insert(row);
        noted.records.get(&id).into_iter().for_each(&mut take);
        noted.records.remove(&id);
    }
    // A trial that runs again has not ended.
    let again = noted.records.into_values().map(|record| (record.id, record.spent));
    let refused = noted.refused.into_iter().chain(again).collect();
    Ok(RestOfProgress { refused, differences })
}

/// The versions of agents in trials that are read together.
#[derive(Debug, Default)]
pub struct AgentVersions(BTreeMap<&'static str, BTreeSet<String>>);

impl AgentVersions {
    /// Adds the agent of a trial, if it reported its version.
    pub fn add(&mut self, agent: AgentMeta) {
        if let Some(version) = agent.version {
            self.0.entry(agent.kind.as_str()).or_default().insert(version);
        }
    }

    /// The agents of several versions, with these: `codex 0.144.1, 0.145.0`.
    pub fn mixed(&self) -> Vec<String> {
        let mixed = self.0.iter().filter(|(_, versions)| versions.len() > 1);
        let list = |versions: &BTreeSet<String>| versions.iter().cloned().collect::<Vec<_>>().join(", ");
        mixed.map(|(agent, versions)| format!("{agent} {}", list(versions))).collect()
    }
}
