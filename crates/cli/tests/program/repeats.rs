//! How often a case runs and which share of its trials must pass: who may say so, and that every command goes by it.

use skill_evals_testing::tables;
use std::fs;
use std::process::Command;

use crate::support::fixture::Fixture;
use crate::support::stub::{ANSWER, Stub, in_own_group, ran};
use serde_json::{Value, json};
use skill_evals_evidence::settings::trials::Trials;

/// An agent that says what must be said every second time only, for each prompt on its own. A start takes its turn by
/// making a directory: of two that start at once, each has a turn of its own.
fn every_second() -> String {
    let turn = "turn=1; until mkdir \"$folder/turn $turn of $prompt\" 2> /dev/null; do turn=$((turn + 1)); done";
    format!("{turn}; [ $((turn % 2)) = 1 ] || {{ {} exit 0; }}", ANSWER.replace("Done", "No"))
}

fn table(stub: &Stub, rows: &[&str]) {
    let text = format!("id,should_trigger,prompt,must_include,trials,threshold\n{}\n", rows.join("\n"));
    fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), text).expect("cases");
}

fn harness(stub: &Stub, trial: &str) -> Command {
    let mut command = stub.command(&["harness", "--exact", trial]);
    for name in ["NEXTEST", "NEXTEST_RUN_ID", "CARGO_MANIFEST_DIR"] {
        command.env_remove(name);
    }
    command
}

/// Verdicts of the cases of a run by id, as `summary` has them.
fn verdicts(stub: &Stub, run: &str) -> Value {
    let summary: Value = serde_json::from_str(&stub.run(&["summary", run, "--json"]).stdout).expect("JSON");
    let cases = summary["cases"].as_array().expect("cases").iter();
    cases.map(|row| (row["case"].as_str().expect("an id").to_owned(), row["verdict"].clone())).collect()
}

#[test]
fn a_case_says_itself_how_often_it_runs_and_what_share_must_pass() {
    let stub = Stub::new(0, &every_second());
    table(&stub, &["half,false,One,Done,4,0.5", "most,false,Two,Done,4,0.6", "once,false,Three,Done,,"]);
    stub.settings("jobs = 1");
    let run = stub.run(&["run", "--run-id", "r"]);
    assert_eq!((run.code, stub.starts().len()), (1, 9), "{}", run.stdout);
    let expected = json!({"half": "pass", "most": "fail", "once": "pass"});
    assert_eq!(verdicts(&stub, "r"), expected);
    assert_eq!(stub.json("r", "summary.json")["cases"][0]["threshold"], json!(0.5));

    // A stored grade has its threshold; `grade` goes by that of today.
    table(&stub, &["half,false,One,Done,4,0.6", "most,false,Two,Done,4,0.5", "once,false,Three,Done,,"]);
    assert_eq!(verdicts(&stub, "r"), expected);
    stub.run("grade r").exits(1);
    assert_eq!(verdicts(&stub, "r"), json!({"half": "fail", "most": "pass", "once": "pass"}));
    let recorded = stub.run(&["record", "r"]);
    recorded.prints("tidy/half/codex  new: 2/4 passed, 50 % (15–85), not recorded");
    recorded.prints("tidy/most/codex  new: 2/4 passed, 50 % (15–85)  evals/");
    stub.run("run --replay").exits(0);
    ran(&mut harness(&stub, "tidy::most::codex")).exits(0);
    let live = ran(harness(&stub, "tidy::half::codex").env("SKILL_EVALS_LIVE", "1"));
    live.exits(101).prints("2 of 4 trials passed, 50 % (15–85); 3 must");
    ran(harness(&stub, "tidy::most::codex").env("SKILL_EVALS_LIVE", "1")).exits(0);
}

