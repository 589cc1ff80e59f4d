//! What is shown while trials run.

use std::process::Command;

use crate::support::fixture::Fixture;
use crate::support::harness::{clean, harness, scratch, with_stub_agent};

#[test]
fn the_end_says_that_a_model_was_scripted() {
    let sample = Fixture::copy_of_sample();
    let ran = harness(&sample, &["greeting"]).run();
    let recorded = Fixture::recordings().iter().filter(|path| path.starts_with("greeting/")).count();
    let said = format!(
        "skill-evals: {recorded} trials were replayed from recordings of a mock model; they say nothing about a real model. \
         SKILL_EVALS_LIVE=1 runs agents.\n"
    );
    assert_eq!(ran.stderr, said);
    assert_eq!(harness(&sample, &["greeting", "--format", "json"]).run().stderr, "", "not among JSON");
    assert_eq!(harness(&sample, &["greeting"]).env("NEXTEST", "1").run().stderr, "", "not under nextest");
}

/// A harness on a terminal: `script` makes one.
fn on_a_terminal(fixture: &Fixture, args: &str) -> String {
    let program = env!("CARGO_BIN_EXE_skill-evals");
    let mut command = clean(Command::new("script"));
    let line = format!("{program} harness {args}");
    command.args(["-qec", &line, "/dev/null"]).current_dir(fixture.root()).env("SKILL_EVALS_LIVE", "1");
    command.env("SKILL_EVALS_SCRATCH", scratch());
    let output = command.output().expect("script, of util-linux");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_terminal_shows_what_runs_and_is_clean_afterwards() {
    let fixture = with_stub_agent("one,true,Greet Ada\n", "echo '{\"type\":\"turn.started\"}'; sleep 3");
    let shown = on_a_terminal(&fixture, "greeting::one --color never");
    assert!(shown.contains("  greeting/one/codex  "), "{shown}");
    assert!(shown.contains("asked the model"), "{shown}");
    assert!(shown.contains("of 1 done, 1 running"), "{shown}");
    let drawn = shown.matches("of 1 done").count();
    assert_eq!(shown.matches("\x1b[2A\x1b[J").count(), drawn, "what is drawn is erased: {shown:?}");
    let (_, after) = shown.rsplit_once("\x1b[J").expect("it was erased");
    assert!(after.contains("test greeting::one::codex ... ok"), "{after}");
    assert!(!on_a_terminal(&fixture, "greeting::one --format json").contains('\x1b'), "nothing among JSON");
}
