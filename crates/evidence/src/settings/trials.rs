//! Which cases run, how often each does, and which share of its trials must pass.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use toml::Spanned;

use crate::settings::keys::keys;
use crate::settings::problems::{Number, Problems};
use crate::settings::{ActivationRule, Settings};
use crate::skill::slug;
use crate::text::diagnostic::{Code, Diagnostic, SourceLocation, suggest};
use crate::text::word_enum::word_enum;

/// Maximum number of trials of a case in a mode.
pub const MOST_TRIALS: u32 = 1000;

/// The default maximum number of trials of a case that runs until it is decided: by then, nine of ten cases that pass 95 % of
/// the time are found to be above a threshold of 0.8.
const MOST_UNTIL_DECIDED: u32 = 100;

/// The valid numbers of trials, in words.
pub const TRIALS: &str = "1 to 1000, `until decided` or `until decided at most N`";

/// The valid thresholds, in words.
pub const A_SHARE: &str = "a share above 0 and up to 1";

/// How often a case runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trials {
    /// This often, 1 to [`MOST_TRIALS`].
    Times(u32),
    /// Until its trials show on which side of the threshold it is, and at most this often.
    UntilDecided(u32),
}

/// How often a case runs and how many trials must pass, as far as one source says so.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Repetition {
    /// How often it runs.
    pub trials: Option<Trials>,
    /// The share of its trials that must pass, above 0 and up to 1.
    pub threshold: Option<f64>,
}

impl Trials {
    /// Maximum number of trials.
    pub fn most(self) -> u32 {
        let (Self::Times(most) | Self::UntilDecided(most)) = self;
        most
    }
}

impl Repetition {
    /// The values of this source, and those of `other` where it has none.
    #[must_use]
    pub fn or(self, other: Repetition) -> Repetition {
        Repetition { trials: self.trials.or(other.trials), threshold: self.threshold.or(other.threshold) }
    }
}

impl FromStr for Trials {
    type Err = String;

    /// `5`, `until decided`, `until decided at most 40`; a comma before `at most` and dashes for spaces are fine.
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            // u32's own parser accepts a leading `+`.
            let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|number| is_digits && (1..=MOST_TRIALS).contains(number))
        };
        let words: Vec<&str> = text.split([' ', ',', '-']).filter(|word| !word.is_empty()).collect();
        let read = match words.as_slice() {
            ["until", "decided"] => Some(Self::UntilDecided(MOST_UNTIL_DECIDED)),
            ["until", "decided", "at", "most", most] => number(most).map(Self::UntilDecided),
            _ => number(text.trim()).map(Self::Times),
        };
        read.ok_or_else(|| format!("expected {TRIALS}"))
    }
}

impl fmt::Display for Trials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Times(number) => write!(f, "{number}"),
            Self::UntilDecided(most) => write!(f, "until decided at most {most}"),
        }
    }
}

/// A number, or the words.
impl Serialize for Trials {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Times(number) => serializer.serialize_u32(*number),
            Self::UntilDecided(_) => serializer.collect_str(self),
        }
    }
}

impl<'de> Deserialize<'de> for Trials {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = serde_json::Value::deserialize(deserializer)?;
        let text = written.as_str().map_or_else(|| written.to_string(), str::to_owned);
        text.parse().map_err(|_| de::Error::custom(format!("`{text}` is not a number of trials; expected {TRIALS}")))
    }
}

/// The share if it is a valid threshold.
pub fn threshold(share: f64) -> Option<f64> {
    Some(share).filter(|share| *share > 0.0 && *share <= 1.0)
}

// Which cases the command line and the environment select.

word_enum! {
    /// A named part of the cases.
    #[derive(Default)]
    pub enum Suite {
        /// Every case.
        #[default]
        Smoke = "smoke",
        /// Cases that name the skill: ids that start or end with `explicit`; of a skill without such cases the first.
        Explicit = "explicit",
        /// Cases in which the skill should trigger.
        Positive = "positive",
        /// Cases in which it should not.
        Negative = "negative",
    }
}

/// The selection, as a run stores it; an empty list selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TestSelection {
    /// The name of the part of each skill's cases.
    pub suite: Option<String>,
    /// Skills, by name or slug.
    pub skills: Vec<String>,
    /// Tasks, by file name without `.json`.
    pub tasks: Vec<String>,
    /// Cases, by `id` or `skill/id`.
    pub cases: Vec<String>,
    /// Tags: a case has one of them, and none of those with a `!` before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Maximum number of skills.
    pub max_skills: Option<usize>,
    /// Maximum number of cases of each skill.
    pub max_cases: Option<usize>,
}

impl TestSelection {
    /// The part of each skill's cases. The runs of other programs have suites of other names.
    pub fn suite(&self) -> Suite {
        self.suite.as_deref().and_then(Suite::named).unwrap_or_default()
    }

    pub fn is_all(&self) -> bool {
        self.suite() == Suite::Smoke && Self { suite: None, ..self.clone() } == Self::default()
    }
}

// How often cases run and which share of their trials must pass, if the cases do not say so.

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
            let threshold = table.threshold.and_then(|written| threshold_of_key(&written, problems));
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

pub(super) fn threshold_of_key(written: &Number, problems: &mut Problems<'_>) -> Option<f64> {
    let share = match written.get_ref() {
        // Of the whole numbers only 1 is a share.
        toml::Value::Integer(1) => Some(1.0),
        value => value.as_float(),
    };
    let threshold = share.and_then(threshold);
    if threshold.is_none() {
        problems.add(written.span(), format!("`threshold` is {}; expected {A_SHARE}", written.get_ref()));
    }
    threshold
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_are_a_number_or_go_on_until_it_is_decided() {
        for (text, trials) in [
            ("5", Trials::Times(5)),
            (" 1000 ", Trials::Times(1000)),
            ("until decided", Trials::UntilDecided(MOST_UNTIL_DECIDED)),
            ("until-decided", Trials::UntilDecided(MOST_UNTIL_DECIDED)),
            ("until decided, at most 40", Trials::UntilDecided(40)),
        ] {
            assert_eq!(text.parse(), Ok(trials), "{text}");
            assert_eq!(trials.to_string().parse(), Ok(trials), "{text}");
            let json = serde_json::to_string(&trials).expect("JSON");
            assert_eq!(serde_json::from_str::<Trials>(&json).expect("trials"), trials, "{json}");
        }
        for text in
            ["", "0", "1001", "+5", "-5", "2.5", "decided", "until decided 5", "until decided at most 0", "5 at most"]
        {
            assert_eq!(text.parse::<Trials>(), Err(format!("expected {TRIALS}")), "{text}");
        }
    }
}
