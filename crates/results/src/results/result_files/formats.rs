//! The formats whose files are JSON, each as a table: what is read of a file, where its trials are, and what says of each its case, its
//! side and its score. A function is there only for what a tool does in its own way.
//!
//! Whether a trial that did not end well is a failure or an error is the rule of our own trials: an agent that comes to the end of its
//! time, turns, tokens or money, or that breaks a rule of its case, has done so itself, and its trial is judged by what there is.
//! Everything else is the machinery's, and such a trial is not measured, whatever the tool has made of it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::ForeignTrial::{self, Error, Fail, Pass};
use super::document::Part::{self, Any, Count, Flag, Label, Name, Number, Presence, Text};
use super::document::{Need, flag, items, number, part, said, text};
use super::{FORMAT, ResultFormat};

/// What came of a trial by a word of its tool. A word that is not known is never a verdict.
fn by_word(what: &str, word: &str, known: &[(&str, ForeignTrial)]) -> Result<Option<ForeignTrial>, String> {
    let words = || known.iter().flat_map(|(words, result)| words.split(' ').map(move |known| (known, *result)));
    let found = words().find(|(known, _)| *known == word).map(|(_, result)| Some(result));
    found.ok_or_else(|| {
        let known: Vec<&str> = words().map(|(known, _)| known).collect();
        format!("has the {what} `{word}`, which is not known; known: {}", known.join(", "))
    })
}

/// The status of waza and of Vally, in any case, of a trial that came to the end of its time.
fn is_late(status: &str) -> bool {
    status.eq_ignore_ascii_case("timeout")
}

/// `claude plugin eval`: `aggregate-result.json`, with the runs of each case with the plugin and without. Names of cases may be the
/// same in several directories, which older files do not have.
pub const PLUGIN_EVAL: ResultFormat = ResultFormat {
    name: "claude plugin eval",
    keys: &["suite", "cases", "aggregates"],
    with: Some("with"),
    mean_of_cases: true,
    document: part!({
        Must cases [{ Must name Text, May dir Name, Must arms { Must with [RUN], NotNull without [RUN] } }],
        NotNull aggregates { May casesTotal Count }
    }),
    stated: Some(("cases", &["/aggregates/casesTotal"], "/cases")),
    trials: &[("without", "/cases/*/arms/without/*"), ("with", "/cases/*/arms/with/*")],
    case: &["/dir", "/name"],
    result: |run| Ok(Some(plugin_eval(run))),
    ..FORMAT
};

const RUN: Part = part!({
    Must passed Flag, May score Number, May error Text, May aborted { NotNull reason Text }, NotNull skippedPaidGraders Flag
});

/// By version 2.1.332. A run that an error of the provider ended is scored 0 and not graded, and one that a rule of a mock ended is
/// scored 0. At the cost ceiling graders fail without being asked.
fn plugin_eval(run: &Value) -> ForeignTrial {
    let of_agent = ["timed out after ", "exit 1: Reached maximum number of turns"];
    let is_lost = said(run, "/error").is_some_and(|error| !of_agent.iter().any(|start| error.starts_with(start)))
        || said(run, "/aborted/reason").is_some_and(|reason| reason.starts_with("mock agent responder failed"))
        || flag(run, "/skippedPaidGraders") == Some(true);
    if is_lost { Error } else { ForeignTrial::of(flag(run, "/passed") == Some(true)) }
}

/// promptfoo: the JSON of `promptfoo eval --output`. Each provider is a side; with several prompts, each provider with a prompt.
pub const PROMPTFOO: ResultFormat = ResultFormat {
    name: "promptfoo",
    keys: &["evalId", "results"],
    document: part!({ Must results {
        Must results [{
            Must success Flag, May failureReason Count, May error Text, May gradingResult { May pass Flag },
            Must provider { Must id Text, May label Name }, NotNull promptIdx Count, May vars (Must Any),
            NotNull testCase { May description Text, May vars (Must Any) }
        }],
        May stats { Must successes Count, Must failures Count, NotNull errors Count }
    } }),
    prepare: promptfoo,
    stated: Some((
        "results",
        &["/results/stats/successes", "/results/stats/failures", "/results/stats/errors"],
        "/results/results",
    )),
    trials: &[("", "/results/results/*")],
    // The headline of promptfoo is the share that passed, of errors too.
    scores_errors: true,
    result: |test| Ok(Some(promptfoo_result(test))),
    ..FORMAT
};

/// The `failureReason` of a test that did not fail, of one whose assertion failed, and of a provider or an assertion that threw. Older
/// versions say none: without a grade, nothing shows that the test came to one. A provider's own timeout is another error.
fn promptfoo_result(test: &Value) -> ForeignTrial {
    let (success, graded) = (flag(test, "/success") == Some(true), flag(test, "/gradingResult/pass"));
    let is_own = said(test, "/error").is_some_and(|error| error.starts_with("Evaluation timed out after "));
    match test["failureReason"].as_u64() {
        Some(2) if !is_own => Error,
        None | Some(0) if !success && !is_own && graded != Some(false) => Error,
        _ => ForeignTrial::of(success),
    }
}

