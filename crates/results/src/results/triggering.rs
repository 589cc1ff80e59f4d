//! Which skills activated and which were expected to: precision and recall of each skill, and the confusion matrix.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer};

use crate::checks::{NOT_TRIGGERED, TRIGGERED};
use crate::results::share::Share;
use crate::skill::{of_plugin, slug};
use crate::stats::proportion::Triggering;
use crate::stats::{Interval, LEVEL};
use crate::trial::outcome::{Status, Verdict};
use crate::trial::run_record::TrialRecord;

/// The slug of an activated skill; a plugin's skill is another one, and keeps its name.
pub(super) fn skill_name(name: &str) -> String {
    if of_plugin(name).is_some() { name.to_owned() } else { slug(name) }
}

/// What a case expects of the skill that it tests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExpectedSkill {
    /// This skill should activate.
    For(String),
    /// This skill should not activate; other skills may.
    NotFor(String),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActivatedSkill {
    Skill(String),
    Several,
    None,
}

/// The trials of a mode by what they expected and what activated.
#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema), schemars(with = "ConfusionDocument<'static>"))]
pub struct Confusion {
    /// Numbers of trials; cells without any are absent.
    pub cells: BTreeMap<(ExpectedSkill, ActivatedSkill), u64>,
    skills: BTreeMap<String, Triggering>,
}

impl ExpectedSkill {
    /// What a case of `skill` expected, by the checks of its trial. `None` if no check says, or if the evidence does not
    /// show what activated.
    pub(super) fn of(skill: &str, checks: &[(String, Status)]) -> Option<Self> {
        let has_answer = |name: &str| checks.iter().any(|(check, status)| check == name && *status != Status::Unknown);
        if has_answer(TRIGGERED) {
            Some(Self::For(skill.to_owned()))
        } else {
            has_answer(NOT_TRIGGERED).then(|| Self::NotFor(skill.to_owned()))
        }
    }

    /// Whether the agent was wrong to activate this. `Several` may hold a skill that should not activate: the counts of
    /// that skill have it.
    pub fn is_missed_by(&self, activated: &ActivatedSkill) -> bool {
        match (self, activated) {
            (Self::For(skill), ActivatedSkill::Skill(activated)) => skill != activated,
            (Self::For(_), _) => true,
            (Self::NotFor(skill), ActivatedSkill::Skill(activated)) => skill == activated,
            (Self::NotFor(_), ActivatedSkill::Several | ActivatedSkill::None) => false,
        }
    }
}

impl ActivatedSkill {
    /// A skill's slug, `several skills`, or nothing.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Skill(skill) => Some(skill),
            Self::Several => Some("several skills"),
            Self::None => None,
        }
    }
}

impl Confusion {
    /// Counts a trial if it was measured and expected something of its skill.
    pub fn add(&mut self, record: &TrialRecord) {
        if !matches!(record.verdict, Verdict::Pass | Verdict::Fail) {
            return;
        }
        if let Some(expected) = ExpectedSkill::of(&record.id.skill, &record.checks) {
            self.count(expected, &record.activated, 1);
        }
    }

    /// Counts trials in which these skills activated. Returns the column, and whether the expected skill is among them.
    pub(super) fn count(
        &mut self,
        expected: ExpectedSkill,
        activated: &[String],
        trials: u64,
    ) -> (ActivatedSkill, bool) {
        let activated: BTreeSet<String> = activated.iter().map(|name| skill_name(name)).collect();
        let mut hit = false;
        match &expected {
            ExpectedSkill::For(skill) => {
                hit = activated.contains(skill);
                for activated in &activated {
                    let counts = self.skills.entry(activated.clone()).or_default();
                    *(if activated == skill { &mut counts.hits } else { &mut counts.false_alarms }) += trials;
                }
                if !hit {
                    self.skills.entry(skill.clone()).or_default().misses += trials;
                }
            }
            ExpectedSkill::NotFor(skill) if activated.contains(skill) => {
                self.skills.entry(skill.clone()).or_default().false_alarms += trials;
            }
            // Another skill may be right for the prompt.
            ExpectedSkill::NotFor(_) => {}
        }
        let activated = match activated.len() {
            0 | 1 => activated.into_iter().next().map_or(ActivatedSkill::None, ActivatedSkill::Skill),
            _ => ActivatedSkill::Several,
        };
        *self.cells.entry((expected, activated.clone())).or_default() += trials;
        (activated, hit)
    }

    /// Every skill that was expected or activated.
    pub fn skills(&self) -> Vec<SkillTriggering> {
        self.skills.iter().map(|(skill, counts)| SkillTriggering::new(skill, *counts)).collect()
    }

    /// How many trials expected another skill than this one, or expected it not to activate.
    pub fn trials_without(&self, skill: &str) -> u64 {
        let is_without = |expected: &ExpectedSkill| match expected {
            ExpectedSkill::For(other) => other != skill,
            ExpectedSkill::NotFor(own) => own == skill,
        };
        self.cells.iter().filter(|((expected, _), _)| is_without(expected)).map(|(_, trials)| trials).sum()
    }

    /// The cells with mistakes, the most frequent first.
    pub fn mistakes(&self) -> Vec<(&ExpectedSkill, &ActivatedSkill, u64)> {
        let cells = self.cells.iter().map(|((expected, activated), count)| (expected, activated, *count));
        let mut mistakes: Vec<_> = cells.filter(|(expected, activated, _)| expected.is_missed_by(activated)).collect();
        mistakes.sort_by_key(|(_, _, count)| Reverse(*count));
        mistakes
    }
}

#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
pub struct SkillTriggering {
    /// The skill's slug.
    pub skill: String,
    /// Of the trials in which it activated, those that expected it.
    pub precision: Share,
    /// Of the trials that expected it, those in which it activated.
    pub recall: Share,
    /// The harmonic mean of both; null if the skill was neither expected nor activated.
    #[cfg_attr(feature = "schemars", schemars(range(min = 0, max = 1)))]
    pub f1: Option<f64>,
    /// The 95 % confidence interval of F1.
    pub f1_interval: Option<Interval>,
}

impl SkillTriggering {
    fn new(skill: &str, counts: Triggering) -> Self {
        let (f1, f1_interval) = counts.f1(LEVEL).unzip();
        let (precision, recall) = (counts.precision().into(), counts.recall().into());
        Self { skill: skill.to_owned(), precision, recall, f1, f1_interval }
    }
}

/// The activations, by the skill of the case.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct ConfusionDocument<'a> {
    skills: Vec<SkillTriggering>,
    matrix: Vec<MatrixCell<'a>>,
}

/// How often something activated in the trials of cases of a skill.
#[derive(Serialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
struct MatrixCell<'a> {
    case_skill: &'a str,
    should_trigger: bool,
    /// A skill, `several skills`, or null.
    activated: Option<&'a str>,
    trials: u64,
}

impl Serialize for Confusion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut matrix = Vec::new();
        for ((expected, activated), trials) in &self.cells {
            let (case_skill, should_trigger) = match expected {
                ExpectedSkill::For(skill) => (skill.as_str(), true),
                ExpectedSkill::NotFor(skill) => (skill.as_str(), false),
            };
            matrix.push(MatrixCell { case_skill, should_trigger, activated: activated.name(), trials: *trials });
        }
        ConfusionDocument { skills: self.skills(), matrix }.serialize(serializer)
    }
}
