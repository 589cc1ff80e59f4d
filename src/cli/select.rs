//! What commands that start agents can be told about which cases run, and how.

use std::time::Duration;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use skill_evals::cases::catalog::Catalog;
use skill_evals::run::plan;
use skill_evals::settings::trials::{self, A_SHARE, Repetition};
use skill_evals::settings::{MOST_VOTES, Settings, Suite, TestSelection, VARIABLES, Variable};
use skill_evals::store::RunFolder;
use skill_evals::text::diagnostic::nearest_few;
use skill_evals::trial::run_record::RunChoices;

/// What to say if no case is selected: the test names nearest to the first filter.
pub fn nothing(filters: &[String], catalog: &Catalog, settings: &Settings) -> String {
    let Some(filter) = filters.first() else { return "no case is selected".to_owned() };
    let planned = catalog.cases.iter().flat_map(|found| plan::planned(settings, found, &[]));
    let names: Vec<String> = planned.map(|planned| planned.test_name()).collect();
    let near = nearest_few(filter, names.iter().map(String::as_str), 3);
    format!("no test name contains `{filter}`; nearest: {}", near.join(", "))
}

/// Options that choose cases by name.
#[derive(Args)]
pub struct NameArgs {
    /// Only this skill, by name (repeatable).
    #[arg(long, value_name = "NAME")]
    skill: Vec<String>,
    /// Only this task, by file name without `.json` (repeatable).
    #[arg(long, value_name = "NAME")]
    task: Vec<String>,
    /// Only this case, as `id` or `skill/id` (repeatable).
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    case: Vec<String>,
}

/// Options that decide what is measured, whatever the command does with it.
#[derive(Args)]
pub struct SelectArgs {
    /// Part of each skill's cases [default: smoke, which is all of them]
    #[arg(long, value_parser = Suite::WORDS)]
    suite: Option<String>,
    #[command(flatten)]
    names: NameArgs,
    /// Maximum number of skills
    #[arg(long, value_name = "N")]
    max_skills: Option<usize>,
    /// Maximum number of cases for each skill
    #[arg(long, value_name = "N")]
    max_cases: Option<usize>,
    /// Model that the agent uses
    #[arg(long)]
    model: Option<String>,
    /// Timeout in seconds for cases that set none
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout_s: Option<u64>,
    /// Judge every trial by the rubric, whatever its case says
    #[arg(long, conflicts_with = "no_judge")]
    judge: bool,
    /// Judge no trial
    #[arg(long)]
    no_judge: bool,
    /// Votes for each trial; more than half have to agree
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_VOTES)))]
    judge_votes: Option<u32>,
}

