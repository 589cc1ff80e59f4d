//! The stubs by which IDEs show trials.

use std::process::Command;

use super::fixture;
use crate::support::fixture::Fixture;
use crate::support::harness::{harness, listed};
use crate::support::stub::ran;

const FILE: &str = "tests/skill_evals/stubs.rs";

fn crate_of(fixture: Fixture) -> Fixture {
    fixture.file("Cargo.toml", "")
}

fn text(fixture: &Fixture) -> String {
    std::fs::read_to_string(fixture.root().join(FILE)).expect("the stubs")
}

/// The paths of the `#[test]` functions, by the nesting of their modules.
fn paths(stubs: &str) -> Vec<String> {
    let mut modules: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    for line in stubs.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("mod ") {
            modules.push(name.trim_end_matches(" {"));
        } else if let Some(name) = line.strip_prefix("fn ") {
            if let Some((name, _)) = name.split_once("() { super::") {
                found.push(format!("{}::{name}", modules.join("::")));
            }
        } else if line == "}" {
            modules.pop();
        }
    }
    found.sort();
    found
}

#[test]
fn stubs_have_the_names_of_the_trials() {
    for fixture in
        [crate_of(fixture()), crate_of(Fixture::copy_of_sample()), crate_of(Fixture::new().skill("repository"))]
    {
        fixture.run("stubs").exits(0);
        let mut names = listed(&harness(&fixture, &["--list"]).run());
        names.sort();
        assert_eq!(paths(&text(&fixture)), names);
    }
}

#[test]
fn stubs_are_written_once_and_then_up_to_date() {
    let fixture = crate_of(fixture());
    assert_eq!(fixture.run(&["stubs"]).stdout, "tests/skill_evals/stubs.rs: written, 8 trials\n");
    assert_eq!(fixture.run(&["stubs"]).stdout, "tests/skill_evals/stubs.rs: is up to date, 8 trials\n");
    // Whatever the environment asks for at the moment.
    let asked = harness(&fixture, &["--exact", "repository::lint"]).env("SKILL_EVALS_MODE", "none").run();
    asked.exits(0);
}

#[test]
fn the_lint_says_when_stubs_are_out_of_date() {
    let fixture = crate_of(Fixture::copy_of_sample());
    assert_eq!(fixture.run(&["lint", "--check-evals"]).code, 0, "no stubs, no problem");
    fixture.run(&["stubs"]);
    fixture.run("lint --check-evals").exits(0);
    assert_eq!(harness(&fixture, &["repository::lint"]).run().code, 0);
    let fixture = fixture.task("new", r#"{ "prompt": "Do it", "evalConfig": { "expectedSkillName": "greeting" } }"#);
    let ran = fixture.run(&["lint", "--check-evals"]);
    ran.exits(0).prints("warning[stale-stubs]: the stubs are out of date").prints("run `skill-evals stubs`");
    // It makes no trial wrong: a warning next to a test that passes.
    let ran = harness(&fixture, &["repository::lint"]).run();
    ran.exits(0);
    assert!(ran.stderr.contains("warning[stale-stubs]") && !ran.stdout.contains("stale-stubs"), "{}", ran.stderr);
    fixture.run(&["stubs"]);
    assert_eq!(harness(&fixture, &["repository::lint"]).run().code, 0);
}

#[test]
fn without_a_crate_there_is_no_place_for_stubs() {
    let ran = fixture().run(&["stubs"]);
    ran.exits(2).warns("no crate for the stubs");
    let ran = fixture().run(&["stubs", "--file", "elsewhere.rs"]);
    assert_eq!(ran.stdout, "elsewhere.rs: written, 8 trials\n");
}

#[test]
fn in_a_test_without_the_harness_every_stub_fails_with_the_missing_lines() {
    let main = "include!(\"skill_evals/stubs.rs\");\n\nfn main() {}\n";
    let fixture = crate_of(fixture()).file("tests/skill_evals.rs", main);
    fixture.run("stubs").exits(0);
    let compiled = |args: &[&str]| {
        let mut rustc = Command::new("rustc");
        rustc
            .args(["--edition", "2024", "--crate-name", "skill_evals", "-Dwarnings", "-Adead-code", "-o", "program"])
            .args(args);
        rustc.arg("tests/skill_evals.rs").current_dir(fixture.root());
        ran(&mut rustc).exits(0);
        ran(&mut Command::new(fixture.root().join("program")))
    };
    let stubs = compiled(&["--test"]);
    stubs.exits(101).prints("test result: FAILED. 0 passed; 8 failed");
    let missing = "Add to Cargo.toml:\n\n[[test]]\nname = \"skill_evals\"\nharness = false\n";
    stubs.prints(missing);
    // The harness has none of them.
    assert_eq!(compiled(&[]).code, 0);
}
