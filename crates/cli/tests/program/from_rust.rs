//! What a test of another crate asks has the answer that the program gives.

use std::process::Command;

use crate::compare::break_skill;
use crate::gate::{edit, recorded};
use crate::support::examples::example;
use crate::support::stub::ran;

#[test]
fn a_gate_and_a_comparison_from_rust_answer_as_the_program_does() {
    let stub = recorded(3);
    let ask = |name: &str| {
        let mut asking = Command::new(example(name));
        asking.arg("main").current_dir(stub.root());
        ran(&mut stub.with_variables(asking))
    };
    edit(&stub, "Be brief.");
    let harmless = ask("gate");
    harmless.exits(0).prints("no harm seen: ").prints("\ngate: passed");
    break_skill(&stub);
    let gate = ask("gate");
    gate.exits(101).prints("\ngate: failed");
    let compared = ask("compare");
    assert_eq!(compared.code, 0, "it was measured: {}{}", compared.stdout, compared.stderr);
    compared.prints("broke");
    stub.run("compare main").prints("broke");
    std::fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), "id,should_trigger\n").expect("cases");
    let wrong = ask("compare");
    assert_ne!(wrong.code, 0);
    assert!(wrong.stderr.contains("prompt"), "what is wrong, and where: {}", wrong.stderr);
}

#[test]
fn a_run_and_a_replay_from_rust_answer_as_the_program_does() {
    let stub = recorded(3);
    let ask = |how: &str| {
        let mut asking = Command::new(example("run"));
        asking.arg(how).current_dir(stub.root());
        ran(&mut stub.with_variables(asking))
    };
    let closing = |text: &str| text.lines().find(|line| line.contains(" passed")).map(str::to_owned).expect("a result");
    for (how, program) in [("replay", &["run", "--replay"][..]), ("live", &["run"])] {
        let asked = ask(how);
        asked.exits(0);
        let ran = stub.run(program);
        assert!(closing(&ran.stdout).starts_with(&closing(&asked.stdout)), "{}\n{}", ran.stdout, asked.stdout);
    }
    break_skill(&stub);
    let replayed = ask("replay");
    assert_eq!(replayed.code, 101, "stale: {}{}", replayed.stdout, replayed.stderr);
    let live = ask("live");
    live.exits(101).prints(" failed");
}
