//! A/A comparisons: files of every format whose sides have equal pass rates. Each reader finds the trials that were written, so
//! that the formats have the same few alarms.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::{FORMATS, ResultFile, ResultSide, TABLE, formats, of_two_arms, of_two_files, read};
use crate::decide::result::CompareResult;
use crate::decide::{CaseCount, Rule, SideCounts, fixed};
use crate::stats::proportion::Rate;

const COMPARISONS: u64 = 1000;
const CASES: usize = 3;
const RUNS: usize = 6;
/// The names of the sides where a tool has its own.
const SIDES: [&str; 2] = ["old", "new"];

/// A trial as a tool saw it: whether it passed, and nothing if it was lost.
struct Trial {
    case: String,
    number: usize,
    passed: Option<bool>,
}

type Side = Vec<Trial>;

/// Trials of both sides, each case with one rate. One trial in twenty is lost, on either side.
fn outcomes(rng: &mut fastrand::Rng) -> [Side; 2] {
    let rates: Vec<f64> = (0..CASES).map(|_| [0.5, 0.7, 0.9, 1.0][rng.usize(..4)]).collect();
    [(); 2].map(|()| {
        let trials = (0..CASES).flat_map(|case| (1..=RUNS).map(move |number| (case, number)));
        let mut trial = |(case, number): (usize, usize)| {
            let passed = rng.f64() < rates[case];
            Trial { case: format!("case-{case}"), number, passed: (rng.f64() >= 0.05).then_some(passed) }
        };
        trials.map(&mut trial).collect()
    })
}

/// What a reader has to find.
fn counts(side: &Side) -> SideCounts {
    let mut counts = SideCounts::default();
    for trial in side {
        let count = counts.entry(trial.case.clone()).or_insert(CaseCount { rate: Rate::default(), not_measured: 0 });
        match trial.passed {
            Some(passed) => count.rate.add(passed),
            None => count.not_measured += 1,
        }
    }
    counts
}

/// How a tool writes these trials.
enum Files {
    /// Both sides in one.
    One(String),
    /// Those of each side.
    Two([Vec<String>; 2]),
}

fn write(format: &str, sides: &[Side; 2]) -> Files {
    match format {
        name if name == formats::PLUGIN_EVAL.name => Files::One(of_plugin_eval(sides)),
        "promptfoo" => Files::One(promptfoo(sides)),
        "skill-creator" => Files::One(skill_creator(sides)),
        "Vally" => Files::One(vally(sides)),
        "waza" => Files::One(waza(sides)),
        "Inspect" => Files::Two(sides.each_ref().map(|side| vec![inspect(side)])),
        "Harbor" => Files::Two(sides.each_ref().map(|side| side.iter().map(harbor).collect())),
        "Harbor job" => Files::Two(sides.each_ref().map(|side| vec![harbor_job(side)])),
        "SkillsBench" => Files::One(skillsbench(sides)),
        "AgentV" => Files::One(agentv(sides)),
        "coder_eval" => Files::One(coder_eval(sides)),
        "SkillEvaluator" => Files::Two(sides.each_ref().map(|side| vec![skill_evaluator(side)])),
        "JUnit" => Files::Two(sides.each_ref().map(|side| vec![junit(side)])),
        TABLE => Files::One(table(sides)),
        unknown => panic!("{unknown}: write its files here"),
    }
}

/// What `of` makes of each trial, the baseline first; it knows the place of the side.
fn each<T>(sides: &[Side; 2], of: impl Fn(usize, &Trial) -> T) -> Vec<T> {
    sides
        .iter()
        .enumerate()
        .flat_map(|(side, trials)| trials.iter().map(move |trial| (side, trial)))
        .map(|(side, trial)| of(side, trial))
        .collect()
}

/// The trials of each case.
fn by_case<T>(side: &Side, of: impl Fn(&Trial) -> T) -> BTreeMap<&str, Vec<T>> {
    let mut cases: BTreeMap<&str, Vec<T>> = BTreeMap::new();
    for trial in side {
        cases.entry(&trial.case).or_default().push(of(trial));
    }
    cases
}

fn score(trial: &Trial) -> f64 {
    if trial.passed == Some(true) { 1.0 } else { 0.0 }
}