#[test]
fn the_command_line_rules_over_the_case_the_case_over_its_skill_and_that_over_the_rest() {
    let stub = Stub::new(0, "");
    let trials = |args: &[&str], variables: &[(&str, &str)]| {
        let estimate =
            ran(stub.command(&[&["run", "--dry-run", "--json"], args].concat()).envs(variables.iter().copied()));
        let estimate: Value = serde_json::from_str(&estimate.stdout).expect("JSON");
        estimate["trials"].as_array().expect("trials").len()
    };
    table(&stub, &["own,false,One,,2,", "plain,false,Two,,,"]);
    assert_eq!(trials(&[], &[]), 2 + 1);
    stub.settings("trials = 5");
    assert_eq!(trials(&[], &[]), 2 + 5);
    stub.settings("trials = 5\nskills.Tidy.trials = 3");
    assert_eq!(trials(&[], &[]), 2 + 3);
    assert_eq!(trials(&[], &[("SKILL_EVALS_TRIALS", "4")]), 4 + 4);
    assert_eq!(trials(&["--trials", "6"], &[("SKILL_EVALS_TRIALS", "4")]), 6 + 6);
}

#[test]
fn a_threshold_of_the_command_line_holds_for_its_run_and_for_no_other() {
    let stub = Stub::new(0, &every_second());
    table(&stub, &["it,false,One,Done,2,1"]);
    stub.settings("jobs = 1\nskills.tidy.threshold = 0.9");
    stub.run("run --run-id r --threshold 0.5").exits(0);
    for args in [&["summary", "r"][..], &["grade", "r"], &["summary", "r"], &["run", "--resume", "--run-id", "r"]] {
        stub.run(args).exits(0);
    }
    let again = ran(stub.command(&["grade", "r"]).env("SKILL_EVALS_THRESHOLD", "1"));
    assert_eq!((again.code, stub.starts().len()), (1, 2), "{}", again.stdout);
    // Options given when it is resumed hold from then on.
    stub.run("run --resume --run-id r --threshold 1").exits(1);
    for args in [&["summary", "r"][..], &["grade", "r"], &["run", "--resume", "--run-id", "r"]] {
        stub.run(args).exits(1);
    }
    stub.run("run --run-id other").exits(1);
    stub.run("run --threshold 80").exits(2).warns("expected a share above 0 and up to 1");
}

#[test]
fn a_run_goes_on_with_as_many_trials_as_it_began_with() {
    let stub = Stub::new(0, "");
    table(&stub, &["it,false,One,,3,"]);
    let first = stub.run(&["run", "--run-id", "r", "--jobs", "1", "--max-tokens", "1"]);
    assert_eq!((first.code, stub.starts().len()), (3, 1), "{}", first.stdout);
    table(&stub, &["it,false,One,,5,"]);
    stub.run("run --resume --run-id r").exits(0);
    assert_eq!(stub.starts().len(), 3);
    stub.run("run --resume --run-id r --trials 4").exits(0);
    assert_eq!(stub.starts().len(), 4);
}

#[test]
fn a_replay_with_fewer_recorded_trials_than_a_case_asks_for_says_so() {
    let stub = Stub::new(2, "");
    stub.run("run --record").exits(0);
    let replay = |more: &[&str]| stub.run(&[&["run", "--replay"], more].concat());
    assert!(!replay(&[]).stdout.contains("are recorded"));
    stub.settings("trials = 3");
    let ran = replay(&[]);
    let note = "2 cases: only 2 of 6 trials are recorded; `skill-evals run --record` measures all\n";
    ran.exits(0).prints(note);
    // Recordings of another model are stale: the command that measures again names the model.
    let stale = replay(&["--model", "big"]);
    let again = |case: &str| format!("skill-evals run --case tidy/{case} --mode codex --model big --record");
    let is_named = ["c0", "c1"].iter().any(|case| stale.stdout.contains(&again(case)));
    assert!(is_named, "{}{}", stale.stdout, stale.stderr);
}

#[test]
fn too_few_trials_are_named_for_each_threshold() {
    let stub = Stub::new(0, "");
    table(
        &stub,
        &[
            "a,false,One,,5,0.8",
            "b,false,Two,,14,0.8",
            "c,false,Three,,3,0.5",
            "d,false,Four,,3,",
            "e,false,Five,,5,0.5",
        ],
    );
    let ran = stub.run(&["run"]);
    let end = "3 passes of a case prove 37 %; to prove 50 %, run 5 trials\n\
               5 passes of a case prove 55 %; to prove 80 %, run 14 trials\n";
    ran.prints(end);
    assert_eq!(ran.stdout.matches("of a case prove").count(), 2, "{}", ran.stdout);
}

