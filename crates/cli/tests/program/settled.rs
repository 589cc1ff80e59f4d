//! Trials that end as soon as their verdict is settled. The agent is a script that opens the skill and then works on.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use skill_evals_results::store;

use crate::support::fixture::{Fixture, Ran, ran};
use crate::support::live::GREETING;

const TRACE: &str = include_str!("../../../../tests/fixtures/traces/codex/triggers/trace.jsonl");
const ROLLOUT: &str = include_str!("../../../../tests/fixtures/traces/codex/triggers/rollout.jsonl");

/// Opens the skill, works for `PAUSE` seconds, and answers. While it is being ended, its provider fails.
const SCRIPT: &str = r#"#!/bin/sh
trap 'echo "{\"type\":\"turn.failed\",\"error\":{\"message\":\"stream disconnected\"}}"; touch OWN/ended; exit 1' TERM
session="$CODEX_HOME/sessions/2026"
mkdir -p "$session"
head -n 6 OWN/rollout > "$session/rollout-1.jsonl"
head -n 5 OWN/trace
sleep PAUSE &
wait $!
cp OWN/rollout "$session/rollout-1.jsonl"
tail -n 2 OWN/trace
"#;

/// How long the agent works where it is to be ended: longer than a test waits.
const LONG: &str = "600";

struct World {
    fixture: Fixture,
    own: tempfile::TempDir,
    scratch: tempfile::TempDir,
}

impl World {
    /// One case with these cells behind its id, and an agent that works for this many seconds.
    fn new(columns: &str, cells: &str, pause: &str) -> Self {
        let own = tempfile::tempdir().expect("a directory");
        let place = own.path().display().to_string();
        let write = |name: &str, text: &str| fs::write(own.path().join(name), text).expect("a file");
        write("trace", TRACE);
        write("rollout", ROLLOUT);
        write("codex", &SCRIPT.replace("OWN", &place).replace("PAUSE", pause));
        let program = own.path().join("codex");
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("a program");
        let fixture = Fixture::new()
            .skill_text("greeting", GREETING)
            .file("skills/greeting/references/formal.md", "Say \"Good day\".\n")
            .prompts("greeting", format!("id,{columns}\nit,{cells}\n"))
            .file("evals/evals.toml", format!("[agents.codex]\ncommand = \"{}\"\n", program.display()));
        let scratch = tempfile::Builder::new().prefix("evals-").tempdir_in("/var/tmp").expect("a scratch directory");
        Self { fixture, own, scratch }
    }

    fn program(&self, args: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_skill-evals"));
        command.args(args).current_dir(self.fixture.root()).env("HOME", self.own.path().join("no-home"));
        command.env_remove("CODEX_HOME").env_remove("CI").env("SKILL_EVALS_SCRATCH", self.scratch.path());
        // It writes into a directory of the test.
        ran(command.env("SKILL_EVALS_ISOLATION", "agent").env("SKILL_EVALS_CALIBRATE", "off"))
    }

    /// Runs the case, and returns the grade and the facts of its trial.
    fn run(&self, args: &[&str]) -> (Ran, Value, Value) {
        let ran = self.program(&[&["run", "--run-id", "t", "--mode", "codex"], args].concat());
        let read = |name: &str| {
            let text = fs::read(self.trial().join(name)).unwrap_or_else(|error| panic!("{name}: {error}\n{ran:?}"));
            serde_json::from_slice(&text).expect("JSON")
        };
        let (grade, meta) = (read("grade.json"), read("meta.json"));
        (ran, grade, meta)
    }

    fn trial(&self) -> PathBuf {
        self.fixture.root().join("artifacts/skill-evals/t/work/greeting/it/codex/1")
    }

    fn was_ended(&self) -> bool {
        self.own.path().join("ended").exists()
    }
}

fn status(grade: &Value, id: &str) -> Value {
    let checks = grade["checks"].as_array().expect("checks");
    checks.iter().find(|check| check["id"] == id).map_or(Value::Null, |check| check["status"].clone())
}

#[test]
fn a_positive_case_that_asks_only_for_activation_passes_when_the_skill_is_active() {
    let world = World::new("should_trigger,prompt", "true,Please greet Ada.", LONG);
    let (ran, grade, meta) = world.run(&["--trial-end", "settled"]);
    assert_eq!((ran.code, &grade["verdict"]), (0, &"pass".into()), "{ran:?} {grade:#}");
    assert!(world.was_ended());
    assert_eq!((&meta["ending"]["settled"], &grade["metrics"]["settled"]), (&true.into(), &true.into()));
    // Its provider failed only after that.
    assert!(grade.get("trouble").is_none() && meta["ending"].get("trouble").is_none(), "{grade:#}");
    for check in ["final-message", "exit-code", "completed"] {
        assert_eq!(status(&grade, check), Value::Null, "{check} is about the agent's end");
    }
    ran.prints("1 trial ended when the verdict was settled");
    world.program(&["summary", "t"]).prints("agents ran ≥ ");
    let session = fs::read_to_string(world.trial().join("session.md")).expect("a log");
    assert!(session.contains("- duration: ≥ "), "{session}");
    assert!(!session.contains("stream disconnected"), "{session}");
}

#[test]
fn a_negative_case_fails_when_the_skill_is_active() {
    let world = World::new("should_trigger,prompt,judge,must_include", "false,What is 2+2?,true,4", LONG);
    let (ran, grade, _) = world.run(&["--trial-end", "settled"]);
    assert_eq!((ran.code, &grade["verdict"]), (1, &"fail".into()), "{ran:?} {grade:#}");
    assert_eq!((status(&grade, "not-triggered"), status(&grade, "must-include")), ("fail".into(), "unknown".into()));
    assert!(world.was_ended() && grade.get("judged").is_none(), "what failed needs no judge: {grade:#}");
}

