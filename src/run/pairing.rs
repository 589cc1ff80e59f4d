//! The two sides of a comparison: what each makes of the modes that were chosen, and the cases that both can run.

use crate::cases::case::FoundCase;
use crate::cases::selection::TestCase;
use crate::checks::CaseCheck;
use crate::decide::plan::ComparePlan;
use crate::grade::verdict::NEEDS_SKILL;
use crate::run::changed_skills::readable_skills;
use crate::run::plan::{PlannedCase, RunPlan};
use crate::run::planned::{self, PlannedRun};
use crate::run::skill_version::{ReadTree, SkillVersion};
use crate::settings::Settings;
use crate::settings::mode::{Delivery, Mode, SkillSelection};
use crate::text::problem::Problem;
use crate::trial::id::{CaseInMode, TrialId};
use crate::trial::run_record::{ComparedSide, ComparedSides, PairRecord};
use crate::trial::shard::Shard;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// A case on both sides.
#[derive(Clone, Debug)]
pub struct PairedCase {
    /// Its name: `skill/case`, and the mode where cases are compared in several.
    pub name: String,
    pub baseline: TestCase,
    pub candidate: TestCase,
}

#[derive(Clone, Debug, Default)]
pub struct Pairing {
    /// The cases that both sides can run.
    pub cases: Vec<PairedCase>,
    /// Cases that are in quarantine or that one side has no skill for, by name, with the reason.
    pub left_out: Vec<(String, String)>,
    /// Whether one side has no skills and the other has, so that both are judged by what both are asked.
    pub outcome_only: bool,
    /// Where each case is among `cases`, by what its trials in the candidate are called.
    places: HashMap<CaseInMode, usize>,
}

/// The mode that a side makes of `base`. Its name is that of the mode it starts from, and what is different.
pub fn mode_of(side: &ComparedSide, base: &Arc<Mode>, settings: &Settings) -> Result<Arc<Mode>, Problem> {
    let base = match &side.mode {
        None => base,
        Some(name) => settings.mode(name).ok_or_else(|| settings.unknown_mode(name))?,
    };
    let mut mode = Mode::clone(base);
    let mut differs = Vec::new();
    if side.without && mode.delivery != Delivery::None {
        mode.delivery = Delivery::None;
        differs.push("without".to_owned());
    }
    if let Some(model) = &side.model {
        mode.model = Some(model.clone());
        differs.push(model.clone());
    }
    if let Some(offer) = &side.offer {
        mode.offer = offer.clone();
        differs.push(format!("offer-{offer}"));
    }
    if let Some(commit) = &side.commit {
        mode.commit = Some(commit.clone());
        differs.push(commit.get(..12).unwrap_or(commit).to_owned());
    }
    if side.again {
        differs.push("again".to_owned());
    }
    if !differs.is_empty() {
        mode.name = free_name(&format!("{}.{}", base.name, differs.join(".")), settings);
    }
    Ok(Arc::new(mode))
}

/// The name without characters that directories and tests may not contain, and different from the name of every other
/// mode.
pub(super) fn free_name(name: &str, settings: &Settings) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    let mut name: String = name.chars().map(|c| if allowed(c) { c } else { '-' }).take(90).collect();
    while settings.mode(&name).is_some() {
        name.push('_');
    }
    name
}

pub fn versions(run: &PlannedRun, sides: &ComparedSides) -> Result<Vec<SkillVersion>, Problem> {
    let commits: BTreeSet<&String> =
        [&sides.baseline, &sides.candidate].into_iter().filter_map(|side| side.commit.as_ref()).collect();
    commits.into_iter().map(|commit| SkillVersion::of(&run.root, commit, &run.settings)).collect()
}

/// Whether the sides can differ in nothing but their skills, and have the same ones, file by file. What cannot be read differs.
pub fn unchanged(run: &PlannedRun, sides: &ComparedSides) -> bool {
    let but_skills = |side: &ComparedSide| ComparedSide { label: String::new(), commit: None, ..side.clone() };
    if but_skills(&sides.baseline) != but_skills(&sides.candidate) || sides.baseline.commit == sides.candidate.commit {
        return false;
    }
    let skills = |side: &ComparedSide| match &side.commit {
        None => readable_skills(ReadTree { root: &run.root, settings: &run.settings, catalog: &run.catalog }),
        Some(commit) => readable_skills(run.versions.iter().find(|version| version.commit == *commit)?.tree()),
    };
    skills(&sides.baseline).is_some_and(|baseline| Some(baseline) == skills(&sides.candidate))
}

