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
    stub.write("checks/own", script);
}

fn table(stub: &Stub, check: &str) {
    let text = format!("id,should_trigger,prompt,check\nc0,false,Prompt 0,{check}\n");
    stub.write("evals/skills/tidy/prompts.csv", &text);
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
    let stub = stub("echo \"{}['x']\" > prog.py", "#!/bin/sh\nexit 0\n");
    for (script, verdict, status, found) in [
        ("#!/bin/sh\necho fine", "pass", "pass", "exit status 0: fine"),
        ("#!/bin/sh\necho the sum is wrong >&2; exit 1", "fail", "fail", "exit status 1: the sum is wrong"),
        ("#!/usr/bin/env bash\n[[ $(cat \"$CHECK_FINAL\") == Done. ]]", "pass", "pass", "exit status 0"),
        ("#!/usr/bin/env python3\nassert 1 == 2, 'no'", "fail", "fail", "exit status 1: AssertionError: no"),
        ("#!/usr/bin/env node\nprocess.exit(0)", "pass", "pass", "exit status 0"),
        // The exception is that of another program.
        ("#!/bin/sh\npython3 prog.py || exit 1", "fail", "fail", "exit status 1: KeyError: 'x'"),
        (
            "#!/usr/bin/env python3\nimport subprocess, sys\nsys.exit(subprocess.run(['python3', 'prog.py']).returncode)",
            "fail",
            "fail",
            "exit status 1: KeyError: 'x'",
        ),
        ("#!/bin/sh\necho '[100%] done'; echo '[1]'", "pass", "pass", "exit status 0: [100%] done [1]"),
    ] {
        own(&stub, script);
        assert_eq!(judged(&stub), (verdict.to_owned(), status.to_owned(), found.to_owned()), "{script}");
    }
}

#[test]
fn a_script_without_a_usable_answer_is_an_error_and_says_why() {
    let stub = stub("", "");
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
        ("#!/bin/sh\necho loading\necho '{\"checks\": [{\"id\": \"a\", \"pass\": false}]}'", "is not an answer"),
        ("#!/bin/sh\necho '[{\"id\": \"a\", \"pass\": false}]'", "is not an answer"),
        ("#!/bin/sh\nprintf 'note\\n[\\n  {\"id\": \"a\", \"pass\": false}]'", "is not an answer"),
        (
            "#!/usr/bin/env python3\nimport sys\n\
             sys.stdout.buffer.write('{\"checks\": [{\"id\": \"a\", \"pass\": false}]}'.encode('utf-16'))",
            "its standard output is not UTF-8 text",
        ),
        ("#!/bin/sh\nprintf '{\\0\"\\0'", "its standard output is not UTF-8 text"),
        ("#!/bin/sh\nprintf 'caf\\351'; exit 1", "its standard output is not UTF-8 text"),
        ("#!/usr/bin/env no-such-interpreter\n", "exit status 127"),
        ("#!/no/such/interpreter\n", "it could not be started"),
        ("#!/bin/sh\nno-such-program", "exit status 127"),
        ("#!/bin/sh\nhead -c 3000000 /dev/zero | tr '\\0' x", "it wrote more than 1 MiB to its standard output"),
        ("#!/bin/sh\nyes '{'", "it "),
    ] {
        own(&stub, script);
        stub.settings(if script.contains("sleep") || script.contains("yes") { "check_timeout_s = 1" } else { "" });
        let (verdict, status, why) = judged(&stub);
        assert_eq!((verdict.as_str(), status.as_str()), ("error", "unknown"), "{script}: {why}");
        assert!(why.contains(found), "{script}: {why}");
    }
}

#[test]
fn a_failed_assertion_of_node_is_a_failure() {
    let stub = stub("", "");
    for assertion in ["require('assert').equal(1, 2)", "require('node:assert/strict').deepEqual({a: 1}, {a: 2}, 'no')"]
    {
        own(&stub, &format!("#!/usr/bin/env node\n{assertion}"));
        let (verdict, status, found) = judged(&stub);
        assert_eq!((verdict.as_str(), status.as_str()), ("fail", "fail"), "{assertion}: {found}");
    }
}

#[test]
fn an_answer_may_begin_with_a_byte_order_mark() {
    let script = "#!/bin/sh\nprintf '\\357\\273\\277{\"checks\": [{\"id\": \"a\", \"pass\": false}]}'";
    let stub = stub("", script);
    stub.run("run --run-id r").exits(1);
    let answers = answers(&grade(&stub));
    assert_eq!((answers[0].0.as_str(), answers[0].1.as_str()), ("checks/own: a", "fail"), "{answers:?}");
}

