//! The real rust-analyzer over a crate that `skill-evals init` has equipped: what IDEs built on it show, and run.

use crate::support::repository;
use std::path::Path;
use std::process::Command;

use crate::support::downstream::{PROFILES_TEXT, cargo, crate_with_a_skill};
use crate::support::fixture::Fixture;
use crate::support::harness::clean;
use crate::support::lsp::Analyzer;
use crate::tests;
use libtest_mimic::Trial;
use serde_json::{Value, json};

pub fn trials() -> Vec<Trial> {
    let found = crate::support::real::starts("rust-analyzer", &["--version"]);
    let how_to_get = "get it with `rustup component add rust-analyzer`, as .ci/run does";
    crate::support::real::all_needing(
        "rust-analyzer",
        found,
        how_to_get,
        tests![
            the_test_explorer_shows_skill_case_and_mode,
            every_stub_has_a_lens_that_runs_its_trial,
            running_a_trial_gives_its_verdict_and_failure_text,
        ],
    )
}

const STUBS: &str = "tests/skill_evals/stubs.rs";

/// An equipped crate, one of whose trials fails.
fn equipped() -> Fixture {
    let fixture = crate_with_a_skill();
    let sheet = fixture.root().join("evals/skills/greeting/prompts.csv");
    let text = std::fs::read_to_string(&sheet).expect("the sample's sheet");
    std::fs::write(&sheet, format!("{text}broken,perhaps,Hello!\n")).expect("a file");
    let path = crate::support::repository().display().to_string();
    assert_eq!(fixture.run(&["init", "--path", &path]).code, 0);
    // rust-analyzer tells targets apart by their names, and takes the library `skill_evals`, here a local crate, for
    // the test target of that name. From a registry, it is not a candidate.
    let manifest = fixture.root().join("Cargo.toml");
    let text = std::fs::read_to_string(&manifest).expect("the manifest");
    let renamed = text.replace("name = \"skill_evals\"", "name = \"skills\"\npath = \"tests/skill_evals.rs\"");
    std::fs::write(manifest, renamed).expect("a file");
    fixture
}

fn analyzer(fixture: &Fixture) -> Analyzer {
    // It calls cargo itself, which has to find this crate and the directory to build in.
    let patch = format!("[patch.crates-io]\nskill-evals.path = {:?}\n", repository().display().to_string());
    let config = format!("{patch}[net]\noffline = true\n[build]\nincremental = false\n{PROFILES_TEXT}");
    let folder = fixture.root().join(".cargo");
    std::fs::create_dir_all(&folder).expect("a directory");
    std::fs::write(folder.join("config.toml"), config).expect("cargo's configuration");
    let built = cargo(fixture.root(), &["test", "--no-run", "--test", "skills"]);
    let target = built.get_envs().find(|(name, _)| *name == "CARGO_TARGET_DIR").and_then(|(_, value)| value);
    // It sets RUSTC_BOOTSTRAP, by which cargo builds most crates again: in the shared directory, for everybody.
    let target = Path::new(target.expect("a directory to build in")).join("ide");
    let mut command = clean(Command::new("rust-analyzer"));
    command.env("CARGO_TARGET_DIR", target).env_remove("RUSTFLAGS");
    let mut analyzer = Analyzer::start(command, fixture.root());
    let uri = analyzer.uri(STUBS);
    let text = std::fs::read_to_string(fixture.root().join(STUBS)).expect("the stubs");
    let item = json!({ "uri": uri, "languageId": "rust", "version": 1, "text": text });
    analyzer.request("experimental/discoverTest", &json!({ "testId": null }));
    analyzer.open(&item);
    analyzer
}

fn the_test_explorer_shows_skill_case_and_mode() {
    let fixture = equipped();
    let mut analyzer = analyzer(&fixture);
    let is_whole = |answer: &Value| {
        let tests = answer["tests"].as_array();
        tests.is_some_and(|tests| tests.iter().any(|test| test["id"] == "skills::repository::lint"))
    };
    let shown = analyzer.request_until("experimental/discoverTest", &json!({ "testId": "skills" }), is_whole);
    let tests = shown["tests"].as_array().expect("tests").clone();
    let find = |id: &str| -> Value {
        tests.iter().find(|test| test["id"] == id).unwrap_or_else(|| panic!("no {id} in {tests:#?}")).clone()
    };
    let skill = find("skills::greeting");
    assert_eq!((skill["label"].as_str(), skill["parent"].as_str()), (Some("greeting"), Some("skills")));
    let case = find("skills::greeting::explicit");
    assert_eq!(case["parent"], "skills::greeting");
    let mode = find("skills::greeting::explicit::codex");
    assert_eq!((mode["kind"].as_str(), mode["parent"].as_str()), (Some("test"), Some("skills::greeting::explicit")));
    assert!(mode["textDocument"]["uri"].as_str().is_some_and(|uri| uri.ends_with(STUBS)), "{mode}");
    find("skills::greeting::lint");
    find("skills::repository::lint");
}

fn every_stub_has_a_lens_that_runs_its_trial() {
    let fixture = equipped();
    let mut analyzer = analyzer(&fixture);
    let uri = analyzer.uri(STUBS);
    let is_wanted = |runnable: &&Value| runnable["label"] == "test greeting::explicit::codex";
    let params = json!({ "textDocument": { "uri": uri }, "position": null });
    let runnables = analyzer.request_until("experimental/runnables", &params, |answer| {
        answer.as_array().is_some_and(|runnables| runnables.iter().any(|runnable| is_wanted(&runnable)))
    });
    let lens = runnables.as_array().expect("runnables").iter().find(is_wanted).expect("a lens");
    let arguments: Vec<&str> =
        lens["args"]["executableArgs"].as_array().expect("arguments").iter().filter_map(Value::as_str).collect();
    assert_eq!(arguments[..2], ["greeting::explicit::codex", "--exact"]);
    // What the lens gives, the harness takes.
    let ran = crate::support::harness::harness(&fixture, &arguments).run();
    assert!(ran.stdout.contains("test greeting::explicit::codex ... ok"), "{}", ran.stdout);
}

fn running_a_trial_gives_its_verdict_and_failure_text() {
    let fixture = equipped();
    let mut analyzer = analyzer(&fixture);
    for (name, verdict, words) in [("explicit", "passed", ""), ("broken", "failed", "error[bad-boolean]")] {
        let id = format!("skills::greeting::{name}::codex");
        analyzer.request("experimental/runTest", &json!({ "include": [id], "exclude": null }));
        // The trial's own end, not the run's: one run may be told to have ended twice, for its last program and by itself.
        let is_end = |method: &str, params: &Value| {
            let tag = params["state"]["tag"].as_str().unwrap_or_default();
            method == "experimental/changeTestState" && params["testId"] == id && ["passed", "failed"].contains(&tag)
        };
        let heard = analyzer.wait_for(is_end);
        let last = heard.iter().rev().find(|(method, params)| is_end(method, params)).expect("what was waited for");
        let state = &last.1["state"];
        assert_eq!(state["tag"], verdict, "{heard:#?}");
        assert!(state["message"].as_str().unwrap_or_default().contains(words), "{state}");
        analyzer.wait_for(|method, _| method == "experimental/endRunTest");
    }
}
