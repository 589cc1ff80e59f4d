//! Harnesses with checks of their own, as other programs find, build, ask and end them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::compare::git;
use crate::gate::recorded;
use crate::support::examples::example;
use crate::support::harness::clean;
use crate::support::live::wait_until;
use crate::support::repository;
use crate::support::stub::{Stub, ran};

/// What cargo prints of a test that it built.
fn artifact(manifest: &Path, program: &Path) -> Value {
    let target = json!({ "name": "skill_evals", "kind": ["test"] });
    json!({ "reason": "compiler-artifact", "target": target, "manifest_path": manifest, "executable": program })
}

#[test]
fn of_several_crates_with_a_test_of_this_name_the_one_in_the_named_directory_is_asked_or_none() {
    let stub = Stub::new(1, "");
    stub.run("run --record --run-id r").exits(0);
    let root = stub.root().to_path_buf();
    let mut printed = vec!["#!/bin/sh".to_owned()];
    for name in ["one", "two"] {
        let greeting = json!({ "own_checks": [name], "root": root });
        let check =
            json!({ "checks": [{ "id": name, "goal": "outcome", "status": "pass", "expected": "", "found": "" }] });
        let text = format!("#!/bin/sh\necho '{greeting}'\nread -r _\necho '{check}'\n");
        stub.write(&format!("{name}/harness"), &text);
        stub.write(&format!("{name}/Cargo.toml"), "[package]\n");
        let artifact = artifact(&root.join(name).join("Cargo.toml"), &root.join(name).join("harness"));
        printed.push(format!("echo '{artifact}'\n"));
    }
    stub.write("programs/cargo", &printed.join("\n"));
    let path = format!("{}:{}", root.join("programs").display(), std::env::var("PATH").unwrap_or_default());
    let replayed = |harness: &str| {
        stub.settings(&format!("harness = \"{harness}\""));
        ran(stub.command(&["run", "--replay", "-v"]).env("PATH", &path))
    };
    for name in ["one", "two"] {
        let own = replayed(&format!("{name}/skill_evals"));
        own.exits(0);
    }
    let refused = replayed("skill_evals");
    refused.exits(2);
    let said = format!(
        "several crates have a test of this name: {0}/one, {0}/two; name one as \"CRATE/skill_evals\"",
        root.display()
    );
    refused.warns(&said);
}

/// A harness whose setup is right, and that answers a question about a trial so.
fn answering(stub: &Stub, answer: &str) -> String {
    let greeting = json!({ "own_checks": ["slow"], "root": stub.root() });
    let text = format!("#!/bin/sh\necho '{greeting}'\nread -r _\n{answer}\n");
    stub.write("harness", &text);
    stub.root().join("harness").display().to_string()
}

#[test]
fn a_check_that_ends_its_process_or_never_ends_is_an_error_that_names_it() {
    let stub = Stub::new(1, "");
    stub.run("run --record --run-id r").exits(0);
    let replayed = |answer: &str| {
        let harness = answering(&stub, answer);
        ran(stub.command(&["run", "--replay", "-v"]).env("SKILL_EVALS_HARNESS", harness))
    };
    let ended = replayed("echo '{\"checking\": \"slow\"}'; exit 0");
    ended.exits(2).prints("the custom check `slow` has no result: its process failed: it ended");
    stub.write("evals/skills/tidy/prompts.csv", "id,should_trigger,prompt,timeout_s\nc0,false,Prompt 0,1\n");
    let pid = stub.root().join("pid");
    let late = replayed(&format!("echo '{{\"checking\": \"slow\"}}'; sleep 1000 & echo $! > {}; wait", pid.display()));
    late.exits(2).prints("`slow` has no result: it did not end within 1 s, the timeout of the case");
    let pid = fs::read_to_string(pid).expect("a process");
    // Nobody may have asked for the status of what has ended.
    let command = || fs::read(Path::new("/proc").join(pid.trim()).join("cmdline")).unwrap_or_default();
    wait_until("the end of what the check started", || command().is_empty());
}

#[test]
fn what_a_check_prints_is_shown_on_standard_error_up_to_a_limit() {
    let stub = Stub::new(1, "");
    stub.run("run --record --run-id r").exits(0);
    let harness = answering(&stub, "yes | head -c 5000000 >&2; echo '{\"checks\": []}'");
    let flood = ran(stub.command(&["run", "--replay"]).env("SKILL_EVALS_HARNESS", harness));
    flood.exits(0).warns("y\ny\n").warns("... it printed more");
    assert!(flood.stderr.len() < 100_000 && !flood.stdout.contains("y\ny\n"), "{}", flood.stderr.len());
}

