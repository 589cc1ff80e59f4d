//! One trial leads those that share its prompt: they start when its model has begun to answer, or when it has ended.

use serde_json::{Value, json};

use crate::support::fixture::Ran;
use crate::support::stub::{Stub, ran};

/// Notes each start before another trial with the same modes, or the same case, has answered. The first of each takes its time.
const NOTES_EARLY_STARTS: &str = r#"led() {
if mkdir "$folder/led-$1" 2> /dev/null; then sleep 0.5; touch "$folder/answered-$1"
elif [ ! -e "$folder/answered-$1" ]; then echo "$prompt" >> "$folder/early-$1"; fi; }
led all; led "$(echo "$prompt" | tr -d ' ')""#;

/// Waits until as many agents have started as `$1` says.
const WAITS: &str = r#"until_started() { n=0; until [ $(wc -l < "$folder/starts") -ge "$1" ]; do n=$((n + 1)); [ $n -lt 1200 ] || exit 9; sleep 0.05; done; }
"#;

fn led(stub: &Stub, args: &[&str]) -> Ran {
    ran(stub.command(args).env("SKILL_EVALS_NO_LEAD", "0"))
}

fn early(stub: &Stub) -> Vec<String> {
    let names = std::fs::read_dir(stub.root()).expect("a directory").flatten();
    let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("early-")).collect()
}

#[test]
fn trials_that_share_a_prompt_start_when_the_first_has_begun_to_answer() {
    let stub = Stub::new(2, NOTES_EARLY_STARTS);
    let args = ["run", "--run-id", "r", "--trials", "3", "--jobs", "4"];
    let ran = led(&stub, &args);
    assert_eq!((ran.code, early(&stub)), (0, Vec::<String>::new()), "{}{}", ran.stdout, ran.stderr);
    assert_eq!((stub.starts().len(), stub.progress("r").len()), (6, 6));
    // What is stored is the same without.
    let whole = stub.json("r", "summary.json")["total"].clone();
    stub.run(&[&args[..2], &["s"], &args[3..]].concat());
    let mut alone = stub.json("s", "summary.json")["total"].clone();
    alone["duration_ms"] = whole["duration_ms"].clone();
    assert_eq!(alone, whole);
}

#[test]
fn nobody_waits_with_no_lead_in_other_modes_or_after_a_leader_without_an_answer() {
    // They answer only if all of them run at once.
    let stub = Stub::new(3, &format!("{WAITS}until_started 3"));
    let ran = led(&stub, &["run", "--jobs", "3", "--no-lead"]);
    ran.exits(0);
    let stub = Stub::new(1, &format!("{WAITS}until_started 2"));
    led(&stub, &["run", "--run-id", "r", "--jobs", "2", "--mode", "codex", "--mode", "codex-none"]);
    assert_eq!(stub.starts().len(), 2);
    // One that is started too late gives up.
    let exited_well =
        |line: &Value| line["checks"].as_array().is_some_and(|all| all.contains(&json!(["exit-code", "pass"])));
    assert!(stub.progress("r").iter().all(exited_well), "{:?}", stub.progress("r"));
    // The first ends without a word, and the others at once.
    let fails = r#"mkdir "$folder/first" 2> /dev/null && { sleep 0.2; exit 7; }"#;
    let stub = Stub::new(4, &format!("{WAITS}{fails}\nuntil_started 4"));
    let ran = led(&stub, &["run", "--run-id", "r", "--jobs", "4"]);
    ran.exits(3);
    let passed = stub.progress("r").iter().filter(|line| line["verdict"] == "pass").count();
    assert_eq!(passed, 3, "{}", ran.stdout);
}

#[test]
fn nobody_waits_once_an_earlier_run_took_fewer_tokens_than_a_cache_keeps() {
    for (input, waits) in [(10, false), (2_000, true)] {
        let turn = json!({ "type": "turn.completed", "usage": { "input_tokens": input, "output_tokens": 5 } });
        let answer =
            json!({ "type": "item.completed", "item": { "id": "0", "type": "agent_message", "text": "Done." } });
        let start = r#"{"type":"thread.started","thread_id":"1"}' '{"type":"turn.started"}"#;
        let ends = format!("printf '%s\\n' '{start}' '{answer}' '{turn}'\nexit 0");
        let stub = Stub::new(3, &ends);
        led(&stub, &["run", "--run-id", "first", "--jobs", "3"]);
        // They start at once, or one after the other: the first waits for the others in vain.
        let starts = r#"echo >> "$folder/second"; n=0; until [ $(wc -l < "$folder/second") -ge 3 ]; do n=$((n + 1)); [ $n -lt 40 ] || { touch "$folder/alone"; break; }; sleep 0.05; done"#;
        stub.body(&format!("{starts}\n{ends}"));
        led(&stub, &["run", "--run-id", "second", "--jobs", "3"]);
        assert_eq!((stub.progress("second").len(), stub.root().join("alone").exists()), (3, waits), "{input}");
    }
}

#[test]
fn the_summary_says_what_was_read_from_a_cache_and_the_cost_without() {
    let turn = json!({ "type": "turn.completed", "usage": { "input_tokens": 1_000_000, "cached_input_tokens": 800_000, "cache_write_input_tokens": 100_000, "output_tokens": 5 } });
    let answer = json!({ "type": "item.completed", "item": { "id": "0", "type": "agent_message", "text": "Done." } });
    let start = r#"{"type":"thread.started","thread_id":"1"}' '{"type":"turn.started"}"#;
    let stub = Stub::new(2, &format!("printf '%s\\n' '{start}' '{answer}' '{turn}'\nexit 0"));
    let text = std::fs::read_to_string(stub.root().join("evals/evals.toml")).expect("settings");
    let prices = "[prices.codex]\ninput = 2.0\ncached_input = 0.2\ncache_write = 2.5\noutput = 0.0\n";
    stub.write("evals/evals.toml", &format!("{text}{prices}"));
    let ran = stub.run(&["run", "--run-id", "r"]);
    // Twice: 100,000 fresh for $0.20, 800,000 read for $0.16, 100,000 written for $0.25; without a cache $2.
    let line = "1600000 tokens read from a cache; without caches $4.00 instead of $1.22\n";
    ran.prints(line);
    assert_eq!(stub.json("r", "summary.json")["total"]["cached_tokens"], 1_600_000);
    stub.write("evals/evals.toml", &text);
    stub.run("run").prints("1600000 tokens read from a cache\n");
    stub.body("");
    assert!(!stub.run(&["run"]).stdout.contains("from a cache"));
}