#[test]
fn what_cannot_be_a_number_of_trials_or_a_share_is_named_where_it_stands() {
    let csv = Fixture::new().skill("tidy").prompts(
        "tidy",
        "id,should_trigger,prompt,trials,threshold\na,true,Do it,0,80%\nb,true,Do that,1001,0\nc,true,More,2,1\n",
    );
    let lines = csv.lines();
    for line in [
        "evals/skills/tidy/prompts.csv:2:14: [bad-number] `trials` is \"0\"; expected 1 to 1000, `until decided` or `until decided at most N`",
        "evals/skills/tidy/prompts.csv:2:16: [bad-number] `threshold` is \"80%\"; expected a share above 0 and up to 1",
        "evals/skills/tidy/prompts.csv:3:16: [bad-number] `trials` is \"1001\"",
        "evals/skills/tidy/prompts.csv:3:21: [bad-number] `threshold` is \"0\"",
    ] {
        assert!(lines.contains(line), "{line}\n{lines}");
    }
    assert_eq!(csv.good_cases(), ["c"]);

    let config = |more: &str| {
        let text =
            format!("{{ \"prompt\": \"Do it\", \"evalConfig\": {{ \"expectedSkillName\": \"tidy\", {more} }} }}");
        Fixture::new().skill("tidy").task("it", text)
    };
    let task = config("\"trials\": 2.5, \"threshold\": \"most\"").lines();
    assert!(
        task.contains("evals/tasks/it.json:1:77: [bad-number] `evalConfig.trials` is 2.5; expected 1 to 1000"),
        "{task}"
    );
    assert!(
        task.contains("evals/tasks/it.json:1:95: [value-type] `evalConfig.threshold` is a string; expected a number"),
        "{task}"
    );
    let task = config("\"trials\": true").lines();
    let words = "[value-type] `evalConfig.trials` is a boolean; expected 1 to 1000, `until decided` or `until decided at most N`";
    assert!(task.contains(words), "{task}");
    let found = config("\"trials\": 2, \"threshold\": 0.5").catalog();
    let said = found.cases[0].repetition();
    assert_eq!((said.trials, said.threshold), (Some(Trials::Times(2)), Some(0.5)));

    let settings = "threshold = 1.5\n[skills.tidy]\ntrials = 0\n";
    let wrong = Fixture::new().skill("tidy").file("evals/evals.toml", settings).run(&["list"]);
    for place in ["evals.toml:1:13", "evals.toml:3:10"] {
        wrong.exits(2).warns(place);
    }
}

/// What is said of these settings.
fn settings(text: &str) -> String {
    let fixture = Fixture::new().skill("tidy").file("evals/evals.toml", text);
    let told = fixture.run(&["list"]).told(fixture.root());
    assert!(!told.contains("invalid type"), "{told}");
    told
}

tables! {
    settings => a_setting_of_the_wrong_kind_is_told_in_the_words_of_the_settings;
}

#[test]
fn a_threshold_of_1_may_be_a_whole_number_and_a_variable_is_told_as_a_setting() {
    assert_eq!(Fixture::new().skill("tidy").file("evals/evals.toml", "threshold = 1").run(&["list"]).code, 0);
    let stub = Stub::new(1, "");
    let words = "SKILL_EVALS_THRESHOLD is \"80%\"; expected a share above 0 and up to 1";
    ran(stub.command(&["list"]).env("SKILL_EVALS_THRESHOLD", "80%")).exits(2).warns(words);
}

#[test]
fn settings_for_a_skill_that_is_not_there_are_an_error_in_every_command_that_goes_by_them() {
    let stub = Stub::new(1, "");
    stub.settings("skills.tidyy.trials = 2");
    let message = |text: &str| {
        assert!(text.contains("evals/evals.toml:2:8") && text.contains("unknown skill `tidyy`"), "{text}");
        assert!(text.contains("did you mean `tidy`?"), "{text}");
    };
    for args in [&["run"][..], &["run", "--replay"], &["run", "--dry-run"]] {
        let ran = stub.run(args);
        assert_eq!((ran.code, stub.starts().len()), (2, 0), "{args:?}");
        message(&ran.stderr);
    }
    message(&stub.run(&["lint", "--check-evals"]).stdout);
    let lint = ran(&mut harness(&stub, "repository::lint"));
    lint.exits(101);
    message(&lint.stdout);
    stub.run("list").exits(0);
}

