//! Checks in any language: a program of the repository that answers about a trial, whichever command asks.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;

use crate::support::fixture::Ran;
use crate::support::stub::{Stub, ran};

/// A repository with one case, whose agent runs `body`, and which `checks/own.EXT` checks.
fn stub(body: &str, script: &str) -> Stub {
    let stub = Stub::new(1, body);
    own(&stub, script);
    table(&stub, "checks/own");
    stub
}

fn own(stub: &Stub, script: &str) {
    program(stub, "checks/own", script);
}

fn program(stub: &Stub, path: &str, script: &str) {
    let path = stub.root().join(path);
    fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    fs::write(&path, script).expect("a script");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("permissions");
}

fn table(stub: &Stub, check: &str) {
    let text = format!("id,should_trigger,prompt,check\nc0,false,Prompt 0,{check}\n");
    fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), text).expect("a table");
}

/// The grade of the only trial of the run `r`.
fn grade(stub: &Stub) -> Value {
    stub.json("r", "work/tidy/c0/codex/1/grade.json")
}

/// The checks of scripts in a grade: name, status, what was expected and found.
fn answers(grade: &Value) -> Vec<(String, String, String, String)> {
    let text = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
    let checks = grade["checks"].as_array().expect("checks").iter().filter(|check| check["program"].is_string());
    checks
        .map(|check| (text(check, "id"), text(check, "status"), text(check, "expected"), text(check, "found")))
        .collect()
}

/// Runs the case, its agents outside of bubblewrap, and returns the verdict with the result of the script.
fn judged(stub: &Stub) -> (String, String, String) {
    fs::remove_dir_all(stub.run_folder("r")).ok();
    let run = stub.run(&["run", "--run-id", "r"]);
    let grade = grade(stub);
    let answers = answers(&grade);
    let [(id, status, _, found)] = answers.as_slice() else { panic!("{answers:?}: {}{}", run.stdout, run.stderr) };
    assert_eq!(id, "checks/own");
    (grade["verdict"].as_str().expect("a verdict").to_owned(), status.clone(), found.clone())
}

/// Grades the run `r` again, the script inside bubblewrap.
fn isolated(stub: &Stub, args: &[&str]) -> Ran {
    ran(stub.command(args).env("SKILL_EVALS_ISOLATION", "bwrap").env("SKILL_EVALS_REQUIRE_ISOLATION", "1"))
}

#[test]
fn a_script_answers_by_its_exit_status() {
    let stub = stub("", "#!/bin/sh\nexit 0\n");
    for (script, verdict, status, found) in [
        ("#!/bin/sh\necho fine", "pass", "pass", "exit status 0: fine"),
        ("#!/bin/sh\necho the sum is wrong >&2; exit 1", "fail", "fail", "exit status 1: the sum is wrong"),
        ("#!/usr/bin/env bash\n[[ $(cat \"$CHECK_FINAL\") == Done. ]]", "pass", "pass", "exit status 0"),
        ("#!/usr/bin/env python3\nassert 1 == 2, 'no'", "fail", "fail", "exit status 1: AssertionError: no"),
        ("#!/usr/bin/env node\nprocess.exit(0)", "pass", "pass", "exit status 0"),
    ] {
        own(&stub, script);
        assert_eq!(judged(&stub), (verdict.to_owned(), status.to_owned(), found.to_owned()), "{script}");
    }
}

#[test]
fn a_script_without_a_usable_answer_is_an_error_and_says_why() {
    let stub = stub("", "");
    stub.settings("check_timeout_s = 1");
    for (script, found) in [
        ("#!/bin/sh\nexit 2", "exit status 2; expected 0 for a pass or 1 for a failure"),
        ("#!/bin/sh\nkill -9 $$", "it was ended by the signal 9"),
        ("#!/bin/sh\nsleep 60", "it did not end within 1 s; `check_timeout_s` in evals/evals.toml gives it more"),
        (
            "#!/bin/sh\necho '{\"checks\": [{\"id\": \"a\"}]}'",
            "its standard output is not an answer: missing field `pass`",
        ),
        ("#!/bin/sh\necho '{\"checks\": []}'", "its answer has 0 checks; expected 1 to 1000"),
        ("#!/bin/sh\necho '{\"checks\": [{\"id\": \"a\", \"passed\": true}]}'", "unknown field `passed`"),
        (
            "#!/bin/sh\necho '{\"checks\": [{\"id\": \"a\", \"pass\": true}]}'; exit 1",
            "every check in its answer passes",
        ),
        ("#!/usr/bin/env python3\nprint({}['x'])", "the script crashed: KeyError: 'x'"),
        ("#!/usr/bin/env python3\nimport nothing_like_it", "the script crashed: ModuleNotFoundError"),
        ("#!/usr/bin/env python3\nif", "the script crashed: SyntaxError"),
        ("#!/usr/bin/env node\nnull.x", "the script crashed: TypeError"),
        ("#!/usr/bin/env no-such-interpreter\n", "exit status 127"),
        ("#!/no/such/interpreter\n", "it could not be started"),
        ("#!/bin/sh\nno-such-program", "exit status 127"),
        ("#!/bin/sh\nhead -c 3000000 /dev/zero | tr '\\0' x", "it wrote more than 1 MiB to its standard output"),
        ("#!/bin/sh\nyes '{'", "it wrote more than 1 MiB to its standard output"),
    ] {
        own(&stub, script);
        let (verdict, status, why) = judged(&stub);
        assert_eq!((verdict.as_str(), status.as_str()), ("error", "unknown"), "{script}: {why}");
        assert!(why.contains(found), "{script}: {why}");
    }
}
