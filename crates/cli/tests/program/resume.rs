//! A run that was killed, stopped or cut short is resumed: nothing measured is lost, nothing measured runs again.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::live::{processes_with, wait_until};
use crate::support::stub::{ACTIVATES, Stub, ran, signal};
use nix::sys::signal::Signal;
use serde_json::{Value, json};

#[test]
fn a_run_killed_in_the_middle_loses_no_trial_and_runs_none_twice() {
    let stub = Stub::new(200, "sleep 0.02");
    let mut runner = stub.start(&["run", "--run-id", "r", "--jobs", "8"]);
    wait_until("sixty trials", || stub.progress_lines("r") >= 60);
    runner.kill().expect("a signal");
    runner.wait().expect("an end");
    wait_until("the watchdog", || processes_with(&stub.scratch().display().to_string()).is_empty());
    // Half a line, as a power cut leaves it.
    let path = stub.run_folder("r").join("progress.jsonl");
    let mut file = fs::OpenOptions::new().append(true).open(path).expect("progress");
    file.write_all(br#"{"skill":"tidy","case":"c1"#).expect("half a line");
    let kept = stub.graded("r");
    assert!((60..200).contains(&kept), "killed in the middle: {kept} trials were kept");
    let begun = stub.starts().len();

    let status = stub.run(&["status", "r", "--json"]);
    let status: Value = serde_json::from_str(&status.stdout).expect("JSON");
    assert_eq!(
        (&status["state"], &status["planned"], &status["damaged_lines"]),
        (&json!("killed"), &json!(200), &json!(1))
    );

    let ran = stub.run(&["run", "-v", "--run-id", "r", "--resume", "--jobs", "8"]);
    ran.exits(0);
    // A trial that was measured and not yet graded stands too.
    let stands = ran.stdout.matches("(kept)").count();
    assert!((kept..200).contains(&stands), "what was measured stands: {kept} were graded, {stands} kept");
    assert_eq!(stub.starts().len() - begun, 200 - stands, "the rest runs, once each");
    let mut times: HashMap<String, usize> = HashMap::new();
    for prompt in stub.starts() {
        *times.entry(prompt).or_default() += 1;
    }
    assert_eq!(times.len(), 200);
    assert_eq!(stub.graded("r"), 200);
    let progress = stub.progress("r");
    assert_eq!(progress.len(), 200, "the progress file has each trial once");
    assert_eq!(stub.json("r", "summary.json")["total"]["passed"], 200);
}

#[test]
fn what_measured_nothing_runs_again_and_what_failed_does_not() {
    let stub = Stub::new(3, r#"case "$prompt" in *1) exit 7;; esac"#);
    fs::write(
        stub.root().join("evals/skills/tidy/prompts.csv"),
        "id,should_trigger,prompt,must_include\nc0,false,Prompt 0,\nc1,false,Prompt 1,\nc2,false,Prompt 2,absent\n",
    )
    .expect("a table");
    stub.run("run --run-id r").exits(1);
    stub.body("");
    let ran = stub.run(&["run", "--run-id", "r", "--resume"]);
    ran.exits(1);
    assert_eq!(stub.starts().iter().filter(|prompt| *prompt == "Prompt 1").count(), 2);
    assert_eq!(stub.starts().len(), 4);
    ran.prints("tidy/c2/codex: fail (kept)");
    assert_eq!(stub.json("r", "summary.json")["total"]["failed"], 1);
}

#[test]
fn a_trial_whose_runner_was_killed_before_it_graded_is_graded_not_run() {
    let stub = Stub::new(2, "");
    stub.run("run --run-id r").exits(0);
    fs::remove_file(stub.run_folder("r").join("work/tidy/c1/codex/1/grade.json")).expect("a grade");
    fs::remove_file(stub.run_folder("r").join("progress.jsonl")).expect("progress");
    let ran = stub.run(&["run", "--run-id", "r", "--resume"]);
    assert_eq!((ran.code, stub.starts().len(), stub.graded("r")), (0, 2, 2), "{}", ran.stdout);
    assert_eq!(stub.json("r", "summary.json")["total"]["passed"], 2);
}

#[test]
fn a_file_of_a_stored_trial_that_was_changed_is_named_and_no_trial_runs_for_it() {
    for file in ["final.txt", "trace.jsonl", "meta.json", "grade.json", "digests.json"] {
        let stub = Stub::new(2, "");
        stub.run("run --run-id r").exits(0);
        let path = stub.run_folder("r").join("work/tidy/c1/codex/1").join(file);
        let mut bytes = fs::read(&path).expect("a file");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(&path, bytes).expect("a file");
        for args in [&["run", "--run-id", "r", "--resume"][..], &["summary", "r"], &["show", "tidy/c1", "--run", "r"]] {
            let ran = stub.run(args);
            let said = ran.stdout + &ran.stderr;
            let is_named = said.contains(&format!("tidy/c1/codex/1/{file}"));
            assert!(ran.code != 0 && is_named, "{args:?}, {file}: {} {said}", ran.code);
        }
        assert_eq!(stub.starts().len(), 2, "{file}");
    }
}

#[test]
fn a_run_without_one_of_its_graded_trials_is_not_done() {
    let stub = Stub::new(2, "");
    stub.run("run --run-id r").exits(0);
    fs::remove_dir_all(stub.run_folder("r").join("work/tidy/c1")).expect("a trial");
    for args in [&["status"][..], &["runs"], &["history"]] {
        let ran = stub.run(args);
        let said = ran.stdout + &ran.stderr;
        assert!(said.contains("1 of its 2 graded trials are missing"), "{args:?}: {said}");
        assert!(!said.contains("done") && !said.contains("100 %"), "{args:?}: {said}");
    }
}

#[test]
fn changed_skills_cases_and_settings_are_refused_by_name() {
    let stub = Stub::new(2, "");
    stub.run("run --run-id r --case c0").exits(0);
    let resume = |more: &[&str]| stub.run(&[&["run", "--run-id", "r", "--resume"], more].concat());
    let refused = |more: &[&str], what: &str| {
        let ran = resume(more);
        ran.exits(2).warns("cannot resume").warns(what);
    };
    assert_eq!(resume(&[]).code, 0, "nothing was said, so what was chosen first is meant");
    refused(&["--model", "other"], "tidy/c0/codex: setting model");
    for (settings, part) in [
        ("pass_env = [\"EXTRA\"]", "setting pass_env"),
        ("env = { HOUSE = \"red\" }", "setting env.HOUSE"),
        ("require_sandbox = true", "setting isolation"),
    ] {
        stub.settings(settings);
        refused(&[], part);
    }
    stub.settings("");
    let args =
        fs::read_to_string(stub.root().join("evals/evals.toml")).expect("settings") + "args = [\"-c\", \"x=1\"]\n";
    fs::write(stub.root().join("evals/evals.toml"), args).expect("settings");
    refused(&[], "setting agents.codex.args");
    stub.settings("");
    let table = stub.root().join("evals/skills/tidy/prompts.csv");
    let before = fs::read_to_string(&table).expect("a table");
    fs::write(&table, before.replace("Prompt 0", "Prompt zero")).expect("a table");
    refused(&[], "tidy/c0/codex: prompt");
    fs::write(&table, before).expect("a table");
    fs::write(stub.root().join("skills/tidy/more.md"), "more").expect("a file");
    refused(&[], "tidy/c0/codex: skill tidy");
    assert_eq!(stub.starts().len(), 1);
    let forced = resume(&["--force"]);
    forced.exits(0).warns("tidy/c0/codex: kept an outdated result; changed: skill tidy");
    refused(&[], "skill tidy");
    assert_eq!(stub.starts().len(), 1, "and what was measured still stands");
}

#[test]
fn what_runs_after_a_skill_has_changed_is_read_by_the_changed_skill() {
    let stub = Stub::new(2, &format!("{ACTIVATES}activate tidy"));
    let skill = stub.root().join("skills/tidy/SKILL.md");
    let text = fs::read_to_string(&skill).expect("a skill");
    stub.run("run --run-id r --case c0").exits(1);
    let (front, _) = text.rsplit_once("---\n").expect("a front matter");
    fs::write(&skill, format!("{front}---\n# Another\n\nQuite other words, and enough of them to be told apart.\n"))
        .expect("a skill");
    // The agent reads all of it, so it has activated the skill.
    stub.run("run --run-id r --resume --force --case c1").exits(1);
    let failed = |case: &str| stub.json("r", &format!("work/tidy/{case}/codex/1/grade.json"))["verdict"] == "fail";
    assert!(failed("c0") && failed("c1"));
    let grades = stub.run("grade r");
    assert!(grades.code == 1, "{grades}");
    let name = stub.json("r", "work/tidy/c1/codex/1/meta.json")["skills_copy"].as_str().expect("a copy").to_owned();
    let kept = |name: &str| fs::read_to_string(stub.run_folder("r").join(name).join("tidy/SKILL.md")).expect("a copy");
    assert_eq!(kept("skills_snapshot"), text);
    assert_ne!(kept(&format!("skills_snapshot_{name}")), text);
}

#[test]
fn a_run_can_be_gone_on_with_for_more_trials_than_it_had() {
    let stub = Stub::new(2, "");
    stub.run("run --run-id r --case c0").exits(0);
    let ran = stub.run(&["run", "--run-id", "r", "--resume", "--case", "c1", "--trials", "2"]);
    assert_eq!((ran.code, stub.starts().len()), (0, 3), "{}{}", ran.stdout, ran.stderr);
    let status: Value = serde_json::from_str(&stub.run(&["status", "--json"]).stdout).expect("JSON");
    assert_eq!(
        (&status["state"], &status["planned"], &status["remaining"]),
        (&json!("finished"), &json!(3), &json!(0))
    );
}

#[test]
fn a_damaged_plan_is_told_and_can_be_gone_on_without() {
    let stub = Stub::new(2, "");
    stub.run("run --run-id r").exits(0);
    fs::write(stub.run_folder("r").join("run.json"), "{\"format\": 1,").expect("half a file");
    stub.run("run --run-id r --resume").exits(2).warns("run.json").warns("--force");
    assert_eq!(stub.run(&["status", "r"]).code, 0, "what was measured can be seen");
    stub.run("run --run-id r --resume --force").exits(0);
    assert_eq!(stub.starts().len(), 2);
    assert_eq!(stub.json("r", "run.json")["planned"], 2);
}

#[test]
fn two_runners_on_one_run_are_refused() {
    let stub = Stub::new(2, "sleep 30");
    let mut first = stub.start(&["run", "--run-id", "r"]);
    wait_until("an agent", || !stub.starts().is_empty());
    stub.run("run --run-id r --resume").exits(2).warns(format!("is being run by process {}", first.id()));
    let cleaned = stub.run(&["clean", "--keep", "0"]);
    assert_eq!((cleaned.code, cleaned.stdout.as_str()), (0, "r is running; not removed\n"));
    signal(&first, Signal::SIGTERM);
    assert_eq!(first.wait().expect("an end").code(), Some(130));
    assert_eq!(stub.starts().len(), 2);
}

#[test]
fn a_run_in_the_background_outlives_its_terminal_and_tells_where_it_stands() {
    let stub = Stub::new(3, r#"while [ ! -e "$folder/go" ]; do sleep 0.02; done"#);
    let begun = ran(&mut stub.command(&["run", "--background", "--run-id", "r", "--jobs", "2"]));
    begun.exits(0);
    assert!(begun.stdout.starts_with("r runs in the background as process "), "{}", begun.stdout);
    wait_until("both agents", || stub.starts().len() == 2);
    wait_until("both in the progress files", || {
        let status = stub.run(&["status", "r"]);
        status.stdout.contains("r: running (process ") && status.stdout.matches("running  tidy/").count() == 2
    });
    let status: Value = serde_json::from_str(&stub.run(&["status", "--json"]).stdout).expect("JSON");
    assert_eq!(
        (&status["planned"], &status["remaining"], &status["done"]["passed"]),
        (&json!(3), &json!(3), &json!(0))
    );
    let pid = status["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok()).expect("a process");
    let own_session = nix::unistd::getsid(Some(nix::unistd::Pid::from_raw(pid))).expect("a session");
    assert_eq!(own_session.as_raw(), pid, "a session of its own has no terminal");
    nix::sys::signal::kill(own_session, Signal::SIGHUP).expect("a signal");
    assert_eq!(stub.run(&["run", "--run-id", "r", "--resume"]).code, 2, "it is running");
    fs::write(stub.root().join("go"), "").expect("a file");
    wait_until("the summary", || stub.run_folder("r").join("summary.json").exists());
    wait_until("its end", || stub.run(&["status"]).stdout.starts_with("r: finished"));
    assert_eq!(stub.json("r", "summary.json")["total"]["passed"], 3);
    let log = fs::read_to_string(stub.run_folder("r").join("runner.log")).expect("a log");
    assert!(log.contains("3 of 3 cases passed") && log.contains("3 passed"), "{log}");
}

#[test]
fn a_background_run_that_cannot_begin_says_so_at_once() {
    let stub = Stub::new(1, "");
    stub.run("run --background --run-id r --mode nothing").exits(2).warns("unknown mode `nothing`");
}

#[test]
fn a_recycled_process_number_is_not_taken_for_the_runner() {
    let stub = Stub::new(1, "");
    stub.run("run --run-id r").exits(0);
    fs::remove_file(stub.run_folder("r").join("summary.json")).expect("a summary");
    let mut other = Command::new("sleep").arg("30").stdin(Stdio::null()).spawn().expect("sleep");
    let runner = json!({ "pid": other.id(), "started": 1 });
    fs::write(stub.run_folder("r").join("runner.pid"), runner.to_string()).expect("a file");
    assert!(stub.run(&["status"]).stdout.starts_with("r: finished"));
    let stopped = stub.run(&["stop", "r"]);
    assert_eq!((stopped.code, stopped.stdout.as_str()), (0, "r is not running\n"));
    assert!(other.try_wait().expect("a process").is_none(), "a stranger was not harmed");
    other.kill().expect("a signal");
    other.wait().expect("an end");
}

#[test]
fn a_resumed_run_has_the_network_with_which_it_began() {
    let stub = Stub::new(2, "");
    let why = "`network` is \"web\", which needs bubblewrap";
    stub.run("run --run-id r --network web").exits(3).prints(why);
    stub.run("run --resume --run-id r").exits(3).prints(why);
    assert_eq!(stub.starts().len(), 0);
}

#[test]
fn an_untrusted_run_is_resumed_as_one_only() {
    let stub = Stub::new(3, "");
    stub.run("run --run-id r --jobs 1 --max-tokens 15").exits(3);
    // The agent of a stub is one that an untrusted repository may not name.
    let path = stub.run_folder("r").join("run.json");
    let mut record = stub.json("r", "run.json");
    record["chosen"]["untrusted"] = json!(true);
    fs::write(path, record.to_string()).expect("a record");
    stub.run("run --resume --run-id r").exits(2).warns("this run began with `--untrusted`: give it again");
    stub.run("status r").prints("run --resume --run-id r --untrusted");
    assert_eq!(stub.starts().len(), 1);
}
