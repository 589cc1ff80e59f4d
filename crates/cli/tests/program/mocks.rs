//! Commands that are answered from files in place of the real ones.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::support::fixture::Ran;
use crate::support::real::ignored;
use crate::support::stub::{Stub, ran};

/// The answers of `gh`, for all cases.
const GH: &str = "[[mocks.command.gh]]\nargs = '^pr view \\d+$'\nstdout_file = \"evals/mocks/pr.json\"\n\
                  [[mocks.command.gh]]\nargs = '^auth'\nstderr = \"You are not logged in.\\n\"\nexit_code = 4\n";

/// A stub whose agent runs `body`, and what it printed is in the file `report.txt`.
fn stub(settings: &str, body: &str) -> Stub {
    let stub = Stub::new(1, &format!("{{\n{body}\n}} > report.txt 2>&1"));
    stub.settings(settings);
    stub.write("evals/mocks/pr.json", "{\"title\": \"Tidy\"}\n");
    stub
}

/// A case `m` with these keys.
fn task(stub: &Stub, keys: &str) {
    let text = format!(
        r#"{{"prompt": "Look at the pull request.", "evalConfig": {{"expectedSkillName": "tidy", "shouldTrigger": false{keys}}}}}"#
    );
    stub.write("evals/tasks/m.json", &text);
}

fn run(stub: &Stub, case: &str) -> Ran {
    fs::remove_dir_all(stub.run_folder("r")).ok();
    stub.run(&["run", "--run-id", "r", "--case", case, "--mode", "codex"])
}

