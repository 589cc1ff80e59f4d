//! What programs of the repository answer about a trial: command lines, scores and scripts.

use serde_json::json;
use skill_evals_cases::checks::grading_input::{ProgramEnding, ProgramRun, WorkspaceProgram};
use skill_evals_cases::checks::{self, CaseCheck};
use skill_evals_evidence::text::name::RelativePath;
use skill_evals_evidence::trial::outcome::{CheckResult, Status, Weight};

use crate::grade::trial;
use skill_evals_testing::made::listed;
use skill_evals_testing::tables;
use skill_evals_testing::tables::text;

const PASS: Status = Status::Pass;
const FAIL: Status = Status::Fail;
const UNKNOWN: Status = Status::Unknown;

/// The results of a check whose program ended so.
fn results(check: CaseCheck, ending: ProgramEnding) -> Vec<CheckResult> {
    let program = check.program().expect("a program").clone();
    let run = ProgramRun { digest: "its digest".to_owned(), ending: Ok(ending) };
    let all = trial(vec![check]).with(|trial| drop(trial.programs.insert(program, run))).grade().checks;
    let results: Vec<CheckResult> = all.into_iter().skip_while(|check| check.id != "final-message").skip(1).collect();
    assert!(results.iter().all(|result| result.program.as_deref() == Some("its digest")), "{results:#?}");
    results
}

fn ending(exit_code: i32, stdout: &str, stderr: &str) -> ProgramEnding {
    let (stdout, stderr) = (stdout.to_owned(), stderr.to_owned());
    ProgramEnding { exit_code, stdout, stderr, ..ProgramEnding::default() }
}

fn path(path: &str) -> RelativePath {
    RelativePath::parse(path).expect("a path")
}