#[test]
fn a_script_sees_that_the_agent_made_a_link_and_cannot_follow_it() {
    let script = "#!/bin/sh\n[ -L leak ] && [ -L sub/pipe ] && ! cat leak && ! echo x > leak";
    let stub = stub("ln -s /etc/passwd leak; mkdir sub; mkfifo sub/pipe", script);
    stub.run("run --run-id r --record").exits(0);
    assert_eq!(stub.json("r", "work/tidy/c0/codex/1/meta.json")["links"], serde_json::json!(["leak", "sub/pipe"]));
    assert_eq!(isolated(&stub, &["run", "--replay"]).code, 0);
    let text = "id,should_trigger,prompt,require_files\nc0,false,Prompt 0,leak\n";
    fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), text).expect("a table");
    stub.run("grade r").prints("leak is a link or a special file, which is not followed");
}

#[test]
fn the_checks_in_an_answer_are_checks_of_their_own() {
    let script = r#"#!/usr/bin/env python3
import json
print(json.dumps({"score": 0.5, "checks": [
    {"id": "total", "pass": True, "expected": 12, "evidence": "12"},
    {"id": "currency", "pass": False, "expected": "EUR", "evidence": "found USD"}]}))
"#;
    let stub = stub("", script);
    stub.run("run --run-id r").exits(1).prints("checks/own: currency").prints("found USD");
    let answers = answers(&grade(&stub));
    let answers: Vec<[&str; 4]> =
        answers.iter().map(|(id, status, expected, found)| [id.as_str(), status, expected, found]).collect();
    assert_eq!(
        answers,
        [["checks/own: total", "pass", "12", "12; score 0.5"], ["checks/own: currency", "fail", "EUR", "found USD"]]
    );
}

/// Reads everything that a script gets, and says in JSON what it is.
const READS: &str = r#"#!/usr/bin/env python3
import json, os, sys
given = json.load(sys.stdin)
trace = json.load(open(os.environ["CHECK_TRACE"]))
meta = json.load(open(os.environ["CHECK_META"]))
checks = {
    "stdin": [given["format"], given["skill"], given["case"], given["mode"], given["trial"]] == [1, "tidy", "c0", "codex", 1],
    "paths": given["trace"] == os.environ["CHECK_TRACE"] and given["workspace"] == os.getcwd() == os.environ["CHECK_WORKSPACE"],
    "final": open(os.environ["CHECK_FINAL"]).read() == trace["final_message"] == "Done.",
    "trace": trace["format"] == 1 and trace["steps"][-1]["kind"] == "message",
    "meta": meta["case"]["id"] == "c0",
    "kept": open("data/kept.txt").read() == "kept\n",
    "changed": open("data/changed.txt").read() == "by the agent\n",
    "made": open("made/new.txt").read() == "new\n",
    "runs": os.system("./made/run.sh > out.txt") == 0 and open("out.txt").read() == "ran\n",
    "removed": not os.path.exists("removed.txt"),
}
print(json.dumps({"checks": [{"id": id, "pass": passed} for id, passed in checks.items()]}))
"#;

#[test]
fn a_script_reads_the_trial_and_a_copy_of_the_workspace_live_and_in_replay() {
    let body = "echo by the agent > data/changed.txt; rm removed.txt; mkdir made; echo new > made/new.txt
printf '#!/bin/sh\\necho ran\\n' > made/run.sh; chmod +x made/run.sh";
    let stub = stub(body, READS);
    let fixture = stub.root().join("evals/skills/tidy/files");
    fs::create_dir_all(fixture.join("data")).expect("a directory");
    for (name, text) in [("data/kept.txt", "kept\n"), ("data/changed.txt", "before\n"), ("removed.txt", "x")] {
        fs::write(fixture.join(name), text).expect("a file");
    }
    let text = "id,should_trigger,prompt,check,fixture\nc0,false,Prompt 0,checks/own,files\n";
    fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), text).expect("a table");
    let run = stub.run(&["run", "--run-id", "r", "--record"]);
    run.exits(0);
    let live = answers(&grade(&stub));
    assert_eq!((live.len(), live.iter().all(|(_, status, ..)| status == "pass")), (10, true), "{live:#?}");
    // The files that the script made are in its copy only.
    assert!(!stub.run_folder("r").join("work/tidy/c0/codex/1/workspace/out.txt").exists());
    let replay = isolated(&stub, &["run", "--replay"]);
    replay.exits(0);
    assert_eq!(isolated(&stub, &["grade", "r"]).code, 0);
    assert_eq!(answers(&grade(&stub)), live, "isolated or not");
    fs::write(fixture.join("data/kept.txt"), "other\n").expect("a file");
    stub.run("grade r").prints("the files of the case have changed since the trial");
}