/// The word for what came of a trial: of one that passed, failed, was lost.
fn word(trial: &Trial, words: [&'static str; 3]) -> &'static str {
    words[match trial.passed {
        Some(true) => 0,
        Some(false) => 1,
        None => 2,
    }]
}

fn lines(objects: &[Value]) -> String {
    objects.iter().flat_map(|object| [object.to_string(), "\n".to_owned()]).collect()
}

fn of_plugin_eval(sides: &[Side; 2]) -> String {
    let run = |trial: &Trial| {
        let error = trial.passed.is_none().then_some("API Error: 429");
        json!({ "score": score(trial), "passed": trial.passed == Some(true), "error": error })
    };
    let [without, with] = sides.each_ref().map(|side| by_case(side, run));
    let case = |name: &&str| json!({ "name": name, "arms": { "with": with[*name], "without": without[*name] } });
    json!({ "suite": {}, "aggregates": {}, "cases": with.keys().map(case).collect::<Vec<_>>() }).to_string()
}

fn promptfoo(sides: &[Side; 2]) -> String {
    let results = each(sides, |side, trial| {
        json!({ "success": trial.passed == Some(true), "score": score(trial), "promptIdx": side,
          "failureReason": if trial.passed.is_none() { 2 } else { 1 - i32::from(trial.passed == Some(true)) },
          "provider": { "id": format!("exec: {side}"), "label": SIDES[side] },
          "testCase": { "description": trial.case, "vars": { "task": trial.case } } })
    });
    json!({ "evalId": "eval-a", "config": {}, "results": { "version": 3, "results": results } }).to_string()
}

fn skill_creator(sides: &[Side; 2]) -> String {
    let runs = each(sides, |side, trial| {
        let result = json!({ "pass_rate": score(trial), "total": if trial.passed.is_none() { 0 } else { 4 } });
        let configuration = ["without_skill", "with_skill"][side];
        json!({ "eval_id": trial.case, "configuration": configuration, "run_number": trial.number, "result": result })
    });
    json!({ "metadata": {}, "run_summary": {}, "runs": runs }).to_string()
}

fn vally(sides: &[Side; 2]) -> String {
    let trials = each(sides, |side, trial| {
        let grade = trial.passed.map(|passed| json!({ "passed": passed, "score": score(trial) }));
        json!({ "type": "trial-result", "stimulus": trial.case, "variant": SIDES[side], "gradeResult": grade,
          "status": word(trial, ["success", "success", "error"]) })
    });
    format!("{{\"type\": \"run-start\", \"evalName\": \"noise\"}}\n{}", lines(&trials))
}

fn waza(sides: &[Side; 2]) -> String {
    let [baseline, with] = sides.each_ref().map(|side| {
        let runs = by_case(side, |trial| json!({ "status": word(trial, ["passed", "failed", "error"]) }));
        let tasks: Vec<Value> = runs.into_iter().map(|(case, runs)| json!({ "test_id": case, "runs": runs })).collect();
        json!({ "eval_id": "e", "summary": {}, "tasks": tasks })
    });
    let mut with = with;
    with["baseline_outcome"] = baseline;
    with.to_string()
}

fn inspect(side: &Side) -> String {
    let sample = |trial: &Trial| match trial.passed {
        Some(passed) => {
            let value = if passed { "C" } else { "I" };
            json!({ "id": trial.case, "epoch": trial.number, "scores": { "includes": { "value": value } } })
        }
        None => json!({ "id": trial.case, "epoch": trial.number, "scores": {}, "error": { "message": "lost" } }),
    };
    let samples: Vec<Value> = side.iter().map(sample).collect();
    json!({ "version": 2, "status": "success", "eval": { "task": "t", "model": "m" }, "samples": samples }).to_string()
}

fn harbor(trial: &Trial) -> String {
    let verified = trial.passed.map(|_| json!({ "rewards": { "reward": score(trial) } }));
    let exception = trial.passed.is_none().then(|| json!({ "exception_type": "RuntimeError" }));
    json!({ "task_name": trial.case, "trial_name": format!("{}__{}", trial.case, trial.number),
      "verifier_result": verified, "exception_info": exception })
    .to_string()
}

fn harbor_job(side: &Side) -> String {
    let names = |is_of: fn(&Trial) -> bool| -> Vec<String> {
        let trials = side.iter().filter(|trial| is_of(trial));
        trials.map(|trial| format!("{}__{}", trial.case, trial.number)).collect()
    };
    let rewards =
        json!({ "1.0": names(|trial| trial.passed == Some(true)), "0.0": names(|trial| trial.passed != Some(true)) });
    let exceptions = json!({ "RuntimeError": names(|trial| trial.passed.is_none()) });
    let of_eval = json!({ "reward_stats": { "reward": rewards }, "exception_stats": exceptions });
    json!({ "id": "j", "n_total_trials": side.len(), "stats": { "evals": { "agent__m__set": of_eval } } }).to_string()
}

fn skillsbench(sides: &[Side; 2]) -> String {
    lines(&each(sides, |side, trial| {
        let reward = trial.passed.map(|_| score(trial));
        json!({ "task": trial.case, "skills_enabled": side == 1, "reward": reward })
    }))
}

fn agentv(sides: &[Side; 2]) -> String {
    let attempt = |trial: &Trial| {
        let status = word(trial, ["ok", "ok", "execution_error"]);
        json!({ "score": score(trial), "verdict": word(trial, ["pass", "fail", "fail"]), "execution_status": status })
    };
    let of_side = |(side, trials): (usize, &Side)| {
        let cases = by_case(trials, attempt).into_iter().map(|(case, attempts)| {
            json!({ "test_id": case, "target": SIDES[side], "execution_status": "ok", "score": 0.5, "attempts": attempts })
        });
        lines(&cases.collect::<Vec<_>>())
    };
    sides.iter().enumerate().map(of_side).collect()
}

fn coder_eval(sides: &[Side; 2]) -> String {
    let tasks = each(sides, |side, trial| {
        let status = word(trial, ["SUCCESS", "FAILURE", "ERROR"]);
        json!({ "task_id": trial.case, "variant_id": SIDES[side], "status": status })
    });
    json!({ "run_id": "r", "tasks_run": tasks.len(), "task_results": tasks }).to_string()
}

fn skill_evaluator(side: &Side) -> String {
    let cases = by_case(side, |trial| trial.passed.map(|passed| json!({ "score": score(trial), "passed": passed })));
    let case = |(name, attempts): (&str, Vec<Option<Value>>)| {
        let missing = attempts.iter().filter(|attempt| attempt.is_none()).count();
        let attempts: Vec<Value> = attempts.into_iter().flatten().collect();
        (name.to_owned(), json!({ "attempts": attempts, "attempts_missing": missing, "attempts_skipped": 0 }))
    };
    let cases: serde_json::Map<String, Value> = cases.into_iter().map(case).collect();
    json!({ "agent": "a", "scores": {}, "pass_at_k": { "k": RUNS, "cases": cases } }).to_string()
}

fn junit(side: &Side) -> String {
    let test = |trial: &Trial| {
        let inside = word(trial, ["", "<failure message='no'/>", "<error/>"]);
        format!("<testcase name='{}'>{inside}</testcase>", trial.case)
    };
    format!("<testsuites><testsuite>{}</testsuite></testsuites>", side.iter().map(test).collect::<String>())
}

fn table(sides: &[Side; 2]) -> String {
    let rows = each(sides, |side, trial| {
        let passed = trial.passed.map(|passed| format!("{},{},{passed}\n", trial.case, SIDES[side]));
        passed.unwrap_or_default()
    });
    format!("case,side,passed\n{}", rows.concat())
}

/// The sides as `compare` reads them.
fn sides(files: Files) -> [ResultSide; 2] {
    let read = |text: String| -> ResultFile { read(text.as_bytes()).expect(&text) };
    match files {
        Files::One(text) => of_two_arms(&[read(text)], &[]).expect("two sides"),
        Files::Two(sides) => {
            let [a, b] = sides.map(|texts| texts.into_iter().map(read).collect::<Vec<_>>());
            of_two_files(["", ""], [&a, &b])
        }
    }
}

/// Prints the table of docs/contributing/proofs.md.
#[test]
fn files_of_noise_are_read_as_written_and_raise_alarms_in_a_twentieth_at_most_in_every_format() {
    let (mut rng, rule) = (fastrand::Rng::with_seed(1), Rule { margin: Some(0.05), ..Rule::default() });
    let (mut broke, mut worse, mut better, mut shown) = (0, 0, 0, BTreeMap::<&str, u64>::new());
    for _ in 0..COMPARISONS {
        let trials = outcomes(&mut rng);
        let written = trials.each_ref().map(counts);
        for format in FORMATS {
            let read = sides(write(format.name, &trials));
            let found = read.each_ref().map(|side| of_format(format.name, &side.counts));
            let expected = written.each_ref().map(|side| of_format(format.name, side));
            assert_eq!(found, expected, "{}", format.name);
            let [a, b] = read.each_ref().map(|side| side.score().expect("a score"));
            *shown.entry(format.name).or_default() += u64::from((a - b).abs() >= 0.1);
        }
        // What every reader has found: the answer is the same for all.
        let [a, b] = &written;
        let results = fixed::compare(a, b, &rule).results;
        let has = |result| u64::from(results.contains(&result));
        broke += has(CompareResult::Broke);
        worse += has(CompareResult::Worse);
        better += has(CompareResult::Better);
    }
    println!(
        "{broke} broke, {worse} worse, {better} better\n\n| format | moved by ten points or more |\n| --- | --- |"
    );
    for format in FORMATS {
        println!("| {} | {} |", format.name, shown[format.name]);
    }
    assert!(broke > 0 && broke <= COMPARISONS / 20 && worse + better <= COMPARISONS / 20);
    assert!(shown.values().all(|shown| *shown > COMPARISONS / 10), "headlines of noise: {shown:?}");
}

/// What a format can say: a table has no rows of trials that were lost.
fn of_format(format: &str, side: &SideCounts) -> SideCounts {
    let mut side = side.clone();
    if format == TABLE {
        side.retain(|_, count| {
            count.not_measured = 0;
            count.rate.trials > 0
        });
    }
    side
}
