//! Harbor: `result.json` of a trial and of a job.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::TrialResult::{self, Error, Fail};
use super::document::Part::{self, Count, Number, Text};
use super::document::{Need, number, part, said};
use super::{FORMAT, ResultFormat};

/// Harbor: `result.json` of a trial.
pub const HARBOR: ResultFormat = ResultFormat {
    name: "Harbor",
    keys: &["task_name", "trial_name", "verifier_result"],
    document: part!({
        Must task_name Text, May agent_info { Must name Text, May model_info { Must name Text } },
        May verifier_result { May rewards (May Number) }, May exception_info { Must exception_type Text }
    }),
    prepare: |trial| {
        let [agent, model] = ["/agent_info/name", "/agent_info/model_info/name"].map(|name| said(trial, name));
        let side = agent.into_iter().chain(model).collect::<Vec<_>>().join(" ");
        let rewards = trial.pointer("/verifier_result/rewards").and_then(Value::as_object);
        let reward = rewards.map(main_reward).transpose()?.flatten().cloned();
        (trial["side"], trial["score"]) = (side.into(), reward.into());
        trial["exception"] = trial.pointer("/exception_info/exception_type").cloned().into();
        Ok(())
    },
    trials: &[("", "")],
    case: &["/task_name"],
    ..TRIAL
};

/// Harbor: `result.json` of a job, with the names of trials, `TASK__ID`, by reward and by exception.
pub const HARBOR_JOB: ResultFormat = ResultFormat {
    name: "Harbor job",
    keys: &["stats", "n_total_trials"],
    document: part!({ Must stats { May n_trials Count, Must evals (Must {
        Must reward_stats (Must (Must [Text])), NotNull exception_stats (Must [Text])
    }) } }),
    prepare: harbor_job,
    stated: Some(("trials", &["/stats/n_trials"], "/trials")),
    trials: &[("", "/trials/*")],
    ..TRIAL
};

/// A job scores trials without a reward, too. An agent's timeout is its own doing.
const TRIAL: ResultFormat = ResultFormat {
    scores_errors: true,
    result: |trial| {
        let exception = said(trial, "/exception");
        Ok(Some(match number(trial, "/score") {
            _ if exception.is_some_and(|name| !name.eq_ignore_ascii_case("AgentTimeoutError")) => Error,
            Some(reward) => TrialResult::of(reward >= 1.0),
            None if exception.is_some() => Fail,
            None => Error,
        }))
    },
    ..FORMAT
};

/// The reward that decides: the one of this name, or the only one.
fn main_reward(rewards: &Map<String, Value>) -> Result<Option<&Value>, String> {
    match rewards.get("reward") {
        None if rewards.len() > 1 => {
            let names: Vec<&str> = rewards.keys().map(String::as_str).collect();
            Err(format!("it has several rewards, and none is `reward`: {}", names.join(", ")))
        }
        reward => Ok(reward.or_else(|| rewards.values().next())),
    }
}

/// Makes a list of the trials.
fn harbor_job(job: &mut Value) -> Result<(), String> {
    let mut all = Vec::new();
    for (side, stats) in job["stats"]["evals"].as_object().into_iter().flatten() {
        let mut trials: BTreeMap<&str, Value> = BTreeMap::new();
        let rewards = stats["reward_stats"].as_object().map(main_reward).transpose()?.flatten();
        for (key, by) in [("score", rewards), ("exception", stats.get("exception_stats"))] {
            for (said, names) in by.and_then(Value::as_object).into_iter().flatten() {
                let said = if key == "score" { json!(said.parse().unwrap_or(f64::NAN)) } else { json!(said) };
                for name in names.as_array().into_iter().flatten().filter_map(Value::as_str) {
                    let task = name.rsplit_once("__").map_or(name, |(task, _)| task);
                    let trial = trials.entry(name).or_insert_with(|| json!({ "case": task, "side": side }));
                    trial[key] = said.clone();
                }
            }
        }
        all.extend(trials.into_values());
    }
    job["trials"] = all.into();
    Ok(())
}