#[test]
fn a_trial_of_a_run_with_a_limit_is_not_settled_before_its_tokens_are_counted() {
    let world = World::new("should_trigger,prompt", "true,Please greet Ada.", "2");
    let (ran, grade, meta) = world.run(&["--trial-end", "settled", "--max-tokens", "1000000"]);
    assert!(ran.code == 0 && meta["ending"].get("settled").is_none(), "{ran:?} {meta:#}");
    assert!(grade["metrics"]["usage"]["input_tokens"].is_u64() && !world.was_ended(), "{grade:#}");
}

#[test]
fn a_case_with_an_open_question_runs_to_its_end() {
    for (columns, cells) in [
        ("should_trigger,prompt,must_include", "true,Please greet Ada.,Ahoy"),
        ("should_trigger,prompt,max_commands", "true,Please greet Ada.,3"),
        ("should_trigger,prompt,max_turns", "true,Please greet Ada.,9"),
    ] {
        let world = World::new(columns, cells, "0.3");
        let (_, grade, meta) = world.run(&["--trial-end", "settled"]);
        assert!(meta["ending"].get("settled").is_none(), "{columns}: {meta:#}");
        assert_eq!((status(&grade, "exit-code"), &grade["verdict"]), ("pass".into(), &"pass".into()), "{grade:#}");
    }
}

#[test]
fn without_the_option_a_trial_runs_to_its_end() {
    let world = World::new("should_trigger,prompt", "true,Please greet Ada.", "0.3");
    let (_, grade, meta) = world.run(&[]);
    assert!(meta["ending"].get("settled").is_none() && grade["metrics"].get("settled").is_none(), "{grade:#}");
    assert_eq!((status(&grade, "final-message"), world.was_ended()), ("pass".into(), false));
}

#[test]
fn a_stored_trial_that_ended_early_keeps_its_verdict_and_is_no_recording() {
    let world = World::new("should_trigger,prompt", "true,Please greet Ada.", LONG);
    world.run(&["--trial-end", "settled"]);
    world.program(&["grade", "t", "--json"]).exits(0);
    let grade = fs::read_to_string(world.trial().join("grade.json")).expect("a grade");
    assert!(grade.contains("\"verdict\": \"pass\""), "{grade}");

    let recorded = world.program(&["record", "t"]);
    recorded.prints("a trial ended when its verdict was settled");
    assert_ne!(recorded.code, 0);
    assert!(!world.fixture.root().join("evals/recordings").exists());

    // What a case asks later was not measured.
    let cases = "id,should_trigger,prompt,must_include\nit,true,Please greet Ada.,Ahoy\n";
    fs::write(world.fixture.root().join("evals/skills/greeting/prompts.csv"), cases).expect("a file");
    world.program(&["grade", "t"]);
    let grade = fs::read_to_string(world.trial().join("grade.json")).expect("a grade");
    assert!(grade.contains("\"verdict\": \"error\"") && grade.contains("open when the trial ended"), "{grade}");
}

#[test]
fn a_recording_of_a_trial_that_ended_early_is_not_replayed() {
    let world = World::new("should_trigger,prompt", "true,Please greet Ada.", "0.1");
    world.run(&["--record"]);
    world.program(&["run", "--replay"]).exits(0);
    // Only by hand: `record` refuses such a trial.
    let trial = store::trial_at(&world.fixture.root().join("evals/recordings/greeting/it/codex/1"));
    let mut meta = trial.meta().expect("facts");
    meta.ending.settled = true;
    trial.write_meta(&meta).and_then(|()| trial.seal(1)).expect("a recording");
    let why = "this trial ended early, when its verdict was settled: a recording needs a whole one";
    world.program(&["run", "--replay"]).exits(2).prints(why);
}

#[test]
fn what_needs_whole_trials_refuses_to_end_them() {
    let world = World::new("should_trigger,prompt,must_include", "true,Please greet Ada.,Ada", "0.1");
    let recorded = world.program(&["run", "--mode", "codex", "--record", "--trial-end", "settled"]);
    recorded.exits(2).warns("a recording needs whole trials");
    let compared = world.program(&["compare", "--with", "codex", "--without", "--trial-end", "settled"]);
    compared.exits(2).warns("about the outcome");
    // A setting is a default: what is recorded runs to its end all the same.
    let settings = world.fixture.root().join("evals/evals.toml");
    let text = fs::read_to_string(&settings).expect("settings");
    fs::write(&settings, format!("trial_end = \"settled\"\n{text}")).expect("a file");
    let (_, _, meta) = world.run(&["--record"]);
    assert!(meta["ending"].get("settled").is_none(), "{meta:#}");
    world.program(&["run", "--resume", "--run-id", "t", "--record"]).exits(0);
}

#[test]
fn a_comparison_of_trials_that_ended_early_compares_no_amounts() {
    let world = World::new("should_trigger,prompt", "true,Please greet Ada.", LONG);
    let args = ["compare", "--aa", "--mode", "codex", "--trial-end", "settled", "--max-trials", "12", "--json"];
    let compared = world.program(&args);
    let compared: Value = serde_json::from_str(&compared.stdout).unwrap_or_else(|_| panic!("{compared:?}"));
    let rate = &compared["comparison"]["baseline"]["rate"];
    let passed = rate["passed"].as_u64().filter(|passed| *passed > 0 && rate["trials"] == *passed).expect("trials");
    assert_eq!(
        (&compared["settled"], &compared["amounts"]["time"]),
        (&(2 * passed).into(), &Value::Null),
        "{compared:#}"
    );
}
