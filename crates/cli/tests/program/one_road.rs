//! A case has one verdict, whichever command ran it: cargo test, `run`, `run --replay`, `grade`, `summary`, `record` and
//! what is replayed afterwards.

use std::fs;
use std::process::Command;

use crate::support::examples::example;
use crate::support::fixture::Ran;
use crate::support::live::wait_until;
use crate::support::stored;
use crate::support::stub::{Stub, ran, signal};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

/// The harness over the stub's repository: what `cargo test` runs, agents included.
fn harness(stub: &Stub, args: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = stub.command(&[&["harness"], args].concat());
    for name in ["NEXTEST", "NEXTEST_RUN_ID", "CARGO_MANIFEST_DIR"] {
        command.env_remove(name);
    }
    command.envs(variables.iter().copied());
    command
}

fn live(stub: &Stub, args: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = harness(stub, args, variables);
    ran(command.env("SKILL_EVALS_LIVE", "1"))
}

fn table(stub: &Stub, rows: &str) {
    let text = format!("id,should_trigger,prompt,must_include\n{rows}");
    fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), text).expect("a table");
}

#[test]
fn a_harness_that_goes_on_with_a_run_takes_no_result_of_another_prompt_or_skill() {
    let stub = Stub::new(1, "");
    let first = live(&stub, &["tidy::c0"], &[("SKILL_EVALS_RUN_ID", "r")]);
    assert_eq!((first.code, stub.starts().len()), (0, 1), "{}", first.stdout);
    let resume = |how: &str| live(&stub, &["tidy::c0"], &[("SKILL_EVALS_RUN_ID", "r"), ("SKILL_EVALS_RESUME", how)]);
    assert_eq!((resume("1").code, stub.starts().len()), (0, 1), "what was measured stands");
    table(&stub, "c0,false,Another prompt,\n");
    fs::write(stub.root().join("skills/tidy/more.md"), "more").expect("a file");
    let refused = resume("1");
    assert_eq!((refused.code, stub.starts().len()), (101, 1), "{}", refused.stdout);
    refused.prints("tidy/c0/codex: prompt, skill tidy");
    let forced = resume("force");
    assert_eq!((forced.code, stub.starts().len()), (0, 1), "{}", forced.stdout);
    forced.warns("tidy/c0/codex: kept an outdated result; changed: prompt");
}

#[test]
fn what_was_kept_is_graded_by_todays_checks() {
    let stub = Stub::new(1, "");
    stub.run("run --run-id r").exits(0);
    table(&stub, "c0,false,Prompt 0,never said\n");
    for code in [
        stub.run(&["run", "--run-id", "r", "--resume"]).code,
        stub.run(&["summary", "r"]).code,
        stub.run(&["grade", "r"]).code,
    ] {
        assert_eq!(code, 1);
    }
    stub.run("status").prints("failed   tidy/c0/codex: must-include");
    assert_eq!(stub.starts().len(), 1);
}

#[test]
fn an_answer_is_not_graded_as_one_to_another_question() {
    let stub = Stub::new(2, "");
    stub.run("run --run-id r").exits(0);
    let before = stub.json("r", "work/tidy/c0/codex/1/grade.json");
    table(&stub, "c0,false,Another question,never said\nc1,false,Prompt 1,never said\n");
    let told =
        "work/tidy/c0/codex/1: the prompt of `tidy/c0` has changed since this answer: its grade is not changed\n";
    stub.run("grade r").exits(2).prints(told);
    assert_eq!(stub.json("r", "work/tidy/c0/codex/1/grade.json"), before);
    assert_eq!(stub.json("r", "work/tidy/c1/codex/1/grade.json")["verdict"], "fail");
}

