//! Harbor: `result.json` of a trial and of a job. `SkillsBench`: rows of trials with and without skills.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::endings::{HARBOR, is_of_agent};
use super::{ResultFormat, ResultRow, TrialResult, document, objects, stated};

pub const TRIAL: ResultFormat = ResultFormat {
    name: "Harbor",
    keys: &["task_name", "trial_name", "verifier_result"],
    with: None,
    mean_of_cases: false,
    read: trial,
};

pub const JOB: ResultFormat = ResultFormat {
    name: "Harbor job",
    keys: &["stats", "n_total_trials"],
    with: None,
    mean_of_cases: false,
    read: job,
};

pub const SKILLSBENCH: ResultFormat = ResultFormat {
    name: "SkillsBench",
    keys: &["task", "skills_enabled", "reward"],
    with: Some("with skills"),
    mean_of_cases: false,
    read: skillsbench,
};

#[derive(Deserialize)]
struct Trial {
    task_name: String,
    #[serde(default)]
    agent_info: Option<Agent>,
    verifier_result: Option<Verified>,
    #[serde(default)]
    exception_info: Option<Exception>,
}

#[derive(Deserialize)]
struct Agent {
    name: String,
    #[serde(default)]
    model_info: Option<Model>,
}

#[derive(Deserialize)]
struct Model {
    name: String,
}

#[derive(Deserialize)]
struct Verified {
    #[serde(default)]
    rewards: Option<BTreeMap<String, Option<f64>>>,
}

#[derive(Deserialize)]
struct Exception {
    exception_type: String,
}

fn trial(bytes: &[u8]) -> Result<Vec<ResultRow>, String> {
    let trial: Trial = document(bytes)?;
    let rewards = trial.verifier_result.and_then(|verified| verified.rewards).unwrap_or_default();
    let reward = main_reward(&rewards)?.copied().flatten();
    let side = trial.agent_info.map(|agent| {
        let model = agent.model_info.map(|model| format!(" {}", model.name)).unwrap_or_default();
        format!("{}{model}", agent.name)
    });
    let exception = trial.exception_info.map(|info| info.exception_type);
    let result = result(reward, exception.as_deref());
    // A job scores trials without a reward, too.
    Ok(vec![ResultRow::trial(trial.task_name, &side.unwrap_or_default(), result, reward.or(Some(0.0)))])
}

/// The reward that decides: the one of this name, or the only one.
fn main_reward<T>(rewards: &BTreeMap<String, T>) -> Result<Option<&T>, String> {
    match rewards.get("reward") {
        None if rewards.len() > 1 => {
            let names: Vec<&str> = rewards.keys().map(String::as_str).collect();
            Err(format!("it has several rewards, and none is `reward`: {}", names.join(", ")))
        }
        reward => Ok(reward.or_else(|| rewards.values().next())),
    }
}

fn result(reward: Option<f64>, exception: Option<&str>) -> TrialResult {
    match (reward, exception) {
        (_, Some(exception)) if !is_of_agent(exception, HARBOR) => TrialResult::Error,
        (None, Some(_)) => TrialResult::Fail,
        (Some(reward), _) => TrialResult::of(reward >= 1.0),
        (None, None) => TrialResult::Error,
    }
}

#[derive(Deserialize)]
struct Job {
    stats: Stats,
}

#[derive(Deserialize)]
struct Stats {
    #[serde(default)]
    n_trials: Option<u64>,
    evals: BTreeMap<String, EvalStats>,
}

/// The names of trials, `TASK__ID`, by reward and by exception.
#[derive(Deserialize)]
struct EvalStats {
    reward_stats: BTreeMap<String, BTreeMap<String, Vec<String>>>,
    #[serde(default)]
    exception_stats: BTreeMap<String, Vec<String>>,
}

fn job(bytes: &[u8]) -> Result<Vec<ResultRow>, String> {
    let job: Job = document(bytes)?;
    let mut rows = Vec::new();
    for (side, stats) in &job.stats.evals {
        rows.extend(of_eval(side, stats)?);
    }
    stated("trials", job.stats.n_trials, rows.len())?;
    Ok(rows)
}

fn of_eval(side: &str, stats: &EvalStats) -> Result<Vec<ResultRow>, String> {
    let mut rewards: BTreeMap<&str, f64> = BTreeMap::new();
    let of_rewards = main_reward(&stats.reward_stats)?;
    for (reward, trials) in of_rewards.into_iter().flatten() {
        let reward = reward.parse().unwrap_or(f64::NAN);
        rewards.extend(trials.iter().map(|trial| (trial.as_str(), reward)));
    }
    let mut exceptions: BTreeMap<&str, &str> = BTreeMap::new();
    for (exception, trials) in &stats.exception_stats {
        exceptions.extend(trials.iter().map(|trial| (trial.as_str(), exception.as_str())));
    }
    let trials: BTreeSet<&str> = rewards.keys().chain(exceptions.keys()).copied().collect();
    let row = |trial: &str| {
        let reward = rewards.get(trial).copied().filter(|reward| reward.is_finite());
        let task = trial.rsplit_once("__").map_or(trial, |(task, _)| task);
        ResultRow::trial(task.to_owned(), side, result(reward, exceptions.get(trial).copied()), reward.or(Some(0.0)))
    };
    Ok(trials.into_iter().map(row).collect())
}

#[derive(Deserialize)]
struct SkillsBenchRow {
    task: String,
    #[serde(default)]
    model: Option<String>,
    skills_enabled: bool,
    reward: Option<f64>,
}

fn skillsbench(bytes: &[u8]) -> Result<Vec<ResultRow>, String> {
    let mut trials: Vec<SkillsBenchRow> = objects(bytes)?;
    trials.sort_by_key(|trial| trial.skills_enabled);
    let row = |trial: SkillsBenchRow| {
        let case = trial.model.map_or(trial.task.clone(), |model| format!("{}/{model}", trial.task));
        let side = if trial.skills_enabled { "with skills" } else { "without skills" };
        ResultRow::trial(case, side, result(trial.reward, None), trial.reward)
    };
    Ok(trials.into_iter().map(row).collect())
}