/// Names the test and the side of each result. A repeated test has the same description and variables; a description may stand for
/// several tests.
fn promptfoo(document: &mut Value) -> Result<(), String> {
    let index_of = |test: &Value| test["promptIdx"].as_u64().unwrap_or_default();
    let names = |test: &Value| {
        let of_test = test.pointer("/testCase/vars").filter(|vars| vars.is_object()).unwrap_or(&test["vars"]);
        let vars = of_test.as_object().filter(|vars| !vars.is_empty()).map(|_| of_test.to_string()).unwrap_or_default();
        let described = text(&[test], &["/testCase/description"]);
        [described, vars, text(&[test], &["/provider/label", "/provider/id"]), index_of(test).to_string()]
    };
    let Some(tests) = document.pointer_mut("/results/results").and_then(Value::as_array_mut) else { return Ok(()) };
    // They are in the order in which they came.
    tests.sort_by_key(index_of);
    let (mut vars_of, mut prompts_of) = (BTreeMap::<_, BTreeSet<_>>::new(), BTreeMap::<_, BTreeSet<_>>::new());
    for [described, vars, provider, prompt] in tests.iter().map(names) {
        vars_of.entry(described).or_default().insert(vars);
        prompts_of.entry(provider).or_default().insert(prompt);
    }
    for test in tests {
        let [described, vars, provider, prompt] = names(test);
        let case = match vars_of[&described].len() {
            _ if described.is_empty() => vars,
            1 => described,
            _ => format!("{described} {vars}"),
        };
        if let Some(reason) = test["failureReason"].as_u64().filter(|reason| *reason > 2) {
            return Err(format!("{case} has the `failureReason` {reason}, which is not known; known: 0, 1, 2"));
        }
        let side = if prompts_of[&provider].len() == 1 { provider } else { format!("{provider} prompt {prompt}") };
        (test["case"], test["side"]) = (short(case).into(), side.into());
    }
    Ok(())
}

/// A name of at most 60 characters that is no other's.
fn short(name: String) -> String {
    if name.chars().count() <= 60 {
        return name;
    }
    let start: String = name.chars().take(50).collect();
    format!("{start}… {}", &blake3::hash(name.as_bytes()).to_hex()[..8])
}

/// `benchmark.json` of skill-creator, by its `references/schemas.md`: runs in configurations, the new one first.
pub const SKILL_CREATOR: ResultFormat = ResultFormat {
    name: "skill-creator",
    keys: &["runs", "run_summary"],
    with: Some("with_skill"),
    document: part!({
        Must runs [{ Must eval_id Label, Must configuration Text, May result { Must pass_rate Number, May total Count } }],
        NotNull metadata { May skill_name Text }
    }),
    trials: &[("", "/runs/*")],
    case: &["/eval_id"],
    suite: &["/metadata/skill_name"],
    side: &["/configuration"],
    last: &["with_skill", "new_skill"],
    score: "/result/pass_rate",
    // A run that could not be graded has no expectations.
    result: |run| {
        let rate = number(run, "/result/pass_rate").filter(|_| number(run, "/result/total") != Some(0.0));
        Ok(Some(rate.map_or(Error, |rate| ForeignTrial::of(rate >= 1.0))))
    },
    ..FORMAT
};

/// Vally: `results.jsonl`, a line for each trial of a stimulus in a variant. Lines without a stimulus and a grade are no trials.
pub const VALLY: ResultFormat = ResultFormat {
    name: "Vally",
    keys: &["stimulus|trajectory", "gradeResult"],
    document: part!(lines {
        May evalName Text, May stimulus Text, May variant Text, May status Text,
        May gradeResult { Must passed Flag, May score Number }, May trajectory { May stimulus { Must name Text } }
    }),
    prepare: vally,
    case: &["/stimulus", "/trajectory/stimulus/name"],
    suite: &["/evalName"],
    side: &["/variant"],
    score: "/gradeResult/score",
    result: |line| {
        let is_over = said(line, "/status").is_none_or(|status| status == "success" || is_late(status));
        let passed = flag(line, "/gradeResult/passed").filter(|_| is_over);
        Ok(Some(passed.map_or(Error, ForeignTrial::of)))
    },
    ..FORMAT
};

