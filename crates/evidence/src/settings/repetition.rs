//! How often cases run and which share of their trials must pass, if the cases do not say so.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::settings::ActivationRule;
use crate::settings::Problems;
use crate::settings::trials::{self, A_SHARE, Repetition, TRIALS, Trials};
use crate::skill::slug;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, suggest};

/// The repetition of cases, by who sets it.
#[derive(Clone, Debug, Default)]
pub struct RepetitionSettings {
    /// By a variable or the command line: it overrides what cases say.
    pub asked: Repetition,
    /// By evals.toml, for every case.
    all: Repetition,
    /// By evals.toml, for the cases of a skill by its slug.
    of_skills: BTreeMap<String, (Repetition, SourceLocation)>,
}

/// A number of trials or a threshold as written.
pub(super) type WrittenNumber = Option<toml::Spanned<toml::Value>>;

/// `[skills.<name>]`.
#[derive(Debug, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table: `[skills.<name>]` with `trials`, `threshold`, `activation` or `check`"
)]
pub(super) struct SkillTable {
    trials: WrittenNumber,
    threshold: WrittenNumber,
    pub(super) activation: Option<ActivationRule>,
    pub(super) check: Option<toml::Spanned<toml::Value>>,
}

impl RepetitionSettings {
    /// The repetition of a case of this skill that itself says `own`.
    pub fn of(&self, skill: &str, own: Repetition) -> EffectiveRepetition {
        let of_skill = self.of_skills.get(skill).map(|(repetition, _)| *repetition).unwrap_or_default();
        let Repetition { trials, threshold } = self.asked.or(own).or(of_skill).or(self.all);
        EffectiveRepetition { trials: trials.unwrap_or(Trials::Times(1)), threshold: threshold.unwrap_or(1.0) }
    }

    /// The threshold of cases that say nothing, of an unknown skill.
    pub fn threshold(&self) -> f64 {
        self.of("", Repetition::default()).threshold
    }

    /// The skills that evals.toml names and that are not among the `known` slugs.
    pub fn unknown_skills(&self, known: &[&str]) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        for (skill, (_, place)) in self.of_skills.iter().filter(|(skill, _)| !known.contains(&skill.as_str())) {
            let problem = Diagnostic::new(Code::Config, place.clone(), format!("unknown skill `{skill}`"));
            problems.push(problem.help(suggest(skill, known)));
        }
        problems
    }

    /// Applies what evals.toml says about all cases.
    pub(super) fn apply(&mut self, trials: &WrittenNumber, threshold: &WrittenNumber, problems: &mut Problems<'_>) {
        self.all = repetition(trials, threshold, problems).or(self.all);
    }

    /// Applies what evals.toml says about the cases of single skills.
    pub(super) fn apply_skills(
        &mut self,
        tables: BTreeMap<toml::Spanned<String>, SkillTable>,
        problems: &mut Problems<'_>,
    ) {
        for (name, table) in tables {
            let repetition = repetition(&table.trials, &table.threshold, problems);
            let place = problems.place(name.span());
            if self.of_skills.insert(slug(name.get_ref()), (repetition, place)).is_some() {
                problems.add(name.span(), format!("the skill `{}` has a table already", name.get_ref()));
            }
        }
    }
}

/// The repetition that is in effect for a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EffectiveRepetition {
    /// How often it runs.
    pub trials: Trials,
    /// The share of its trials that must pass.
    pub threshold: f64,
}

impl EffectiveRepetition {
    /// The maximum number of trials of a case that runs until it is decided.
    pub fn at_most(self) -> Option<u32> {
        match self.trials {
            Trials::Times(_) => None,
            Trials::UntilDecided(most) => Some(most),
        }
    }
}

fn repetition(trials: &WrittenNumber, threshold: &WrittenNumber, problems: &mut Problems<'_>) -> Repetition {
    let mut repetition = Repetition::default();
    if let Some(written) = trials {
        let value = written.get_ref();
        repetition.trials = value.as_str().map_or_else(|| value.to_string().parse(), str::parse).ok();
        if repetition.trials.is_none() {
            problems.add(written.span(), format!("`trials` is {value}; expected {TRIALS}"));
        }
    }
    if let Some(written) = threshold {
        let share = match written.get_ref() {
            // Of the whole numbers only 1 is a share.
            toml::Value::Integer(1) => Some(1.0),
            value => value.as_float(),
        };
        repetition.threshold = share.and_then(trials::threshold);
        if repetition.threshold.is_none() {
            problems.add(written.span(), format!("`threshold` is {}; expected {A_SHARE}", written.get_ref()));
        }
    }
    repetition
}
