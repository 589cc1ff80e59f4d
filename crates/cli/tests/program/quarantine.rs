//! A case in quarantine runs and is shown, and fails nothing until its last day.

use crate::compare::{BY_SKILL, break_skill, git, repository};
use crate::support::harness::harness;
use crate::support::stub::Stub;

/// Two cases: one that the agent fails, with this quarantine.
fn with(stub: &Stub, quarantine: &str) {
    let rows = format!("sure,false,Prompt,Fine,\nshaky,false,Prompt,AHOY,\"{quarantine}\"\n");
    stub.write("evals/skills/tidy/prompts.csv", &format!("id,should_trigger,prompt,must_include,quarantine\n{rows}"));
}

const LASTING: &str = "until 2999-01-31, issue 12";
const OVER: &str = "until 2026-01-31, issue 12";

#[test]
fn a_case_in_quarantine_runs_is_shown_and_fails_nothing() {
    let stub = repository(1, BY_SKILL);
    with(&stub, "");
    stub.run("run").exits(1);
    with(&stub, LASTING);
    let ran = stub.run("run --run-id r --junit junit.xml");
    ran.exits(0).prints("1 of 2 cases passed, 1 in quarantine\n");
    ran.prints("tidy/shaky/codex is in quarantine until 2999-01-31, issue 12, so it fails nothing: 0/1 passed\n");
    let junit = std::fs::read_to_string(stub.root().join("junit.xml")).expect("a file");
    assert!(junit.contains("failures=\"0\" errors=\"0\""), "{junit}");
    assert!(junit.contains("<skipped message=\"in quarantine until 2999-01-31, issue 12: must-include: "), "{junit}");
    let summary = stub.json("r", "summary.json");
    let case = summary["cases"].as_array().into_iter().flatten().find(|case| case["case"] == "shaky").expect("a case");
    assert_eq!((&case["verdict"], &case["quarantine"]), (&"fail".into(), &LASTING.into()), "it is measured");
    stub.run("summary r --markdown").prints("# passed: 1 of 2 cases passed, 1 in quarantine");
}

#[test]
fn after_its_last_day_the_case_fails_again_and_lint_says_so() {
    let stub = repository(1, BY_SKILL);
    with(&stub, OVER);
    stub.run("run").exits(1);
    let lint = stub.run("lint");
    assert!(
        lint.stdout
            .contains("warning[quarantine-over]: the quarantine of tidy/shaky is over (until 2026-01-31, issue 12)"),
        "{}",
        lint.stdout
    );
    assert!(lint.stdout.contains("prompts.csv:3:25"), "the place: {}", lint.stdout);
    with(&stub, LASTING);
    assert!(!stub.run("lint").stdout.contains("quarantine"));
    with(&stub, "until 31 January");
    stub.run("lint").exits(1).prints("expected `until` with a date, and why: `until 2027-01-31, issue 12`");
}

#[test]
fn as_a_test_it_is_ignored_with_what_it_did() {
    let stub = repository(1, BY_SKILL);
    stub.run("run --record").exits(0);
    let failing =
        |more: &str| format!("id,should_trigger,prompt,must_include,quarantine\nc0,false,Prompt 0,AHOY,{more}\n");
    stub.write("evals/skills/tidy/prompts.csv", &failing(""));
    assert_eq!(harness(&stub.fixture, &["c0"]).run().code, 101);
    stub.write("evals/skills/tidy/prompts.csv", &failing(&format!("\"{LASTING}\"")));
    let ran = harness(&stub.fixture, &["c0"]).run();
    ran.exits(0).prints("ignored (in quarantine until 2999-01-31, issue 12: 0 of 1 trials passed)");
    let said = format!("{}{}", ran.stdout, ran.stderr);
    assert!(said.contains("must-include") && !said.contains("[31m"), "{said}");
}

#[test]
fn a_gate_replays_a_case_in_quarantine_and_compares_it_with_nothing() {
    let stub = repository(1, BY_SKILL);
    git(&stub, &["checkout", "--quiet", "."]);
    with(&stub, LASTING);
    stub.settings("[lint]\nallow = [{ rule = \"no-positive\", reason = \"the agent activates nothing\" }]\n");
    git(&stub, &["add", "--all"]);
    git(&stub, &["commit", "--quiet", "--message", "cases"]);
    break_skill(&stub);
    let dry = stub.run("gate --dry-run");
    dry.prints("to compare: tidy/sure\n");
    let gate = stub.run("gate");
    gate.exits(1).prints("tidy/shaky is in quarantine until 2999-01-31, issue 12, so it is not compared\n");
    assert!(!gate.stdout.contains("shaky 1/"), "{}", gate.stdout);
    let compare = stub.run("compare main");
    compare.exits(1).prints("tidy/shaky is left out: in quarantine until 2999-01-31, issue 12\n");
    stub.run("run --run-id a").exits(1);
    stub.run("run --run-id b").exits(1);
    stub.run("compare a b").prints("tidy/shaky is left out: in quarantine until 2999-01-31, issue 12\n");
}