#[test]
fn a_problem_of_the_setup_of_a_harness_keeps_every_program_from_grading() {
    let stub = Stub::new(1, "");
    let problem = "the check `one` is about the skill `tdy`, which is not here";
    let greeting = json!({ "own_checks": ["one"], "root": stub.root(), "problems": [problem] });
    stub.write("harness", &format!("#!/bin/sh\necho '{greeting}'\nread -r _\n"));
    for args in [&["run"][..], &["run", "--replay"]] {
        let refused = ran(stub.command(args).env("SKILL_EVALS_HARNESS", stub.root().join("harness")));
        assert_eq!((refused.code, stub.starts().len()), (2, 0), "{args:?}: {}", refused.stdout);
        refused.warns(problem);
    }
}

#[test]
fn a_gate_asks_the_harness_about_recordings_too() {
    let stub = recorded(1);
    git(&stub, &["checkout", "--quiet", "-b", "feature"]);
    let check = |status: &str| {
        let check = json!({ "id": "slow", "goal": "outcome", "status": status, "expected": "a", "found": "b" });
        let harness = answering(&stub, &format!("echo '{}'", json!({ "checks": [check] })));
        ran(stub.command(&["gate", "main", "--free"]).env("SKILL_EVALS_HARNESS", harness))
    };
    check("pass").exits(0).prints("recordings: 1 passed, 0 failed");
    check("fail").exits(1).prints("recordings: 0 passed, 1 failed");
}

#[test]
fn a_harness_started_without_cargo_is_for_its_own_crate_or_for_none() {
    let program = example("custom_checks");
    let started = |directory: &Path, root: Option<&str>| {
        let mut command = clean(Command::new(&program));
        command.args(["--list"]).current_dir(directory);
        command.envs(root.map(|root| ("SKILL_EVALS_ROOT", root)));
        ran(&mut command)
    };
    let stub = Stub::new(1, "");
    let elsewhere = started(stub.root(), None);
    assert_eq!((elsewhere.code, elsewhere.stdout.as_str()), (101, ""), "{}", elsewhere.stderr);
    let said = "the crate of this harness is not known: CARGO_MANIFEST_DIR is not set, and examples/custom_checks.rs is not here";
    elsewhere.warns(said);
    for directory in ["", "evals/skills"] {
        let own = started(&repository().join(directory), None);
        own.prints("greeting::explicit::codex: test");
    }
    let nowhere = started(stub.root(), Some("nowhere"));
    nowhere.exits(101).warns("SKILL_EVALS_ROOT is nowhere, which is not a directory");
}

#[test]
fn a_harness_without_checks_is_fine_that_of_another_repository_is_an_error_and_lint_asks_none() {
    let stub = Stub::new(1, "");
    stub.settings("harness = \"skill_evals\"");
    let programs = stub.root().join("programs");
    fs::create_dir_all(&programs).expect("a directory");
    let script = |name: &str, text: String| {
        fs::write(programs.join(name), format!("#!/bin/sh\n{text}\n")).expect("a script");
        fs::set_permissions(programs.join(name), fs::Permissions::from_mode(0o755)).expect("permissions");
    };
    script("cargo", format!("echo '{}'", artifact(&stub.root().join("Cargo.toml"), &programs.join("harness"))));
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    let listed = |root: &std::path::Path, checks: &[&str]| {
        let greeting = json!({ "own_checks": checks, "root": root });
        script("harness", format!("echo '{greeting}'; cat > /dev/null"));
        ran(stub.command(&["run", "--replay"]).env("PATH", &path))
    };
    let lint = ran(stub.command(&["lint"]).env("PATH", &path));
    lint.prints("the checks of the harness `skill_evals` were not examined");
    let without = listed(stub.root(), &[]);
    assert_eq!(without.code, 3, "only a recording is missing: {}{}", without.stdout, without.stderr);
    for checks in [&[][..], &["one"]] {
        let other = listed(std::path::Path::new("/usr"), checks);
        other.exits(2).warns("is that of another repository, /usr");
    }
}
