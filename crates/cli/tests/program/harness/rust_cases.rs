//! Cases in Rust, and results as data.

use skill_evals::harness::{Check, Finding, Harness};

use crate::support::examples::example;
use crate::support::fixture::Fixture;
use crate::support::stub::{Stub, ran};

/// The reasons why trials of this harness over the sample were not graded, by their ids.
fn refused(harness: Harness, filters: &[&str]) -> Vec<(String, String)> {
    let sample = Fixture::copy_of_sample();
    let results = harness.chosen_root(sample.root()).results(filters.iter().copied()).expect("results");
    results.into_iter().filter_map(|trial| Some((trial.id.to_string(), trial.grade.err()?))).collect()
}

#[test]
fn results_are_data() {
    let sample = Fixture::copy_of_sample();
    let results = Harness::new().chosen_root(sample.root()).results(["greeting::explicit"]).expect("results");
    assert!(!results.is_empty() && results.iter().all(|trial| trial.passed() && trial.id.skill == "greeting"));
    let why = Harness::new().chosen_root(sample.root()).results(["nobody"]).expect_err("no trial").to_string();
    assert!(why.contains("no trial in"), "{why}");
}

#[test]
fn a_case_in_rust_is_a_trial_beside_those_in_files() {
    let harness = Harness::new().case("greeting", "in-rust", |case| case.prompt("Say hello").should_trigger(true));
    let [(id, why)] = &refused(harness, &["greeting::in_rust"])[..] else { panic!("one trial") };
    assert!(id.starts_with("greeting/in-rust/"), "{id}");
    assert!(why.contains("recording"), "only a recording is missing: {why}");
}

#[test]
fn what_is_wrong_with_a_case_in_rust_points_to_its_line() {
    let line = line!() + 1;
    let harness = Harness::new().case("greeting", "typo", |case| case.prompt("Hi").set("must_inclde", "x"));
    let [(_, why)] = &refused(harness, &["greeting::typo"])[..] else { panic!("one trial") };
    assert!(why.contains("must_inclde") && why.contains(&format!("rust_cases.rs:{line}:")), "{why}");
    let harness = Harness::new().case("greting", "one", |case| case.prompt("Hi"));
    let [(_, why)] = &refused(harness, &["greting::one"])[..] else { panic!("one trial") };
    assert!(
        why.contains("the skill `greting`, which is not here") && why.contains("did you mean `greeting`?"),
        "{why}"
    );
    let harness = Harness::new().case("greeting", "a/b", |case| case.prompt("Hi"));
    let [(_, why)] = &refused(harness, &["greeting::a"])[..] else { panic!("one trial") };
    assert!(why.contains("the case id \"a/b\""), "{why}");
}

#[test]
fn two_cases_with_one_id_are_an_error_that_names_the_first() {
    let line = line!() + 2;
    let harness = Harness::new()
        .case("greeting", "same-id", |case| case.prompt("Say hello"))
        .case("greeting", "same_id", |case| case.prompt("Say bye"))
        .case("greeting", "explicit", |case| case.prompt("Say what a file says"));
    let all = refused(harness, &["greeting::same_id", "greeting::explicit"]);
    let refused = |words: &str| all.iter().filter(|(_, why)| why.contains(words)).count();
    let told = format!(
        "the case id `same_id` of the skill `greeting` is taken by crates/cli/tests/program/harness/rust_cases.rs:{line}"
    );
    assert_eq!(refused(&told), 1, "{all:?}");
    assert_eq!(refused("the case id `explicit` of the skill `greeting` is taken by evals/"), 1, "{all:?}");
    assert_eq!((all.len(), refused("recording")), (3, 1), "the first of its id lacks a recording alone: {all:?}");
}

#[test]
fn names_of_checks_are_checked_before_a_trial_runs() {
    let named = |names: &[&str]| {
        let sample = Fixture::copy_of_sample();
        let check = |name: &&str| Check::new(*name, |_| Ok(Finding::NotAsked));
        let harness = names.iter().map(check).fold(Harness::new().chosen_root(sample.root()), Harness::check);
        harness.results(["greeting::explicit"]).map_err(|why| why.to_string())
    };
    for (names, told) in [
        (&[""][..], "the name of the check \"\" is empty; use kebab-case"),
        (&["a\nb"], "the name of the check \"a\\nb\" holds a line break"),
        (&["is-short", "is-long", "is-short"], "two checks have the name `is-short`"),
    ] {
        let why = named(names).expect_err("a bad name");
        assert!(why.contains(told), "{why}");
    }
    assert!(named(&["is-short", "is-long"]).is_ok());
}

#[test]
fn results_refuse_help_and_say_how_cargo_runs_a_trial_again() {
    let sample = Fixture::copy_of_sample();
    let results = |filters: &[&str]| Harness::new().chosen_root(sample.root()).results(filters.iter().copied());
    let why = results(&["--help"]).expect_err("no trials").to_string();
    assert!(why.contains("`--help`"), "{why}");
    let harness = Harness::new().case("greeting", "in-rust", |case| case.prompt("Say hello"));
    let [(_, why)] = &refused(harness, &["greeting::in_rust"])[..] else { panic!("one trial") };
    assert!(why.contains("cargo test --test program -- --exact greeting::in_rust::codex"), "{why}");
}

#[test]
fn a_stored_trial_of_a_case_in_rust_says_why_the_program_cannot_grade_it() {
    let stub = Stub::new(1, "");
    let mut program = stub.with_variables(std::process::Command::new(example("cases")));
    program.args(["tidy::tidies_rust"]).current_dir(stub.root()).env("SKILL_EVALS_ROOT", stub.root());
    ran(program.env_remove("NEXTEST").env("SKILL_EVALS_LIVE", "1").env("SKILL_EVALS_RUN_ID", "r"));
    stub.run("grade r").prints("or it is written in Rust and runs by cargo test only");
}

#[test]
fn cases_in_rust_run_live_and_are_recorded() {
    let stub = Stub::new(1, "");
    let run = |variable: &str| {
        let mut program = stub.with_variables(std::process::Command::new(example("cases")));
        program.args(["tidy::"]).current_dir(stub.root()).env("SKILL_EVALS_ROOT", stub.root()).env(variable, "1");
        ran(program.env_remove("NEXTEST").env_remove("NEXTEST_RUN_ID").env("SKILL_EVALS_RECORD", "1"))
    };
    let live = run("SKILL_EVALS_LIVE");
    live.exits(0).prints("test tidy::says_nothing_about_weather::codex ... ok").prints("test tidy::tidies_rust::codex");
    assert!(stub.starts().iter().any(|prompt| prompt.contains("Tidy this Python file.")), "{:?}", stub.starts());
}
