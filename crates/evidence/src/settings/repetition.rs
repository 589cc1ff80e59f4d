//! How often cases run and which share of their trials must pass, if the cases do not say so.

use std::collections::BTreeMap;

use toml::Spanned;

use crate::settings::keys::keys;
use crate::settings::problems::{Number, Problems};
use crate::settings::trials::{self, A_SHARE, Repetition, TRIALS, Trials};
use crate::settings::{ActivationRule, Settings};
use crate::skill::slug;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, suggest};

/// The repetition of cases, by who sets it.
#[derive(Clone, Debug, Default)]
pub struct RepetitionSettings {
    /// By a variable or the command line: it overrides what cases say.
    pub asked: Repetition,
    /// By evals.toml, for every case.
    pub(super) all: Repetition,
    /// By evals.toml, for the cases of a skill by its slug.
    of_skills: BTreeMap<String, (Repetition, SourceLocation)>,
}

keys! {
    #[serde(expecting = "a table: `[skills.<name>]` with `trials`, `threshold`, `activation` or `check`")]
    SkillKeys of "[skills.<skill>]" {
        trials: Number, "`trials` at the top of the file", "the same for the cases of this skill";
        threshold: Number, "`threshold` at the top of the file", "the same for the cases of this skill";
        activation: ActivationRule, "that of the mode",
            "what counts as an activation in the cases of this skill: `content` or `tool`, see [modes](../modes.md)";
        check: Number, "none", "script, or list of scripts, that check the trials of this skill too";
    }
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
}

impl Settings {
    /// Applies what evals.toml says about the cases of single skills.
    pub(super) fn apply_skills(&mut self, tables: BTreeMap<Spanned<String>, SkillKeys>, problems: &mut Problems<'_>) {
        for (name, table) in tables {
            let (skill, place) = (slug(name.get_ref()), problems.place(name.span()));
            if let Some(scripts) = &table.check {
                self.checks.add(Some(skill.clone()), scripts, problems);
            }
            self.activation.extend(table.activation.map(|rule| (skill.clone(), rule)));
            let trials = table.trials.and_then(|written| trials(&written, problems));
            let threshold = table.threshold.and_then(|written| threshold(&written, problems));
            let of_skills = &mut self.repetition.of_skills;
            if of_skills.insert(skill, (Repetition { trials, threshold }, place)).is_some() {
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

pub(super) fn trials(written: &Number, problems: &mut Problems<'_>) -> Option<Trials> {
    let value = written.get_ref();
    let trials = value.as_str().map_or_else(|| value.to_string().parse(), str::parse).ok();
    if trials.is_none() {
        problems.add(written.span(), format!("`trials` is {value}; expected {TRIALS}"));
    }
    trials
}

pub(super) fn threshold(written: &Number, problems: &mut Problems<'_>) -> Option<f64> {
    let share = match written.get_ref() {
        // Of the whole numbers only 1 is a share.
        toml::Value::Integer(1) => Some(1.0),
        value => value.as_float(),
    };
    let threshold = share.and_then(trials::threshold);
    if threshold.is_none() {
        problems.add(written.span(), format!("`threshold` is {}; expected {A_SHARE}", written.get_ref()));
    }
    threshold
}