/// An agent that says what must be said to `good`, never to `bad`, and every second time to anything else.
fn by_prompt() -> String {
    let no = ANSWER.replace("Done", "No");
    format!("case \"$prompt\" in good) ;; bad) {no} exit 0;; *) {};; esac", every_second())
}

fn count(stub: &Stub, prompt: &str) -> usize {
    stub.starts().iter().filter(|start| *start == prompt).count()
}

#[test]
fn a_case_that_goes_on_until_it_is_decided_takes_no_trial_that_is_not_needed() {
    let stub = Stub::new(0, &by_prompt());
    let until = "until decided at most 20,0.5";
    table(
        &stub,
        &[&format!("a,false,good,Done,{until}"), &format!("b,false,bad,Done,{until}"), "c,false,good,Done,2,"],
    );
    let ran = stub.run(&["run", "-v", "--run-id", "r", "--jobs", "6"]);
    assert_eq!((ran.code, count(&stub, "good"), count(&stub, "bad")), (1, 7 + 2, 7), "{}", ran.stdout);
    let line = |end: &str| assert!(ran.stdout.contains(end), "{end}\n{}", ran.stdout);
    line("tidy/a/codex  7/7  100 % (52–100)  pass    decided after 7 of at most 20 trials\n");
    line("tidy/b/codex  0/7  0 % (0–48)      fail    must-include, decided after 7 of at most 20 trials\n");
    let cases = stub.json("r", "summary.json")["cases"].clone();
    assert_eq!(
        (&cases[0]["threshold_side"], &cases[1]["threshold_side"], &cases[2]["threshold_side"]),
        (&json!("above"), &json!("below"), &Value::Null)
    );
    assert_eq!(
        (stub.json("r", "summary.json")["planned"].clone(), stub.json("r", "run.json")["grows"].clone()),
        (json!(16), json!(true))
    );
    let status = stub.run(&["status", "r"]).stdout;
    assert!(status.contains("r: finished\n  done     16 of 16: "), "{status}");
    assert!(status.contains("  decided  2 of 2 cases\n"), "{status}");
    // Nothing is left to resume, even if it was killed at its very end.
    let whole = without_end(&stub, "r");
    let killed = stub.run(&["status", "r"]).stdout;
    assert!(killed.starts_with("r: finished\n") && !killed.contains("to resume"), "{killed}");
    fs::write(stub.run_folder("r").join("run.json"), whole).expect("a record");
    // Nothing is left to be done, and summaries of the stored run say the same.
    stub.run("run --resume --run-id r").exits(1);
    assert_eq!(stub.starts().len(), 16);
    assert_eq!(
        stub.run(&["summary", "r"]).stdout.lines().find(|line| line.starts_with("tidy/b  ")),
        ran.stdout.lines().find(|line| line.starts_with("tidy/b  "))
    );

    // Recordings hold all trials, however often today's settings would run the case.
    stub.run("record r --accept-failing").exits(0).prints("tidy/a/codex  new: 7/7 passed, 100 % (52–100)  ");
    let replayed = stub.run(&["run", "-v", "--replay"]);
    assert_eq!((replayed.code, stub.starts().len()), (1, 16));
    line("tidy/a/codex  7/7");
    replayed.prints("7/7  100 % (52–100)  pass    decided after 7 of at most 20 trials");
    assert_eq!(ran_with(&stub, "tidy::a::codex", "0"), (0, String::new()));

    // The same in a test, which starts agents side by side too.
    let (code, text) = ran_with(&stub, "tidy::b::codex", "1");
    assert_eq!((code, count(&stub, "bad")), (101, 14), "{text}");
    assert!(text.contains("0 of 7 trials passed, 0 % (0–48); 4 must; decided after 7 of at most 20 trials"), "{text}");
    assert_eq!((ran_with(&stub, "tidy::a::codex", "1").0, count(&stub, "good")), (0, 16));
}