/// The planned cases on both sides. A case in several modes counts as several.
pub fn pair(run: &PlannedRun, sides: &ComparedSides) -> Result<Pairing, Problem> {
    let mut pairing = Pairing::default();
    let mut both = Vec::new();
    for PlannedCase { planned, .. } in &run.plan.entries {
        let in_mode = |mode| TestCase { found: Arc::clone(&planned.found), mode };
        let a = in_mode(mode_of(&sides.baseline, &planned.mode, &run.settings)?);
        both.push((a, in_mode(mode_of(&sides.candidate, &planned.mode, &run.settings)?)));
    }
    let modes: BTreeSet<String> = both.iter().map(|(_, b)| b.mode.name.clone()).collect();
    let mut seen = BTreeSet::new();
    for (a, b) in both {
        let found = Arc::clone(&a.found);
        let name = b.case_in_mode().compared_as(modes.len() > 1);
        // Where both sides name their mode, a case in several default modes is one.
        if !seen.insert(name.clone()) {
            continue;
        }
        if a.mode == b.mode {
            return Err(format!(
                "both sides are the same: `{}` in the mode `{}`; say what is to differ, or --aa to see how much changes by \
                 itself",
                found.id, a.mode
            ).into());
        }
        let lacks = |planned: &TestCase| {
            run.skills_of(planned.mode.commit.as_deref()).is_none_or(|skills| skills.skill(&found.skill).is_none())
        };
        let lacking = [(&a, &sides.baseline), (&b, &sides.candidate)].into_iter().find(|(planned, _)| lacks(planned));
        let one_lacks_skills = (a.mode.delivery == Delivery::None) != (b.mode.delivery == Delivery::None);
        if let Some(until) = found.case().ok().and_then(planned::quarantine) {
            pairing.left_out.push((name, format!("in quarantine {until}")));
        } else if let Some((_, side)) = lacking {
            pairing.left_out.push((name, format!("unknown skill `{}` in {}", found.skill, side.label)));
        } else if differ_by_skills(&a.mode, &b.mode) && a.mode.delivery == Delivery::None && !sides.candidate.again {
            pairing.left_out.push((name, "no skill reaches an agent in its mode".to_owned()));
        } else if one_lacks_skills && needs_skill(&found, &run.settings) {
            pairing.left_out.push((name, NEEDS_SKILL.to_owned()));
        } else {
            pairing.outcome_only |= one_lacks_skills;
            pairing.places.insert(b.case_in_mode(), pairing.cases.len());
            pairing.cases.push(PairedCase { name, baseline: a, candidate: b });
        }
    }
    Ok(pairing)
}

/// Whether two modes differ in nothing but which skills there are.
fn differ_by_skills(a: &Mode, b: &Mode) -> bool {
    let but_skills =
        |mode: &Mode| Mode { name: String::new(), commit: None, offer: SkillSelection::All, ..mode.clone() };
    but_skills(a) == but_skills(b)
}

/// Whether no check of the case is left without those that need the skill. What is wrong with a case is said when it is run.
fn needs_skill(found: &FoundCase, settings: &Settings) -> bool {
    let is_left = |check: &CaseCheck| !check.asks_for_skill() && check.weight.is_none_or(|weight| weight.amount > 0.0);
    found.case().is_ok_and(|case| !case.checks.iter().any(is_left) && !case.has_checks_of_others(settings))
}

impl Pairing {
    /// The cases of a shard, by their names in the candidate. Cases that are left out are in the first.
    #[must_use]
    pub fn part(mut self, shard: Shard) -> Self {
        self.cases.retain(|case| shard.has(&case.candidate.case_in_mode()));
        let places = self.cases.iter().enumerate().map(|(at, case)| (case.candidate.case_in_mode(), at));
        self.places = places.collect();
        if shard.number > 1 {
            self.left_out.clear();
        }
        self
    }

    /// The cases of both sides, in order.
    pub fn trials(&self) -> impl Iterator<Item = &TestCase> {
        self.cases.iter().flat_map(|case| [&case.baseline, &case.candidate])
    }

    pub fn baselines(&self) -> impl Iterator<Item = &TestCase> {
        self.cases.iter().map(|case| &case.baseline)
    }

    /// The place among the cases of the one that a pair is of; none where it is not among them any more.
    pub fn case_of(&self, pair: &PairRecord) -> Option<usize> {
        let place = *self.places.get(&CaseInMode::of(&pair.candidate))?;
        let is_of = |id: &TrialId, planned: &TestCase| planned.trial(id.number) == *id;
        let PairedCase { baseline, candidate, .. } = &self.cases[place];
        let is_same = is_of(&pair.candidate, candidate) && pair.baseline.iter().all(|id| is_of(id, baseline));
        is_same.then_some(place)
    }

    /// Both sides of every case, each as often as it has been begun, and once at least. The quick plan may never ask the baseline.
    pub fn plan(&self, begun: &HashMap<CaseInMode, u32>, plan: ComparePlan) -> RunPlan {
        let of_baseline = u32::from(plan != ComparePlan::Quick);
        let entry = |planned: &TestCase, least: u32| {
            let begun = begun.get(&planned.case_in_mode()).copied().unwrap_or_default();
            PlannedCase::times(planned.clone(), begun.max(least))
        };
        let both = |case: &PairedCase| [entry(&case.baseline, of_baseline), entry(&case.candidate, 1)];
        RunPlan { entries: self.cases.iter().flat_map(both).collect() }
    }
}