#[test]
fn one_script_gives_one_verdict_in_every_command() {
    let stub = stub("echo wrong > sum.txt", "#!/bin/sh\ngrep -q right sum.txt\n");
    let failed = |args: &[&str]| {
        let run = stub.run(args);
        run.exits(1);
        run.stdout
    };
    assert!(failed(&["run", "--run-id", "r"]).contains("checks/own"));
    failed(&["grade", "r"]);
    failed(&["summary", "r"]);
    failed(&["run", "--run-id", "r", "--resume"]);
    stub.run("status").prints("failed   tidy/c0/codex: checks/own");
    assert!(failed(&["record", "r"]).contains("new: fail, not recorded"));
    stub.run("record r --accept-failing").exits(0);
    failed(&["run", "--replay"]);
    stub.run("harness tidy::c0").exits(101).prints("checks/own");
    // The verdict follows the script, and no agent runs.
    own(&stub, "#!/bin/sh\ngrep -q wrong sum.txt\n");
    for args in [&["grade", "r"][..], &["run", "--replay"], &["run", "--run-id", "r", "--resume"], &["summary", "r"]] {
        stub.run(args).exits(0);
    }
    stub.run("harness tidy::c0").exits(0);
    assert_eq!(stub.starts().len(), 1);
}

#[test]
fn scripts_of_the_repository_and_of_a_skill_check_its_cases_once() {
    let stub = stub("", "#!/bin/sh\nexit 0\n");
    stub.write("checks/all.sh", "#!/bin/sh\nexit 0\n");
    stub.write("top", "#!/bin/sh\nexit 1\n");
    stub.settings("check = [\"./checks/all.sh\", \"checks/own\"]\n[skills.tidy]\ncheck = \"top\"\n");
    let run = stub.run(&["run", "--run-id", "r"]);
    run.exits(1);
    let answers = answers(&grade(&stub));
    let ids: Vec<&str> = answers.iter().map(|(id, ..)| id.as_str()).collect();
    assert_eq!(ids, ["checks/own", "checks/all.sh", "./top"]);
    fs::remove_file(stub.root().join("checks/all.sh")).expect("a file");
    let lint = stub.run(&["lint", "--check-evals"]);
    let told = "error[missing-check]: the check checks/all.sh does not exist\n --> evals/evals.toml:2:9\n";
    lint.exits(1).prints(told);
    assert_eq!(lint.stdout.matches("missing-check").count(), 1, "{}", lint.stdout);
}

#[test]
fn a_script_that_cannot_be_started_is_found_before_an_agent_runs() {
    let stub = stub("", "");
    for (script, mode, told, help) in [
        ("echo", 0o755, "the check checks/own.py does not say which program runs it", "`#!/usr/bin/env python3`"),
        ("#!/bin/sh", 0o644, "the check checks/own.py is not executable", "chmod +x checks/own.py"),
    ] {
        stub.write("checks/own.py", script);
        fs::set_permissions(stub.root().join("checks/own.py"), fs::Permissions::from_mode(mode)).expect("permissions");
        table(&stub, "checks/own.py");
        let run = stub.run(&["run"]);
        assert_eq!((run.code, stub.starts().len()), (2, 0), "{}{}", run.stdout, run.stderr);
        run.prints(format!("[bad-check]: {told}")).prints(help);
        let lint = stub.run(&["lint", "--check-evals"]).stdout;
        assert!(
            lint.contains(&format!("error[bad-check]: {told}\n --> evals/skills/tidy/prompts.csv:2:19\n")),
            "{lint}"
        );
    }
    table(&stub, "checks/none.py");
    stub.run("lint --check-evals").prints("error[missing-check]: the check checks/none.py does not exist");
}

