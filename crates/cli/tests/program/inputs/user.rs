//! A user who answers, with a script in place of codex that plays both the agent and the user.

use std::fs;

use serde_json::Value;

use crate::support::stub::Stub;

/// Each player's prompt takes the next line of `player`; an agent keeps its session as codex does.
const BODY: &str = r#"last=$(echo "$*" | head -n 1 | sed 's/.*--output-last-message \([^ ]*\).*/\1/')
case "$prompt" in
  "You play a user"*)
    head -n 1 "$folder/player" > "$last"; sed -i 1d "$folder/player"; [ -s "$last" ] || exit 4;;
  *)
    s="$CODEX_HOME/sessions"; all="$s/rollout-2026-01a20e67-3df6-7dd1-b245-408acd6e3915.jsonl"
    cat "$s/rollout-1.jsonl" >> "$all"; rm "$s/rollout-1.jsonl"; echo "$prompt" >> "$folder/agent";;
esac
"#;

const USER: &str = r#"{ "goal": "A note.", "facts": { "date": "3 March" }, "maxTurns": 2 }"#;
const SAY: &str = r#"{"next": "say", "message": "Go on.", "asked": []}"#;
const DONE: &str = r#"{"next": "done", "message": "", "asked": []}"#;

/// A case whose user says these lines.
fn stub(lines: &[&str]) -> Stub {
    let stub = Stub::new(0, BODY);
    stub.write("evals/skills/tidy/prompts.csv", "id,should_trigger,prompt,user,timeout_s\nc0,false,One,user.json,5\n");
    stub.write("evals/skills/tidy/user.json", USER);
    stub.write("player", &[lines, &[""]].concat().join("\n"));
    stub
}

/// What the agent of the trial was asked.
fn asked(stub: &Stub) -> Vec<String> {
    let text = fs::read_to_string(stub.root().join("agent")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn check(grade: &Value, id: &str) -> (String, String) {
    let checks = grade["checks"].as_array().expect("checks");
    let found = checks.iter().find(|check| check["id"] == id).unwrap_or_else(|| panic!("no check {id}: {grade}"));
    let text = |key: &str| found[key].as_str().expect("a text").to_owned();
    (text("status"), text("found"))
}

#[test]
fn a_user_ends_the_conversation_or_has_no_message_left() {
    let gave_up = r#"{"next": "give-up", "message": "It never asks.", "asked": []}"#;
    for (lines, code, messages, found) in [
        (&[DONE][..], 0, &["One"][..], "done after message 1"),
        (&[SAY, DONE], 0, &["One", "Go on."], "done after message 2"),
        (&[SAY, gave_up], 1, &["One", "Go on."], "gave up after message 2: It never asks."),
        (&[SAY, SAY, DONE], 1, &["One", "Go on.", "Go on."], "not done after message 3; `maxTurns` allows no more"),
    ] {
        let stub = stub(lines);
        let ran = stub.run(&["run", "--run-id", "r"]);
        assert_eq!(ran.code, code, "{found}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(asked(&stub), messages, "{found}");
        assert_eq!(check(&stub.json("r", "work/tidy/c0/codex/1/grade.json"), "user").1, found);
        // What the player wrote last was read: no more was asked of it.
        let is_limit = found.starts_with("not done");
        assert_eq!(fs::read_to_string(stub.root().join("player")).expect("lines").is_empty(), !is_limit, "{found}");
    }
}

#[test]
fn a_user_that_cannot_be_played_is_an_error() {
    for (lines, why) in [
        (&[][..], "the user's player: the agent crashed: exit status 4"),
        (&["Hello!", "Hello?"], "could not be sent, 2 times: it is not the JSON object that was asked for"),
    ] {
        let stub = stub(lines);
        stub.run("run --run-id r").exits(3);
        let line = &stub.progress("r")[0];
        assert_eq!((line["verdict"].as_str(), line["trouble"]["kind"].as_str()), (Some("error"), Some("user-failed")));
        assert!(line["trouble"]["detail"].as_str().expect("a detail").contains(why), "{line}");
    }
    let stub = stub(&["Hello!", DONE]);
    assert_eq!(stub.run(&["run"]).code, 0, "it is asked once more");
}

#[test]
fn a_changed_user_makes_recordings_stale_and_replay_and_grade_ask_no_player() {
    let stub = stub(&[SAY, DONE]);
    stub.run("run --run-id r --record").exits(0);
    let starts = stub.starts().len();
    let (replayed, graded) = (stub.run(&["run", "--replay"]), stub.run(&["grade", "r"]));
    assert_eq!((replayed.code, graded.code), (0, 0), "{}{}", replayed.stderr, graded.stderr);
    assert_eq!(stub.starts().len(), starts);
    stub.write("evals/skills/tidy/user.json", &USER.replace("3 March", "4 March"));
    stub.run("run --replay").exits(2).prints("user");
}

#[test]
fn the_tokens_of_a_player_are_apart_and_the_cost_of_a_trial_has_them() {
    let stub = stub(&[SAY, DONE]);
    stub.run("run --run-id r").exits(0);
    let meta = stub.json("r", "work/tidy/c0/codex/1/meta.json");
    let usage = &meta["user"]["usage"];
    assert_eq!((usage["input_tokens"].as_u64(), usage["output_tokens"].as_u64()), (Some(20), Some(10)), "{usage}");
    assert_eq!(meta["case"]["follow_ups"], serde_json::json!(["Go on."]));
    let grade = stub.json("r", "work/tidy/c0/codex/1/grade.json");
    assert_eq!(grade["metrics"]["usage"]["output_tokens"].as_u64(), Some(5), "codex counts the whole session: {grade}");
    let tokens = stub.progress("r")[0]["tokens"].as_u64();
    assert_eq!(tokens, Some(45), "{:?}", stub.progress("r"));
}

#[test]
fn a_failure_that_ends_with_a_question_says_so_unless_a_user_could_answer() {
    let rows =
        |more: &str, cell: &str| format!("id,should_trigger,prompt,must_include{more}\nc0,false,One,AHOY{cell}\n");
    let asks = BODY.to_owned()
        + "[ -s \"$last\" ] || { answer='Hello. Which version?'; printf '%s' \"$answer\" > \"$last\"; }";
    let words = "it asked: “Which version?”; give the case a user";
    for (rows, is_said) in
        [(rows("", ""), true), (rows(",follow_ups", ",Two"), false), (rows(",user", ",user.json"), false)]
    {
        let stub = stub(&[DONE]);
        stub.body(&asks);
        stub.write("evals/skills/tidy/prompts.csv", &rows);
        let ran = stub.run(&["run", "--run-id", "r"]);
        ran.exits(1);
        assert_eq!(ran.stdout.contains(words), is_said, "{rows}: {}", ran.stdout);
    }
}
