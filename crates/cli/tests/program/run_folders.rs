//! What a run's directory reports, whatever happened to it and whoever wrote to it: nothing is lost, nothing counts
//! twice, and resuming the run starts only what is missing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::live::wait_until;
use crate::support::stub::{ANSWER, Stub, in_own_group, ran};
use serde_json::{Value, json};
use skill_evals_results::store::RunFolder;

/// A table whose answers must hold these words.
fn table(stub: &Stub, rows: &str) {
    let text = format!("id,should_trigger,prompt,must_include,output_schema\n{rows}");
    fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), text).expect("a table");
}

fn status(stub: &Stub, id: &str) -> Value {
    serde_json::from_str(&stub.run(&["status", id, "--json"]).stdout).expect("JSON")
}

/// The harness for one trial, as a process of nextest's.
fn nextest(stub: &Stub, trial: &str, variables: &[(&str, &str)]) -> Command {
    let mut command = stub.command(&["harness", "--", "--exact", trial]);
    command.env_remove("CARGO_MANIFEST_DIR").envs([("NEXTEST", "1"), ("NEXTEST_RUN_ID", "11111111-2222")]);
    command.envs([("SKILL_EVALS_LIVE", "1"), ("SKILL_EVALS_RUN_ID", "r")]).envs(variables.iter().copied());
    command
}

#[test]
fn a_case_that_passes_by_its_share_is_recorded() {
    let stub = Stub::new(
        1,
        &format!("if [ $(wc -l < \"$folder/starts\") = 2 ]; then {}exit 0; fi", ANSWER.replace("Done.", "No.")),
    );
    table(&stub, "c0,false,Prompt 0,Done,\n");
    stub.settings("threshold = 0.5\ntrials = 2\njobs = 1");
    stub.run("run --run-id r").exits(0);
    let recorded = stub.run(&["record", "r"]);
    recorded.exits(0);
    assert!(recorded.stdout.starts_with("tidy/c0/codex  new: 1/2 passed, 50 % (9–91)  "), "{}", recorded.stdout);
    stub.run("run --replay").exits(0);
    // A higher share fails it: what is recorded stays as it is.
    stub.settings("threshold = 0.6\ntrials = 2\njobs = 1");
    stub.run("record r").exits(1);
}

#[test]
fn what_failed_runs_again_in_the_mode_in_which_it_failed() {
    let stub = Stub::new(2, "");
    stub.settings("mode = { mine = { agent = 'codex', delivery = 'native' } }");
    table(&stub, "c0,false,Prompt 0,never said,\nc1,false,Prompt 1,,\n");
    stub.run("run --run-id r --mode mine --trials 2").exits(1);
    let again = stub.run(&["run", "--failed", "r", "--run-id", "again"]);
    assert_eq!((again.code, stub.starts().len()), (1, 6), "{}{}", again.stdout, again.stderr);
    again.prints("tidy/c0/mine  0/2");
    let other = stub.run(&["run", "--failed", "r", "--case", "c1"]);
    assert_eq!((other.code, stub.starts().len()), (2, 6), "{}", other.stdout);
    other.warns("no case is selected that did not pass in r");
}

#[test]
fn what_was_not_run_has_not_passed() {
    let stub = Stub::new(3, "");
    let first = stub.run(&["run", "--run-id", "r", "--jobs", "1", "--max-tokens", "1"]);
    assert_eq!((first.code, stub.starts().len()), (3, 1), "{}", first.stdout);
    let summary: Value = serde_json::from_str(&stub.run(&["summary", "r", "--json"]).stdout).expect("JSON");
    let reason = "the run has taken its limit of 1 tokens";
    assert_eq!((&summary["not_run"][reason], summary["cases"].as_array().map(Vec::len)), (&json!(2), Some(3)));
    let again = stub.run(&["run", "--failed", "r"]);
    assert_eq!((again.code, stub.starts().len()), (0, 3), "{}{}", again.stdout, again.stderr);
}

#[test]
fn repeats_that_were_not_run_leave_a_case_open() {
    let stub = Stub::new(1, "");
    stub.run(&["run", "--run-id", "r", "--jobs", "1", "--trials", "3", "--max-tokens", "1"]);
    let summary: Value = serde_json::from_str(&stub.run(&["summary", "r", "--json"]).stdout).expect("JSON");
    assert_eq!(
        (&summary["cases"][0]["verdict"], &summary["cases"][0]["not_run"]),
        (&json!("error"), &json!({ "the run has taken its limit of 1 tokens": 2 }))
    );
}

