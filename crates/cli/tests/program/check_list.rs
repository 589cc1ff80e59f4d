//! The list `checks` of a row: one verdict live, in replay and when the trial is graded again.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::fixture::Fixture;
use crate::support::stub::Stub;

const CHECKS: &str = r#"[
    {"text": "final", "matches": "^Done(?=\\.)"},
    {"file": "data/*.json", "at": "/name", "equals": "Ada"},
    {"file": "data/kept.txt", "contains": "kept"},
    {"file": "removed.txt", "exists": false},
    {"file": "made/report.md", "snapshot": "evals/report.md"},
    {"run": "grep -q Ada data/a.json"},
    {"run": "cat missing.txt", "exits": 1}
]"#;

/// A repository with a case that has this list in a file, and whose agent changes its fixture.
fn stub(checks: &str) -> Stub {
    let body = r#"mkdir made; echo '{"name": "Ada"}' > data/a.json; rm removed.txt; echo Fine > made/report.md"#;
    let stub = Stub::new(1, body);
    let evals = stub.root().join("evals");
    let fixture = evals.join("skills/tidy/files");
    fs::create_dir_all(fixture.join("data")).expect("a directory");
    for (name, text) in [("data/kept.txt", "kept\n"), ("data/a.json", "{}"), ("removed.txt", "x")] {
        fs::write(fixture.join(name), text).expect("a file");
    }
    fs::write(evals.join("report.md"), "Fine\n").expect("a snapshot");
    fs::write(evals.join("skills/tidy/checks.json"), checks).expect("a list");
    let text = "id,should_trigger,prompt,checks,fixture\nc0,false,Prompt 0,checks.json,files\n";
    fs::write(evals.join("skills/tidy/prompts.csv"), text).expect("a table");
    stub
}

/// The checks of the list in the grade of the run `r`: id, status and what was found.
fn results(stub: &Stub) -> Vec<(String, String, String)> {
    let grade: Value = stub.json("r", "work/tidy/c0/codex/1/grade.json");
    let checks = grade["checks"].as_array().expect("checks").clone();
    let text = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
    let results = checks.iter().map(|check| (text(check, "id"), text(check, "status"), text(check, "found")));
    results.filter(|(id, ..)| ["text", "file", "run"].contains(&id.as_str())).collect()
}

#[test]
fn checks_in_a_file_have_the_same_result_live_in_replay_and_graded_again() {
    let stub = stub(CHECKS);
    let run = stub.run(&["run", "--run-id", "r", "--record"]);
    run.exits(0);
    let live = results(&stub);
    assert!(live.len() == 7 && live.iter().all(|(_, status, _)| status == "pass"), "{live:#?}");
    let replay = stub.run(&["run", "--replay"]);
    replay.exits(0);
    stub.run("grade r").exits(0);
    assert_eq!(results(&stub), live);
    // The verdict follows the list and the snapshot, and no agent runs.
    fs::write(stub.root().join("evals/report.md"), "Better\n").expect("a snapshot");
    for args in [&["grade", "r"][..], &["run", "--replay"]] {
        stub.run(args).exits(1).prints("-Better").prints("+Fine");
    }
    assert_eq!(stub.starts().len(), 1);
}

#[test]
fn a_command_that_did_not_do_its_work_is_unknown_unless_its_status_is_asked_for() {
    let lines = ["no-such-program", "kill -9 $$", "sh -c 'exit 137'", "exit 255"];
    let checks = lines.map(|line| serde_json::json!({"run": line}));
    let asked = serde_json::json!({"run": "no-such-program", "exits": 127});
    let all: Vec<Value> = checks.into_iter().chain([asked]).collect();
    let stub = stub(&Value::from(all).to_string());
    stub.run(&["run", "--run-id", "r"]);
    // Inside bubblewrap, which has its own exit status for a signal.
    for isolation in ["agent", "bwrap"] {
        crate::support::stub::ran(stub.command(&["grade", "r"]).env("SKILL_EVALS_ISOLATION", isolation));
        let results = results(&stub);
        let status: Vec<&str> = results.iter().map(|(_, status, _)| status.as_str()).collect();
        assert_eq!(status, ["unknown", "unknown", "unknown", "fail", "pass"], "{isolation}: {results:#?}");
        let found = &results[0].2;
        assert!(found.contains("is everything installed") && !found.contains("isolation_read"), "{found}");
        assert!(results[1].2.contains("it was ended by the signal 9"), "{results:#?}");
    }
}