#[test]
fn own_checks_of_a_crate_take_part_in_every_command() {
    let stub = Stub::new(1, "printf 'much too long a report' > report.md");
    let program = example("custom_checks").display().to_string();
    let with = |args: &[&str]| ran(stub.command(args).env("SKILL_EVALS_HARNESS", &program));
    let run = with(&["run", "--run-id", "r"]);
    run.exits(1).prints("report-is-short (outcome)").prints("says-done");
    for args in [&["grade", "r"][..], &["summary", "r"], &["run", "--run-id", "r", "--resume"]] {
        assert_eq!(with(args).code, 1, "{args:?}");
    }
    assert!(with(&["status"]).stdout.contains("failed   tidy/c0/codex: report-is-short"));
    let kept = with(&["record", "r"]);
    kept.exits(1).prints("new: fail, not recorded: --accept-failing");
    assert_eq!(with(&["record", "r", "--accept-failing"]).code, 0);
    assert_eq!(with(&["run", "--replay"]).code, 1);
    assert_eq!(with(&["harness", "tidy::c0"]).code, 101);
    // The harness itself, as cargo starts it.
    let mut own = Command::new(&program);
    own.args(["tidy::c0"]).current_dir(stub.root()).env("SKILL_EVALS_ROOT", stub.root());
    ran(own.env_remove("NEXTEST").env_remove("NEXTEST_RUN_ID")).exits(101).prints("report-is-short");
    assert_eq!(stub.starts().len(), 1);
}

#[test]
fn without_cargo_a_repository_is_replayed_and_one_with_checks_in_rust_says_what_is_missing() {
    let stub = Stub::new(1, "");
    stub.run("run --record --run-id r").exits(0);
    let without_cargo = |args: &[&str]| ran(stub.command(args).env("PATH", stub.scratch()));
    assert_eq!(without_cargo(&["run", "--replay"]).code, 0);
    stub.settings("harness = \"evals/skill_evals\"");
    for args in [&["run", "--replay"][..], &["grade", "r"], &["harness"]] {
        let refused = without_cargo(args);
        let said = format!("{}{}", refused.stdout, refused.stderr);
        refused.exits(2);
        for words in ["adds checks written in Rust, and `cargo` is not on the PATH", "rustup.rs", "SKILL_EVALS_HARNESS"]
        {
            assert!(said.contains(words), "{args:?}: {said}");
        }
    }
    // What grades nothing does not need it.
    assert_eq!((without_cargo(&["lint"]).code, without_cargo(&["list"]).code), (0, 0));
}

#[test]
fn a_test_that_only_mentions_the_harness_is_not_asked_for_checks() {
    let stub = Stub::new(1, "");
    let write = |path: &str, text: &str| fs::write(stub.root().join(path), text).expect("a file");
    fs::create_dir_all(stub.root().join("tests")).expect("a directory");
    fs::create_dir_all(stub.root().join("src")).expect("a directory");
    write("Cargo.toml", "[package]\nname = \"other\"\nedition = \"2024\"\n# skill-evals\n\n[workspace]\n");
    write("src/lib.rs", "");
    write(
        "tests/mentions.rs",
        "#[test]\nfn text() {\n    let _ = \"fn main() { skill_evals::harness::Harness }\";\n}\n",
    );
    let run = stub.run(&["run"]);
    assert_eq!((run.code, stub.starts().len()), (0, 1), "{}{}", run.stdout, run.stderr);
    assert!(!stub.root().join("target").exists(), "nothing was built");
}

#[test]
fn a_grade_with_own_checks_is_not_replaced_by_one_without() {
    let stub = Stub::new(1, "");
    let run = ran(stub.command(&["run", "--run-id", "r"]).env("SKILL_EVALS_HARNESS", example("custom_checks")));
    run.exits(0);
    let grade = stub.run_folder("r").join("work/tidy/c0/codex/1/grade.json");
    let before = fs::read(&grade).expect("a grade");
    for args in [&["grade", "r"][..], &["run", "--run-id", "r", "--resume"]] {
        stub.run(args).exits(2).prints("its grade contains `says-done`");
    }
    assert_eq!(fs::read(&grade).expect("a grade"), before);
    assert_eq!(stub.starts().len(), 1);
}