#[test]
fn a_command_answers_by_its_exit_status() {
    for (check, (code, stdout, stderr), status, found) in [
        (r#"{"run": "make"}"#, (0, "built\n", ""), PASS, "exit status 0: built"),
        (r#"{"run": "make"}"#, (0, "", ""), PASS, "exit status 0"),
        (r#"{"run": "make"}"#, (1, "built\n", "warning\nbad\n \n"), FAIL, "exit status 1: bad"),
        (r#"{"run": "make"}"#, (137, "", ""), UNKNOWN, "it was ended by the signal 9"),
        (r#"{"run": "make", "exits": 3}"#, (3, "", ""), PASS, "exit status 3"),
        (r#"{"run": "make", "exits": 3}"#, (0, "", ""), FAIL, "exit status 0"),
        (r#"{"run": "make", "exits": 137}"#, (137, "", ""), PASS, "exit status 137"),
    ] {
        let result = &results(listed(check), ending(code, stdout, stderr))[0];
        assert_eq!((result.status, result.found.as_str()), (status, found), "{check}");
        let wanted = if check.contains("exits") { &check[check.len() - 4..check.len() - 1] } else { "0" };
        assert_eq!(result.expected, format!("`make` exits with {}", wanted.trim_matches([' ', ':'])));
    }
    let not_started = ProgramEnding { not_started: Some("`make` was not found".to_owned()), ..ending(127, "", "") };
    let result = &results(listed(r#"{"run": "make"}"#), not_started)[0];
    assert_eq!((result.status, result.found.as_str()), (UNKNOWN, "`make` was not found"));
    let unrun = trial(vec![listed(r#"{"run": "make"}"#)]).result("run");
    assert_eq!((unrun.status, unrun.found.as_str(), unrun.program), (UNKNOWN, "it has not run", None));
}

/// What the check of a line answers about the output behind ` <- `, if its program exits with 0, and if it exits with 1.
fn printed(line: &str) -> String {
    let (check, stdout) = line.split_once(" <- ").expect("a check and an output");
    let [zero, one] = [0, 1].map(|code| results(listed(check), ending(code, &text(stdout), "")).remove(0));
    format!("{:?}: {}: {}\nexit status 1: {:?}", zero.status, zero.expected, zero.found, one.status)
}

tables! {
    printed => a_command_answers_by_what_it_prints;
}

#[test]
fn an_output_that_is_not_text_answers_nothing() {
    for ending in [ending(0, "ok\0", ""), ProgramEnding { is_binary: true, ..ending(0, "ok", "") }] {
        let result = &results(listed(r#"{"run": "x", "contains": "ok"}"#), ending)[0];
        assert_eq!((result.status, result.found.as_str()), (UNKNOWN, "its standard output is not UTF-8 text"));
    }
}

#[test]
fn a_command_that_writes_a_score_passes_with_the_full_one() {
    let check =
        || CaseCheck { weight: Some(Weight::new(1.0, 1)), ..checks::full_score("grade".to_owned(), Vec::new()) };
    for ((code, stdout), status, found, score) in [
        ((1, r#"so: {"score": 1, "details": "all good"}."#), PASS, "score 1: all good", Some(1.0)),
        ((0, r#"{"score": 0}"#), FAIL, "score 0", Some(0.0)),
        ((0, r#"{"score": " 1.5 "}"#), PASS, "score 1.5", Some(1.0)),
        (
            (
                0,
                r#"{"score": 0.5, "details": "half", "checks": [{"name": "a", "passed": true, "message": "fine"}, {"name": "b", "passed": false, "message": "bad"}, {"name": "c"}]}"#,
            ),
            FAIL,
            "score 0.5: half; b: bad; c: ",
            Some(0.5),
        ),
        ((0, r#"{"scores": 1}"#), UNKNOWN, r#"its standard output has no score; exit status 0: {"scores": 1}"#, None),
        ((0, "none\n"), UNKNOWN, "its standard output has no score; exit status 0: none", None),
        ((137, r#"{"score": 1}"#), UNKNOWN, "it was ended by the signal 9", None),
    ] {
        let result = &results(check(), ending(code, stdout, ""))[0];
        assert_eq!(
            (result.status, result.found.as_str(), result.score),
            (status, found.trim_end_matches(": "), score),
            "{stdout}"
        );
        assert_eq!(result.expected, "`grade` writes the score 1");
    }
}

#[test]
fn the_files_of_a_command_come_from_directories_of_the_repository() {
    let check =
        checks::full_score("grade".to_owned(), vec![(path("tests/a"), path("a")), (path("tests/b"), path("b"))]);
    let program = check.program().expect("a program");
    assert_eq!(program.directories().map(RelativePath::to_string).collect::<Vec<_>>(), ["tests/a", "tests/b"]);
    assert_eq!((check.script(), program.to_string().as_str()), (None, "grade"));
    let script = checks::script(path("checks/a.sh"));
    assert_eq!(script.script(), Some(&path("checks/a.sh")));
    assert_eq!(WorkspaceProgram::Script(path("checks/a.sh")).directories().count(), 0);
}

/// The only result of the script at `script`, which ended so.
fn answer(script: &str, exit_code: i32, stdout: &str, stderr: &str) -> (String, Status, String) {
    let results = results(checks::script(path(script)), ending(exit_code, stdout, stderr));
    let [result] = results.as_slice() else { panic!("{results:#?}") };
    assert_eq!(result.expected, format!("`{script}` passes"));
    (result.id.clone(), result.status, result.found.clone())
}

#[test]
fn a_script_answers_by_its_exit_status() {
    for (code, stdout, stderr, status, found) in [
        (0, "", "", PASS, "exit status 0"),
        (0, " fine\n", "", PASS, "exit status 0: fine"),
        (1, "", "a\nbad \n \n", FAIL, "exit status 1: bad"),
        (1, "out", "err", FAIL, "exit status 1: out"),
        (2, "", "usage", UNKNOWN, "exit status 2; expected 0 for a pass or 1 for a failure: usage"),
        (0, "[1] done", "", PASS, "exit status 0: [1] done"),
        (0, "a\0", "", UNKNOWN, "its standard output is not UTF-8 text"),
    ] {
        let expected = ("checks/a.sh".to_owned(), status, found.to_owned());
        assert_eq!(answer("checks/a.sh", code, stdout, stderr), expected);
    }
    assert_eq!(answer("a.sh", 0, "", "").0, "./a.sh", "no kind of check has this name");
    let not_started = ProgramEnding { not_started: Some("no such file".to_owned()), ..ProgramEnding::default() };
    let result = &results(checks::script(path("checks/a.sh")), not_started)[0];
    assert_eq!((result.status, result.found.as_str()), (UNKNOWN, "no such file"));
}

#[test]
fn a_script_that_an_exception_ended_did_not_answer_unless_the_exception_is_an_assertion() {
    let python = |file: &str, exception: &str| {
        format!(
            "Traceback (most recent call last):\n\n  File \"{file}\", line 3, in <module>\n    check()\n{exception}\n"
        )
    };
    let node = |file: &str| {
        format!("file://{file}:3\ncheck()\n^\n\nTypeError: x is not\n    at {file}:3:1\n\nNode.js v20.1\n \n")
    };
    for (script, stderr, crash) in [
        ("checks/a.py", python("/r/checks/a.py", "ValueError: no"), Some("ValueError: no")),
        ("checks/a.py", python("/r/checks/lib.py", "ValueError: no"), Some("ValueError: no")),
        ("checks/a.py", python("/r/checks/a.py", "AssertionError: no"), None),
        ("checks/a.py", python("/tmp/agent.py", "ValueError: no"), None),
        ("a.py", python("/r/a.py", "ValueError: no"), Some("ValueError: no")),
        ("a.py", python("/tmp/agent.py", "ValueError: no"), None),
        ("checks/a.mjs", node("/r/checks/a.mjs"), Some("TypeError: x is not")),
        ("checks/a.mjs", node("/tmp/agent.mjs"), None),
        (
            "checks/a.py",
            "  File \"/r/checks/a.py\", line 1\n    x x\nSyntaxError: invalid syntax\n".to_owned(),
            Some("SyntaxError: invalid syntax"),
        ),
        ("checks/a.sh", "in /r/checks/a.sh\nwrong\n".to_owned(), None),
    ] {
        let (_, status, found) = answer(script, 1, "", &stderr);
        let expected = crash.map(|crash| (UNKNOWN, format!("the script crashed: {crash}")));
        let expected = expected.unwrap_or_else(|| {
            let last = stderr.lines().rev().find(|line| !line.trim().is_empty()).expect("a line");
            (FAIL, format!("exit status 1: {last}"))
        });
        assert_eq!((status, found), expected, "{stderr}");
        assert_eq!(answer(script, 0, "", &stderr).1, PASS, "it went on after it");
    }
}

#[test]
fn a_script_answers_with_checks_of_its_own() {
    let answer = r#"{"checks": [
        {"id": "a", "pass": true}, {"id": "b", "pass": false},
        {"id": "c", "pass": true, "expected": "three\nlines", "evidence": {"lines": 3}}
    ], "score": 0.5}"#;
    let results = results(checks::script(path("checks/a.sh")), ending(1, answer, ""));
    let rows: Vec<_> = results
        .iter()
        .map(|check| (check.id.as_str(), check.status, check.expected.as_str(), check.found.as_str()))
        .collect();
    assert_eq!(
        rows,
        [
            ("checks/a.sh: a", PASS, "`checks/a.sh` passes a", "score 0.5"),
            ("checks/a.sh: b", FAIL, "`checks/a.sh` passes b", "it does not"),
            ("checks/a.sh: c", PASS, "three lines", r#"{"lines":3}"#),
        ]
    );
}

#[test]
fn an_answer_of_a_script_that_cannot_be_meant_is_none() {
    let many = |count: usize| {
        let checks: Vec<_> = (0..count).map(|id| json!({ "id": id.to_string(), "pass": true })).collect();
        json!({ "checks": checks }).to_string()
    };
    let one = r#"{"checks": [{"id": "a", "pass": true}]}"#;
    assert_eq!(results(checks::script(path("checks/a.sh")), ending(0, one, ""))[0].status, PASS);
    assert_eq!(results(checks::script(path("checks/a.sh")), ending(0, &many(1000), "")).len(), 1000);
    for (code, stdout, found) in [
        (1, one.to_owned(), "exit status 1, but every check in its answer passes"),
        (0, many(0), "its answer has 0 checks; expected 1 to 1000"),
        (0, many(1001), "its answer has 1001 checks; expected 1 to 1000"),
        (
            0,
            r#"{"checks": [{"id": " ", "pass": true}]}"#.to_owned(),
            r#"its answer has the id " " twice, or an empty id"#,
        ),
        (
            0,
            r#"{"checks": [{"id": "a", "pass": true}, {"id": "a", "pass": true}]}"#.to_owned(),
            r#"its answer has the id "a" twice, or an empty id"#,
        ),
        (
            0,
            "{} {}".to_owned(),
            "its standard output is not an answer: missing field `checks` at line 1 column 2; it wrote {} {}",
        ),
    ] {
        assert_eq!(answer("checks/a.sh", code, &stdout, "").2, found);
    }
    for list in [r#"[{"id": "a"}]"#, "[\n{}]"] {
        let (_, status, found) = answer("checks/a.sh", 0, list, "");
        assert!(status == UNKNOWN && found.starts_with("its standard output is not an answer"), "{list}: {found}");
    }
}