#[test]
fn what_a_command_prints_is_tested_if_its_status_is_as_wanted() {
    let checks = [
        (r#"{"run": "echo Passed!; echo noise >&2", "contains": "Passed!"}"#, "pass", "it printed Passed!"),
        (r#"{"run": "echo Passed!", "contains": "passed!"}"#, "fail", "of its output: it does not: Passed!"),
        (r#"{"run": "echo Passed!", "contains": "passed!", "ignoreCase": true}"#, "pass", "it printed"),
        (r#"{"run": "echo noise >&2", "contains": "noise"}"#, "fail", "it does not"),
        (r#"{"run": "echo 0 errors", "matches": "[1-9] error", "not": true}"#, "pass", "it does not"),
        (r#"{"run": "echo 3 errors", "matches": "[1-9] error", "not": true}"#, "fail", "it printed 3 errors"),
        (r#"{"run": "cat data/a.json", "at": "/name", "equals": "Ada"}"#, "pass", "it printed"),
        (r#"{"run": "echo Passed!; exit 2", "contains": "Passed!"}"#, "fail", "exit status 2"),
        (r#"{"run": "echo Passed!; exit 2", "exits": 2, "contains": "Passed!"}"#, "pass", "it printed"),
        (r#"{"run": "no-such-program", "contains": "a", "not": true}"#, "unknown", "exit status 127"),
        (r#"{"run": "printf '\\377'"}"#, "pass", "exit status 0"),
        (r#"{"run": "printf 'a\\377'", "contains": "a"}"#, "unknown", "its standard output is not UTF-8 text"),
        (r#"{"run": "printf 'a\\377'", "contains": "b", "not": true}"#, "unknown", "is not UTF-8 text"),
        (r#"{"run": "printf 'e\\0r\\0r\\0'", "contains": "err", "not": true}"#, "unknown", "is not UTF-8 text"),
        (r#"{"run": "echo oops", "json": "whole"}"#, "fail", "it is not JSON"),
        (r#"{"run": "echo oops", "json": "whole", "not": true}"#, "pass", "it is not JSON"),
        (r#"{"run": "echo oops", "at": "/a", "equals": 1}"#, "fail", "it is not JSON"),
        (r#"{"run": "echo oops", "at": "/a", "not": true}"#, "unknown", "it is not JSON"),
        (r#"{"run": "echo oops", "equals": 1, "not": true}"#, "unknown", "it is not JSON"),
        (r#"{"run": "echo oops", "json": "whole", "matches": "a", "not": true}"#, "unknown", "it is not JSON"),
        (r#"{"run": "echo oops", "json": "within", "at": "/a", "not": true}"#, "unknown", "it contains no JSON"),
        (r#"{"run": "echo '{}'", "at": "/a", "not": true}"#, "pass", "no value at /a"),
    ];
    let list = checks.map(|(check, ..)| check).join(",\n");
    let stub = stub(&format!("[{list}]"));
    stub.run(&["run", "--run-id", "r", "--accept-failing", "--record"]);
    let live = results(&stub);
    for ((check, status, found), result) in checks.iter().zip(&live) {
        assert!(result.1 == *status && result.2.contains(found), "{check}: {result:?}");
    }
    assert_eq!(live.len(), checks.len());
    stub.run(&["grade", "r"]);
    assert_eq!(results(&stub), live);
}

#[test]
fn a_test_of_the_output_of_a_command_without_its_text_is_an_error() {
    let stub = stub(r#"[{"run": "true", "not": true}]"#);
    stub.run("lint --check-evals").prints("`not` has nothing to apply to");
}

#[test]
fn an_empty_list_is_an_error() {
    let stub = stub("[]");
    stub.run("lint --check-evals").prints("error[empty-value]: `checks` is an empty list").prints("checks.json:1:1");
}

#[test]
fn a_mistake_in_the_file_of_a_list_is_reported_in_that_file() {
    let stub = stub("[\n  {\"file\": \"a\", \"contain\": \"b\"}\n]");
    let lint = stub.run(&["lint", "--check-evals"]);
    lint.prints("evals/skills/tidy/checks.json:2:17").prints("did you mean `contains`?");
    fs::remove_file(stub.root().join("evals/skills/tidy/checks.json")).expect("the list");
    stub.run("lint --check-evals").prints("`checks`: checks.json cannot be read");
}

#[test]
fn the_file_of_a_list_may_be_a_link_inside_the_repository_only() {
    let stub = stub("[]");
    let list = stub.root().join("evals/skills/tidy/checks.json");
    let outside = tempfile::NamedTempFile::new().expect("a file");
    fs::write(outside.path(), r#"[{"file": "a"}]"#).expect("a list");
    fs::write(stub.root().join("evals/shared.json"), r#"[{"file": "a"}]"#).expect("a list");
    for (target, is_inside) in [(outside.path(), false), (Path::new("../../shared.json"), true)] {
        fs::remove_file(&list).expect("the list");
        std::os::unix::fs::symlink(target, &list).expect("a link");
        let ran = stub.run(&["lint", "--check-evals"]);
        let link =
            format!("evals/skills/tidy/checks.json is a symbolic link to {}, which is outside", target.display());
        let why = format!("checks.json cannot be read: {link}");
        assert_eq!(ran.stdout.contains(&why), !is_inside, "{}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn a_list_that_names_an_unknown_skill_or_snapshot_is_an_error() {
    let stub = stub(r#"[{"rejects": ["tidi"]}, {"file": "a", "snapshot": "evals/reprt.md"}]"#);
    let lint = stub.run(&["lint", "--check-evals"]);
    lint.prints("`rejects` names the skill `tidi`, which is not here").prints("did you mean `tidy`?");
    lint.prints("the snapshot evals/reprt.md is not a file");
}

#[test]
fn a_check_in_the_file_of_a_list_is_on_the_line_of_its_case() {
    let fixture = Fixture::new()
        .skill("tidy")
        .file("evals/skills/tidy/checks.json", "[\n\n\n\n  { \"text\": \"final\", \"contains\": \"a\" }\n]\n")
        .file("evals/skills/tidy/prompts.csv", "id,should_trigger,prompt,checks\nc0,false,Prompt 0,checks.json\n");
    let catalog = fixture.catalog();
    let case = catalog.cases_of("tidy").next().expect("a case").case().expect("a good case");
    let check = case.checks.iter().find(|check| check.kind.id == "text").expect("the check");
    assert_eq!(check.origin.line, 2);
}