#[test]
fn a_harness_whose_checks_cannot_be_asked_keeps_a_run_from_beginning() {
    let stub = Stub::new(1, "");
    for program in ["/nowhere/at/all", "/bin/true"] {
        let run = ran(stub.command(&["run"]).env("SKILL_EVALS_HARNESS", program));
        assert_eq!((run.code, stub.starts().len()), (2, 0), "{}", run.stdout);
        run.warns(format!("the harness {program} cannot be asked"));
    }
}

#[test]
fn a_case_passes_by_its_share_in_every_command() {
    // Every second start fails to say what must be said.
    let body = r#"n=$(ls "$folder/turns" 2>/dev/null | wc -l); mkdir -p "$folder/turns"; mktemp "$folder/turns/XXXXXX" >/dev/null
if [ $((n % 2)) = 1 ]; then printf '%s\n' '{"type":"thread.started","thread_id":"1"}' '{"type":"turn.started"}' '{"type":"item.completed","item":{"id":"0","type":"agent_message","text":"No."}}' '{"type":"turn.completed","usage":{"input_tokens":10,"output_tokens":5}}'; exit 0; fi"#;
    let stub = Stub::new(1, body);
    table(&stub, "c0,false,Prompt 0,Done\n");
    for (threshold, codes) in [("0.5", (0, 0)), ("0.6", (1, 101))] {
        stub.settings(&format!("threshold = {threshold}\ntrials = 2\njobs = 1"));
        fs::remove_dir_all(stub.root().join("turns")).ok();
        let id = format!("r{}", threshold.replace('.', "-"));
        let run = stub.run(&["run", "--run-id", &id]);
        run.prints("tidy/c0/codex  1/2");
        stub.run(&["record", &id, "--accept-failing"]).prints("1/2 passed");
        let summary = stub.run(&["summary", &id]);
        let replayed = stub.run(&["run", "--replay"]);
        let test = ran(&mut harness(&stub, &["tidy::c0"], &[]));
        assert_eq!(
            (run.code, summary.code, replayed.code, test.code),
            (codes.0, codes.0, codes.0, codes.1),
            "{threshold}: {}",
            test.stdout
        );
        let words = stub.json(&id, "summary.json");
        assert_eq!(words["cases"][0]["verdict"], if codes.0 == 0 { "pass" } else { "fail" });
    }
}

#[test]
fn a_new_recording_leaves_no_repeat_of_the_old_one() {
    let stub = Stub::new(1, "");
    stub.run("run --trials 3 --record").exits(0);
    let repeats = || fs::read_dir(stub.root().join("evals/recordings/tidy/c0/codex")).expect("recordings").count();
    assert_eq!(repeats(), 3);
    table(&stub, "c0,false,Another prompt,\n");
    stub.run("run --record").exits(0).prints("tidy/c0/codex  stale → pass");
    assert_eq!(repeats(), 1);
    stub.run("run --replay").exits(0);
    ran(&mut harness(&stub, &["tidy::c0"], &[])).exits(0);
}

#[test]
fn a_replay_of_nothing_is_no_success() {
    let stub = Stub::new(2, "");
    let ran = stub.run("run --replay");
    ran.exits(3).prints("2 not run (no recording)").prints("tidy/c0/codex  -  not run  no recording\n");
    stub.run("run --case c0 --record").exits(0);
    let beside = stub.run(&["run", "--replay", "-v"]);
    assert_eq!(beside.code, 0, "a case without a recording is no fault beside others");
    let rows = "tidy/c1/codex    -  not run  no recording\ntidy/c0/codex  1/1  pass\n";
    beside.prints(rows);
    let json: Value = serde_json::from_str(&stub.run(&["run", "--replay", "--json"]).stdout).expect("JSON");
    let cells = |at: usize| (json["cases"][at]["verdict"].clone(), json["cases"][at]["not_run"].clone());
    assert_eq!(cells(0), (json!("pass"), Value::Null));
    assert_eq!(cells(1), (Value::Null, json!({ "no recording": 1 })));
}

/// The summary of the run `r` where agents are to be inside bubblewrap.
fn ran_with_bwrap_wanted(stub: &Stub) -> String {
    ran(stub.command(&["summary", "r"]).env_remove("SKILL_EVALS_ISOLATION")).stdout
}