#[test]
fn a_hostile_script_reaches_nothing_and_leaves_nothing() {
    let stub = stub("echo x > made.txt", "");
    let outside = stub.scratch().join("outside");
    own(&stub, "#!/bin/sh\nexit 0\n");
    stub.run("run --run-id r").exits(0);
    let trial = stub.run_folder("r").join("work/tidy/c0/codex/1");
    let evidence = |name: &str| fs::read(trial.join(name)).expect("a file");
    let before = (evidence("meta.json"), evidence("trace.jsonl"), evidence("workspace/made.txt"));
    let root = stub.root().display();
    for (script, verdict) in [
        // What it can read of the repository is its own directory.
        (format!("#!/bin/sh\n[ -e {root}/checks/own ] && [ ! -e {root}/evals ] && [ ! -e {root}/skills ]"), "pass"),
        (format!("#!/bin/sh\ntouch {root}/new {}; ! touch {root}/checks/new", outside.display()), "pass"),
        (
            "#!/bin/sh\n! touch \"$CHECK_META\" && ! rm \"$CHECK_TRACE\" && ! touch \"$(dirname $CHECK_META)/new\""
                .to_owned(),
            "pass",
        ),
        ("#!/bin/sh\nrm -rf * .[a-z]* \"$HOME\"; [ ! -e made.txt ]".to_owned(), "pass"),
        (format!("#!/bin/sh\n(sleep 2; touch {}; sleep 60) >/dev/null 2>&1 & exit 0", outside.display()), "pass"),
        ("#!/bin/sh\nsleep 600 & exit 0".to_owned(), "pass"),
        ("#!/bin/sh\nkill -9 $PPID; kill -9 -1; sleep 1".to_owned(), "pass"),
        ("#!/bin/sh\nset -- $(ls -d /proc/[0-9]*); [ $# -lt 10 ]".to_owned(), "pass"),
        ("#!/bin/sh\nhead -c 100000000 /dev/zero >&2; exit 1".to_owned(), "fail"),
    ] {
        own(&stub, &script);
        let ran = isolated(&stub, &["grade", "r"]);
        let grade = grade(&stub);
        assert_eq!(grade["verdict"], verdict, "{script}: {}{} {:?}", ran.stdout, ran.stderr, answers(&grade));
        assert!(grade["not_enforced"].is_null(), "{grade}");
    }
    assert_eq!(before, (evidence("meta.json"), evidence("trace.jsonl"), evidence("workspace/made.txt")));
    assert!(!outside.exists() && !stub.root().join("new").exists() && !stub.root().join("checks/new").exists());
    let left: Vec<_> = fs::read_dir(stub.scratch()).expect("a directory").flatten().collect();
    assert!(
        !left.iter().any(|entry| entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit())),
        "{left:?}"
    );
}

#[test]
fn a_result_says_that_its_check_was_not_isolated() {
    let stub = stub("", "#!/bin/sh\nexit 0\n");
    stub.run("run --run-id r").exits(0);
    let told = "the check `checks/own` is not isolated: `isolation` is set to \"agent\"";
    assert_eq!(grade(&stub)["not_enforced"][0], told);
    let session = fs::read_to_string(stub.run_folder("r").join("work/tidy/c0/codex/1/session.md")).expect("a log");
    assert!(session.contains("- not enforced: the check"), "{session}");
    // Where isolation is required, a check outside of it is an error like an agent.
    let required = ran(stub.command(&["grade", "r"]).env("SKILL_EVALS_REQUIRE_ISOLATION", "1"));
    let grade = grade(&stub);
    assert_eq!(grade["verdict"], "error", "{}", required.stdout);
    assert!(answers(&grade)[0].3.contains("isolation is required"), "{grade}");
}

#[test]
fn a_file_that_is_not_stored_is_not_taken_for_one_that_is_missing() {
    let stub = stub("head -c 2000000 /dev/zero > large.bin", "#!/bin/sh\n[ -e large.bin ]\n");
    let (verdict, _, found) = judged(&stub);
    assert_eq!(
        (verdict.as_str(), found.as_str()),
        ("error", "the stored workspace lacks `large.bin` (2000000 bytes): too large to be kept")
    );
    stub.body("head -c 200000 /dev/zero > large.bin");
    stub.run("run --run-id s --record").exits(0);
    assert_eq!(stub.run(&["run", "--replay"]).code, 0, "a recording has the whole workspace");
}

#[test]
fn a_changed_script_is_another_question() {
    let stub = stub("", "#!/bin/sh\nexit 0\n");
    let inputs = || {
        fs::remove_dir_all(stub.run_folder("r")).ok();
        stub.run("run --run-id r").exits(0);
        stub.progress("r")[0]["inputs"].clone()
    };
    let (first, again) = (inputs(), inputs());
    assert_eq!(first, again);
    stub.write("checks/helper.sh", "echo\n");
    let helped = inputs();
    assert_ne!(first, helped, "a script may read all of a directory named checks");
    own(&stub, "#!/bin/sh\nexit 0 # changed\n");
    assert_ne!(helped, inputs());
}

#[test]
fn a_check_that_can_never_fail_stops_its_case_before_an_agent_is_paid() {
    let stub = Stub::new(1, "");
    let text = "id,should_trigger,prompt,must_not_include,must_include\nc0,false,Prompt 0,$5.00,Done\n";
    stub.write("evals/skills/tidy/prompts.csv", text);
    stub.run("run").exits(2).prints("this check can never fail: no text matches");
    assert_eq!(stub.starts().len(), 0);
}
