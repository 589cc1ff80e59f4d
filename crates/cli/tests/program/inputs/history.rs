//! The conversation before a prompt, with a script in place of codex.

use std::fs;

use serde_json::{Value, json};

use crate::support::stub::Stub;

/// The script continues the only session, as codex does.
const CONTINUES: &str = r#"s="$CODEX_HOME/sessions"; [ "$*" != --version ] || { rm "$s/rollout-1.jsonl"; echo codex-cli 0.169.0; exit; }
all=$(ls "$s"/1970/01/01/rollout-*); cp "$all" "$folder/session"
cat "$s/rollout-1.jsonl" >> "$all"; rm "$s/rollout-1.jsonl"; echo "$*" >> "$folder/args"
answer=$prompt; printf '%s\n' '{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"'"$answer"'"}]}}' >> "$all"
printf '%s' "$answer" > "$(echo "$*" | sed 's/.*--output-last-message \([^ ]*\).*/\1/')"
"#;

const HISTORY: &str =
    r#"[{"role": "user", "content": "We are at \"sea\"."}, {"role": "assistant", "content": "Aye."}]"#;

#[test]
fn codex_continues_a_session_with_the_history_which_is_not_part_of_the_evidence() {
    let stub = Stub::new(0, CONTINUES);
    stub.write("evals/skills/tidy/before.json", HISTORY);
    let rows = "id,should_trigger,prompt,history,follow_ups\nc0,false,One,before.json,Two\n";
    stub.write("evals/skills/tidy/prompts.csv", rows);
    stub.run("run --run-id r").exits(0);
    let args = fs::read_to_string(stub.root().join("args")).expect("arguments");
    let [first, second] = args.lines().collect::<Vec<_>>()[..] else { panic!("two starts: {args}") };
    let options = first.strip_suffix(" -- One").expect("the prompt last");
    assert_eq!(second, format!("{options} -- Two"), "the next message goes to the same session");
    let (_, id) = options.rsplit_once(" resume ").expect("a session to resume");

    let session = fs::read_to_string(stub.root().join("session")).expect("the session");
    let lines: Vec<Value> = session.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!((&lines[0]["type"], &lines[0]["payload"]["id"]), (&json!("session_meta"), &json!(id)));
    let said: Vec<&Value> = lines[1..3].iter().map(|line| &line["payload"]).collect();
    let message = |role: &str, kind: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] });
    let expected = [message("user", "input_text", "We are at \"sea\"."), message("assistant", "output_text", "Aye.")];
    assert_eq!(said, expected.iter().collect::<Vec<_>>());

    let trial = stub.run_folder("r").join("work/tidy/c0/codex/1");
    let rollout = fs::read_to_string(trial.join("rollout.jsonl")).expect("a rollout");
    assert!(rollout.contains("skills_instructions") && !rollout.contains("Aye."), "{rollout}");
    let meta = stub.json("r", "work/tidy/c0/codex/1/meta.json");
    assert_eq!(meta["case"]["history"], serde_json::from_str::<Value>(HISTORY).expect("JSON"));
    assert!(meta["inputs"]["history"].is_string(), "{meta}");
    assert_eq!(meta["agent"]["version"], "0.169.0");
    let shown = stub.run(&["show", "tidy/c0", "--run", "r"]).stdout;
    let order = ["history: the user", "We are at \"sea\".", "history: the assistant", "Aye.", "One"];
    let places: Vec<usize> = order.iter().map(|text| shown.find(text).unwrap_or_else(|| panic!("{shown}"))).collect();
    assert!(places.is_sorted(), "{shown}");

    stub.run("grade r").exits(0);
    stub.write("evals/skills/tidy/before.json", &HISTORY.replace("sea", "home"));
    let why = "the prompt of `tidy/c0` has changed since this answer: its grade is not changed";
    stub.run("grade r").prints(why);
}

#[test]
fn a_session_that_the_agent_does_not_resume_is_an_error() {
    let refuses = "echo 'Error: thread/resume failed: no rollout found for thread id' >&2; exit";
    for code in [0, 1] {
        let version = r#"[ "$*" != --version ] || { echo codex-cli 0.169.0; exit; }"#;
        let stub = Stub::new(0, &format!("{version}\n{refuses} {code}"));
        stub.write("evals/skills/tidy/before.json", HISTORY);
        let rows = "id,should_trigger,prompt,history\nc0,false,One,before.json\n";
        stub.write("evals/skills/tidy/prompts.csv", rows);
        stub.run("run --run-id r").exits(3);
        let line = &stub.progress("r")[0];
        assert_eq!(line["verdict"], "error", "{code}: {line}");
        assert!(line["trouble"]["detail"].is_string(), "{code}: {line}");
    }
}