#[test]
fn a_summary_says_which_agents_were_on_their_own() {
    let stub = Stub::new(2, "");
    let ran = stub.run(&["run", "--run-id", "r"]);
    assert!(ran.stdout.contains("unscored; 30 tokens"), "as asked: {}", ran.stdout);
    let wanted = ran_with_bwrap_wanted(&stub);
    assert!(wanted.contains("unscored; no agent inside bubblewrap; 30 tokens"), "{wanted}");
    let meta = stub.run_folder("r").join("work/tidy/c0/codex/1/meta.json");
    let facts = fs::read_to_string(&meta).expect("facts");
    fs::write(&meta, facts.replace("\"isolation\": \"agent\"", "\"isolation\": \"bwrap\"")).expect("facts");
    stored::seal(meta.parent().expect("a directory"));
    for form in ["--json", "--markdown"] {
        let said = stub.run(&["summary", "r", form]).stdout;
        let expected =
            if form == "--json" { "\"agent\": 1,\n    \"bwrap\": 1" } else { "; 1 of 2 agents not inside bubblewrap" };
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_summary_says_what_failed_and_keeps_what_was_not_run() {
    let stub = Stub::new(3, "");
    table(&stub, "c0,false,Prompt 0,\nc1,false,Prompt 1,absent\nc2,false,Prompt 2,\n");
    let run = stub.run(&["run", "--run-id", "r", "--jobs", "1", "--max-tokens", "25"]);
    run.exits(1);
    let before = stub.json("r", "summary.json");
    assert_eq!((&before["planned"], before["not_run"].as_object().map(serde_json::Map::len)), (&json!(3), Some(1)));
    stub.run("summary r --write").exits(1).prints("1 passed, 1 failed, 0 errors, 0 unscored, 1 not run");
    let after = stub.json("r", "summary.json");
    assert_eq!((&after["planned"], &after["not_run"]), (&json!(3), &before["not_run"]), "with the reason");
}

#[test]
fn a_skill_that_is_edited_while_a_run_goes_on_makes_its_recording_stale() {
    let stub = Stub::new(1, r#"echo more >> "$folder/skills/tidy/SKILL.md""#);
    stub.run("run --run-id r").exits(0);
    stub.run("record r --accept-failing").prints("new: stale");
    stub.run("run --replay").exits(2).prints("changed     skill tidy");
}

#[test]
fn the_advice_for_a_stale_recording_works_as_it_is_printed() {
    let stub = Stub::new(2, "");
    stub.run("run --record").exits(0);
    table(&stub, "c0,false,Another prompt,\nc1,false,Prompt 1,\n");
    let stale = stub.run(&["run", "--replay"]);
    stale.exits(2);
    let advice = stale.stdout.lines().find_map(|line| line.trim().strip_prefix("skill-evals ")).expect("advice");
    stub.run(&advice.split(' ').collect::<Vec<_>>()).exits(0);
    assert_eq!((stub.run(&["run", "--replay"]).code, stub.starts().len()), (0, 3));
}

#[test]
fn a_changed_description_of_another_skill_makes_recordings_aged_and_they_still_count() {
    let stub = Stub::new(2, "");
    let neighbor = |description: &str| {
        let file = stub.root().join("skills/other/SKILL.md");
        std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
        std::fs::write(file, format!("---\nname: other\ndescription: {description}\n---\n\nDo it.\n")).expect("a file");
    };
    neighbor("Does something else.");
    stub.run("run --skill tidy --record").exits(0);
    let fresh = stub.run(&["run", "--skill", "tidy", "--replay"]);
    assert!(fresh.code == 0 && !fresh.stdout.contains("aged"), "{}", fresh.stdout);
    stub.run("run --aged").exits(0).prints("no recording is aged");

    neighbor("Tidies everything up.");
    let aged = stub.run(&["run", "--skill", "tidy", "--replay"]);
    aged.exits(0).prints("2 passed").prints("2 trials replayed aged recordings");
    stub.run("run --stale").exits(0).prints("no recording is stale");
    let starts = stub.starts().len();
    stub.run("run --aged --record").exits(0);
    assert_eq!(stub.starts().len(), starts + 2);
    assert!(!stub.run(&["run", "--skill", "tidy", "--replay"]).stdout.contains("aged"));
}

#[test]
fn only_what_is_stale_or_failed_can_be_run_again() {
    let stub = Stub::new(3, "");
    stub.run("run --stale").exits(0).prints("no recording is stale");
    stub.run("run --record --run-id r").exits(0);
    table(&stub, "c0,false,Prompt 0,\nc1,false,Another prompt,\nc2,false,Prompt 2,absent\n");
    let stale = stub.run(&["run", "--stale", "--record"]);
    assert_eq!((stale.code, stub.starts().len()), (0, 4), "{}", stale.stdout);
    assert_eq!(stub.starts().last().map(String::as_str), Some("Another prompt"));
    let failed = stub.run(&["run", "--run-id", "f", "::codex"]);
    assert_eq!((failed.code, stub.starts().len()), (1, 7), "{}", failed.stdout);
    let again = stub.run(&["run", "--failed", "f"]);
    assert_eq!((again.code, stub.starts().len()), (1, 8), "{}", again.stdout);
    assert_eq!(stub.starts().last().map(String::as_str), Some("Prompt 2"));
}

#[test]
fn filters_choose_trials_as_with_cargo_test() {
    let stub = Stub::new(3, "");
    for (filters, starts) in [(&["tidy/c1"][..], 1), (&["tidy::c0::codex", "c2"], 3), (&["nothing"], 3)] {
        let ran = stub.run(&[&["run"], filters].concat());
        assert_eq!(ran.code, if filters == ["nothing"] { 2 } else { 0 }, "{filters:?}: {}", ran.stderr);
        assert_eq!(stub.starts().len(), starts, "{filters:?}");
    }
}

#[test]
fn repeats_of_a_case_run_side_by_side_in_the_harness() {
    // Each waits for the other.
    let body = r#"mktemp "$folder/here-XXXXXX" >/dev/null
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ $(ls "$folder" | grep -c '^here-') -ge 2 ] && break; sleep 0.5; done
[ $(ls "$folder" | grep -c '^here-') -ge 2 ] || exit 7"#;
    let stub = Stub::new(1, body);
    let ran = live(&stub, &["tidy::c0"], &[("SKILL_EVALS_TRIALS", "2")]);
    ran.exits(0);
}

#[test]
fn a_harness_run_is_locked_like_any_other_and_goes_on_with_its_own_trials_only() {
    let stub = Stub::new(3, r#"while [ ! -e "$folder/go" ]; do sleep 0.02; done"#);
    let mut command = harness(&stub, &["c1"], &[("SKILL_EVALS_LIVE", "1"), ("SKILL_EVALS_RUN_ID", "r")]);
    let mut child = command.spawn().expect("the harness starts");
    wait_until("the agent", || !stub.starts().is_empty());
    assert!(stub.run(&["status"]).stdout.starts_with("r: running (process "), "{}", stub.run(&["status"]).stdout);
    assert_eq!(stub.run(&["clean", "--keep", "0"]).stdout, "r is running; not removed\n");
    stub.run("run --run-id r --resume").exits(2);
    signal(&child, Signal::SIGKILL);
    child.wait().expect("an end");
    let status = stub.run(&["status"]).stdout;
    assert!(status.starts_with("r: killed\n") && status.contains("left     1\n"), "{status}");
    assert!(status.contains("run --resume --run-id r  (runs the 1 left)"), "{status}");
    fs::write(stub.root().join("go"), "").expect("a file");
    let resumed = stub.run(&["run", "--resume", "--run-id", "r"]);
    assert_eq!((resumed.code, stub.starts().len()), (0, 2), "{}{}", resumed.stdout, resumed.stderr);
    assert!(stub.run(&["status"]).stdout.starts_with("r: finished"));
    assert!(stub.run_folder("r").join("summary.json").is_file());
}

#[test]
fn states_add_up_after_an_interruption_and_after_stop() {
    for (how, state) in [("signal", "interrupted"), ("stop", "stopped")] {
        let stub = Stub::new(2, r#"case "$prompt" in *1) sleep 60;; esac"#);
        let mut child = stub.start(&["run", "--run-id", "r", "--jobs", "1"]);
        wait_until("the second agent", || stub.starts().len() == 2);
        if how == "signal" {
            signal(&child, Signal::SIGINT);
        } else {
            stub.run("stop r").exits(0);
        }
        assert_eq!(child.wait().expect("an end").code(), Some(130));
        let status: Value = serde_json::from_str(&stub.run(&["status", "--json"]).stdout).expect("JSON");
        assert_eq!(
            (&status["state"], &status["planned"], &status["remaining"]),
            (&json!(state), &json!(2), &json!(1)),
            "{how}"
        );
        assert_eq!((&status["done"]["passed"], &status["not_passed"]), (&json!(1), &json!([])), "{how}");
        stub.run("summary r").prints("1 passed, 0 failed, 0 errors, 0 unscored, 1 not run");
        stub.body("");
        assert_eq!((stub.run(&["run", "--resume", "--run-id", "r"]).code, stub.starts().len()), (0, 3));
    }
}

#[test]
fn clean_takes_runs_and_nothing_else() {
    let stub = Stub::new(1, "");
    stub.run("run --run-id r").exits(0);
    let other = stub.root().join("artifacts/skill-evals/notes");
    fs::create_dir(&other).expect("a directory");
    fs::write(other.join("mine.txt"), "mine").expect("a file");
    assert_eq!(stub.run(&["clean", "--keep", "0"]).stdout, "r removed\n");
    assert!(other.join("mine.txt").is_file());
}

#[test]
fn facts_that_an_agent_wrote_are_not_taken_for_a_trial() {
    let forged = r#"cp "$folder/forged.json" meta.json; cp "$folder/grade.json" grade.json; mkdir -p work/tidy/c9/codex/1; cp meta.json grade.json work/tidy/c9/codex/1"#;
    let stub = Stub::new(1, "");
    stub.run("run --run-id first").exits(0);
    let trial = stub.run_folder("first").join("work/tidy/c0/codex/1");
    let mut meta: Value = serde_json::from_slice(&fs::read(trial.join("meta.json")).expect("facts")).expect("JSON");
    meta["skill"]["slug"] = json!("../../../../victim");
    fs::write(stub.root().join("forged.json"), meta.to_string()).expect("a file");
    fs::copy(trial.join("grade.json"), stub.root().join("grade.json")).expect("a file");
    stub.body(forged);
    stub.run("run --run-id r").exits(0);
    let work = stub.run_folder("r").join("work/tidy/c0/codex/1/workspace/meta.json");
    assert!(work.is_file(), "the forged facts were kept as what the agent made");
    let summary: Value = serde_json::from_str(&stub.run(&["summary", "r", "--json"]).stdout).expect("JSON");
    assert_eq!(summary["total"]["passed"], 1);
    stub.run("record r").exits(0);
    // In the place of a trial they are refused.
    let place = stub.run_folder("r").join("work/tidy/c0/codex/1");
    fs::copy(work, place.join("meta.json")).expect("a file");
    stored::seal(&place);
    stub.run("grade r").exits(2).prints("its skill \"../../../../victim\" starts with `.`");
}

#[test]
fn known_and_unknown_costs_do_not_read_like_a_sum() {
    let silent = r#"case "$prompt" in *1) printf '%s\n' '{"type":"thread.started","thread_id":"1"}' '{"type":"turn.started"}' '{"type":"item.completed","item":{"id":"0","type":"agent_message","text":"Done."}}' '{"type":"turn.completed"}'; exit 0;; esac"#;
    let stub = Stub::new(2, silent);
    stub.settings("prices = { codex = { input = 50000.0, output = 50000.0 } }");
    stub.run("run --run-id r").prints("at least 15 tokens; at least $0.75");
    stub.run("status").prints("at least $0.75 by [prices] so far");
}
