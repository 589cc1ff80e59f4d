//! Nights: what runs with `--keep` measured, and what `history` says of them.

use std::fs;

use serde_json::Value;

use crate::gate::{edit, recorded};

#[test]
fn a_run_that_is_kept_is_a_night_and_one_night_shows_nothing() {
    let stub = recorded(2);
    let history = stub.run("history --markdown");
    history.exits(0);
    assert_eq!(history.stdout, "", "without nights there is nothing to say");
    stub.run("run --keep --trials 21 --jobs 8 --run-id n").exits(0);
    let lines = "not enough nights, since a base has 20 trials of a case: tidy in codex\n";
    stub.run("history").exits(0).prints(lines);
    let printed: Value = serde_json::from_str(&stub.run("history --json").stdout).expect("JSON");
    let night = &printed["series"][0]["nights"][0];
    assert_eq!((&night["passed"], &night["trials"]), (&42.into(), &42.into()), "{printed}");
    assert_eq!(stub.run("history --markdown").stdout, "");
    stub.run("history --html nights.html").exits(0);
    let page = fs::read_to_string(stub.root().join("nights.html")).expect("a page");
    assert!(page.contains("tidy in codex") && page.contains("42/42"), "{page}");
    // An edited skill has no earlier night.
    edit(&stub, "Be brief.");
    stub.run("run --keep --run-id m").exits(0);
    let printed: Value = serde_json::from_str(&stub.run("history --json").stdout).expect("JSON");
    assert_eq!(printed["series"][0]["has_base"], false, "{printed}");
}

#[test]
fn a_night_that_somebody_else_wrote_is_not_used() {
    let stub = recorded(1);
    stub.run("run --keep --run-id n").exits(0);
    let path = stub.root().join("artifacts/skill-evals/kept/nights/n.json");
    let text = fs::read_to_string(&path).expect("a night");
    fs::write(&path, text.replacen("\"passed\":1", "\"passed\":0", 1)).expect("a night");
    let ran = stub.run("history");
    assert!(ran.stderr.contains("not sealed with the key of this user"), "{}", ran.stderr);
    assert!(!ran.stdout.contains("tidy in codex"), "{}", ran.stdout);
}
