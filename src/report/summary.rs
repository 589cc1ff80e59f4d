//! A run, or several together, in figures: the content of `summary.json`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::trial::id::TrialId;
use crate::trial::outcome::Verdict;
use crate::trial::run_record::TrialRecord;

/// The number of the `summary.json` format.
pub const SUMMARY_FORMAT: u32 = 1;

/// What the trials of one or more runs came to. Grows with the cases, not with the trials.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// [`SUMMARY_FORMAT`].
    pub format: u32,
    /// The runs' ids.
    pub runs: Vec<String>,
    /// Why answers are not a model's own, for those that are not.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub scripted: BTreeSet<String>,
    /// How many trials there were to be, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub planned: Option<usize>,
    /// Trials that were not started, by reason.
    pub not_run: BTreeMap<String, usize>,
    /// All trials together.
    pub total: Counts,
    /// By mode.
    pub modes: BTreeMap<String, Counts>,
    /// By skill.
    pub skills: BTreeMap<String, Counts>,
    /// By case and mode.
    #[serde(serialize_with = "rows")]
    pub cases: BTreeMap<CaseInMode, CaseCounts>,
}

/// A case in a mode.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct CaseInMode {
    /// The skill's slug.
    pub skill: String,
    /// The case's id.
    pub case: String,
    /// The mode's name.
    pub mode: String,
}

/// How trials ended, and what they took.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counts {
    /// Trials whose checks all passed.
    pub passed: usize,
    /// Trials with a check that failed.
    pub failed: usize,
    /// Trials that measured nothing.
    pub errors: usize,
    /// Trials whose judge gave no usable answer.
    pub unscored: usize,
    /// The agents' wall time in milliseconds, added up.
    pub duration_ms: u64,
    /// Tokens read and written, where agents told.
    pub tokens: u64,
    /// US dollars; absent where no agent told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// How often an agent was started again after a refusal.
    pub retries: u64,
}

/// The trials of a case in a mode.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct CaseCounts {
    /// How they ended.
    #[serde(flatten)]
    pub counts: Counts,
    /// How often each check failed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub failed_checks: BTreeMap<String, usize>,
    /// How often each kind of trouble was met.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub troubles: BTreeMap<&'static str, usize>,
}

fn rows<S: serde::Serializer>(cases: &BTreeMap<CaseInMode, CaseCounts>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Row<'a> {
        #[serde(flatten)]
        key: &'a CaseInMode,
        #[serde(flatten)]
        counts: &'a CaseCounts,
    }
    serializer.collect_seq(cases.iter().map(|(key, counts)| Row { key, counts }))
}

impl Counts {
    fn add(&mut self, record: &TrialRecord) {
        let counted = match record.verdict {
            Verdict::Pass => &mut self.passed,
            Verdict::Fail => &mut self.failed,
            Verdict::Error => &mut self.errors,
            Verdict::Unscored => &mut self.unscored,
        };
        *counted += 1;
        self.duration_ms += record.duration_ms;
        self.tokens += record.tokens.unwrap_or_default();
        if let Some(cost) = record.cost_usd {
            *self.cost_usd.get_or_insert_default() += cost;
        }
        self.retries += u64::from(record.attempts.saturating_sub(1));
    }

    /// All trials that ended.
    #[must_use]
    pub fn ended(&self) -> usize {
        self.passed + self.failed + self.errors + self.unscored
    }

    /// Trials that measured something.
    #[must_use]
    pub fn measured(&self) -> usize {
        self.passed + self.failed
    }
}

impl Summary {
    /// A summary of these runs, without trials yet.
    #[must_use]
    pub fn new(runs: Vec<String>) -> Self {
        Self {
            format: SUMMARY_FORMAT,
            runs,
            scripted: BTreeSet::new(),
            planned: None,
            not_run: BTreeMap::new(),
            total: Counts::default(),
            modes: BTreeMap::new(),
            skills: BTreeMap::new(),
            cases: BTreeMap::new(),
        }
    }

    /// Counts a trial.
    pub fn add(&mut self, record: &TrialRecord) {
        let TrialId { skill, case, mode, .. } = &record.id;
        self.total.add(record);
        self.modes.entry(mode.clone()).or_default().add(record);
        self.skills.entry(skill.clone()).or_default().add(record);
        let key = CaseInMode { skill: skill.clone(), case: case.clone(), mode: mode.clone() };
        let row = self.cases.entry(key).or_default();
        row.counts.add(record);
        for check in &record.failed {
            *row.failed_checks.entry(check.clone()).or_default() += 1;
        }
        if let Some(trouble) = &record.trouble {
            *row.troubles.entry(trouble.kind.as_str()).or_default() += 1;
        }
        if let Some(by) = &record.scripted {
            self.scripted.insert(by.clone());
        }
    }

    /// Counts a trial that was not started.
    pub fn add_not_run(&mut self, why: &str) {
        *self.not_run.entry(why.to_owned()).or_default() += 1;
    }
}
