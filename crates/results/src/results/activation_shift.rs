//! How often each skill activates in the baseline and in the candidate, and what activates instead of it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::results::triggering::{ActivatedSkill, Confusion, ExpectedSkill};
use crate::stats::difference::{self, Difference};
use crate::stats::proportion::Rate;
use crate::stats::stratified::Stratum;

/// The trials of one side whose case expects a skill to activate, or not to.
#[derive(Clone, Debug, Default)]
pub struct TriggeredTrials {
    pub confusion: Confusion,
    /// The cases that expect their skill, by their names in the comparison.
    cases: BTreeMap<String, CaseTriggered>,
}

/// A case that expects its skill to activate.
#[derive(Clone, Debug, Default)]
struct CaseTriggered {
    skill: String,
    /// The trials in which the skill activated.
    rate: Rate,
    /// What activated in the other trials.
    replaced_by: BTreeMap<ActivatedSkill, u64>,
}

impl TriggeredTrials {
    /// Counts trials of the case with this name.
    pub fn count(&mut self, name: &str, expected: ExpectedSkill, activated: &[String], trials: u64) {
        let (activated, hit) = self.confusion.count(expected.clone(), activated, trials);
        let ExpectedSkill::For(skill) = expected else { return };
        let case = self.cases.entry(name.to_owned()).or_default();
        case.skill = skill;
        case.rate = case.rate.plus(Rate::new(if hit { trials } else { 0 }, trials));
        if !hit {
            *case.replaced_by.entry(activated).or_default() += trials;
        }
    }

    /// The cases that expect their skill, with the trials in which it activated.
    pub fn rates(&self) -> impl Iterator<Item = (&String, Rate)> {
        self.cases.iter().map(|(name, case)| (name, case.rate))
    }
}

/// How the triggering of skills differs between two sides.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ActivationShift {
    /// The skills that cases of both sides expect; the skill that loses most comes first.
    pub skills: Vec<SkillShift>,
    pub baseline: Confusion,
    pub candidate: Confusion,
}

/// A skill in the cases that expect it on both sides.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SkillShift {
    /// The skill's slug.
    pub skill: String,
    /// How often it activated.
    pub baseline: Rate,
    pub candidate: Rate,
    /// Candidate minus baseline, cases weighted equally. Null if the number of trials depends on their results.
    pub difference: Option<Difference>,
    /// What activated instead, the largest gain first.
    pub replaced_by: Vec<ReplacementSkill>,
}

/// What activated instead of a skill, with the number of trials.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct ReplacementSkill {
    /// Another skill, `several skills`, or nothing.
    pub activated: Option<String>,
    pub baseline: u64,
    pub candidate: u64,
}

impl ActivationShift {
    /// `None` if no case expects a skill on both sides. Without a `level`, no difference is estimated.
    pub fn of(baseline: &TriggeredTrials, candidate: &TriggeredTrials, level: Option<f64>) -> Option<Self> {
        let mut cases: BTreeMap<&str, Vec<(&CaseTriggered, &CaseTriggered)>> = BTreeMap::new();
        for (name, before) in &baseline.cases {
            if let Some(after) = candidate.cases.get(name) {
                cases.entry(&before.skill).or_default().push((before, after));
            }
        }
        let mut skills: Vec<SkillShift> =
            cases.into_iter().map(|(skill, cases)| SkillShift::of(skill, &cases, level)).collect();
        skills.sort_by(|x, y| x.moved().total_cmp(&y.moved()));
        let (baseline, candidate) = (&baseline.confusion, &candidate.confusion);
        (!skills.is_empty()).then(|| Self { skills, baseline: baseline.clone(), candidate: candidate.clone() })
    }
}

impl SkillShift {
    /// By how much it activated more often, in the trials of both sides.
    pub fn moved(&self) -> f64 {
        let share = |rate: Rate| rate.share().unwrap_or_default();
        self.difference.map_or(share(self.candidate) - share(self.baseline), |found| found.difference)
    }

    fn of(skill: &str, cases: &[(&CaseTriggered, &CaseTriggered)], level: Option<f64>) -> Self {
        let strata: Vec<Stratum> =
            cases.iter().map(|(before, after)| Stratum { baseline: before.rate, candidate: after.rate }).collect();
        let activated: BTreeSet<&ActivatedSkill> = cases
            .iter()
            .flat_map(|(before, after)| before.replaced_by.keys().chain(after.replaced_by.keys()))
            .collect();
        let mut replaced_by = Vec::new();
        for activated in activated {
            replaced_by.push(ReplacementSkill {
                activated: activated.name().map(str::to_owned),
                baseline: cases.iter().filter_map(|(before, _)| before.replaced_by.get(activated)).sum(),
                candidate: cases.iter().filter_map(|(_, after)| after.replaced_by.get(activated)).sum(),
            });
        }
        replaced_by.sort_by_key(|skill| i128::from(skill.baseline) - i128::from(skill.candidate));
        Self {
            skill: skill.to_owned(),
            baseline: strata.iter().map(|case| case.baseline).fold(Rate::default(), Rate::plus),
            candidate: strata.iter().map(|case| case.candidate).fold(Rate::default(), Rate::plus),
            difference: level.and_then(|level| difference::of(&strata, level)),
            replaced_by,
        }
    }
}
