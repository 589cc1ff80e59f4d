//! Plans a run of the same cases in several variants: with and without a skill, or with several models.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cases::case::{Case, FoundCase, ReadCase};
use crate::cases::selection::TestCase;
use crate::checks::CaseCheck;
use crate::lint::calls_skill;
use crate::run::pairing::{free_name, mode_of};
use crate::run::plan::{PlannedCase, RunPlan};
use crate::run::planned::PlannedRun;
use crate::run::preflight;
use crate::settings::Settings;
use crate::settings::mode::{Delivery, Mode, SkillSelection};
use crate::skill::Skill;
use crate::text::problem::Problem;
use crate::trial::run_record::ComparedSide;
use crate::trial::run_record::{Variant, VariantQuestion, VariantRun};

/// A run of variants before it begins.
#[derive(Clone, Debug)]
pub struct VariantPlan {
    pub plan: RunPlan,
    pub record: VariantRun,
}

/// Trials of all variants together, if no limit is set and a round of all cases is not larger.
const DIAGNOSIS_TRIALS: u64 = 120;
const MODEL_TRIALS: u64 = 400;

#[derive(Clone, Copy, Debug)]
pub enum TrialLimit {
    Usual,
    AtMost(u64),
    /// This many rounds, as an earlier part of the run had.
    Rounds(u32),
}

impl TrialLimit {
    /// How many rounds of this many trials there can be.
    fn rounds(self, round: usize, usual: u64) -> Result<u32, Problem> {
        let round = round as u64;
        let most = match self {
            Self::Rounds(rounds) => return Ok(rounds),
            Self::Usual => usual.max(round),
            Self::AtMost(most) => most,
        };
        match u32::try_from(most / round).unwrap_or(u32::MAX) {
            0 => Err(format!(
                "every variant of every case once takes {round} trials: raise --max-trials, or choose fewer cases with --case"
            ).into()),
            rounds => Ok(rounds),
        }
    }
}

/// The variants that show why a skill does not help: its positive cases without skills, with the skill forced, with all
/// skills offered, and with the skill alone.
pub fn diagnosis(run: &PlannedRun, slug: &str, limit: TrialLimit) -> Result<VariantPlan, Problem> {
    let skill = run.catalog.named_skill(slug)?.skill();
    let positive = positive_cases(run)?;
    if positive.is_empty() {
        return Err(no_positive_case(slug).into());
    }
    let base = only_mode(&positive)?;
    check_mode(skill, &base)?;
    let has_neighbors = run.catalog.skills.len() > 1;
    let side = |side: ComparedSide| mode_of(&side, &base, &run.settings);
    let none = side(ComparedSide { without: true, ..ComparedSide::default() })?;
    let alone = side(ComparedSide { offer: Some(SkillSelection::Alone), ..ComparedSide::default() })?;
    let forced = forced_mode(&base, &run.settings);
    let (mut entries, mut left_out, mut any_judged) = (Vec::new(), Vec::new(), false);
    for planned in &positive {
        let case = read(planned)?;
        if calls_skill(&case.prompt, skill) {
            left_out.push((planned.case_in_mode().compared_as(false), "its prompt calls the skill".to_owned()));
            continue;
        }
        let mut add = |found: &Arc<FoundCase>, mode: &Arc<Mode>| {
            let planned = TestCase { found: Arc::clone(found), mode: Arc::clone(mode) };
            if let Some((_, problem)) = preflight::kept_from_agent(run, &planned) {
                return Err(Problem::from(problem));
            }
            entries.push(planned);
            Ok(())
        };
        // Without a check of the outcome, a trial without the skill would say nothing.
        if judges_outcome(case, &run.settings) {
            any_judged = true;
            add(&planned.found, &none)?;
            add(&Arc::new(forced_case(&planned.found, case, skill, &base)), &forced)?;
        }
        add(&planned.found, &base)?;
        if has_neighbors {
            add(&planned.found, &alone)?;
        }
    }
    if entries.is_empty() {
        return Err(no_positive_case(slug).into());
    }
    let rounds = limit.rounds(entries.len(), DIAGNOSIS_TRIALS)?;
    let variant = |name: &str, mode: &Mode| Variant { name: name.to_owned(), mode: mode.name.clone() };
    let mut variants = Vec::new();
    if any_judged {
        variants.extend([variant(Variant::NONE, &none), variant(Variant::FORCED, &forced)]);
    }
    variants.push(variant(Variant::ROUTED, &base));
    variants.extend(has_neighbors.then(|| variant(Variant::ALONE, &alone)));
    let question = VariantQuestion::Diagnosis { skill: slug.to_owned() };
    Ok(of(entries, VariantRun { question, variants, rounds, left_out }))
}