/// Limits of a run that starts agents; what no earlier part of it decides. They are the variables that are options too, with
/// what was given for each.
pub struct LimitArgs(Vec<(&'static Variable, String)>);

/// The variables that are options, each with its name as one and what stands for its value.
fn limits() -> impl Iterator<Item = (&'static Variable, &'static str, &'static str)> {
    VARIABLES.iter().flat_map(|variable| variable.option.iter().map(move |(name, value)| (variable, *name, *value)))
}

impl Args for LimitArgs {
    fn augment_args(command: Command) -> Command {
        command.args(limits().map(|(variable, name, value)| {
            let (first, rest) = variable.about.split_at(1);
            let is_allowed = move |text: &str| {
                let read = variable.apply(&mut Settings::default(), name, text);
                read.map(|()| text.to_owned())
            };
            let help = format!("{}{rest}", first.to_uppercase());
            Arg::new(name).long(name).value_name(value).help(help).value_parser(is_allowed)
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for LimitArgs {
    fn from_arg_matches(given: &ArgMatches) -> Result<Self, clap::Error> {
        let of = |(variable, name, _)| Some((variable, given.get_one::<String>(name)?.clone()));
        Ok(Self(limits().filter_map(of).collect()))
    }

    fn update_from_arg_matches(&mut self, given: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(given)?;
        Ok(())
    }
}

/// The first option that was given, of those named beside whether they were.
fn first_given(options: &[(&'static str, bool)]) -> Option<&'static str> {
    options.iter().find_map(|(name, given)| given.then_some(*name))
}

impl LimitArgs {
    /// The first option that was given, where no agent is to be started.
    pub fn first_given(&self) -> Option<String> {
        self.0.iter().find_map(|(variable, _)| Some(format!("--{}", variable.option.first()?.0)))
    }

    /// Takes what was said.
    pub fn apply(&self, settings: &mut Settings) -> Result<(), String> {
        self.0.iter().try_for_each(|(variable, value)| variable.apply(settings, variable.name, value))
    }
}

impl NameArgs {
    /// What was chosen.
    pub fn selection(&self) -> TestSelection {
        let Self { skill, task, case } = self;
        TestSelection { skills: skill.clone(), tasks: task.clone(), cases: case.clone(), ..TestSelection::default() }
    }
}

impl SelectArgs {
    /// The first option that was given and that says nothing of trials that are stored: of those, skills, tasks and cases
    /// can be chosen.
    pub fn first_of_a_run(&self) -> Option<&'static str> {
        first_given(&[
            ("--suite", self.suite.is_some()),
            ("--max-skills", self.max_skills.is_some()),
            ("--max-cases", self.max_cases.is_some()),
            ("--model", self.model.is_some()),
            ("--timeout-s", self.timeout_s.is_some()),
            ("--judge", self.judge),
            ("--no-judge", self.no_judge),
            ("--judge-votes", self.judge_votes.is_some()),
        ])
    }

    /// Names of skills, tasks and cases that were chosen.
    pub fn names(&self) -> TestSelection {
        self.names.selection()
    }

    /// What was said.
    pub fn chosen(&self) -> RunChoices {
        let mut chosen = RunChoices::default();
        chosen.suite.clone_from(&self.suite);
        chosen.skills.clone_from(&self.names.skill);
        chosen.tasks.clone_from(&self.names.task);
        chosen.cases.clone_from(&self.names.case);
        chosen.max_skills = self.max_skills;
        chosen.max_cases = self.max_cases;
        chosen.model.clone_from(&self.model);
        chosen.timeout_s = self.timeout_s;
        chosen.judge = match (self.judge, self.no_judge) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            _ => None,
        };
        chosen.judge_votes = self.judge_votes;
        chosen
    }
}

/// Applies what was chosen.
pub fn apply(chosen: &RunChoices, settings: &mut Settings) -> Result<(), String> {
    settings.live = !chosen.replay;
    if !chosen.modes.is_empty() {
        settings.select_modes(&chosen.modes)?;
    }
    settings.model = chosen.model.clone().or(settings.model.take());
    let asked = &mut settings.repetition.asked;
    *asked = Repetition { trials: chosen.trials, threshold: chosen.threshold }.or(*asked);
    settings.timeout = chosen.timeout_s.map_or(settings.timeout, Duration::from_secs);
    settings.judge.wanted = chosen.judge.or(settings.judge.wanted);
    settings.judge.votes = chosen.judge_votes.unwrap_or(settings.judge.votes);
    if chosen.selects() {
        settings.selection = TestSelection {
            suite: chosen.suite.as_deref().and_then(Suite::named).unwrap_or_default(),
            skills: chosen.skills.clone(),
            tasks: chosen.tasks.clone(),
            cases: chosen.cases.clone(),
            max_skills: chosen.max_skills,
            max_cases: chosen.max_cases,
        };
    }
    Ok(())
}

/// Holds the trials of a stored run to the threshold that it was started with, where no variable says another.
pub fn apply_threshold_of(run: &RunFolder, settings: &mut Settings) {
    let record = run.run_record().ok().flatten();
    let asked = &mut settings.repetition.asked.threshold;
    *asked = asked.or(record.and_then(|record| record.chosen.threshold));
}

/// A threshold.
pub fn share(text: &str) -> Result<f64, String> {
    text.parse().ok().and_then(trials::threshold).ok_or_else(|| format!("expected {A_SHARE}"))
}
