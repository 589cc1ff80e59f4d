//! How often cases run and which share of their trials must pass, where it is not the case that says so.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::Deserialize;

use crate::settings::ActivationRule;
use crate::settings::trials::{self, A_SHARE, Repetition, TRIALS, Trials};
use crate::skill::slug;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, suggest};

/// What was said about the repeats of cases, by whom.
#[derive(Clone, Debug, Default)]
pub struct RepetitionSettings {
    /// By a variable or the command line: it rules over what cases say.
    pub asked: Repetition,
    /// By evals.toml, for every case.
    all: Repetition,
    /// By evals.toml, for the cases of a skill by its slug.
    of_skills: BTreeMap<String, (Repetition, SourceLocation)>,
}

/// `[skills.<name>]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table: `[skills.<name>]` with `trials`, `threshold` or `activation`")]
pub(super) struct SkillTable {
    trials: Option<toml::Spanned<toml::Value>>,
    threshold: Option<toml::Spanned<toml::Value>>,
    pub(super) activation: Option<ActivationRule>,
}

impl RepetitionSettings {
    /// What holds for a case of this skill that says `own` of itself.
    pub fn of(&self, skill: &str, own: Repetition) -> EffectiveRepetition {
        let file = self.of_skills.get(skill).map(|(said, _)| *said).unwrap_or_default();
        let Repetition { trials, threshold } = self.asked.or(own).or(file).or(self.all);
        EffectiveRepetition { trials: trials.unwrap_or(Trials::Times(1)), threshold: threshold.unwrap_or(1.0) }
    }

    /// The threshold of cases of which nothing else is known.
    pub fn threshold(&self) -> f64 {
        self.of("", Repetition::default()).threshold
    }

    /// The skills that evals.toml names and that are not among the `known` slugs.
    pub fn unknown_skills(&self, known: &[&str]) -> Vec<Diagnostic> {
        let unknown = self.of_skills.iter().filter(|(skill, _)| !known.contains(&skill.as_str()));
        let problem = |(skill, (_, place)): (&String, &(Repetition, SourceLocation))| {
            let message = format!("unknown skill `{skill}`");
            Diagnostic::new(Code::Config, place.clone(), message).help(suggest(skill, known))
        };
        unknown.map(problem).collect()
    }

    /// Takes what evals.toml says of all cases.
    pub(super) fn apply(
        &mut self,
        trials: Option<&toml::Spanned<toml::Value>>,
        threshold: Option<&toml::Spanned<toml::Value>>,
        wrong: &mut impl FnMut(Range<usize>, String),
    ) {
        self.all = read(trials, threshold, wrong).or(self.all);
    }

    /// Takes what evals.toml says of the cases of single skills; `place` says where in it something stands.
    pub(super) fn apply_skills(
        &mut self,
        tables: BTreeMap<toml::Spanned<String>, SkillTable>,
        place: impl Fn(Range<usize>) -> SourceLocation,
        wrong: &mut impl FnMut(Range<usize>, String),
    ) {
        for (name, table) in tables {
            let said = read(table.trials.as_ref(), table.threshold.as_ref(), wrong);
            let (span, skill) = (name.span(), slug(name.get_ref()));
            if self.of_skills.insert(skill, (said, place(span.clone()))).is_some() {
                wrong(span, format!("the skill `{}` has a table already", name.get_ref()));
            }
        }
    }
}

/// What holds for a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EffectiveRepetition {
    /// How often it runs.
    pub trials: Trials,
    /// The share of its trials that must pass.
    pub threshold: f64,
}

impl EffectiveRepetition {
    /// The most trials, where the case goes on until it is decided.
    pub fn at_most(self) -> Option<u32> {
        match self.trials {
            Trials::Times(_) => None,
            Trials::UntilDecided(most) => Some(most),
        }
    }
}

fn read(
    trials: Option<&toml::Spanned<toml::Value>>,
    threshold: Option<&toml::Spanned<toml::Value>>,
    wrong: &mut impl FnMut(Range<usize>, String),
) -> Repetition {
    let mut said = Repetition::default();
    if let Some(number) = trials {
        let text = number.get_ref().as_str().map_or_else(|| number.get_ref().to_string(), str::to_owned);
        said.trials = text.parse().ok();
        if said.trials.is_none() {
            wrong(number.span(), format!("`trials` is {}; expected {TRIALS}", number.get_ref()));
        }
    }
    if let Some(share) = threshold {
        // Of the whole numbers only 1 is a share.
        let number = share
            .get_ref()
            .as_float()
            .or_else(|| share.get_ref().as_integer().filter(|number| *number == 1).map(|_| 1.0));
        said.threshold = number.and_then(trials::threshold);
        if said.threshold.is_none() {
            wrong(share.span(), format!("`threshold` is {}; expected {A_SHARE}", share.get_ref()));
        }
    }
    said
}