/// The variants that show which of these models is the cheapest within the margin of the best.
pub fn models(
    run: &PlannedRun,
    models: &[String],
    (margin, alpha): (f64, f64),
    limit: TrialLimit,
) -> Result<VariantPlan, Problem> {
    let distinct: BTreeSet<&String> = models.iter().collect();
    if distinct.len() < 2 || distinct.len() < models.len() {
        return Err("--models takes two or more different models".into());
    }
    let cases: Vec<TestCase> = run.plan.entries.iter().map(|entry| entry.planned.clone()).collect();
    let base = only_mode(&cases)?;
    let mut in_modes = Vec::new();
    for model in models {
        let side = ComparedSide { model: Some(model.clone()), ..ComparedSide::default() };
        in_modes.push(mode_of(&side, &base, &run.settings)?);
    }
    let mut entries = Vec::new();
    for planned in &cases {
        read(planned)?;
        entries
            .extend(in_modes.iter().map(|mode| TestCase { found: Arc::clone(&planned.found), mode: Arc::clone(mode) }));
    }
    let rounds = limit.rounds(entries.len(), MODEL_TRIALS)?;
    let variants = models.iter().zip(&in_modes);
    let variants = variants.map(|(model, mode)| Variant { name: model.clone(), mode: mode.name.clone() }).collect();
    let question = VariantQuestion::CheapestModel { margin, alpha };
    Ok(of(entries, VariantRun { question, variants, rounds, left_out: Vec::new() }))
}

fn of(entries: Vec<TestCase>, record: VariantRun) -> VariantPlan {
    let entries = entries.into_iter().map(|planned| PlannedCase::times(planned, record.rounds)).collect();
    VariantPlan { plan: RunPlan { entries }, record }
}

/// The case of a planned trial; an error if it cannot be read.
fn read(planned: &TestCase) -> Result<&Case, Problem> {
    planned.found.case().map_err(|problems| problems.to_vec().into())
}

fn positive_cases(run: &PlannedRun) -> Result<Vec<TestCase>, Problem> {
    let mut positive = Vec::new();
    for PlannedCase { planned, .. } in &run.plan.entries {
        let case = read(planned)?;
        if case.should_trigger {
            positive.push(planned.clone());
        }
    }
    Ok(positive)
}

fn no_positive_case(slug: &str) -> String {
    format!(
        "`{slug}` has no positive case that leaves the choice of the skill to the model: add one, such as a row with \
         `should_trigger` and a prompt without the skill's name"
    )
}

fn only_mode(cases: &[TestCase]) -> Result<Arc<Mode>, Problem> {
    let Some(first) = cases.first() else { return Err("no case is selected".into()) };
    let names: BTreeSet<&str> = cases.iter().map(|planned| planned.mode.name.as_str()).collect();
    if names.len() > 1 {
        let names: Vec<&str> = names.into_iter().collect();
        return Err(format!("these cases run in several modes ({}): choose one with --mode", names.join(", ")).into());
    }
    Ok(Arc::clone(&first.mode))
}

/// Whether a prompt in the mode can call the skill, and the model can choose it.
fn check_mode(skill: &Skill, mode: &Mode) -> Result<(), Problem> {
    let profile = mode.agent.profile();
    let usable: Vec<&str> =
        profile.modes.iter().filter(|(_, _, delivery)| *delivery == Delivery::Native).map(|(name, ..)| *name).collect();
    match mode.delivery {
        Delivery::None => return Err(format!("the mode `{mode}` offers no skills: choose another with --mode").into()),
        // A prompt of an MCP server takes its arguments word by word, and not the whole request.
        Delivery::Mcp => {
            return Err(format!(
                "in the mode `{mode}` a prompt cannot call a skill with its whole request: choose a mode with the skills in \
                 the agent's own directory, such as --mode {}",
                usable.join(" or --mode ")
            ).into());
        }
        Delivery::Native | Delivery::Both => {}
    }
    if profile.calls_skill.is_none() {
        let name = profile.name;
        return Err(
            format!("in {name} a prompt cannot call a skill: choose a mode of another agent with --mode").into()
        );
    }
    if !mode.offer.is_all() {
        return Err(format!("the mode `{mode}` does not offer all skills: choose one that does with --mode").into());
    }
    if skill.user_only && profile.hides_user_only {
        return Err(format!(
            "only users may call `{}` in {}, so its description is not shown to the model: choose a mode of another agent with --mode",
            skill.name, profile.name
        ).into());
    }
    Ok(())
}

/// Whether the outcome of the case's trials is judged, by its own checks, a judge, or the repository's own checks.
fn judges_outcome(case: &Case, settings: &Settings) -> bool {
    case.checks.iter().any(CaseCheck::judges_outcome) || case.has_checks_of_others(settings)
}

fn forced_mode(base: &Mode, settings: &Settings) -> Arc<Mode> {
    let name = free_name(&format!("{}.{}", base.name, Variant::FORCED), settings);
    Arc::new(Mode { name, ..base.clone() })
}

/// The case with a call of the skill before its prompt.
fn forced_case(found: &FoundCase, case: &Case, skill: &Skill, mode: &Mode) -> FoundCase {
    let call = mode.agent.profile().call_of(&skill.name).unwrap_or_default();
    let case = Case { prompt: format!("{call} {}", case.prompt), forced: true, ..case.clone() };
    let read = ReadCase::new(found.format(), Ok(case));
    FoundCase::new(found.id.clone(), Arc::clone(&found.skill), Arc::clone(&found.file), found.line, read)
}
