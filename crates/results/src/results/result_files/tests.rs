//! A file of each tool, as short as it can be. Those made by the tool itself are cut to what is read and one more key; the others
//! follow the published schema, as their comments say.

mod noise;

use super::*;
use crate::decide::result::CompareResult;
use crate::decide::{Rule, fixed};

/// `case side passed/trials+errors` of each case on both sides of one file.
fn one(text: &str) -> Vec<String> {
    let file = read(text.as_bytes()).expect("a result file");
    of_two_arms(&[file], &[]).expect("two sides").iter().flat_map(lines).collect()
}

/// The same of files on a side.
fn side(texts: &[&str]) -> Vec<String> {
    let files: Vec<ResultFile> = texts.iter().map(|text| read(text.as_bytes()).expect("a result file")).collect();
    lines(&whole(&files))
}

/// Files that are one side.
fn whole(files: &[ResultFile]) -> ResultSide {
    let [side, _] = of_two_files(["", ""], [files, files]);
    side
}

fn lines(side: &ResultSide) -> Vec<String> {
    let line = |(case, counts): (&String, &CaseCount)| {
        let CaseCount { rate, not_measured } = counts;
        format!("{case} {} {}/{}+{not_measured}", side.label, rate.passed, rate.trials).replace("  ", " ")
    };
    side.counts.iter().map(line).collect()
}

/// Claude Code 2.1.332: the keys that its runs write. A run that the provider refused has score 0 and an error.
const PLUGIN: &str = r#"{"schemaVersion": 1, "suite": {"ablation": "with-without"}, "aggregates": {"meanDelta": -0.5}, "cases": [
  {"name": "greets", "arms": {
    "with": [{"score": 1, "passed": true, "error": null}, {"score": 0, "passed": false, "error": "API Error: 429"}],
    "without": [{"score": 1, "passed": true, "error": null}, {"score": 0.5, "passed": false, "error": null}]}}]}"#;

#[test]
fn claude_plugin_eval_has_two_arms_and_scores_errors_as_failures() {
    assert_eq!(one(PLUGIN), ["greets without 1/2+0", "greets with 1/1+1"]);
    assert_eq!(side(&[PLUGIN, PLUGIN]), ["greets 2/2+2"], "next to another file, the arm with the plugin");
    let file = read(PLUGIN.as_bytes()).expect("a file");
    let [without, with] = of_two_arms(&[file], &[]).expect("two sides");
    assert_eq!((without.score(), with.score()), (Some(0.75), Some(0.5)), "as the tool counts");
}

/// promptfoo 0.123.1, by `--output`. `failureReason` 2: the provider threw.
const PROMPTFOO: &str = r#"{"evalId": "eval-a", "config": {}, "results": {"version": 3, "results": [
  {"success": false, "score": 0, "failureReason": 1, "error": "no `pass`", "promptIdx": 1,
   "provider": {"id": "exec: b", "label": "new"}, "testCase": {"description": "greets", "vars": {"task": "greet"}}},
  {"success": false, "score": 0, "failureReason": 2, "error": "429", "promptIdx": 1,
   "provider": {"id": "exec: b", "label": "new"}, "testCase": {"description": "greets", "vars": {"task": "greet"}}},
  {"success": true, "score": 1, "failureReason": 0, "promptIdx": 0, "provider": {"id": "exec: a", "label": "old"},
   "testCase": {"description": "greets", "vars": {"task": "shout"}}}]}}"#;