fn report(stub: &Stub, case: &str) -> String {
    let path = stub.run_folder("r").join(format!("work/tidy/{case}/codex/1/workspace/report.txt"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn meta(stub: &Stub, case: &str) -> Value {
    stub.json("r", &format!("work/tidy/{case}/codex/1/meta.json"))
}

/// The recorded calls: name, input, and whether there was an answer.
fn calls(meta: &Value) -> Vec<(String, String, bool)> {
    let calls = meta["mocks"]["calls"].as_array().expect("calls").iter();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    calls.map(|call| (text(&call["name"]), text(&call["input"]), call["answered"] == true)).collect()
}

/// The checks of kind `mock` in the grade: status and what was found.
fn checked(stub: &Stub, case: &str) -> Vec<(String, String)> {
    let grade = stub.json("r", &format!("work/tidy/{case}/codex/1/grade.json"));
    let checks = grade["checks"].as_array().expect("checks").iter().filter(|check| check["id"] == "mock");
    checks.map(|check| (check["status"].as_str().expect("a word").to_owned(), check["found"].to_string())).collect()
}

const CALLS: &str =
    "gh pr view 12; echo \"status $?\"; gh auth status; echo \"status $?\"; gh pr merge 'it is' 12; echo \"status $?\"";

#[test]
fn a_command_answers_by_its_arguments_and_its_calls_are_recorded() {
    let stub = stub(GH, CALLS);
    let ran = run(&stub, "tidy/c0");
    ran.exits(0);
    assert_eq!(
        report(&stub, "c0"),
        "{\"title\": \"Tidy\"}\nstatus 0\nYou are not logged in.\nstatus 4\n\
         gh: not available here: gh pr merge 'it is' 12\nstatus 1\n"
    );
    let call = |input: &str, answered| ("gh".to_owned(), input.to_owned(), answered);
    let expected = [call("pr view 12", true), call("auth status", true), call("pr merge 'it is' 12", false)];
    assert_eq!(calls(&meta(&stub, "c0")), expected);
    stub.run("show tidy/c0 --run r").prints("no answer ").prints("gh pr merge 'it is' 12");
}

#[test]
fn a_case_has_answers_of_its_own_which_come_first_and_checks_ask_what_was_called() {
    let stub = stub(GH, &format!("{CALLS}; tool --json"));
    let own = r#", "mocks": [{"command": "gh", "args": "^pr view 12$", "stdout": "its own", "exitCode": 3}, {"command": "tool"}],
        "checks": [{"mock": "gh", "matches": "^pr view"}, {"mock": "gh", "atLeast": 4}, {"mock": "*", "atMost": 4},
                   {"mock": "gh", "contains": "merge", "not": true}, {"mock": "tool"}]"#;
    task(&stub, own);
    let ran = run(&stub, "tidy/m");
    ran.exits(1);
    assert!(report(&stub, "m").starts_with("its ownstatus 3\nYou are not logged in."), "{}", report(&stub, "m"));
    let statuses: Vec<String> = checked(&stub, "m").into_iter().map(|(status, _)| status).collect();
    assert_eq!(statuses, ["pass", "fail", "pass", "fail", "pass"]);
    // Without answers, nothing could be known of calls.
    let checks = own.split_once("\"checks\"").expect("checks").1;
    task(&stub, &format!(", \"checks\"{checks}"));
    stub.settings("");
    run(&stub, "tidy/m").exits(2).prints("[unknown-mock]");
}

#[test]
fn what_is_in_no_call_cannot_spoil_one() {
    let big = "x".repeat(10 << 20);
    let body = "gh \"$(printf 'a\\377b')\" \"$(printf 'line\\nbreak')\" '' > /dev/null; gh big | wc -c; gh big | head -c 1; echo; \
                for i in 1 2 3 4 5 6 7 8; do gh \"$i\" > /dev/null & done; wait; \
                head -c 100000 /dev/zero | tr '\\0' y > long; gh \"$(cat long)\" > /dev/null; rm long";
    let stub = stub("[mocks.command.gh]\nstdout_file = 'evals/mocks/big.txt'\n", body);
    stub.write("evals/mocks/big.txt", &big);
    let ran = run(&stub, "tidy/c0");
    ran.exits(0);
    assert_eq!(report(&stub, "c0").replace(' ', ""), format!("{}\nx\n", big.len()));
    let inputs: Vec<String> = calls(&meta(&stub, "c0")).into_iter().map(|(_, input, _)| input).collect();
    assert_eq!(inputs[0], "'a\u{fffd}b' 'line\nbreak' ''");
    let mut numbers = inputs[3..11].to_vec();
    numbers.sort();
    assert_eq!(numbers.concat(), "12345678");
    assert!(inputs[11].starts_with("yyyy") && inputs[11].len() < 5000, "{}", inputs[11].len());
    assert_eq!(meta(&stub, "c0")["mocks"]["lost"], Value::Null);
}

#[test]
fn names_that_no_command_has_or_that_agents_need_are_refused_with_their_place() {
    for name in ["../x", "a/b", "", "-x", "bash", "sh", "claude", "codex", "skill-evals", "a b", "é"] {
        let stub = stub(&format!("[mocks.command.{name:?}]\nstdout = 'x'\n"), "true");
        let ran = run(&stub, "tidy/c0");
        assert_eq!((ran.code, stub.starts().len()), (2, 0), "{name}: {}{}", ran.stdout, ran.stderr);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains("evals/evals.toml:2:16") && said.contains(name), "{name}: {said}");
        stub.settings("");
        task(&stub, &format!(r#", "mocks": [{{"command": {name:?}}}]"#));
        let said = stub.run(&["lint", "--check-evals"]).stdout;
        let is_about_it =
            ["is not the name", "is a shell", "is the program", "command"].iter().any(|why| said.contains(why));
        assert!(said.contains("evals/tasks/m.json:1:") && is_about_it, "{name}: {said}");
    }
}

/// Before an agent starts, and in a dry run.
#[test]
fn a_mock_that_an_agent_needs_itself_or_does_not_get_starts_no_agent() {
    let starting = stub("[mocks.command.\"agent.sh\"]\nstdout = 'x'\n", "true");
    let server = stub("", "true");
    server.write("evals/mocks/shop/buy.md", "Bought.");
    let settings = fs::read_to_string(server.root().join("evals/evals.toml")).expect("settings");
    server.write("evals/evals.toml", &settings.replace("agents.codex", "agents.gemini"));
    let own = stub("", "true");
    own.write("evals/mocks/skilljack/buy.md", "Bought.");
    for (stub, mode, why, place) in [
        (&starting, "codex", "codex itself is started by `agent.sh`", "evals.toml:2"),
        (&server, "gemini", "mocks the MCP server `shop`, which Gemini CLI does not get", "prompts.csv:2"),
        (&own, "codex-mcp", "the MCP server of skills is called `skilljack` too", "prompts.csv:2"),
    ] {
        let dry = stub.run(&["run", "--dry-run", "--mode", mode]);
        let said = dry.stdout + &dry.stderr;
        assert!(dry.code == 2 && said.contains(why) && said.contains(place), "{mode}: {} {said}", dry.code);
        stub.run(&["run", "--run-id", "r", "--mode", mode]).exits(3).prints(why);
        assert_eq!(stub.starts().len(), 0, "{mode}");
    }
    own.run(&["run", "--mode", "codex"]).exits(0);
}

#[test]
fn a_check_of_calls_of_what_is_not_mocked_is_an_error() {
    let stub = stub(GH, "true");
    stub.write("evals/mocks/shop/buy.md", "Bought.");
    let known = ["gh", "g*", "*", "shop/buy", "shop/sell", "shop/*", "*/buy", "{gh,shop/buy}", "{shop,other}/buy"];
    for name in known.into_iter().chain(["hg", "other/buy", "shop", "gh/x", "{a,b}"]) {
        task(&stub, &format!(r#", "checks": [{{"mock": "{name}", "not": true}}]"#));
        let lint = stub.run(&["lint"]);
        let is_unknown = lint.stdout.contains("[unknown-mock]") && lint.stdout.contains("evals/tasks/m.json:1:");
        // One level for all commands.
        let dry = stub.run("run --dry-run --case tidy/m --mode codex");
        assert_eq!((dry.stdout.contains("[unknown-mock]"), dry.code == 0), (is_unknown, !is_unknown), "{}", dry.stdout);
        assert_eq!(
            (is_unknown, lint.code),
            if known.contains(&name) { (false, 0) } else { (true, 1) },
            "{name}: {}",
            lint.stdout
        );
    }
}

/// It is one file of this program, which the user starts every day.
#[test]
fn an_agent_outside_a_sandbox_cannot_change_the_users_program_by_a_mock() {
    let stub = stub(GH, "gh=$(command -v gh); chmod 600 \"$gh\"; true > \"$gh\"");
    let program = stub.scratch().join("installed");
    fs::copy(env!("CARGO_BIN_EXE_skill-evals"), &program).expect("a copy");
    let before = fs::metadata(&program).expect("a file");
    let mut command = stub.with_variables(Command::new(&program));
    ran(command.args(["run", "--run-id", "r"])).exits(0);
    let after = fs::metadata(&program).expect("a file");
    assert_eq!((after.permissions(), after.len()), (before.permissions(), before.len()));
}

#[test]
fn an_answer_that_cannot_be_given_is_an_error_with_its_place() {
    let stub = stub("", "true");
    stub.write("evals/outputs/pr.txt", "x");
    for (answer, expected) in [
        (r#"{"command": "gh", "args": "("}"#, "bad-regex"),
        (r#"{"command": "gh", "args": "(?=x)"}"#, "is not supported (patterns of mocks have no look-around"),
        (r#"{"command": "gh", "args": "\\d{900000}"}"#, "bad-regex"),
        (r#"{"command": "gh", "exitCode": 256}"#, "exitCode"),
        (r#"{"command": "gh", "stdout": "a", "stdoutFile": "evals/mocks/pr.json"}"#, "both say the output"),
        (r#"{"command": "gh", "stdoutFile": "../secret"}"#, "bad-path"),
        (r#"{"command": "gh", "stdoutFile": "//etc/passwd"}"#, "bad-path"),
        (r#"{"command": "gh", "stdoutFile": "/etc/passwd"}"#, "the output `etc/passwd` of `gh` does not exist"),
        (r#"{"command": "gh", "stdoutFile": "evals/mocks/none"}"#, "does not exist"),
        (r#"{"command": "gh", "stdoutFile": "evals/mocks"}"#, "is not a file"),
        (r#"{"command": "gh", "stdoutFile": "evals/outputs/link"}"#, "symbolic link"),
        (r#"{"command": "gh", "std": "x"}"#, "unknown key"),
        (r#"{"args": "x"}"#, "command"),
        ("7", "an object"),
    ] {
        task(&stub, &format!(r#", "mocks": [{answer}]"#));
        std::os::unix::fs::symlink("/etc/passwd", stub.root().join("evals/outputs/link")).ok();
        stub.run("lint --check-evals").prints("evals/tasks/m.json:1:").prints(expected);
    }
    for (answer, expected) in [
        ("args = '('", "evals/evals.toml:3:8"),
        ("exit_code = -1", "evals/evals.toml:3:13"),
        ("stdout_file = '../x'", "evals/evals.toml:3:15"),
        ("out = 'x'", "evals/evals.toml:3:1"),
        ("[mocks.command]\nghx = []", "expected an answer, or a list with answers"),
        ("stdout = 'a'\nstdout_file = 'evals/mocks/pr.json'", "evals/evals.toml:4:15"),
    ] {
        stub.settings(&format!("[mocks.command.gh]\n{answer}\n"));
        let ran = run(&stub, "tidy/c0");
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(ran.code == 2 && said.contains(expected), "{answer}: {said}");
    }
    stub.settings("[mocks.command.gh]\nstdout_file = 'evals/outputs/link'\n");
    let ran = run(&stub, "tidy/c0");
    ran.exits(2).warns("symbolic link");
    stub.run("lint").exits(1).prints("evals/evals.toml:2:");
}

#[test]
fn what_a_setup_writes_for_login_shells_stays_and_keeps_no_mock_from_them() {
    for file in [".bash_profile", ".bash_login", ".profile"] {
        let stub = stub(GH, "bash -lc 'gh auth status; echo \"$? $FROM_SETUP\"'");
        task(&stub, &format!(r#", "setup": ["printf 'export FROM_SETUP=yes' > ~/{file}"]"#));
        let ran = run(&stub, "tidy/m");
        ran.exits(0);
        assert_eq!(report(&stub, "m"), "You are not logged in.\n4 yes\n", "{file}");
    }
}

#[test]
fn another_answer_makes_a_recording_stale() {
    let stub = stub(GH, CALLS);
    stub.run("run --record").exits(0);
    let replayed = || stub.run(&["run", "--replay"]);
    assert_eq!(replayed().code, 0, "{}", replayed().stdout);
    stub.write("evals/mocks/pr.json", "{}");
    let ran = replayed();
    assert!(ran.code != 0 && ran.stdout.contains("stale") && ran.stdout.contains("mocks"), "{}", ran.stdout);
    stub.write("evals/mocks/pr.json", "{\"title\": \"Tidy\"}\n");
    assert_eq!(replayed().code, 0);
    stub.settings(&GH.replace("exit_code = 4", "exit_code = 5"));
    assert!(replayed().stdout.contains("stale"));
}

#[test]
fn an_answer_reads_its_input_writes_files_and_follows_on_another() {
    let body = "printf 'kind: Pod' | gh apply -f -; printf 'kind: Job' | gh apply -f -; echo \"status $?\"; \
                gh get -o 'my dir/my file' x; cat 'my dir/my file'; for i in 1 2 3; do gh state; done; \
                printf '1\\n2\\n' | while read i; do gh state \"$i\" > /dev/null; echo \"line $i\"; done";
    let stub = stub("", body);
    task(
        &stub,
        r#", "mocks": [{"command": "gh", "args": "^apply", "stdin": "Pod", "stdout": "applied\n"},
            {"command": "gh", "args": "-o ('[^']*'|\\S+)", "files": {"$1": "/evals/mocks/pr.json"}},
            {"command": "gh", "args": "^state", "stdout": "pending\n", "times": 2, "delayMs": 1},
            {"command": "gh", "args": "^state", "stdout": "merged\n"}],
          "checks": [{"mock": "gh", "stdin": true, "matches": "Pod"}, {"mock": "*", "unanswered": true, "not": true}]"#,
    );
    stub.run("lint --check-evals").exits(0);
    let ran = run(&stub, "tidy/m");
    ran.exits(1)
        .prints("no mock answered `gh apply -f -`")
        .prints("1 trial made calls that no mock answered: `gh apply -f -`");
    assert_eq!(
        report(&stub, "m"),
        "applied\ngh: not available here: gh apply -f -\nstatus 1\n{\"title\": \"Tidy\"}\n\
         pending\npending\nmerged\nline 1\nline 2\n"
    );
    let statuses: Vec<String> = checked(&stub, "m").into_iter().map(|(status, _)| status).collect();
    assert_eq!(statuses, ["pass", "fail"]);
}

#[test]
fn lint_proposes_to_check_that_every_call_was_answered() {
    let stub = stub("", "true");
    task(&stub, r#", "mocks": [{"command": "gh", "args": "^pr"}]"#);
    let proposed = r#"{ "mock": "*", "unanswered": true, "not": true }"#;
    stub.run("lint").exits(0).prints("[unanswered-calls]").prints(proposed);
    for keys in [
        format!(r#", "mocks": [{{"command": "gh", "args": "^pr"}}], "checks": [{proposed}]"#),
        r#", "mocks": [{"command": "gh", "args": "^pr"}, {"command": "gh"}]"#.to_owned(),
    ] {
        task(&stub, &keys);
        let lint = stub.run("lint");
        assert!(!lint.stdout.contains("unanswered-calls"), "{}", lint.stdout);
    }
    task(&stub, r#", "mocks": [{"command": "gh", "passthrough": true, "stdout": "x"}]"#);
    stub.run("lint --check-evals").prints("the answer has no output of its own").prints("evals/tasks/m.json:1:");
}

/// Its program finds what is next to it, and gets its input also if an answer looked at that first.
#[test]
fn what_no_answer_fits_may_go_to_the_real_program_in_a_sandbox_and_outside() {
    let body = "git init -q .; git push; printf x | git hash-object --stdin; /usr/bin/git push; git status > /dev/null; echo \"status $?\"";
    let settings = "[[mocks.command.git]]\nargs = '^push'\nstdout = \"pushed\\n\"\n\
                    [[mocks.command.git]]\nargs = '^hash'\nstdin = 'y'\n[[mocks.command.git]]\npassthrough = true\n";
    let stub = stub(settings, body);
    for isolation in ["agent", "bwrap"] {
        fs::remove_dir_all(stub.run_folder("r")).ok();
        ran(stub.command(&["run", "--run-id", "r"]).env("SKILL_EVALS_ISOLATION", isolation)).exits(0);
        let (report, meta) = (report(&stub, "c0"), meta(&stub, "c0"));
        let is_covered = meta["isolation"] == "bwrap" || !report.contains("pushed\nstatus");
        assert!(report.starts_with("pushed\nc1b0730e0133447badcfd47fd144e254807b06e1\n"), "{isolation}: {report}");
        assert!(report.ends_with("status 0\n") && is_covered, "{isolation}: {report}");
        let passed: Vec<bool> = (0..3).map(|at| meta["mocks"]["calls"][at]["passed_through"] == true).collect();
        assert_eq!(passed, [true, false, true], "{isolation}: {meta}");
    }
}

/// The secret has the form of a key, and is in the arguments and in what the program prints.
#[test]
fn what_real_programs_answered_is_written_and_answers_the_same_trial_without_them() {
    let key = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
    let body = format!(
        "factor 12 7; factor {key}; echo \"status $?\"; printf x | sha256sum -; printf y | sha256sum -; \
         for i in 1 2 3; do stat -c %s f; printf 1 >> f; done; factor 12 7 | head -c 3"
    );
    let stub = stub("", &body);
    let programs = ["--record-mocks", "factor,sha256sum", "--record-mocks", "stat"];
    task(&stub, r#", "files": [{"path": "f", "content": "1"}], "mocks": [{"command": "stat", "args": "^$"}]"#);
    let arguments = [&["run", "--run-id", "r", "--case", "tidy/m", "--mode", "codex"], &programs[..]].concat();
    let file = "evals/mocks/recorded/r/tidy.m.codex.1.json";
    stub.run(&arguments).exits(0).warns(format!("7 recorded answers in {file}")).warns("--case tidy/m");
    let first = report(&stub, "m");
    assert!(first.contains("12: 2 2 3") && first.contains("status 1"), "{first}");
    let text = fs::read_to_string(stub.root().join(file)).expect("the answers");
    assert!(!text.contains(key) && text.contains("[masked]"), "{text}");
    let folder = fs::read_dir(stub.root().join("evals/mocks/recorded/r")).expect("a directory");
    let outputs: Vec<_> = folder
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|end| end == "txt"))
        .collect();
    assert_eq!(outputs.len(), 1, "{outputs:?}");
    fs::write(
        &outputs[0],
        fs::read_to_string(&outputs[0]).expect("an output").replace("12: 2 2 3", "12: a person wrote"),
    )
    .expect("written");

    task(
        &stub,
        &format!(
            r#", "files": [{{"path": "f", "content": "1"}}], "mocks": {text}, "checks": [{{"mock": "*", "unanswered": true, "not": true}}]"#
        ),
    );
    stub.run("lint --check-evals").exits(0);
    run(&stub, "tidy/m").exits(0);
    assert_eq!(report(&stub, "m").replace("a person wrote", "2 2 3"), first.replace(key, "[masked]"));
    let calls = &meta(&stub, "m")["mocks"]["calls"];
    let passed = calls.as_array().expect("calls").iter().filter(|call| call["passed_through"] == true);
    assert_eq!(passed.count(), 0, "{calls}");

    // What is there stays, and nothing is paid for what could not be written.
    fs::remove_dir_all(stub.run_folder("r")).expect("removed");
    let starts = stub.starts().len();
    stub.run(&arguments).exits(2).warns("evals/mocks/recorded/r is there").warns("--run-id");
    assert_eq!((stub.starts().len(), fs::read_to_string(stub.root().join(file)).expect("the answers")), (starts, text));
}

#[test]
fn a_program_that_cannot_be_recorded_is_refused_before_an_agent_starts() {
    let stub = stub("", "true");
    for (name, why) in [
        ("no-such-program", "no program `no-such-program` on the PATH"),
        ("sh", "is a shell"),
        ("a/b", "is not the name"),
    ] {
        stub.run(&["run", "--record-mocks", name]).exits(2).warns(why);
    }
    stub.run("run --record-mocks factor --record").exits(2);
    assert_eq!(stub.starts().len(), 0);
}

/// The ways in which a command is called, each with its number as the argument.
const WAYS: [&str; 18] = [
    "/usr/bin/factor NUM",
    "env -i factor NUM",
    "PATH=/usr/bin:/bin; export PATH; factor NUM",
    "command -p factor NUM",
    "bash -lc 'factor NUM'",
    "echo NUM | xargs factor",
    "timeout 9 nohup factor NUM",
    "find . -maxdepth 0 -exec factor NUM ';'",
    "awk 'BEGIN { system(\"factor NUM\") }'",
    "cp \"$(command -v factor)\" copy; ./copy NUM",
    "cp /usr/bin/factor copy2; ./copy2 NUM",
    "ln -s \"$(command -v factor)\" link; ./link NUM",
    "ln -s /usr/bin/factor link2; ./link2 NUM",
    "bash -c 'exec -a other factor NUM'",
    "bash -c 'exec -a other /usr/bin/factor NUM'",
    "factor NUM & wait",
    "printf 'factor NUM' | sh",
    "[ ! -e /lib64/ld-linux-x86-64.so.2 ] && factor NUM || /lib64/ld-linux-x86-64.so.2 /usr/bin/factor NUM",
];

#[test]
fn in_a_sandbox_a_command_is_answered_however_it_is_called() {
    let numbered = WAYS
        .iter()
        .enumerate()
        .map(|(number, way)| format!("( {} )\n", way.replace("NUM", &(number + 1000).to_string())));
    let stub = stub("[mocks.command.factor]\nstdout = \"MOCK\\n\"\n", &numbered.collect::<String>());
    ran(stub.command(&["run", "--run-id", "r"]).env("SKILL_EVALS_ISOLATION", "bwrap")).exits(0);
    if meta(&stub, "c0")["isolation"] != "bwrap" {
        eprintln!("ignored: bubblewrap does not work here");
        return;
    }
    let mut inputs: Vec<String> = calls(&meta(&stub, "c0")).into_iter().map(|(_, input, _)| input).collect();
    inputs.sort();
    let expected: Vec<String> = (0..WAYS.len()).map(|number| (number + 1000).to_string()).collect();
    assert_eq!(inputs, expected, "{}", report(&stub, "c0"));
    assert_eq!(report(&stub, "c0").matches("MOCK").count(), WAYS.len(), "{}", report(&stub, "c0"));
}

/// With the room of a sandbox: nobody in it can read the record, or take a call out of it.
#[test]
fn in_a_sandbox_no_call_leaves_the_record() {
    let attacks = "log=$(dirname \"$(dirname \"$(command -v gh)\")\")/share/log; ls -d \"$log\"; gh auth status; \
                   timeout 2 cat \"$log\"; rm -f \"$log\"; chmod 600 \"$log\"; mv \"$log\" \"$log.old\"; printf 'no line break' > \"$log\"; \
                   ln -sf /bin/true \"$(command -v gh)\"; timeout 2 head -c 1 /proc/self/fd/3 3> \"$log\"; gh pr view 1; \
                   env | grep -ci 'mock\\|skill.evals'; sh -lc 'gh pr view 2'; \
                   unshare -Urm sh -c 'mount -t tmpfs none \"$(dirname \"$(command -v gh)\")/../share\" && gh pr view 3'; echo \"status $?\"";
    let stub = stub(GH, attacks);
    let mut command = stub.command(&["run", "--run-id", "r"]);
    command.env("SKILL_EVALS_ISOLATION", "bwrap");
    let ran = ran(&mut command);
    if meta(&stub, "c0")["isolation"] != "bwrap" {
        return ignored("bubblewrap does not work here");
    }
    ran.exits(0);
    let report = report(&stub, "c0");
    let inputs: Vec<String> = calls(&meta(&stub, "c0")).into_iter().map(|(_, input, _)| input).collect();
    assert_eq!(inputs, ["auth status", "pr view 1", "pr view 2"], "{report}");
    assert_eq!(meta(&stub, "c0")["mocks"]["lost"], 1, "what is no call is counted: {report}");
    assert!(report.contains("\n0\n"), "{report}");
    for word in ["skill-evals", "skill_evals", "mock", "trial", "eval", "grade", "case"] {
        assert!(!report.to_lowercase().contains(word), "{word}: {report}");
    }
}
