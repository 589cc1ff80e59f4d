//! Agents started by the harness: run directories, several processes at once, signals.

use std::fs;
use std::process::{Child, Stdio};

use crate::support::fixture::Fixture;
use crate::support::harness::{Harness, harness, run_folders, scratch, with_stub_agent};
use crate::support::live::{processes_with, wait_until};
use crate::support::stub::{REFUSED, on_a_small_disk};

fn live(fixture: &Fixture, args: &[&str]) -> Harness {
    harness(fixture, args).env("SKILL_EVALS_LIVE", "1").env("SKILL_EVALS_SCRATCH", &scratch())
}

fn start(mut harness: Harness) -> Child {
    harness.command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the harness starts")
}

#[test]
fn agents_run_where_asked_and_one_folder_keeps_the_run() {
    let fixture = with_stub_agent("one,true,Greet Ada\ntwo,false,Rest\n", "");
    let ran = live(&fixture, &[]).run();
    ran.exits(101).prints("test greeting::one::codex ... ok").prints("test greeting::two::codex ... FAILED");
    ran.prints("failed      not-triggered");
    let [folder] = run_folders(fixture.root()).try_into().expect("one directory");
    assert!(folder.join("work/greeting/one/codex/1/grade.json").is_file());
    assert!(!ran.stderr.contains("SKILL_EVALS_LIVE"), "{}", ran.stderr);
}

#[test]
fn ten_processes_at_once_do_not_disturb_each_other() {
    let fixture = with_stub_agent("one,true,Greet Ada\nfour,true,Greet Eve\n", "");
    let children: Vec<Child> = (0..10).map(|_| start(live(&fixture, &["::one::", "::four::"]))).collect();
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("2 passed; 0 failed"), "{text}\n{}", String::from_utf8_lossy(&output.stderr));
    }
    let folders = run_folders(fixture.root());
    assert_eq!(folders.len(), 10, "each keeps a run of its own: {folders:?}");
    for folder in folders {
        for case in ["one", "four"] {
            assert!(folder.join("work/greeting").join(case).join("codex/1/grade.json").is_file(), "{folder:?} {case}");
        }
        assert!(folder.join("skills_snapshot/greeting/SKILL.md").is_file(), "{folder:?}");
    }
}

#[test]
fn processes_of_one_nextest_run_share_its_folder() {
    let fixture = with_stub_agent("one,true,Greet Ada\nfour,true,Greet Eve\n", "");
    let part = |case: &str, run: &str| {
        let name = format!("greeting::{case}::codex");
        let one = live(&fixture, &["--exact", &name, "--nocapture"]).env("NEXTEST", "1");
        start(one.env("NEXTEST_RUN_ID", run))
    };
    let key = "3f1c2a77-9d45-4c7e-8f00-000000000001";
    let children = [part("one", key), part("four", key), part("one", "another-0000-0002")];
    for child in children {
        let output = child.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "nextest shows progress of its own");
    }
    let folders = run_folders(fixture.root());
    assert_eq!(folders.len(), 2, "{folders:?}");
    let shared = folders.iter().find(|folder| folder.to_string_lossy().ends_with("-3f1c2a779d45")).expect("the shared");
    let kept = |case: &str| shared.join("work/greeting").join(case).join("codex/1/grade.json").is_file();
    assert!(kept("one") && kept("four"));
    let skills: Vec<_> = fs::read_dir(shared.join("skills_snapshot")).expect("a snapshot").flatten().collect();
    assert_eq!(skills.len(), 1);
    let left_over = fs::read_dir(shared)
        .expect("the run")
        .flatten()
        .any(|entry| entry.file_name().to_string_lossy().starts_with(".new-"));
    assert!(!left_over, "half a snapshot is left");
}

#[test]
fn the_harness_says_for_what_a_trial_waits_and_for_how_long() {
    let once = format!("if mkdir \"$0.refused\" 2> /dev/null; then {REFUSED} fi");
    let fixture = with_stub_agent("one,true,Greet Ada\n", &once);
    let run = || {
        let harness = live(&fixture, &["greeting::one"]).env("SKILL_EVALS_RETRY_WAIT_S", "0.1");
        harness.env("SKILL_EVALS_RETRIES", "2").run()
    };
    let ran = run();
    ran.exits(0);
    let said = ran.stderr.lines().find(|line| line.starts_with("greeting/one/codex: ")).unwrap_or_default();
    assert!(said.contains("refused by the provider (attempt 1 of 3): "), "{}", ran.stderr);
    assert!(said.contains("429 Too Many Requests; trying again in 0 s, waiting at most "), "{said}");
    assert_eq!(run().stderr, "", "nobody waits");
}

#[test]
fn a_full_disk_stops_the_harness_before_more_is_paid() {
    let rows: Vec<String> = (0..12).map(|case| format!("c{case},true,Greet Ada")).collect();
    let starts = r#"echo x >> "$(dirname "$0")/starts"; head -c 60000 /dev/zero | tr '\0' x >&2"#;
    let fixture = with_stub_agent(&(rows.join("\n") + "\n"), starts);
    let script = r#"fill; "$0" harness greeting --test-threads 2 > out 2> err; echo $? > code"#;
    if !on_a_small_disk(&live(&fixture, &[]).command, script) {
        return;
    }
    let text = |name: &str| fs::read_to_string(fixture.root().join(name)).expect("a file");
    let (out, err) = (text("out"), text("err"));
    assert_eq!(text("code"), "101\n", "{out}{err}");
    assert!((2..=7).contains(&text("starts").lines().count()), "{out}{err}");
    assert!(out.contains("No space left") && out.contains("an earlier result of the run could not be stored"), "{out}");
    assert!(err.contains("the run stopped: greeting/c"), "{err}");
}

#[test]
fn a_process_that_is_asked_to_end_takes_its_agents_along() {
    let word = format!("agent-to-end-{}", std::process::id());
    // The agent, and a program of its own in the background.
    let first = format!("export AGENT_WORD={word}; sleep 300 & sleep 301");
    let fixture = with_stub_agent("one,true,Greet Ada\n", &first);
    let child = start(live(&fixture, &["greeting::one"]));
    wait_until("the agent", || processes_with(&word).len() >= 2);
    nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(i32::try_from(child.id()).expect("a process id")),
        nix::sys::signal::Signal::SIGTERM,
    )
    .expect("a signal can be sent");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!(processes_with(&word), [""; 0]);
    assert!(String::from_utf8_lossy(&output.stdout).contains("not run: the run was interrupted"));
}
