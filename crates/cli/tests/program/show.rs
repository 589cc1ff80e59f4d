//! One trial, as `skill-evals show` and its log tell it.

use std::fs;

use crate::support::fixture::Ran;
use crate::support::stub::{Stub, ran};
use serde_json::{Value, json};

/// Shell code by which the stub prints these items of a session, and what it says at its end.
fn session(items: &[Value], answer: &str) -> String {
    let mut events = vec![json!({"type": "thread.started", "thread_id": "1"}), json!({"type": "turn.started"})];
    events.extend(items.iter().map(|item| json!({"type": "item.completed", "item": item})));
    events.push(json!({"type": "item.completed", "item": {"type": "agent_message", "text": answer}}));
    events.push(json!({"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 5}}));
    let quoted = events.iter().map(|event| format!("'{}'", event.to_string().replace('\'', "'\\''")));
    format!("printf '%s\\n' {}; exit 0", quoted.collect::<Vec<_>>().join(" "))
}

fn command(line: &str, output: &str) -> Value {
    json!({"type": "command_execution", "command": line, "exit_code": 0, "aggregated_output": output})
}

/// A repository whose agent looks around and answers, with these cases.
fn stub(rows: &[&str]) -> Stub {
    let items =
        [json!({"type": "agent_message", "text": "I begin."}), command("date -u", "noon\n"), command("make it", "")];
    let stub = Stub::new(1, &session(&items, "Priya starts in Oslo,\nI think."));
    let table: Vec<&str> =
        std::iter::once("id,should_trigger,prompt,must_include,must_not_include").chain(rows.iter().copied()).collect();
    fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), table.join("\n")).expect("cases");
    stub
}

fn show(stub: &Stub, args: &[&str]) -> Ran {
    stub.run(&[&["show"], args].concat())
}

#[test]
fn what_failed_comes_first_with_its_evidence_and_then_the_session() {
    let stub = stub(&["welcome,false,Welcome Priya.,Pune,osl."]);
    stub.run("run --run-id r").prints("  show it     skill-evals show tidy/welcome/codex/1 --run r\n");
    let ran = show(&stub, &["tidy/welcome/codex/1", "--run", "r"]);
    ran.exits(0);
    let parts = [
        "tidy/welcome/codex: fail\n",
        "  case        evals/skills/tidy/prompts.csv:2\n  files       artifacts/skill-evals/r/work/tidy/welcome/codex/1\n",
        "failed  must-include (outcome)\n  expected  the final message matches \"Pune\"\n",
        "failed  must-not-include (outcome)\n",
        "Priya starts in Oslo,\n",
        "passed  ",
        "  prompt\n     Welcome Priya.\n",
        "  said\n     I begin.\n",
        "  ran a command (exit status 0)\n     $ date -u\n     noon\n",
        "  answered",
        "     Priya starts in Oslo,\n     I think.\n",
        "  end\n",
    ];
    let mut rest = ran.stdout.as_str();
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} is not in, or not in order:\n{}", ran.stdout));
        rest = &rest[at + part.len()..];
    }
    // What decided the check is marked, at the check and in the session.
    let painted = show(&stub, &["welcome", "--color", "always"]).stdout;
    assert_eq!(painted.matches("\u{1b}[7mOslo\u{1b}[0m").count(), 2, "{painted:?}");
    let shown: Value = serde_json::from_str(&show(&stub, &["welcome", "--json"]).stdout).expect("JSON");
    assert_eq!((&shown["case"], &shown["grade"]["verdict"]), (&json!("welcome"), &json!("fail")));
    assert_eq!(shown["timeline"]["entries"].as_array().map(Vec::len), Some(7), "{shown}");
}

#[test]
fn a_final_message_of_blanks_is_the_same_as_none() {
    let message = |text: &str| json!({"type": "agent_message", "text": text});
    let last = |items: &[Value], answer: &str, own_file: &str| {
        // Codex writes its last message to a file, too.
        let writes =
            "while [ $# -gt 1 ]; do [ \"$1\" != --output-last-message ] || printf 'TEXT' > \"$2\"; shift; done";
        let stub = Stub::new(1, &format!("{}\n{}", writes.replace("TEXT", own_file), session(items, answer)));
        stub.run(&["run", "--run-id", "r"]);
        let grade = stub.json("r", "work/tidy/c0/codex/1/grade.json");
        let check = grade["checks"].as_array().expect("checks").iter().find(|check| check["id"] == "final-message");
        let check = check.expect("it is asked of every trial");
        (check["status"].clone(), check["found"].clone(), grade["verdict"].clone())
    };
    let before = (json!("pass"), json!("I begin."), json!("pass"));
    let none = (json!("fail"), json!("none"), json!("fail"));
    for blank in ["", " \n"] {
        assert_eq!(last(&[message("I begin.")], blank, " "), before, "{blank:?}");
        assert_eq!(last(&[], blank, " "), none, "{blank:?}");
    }
}

