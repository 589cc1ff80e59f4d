//! How often a skill becomes active in one arm and in the other, and what does in its place: offered beside others, what it
//! loses to its neighbours, and to which one.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::results::triggering::{ActivatedSkill, Confusion, ExpectedSkill};
use crate::stats::difference::{self, Difference};
use crate::stats::proportion::Rate;
use crate::stats::stratified::Stratum;

/// The trials of one arm in which it was asked what becomes active.
#[derive(Clone, Debug, Default)]
pub struct TriggeredTrials {
    /// By whose case it was.
    pub confusion: Confusion,
    /// The cases in which their skill should become active, by the name that they have in the comparison.
    cases: BTreeMap<String, CaseTriggered>,
}

/// A case in which its skill should become active.
#[derive(Clone, Debug, Default)]
struct CaseTriggered {
    skill: String,
    /// The trials in which it did.
    rate: Rate,
    /// What did in the others.
    replaced_by: BTreeMap<ActivatedSkill, u64>,
}

impl TriggeredTrials {
    /// Counts so many trials of a case of this name.
    pub fn count(&mut self, name: &str, asked: ExpectedSkill, activated: &[String], trials: u64) {
        let (active, hit) = self.confusion.count(asked.clone(), activated, trials);
        let ExpectedSkill::For(skill) = asked else { return };
        let case = self.cases.entry(name.to_owned()).or_default();
        case.skill = skill;
        case.rate = case.rate.plus(Rate::new(if hit { trials } else { 0 }, trials));
        if !hit {
            *case.replaced_by.entry(active).or_default() += trials;
        }
    }
}

/// What becomes of the triggering of skills from one arm to the other.
#[derive(Clone, Debug, Serialize)]
pub struct ActivationShift {
    /// Skills that should become active in cases of both arms; the one that loses most comes first.
    pub skills: Vec<SkillShift>,
    /// Arm A: precision and recall of each skill, and the confusion matrix.
    pub baseline: Confusion,
    /// The same of arm B.
    pub candidate: Confusion,
}

/// A skill in cases in which it should become active, in both arms.
#[derive(Clone, Debug, Serialize)]
pub struct SkillShift {
    /// Its slug.
    pub skill: String,
    /// How often it did in arm A.
    pub baseline: Rate,
    /// How often it did in arm B.
    pub candidate: Rate,
    /// B less A, each of its cases weighing the same.
    pub difference: Difference,
    /// What became active where it did not, that which gained most first.
    pub replaced_by: Vec<ReplacementSkill>,
}

/// What became active in place of a skill.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReplacementSkill {
    /// Another skill, `several skills`, or nothing.
    pub activated: Option<String>,
    /// In so many trials of arm A.
    pub baseline: u64,
    /// In so many trials of arm B.
    pub candidate: u64,
}

impl ActivationShift {
    /// Of two arms; none where no skill should become active in a case of both.
    #[must_use]
    pub fn of(a: &TriggeredTrials, b: &TriggeredTrials, level: f64) -> Option<Self> {
        let mut skills: BTreeMap<&str, Vec<(&CaseTriggered, &CaseTriggered)>> = BTreeMap::new();
        for (name, in_a) in &a.cases {
            if let Some(in_b) = b.cases.get(name) {
                skills.entry(&in_a.skill).or_default().push((in_a, in_b));
            }
        }
        let mut skills: Vec<SkillShift> =
            skills.into_iter().filter_map(|(skill, cases)| SkillShift::of(skill, &cases, level)).collect();
        skills.sort_by(|x, y| x.difference.difference.total_cmp(&y.difference.difference));
        (!skills.is_empty()).then(|| Self { skills, baseline: a.confusion.clone(), candidate: b.confusion.clone() })
    }
}

impl SkillShift {
    fn of(skill: &str, cases: &[(&CaseTriggered, &CaseTriggered)], level: f64) -> Option<Self> {
        let strata: Vec<Stratum> = cases.iter().map(|(a, b)| Stratum { baseline: a.rate, candidate: b.rate }).collect();
        let all = |arm: fn(&Stratum) -> Rate| strata.iter().map(arm).fold(Rate::default(), Rate::plus);
        let seen: BTreeSet<&ActivatedSkill> =
            cases.iter().flat_map(|(a, b)| a.replaced_by.keys().chain(b.replaced_by.keys())).collect();
        let instead = seen.into_iter().map(|active| ReplacementSkill {
            activated: active.name().map(str::to_owned),
            baseline: cases.iter().filter_map(|(a, _)| a.replaced_by.get(active)).sum(),
            candidate: cases.iter().filter_map(|(_, b)| b.replaced_by.get(active)).sum(),
        });
        let mut instead: Vec<ReplacementSkill> = instead.collect();
        instead.sort_by_key(|instead| i128::from(instead.baseline) - i128::from(instead.candidate));
        let difference = difference::of(&strata, level)?;
        Some(Self {
            skill: skill.to_owned(),
            baseline: all(|of| of.baseline),
            candidate: all(|of| of.candidate),
            difference,
            replaced_by: instead,
        })
    }
}