/// The first line of a run has the name of its eval, of which the trials that follow are.
fn vally(document: &mut Value) -> Result<(), String> {
    let is_trial = |line: &Value| line["stimulus"].is_string() || line.pointer("/trajectory/stimulus/name").is_some();
    let Some(lines) = document.as_array_mut() else { return Ok(()) };
    let mut suite = Value::Null;
    for (at, line) in lines.iter_mut().enumerate() {
        if !is_trial(line) && line["gradeResult"].is_object() {
            return Err(format!("result {} has a grade and no `stimulus`", at + 1));
        }
        if line["evalName"].is_string() {
            suite = line["evalName"].clone();
        }
        line["evalName"] = suite.clone();
    }
    lines.retain(is_trial);
    Ok(())
}

/// waza: the JSON of `waza run --output`, with the run without skills in it if there was one.
pub const WAZA: ResultFormat = ResultFormat {
    name: "waza",
    keys: &["eval_id|eval_name", "tasks", "summary"],
    with: Some("with skills"),
    document: part!({
        May eval_name Text, May eval_id Text, Must tasks [TASK], NotNull summary { May total_tests Count },
        May baseline_outcome {
            May eval_name Text, May eval_id Text, Must tasks [TASK], NotNull summary { May total_tests Count }
        }
    }),
    stated: Some(("tests", &["/summary/total_tests"], "/tasks")),
    trials: &[("without skills", "/baseline_outcome/tasks/*/runs/*"), ("with skills", "/tasks/*/runs/*")],
    case: &["/test_id"],
    suite: &["/eval_name", "/eval_id"],
    result: |run| {
        Ok(match said(run, "/status").unwrap_or_default() {
            "skipped" => None,
            "passed" => Some(Pass),
            status if status == "failed" || is_late(status) => Some(Fail),
            _ => Some(Error),
        })
    },
    ..FORMAT
};

const TASK: Part = part!({ Must test_id Text, Must runs [{ Must status Text }] });

/// Inspect: a log in JSON. A sample is a trial; it passes with `C`, or the whole score of the first scorer. What somebody invalidated
/// measured nothing.
pub const INSPECT: ResultFormat = ResultFormat {
    name: "Inspect",
    keys: &["eval", "status", "samples"],
    mean_of_cases: true,
    document: part!({
        Must status Text, Must eval { NotNull task Text, Must model Text, May scorers [{ Must name Text }] },
        Must samples [{ Must id Label, May scores (Must Any), May error Presence, May invalidation Presence }], May results { May total_samples Count }
    }),
    prepare: inspect,
    stated: Some(("samples", &["/results/total_samples"], "/samples")),
    trials: &[("", "/samples/*")],
    case: &["/id"],
    suite: &["/eval/task"],
    side: &["/eval/model"],
    ..FORMAT
};

/// Scores each sample. The other statuses of a log are `started`, `cancelled` and `error`.
fn inspect(log: &mut Value) -> Result<(), String> {
    let status = text(&[log], &["/status"]);
    if status != "success" {
        return Err(format!("the status of the log is `{status}`, not `success`: its run did not come to its end"));
    }
    // A log without a number says 0.
    if let Some(total) = log.pointer_mut("/results/total_samples").filter(|total| **total == json!(0)) {
        *total = Value::Null;
    }
    let first = text(&[log], &["/eval/scorers/0/name"]);
    for sample in items(log, "/samples") {
        let shown = sample["scores"].as_object().and_then(|all| all.get(&first).or_else(|| all.values().next()));
        let score = shown
            .and_then(|score| inspect_score(score.get("value")?))
            .filter(|_| sample["error"].is_null() && sample["invalidation"].is_null());
        sample["score"] = score.into();
    }
    Ok(())
}

/// A score as Inspect counts it for its accuracy.
fn inspect_score(value: &Value) -> Option<f64> {
    match value.as_str() {
        Some("C") => Some(1.0),
        Some("P") => Some(0.5),
        Some("I" | "N") => Some(0.0),
        Some(text) => text.parse().ok().filter(|number: &f64| number.is_finite()),
        None => value.as_bool().map(|passed| if passed { 1.0 } else { 0.0 }).or(value.as_f64()),
    }
}

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
    ..OF_HARBOR
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
    ..OF_HARBOR
};