#[test]
fn promptfoo_has_a_side_for_each_provider() {
    let same = PROMPTFOO.replace("shout", "greet");
    assert_eq!(one(&same), ["greets old 1/1+0", "greets new 0/1+1"], "the results come in any order");
    assert_eq!(side(&[&same]), ["greets/new 0/1+1", "greets/old 1/1+0"], "next to another file");
    let turned = same.replacen(r#"{"task": "greet"}"#, r#"{"task": "greet", "to": "Ada"}"#, 1);
    let turned = turned.replacen(r#"{"task": "greet"}"#, r#"{"to": "Ada", "task": "greet"}"#, 1);
    assert!(one(&turned)[1].ends_with("new 0/1+1"), "the order of variables makes no other test: {:?}", one(&turned));
    assert_eq!(one(PROMPTFOO)[0], "greets {\"task\":\"shout\"} old 1/1+0", "a description may stand for several tests");
}

/// Nine trials with the plugin, of which one ran out of time, one out of turns, and one broke a rule of a mock; each as Claude Code
/// 2.1.332 writes it. A provider's error, a mock that did not answer and a cost ceiling are nobody's result.
#[test]
fn claude_plugin_eval_counts_what_the_agent_did_itself_and_nothing_else() {
    let run = |passed: bool, more: &str| format!(r#"{{"score": {}, "passed": {passed}{more}}}"#, u8::from(passed));
    let with = [
        run(true, r#", "error": null"#),
        run(false, r#", "error": "timed out after 300s""#),
        run(true, r#", "error": "timed out after 300s""#),
        run(false, r#", "error": "exit 1: Reached maximum number of turns (10)""#),
        run(false, r#", "error": null, "aborted": {"server": "s", "tool": "t", "reason": "expected `id`: 1"}"#),
        run(
            false,
            r#", "error": null, "aborted": {"server": "s", "tool": "t", "reason": "mock agent responder failed: x"}"#,
        ),
        run(false, r#", "error": "exit 1: API Error: 500""#),
        run(false, r#", "error": null, "skippedPaidGraders": true"#),
    ];
    let without = run(true, r#", "error": null"#);
    let file = |total: u8| {
        let runs = with.join(",");
        format!(
            r#"{{"suite": {{}}, "aggregates": {{"casesTotal": {total}}},
            "cases": [{{"name": "greets", "dir": "a/greets", "arms": {{"with": [{runs}], "without": [{without}]}}}}]}}"#
        )
    };
    assert_eq!(one(&file(1)), ["a/greets without 1/1+0", "a/greets with 2/5+3"]);
    let problem = read(file(2).as_bytes()).expect_err("a case is missing");
    assert!(problem.contains("the file says that it has 2 cases, and it has 1"), "{problem}");
}

#[test]
fn cases_of_one_name_are_told_apart_as_their_tool_does() {
    let case = |dir: &str, passed: bool| {
        let run = format!(r#"{{"score": 1, "passed": {passed}, "error": null}}"#);
        format!(r#"{{"name": "greets", "dir": "{dir}", "arms": {{"with": [{run}], "without": [{run}]}}}}"#)
    };
    let cases = [case("a/greets", true), case("b/greets", false)].join(",");
    let plugin = format!(r#"{{"suite": {{}}, "aggregates": {{}}, "cases": [{cases}]}}"#);
    assert_eq!(one(&plugin)[..2], ["a/greets without 1/1+0", "b/greets without 0/1+0"]);
    let task = |task: &str| INSPECT.replace(r#""task": "t""#, &format!(r#""task": "{task}""#));
    let two = side(&[&task("easy"), &task("hard")]);
    assert_eq!(two, ["easy/2 0/0+1", "easy/greets 1/2+0", "hard/2 0/0+1", "hard/greets 1/2+0"]);
    assert_eq!(side(&[&task("easy"), &task("easy")]), ["2 0/0+2", "greets 2/4+0"]);
}

/// By `references/schemas.md` of skill-creator.
const BENCHMARK: &str = r#"{"metadata": {"skill_name": "compress"}, "run_summary": {"delta": {"pass_rate": "+0.5"}}, "runs": [
  {"eval_id": 1, "configuration": "with_skill", "run_number": 1, "result": {"pass_rate": 1, "total": 4}},
  {"eval_id": 1, "configuration": "with_skill", "run_number": 2, "result": {"pass_rate": 0, "total": 0}},
  {"eval_id": 1, "configuration": "without_skill", "run_number": 1, "result": {"pass_rate": 0.5, "total": 4}}]}"#;

#[test]
fn skill_creator_passes_with_all_expectations() {
    assert_eq!(one(BENCHMARK), ["1 without_skill 0/1+0", "1 with_skill 1/1+1"]);
}

/// By the lines that users of Vally read: `type`, `stimulus`, `variant`, `status`, `gradeResult`.
const VALLY: &str = r#"{"type": "run-start", "evalName": "helper"}
{"type": "trial-result", "stimulus": "greets", "status": "success", "gradeResult": {"passed": true, "score": 0.9}}
{"type": "trial-result", "stimulus": "greets", "status": "error", "gradeResult": null, "trajectory": null}
"#;

#[test]
fn vally_has_a_trial_in_each_line() {
    assert_eq!(side(&[VALLY]), ["greets 1/1+1"]);
    let old = r#"{"trajectory": {"stimulus": {"name": "greets"}}, "gradeResult": {"passed": false, "score": 0}}"#;
    assert_eq!(side(&[old]), ["greets 0/1+0"]);
}

/// By `internal/models/outcome.go` of waza.
const WAZA: &str = r#"{"eval_id": "e", "summary": {"success_rate": 0.5}, "tasks": [
  {"test_id": "greets", "runs": [{"status": "passed"}, {"status": "error", "error_msg": "429"}, {"status": "skipped"}]}],
 "baseline_outcome": {"eval_id": "b", "summary": {}, "tasks": [{"test_id": "greets", "runs": [{"status": "failed"}]}]}}"#;

#[test]
fn waza_may_have_the_run_without_skills_in_it() {
    assert_eq!(one(WAZA), ["greets without skills 0/1+0", "greets with skills 1/1+1"]);
    assert_eq!(side(&[WAZA]), ["greets 1/1+1"]);
}

/// inspect-ai, by `log_format="json"`, with `mockllm/model`.
const INSPECT: &str = r#"{"version": 2, "status": "success", "eval": {"task": "t", "model": "mockllm/model"}, "samples": [
  {"id": "greets", "epoch": 1, "scores": {"includes": {"value": "C"}}},
  {"id": "greets", "epoch": 2, "scores": {"includes": {"value": "I"}}},
  {"id": 2, "epoch": 1, "scores": {}, "error": {"message": "RuntimeError('provider lost')"}}]}"#;

#[test]
fn inspect_has_a_trial_in_each_sample() {
    assert_eq!(side(&[INSPECT]), ["2 0/0+1", "greets 1/2+0"]);
    let scored = whole(&[read(INSPECT.as_bytes()).expect("a file")]);
    assert_eq!((scored.score(), scored.errors), (Some(0.5), 0), "its accuracy leaves errors out");
    let two = INSPECT.replace(r#""model": "mockllm/model""#, r#""model": "m", "scorers": [{"name": "includes"}]"#);
    let two = two.replace(r#"{"includes": {"value": "I"}}"#, r#"{"a": {"value": "C"}, "includes": {"value": "I"}}"#);
    assert_eq!(side(&[&two]), side(&[INSPECT]), "the first scorer is the one that the log names first");
    let invalid = INSPECT
        .replace(r#""epoch": 2,"#, r#""epoch": 2, "invalidation": {"author": "a", "reason": "the host was down"},"#);
    assert_eq!(side(&[&invalid]), ["2 0/0+1", "greets 1/1+1"], "an invalidated sample measured nothing");
    assert!(read(b"PK\x03\x04").expect_err("a ZIP").contains("inspect log dump"));
}

/// By the trials of benchflow-ai/skillsbench-trajectories; the job by the same version of Harbor.
const HARBOR: &str = r#"{"task_name": "scan", "trial_name": "scan__F8",
  "agent_info": {"name": "claude-code", "model_info": {"name": "m"}}, "verifier_result": {"rewards": {"reward": 1.0}},
  "exception_info": null}"#;
const JOB: &str = r#"{"id": "j", "n_total_trials": 3, "stats": {"n_trials": 3, "n_errors": 2, "evals": {"claude__m__set": {
  "reward_stats": {"reward": {"1.0": ["scan__a"], "0.0": ["scan__b", "scan__c"]}},
  "exception_stats": {"AgentTimeoutError": ["scan__b"], "RuntimeError": ["scan__c"]}}}}}"#;

#[test]
fn harbor_counts_a_timeout_and_no_other_exception_as_a_failure() {
    let lost = HARBOR.replace("\"exception_info\": null", "\"exception_info\": {\"exception_type\": \"RuntimeError\"}");
    let late = lost.replace("RuntimeError", "AgentTimeoutError").replace("{\"rewards\": {\"reward\": 1.0}}", "null");
    assert_eq!(side(&[HARBOR, &lost, &late]), ["scan 1/2+1"]);
    assert_eq!(side(&[JOB]), ["scan 1/2+1"]);
    let scored = whole(&[read(JOB.as_bytes()).expect("a file")]);
    assert_eq!((scored.score(), scored.errors), (Some(1.0 / 3.0), 1), "its mean has errors as failures");
}

#[test]
fn skillsbench_has_rows_with_and_without_skills() {
    let rows = r#"{"task": "scan", "model": "m", "skills_enabled": true, "reward": 1}
{"task": "scan", "model": "m", "skills_enabled": false, "reward": 0.5}
{"task": "scan", "model": "m", "skills_enabled": false, "reward": null}"#;
    assert_eq!(one(rows), ["scan/m without skills 0/1+1", "scan/m with skills 1/1+0"]);
}

#[test]
fn agentv_has_the_attempts_at_a_test_in_a_line() {
    // By `.internal/index.jsonl` of EntityProcess/agentv.
    let line = r#"{"test_id": "greets", "target": "codex", "score": 1, "execution_status": "ok", "attempts": [
      {"score": 1, "verdict": "pass", "execution_status": "ok"}, {"score": 0, "verdict": "fail", "execution_status": "ok"}]}
      {"test_id": "greets", "target": "codex", "score": 0, "execution_status": "execution_error"}
      {"test_id": "greets", "target": "codex", "score": 0.8, "execution_status": "ok"}"#;
    assert_eq!(side(&[line]), ["greets 2/3+1"]);
}

#[test]
fn coder_eval_has_a_side_for_each_variant() {
    // By `run_record.py` of coder_eval 0.12.16.
    let task = |variant, status| {
        format!(r#"{{"task_id": "greets", "variant_id": "{variant}", "status": "{status}", "weighted_score": 0.0}}"#)
    };
    let tasks = [task("old", "SUCCESS"), task("new", "TIMEOUT"), task("new", "ERROR")].join(",");
    let run = format!(r#"{{"run_id": "r", "tasks_run": 3, "task_results": [{tasks}]}}"#);
    assert_eq!(one(&run), ["greets old 1/1+0", "greets new 0/1+1"]);
}

#[test]
fn skill_evaluator_has_the_attempts_of_an_arm() {
    // By `collector.py` of SkillEvaluator.
    let arm = r#"{"agent": "codex", "scores": {}, "pass_at_k": {"k": 3, "cases": {"greets": {"attempts_missing": 1,
      "attempts_skipped": 0, "attempts": [{"score": 0.9, "passed": true}, {"score": 0.2, "passed": false}]}}}}"#;
    assert_eq!(side(&[arm]), ["greets 1/2+1"]);
    let stopped = read(arm.replace("skipped\": 0", "skipped\": 1").as_bytes()).expect_err("it stopped early");
    assert!(stopped.contains("SkillEvaluator: greets stopped at its first pass"), "{stopped}");
}

#[test]
fn junit_has_a_trial_in_each_occurrence_of_a_test() {
    let xml = r#"<?xml version="1.0"?><!-- pytest --><testsuites><testsuite name="s">
      <testcase classname="t" name="a &amp; b"/><testcase classname="t" name="a &amp; b"><failure message="no"/></testcase>
      <testcase classname="t" name="a &amp; b"><error/></testcase><testcase name="c"><skipped/></testcase>
      </testsuite></testsuites>"#;
    assert_eq!(side(&[xml]), ["t/a & b 1/2+1"]);
    let suites = "<testsuites><testsuite name='A'><testcase name='t'/></testsuite><testsuite name='B'><testcase name='t'/>\
                  </testsuite></testsuites>";
    assert_eq!(side(&[suites]), ["A/t 1/1+0", "B/t 1/1+0"], "suites may have tests of one name");
}

/// pytest 9 with pytest-rerunfailures: of a test that failed twice and passed then there are three elements, none with a failure.
#[test]
fn a_try_before_the_last_one_of_a_test_is_no_trial_of_its_own() {
    let suite = |tests: u8| {
        format!(
            r#"<testsuites><testsuite name="pytest" tests="{tests}"><testcase classname="t" name="a"/>
            <testcase classname="t" name="b"/><testcase classname="t" name="b"><failure/></testcase>
            <testcase classname="t" name="c"/><testcase classname="t" name="c"/></testsuite></testsuites>"#
        )
    };
    assert_eq!(side(&[&suite(3)]), ["t/a 1/1+0", "t/b 0/1+0", "t/c 1/1+0"]);
    assert_eq!(side(&[&suite(5)]), ["t/a 1/1+0", "t/b 1/2+0", "t/c 2/2+0"], "it counts each");
    let problem = read(suite(4).as_bytes()).expect_err("another number");
    assert!(problem.contains("it has 4 tests in `pytest`, and it has 3"), "{problem}");
    // A failure with an error while it is cleaned up, and a pass with one, which pytest counts twice.
    let cleaned = |tests: u8, elements: &str| format!(r#"<testsuite name="s" tests="{tests}">{elements}</testsuite>"#);
    let failed = r#"<testcase name="a"><failure/></testcase><testcase name="a"><error/></testcase>"#;
    assert_eq!(side(&[&cleaned(1, failed)]), ["a 0/1+0"]);
    assert_eq!(side(&[&cleaned(2, r#"<testcase name="a"><error/></testcase>"#)]), ["a 0/0+1"]);
    let surefire = r#"<testsuite name="s" tests="2"><testcase name="a"><flakyFailure/><flakyFailure/></testcase>
        <testcase name="b"><failure/><rerunFailure/><rerunError/></testcase></testsuite>"#;
    assert_eq!(side(&[surefire]), ["a 1/3+0", "b 0/2+1"]);
    let scored = whole(&[read(surefire.as_bytes()).expect("a file")]).score();
    assert_eq!(scored, Some(0.5), "the tool counts the last one only");
}

#[test]
fn each_suite_that_states_a_number_of_tests_has_it_and_so_have_all_suites_together() {
    let all = |tests: &str, inner: &str| {
        let (a, b) = (r#"<testcase name="a"/>"#, r#"<testcase name="b"/>"#);
        format!(r#"<testsuites {tests}><testsuite name="s" {inner}>{a}{a}{b}</testsuite></testsuites>"#)
    };
    assert_eq!(
        side(&[&all(r#"tests="2""#, "")]),
        ["a 1/1+0", "b 1/1+0"],
        "a suite without a number is counted by the others"
    );
    assert_eq!(side(&[&all(r#"tests="3""#, r#"tests="3""#)]), ["a 2/2+0", "b 1/1+0"]);
    assert_eq!(side(&[&all(r#"tests="2""#, r#"tests="2""#)]), ["a 1/1+0", "b 1/1+0"]);
    for text in [all(r#"tests="99""#, ""), all(r#"tests="99""#, r#"tests="3""#), all("", r#"tests="1""#)] {
        let problem = read(text.as_bytes()).expect_err(&text);
        assert!(problem.contains("it is not whole, or was changed"), "{problem}");
    }
}

#[test]
fn a_table_is_a_result_file_too() {
    assert_eq!(one("case,side,passed,trials\na,old,3,4\na,new,1,4\n"), ["a old 3/4+0", "a new 1/4+0"]);
    assert_eq!(
        one(r#"[{"task": "a", "condition": "x", "passCount": 1, "trials": 2},
                {"task": "a", "condition": "y", "passCount": 0, "trials": 2}]"#),
        ["a x 1/2+0", "a y 0/2+0"]
    );
}

#[test]
fn an_unknown_file_names_the_nearest_format_and_what_it_lacks() {
    for (text, words) in [
        (
            r#"{"evalId": "e", "config": {}}"#,
            "nearest is promptfoo, but `results` is missing in the JSON (config, evalId)",
        ),
        (r#"{"eval": {}, "status": "success"}"#, "nearest is Inspect, but `samples` is missing"),
        (r#"{"a": 1}"#, "the JSON (a) is not a known result file; known: claude plugin eval, promptfoo"),
        ("case,passed\n", "nearest is a table, but `side` or `condition` is missing in the CSV (case, passed)"),
        ("<html/>", "the XML (html) is not a known result file"),
        (" ", "the file is empty"),
        (r#"{"runs": [{}], "run_summary": {}}"#, "skill-creator: missing field `eval_id` at line 1 column 12"),
        (r#"{"suite": {}, "cases": [], "aggregates": {}}"#, "claude plugin eval: the file has no trials"),
        ("[1", "invalid type: integer"),
        (
            r#"{"runs": [{"eval_id": 1, "configuration": "a", "result": {"pass_rate": 50}}], "run_summary": {}}"#,
            "1 has the score 50; expected 0 to 1",
        ),
        (
            r#"{"variant": "a", "gradeResult": {"passed": false}, "trajectory": null}"#,
            "result 1 has a grade and no `stimulus`",
        ),
        ("<testsuite><testcase name='t'/><testcase name='u'><failure/>", "the file ends in an open element"),
        ("<testsuite><testcase name='t'><testcase name='u'/></testcase></testsuite>", "a `testcase` in another one: u"),
        ("case,side,passed,trials\na,old,true,5\na,new,5,5\n", "`passed` is true of 5 trials; expected a number"),
    ] {
        let problem = read(text.as_bytes()).expect_err(text);
        assert!(problem.contains(words), "{text}: {problem}");
    }
}

#[test]
fn sides_are_chosen_by_name_if_they_are_not_two() {
    let vally: String = ["a", "b", "c"]
        .map(|side| format!(r#"{{"stimulus": "x", "variant": "{side}", "gradeResult": {{"passed": true}}}}"#))
        .concat();
    let file = read(vally.as_bytes()).expect("a file");
    let problem = of_two_arms(std::slice::from_ref(&file), &[]).expect_err("three sides");
    assert!(problem.contains("it has 3 sides; choose two with --mode A --mode B: a, b, c"), "{problem}");
    let chosen = |names: &[&str]| {
        of_two_arms(std::slice::from_ref(&file), &names.iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    assert_eq!(chosen(&["c", "a"]).expect("two sides").map(|side| side.label), ["c", "a"]);
    assert!(chosen(&["c", "d"]).expect_err("an unknown side").contains("no side `d`; found: a, b, c"));
    assert!(chosen(&["c"]).expect_err("one side").contains("`c` is one side; name the other one by --mode too"));
    assert!(chosen(&["c", "c"]).expect_err("a side twice").contains("`c` is on both sides"));
}

/// A benchmark of skill-creator by the pass rates of its runs: of each case with the skill, and without.
fn benchmark(with: &[&[f64]], without: &[&[f64]]) -> String {
    let side = |configuration: &'static str, cases: &[&[f64]]| {
        let runs = cases.iter().enumerate().flat_map(|(id, rates)| rates.iter().map(move |rate| (id, *rate)));
        let run = |(id, rate)| {
            format!(r#"{{"eval_id": {id}, "configuration": "{configuration}", "result": {{"pass_rate": {rate}}}}}"#)
        };
        runs.map(run).collect::<Vec<_>>().join(",")
    };
    let runs = [side("with_skill", with), side("without_skill", without)].join(",");
    format!(r#"{{"runs": [{runs}], "run_summary": {{}}}}"#)
}

/// The results of docs/referee.md. The first two are those of vuphanse/ai-shakespii, docs/CALIBRATION-M4B2.md (whose only run that
/// did not pass it names) and docs/CALIBRATION-M5A.md; the third is that of jaehoonE7877/rubrix, iteration-1/benchmark.json, in the
/// shape of skill-creator.
#[test]
fn two_public_headlines_are_noise_and_a_larger_one_holds() {
    const ALL: &[f64] = &[1.0; 3];
    let first = benchmark(&[ALL, ALL, &[1.0, 1.0, 0.0]], &[ALL, ALL, ALL]);
    let second = benchmark(&[ALL, &[0.5, 1.0, 0.5], &[1.0, 0.0, 1.0]], &[&[0.5; 3], &[1.0, 1.0, 0.0], ALL]);
    let of_five = |passed: [f64; 12]| passed.map(|passed| [passed / 5.0]);
    let with = of_five([5.0, 5.0, 4.0, 4.0, 3.0, 5.0, 4.0, 5.0, 3.0, 4.0, 5.0, 0.0]);
    let without = of_five([3.0, 5.0, 1.0, 3.0, 3.0, 1.0, 3.0, 2.0, 3.0, 2.0, 5.0, 1.0]);
    let third = benchmark(&with.each_ref().map(|rates| &rates[..]), &without.each_ref().map(|rates| &rates[..]));
    let rule = Rule { margin: Some(0.05), ..Rule::default() };
    for (text, points, holds) in [(first, -11.0, false), (second, 6.0, false), (third, 25.0, true)] {
        let [a, b] = of_two_arms(&[read(text.as_bytes()).expect("a file")], &[]).expect("two arms");
        let headline = a.score().zip(b.score()).map(|(a, b)| ((b - a) * 100.0).round());
        assert_eq!(headline, Some(points));
        let measured = a.difference(&b).expect("cases of both sides");
        // The first has passes and failures only, whose p is that of the answer.
        assert_eq!(a.has_finer_scores() || b.has_finer_scores(), points > -11.0);
        assert_eq!(measured.tails.two_sided() <= rule.alpha, holds, "{measured:?}");
        // Whole passes say less than scores.
        assert_eq!(fixed::compare(&a.counts, &b.counts, &rule).results, [CompareResult::Undecided]);
    }
}

#[test]
fn a_name_of_any_length_is_cut_and_still_another_than_one_that_begins_so() {
    let long = "x".repeat(65_536);
    let text = |end: &str| PLUGIN.replace("greets", &format!("{long}{end}"));
    let [a, b] = ["a", "b"].map(|end| one(&text(end)).remove(0));
    assert!(a.len() < 250 && a != b && a.starts_with("xxx") && a.ends_with(" without 1/2+0"), "{a} {b}");
    assert_eq!(one(&text("a")).remove(0), a, "on both sides");
}

/// What is wrong with a file, in words.
fn problem(text: &str) -> String {
    read(text.as_bytes()).expect_err(text)
}

#[test]
fn a_word_for_an_end_that_is_not_known_is_an_error_that_names_it() {
    let coder = |status: &str, tasks: u8| {
        format!(
            r#"{{"run_id": "r", "tasks_run": {tasks}, "task_results": [{{"task_id": "t", "status": "{status}"}}]}}"#
        )
    };
    for status in ["CANCELLED", "SKIPPED", "RUNNING", "PENDING", ""] {
        let problem = problem(&coder(status, 1));
        assert!(problem.contains(&format!("t has the status `{status}`, which is not known")), "{problem}");
    }
    assert_eq!(side(&[&coder("MAX_TURNS_EXHAUSTED", 1)]), ["t 0/1+0"]);
    let agentv = |more: &str| format!(r#"{{"test_id": "t", "target": "a", "score": 0, {more}}}"#);
    let skipped = problem(&agentv(r#""verdict": "skip", "execution_status": "ok""#));
    assert!(skipped.contains("t has the verdict `skip`, which is not known; known: pass, fail"), "{skipped}");
    let canceled = problem(&agentv(r#""verdict": "fail", "execution_status": "cancelled""#));
    assert!(canceled.contains("t has the execution status `cancelled`, which is not known"), "{canceled}");
    assert_eq!(side(&[&agentv(r#""verdict": "fail", "execution_status": "quality_failure""#)]), ["t 0/1+0"]);
    let reason =
        |reason: &str| PROMPTFOO.replacen(r#""failureReason": 1"#, &format!(r#""failureReason": {reason}"#), 1);
    let unknown = problem(&reason("7"));
    assert!(unknown.contains("has the `failureReason` 7, which is not known; known: 0, 1, 2"), "{unknown}");
    assert_eq!(
        side(&[&reason("null").replace("shout", "greet")])[0],
        "greets/new 0/0+2",
        "nothing shows that it was graded"
    );
    let graded = reason(r#"null, "gradingResult": {"pass": false}"#).replace("shout", "greet");
    assert_eq!(side(&[&graded])[0], "greets/new 0/1+1");
    let several = HARBOR.replace(r#"{"reward": 1.0}"#, r#"{"a": 1.0, "b": 0.0}"#);
    assert!(problem(&several).contains("it has several rewards, and none is `reward`: a, b"), "{}", problem(&several));
    assert_eq!(side(&[&HARBOR.replace(r#"{"reward": 1.0}"#, r#"{"a": 1.0}"#)]), ["scan 1/1+0"]);
    for status in ["started", "cancelled", "error"] {
        let log = INSPECT.replacen(r#""status": "success""#, &format!(r#""status": "{status}""#), 1);
        assert!(
            problem(&log).contains(&format!("the status of the log is `{status}`, not `success`")),
            "{}",
            problem(&log)
        );
    }
}

#[test]
fn totals_that_a_file_states_are_those_of_its_trials() {
    let coder = r#"{"run_id": "r", "tasks_run": 2, "task_results": [{"task_id": "t", "status": "SUCCESS"}]}"#;
    assert!(problem(coder).contains("the file says that it has 2 tasks, and it has 1"), "{}", problem(coder));
    let waza = r#"{"eval_id": "e", "summary": {"total_tests": 3},
        "tasks": [{"test_id": "t", "runs": [{"status": "passed"}, {"status": "passed"}]}]}"#;
    assert!(problem(waza).contains("the file says that it has 3 tests, and it has 1"), "{}", problem(waza));
    let suite = |totals: &str| format!(r#"<testsuite name="s" {totals}><testcase name="a"/></testsuite>"#);
    let failed = problem(&suite(r#"tests="1" failures="9" errors="4""#));
    assert!(failed.contains("it has 13 failures and errors in `s`, and it has 0"), "{failed}");
    assert!(problem(&suite(r#"failures="1""#)).contains("1 failures and errors in `s`"));
    assert!(problem(&suite(r#"tests="many""#)).contains(r#"`tests` is "many"; expected a number"#));
    assert!(problem(&suite(r#"tests="10 ""#)).contains("it has 10 tests in `s`, and it has 1"));
}

#[test]
fn a_failure_in_junit_stays_one_and_a_test_that_was_not_run_is_none() {
    let suite = |tests: &str| format!(r#"<testsuite name="s">{tests}</testsuite>"#);
    let failed = r#"<testcase name="a"><failure/><error/></testcase><testcase name="b"><failure/><skipped/></testcase>
        <testcase name="c" status="failed"/><testcase name="d"><x:failure/></testcase>"#;
    assert_eq!(side(&[&suite(failed)]), ["a 0/1+0", "b 0/1+0", "c 0/1+0", "d 0/1+0"]);
    let not_run = r#"<testcase name="a" status="run" result="completed"/><testcase name="b" status="notrun"/>
        <testcase name="c" status="run" result="suppressed"/><testcase name="d"><disabled/></testcase>"#;
    assert_eq!(side(&[&suite(not_run)]), ["a 1/1+0"]);
    let unknown = problem(&suite(r#"<testcase name="a" status="odd"/>"#));
    assert!(unknown.contains("a has the `status` \"odd\", which is not known"), "{unknown}");
}

#[test]
fn tests_of_junit_are_told_apart_by_all_suites_around_them_and_by_their_files() {
    let browser = |name: &str, inside: &str| {
        format!(
            r#"<testsuite name="{name}"><testsuite name="login" tests="1"><testcase name="a">{inside}</testcase></testsuite>
            </testsuite>"#
        )
    };
    let nested = format!("<testsuites>{}{}</testsuites>", browser("chromium", ""), browser("firefox", "<failure/>"));
    assert_eq!(side(&[&nested]), ["chromium/login/a 1/1+0", "firefox/login/a 0/1+0"]);
    let files = r#"<testsuites><testsuite name="unit" tests="2"><testcase name="adds" file="a.test.js"/>
        <testcase name="adds" file="b.test.js"><failure/></testcase></testsuite></testsuites>"#;
    assert_eq!(side(&[files]), ["a.test.js/adds 1/1+0", "b.test.js/adds 0/1+0"]);
}

/// pytest with reruns, of which there are as many as skipped tests.
#[test]
fn tries_of_a_test_are_no_trials_where_as_many_tests_are_skipped() {
    let xml = r#"<testsuites><testsuite name="pytest" errors="0" failures="1" skipped="2" tests="4">
        <testcase name="a"/><testcase name="a"/><testcase name="a"><failure/></testcase><testcase name="b"/>
        <testcase name="s1"><skipped/></testcase><testcase name="s2"><skipped/></testcase></testsuite></testsuites>"#;
    assert_eq!(side(&[xml]), ["a 0/1+0", "b 1/1+0"]);
}