#[test]
fn processes_that_share_a_run_go_on_until_each_case_is_decided() {
    let stub = Stub::new(0, &by_prompt());
    let until = "until decided at most 20,0.5";
    table(&stub, &[&format!("a,false,good,Done,{until}"), &format!("b,false,bad,Done,{until}")]);
    let started = ["tidy::a::codex", "tidy::b::codex"].map(|trial| {
        let mut command = harness(&stub, trial);
        command.envs([("NEXTEST", "1"), ("NEXTEST_RUN_ID", "11111111-2222"), ("SKILL_EVALS_LIVE", "1")]);
        in_own_group(command.env("SKILL_EVALS_RUN_ID", "r"))
    });
    let codes = started.map(|mut process| process.wait().expect("an end").code());
    assert_eq!((codes, count(&stub, "good"), count(&stub, "bad")), ([Some(0), Some(101)], 7, 7));
    stub.run("status r").prints("\n  done     14 of 14: ").prints("  decided  2 of 2 cases\n  left     0\n");
    assert_eq!(verdicts(&stub, "r"), json!({"a": "pass", "b": "fail"}));
}

/// Takes away how a run ended, as if it had been killed. Returns the record as it was.
fn without_end(stub: &Stub, id: &str) -> Vec<u8> {
    let path = stub.run_folder(id).join("run.json");
    let (whole, mut cut) = (fs::read(&path).expect("a record"), stub.json(id, "run.json"));
    cut.as_object_mut().expect("an object").remove("ended");
    fs::write(&path, cut.to_string()).expect("a record");
    whole
}

/// The code of a test, and what it says where it fails.
fn ran_with(stub: &Stub, trial: &str, live: &str) -> (i32, String) {
    let ran = ran(harness(stub, trial).env("SKILL_EVALS_LIVE", live));
    (ran.code, if ran.code == 0 { String::new() } else { ran.stdout })
}

#[test]
fn what_no_trials_decided_passes_by_its_share_and_says_so() {
    let stub = Stub::new(0, &by_prompt());
    table(&stub, &["half,false,other,Done,until decided at most 12,0.5", "most,false,others,Done,,0.6"]);
    stub.settings("trials = 'until decided at most 12'");
    let ran = stub.run(&["run", "--run-id", "r", "--jobs", "1"]);
    assert_eq!((ran.code, stub.starts().len()), (1, 24), "{}", ran.stdout);
    assert!(
        ran.stdout.contains(
            "tidy/half/codex  6/12  50 % (14–86)  pass    must-include (6×), undecided after 12 of at most 12 trials\n"
        ),
        "{}",
        ran.stdout
    );
    assert_eq!(verdicts(&stub, "r"), json!({"half": "pass", "most": "fail"}));
    let status = stub.run(&["status", "r"]).stdout;
    assert!(
        status.contains("  decided  0 of 2 cases\n  open     tidy/half/codex: 6/12, 50 % (14–86), undecided after"),
        "{status}"
    );
    let page = fs::read_to_string(stub.run_folder("r").join("summary.md")).expect("a page");
    assert!(
        page.contains(
            "| tidy/half | codex | 6/12 | 50 % (14–86) | must-include (6×), undecided after 12 of at most 12 trials |"
        ),
        "{page}"
    );
}

#[test]
fn a_case_that_was_cut_short_goes_on_until_it_is_decided() {
    let stub = Stub::new(0, &by_prompt());
    table(&stub, &["a,false,good,Done,until decided,0.8"]);
    // Each trial takes 15 tokens.
    let first = stub.run(&["run", "--run-id", "r", "--jobs", "1", "--max-tokens", "75"]);
    assert_eq!((first.code, stub.starts().len()), (3, 5), "{}", first.stdout);
    let status = stub.run(&["status", "r"]).stdout;
    assert!(
        status.contains("  open     tidy/a/codex: 5/5, 100 % (41–100), undecided after 5 of at most 100 trials\n"),
        "{status}"
    );
    // An undecided case has no verdict, whatever the share is so far.
    assert_eq!(verdicts(&stub, "r"), json!({"a": "error"}));
    // The run finished its plan: nothing says that it was killed, and it can be resumed.
    assert!(status.starts_with("r: finished\n"), "{status}");
    let go_on =
        "  to resume: skill-evals run --resume --run-id r  (runs the 8 left, and more until every case is decided)\n";
    assert!(status.ends_with(go_on), "{status}");
    // Without its end it was killed.
    let whole = without_end(&stub, "r");
    let killed = stub.run(&["status", "r"]).stdout;
    assert!(killed.starts_with("r: killed\n") && killed.ends_with(go_on), "{killed}");
    fs::write(stub.run_folder("r").join("run.json"), whole).expect("a record");
    let again = stub.run(&["run", "-v", "--resume", "--run-id", "r", "--jobs", "3"]);
    assert_eq!((again.code, stub.starts().len()), (0, 24), "{}", again.stdout);
    again.prints("24/24  100 % (81–100)  pass    decided after 24 of at most 100 trials");
}