#[test]
fn a_session_is_one_json_whose_id_says_which_trial_it_was_and_whether_it_failed() {
    let stub = stub(&["welcome,false,Welcome Priya.,Pune,", "no way,false,Bye.,Oslo,"]);
    stub.run(&["run", "--run-id", "r"]);
    let session = |name: &str| {
        let ran = show(&stub, &[name, "--json"]);
        let shown: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{name}: {}", ran.stderr));
        shown["session"].clone()
    };
    let (failed, passed) = (session("welcome"), session("no way"));
    assert_eq!(failed["id"], "FAILED__tidy__welcome__codex__1");
    assert_eq!((&passed["id"], &passed["verdict"]), (&json!("tidy__no way__codex__1"), &json!("pass")));
    assert_eq!(session("FAILED__tidy__welcome__codex__1"), failed);
    assert_eq!(session("tidy__no way__codex__1"), passed);
    assert_eq!(failed["run"], "r");
    assert_eq!(
        (&failed["prompt"], &failed["answer"]),
        (&json!("Welcome Priya."), &json!("Priya starts in Oslo,\nI think."))
    );
    // What a stub does not tell is unknown, and nothing is left out for it.
    for unknown in ["system_prompt", "models", "turns"] {
        assert!(failed.get(unknown).is_some_and(Value::is_null), "{unknown}: {failed}");
    }
    let timing = &failed["timing"];
    assert!(timing["total_ms"].is_u64() && timing["agent_ms"].is_null() && timing["overhead_ms"].is_null(), "{timing}");
    assert!(timing["server_start_ms"].is_null(), "{timing}");
    let instant = |key: &str| failed[key].as_str().expect("a time").parse::<jiff::Timestamp>().expect("RFC 3339");
    let took = instant("ended").duration_since(instant("started")).as_millis();
    assert_eq!(Some(took), timing["total_ms"].as_i64().map(i128::from));
}

#[test]
fn a_case_is_found_by_its_name_if_the_ids_of_others_begin_with_its_id() {
    let stub = stub(&["it,false,Bye.,,", "it-2,false,Bye again.,,"]);
    stub.run(&["run", "--run-id", "r"]);
    let ran = show(&stub, &["tidy/it"]);
    assert!(ran.stdout.starts_with("tidy/it/codex: pass\n"), "{}{}", ran.stdout, ran.stderr);
}

#[test]
fn a_trial_is_found_by_every_name_that_it_has() {
    let stub = stub(&["welcome,false,Welcome Priya.,,", "bye-bye,false,Bye.,,"]);
    assert!(show(&stub, &["welcome"]).stderr.contains("no runs found; `skill-evals run` makes one"));
    stub.run(&["run", "--run-id", "r", "--record"]);
    for name in ["tidy/bye-bye/codex", "tidy::bye_bye::codex", "tidy/bye-bye/codex/1", "bye-bye", "tidy/bye", "bye/1"] {
        let ran = show(&stub, &[name]);
        assert!(ran.stdout.starts_with("tidy/bye-bye/codex: pass\n"), "{name}: {}{}", ran.stdout, ran.stderr);
    }
    let ran = show(&stub, &["bye", "--recording"]);
    ran.prints("  files       evals/recordings/tidy/bye-bye/codex/1\n");
    assert!(!ran.stdout.contains("stale"), "{}", ran.stdout);
    for (args, words) in [
        (vec!["tidy"], "`tidy` is 2 trials in the run r: tidy/bye-bye/codex, tidy/welcome/codex"),
        (
            vec!["tidy/wellcome/codex"],
            "unknown trial `tidy/wellcome/codex` in the run r; nearest: tidy/welcome/codex, ",
        ),
        (
            vec!["tidy/welcome/codex/2"],
            "unknown trial `tidy/welcome/codex/2` in the run r; nearest: tidy/welcome/codex",
        ),
        (vec!["welcome", "--run", "none"], "none"),
        (vec!["nothing", "--recording"], "unknown trial `nothing` in the recordings; nearest: "),
    ] {
        let ran = show(&stub, &args);
        ran.exits(2).warns(words);
    }
}

#[test]
fn a_recording_that_no_replay_counts_is_shown_with_what_has_changed_since() {
    let stub = stub(&["welcome,false,Welcome Priya.,,", "bye,false,Bye.,,"]);
    stub.run(&["run", "--record"]).exits(0);
    let sheet = stub.root().join("evals/skills/tidy/prompts.csv");
    let written = fs::read_to_string(&sheet).expect("cases");
    fs::write(&sheet, written.replace("Welcome Priya.", "Welcome Ada.")).expect("a file");
    stub.run("run --replay").prints("the recording is stale");
    show(&stub, &["welcome", "--recording"]).prints("\n  stale       no replay counts it; changed since: prompt\n");
    let shown = show(&stub, &["welcome", "--recording", "--json"]).stdout;
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("a document");
    assert_eq!(shown["stale"], serde_json::json!(["prompt"]));
    assert!(!show(&stub, &["bye", "--recording"]).stdout.contains("stale"));
}