/// A job scores trials without a reward, too. An agent's timeout is its own doing.
const OF_HARBOR: ResultFormat = ResultFormat {
    scores_errors: true,
    result: |trial| {
        let exception = said(trial, "/exception");
        Ok(Some(match number(trial, "/score") {
            _ if exception.is_some_and(|name| !name.eq_ignore_ascii_case("AgentTimeoutError")) => Error,
            Some(reward) => ForeignTrial::of(reward >= 1.0),
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

/// `SkillsBench`: rows of trials with and without skills.
pub const SKILLSBENCH: ResultFormat = ResultFormat {
    name: "SkillsBench",
    keys: &["task", "skills_enabled", "reward"],
    with: Some("with skills"),
    document: part!(lines { Must task Text, May model Text, Must skills_enabled Flag, May reward Number }),
    prepare: |rows| {
        for row in items(rows, "") {
            let case = [said(row, "/task"), said(row, "/model")].into_iter().flatten().collect::<Vec<_>>().join("/");
            let side = if flag(row, "/skills_enabled") == Some(true) { "with skills" } else { "without skills" };
            (row["case"], row["side"], row["score"]) = (case.into(), side.into(), row["reward"].clone());
        }
        Ok(())
    },
    last: &["with skills"],
    ..FORMAT
};

/// AgentV: `index.jsonl` of a run, a line for each test on a target, with its attempts if it had several.
pub const AGENTV: ResultFormat = ResultFormat {
    name: "AgentV",
    keys: &["test_id", "target", "execution_status"],
    document: part!(lines {
        Must test_id Text, Must target Text,
        NotNull attempts [{ May score Number, May verdict Text, May execution_status Text }],
        May score Number, May verdict Text, May execution_status Text
    }),
    prepare: |lines| {
        for line in items(lines, "").filter(|line| line["attempts"].get(0).is_none()) {
            line["attempts"] = json!([line]);
        }
        Ok(())
    },
    trials: &[("", "/*/attempts/*")],
    case: &["/test_id"],
    side: &["/target"],
    result: agentv,
    ..FORMAT
};

/// AgentV calls a trial without a verdict passed from the score 0.8.
fn agentv(trial: &Value) -> Result<Option<ForeignTrial>, String> {
    let (verdict, score) = (said(trial, "/verdict"), number(trial, "/score"));
    match (said(trial, "/execution_status"), verdict, score) {
        (Some("execution_error"), ..) | (_, None, None) => Ok(Some(Error)),
        (Some(status), ..) if !["ok", "quality_failure"].contains(&status) => {
            by_word("execution status", status, &[("ok quality_failure", Pass), ("execution_error", Error)])
        }
        (_, Some(verdict), _) => by_word("verdict", verdict, &[("pass", Pass), ("fail", Fail)]),
        (_, None, Some(score)) => Ok(Some(ForeignTrial::of(score >= 0.8))),
    }
}

/// `coder_eval`: `run.json`. Each variant of an experiment is a side.
pub const CODER_EVAL: ResultFormat = ResultFormat {
    name: "coder_eval",
    keys: &["task_results", "tasks_run"],
    document: part!({
        Must task_results [{ Must task_id Text, May variant_id Text, Must status Text }], Must tasks_run Count
    }),
    // Its pass rate has errors, but not what was not graded.
    prepare: |run| {
        let is_error =
            |task: &&mut Value| ["ERROR", "BUILD_FAILED"].contains(&said(task, "/status").unwrap_or_default());
        items(run, "/task_results").filter(is_error).for_each(|task| task["score"] = json!(0.0));
        Ok(())
    },
    stated: Some(("tasks", &["/tasks_run"], "/task_results")),
    trials: &[("", "/task_results/*")],
    case: &["/task_id"],
    side: &["/variant_id"],
    result: |task| by_word("status", said(task, "/status").unwrap_or_default(), &CODER_EVAL_STATUS),
    ..FORMAT
};

/// By version 0.12.
const CODER_EVAL_STATUS: [(&str, ForeignTrial); 3] = [
    ("SUCCESS", Pass),
    ("FAILURE TIMEOUT MAX_TURNS_EXHAUSTED TOKEN_BUDGET_EXCEEDED COST_BUDGET_EXCEEDED", Fail),
    ("ERROR BUILD_FAILED NOT_GRADED", Error),
];

/// `SkillEvaluator`: `summary.json` of a side, with every attempt at a case.
pub const SKILL_EVALUATOR: ResultFormat = ResultFormat {
    name: "SkillEvaluator",
    keys: &["scores", "pass_at_k"],
    document: part!({ Must pass_at_k { NotNull cases (Must {
        Must attempts [{ May score Number, Must passed Flag }],
        NotNull attempts_missing Count, NotNull attempts_skipped Count
    }) } }),
    prepare: |summary| {
        for (id, case) in summary["pass_at_k"]["cases"].as_object_mut().into_iter().flatten() {
            if case["attempts_skipped"].as_u64().unwrap_or_default() > 0 {
                return Err(format!(
                    "{id} stopped at its first pass, so its attempts tell no pass rate; run without that"
                ));
            }
            let missing = case["attempts_missing"].as_u64().unwrap_or_default();
            if let Some(attempts) = case["attempts"].as_array_mut() {
                attempts.extend((0..missing).map(|_| Value::Null));
            }
            case["id"] = id.as_str().into();
        }
        Ok(())
    },
    trials: &[("", "/pass_at_k/cases/*/attempts/*")],
    case: &["/id"],
    result: |attempt| Ok(Some(flag(attempt, "/passed").map_or(Error, ForeignTrial::of))),
    ..FORMAT
};