#[test]
fn status_counts_cases_that_go_on_before_their_first_trial_and_none_that_is_at_its_most() {
    let stub = Stub::new(0, &by_prompt());
    let until = "until decided at most 12,0.5";
    table(
        &stub,
        &[&format!("a,false,good,Done,{until}"), &format!("b,false,other,Done,{until}"), "c,false,good,Done,1,"],
    );
    let status = || stub.run(&["status", "r"]).stdout;
    stub.run(&["run", "--run-id", "r", "--jobs", "1", "--max-tokens", "15"]);
    let first = status();
    assert!(
        first.contains("  decided  0 of 2 cases\n")
            && first.contains("  open     tidy/b/codex: 0/0, undecided after 0 of at most 12"),
        "{first}"
    );
    let command = "  to resume: skill-evals run --resume --run-id r  (runs the ";
    let rest = first.lines().last().unwrap_or_default();
    assert!(rest.starts_with(command) && rest.ends_with(" left, and more until every case is decided)"), "{first}");
    stub.run(&["run", "--resume", "--run-id", "r", "--jobs", "1"]);
    let last = status();
    assert!(
        last.contains("  decided  1 of 2 cases\n") && last.contains("undecided after 12 of at most 12 trials"),
        "{last}"
    );
    assert!(last.starts_with("r: finished\n") && !last.contains("to resume"), "{last}");
    without_end(&stub, "r");
    assert!(status().starts_with("r: finished\n"), "{}", status());
}

#[test]
fn a_run_that_ended_at_its_limit_says_how_to_go_on() {
    let stub = Stub::new(3, "");
    stub.run(&["run", "--run-id", "r", "--jobs", "1", "--max-tokens", "15"]);
    let status = stub.run(&["status", "r"]).stdout;
    let words = "  to resume: skill-evals run --resume --run-id r  (runs the 2 left)\n";
    assert!(status.starts_with("r: finished\n") && status.ends_with(words), "{status}");
}

#[test]
fn what_crashed_in_a_case_that_is_decided_is_not_paid_again() {
    let stub = Stub::new(0, "[ $(($(wc -l < \"$folder/starts\") % 6)) = 0 ] && exit 7");
    table(&stub, &["a,false,good,Done,until decided,0.8", "b,false,other,Done,2,"]);
    stub.run(&["run", "--run-id", "r", "--jobs", "1", "--case", "a"]);
    assert_eq!(stub.starts().len(), 28);
    let status = stub.run(&["status", "r"]).stdout;
    assert!(status.contains("24 passed, 0 failed, 4 errors") && !status.contains("to resume"), "{status}");
    stub.body("");
    let again = stub.run(&["run", "--resume", "--run-id", "r", "--jobs", "1"]);
    assert_eq!((again.code, stub.starts().len()), (0, 28), "{}", again.stdout);
    again.prints("24 passed, 0 failed, 4 errors");
    assert_eq!(stub.json("r", "summary.json")["total"]["errors"], json!(4));
    // More is asked of it now, and what crashed is run again like the rest.
    let more = stub.run(&["run", "--resume", "--run-id", "r", "--jobs", "1", "--threshold", "0.85"]);
    assert!(stub.starts().len() > 28 && more.stdout.contains(" 0 errors"), "{}", more.stdout);
}

