//! `skill-evals run`.

use std::io::{self, Write};
use std::time::Duration;

use clap::Args;

use super::{CliResult, RepositoryArgs};
use crate::exit_code::Exit;
use skill_evals::case::Found;
use skill_evals::engine;
use skill_evals::event::Event;
use skill_evals::judge;
use skill_evals::outcome::{NoOutcome, Verdict};
use skill_evals::process::interrupt;
use skill_evals::report::{diagnostics, trial as report};
use skill_evals::run::Run;
use skill_evals::selection::{self, Selection, Suite};
use skill_evals::settings::MOST_VOTES;
use skill_evals::store;

#[derive(Args)]
pub struct RunArgs {
    /// A part of each skill's cases.
    #[arg(long, value_parser = Suite::NAMES, default_value = "smoke")]
    suite: String,
    /// Only this skill, by name (repeatable).
    #[arg(long, value_name = "NAME")]
    skill: Vec<String>,
    /// Only this task, by file name without `.json` (repeatable).
    #[arg(long, value_name = "NAME")]
    task: Vec<String>,
    /// Only this case, as `id` or `skill/id` (repeatable).
    #[arg(long, value_name = "ID")]
    case: Vec<String>,
    /// At most so many skills.
    #[arg(long, value_name = "N")]
    max_skills: Option<usize>,
    /// At most so many cases of each skill.
    #[arg(long, value_name = "N")]
    max_cases: Option<usize>,
    /// In this mode (repeatable).
    #[arg(long, value_name = "MODE")]
    mode: Vec<String>,
    /// The model to ask the agent for.
    #[arg(long)]
    model: Option<String>,
    /// How often to run each case.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    trials: Option<u32>,
    /// How many trials run at once.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    jobs: Option<u32>,
    /// Seconds for cases that name no timeout of their own.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout_s: Option<u64>,
    /// Have every trial judged by the rubric, whatever its case says.
    #[arg(long, conflicts_with = "no_judge")]
    judge: bool,
    /// Have no trial judged.
    #[arg(long)]
    no_judge: bool,
    /// How many seconds one judging may take.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    judge_timeout_s: Option<u64>,
    /// How often each trial is judged; more than half of the votes have to agree.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_VOTES)))]
    judge_votes: Option<u32>,
    /// The run's name below artifacts/skill-evals [default: the time, UTC].
    #[arg(long, value_name = "ID")]
    run_id: Option<String>,
    /// Replay recordings; start no agent.
    #[arg(long)]
    replay: bool,
    #[command(flatten)]
    repository: RepositoryArgs,
}

pub fn run(args: &RunArgs) -> CliResult {
    let (repository, mut settings, catalog) = args.repository.read()?;
    settings.live = !args.replay;
    if !args.mode.is_empty() {
        settings.select_modes(&args.mode)?;
    }
    settings.model = args.model.clone().or(settings.model);
    settings.trials = args.trials.unwrap_or(settings.trials);
    settings.jobs = args.jobs.map_or(settings.jobs, |jobs| jobs as usize);
    settings.timeout = args.timeout_s.map_or(settings.timeout, Duration::from_secs);
    settings.judge.wanted = args.judge.then_some(true).or(args.no_judge.then_some(false)).or(settings.judge.wanted);
    settings.judge.timeout = args.judge_timeout_s.map_or(settings.judge.timeout, Duration::from_secs);
    settings.judge.votes = args.judge_votes.unwrap_or(settings.judge.votes);
    settings.run_id = args.run_id.clone().or(settings.run_id);
    let selection = Selection {
        suite: Suite::named(&args.suite).unwrap_or_default(),
        skills: args.skill.clone(),
        tasks: args.task.clone(),
        cases: args.case.clone(),
        max_skills: args.max_skills,
        max_cases: args.max_cases,
    };
    let run = Run::new(repository.root, settings, catalog);
    let cases = selection.cases(&run.catalog).map_err(|problems| problems.join("\n"))?;
    let recorded = |found: &Found| {
        if run.settings.live { Vec::new() } else { store::recorded_modes(&run.root, &found.skill, &found.id) }
    };
    let planned = selection::plan(cases, &run.settings, recorded);
    if planned.is_empty() {
        return Err("no case is selected".into());
    }
    // A template that cannot be used is better known before the agents are paid.
    if judge::any_wanted(&run.settings, &planned) {
        run.rubric().map_err(|problem| diagnostics::render(std::slice::from_ref(problem), false))?;
    }
    interrupt::listen()?;
    let mut worst = Exit::Clean;
    let mut counts = [0_usize; 4];
    engine::run(&run, &planned, |event| {
        let Event::Finished(id, outcome) = event else { return };
        let text = match outcome.as_ref() {
            Ok(outcome) => {
                worst = worst.worse(Exit::of_verdict(outcome.grade.verdict));
                counts[outcome.grade.verdict as usize] += 1;
                match planned.iter().find(|planned| planned.trial(id.number) == id) {
                    Some(planned) if outcome.grade.verdict != Verdict::Pass => {
                        report::graded(&run.root, planned.found, outcome)
                    }
                    _ => report::passed(outcome),
                }
            }
            Err(problem @ NoOutcome::NotRecorded) => report::not_graded(&id, problem),
            Err(problem) => {
                worst = worst.worse(Exit::CouldNotRun);
                report::not_graded(&id, problem)
            }
        };
        // A reader that went away does not end the run.
        let _ = io::stdout().lock().write_all(text.as_bytes());
    });
    let [passed, failed, errors, unscored] = counts;
    writeln!(io::stdout(), "{passed} passed, {failed} failed, {errors} errors, {unscored} unscored")?;
    if let Some(folder) = run.folder() {
        writeln!(io::stdout(), "{}", folder.display())?;
    }
    Ok(if interrupt::raised() { Exit::Interrupted } else { worst })
}