#[test]
fn a_run_counts_once_in_a_summary() {
    let stub = Stub::new(1, "");
    stub.run("run --run-id r").exits(0);
    for other in ["r", "artifacts/skill-evals/r", "artifacts/../artifacts/skill-evals/r/"] {
        stub.run(&["summary", "r", other]).exits(2).warns("is named twice");
    }
}

#[test]
fn a_plan_that_was_cut_short_is_whole_again_after_going_on() {
    let stub = Stub::new(3, "");
    stub.run("run --run-id r").exits(0);
    let path = stub.run_folder("r").join("plan.jsonl");
    let whole = fs::read(&path).expect("a plan");
    for cut in [1, 12, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..cut]).expect("a plan");
        stub.run("run --resume --run-id r").exits(0);
        assert_eq!(status(&stub, "r")["planned"], 3, "cut after {cut} bytes");
    }
    assert_eq!(stub.starts().len(), 3);
}

#[test]
fn a_run_that_does_not_say_what_it_was_to_do_starts_nothing() {
    let stub = Stub::new(3, "");
    stub.run("run --run-id r c1").exits(0);
    fs::remove_file(stub.run_folder("r").join("run.json")).expect("a record");
    let resumed = stub.run(&["run", "--resume", "--run-id", "r"]);
    assert_eq!((resumed.code, stub.starts().len()), (2, 1), "{}", resumed.stdout);
    resumed.warns("r has no run.json");
    let forced = stub.run(&["run", "--resume", "--force", "--run-id", "r", "c1", "c2"]);
    assert_eq!((forced.code, stub.starts().len()), (0, 2), "{}", forced.stderr);
}

#[test]
fn what_a_run_was_to_do_is_known_before_its_skills_are_copied() {
    // A directory in place of the copy makes copying fail, like a copy that takes too long.
    let stub = Stub::new(1, "");
    let mut command = stub.command(&["run", "--run-id", "r", "c0"]);
    ran(command.env("SKILL_EVALS_SCRATCH", stub.root().join("agent.sh"))).exits(2);
    let record = stub.json("r", "run.json");
    assert_eq!((&record["planned"], &record["chosen"]["filters"]), (&json!(1), &json!(["c0"])));
}

#[test]
fn of_several_processes_that_begin_one_run_at_once_one_does() {
    let stub = Stub::new(1, "");
    for round in 1..=8 {
        let id = format!("r{round}");
        let children: Vec<_> = (0..3).map(|_| stub.start(&["run", "--run-id", &id])).collect();
        let mut codes: Vec<_> = children.into_iter().map(|mut child| child.wait().expect("an end").code()).collect();
        codes.sort_unstable();
        assert_eq!((codes, stub.starts().len()), (vec![Some(0), Some(2), Some(2)], round));
    }
}

#[test]
fn what_an_attempt_took_that_measured_nothing_stays_counted_when_its_trial_runs_again() {
    let stub = Stub::new(2, &format!("if [ $(wc -l < \"$folder/starts\") = 1 ]; then {ANSWER}exit 1; fi"));
    stub.run("run --run-id r --jobs 1").exits(3);
    assert_eq!(status(&stub, "r")["done"]["tokens"], 30);
    stub.run("run --resume --run-id r").exits(0);
    for _ in 0..2 {
        let summary: Value = serde_json::from_str(&stub.run(&["summary", "r", "--json"]).stdout).expect("JSON");
        for total in [&status(&stub, "r")["done"], &summary["total"], &stub.json("r", "summary.json")["total"]] {
            assert_eq!((&total["passed"], &total["tokens"]), (&json!(2), &json!(45)));
        }
        assert_eq!(summary["cases"][0]["tokens"], 30);
        // Resuming once more adds nothing.
        assert_eq!((stub.run(&["run", "--resume", "--run-id", "r"]).code, stub.starts().len()), (0, 3));
    }
}