#[test]
fn trials_that_measure_nothing_decide_nothing_and_soon_end_a_case() {
    let stub = Stub::new(0, "exit 7");
    table(&stub, &["a,false,good,Done,until decided,0.8"]);
    let ran = stub.run(&["run", "--run-id", "r", "--jobs", "1"]);
    assert_eq!((ran.code, stub.starts().len()), (3, 5), "{}", ran.stdout);
    // Failures now and then are not a reason to stop.
    stub.body("[ $(($(wc -l < \"$folder/starts\") % 6)) = 0 ] && exit 7");
    fs::remove_file(stub.root().join("starts")).expect("starts");
    let ran = stub.run(&["run", "--run-id", "s", "--jobs", "1"]);
    assert_eq!(stub.starts().len(), 28, "{}", ran.stdout);
    // What crashed in between could not change the verdict, here nor in a replay.
    ran.prints("24/24  100 % (81–100)  pass ");
    assert_eq!(verdicts(&stub, "s"), json!({"a": "pass"}));
    stub.run("record s").exits(0);
    stub.run("run --replay").exits(0);
    // If all that crashed had failed, the case would not reach its threshold: it is not known to.
    stub.body("[ $(($(wc -l < \"$folder/starts\") % 2)) = 0 ] && exit 7");
    let open = stub.run(&["run", "--run-id", "o", "--jobs", "1"]);
    assert_eq!((open.code, verdicts(&stub, "o")), (3, json!({"a": "error"})), "{}", open.stdout);
    stub.run("record o").exits(3).prints("trials were measured, and the others could change the result");
}

#[test]
fn a_run_of_cases_that_could_never_be_decided_is_refused_before_an_agent_starts() {
    let stub = Stub::new(1, "");
    for (threshold, words) in [
        ("1", "no number of trials shows a threshold of 1"),
        ("0.95", "write at least `trials = \"until decided at most 116\"`"),
    ] {
        let args = ["--trials", "until decided", "--threshold", threshold];
        for command in [&["run"][..], &["run", "--dry-run"]] {
            let ran = stub.run(&[command, &args].concat());
            assert_eq!((ran.code, stub.starts().len()), (2, 0), "{}", ran.stdout);
            ran.warns("tidy/c0 runs until it is decided").warns(words);
        }
    }
    let mut live = harness(&stub, "tidy::c0::codex");
    let ran = ran(live.envs([("SKILL_EVALS_LIVE", "1"), ("SKILL_EVALS_TRIALS", "until decided")]));
    ran.exits(101).prints("no number of trials shows a threshold of 1");
    assert_eq!(stub.starts().len(), 0);
    let estimate = stub.run(&["run", "--dry-run", "--json", "--trials", "until-decided", "--threshold", "0.9"]);
    let estimate: Value = serde_json::from_str(&estimate.stdout).expect("JSON");
    assert_eq!(estimate["trials"].as_array().map(Vec::len), Some(100), "the most that it may come to");
    stub.run(&["run", "--trials", "until then"]).exits(2).warns("`until decided at most N`");
}

#[test]
fn a_case_that_could_never_be_decided_is_named_by_its_cell_and_keeps_no_other_from_running() {
    let stub = Stub::new(0, "");
    table(&stub, &["good,false,One,Done,,", "few,false,Two,Done,until decided at most 5,0.8"]);
    let place = "evals/skills/tidy/prompts.csv:3:20";
    let words = "tidy/few runs until it is decided, but its maximum of 5 trials cannot show its threshold of 0.8";
    let lint = stub.run(&["lint", "--check-evals"]);
    lint.exits(1).prints("error[never-decided]").prints(place);
    lint.prints(words).prints("write at least `trials = \"until decided at most 24\"`");

    let dry = stub.run(&["run", "--dry-run"]);
    assert!(dry.stdout.starts_with("tidy/good/codex\n1 trial would run\n"), "{}", dry.stdout);
    assert!(!dry.stdout.contains("two such runs"), "so few find nothing: {}", dry.stdout);
    let found = "two such runs find a drop of all cases from 90 to 55 % with a probability of 80 %\n";
    stub.run("run --dry-run --case good --trials 30").prints(found);
    dry.exits(2).prints(place);
    let estimate: Value = serde_json::from_str(&stub.run(&["run", "--dry-run", "--json"]).stdout).expect("JSON");
    assert_eq!(
        (&estimate["trials"], &estimate["problems"][0]["code"]),
        (&json!(["tidy/good/codex"]), &json!("never-decided"))
    );

    let ran = stub.run(&["run", "--run-id", "r"]);
    assert_eq!((ran.code, stub.starts().len()), (2, 1), "{}", ran.stdout);
    ran.prints(place).prints(words).prints("1 passed, 0 failed, 0 errors, 0 unscored, ");
    let (code, text) = ran_with(&stub, "tidy::few::codex", "1");
    assert!(code == 101 && text.contains(words), "{text}");
    assert_eq!(ran_with(&stub, "tidy::good::codex", "1").0, 0);
    // What the settings say of it is named at the case that it holds for, with the others' problems.
    table(&stub, &["good,false,One,Done,,", "few,false,Two,Done,,"]);
    stub.settings("trials = 'until decided'\nskills.tidy.threshold = 0.95");
    stub.run("lint --check-evals").prints("prompts.csv:2:1").prints("prompts.csv:3:1");
}

