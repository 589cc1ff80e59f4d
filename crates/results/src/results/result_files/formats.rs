//! The formats whose files are JSON, each as a table: what is read of a file, where its trials are, and what says of each its case, its
//! side and its score. A function is there only for what a tool does in its own way.
//!
//! Whether a trial that did not end well is a failure or an error is the rule of our own trials: an agent that comes to the end of its
//! time, turns, tokens or money, or that breaks a rule of its case, has done so itself, and its trial is judged by what there is.
//! Everything else is the machinery's, and such a trial is not measured, whatever the tool has made of it.

use serde_json::{Value, json};

use super::TrialResult::{self, Error, Fail, Pass};
use super::document::Part::{self, Any, Count, Flag, Label, Name, Number, Presence, Text};
use super::document::{Need, flag, items, number, part, said, text};
use super::{FORMAT, ResultFormat};

/// What came of a trial by a word of its tool. A word that is not known is never a verdict.
fn by_word(what: &str, word: &str, known: &[(&str, TrialResult)]) -> Result<Option<TrialResult>, String> {
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
fn plugin_eval(run: &Value) -> TrialResult {
    let of_agent = ["timed out after ", "exit 1: Reached maximum number of turns"];
    let is_lost = said(run, "/error").is_some_and(|error| !of_agent.iter().any(|start| error.starts_with(start)))
        || said(run, "/aborted/reason").is_some_and(|reason| reason.starts_with("mock agent responder failed"))
        || flag(run, "/skippedPaidGraders") == Some(true);
    if is_lost { Error } else { TrialResult::of(flag(run, "/passed") == Some(true)) }
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
        Ok(Some(rate.map_or(Error, |rate| TrialResult::of(rate >= 1.0))))
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
        Ok(Some(passed.map_or(Error, TrialResult::of)))
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

/// Inspect: a log in JSON. A sample is a trial; it passes with `C`, or the whole score of the first scorer.
pub const INSPECT: ResultFormat = ResultFormat {
    name: "Inspect",
    keys: &["eval", "status", "samples"],
    mean_of_cases: true,
    document: part!({
        Must status Text, Must eval { NotNull task Text, Must model Text, May scorers [{ Must name Text }] },
        Must samples [{ Must id Label, May scores (Must Any), May error Presence }], May results { May total_samples Count }
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
        let score = shown.and_then(|score| inspect_score(score.get("value")?)).filter(|_| sample["error"].is_null());
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
fn agentv(trial: &Value) -> Result<Option<TrialResult>, String> {
    let (verdict, score) = (said(trial, "/verdict"), number(trial, "/score"));
    match (said(trial, "/execution_status"), verdict, score) {
        (Some("execution_error"), ..) | (_, None, None) => Ok(Some(Error)),
        (Some(status), ..) if !["ok", "quality_failure"].contains(&status) => {
            by_word("execution status", status, &[("ok quality_failure", Pass), ("execution_error", Error)])
        }
        (_, Some(verdict), _) => by_word("verdict", verdict, &[("pass", Pass), ("fail", Fail)]),
        (_, None, Some(score)) => Ok(Some(TrialResult::of(score >= 0.8))),
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
const CODER_EVAL_STATUS: [(&str, TrialResult); 3] = [
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
    result: |attempt| Ok(Some(flag(attempt, "/passed").map_or(Error, TrialResult::of))),
    ..FORMAT
};
