//! What commands that start agents can be told about which cases run, and how.

use std::time::Duration;

use clap::Args;

use skill_evals::cases::case::repetition::{self, A_SHARE, Repetition};
use skill_evals::settings::{MOST_VOTES, Selection, Settings, Suite};
use skill_evals::store::RunFolder;
use skill_evals::trial::run_record::Chosen;

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
    /// A part of each skill's cases [default: smoke, which is all of them].
    #[arg(long, value_parser = Suite::NAMES)]
    suite: Option<String>,
    #[command(flatten)]
    names: NameArgs,
    /// At most so many skills.
    #[arg(long, value_name = "N")]
    max_skills: Option<usize>,
    /// At most so many cases of each skill.
    #[arg(long, value_name = "N")]
    max_cases: Option<usize>,
    /// The model to ask the agent for.
    #[arg(long)]
    model: Option<String>,
    /// Seconds for cases that name no timeout of their own.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout_s: Option<u64>,
    /// Have every trial judged by the rubric, whatever its case says.
    #[arg(long, conflicts_with = "no_judge")]
    judge: bool,
    /// Have no trial judged.
    #[arg(long)]
    no_judge: bool,
    /// How often each trial is judged; more than half of the votes have to agree.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_VOTES)))]
    judge_votes: Option<u32>,
}

/// Limits of a run that starts agents; what no earlier part of it decides.
#[derive(Args)]
pub struct LimitArgs {
    /// How many trials run at once.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    jobs: Option<u32>,
    /// Start no trial once the run is known to have cost this much; what is left counts as not run.
    #[arg(long, value_name = "DOLLARS", value_parser = amount)]
    max_cost_usd: Option<f64>,
    /// Start no trial once the run is known to have taken this many tokens; what is left counts as not run.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    max_tokens: Option<u64>,
}

/// The first option that was given, of those named beside whether they were.
fn first_given(options: &[(&'static str, bool)]) -> Option<&'static str> {
    options.iter().find_map(|(name, given)| given.then_some(*name))
}

impl LimitArgs {
    /// The first option that was given, where no agent is to be started.
    pub fn first_given(&self) -> Option<&'static str> {
        first_given(&[
            ("--jobs", self.jobs.is_some()),
            ("--max-cost-usd", self.max_cost_usd.is_some()),
            ("--max-tokens", self.max_tokens.is_some()),
        ])
    }

    /// Takes what was said.
    pub fn apply(&self, settings: &mut Settings) {
        settings.jobs = self.jobs.map_or(settings.jobs, |jobs| jobs as usize);
        settings.max_cost_usd = self.max_cost_usd.or(settings.max_cost_usd);
        settings.max_tokens = self.max_tokens.or(settings.max_tokens);
    }
}

impl NameArgs {
    /// What was chosen.
    pub fn selection(&self) -> Selection {
        let Self { skill, task, case } = self;
        Selection { skills: skill.clone(), tasks: task.clone(), cases: case.clone(), ..Selection::default() }
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
    pub fn names(&self) -> Selection {
        self.names.selection()
    }

    /// What was said.
    pub fn chosen(&self) -> Chosen {
        Chosen {
            suite: self.suite.clone(),
            skills: self.names.skill.clone(),
            tasks: self.names.task.clone(),
            cases: self.names.case.clone(),
            max_skills: self.max_skills,
            max_cases: self.max_cases,
            model: self.model.clone(),
            timeout_s: self.timeout_s,
            judge: match (self.judge, self.no_judge) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            },
            judge_votes: self.judge_votes,
            ..Chosen::default()
        }
    }
}

/// Applies what was chosen.
pub fn apply(chosen: &Chosen, settings: &mut Settings) -> Result<(), String> {
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
        settings.selection = Selection {
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
    text.parse().ok().and_then(repetition::threshold).ok_or_else(|| format!("expected {A_SHARE}"))
}

/// An amount of money above nothing.
fn amount(text: &str) -> Result<f64, String> {
    let amount = text.trim_start_matches('$').parse::<f64>().ok();
    amount.filter(|amount| *amount > 0.0 && amount.is_finite()).ok_or_else(|| "expected an amount above 0".to_owned())
}
