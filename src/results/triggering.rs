//! Which skills became active, by the skill whose case it was: precision and recall of each skill, and the confusion matrix
//! over the catalogue.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::checks::{NOT_TRIGGERED, TRIGGERED};
use crate::skill::slug;
use crate::stats::Interval;
use crate::stats::LEVEL;
use crate::stats::proportion::{Rate, wilson};
use crate::stats::retrieval::Triggering;
use crate::trial::outcome::{Status, Verdict};
use crate::trial::run_record::TrialRecord;

/// Whose case it was.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExpectedSkill {
    /// This skill was to become active.
    For(String),
    /// This skill was not. What others should have done is not said.
    NotFor(String),
}

/// What became active.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActivatedSkill {
    /// One skill.
    Skill(String),
    /// More than one.
    Several,
    /// None.
    None,
}

/// How often what became active, by whose case it was.
#[derive(Clone, Debug, Default)]
pub struct Confusion {
    /// The number of trials; cells without any are absent.
    pub cells: BTreeMap<(ExpectedSkill, ActivatedSkill), u64>,
    skills: BTreeMap<String, Triggering>,
}

impl ExpectedSkill {
    /// What a trial of a case of `skill` was asked, by its checks; none where its evidence does not show what became active.
    pub(super) fn of(skill: &str, checks: &[(String, Status)]) -> Option<Self> {
        let asks = |name: &str| checks.iter().any(|(check, found)| check == name && *found != Status::Unknown);
        if asks(TRIGGERED) {
            Some(Self::For(skill.to_owned()))
        } else {
            asks(NOT_TRIGGERED).then(|| Self::NotFor(skill.to_owned()))
        }
    }
}

impl ActivatedSkill {
    /// A skill, `several skills`, or nothing.
    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Skill(skill) => Some(skill),
            Self::Several => Some("several skills"),
            Self::None => None,
        }
    }
}

impl Confusion {
    /// Counts a trial that was measured, where it was asked what triggers.
    pub fn add(&mut self, record: &TrialRecord) {
        let measured = matches!(record.verdict, Verdict::Pass | Verdict::Fail);
        if let Some(asked) = ExpectedSkill::of(&record.id.skill, &record.checks).filter(|_| measured) {
            self.count(asked, &record.activated, 1);
        }
    }

    /// Counts so many trials in which these skills became active. Returns the column, and whether the skill became active that
    /// should.
    pub(super) fn count(&mut self, asked: ExpectedSkill, activated: &[String], trials: u64) -> (ActivatedSkill, bool) {
        let mut active: Vec<String> = activated.iter().map(|name| slug(name)).collect();
        active.sort_unstable();
        active.dedup();
        let (own, wanted) = match &asked {
            ExpectedSkill::For(skill) => (skill, Some(skill.as_str())),
            ExpectedSkill::NotFor(skill) => (skill, None),
        };
        // Where a skill was not to become active, another one may rightly have.
        let told = |skill: &&String| wanted.is_some() || *skill == own;
        for skill in active.iter().filter(told) {
            let counts = self.skills.entry(skill.clone()).or_default();
            *(if wanted == Some(skill) { &mut counts.hits } else { &mut counts.false_alarms }) += trials;
        }
        if let Some(missed) = wanted.filter(|wanted| active.iter().all(|skill| skill != wanted)) {
            self.skills.entry(missed.to_owned()).or_default().misses += trials;
        }
        let hit = wanted.is_some_and(|wanted| active.iter().any(|skill| skill == wanted));
        let active = match active.as_slice() {
            [] => ActivatedSkill::None,
            [one] => ActivatedSkill::Skill(one.clone()),
            _ => ActivatedSkill::Several,
        };
        *self.cells.entry((asked, active.clone())).or_default() += trials;
        (active, hit)
    }

    /// Every skill that was to become active or did, with how well it does.
    #[must_use]
    pub fn skills(&self) -> Vec<SkillTriggering> {
        self.skills.iter().map(|(skill, counts)| SkillTriggering::new(skill, *counts)).collect()
    }

    /// The cells where something went wrong, the most frequent first: another skill became active than the one that should
    /// have, or none or several, or the one that should not have.
    #[must_use]
    pub fn mistakes(&self) -> Vec<(&ExpectedSkill, &ActivatedSkill, u64)> {
        let wrong = |asked: &ExpectedSkill, active: &ActivatedSkill| match (asked, active) {
            (ExpectedSkill::For(skill), ActivatedSkill::Skill(active)) => skill != active,
            (ExpectedSkill::For(_), _) => true,
            (ExpectedSkill::NotFor(skill), ActivatedSkill::Skill(active)) => skill == active,
            // Whether it is among them is counted for the skill itself.
            (ExpectedSkill::NotFor(_), ActivatedSkill::Several | ActivatedSkill::None) => false,
        };
        let cells = self.cells.iter().map(|((asked, active), count)| (asked, active, *count));
        let mut mistakes: Vec<_> = cells.filter(|(asked, active, _)| wrong(asked, active)).collect();
        mistakes.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
        mistakes
    }
}

/// How well a skill triggers.
#[derive(Clone, Debug, Serialize)]
pub struct SkillTriggering {
    /// The skill's slug.
    pub skill: String,
    /// Of the trials in which it became active, those in which it should.
    pub precision: Share,
    /// Of the trials in which it should become active, those in which it did.
    pub recall: Share,
    /// The harmonic mean of both; absent where it neither should become active nor did.
    pub f1: Option<f64>,
    /// Where the true F1 may lie.
    pub f1_interval: Option<Interval>,
}

/// A rate with its share and Wilson's interval.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Share {
    /// The counts.
    #[serde(flatten)]
    pub rate: Rate,
    /// 0 to 1; absent without trials.
    pub share: Option<f64>,
    /// Where the true share may lie, with a confidence of 95 %.
    pub interval: Interval,
}

impl From<Rate> for Share {
    fn from(rate: Rate) -> Self {
        Self { rate, share: rate.share(), interval: wilson(rate, LEVEL) }
    }
}

impl SkillTriggering {
    fn new(skill: &str, counts: Triggering) -> Self {
        let f1 = counts.f1(LEVEL);
        Self {
            skill: skill.to_owned(),
            precision: counts.precision().into(),
            recall: counts.recall().into(),
            f1: f1.map(|(f1, _)| f1),
            f1_interval: f1.map(|(_, interval)| interval),
        }
    }
}

/// A cell of the matrix as JSON has it.
#[derive(Serialize)]
struct MatrixCell<'a> {
    case_skill: &'a str,
    should_trigger: bool,
    /// A skill, `several skills`, or `null`.
    activated: Option<&'a str>,
    trials: u64,
}

impl<'a> MatrixCell<'a> {
    fn new((asked, active): &'a (ExpectedSkill, ActivatedSkill), trials: u64) -> Self {
        let (case_of, should_trigger) = match asked {
            ExpectedSkill::For(skill) => (skill.as_str(), true),
            ExpectedSkill::NotFor(skill) => (skill.as_str(), false),
        };
        Self { case_skill: case_of, should_trigger, activated: active.name(), trials }
    }
}

/// `{"skills": […], "matrix": [{"case_of": …, "should_trigger": …, "activated": …, "trials": …}]}`.
impl Serialize for Confusion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct TriggeringDocument<'a> {
            skills: Vec<SkillTriggering>,
            matrix: Vec<MatrixCell<'a>>,
        }
        let matrix = self.cells.iter().map(|(cell, trials)| MatrixCell::new(cell, *trials)).collect();
        TriggeringDocument { skills: self.skills(), matrix }.serialize(serializer)
    }
}