#[test]
fn of_several_repeats_the_first_that_did_not_pass_is_shown() {
    let stub = stub(&["welcome,false,Welcome Priya.,Oslo,"]);
    // The second of three fails.
    let fails = session(&[], "Nothing.");
    let passes = session(&[], "Oslo");
    stub.body(&format!("if test \"$(wc -l < \"$folder/starts\")\" = 2; then {fails}; else {passes}; fi"));
    stub.run(&["run", "--run-id", "r", "--trials", "3", "--jobs", "1"]);
    assert!(show(&stub, &["welcome"]).stdout.starts_with("tidy/welcome/codex/2: fail\n"));
    assert!(show(&stub, &["tidy/welcome/codex/3"]).stdout.starts_with("tidy/welcome/codex/3: pass\n"));
    assert!(show(&stub, &["tidy::welcome::codex::1"]).stdout.starts_with("tidy/welcome/codex: pass\n"));
    assert!(show(&stub, &["welcome/4"]).stderr.contains("unknown trial `welcome/4`"));
}

#[test]
fn a_terminal_gets_the_pager_and_a_pipe_does_not() {
    let stub = stub(&["welcome,false,Welcome Priya.,,"]);
    stub.run(&["run", "--run-id", "r"]);
    let piped = ran(stub.command(&["show", "welcome"]).env("PAGER", "sed s/^/paged:/"));
    assert!(piped.stdout.starts_with("tidy/welcome/codex: pass\n"), "{}", piped.stdout);
    let on_terminal = |pager| stub.on_terminal(&["show", "welcome"], pager);
    let paged = on_terminal("sed s/^/paged:/");
    assert!(paged.starts_with("paged:\u{1b}[1mtidy/welcome/codex\u{1b}[0m: \u{1b}[32mpass\u{1b}[0m"), "{paged:?}");
    let plain = on_terminal("");
    assert!(plain.contains("tidy/welcome/codex") && !plain.contains("paged:"), "{plain:?}");
}

#[test]
fn nothing_is_cut_without_saying_where_the_rest_is() {
    let stub = stub(&["welcome,false,Welcome Priya.,,"]);
    let output = "x".repeat(6_000);
    stub.body(&session(&[command("cat all", &output)], &"y".repeat(70_000)));
    stub.run(&["run", "--run-id", "r"]);
    let log = fs::read_to_string(stub.run_folder("r").join("work/tidy/welcome/codex/1/session.md")).expect("a log");
    for text in [&log, &show(&stub, &["welcome"]).stdout] {
        assert!(text.contains("(1904 bytes more)\n"), "{}", text.len());
        assert!(text.contains("(4464 bytes more in final.txt)\n"), "{}", text.len());
        assert!(
            text.contains("are cut: all of it is in trace.jsonl and the session files next to it"),
            "{}",
            text.len()
        );
    }
    assert!(log.contains("- in a terminal: `skill-evals show tidy/welcome/codex/1 --run r`\n"), "{log}");
}

#[test]
fn a_replayed_run_is_shown_and_reported_from_its_recordings() {
    let stub = stub(&["bye,false,Say bye.,,"]);
    stub.run("run --record").exits(0);
    stub.run("run --replay --write-progress --run-id again").exits(0);
    // What is meant is the recording.
    let ran = show(&stub, &["bye", "--run", "again"]);
    ran.exits(0).prints("I begin.");
    let report = stub.run(&["report", "again", "--output", "page.html"]);
    assert!(
        report.code == 0 && report.stdout.starts_with("page.html (1 trial, "),
        "{}{}",
        report.stdout,
        report.stderr
    );
    for args in [["summary", "again"], ["grade", "again"]] {
        let words = "again replayed recordings and has no trials of its own: name evals/recordings instead";
        stub.run(&args).exits(2).warns(words);
    }
    let ran = show(&stub, &["bye", "--run", "evals/recordings"]);
    ran.exits(0).prints("I begin.");
}

#[test]
fn a_case_named_in_any_script_has_a_test_and_is_shown_by_the_command_that_its_failure_names() {
    let stub = stub(&[
        "a b's,false,Welcome.,Pune,",
        "-x,false,Welcome.,Oslo,",
        "日本,false,Welcome.,Oslo,",
        "東京,false,Hi.,Oslo,",
    ]);
    let told = stub.run(&["run", "--run-id", "r"]);
    told.prints("3 passed, 1 failed, 0 errors");
    told.prints(r"  show it     skill-evals show 'tidy/a b'\''s/codex/1' --run r");
    let shown = show(&stub, &["tidy/a b's/codex/1", "--run", "r"]);
    assert!(
        shown.code == 0 && shown.stdout.starts_with("tidy/a b's/codex: fail\n"),
        "{}{}",
        shown.stdout,
        shown.stderr
    );
    let listed = stub.run(&["list"]).stdout;
    for name in ["tidy/a b's/codex", "tidy/-x/codex", "tidy/日本/codex", "tidy/東京/codex"] {
        assert!(listed.contains(name), "{listed}");
    }
    for case in ["-x", "tidy/日本"] {
        stub.run(&["run", "--case", case, "--quiet"]).exits(0);
    }
}
