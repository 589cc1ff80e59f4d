//! Options that choose which cases run, and how.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use super::given::{CASES, STARTS};
use super::one_of;

use crate::cases::catalog::Catalog;
use crate::cases::selection;
use crate::settings::trials::{self, A_SHARE};
use crate::settings::{MOST_VOTES, Settings, Stop, Suite, TestSelection, VARIABLES, Variable};
use crate::store::RunFolder;
use crate::text::problem::Problem;
use crate::trial::run_choices::Overrides;
use crate::trial::run_record::RunChoices;

/// Options that choose cases by name.
#[derive(Args, Default)]
pub struct NameArgs {
    /// Only this skill, by name (repeatable).
    #[arg(long, value_name = "NAME", group = CASES)]
    skill: Vec<String>,
    /// Only this task, by file name without `.json` (repeatable).
    #[arg(long, value_name = "NAME", group = CASES)]
    task: Vec<String>,
    /// Only this case, as `id`, `skill/id` or `skill/id/mode` (repeatable).
    #[arg(long, value_name = "ID", allow_hyphen_values = true, group = CASES)]
    case: Vec<String>,
    #[command(flatten)]
    pub tags: TagArgs,
}

/// The option that chooses cases by their tags.
#[derive(Args, Clone, Default)]
pub struct TagArgs {
    /// Only cases with this tag, or with `!TAG` without it (repeatable).
    #[arg(long, value_name = "TAG", group = CASES)]
    pub tag: Vec<String>,
}

impl TagArgs {
    /// Puts the tags into a selection. Fails if no case has one of them.
    pub fn select(&self, selection: &mut TestSelection, catalog: &Catalog) -> Result<(), Problem> {
        if !self.tag.is_empty() {
            selection.tags.clone_from(&self.tag);
        }
        selection::unknown_tags(selection, catalog).into_iter().next().map_or(Ok(()), |why| Err(why.into()))
    }
}

/// Options that decide what is measured.
#[derive(Args, Default)]
pub struct SelectArgs {
    /// Part of each skill's cases [default: smoke, which is all of them]
    #[arg(long, value_parser = Suite::WORDS, group = STARTS)]
    suite: Option<String>,
    #[command(flatten)]
    pub names: NameArgs,
    /// Maximum number of skills
    #[arg(long, value_name = "N", hide = true, group = STARTS)]
    max_skills: Option<usize>,
    /// Maximum number of cases for each skill
    #[arg(long, value_name = "N", group = STARTS)]
    max_cases: Option<usize>,
    /// Model that the agent uses
    #[arg(long, group = STARTS)]
    model: Option<String>,
    /// Timeout in seconds for cases that set none
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400), group = STARTS)]
    timeout_s: Option<u64>,
    /// When a trial ends: `settled` as soon as nothing that follows can change its verdict [default: end]
    #[arg(long, value_name = "WHEN", value_parser = one_of::<Stop>(Stop::WORDS), group = STARTS)]
    trial_end: Option<Stop>,
    /// Judge every trial by the rubric, whatever its case says
    #[arg(long, conflicts_with = "no_judge", group = STARTS)]
    judge: bool,
    /// Judge no trial
    #[arg(long, group = STARTS)]
    no_judge: bool,
    /// Votes for each trial; more than half have to agree
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_VOTES)), group = STARTS)]
    judge_votes: Option<u32>,
}

/// Limits of a run that starts agents. They are not kept from an earlier part of the run. Each is a variable that is an option
/// too, with its value.
pub struct LimitArgs(Vec<(&'static Variable, String)>);

/// The variables that are options, each with the name of the option and of its value.
pub fn limits() -> impl Iterator<Item = (&'static Variable, &'static str, &'static str)> {
    VARIABLES.iter().flat_map(|variable| variable.option.iter().map(move |(name, value)| (variable, *name, *value)))
}

impl Args for LimitArgs {
    fn augment_args(command: Command) -> Command {
        command.args(limits().map(|(variable, name, value)| {
            let (first, rest) = variable.about.split_at(1);
            let help = format!("{}{rest}", first.to_uppercase());
            Arg::new(name).long(name).value_name(value).help(help).group(STARTS).value_parser(move |text: &str| {
                variable.apply(&mut Settings::default(), name, text).map(|()| text.to_owned())
            })
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for LimitArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let values =
            limits().filter_map(|(variable, name, _)| Some((variable, matches.get_one::<String>(name)?.clone())));
        Ok(Self(values.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl LimitArgs {
    /// Puts the values into the settings.
    pub fn apply(&self, settings: &mut Settings) -> Result<(), Problem> {
        Ok(self.0.iter().try_for_each(|(variable, value)| variable.apply(settings, variable.name, value))?)
    }
}

impl NameArgs {
    pub fn selection(&self) -> TestSelection {
        let (skills, tasks, tags) = (self.skill.clone(), self.task.clone(), self.tags.tag.clone());
        // The values of `--case` without modes.
        let cases = self.case.iter().map(|name| split_mode(name).0.to_owned()).collect();
        TestSelection { skills, tasks, cases, tags, ..TestSelection::default() }
    }

    /// `modes`, then the modes in values of `--case`.
    pub fn with_modes(&self, modes: &[String]) -> Vec<String> {
        let of_cases = self.case.iter().filter_map(|name| split_mode(name).1);
        let mut all: Vec<String> = Vec::new();
        for mode in modes.iter().map(String::as_str).chain(of_cases) {
            if !all.iter().any(|known| known == mode) {
                all.push(mode.to_owned());
            }
        }
        all
    }
}

/// Splits `skill/case/mode` into the case and the mode. `skill/case` has no mode.
fn split_mode(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once('/') {
        Some((case, mode)) if case.contains('/') => (case, Some(mode)),
        _ => (name, None),
    }
}

impl SelectArgs {
    pub fn chosen(&self) -> RunChoices {
        let (suite, max_skills, max_cases) = (self.suite.clone(), self.max_skills, self.max_cases);
        RunChoices {
            selection: TestSelection { suite, max_skills, max_cases, ..self.names.selection() },
            overrides: Overrides {
                model: self.model.clone(),
                timeout_s: self.timeout_s,
                stop: self.trial_end,
                judge: (self.judge || self.no_judge).then_some(self.judge),
                judge_votes: self.judge_votes,
                ..Overrides::default()
            },
            ..RunChoices::default()
        }
    }
}

/// Uses the threshold that a stored run was started with, unless a variable sets one.
pub fn apply_threshold_of(run: &RunFolder, settings: &mut Settings) {
    let record = run.run_record().ok().flatten();
    let threshold = &mut settings.repetition.asked.threshold;
    *threshold = threshold.or(record.and_then(|record| record.chosen.overrides.threshold));
}

pub fn share(text: &str) -> Result<f64, String> {
    text.parse().ok().and_then(trials::threshold).ok_or_else(|| format!("expected {A_SHARE}"))
}