#[test]
fn what_keeps_several_cases_from_running_is_told_once() {
    let stub = Stub::new(0, "");
    table(&stub, &["a,false,One,Done,,", "b,false,Two,Done,,", "c,false,Three,Done,,"]);
    // It keeps codex from offering the skill, in each case alike.
    let own = "policy:\n  allow_implicit_invocation: false\n";
    std::fs::create_dir_all(stub.root().join("skills/tidy/agents")).expect("a directory");
    std::fs::write(stub.root().join("skills/tidy/agents/openai.yaml"), own).expect("a file");
    stub.settings("[mode.other]\nagent = 'codex'\ndelivery = 'native'");
    let both = ["--mode", "codex", "--mode", "other"];
    for args in [&[&["run", "--dry-run"][..], &both].concat()[..], &[&["compare", "--jobs", "1"][..], &both].concat()] {
        let ran = stub.run(args);
        let told = |mode: &str| ran.stdout.matches(&format!("in the mode `{mode}` could measure anything")).count();
        assert_eq!((told("codex"), told("other")), (1, 1), "{args:?}: {}{}", ran.stdout, ran.stderr);
        let is_dry = args.contains(&"--dry-run");
        assert!(is_dry || ran.stdout.contains("tidy/c/other: error (as above)\n"), "{}", ran.stdout);
    }
    // A problem of a case is reported once for all its trials, whatever else is running.
    table(
        &stub,
        &[
            "a,false,One,Done,until decided at most 5,0.8",
            "b,false,Two,Done,until decided at most 5,0.8",
            "c,false,Three,Done,,",
        ],
    );
    let ran = stub.run(&["run", "--jobs", "1", "--mode", "other", "--mode", "codex"]);
    assert_eq!(ran.stdout.matches("tidy/a runs until it is decided").count(), 1, "{}", ran.stdout);
    assert_eq!(stub.starts(), [""; 0]);
}

#[test]
fn a_dry_run_of_cases_that_go_on_until_they_are_decided_says_how_few_trials_it_may_take_and_how_many() {
    let stub = Stub::new(0, "");
    table(&stub, &["a,false,One,Done,until decided at most 30,0.8", "b,false,Two,Done,2,"]);
    let dry = stub.run(&["run", "--dry-run"]);
    let words = "\nfrom 5 to at most 32 trials would run, until each case is decided\n";
    dry.exits(0).prints(words);
    let estimate: Value = serde_json::from_str(&stub.run(&["run", "--dry-run", "--json"]).stdout).expect("JSON");
    assert_eq!((&estimate["at_least"], estimate["trials"].as_array().map(Vec::len)), (&json!(5), Some(32)));
}

#[test]
fn runs_together_go_on_to_as_many_trials_as_each_of_them_may() {
    let stub = Stub::new(0, &by_prompt());
    table(&stub, &["half,false,other,Done,until decided at most 12,0.5"]);
    for id in ["r", "s"] {
        stub.run(&["run", "--run-id", id, "--jobs", "1"]);
    }
    stub.run("summary r s").prints("12/24").prints("undecided after 24 of at most 24 trials");
    stub.run(&["run", "--run-id", "t", "--jobs", "1", "--trials", "4"]);
    stub.run("summary r s t").prints("14/28").prints("undecided after 28 trials\n");
}
