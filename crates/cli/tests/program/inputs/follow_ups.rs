//! Several messages in one session, with a script in place of codex.

use std::fs;

use crate::support::stub::Stub;

/// The script keeps its session as codex does: in one file with the session's id in its name.
const SESSION: &str = r#"s="$CODEX_HOME/sessions"; all="$s/rollout-2026-01a20e67-3df6-7dd1-b245-408acd6e3915.jsonl"
cat "$s/rollout-1.jsonl" >> "$all"; rm "$s/rollout-1.jsonl"; echo "$*" >> "$folder/args"; answer=$prompt; printf '%s' "$answer" > "$(echo "$*" | sed 's/.*--output-last-message \([^ ]*\).*/\1/')"
"#;

const SAYS_NOTHING_TO_TWO: &str = r#"if [ "$prompt" = Two ]; then
printf '%s\n' '{"type":"thread.started","thread_id":"1"}' '{"type":"turn.started"}' '{"type":"turn.completed","usage":{"input_tokens":10,"output_tokens":5}}'
exit 0; fi"#;

fn stub(follow_ups: &str, body: &str) -> Stub {
    let stub = Stub::new(0, &format!("{SESSION}{body}"));
    let rows = format!("id,should_trigger,prompt,follow_ups,timeout_s\nc0,false,One,{follow_ups},5\n");
    fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), rows).expect("a table");
    stub
}

#[test]
fn codex_is_resumed_with_each_message_and_the_last_answer_is_the_final_message() {
    let stub = stub(r#""[""Two"", ""Three""]""#, "");
    stub.run("run --run-id r").exits(0);
    assert_eq!(stub.starts(), ["One", "Two", "Three"]);
    let args = fs::read_to_string(stub.root().join("args")).expect("arguments");
    let lines: Vec<&str> = args.lines().collect();
    assert!(lines[0].ends_with(" -- One"), "{args}");
    let first = lines[0].trim_end_matches(" -- One");
    assert_eq!(lines[1], format!("{first} resume 01a20e67-3df6-7dd1-b245-408acd6e3915 -- Two"));
    let trial = stub.run_folder("r").join("work/tidy/c0/codex/1");
    assert_eq!(fs::read_to_string(trial.join("final.txt")).expect("an answer"), "Three");
    assert_eq!(fs::read_to_string(trial.join("trace.jsonl")).expect("a trace").matches("thread.started").count(), 3);
    assert_eq!(
        stub.json("r", "work/tidy/c0/codex/1/meta.json")["case"]["follow_ups"],
        serde_json::json!(["Two", "Three"])
    );
}

#[test]
fn a_session_that_does_not_answer_every_message_is_an_error() {
    let fails = "[ \"$prompt\" = One ] || exit 3";
    let is_silent = "[ \"$prompt\" = One ] || exit 0";
    let hangs = "[ \"$prompt\" = One ] || sleep 60";
    for (body, words) in [
        (fails, ""),
        (is_silent, "answered 1 of 2 messages"),
        (hangs, ""),
        (SAYS_NOTHING_TO_TWO, "answered 1 of 2 messages"),
    ] {
        let stub = stub("Two", body);
        stub.run("run --run-id r").exits(3);
        assert_eq!(stub.starts(), ["One", "Two"], "{body}");
        let line = &stub.progress("r")[0];
        assert_eq!(line["verdict"], "error", "{body}");
        assert!(line["trouble"]["detail"].as_str().expect("a detail").contains(words), "{body}: {line}");
    }
}

#[test]
fn a_message_in_the_middle_without_an_answer_is_an_error() {
    let stub = stub(r#""[""Two"", ""Three""]""#, SAYS_NOTHING_TO_TWO);
    stub.run("run --run-id r").exits(3);
    assert_eq!(stub.starts(), ["One", "Two", "Three"]);
    let line = &stub.progress("r")[0];
    assert!(line["trouble"]["detail"].as_str().expect("a detail").contains("answered 2 of 3 messages"), "{line}");
}

#[test]
fn the_answer_to_an_earlier_message_is_not_that_to_the_last_one() {
    // It writes no file for its last message.
    let keeps = SESSION.replace("printf '%s' \"$answer\" >", "[ \"$prompt\" = Two ] || printf '%s' \"$answer\" >");
    assert_ne!(keeps, SESSION);
    let stub = stub("Two", "");
    stub.body(&keeps);
    stub.run("run --run-id r").exits(0);
    let last = stub.run_folder("r").join("work/tidy/c0/codex/1/final.txt");
    assert_eq!(fs::read_to_string(last).expect("an answer"), "Two", "what its events say");
}

#[test]
fn a_message_is_not_sent_after_one_that_failed() {
    let stub = stub("Two", "exit 3");
    stub.run("run --run-id r").exits(3);
    assert_eq!(stub.starts(), ["One"]);
}