#[test]
fn processes_that_go_on_with_one_run_lose_nothing_of_each_other() {
    let stub = Stub::new(3, r#"case "$prompt" in *1) while [ ! -e "$folder/go" ]; do sleep 0.02; done;; esac"#);
    stub.run("run --run-id r c0").exits(0);
    let resume = [("SKILL_EVALS_RESUME", "1")];
    let mut slow = in_own_group(&mut nextest(&stub, "tidy::c1::codex", &resume));
    wait_until("the slow agent", || stub.starts().len() == 2);
    ran(&mut nextest(&stub, "tidy::c2::codex", &resume)).exits(0);
    fs::write(stub.root().join("go"), "").expect("a file");
    assert_eq!(slow.wait().expect("an end").code(), Some(0));
    let status = status(&stub, "r");
    let figures = (&status["planned"], &status["done"]["passed"], &status["remaining"]);
    assert_eq!(figures, (&json!(3), &json!(3), &json!(0)));
}

#[test]
fn the_digest_of_a_schema_is_that_of_the_copy_which_the_agent_got() {
    let opens = r#"printf '%s\n' '{"type":"thread.started","thread_id":"1"}' '{"type":"turn.started"}' '{"type":"item.completed","item":{"id":"9","type":"command_execution","command":"cat .agents/skills/tidy/SKILL.md","aggregated_output":"Tidy.","exit_code":0,"status":"completed"}}'
"#;
    let stub = Stub::new(1, opens);
    table(&stub, "c0,true,Prompt 0,,evals/answer.schema.json\n");
    let schema = stub.root().join("evals/answer.schema.json");
    let inputs = |id: &str| {
        fs::write(&schema, r#"{"type": "string"}"#).expect("a schema");
        stub.run(&["run", "--run-id", id]);
        stub.json(id, "work/tidy/c0/codex/1/meta.json")["inputs"].clone()
    };
    let undisturbed = inputs("r");
    assert!(undisturbed["output schema"].is_string(), "{undisturbed}");
    stub.body(&format!("{opens}echo '{{}}' > \"$folder/evals/answer.schema.json\""));
    assert_eq!(inputs("s"), undisturbed);
}

/// A program that answers as a harness does, after `noise`, by what `answer` prints to each question.
fn harness(stub: &Stub, noise: &str, answer: &str) -> String {
    let path = stub.root().join("harness.sh");
    let text = format!(
        "#!/bin/sh\nfolder='{}'\n{noise}\necho '{{\"own_checks\": [\"mine\"], \"root\": \"/\"}}'\nwhile read -r question; do {answer}; done\n",
        stub.root().display()
    );
    fs::write(&path, text).expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("permissions");
    path.display().to_string()
}

#[test]
fn what_a_harness_prints_before_it_answers_is_passed_over() {
    let stub = Stub::new(1, "");
    let program = harness(&stub, "echo; echo 'setting up {'; echo '{\"a\": 1}'", "echo '{\"checks\": []}'");
    let run = ran(stub.command(&["run"]).env("SKILL_EVALS_HARNESS", program));
    assert_eq!((run.code, stub.starts().len()), (0, 1), "{}{}", run.stdout, run.stderr);
}

#[test]
fn a_harness_that_dies_on_one_trial_grades_the_next() {
    let stub = Stub::new(2, "");
    let dies = r#"case "$question" in *c0*) [ -e "$folder/fixed" ] || exit 3;; esac; echo '{"checks": []}'"#;
    let program = harness(&stub, "", dies);
    let with = |args: &[&str]| ran(stub.command(args).env("SKILL_EVALS_HARNESS", &program));
    let run = with(&["run", "--run-id", "r", "--jobs", "1"]);
    run.exits(3).prints("1 passed, 0 failed, 1 error").prints("it ended (exit status: 3) without an answer");
    // The agent's work was kept: only its grading is made up for.
    fs::write(stub.root().join("fixed"), "").expect("a file");
    let resumed = with(&["run", "--resume", "--run-id", "r"]);
    assert_eq!((resumed.code, stub.starts().len()), (0, 2), "{}{}", resumed.stdout, resumed.stderr);
}

#[test]
fn a_check_that_does_not_come_back_does_not_keep_a_run_from_being_ended() {
    let stub = Stub::new(1, "");
    let program = harness(&stub, "", r#"echo > "$folder/asked"; sleep 600 >/dev/null"#);
    let mut command = stub.command(&["run", "--run-id", "r"]);
    let mut child = in_own_group(command.env("SKILL_EVALS_HARNESS", program));
    wait_until("the question", || stub.root().join("asked").exists());
    let stopped = stub.run(&["stop", "r"]);
    assert!(stopped.stdout.starts_with("r stopped"), "{}", stopped.stdout);
    assert_eq!(child.wait().expect("an end").code(), Some(130));
    let status = status(&stub, "r");
    assert_eq!((&status["state"], &status["remaining"]), (&json!("stopped"), &json!(1)));
    // What the agent did is graded by the next part.
    let program = harness(&stub, "", "echo '{\"checks\": []}'");
    let resumed = ran(stub.command(&["run", "--resume", "--run-id", "r"]).env("SKILL_EVALS_HARNESS", program));
    assert_eq!((resumed.code, stub.starts().len()), (0, 1), "{}{}", resumed.stdout, resumed.stderr);
}

#[test]
fn a_plan_with_a_flipped_bit_plans_no_other_trial() {
    let stub = Stub::new(3, "");
    stub.run("run --run-id r").exits(0);
    let path = stub.run_folder("r").join("plan.jsonl");
    let whole = fs::read(&path).expect("a plan");
    let plan = || RunFolder::at(&stub.run_folder("r")).plan();
    let planned = plan().expect("a plan");
    for bit in 0..whole.len() * 8 {
        let mut spoiled = whole.clone();
        spoiled[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, spoiled).expect("a plan");
        match plan() {
            // A line that lost its end is taken for one that was cut short.
            Ok(found) => assert!(found.is_subset(&planned), "bit {bit}: {found:?}"),
            Err(error) => assert!(error.to_string().contains("plan.jsonl: line "), "{error}"),
        }
    }
    fs::write(&path, String::from_utf8(whole).expect("text").replacen("\"c0\"", "\"c8\"", 1)).expect("a plan");
    for args in [&["run", "--resume", "--run-id", "r"][..], &["status", "r"], &["summary", "r"]] {
        let words = "plan.jsonl: line 1 is not as the run wrote it; restore the file, or start a new run";
        stub.run(args).exits(2).warns(words);
    }
    assert_eq!(stub.starts().len(), 3);
}

#[test]
fn a_run_of_which_a_part_was_removed_is_an_error() {
    let stub = Stub::new(3, "");
    for (part, words) in [
        ("work/tidy/c1", "1 of its 3 graded trials are missing: a part of the run was removed"),
        ("run.json", "it has no run.json: a part of the run was removed"),
    ] {
        stub.run("run --run-id r").exits(0);
        stub.run("summary r").exits(0);
        let part = stub.run_folder("r").join(part);
        if part.is_dir() { fs::remove_dir_all(part) } else { fs::remove_file(part) }.expect("a part");
        let all = [
            &["summary", "r"][..],
            &["report", "r"],
            &["grade", "r"],
            &["export", "r", "--to", "csv"],
            &["record", "r"],
        ];
        // What needs no plan only needs the trials.
        for args in if words.contains("run.json") { &all[..2] } else { &all } {
            stub.run(*args).exits(2).warns(words);
        }
        assert_eq!(stub.run(&["clean", "--keep", "0"]).stdout, "r removed\n");
    }
}

#[test]
fn a_killed_clean_leaves_a_run_whole_or_not_at_all() {
    let stub = Stub::new(4, "");
    for moment in (0..40).step_by(4) {
        stub.run("run --run-id r --quiet").exits(0);
        // They take a while to be removed.
        for number in 0..2000 {
            fs::write(stub.run_folder("r").join(format!("work/tidy/c0/codex/1/{number}")), "").expect("a file");
        }
        let mut clean = stub.start(&["clean", "--keep", "0"]);
        std::thread::sleep(std::time::Duration::from_millis(moment));
        clean.kill().expect("a signal");
        clean.wait().expect("an end");
        let summary = stub.run(&["summary", "r"]);
        let text = [summary.stdout, summary.stderr].concat();
        assert!(text.contains("4 of 4 cases passed") || text.contains("unknown run `r`"), "{moment} ms: {text}");
        stub.run("clean --keep 0").exits(0);
        let left: Vec<_> = fs::read_dir(stub.root().join("artifacts/skill-evals")).expect("a directory").collect();
        assert_eq!(left.len(), 1, "only .gitignore is left: {left:?}");
    }
}
