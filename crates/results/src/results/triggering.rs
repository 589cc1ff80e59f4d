//! Which skills activated and which were expected to: precision and recall of each skill, and the confusion matrix.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, Serializer};

use crate::checks::{NOT_TRIGGERED, TRIGGERED};
use crate::results::share::Share;
use crate::skill::{of_plugin, slug};
use crate::stats::difference::{self, Difference};
use crate::stats::proportion::{Rate, Triggering};
use crate::stats::stratified::Stratum;
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

// How often each skill activates in the baseline and in the candidate, and what activates instead of it.

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
