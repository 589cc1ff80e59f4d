//! Sessions of the user's own machine: graded, and made into cases. The shapes are those that Claude Code and codex
//! write; `tests/real/sessions.rs` reads real ones.

use std::fs;

use crate::support::fixture::{Fixture, Ran};
use crate::support::stored;
use serde_json::{Value, json};

const CWD: &str = "/home/me/project";

/// Two prompts to Claude Code: for the first the skill loads and a file is written, for the second nothing happens.
fn claude() -> Vec<Value> {
    let mut lines =
        vec![json!({ "type": "queue-operation", "operation": "enqueue", "content": "Please welcome Ada." })];
    let line = |kind: &str, more: Value| {
        let mut line = json!({
            "type": kind, "isSidechain": false, "cwd": CWD, "sessionId": "s", "version": "2.1.197",
            "timestamp": "2026-11-24T16:00:00.000Z",
        });
        line.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        line
    };
    let user = |content: Value| line("user", json!({ "message": { "role": "user", "content": content } }));
    let says = |id: &str, stop: &str, block: Value| {
        let usage = json!({ "input_tokens": 100, "output_tokens": 20 });
        line(
            "assistant",
            json!({ "message": {
            "id": id, "role": "assistant", "model": "claude-test", "stop_reason": stop, "usage": usage, "content": [block],
        } }),
        )
    };
    let calls = |id: &str, name: &str, input: Value| {
        says(id, "tool_use", json!({ "type": "tool_use", "id": format!("call-{id}"), "name": name, "input": input }))
    };
    let answer = |id: &str, text: &str| {
        user(json!([{ "type": "tool_result", "tool_use_id": format!("call-{id}"), "content": text }]))
    };
    let body = format!("Base directory for this skill: {CWD}/.claude/skills/greeting\n\n{}", stored::SKILL);
    let mut loaded = user(json!([{ "type": "text", "text": body }]));
    loaded["isMeta"] = true.into();
    let listing = json!({ "type": "skill_listing", "names": ["greeting", "minutes"], "content": "- greeting: How people are greeted here. Use when somebody is to be welcomed.\n- minutes: x" });
    lines.extend([
        user(json!(format!("Please welcome Ada in {CWD}/README.md."))),
        line("attachment", json!({ "attachment": listing })),
        calls("1", "Skill", json!({ "skill": "greeting" })),
        answer("1", "Launching skill: greeting"),
        loaded,
        calls("2", "Write", json!({ "file_path": format!("{CWD}/out/hello.txt"), "content": "AHOY" })),
        answer("2", "File created successfully"),
        says("3", "end_turn", json!({ "type": "text", "text": "AHOY, Ada!" })),
        user(json!("<local-command-stdout>Set model</local-command-stdout>")),
        user(json!("What is the capital of France? My key is sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")),
        says("4", "end_turn", json!({ "type": "text", "text": "Paris." })),
    ]);
    lines
}

/// The same with codex.
fn codex() -> Vec<Value> {
    let mut second = 0;
    let mut at = |kind: &str, payload: Value| {
        second += 1;
        json!({ "timestamp": format!("2026-11-24T16:00:{second:02}.000Z"), "type": kind, "payload": payload })
    };
    let message = |role: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "text": text }] });
    let offered = "<skills_instructions>\n### Available skills\n- greeting: x (file: r0/greeting/SKILL.md)\n- minutes: x (file: r0/minutes/SKILL.md)\n</skills_instructions>";
    let asked = |text: &str| json!({ "type": "item_completed", "item": { "type": "UserMessage", "content": [{ "type": "text", "text": text }] } });
    let done = |text: &str| json!({ "type": "task_complete", "last_agent_message": text, "duration_ms": 700 });
    let total = |input: u64| json!({ "type": "token_count", "info": { "total_token_usage": { "input_tokens": input, "cached_input_tokens": 0, "output_tokens": 20 } } });
    let read = json!({ "cmd": "cat .agents/skills/greeting/SKILL.md" }).to_string();
    let output = format!("Process exited with code 0\nOutput:\n{}", stored::SKILL);
    let patch = json!({ "type": "patch_apply_end", "success": true, "changes": { format!("{CWD}/out/hello.txt"): { "add": {} } } });
    let first = format!("Please welcome Ada in {CWD}/README.md.");
    let second_prompt = "What is the capital of France? My key is sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    vec![
        at("session_meta", json!({ "id": "s", "cwd": CWD, "cli_version": "0.169.0" })),
        at("event_msg", json!({ "type": "task_started" })),
        at("response_item", message("developer", offered)),
        at("turn_context", json!({ "model": "gpt-test", "cwd": CWD })),
        at("response_item", message("user", &first)),
        at("event_msg", asked(&first)),
        at(
            "response_item",
            json!({ "type": "function_call", "call_id": "c", "name": "exec_command", "arguments": read }),
        ),
        at("response_item", json!({ "type": "function_call_output", "call_id": "c", "output": output })),
        at("event_msg", patch),
        at("response_item", message("assistant", "AHOY, Ada!")),
        at("event_msg", total(100)),
        at("event_msg", done("AHOY, Ada!")),
        at("event_msg", json!({ "type": "task_started" })),
        at("response_item", message("developer", "<permissions instructions>read-only</permissions instructions>")),
        at("response_item", message("user", second_prompt)),
        at("event_msg", asked(second_prompt)),
        at("response_item", message("assistant", "Paris.")),
        at("event_msg", total(180)),
        at("event_msg", done("Paris.")),
    ]
}

/// These session files: Claude Code's and codex's.
pub(crate) fn texts() -> [String; 2] {
    [claude(), codex()].map(|lines| lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// A repository with them.
fn fixture() -> Fixture {
    let [claude, codex] = texts();
    stored::repository().file("claude.jsonl", claude).file("codex.jsonl", codex)
}

fn grade(fixture: &Fixture, agent: &str, args: &[&str]) -> Ran {
    fixture.run(&[&["grade", "--session", &format!("{agent}.jsonl"), "--skill", "greeting"], args].concat())
}

const AGENTS: [&str; 2] = ["claude", "codex"];

#[test]
fn without_a_case_a_session_shows_whether_the_skill_activated() {
    let fixture = fixture();
    for agent in AGENTS {
        let first = grade(&fixture, agent, &["--turn", "1"]);
        first.exits(0);
        assert!(first.stdout.starts_with("greeting: activated\n"), "{}", first.stdout);
        first.prints("session     prompt 1 of 2, ");
        let second = grade(&fixture, agent, &["--turn", "2"]);
        assert!(
            second.code == 1 && second.stdout.starts_with("greeting: not activated\n"),
            "{}{}",
            second.stdout,
            second.stderr
        );
        let whole = grade(&fixture, agent, &[]);
        whole.exits(0).prints("all 2 prompts, ");
    }
}

#[test]
fn a_case_grades_a_session_and_what_it_does_not_show_is_unknown() {
    let task =
        r#"{ "prompt": "Greet Ada.", "evalConfig": { "expectedSkillName": "greeting", "followUps": ["Shorter."] } }"#;
    let fixture = fixture().file("evals/tasks/asks-more.json", task);
    for agent in AGENTS {
        let explicit = grade(&fixture, agent, &["--case", "explicit", "--turn", "1"]);
        insta::assert_snapshot!(format!("{agent}_explicit"), explicit.stdout);
        explicit.exits(0);
        // The session shows that an editing tool wrote a file, not which files were there at the end.
        let kept = grade(&fixture, agent, &["--case", "kept", "--turn", "1"]);
        kept.exits(3).prints("unknown     require-file ");
        assert_eq!(
            grade(&fixture, agent, &["--case", "asks-more", "--turn", "1"]).code,
            0,
            "its messages are not the case's"
        );
        assert_eq!(grade(&fixture, agent, &["--case", "negative", "--turn", "2"]).code, 0);
        assert_eq!(grade(&fixture, agent, &["--case", "negative", "--turn", "1"]).code, 1);
    }
}

/// A session of Claude Code 2.1.332, which keeps its requests in the file, and loaded the skill from a plugin.
const OF_A_PLUGIN: &str = include_str!("../../../../tests/fixtures/traces/claude/plugin-skill/session.jsonl");

#[test]
fn a_session_of_a_plugin_is_graded_and_what_claude_keeps_for_itself_hides_nothing() {
    let skill = "---\nname: greeting\ndescription: Greets people the pirate way. Use whenever somebody is to be greeted or welcomed.\n---\n# Greeting\nAlways begin with AHOY, and then the name of the person, loudly and clearly.\n";
    let rows = "id,should_trigger,prompt,max_commands\nit,true,Greet Ada.,3\n";
    let fixture = Fixture::new().skill_text("greeting", skill).prompts("greeting", rows).file("s.jsonl", OF_A_PLUGIN);
    fixture.run("grade --session s.jsonl --skill greeting --case it").exits(0);
    // An event that is not known is counted, and hides only what it may hold.
    let more = |line: &str| {
        fs::write(fixture.root().join("s.jsonl"), format!("{OF_A_PLUGIN}{line}\n")).expect("a file");
        fixture.run(&["grade", "--session", "s.jsonl", "--skill", "greeting", "--case", "it"])
    };
    let harmless = more(r#"{"type":"weather-report","text":"Tools and skills: {\"command\": 1}"}"#);
    harmless.exits(0);
    let call = more(r#"{"type":"parallel-block","block":{"type":"tool_use"}}"#);
    call.exits(3).prints("an event `parallel-block`");
}

#[test]
fn a_session_that_stops_before_its_end_or_has_damaged_lines_passes_nothing() {
    let fixture = fixture();
    for (agent, cut) in [("claude", 8), ("codex", 11)] {
        let path = fixture.root().join(format!("{agent}.jsonl"));
        let whole = fs::read_to_string(&path).expect("a session");
        let lines: Vec<&str> = whole.lines().collect();
        fs::write(&path, lines[..cut].join("\n")).expect("a file");
        let ran = grade(&fixture, agent, &["--case", "negative"]);
        assert_eq!(ran.code, 1, "what failed has failed: {}{}", ran.stdout, ran.stderr);
        let ran = grade(&fixture, agent, &["--case", "explicit"]);
        ran.exits(3).prints("explicit: error");
        // What follows may activate the skill.
        let first = if agent == "claude" { 3 } else { 6 };
        fs::write(&path, lines[..first].join("\n")).expect("a file");
        let ran = grade(&fixture, agent, &[]);
        assert!(ran.code != 0 && ran.code != 1, "{agent} {}{}", ran.stdout, ran.stderr);
        // A line that cannot be read may have been the call of the skill.
        let damaged: Vec<&str> = lines
            .iter()
            .map(|line| if line.contains("SKILL.md") || line.contains("Skill\"") { "{" } else { line })
            .collect();
        fs::write(&path, damaged.join("\n")).expect("a file");
        assert_eq!(grade(&fixture, agent, &["--case", "negative"]).code, 3);
    }
}

#[test]
fn what_a_session_of_a_version_that_nobody_measured_does_not_show_is_unknown() {
    let fixture = fixture();
    for (agent, version) in [("claude", "2.1.197"), ("codex", "0.169.0")] {
        let path = fixture.root().join(format!("{agent}.jsonl"));
        let text = fs::read_to_string(&path).expect("a session");
        fs::write(&path, text.replace(version, "99.0.0")).expect("a file");
        let first = grade(&fixture, agent, &["--turn", "1"]);
        assert_eq!(first.code, 0, "what it shows has happened: {}{}", first.stdout, first.stderr);
        let second = grade(&fixture, agent, &["--turn", "2"]);
        second.exits(3).prints("99.0.0 is read rightly");
        let negative = grade(&fixture, agent, &["--case", "negative", "--turn", "2"]);
        negative.exits(3);
    }
}

#[test]
fn a_case_with_an_unsupported_part_is_refused_or_grades_a_session_in_part() {
    let cases = r#"{"skill_name":"greeting","evals":[{"id":1,"prompt":"Please welcome Ada.","turns":[1],"should_trigger":true}]}"#;
    let fixture = fixture().file("skills/greeting/evals/evals.json", cases);
    for agent in AGENTS {
        let args = ["--case", "evals-1", "--turn", "1"];
        fs::write(fixture.root().join("evals/evals.toml"), "").expect("settings");
        let ran = grade(&fixture, agent, &args);
        assert_eq!((ran.code, &*ran.stdout), (2, ""), "{agent}: {}", ran.stderr);
        ran.warns("unsupported: the key `turns`");
        fs::write(fixture.root().join("evals/evals.toml"), "partial = true\n").expect("settings");
        let ran = grade(&fixture, agent, &args);
        assert!(ran.stdout.starts_with("greeting/evals-1: pass in part\n"), "{agent}: {}{}", ran.stdout, ran.stderr);
    }
}

#[test]
fn a_limit_on_time_or_turns_is_not_known_of_a_session() {
    for (key, check) in [("maxSeconds", "max-seconds"), ("timeoutS", "in-time"), ("maxTurns", "completed")] {
        let case = json!({ "prompt": "Ada", "evalConfig": { "expectedSkillName": "greeting", key: 9 } });
        let fixture = self::fixture().task("limited", case.to_string());
        for agent in AGENTS {
            let ran = grade(&fixture, agent, &["--case", "limited", "--turn", "1"]);
            ran.exits(3).prints(format!("unknown     {check} "));
        }
    }
}

#[test]
fn a_command_that_the_sandbox_did_not_start_decides_nothing() {
    let fixture = fixture();
    for command in ["cat .agents/skills/greeting/SKILL.md; echo hi > made.txt", "python3 x.py .agents/skills/greeting"]
    {
        let mut lines = codex();
        lines[6]["payload"]["arguments"] = json!({ "cmd": command }).to_string().into();
        let broken = "bwrap: execvp codex-linux-sandbox: No such file or directory\n";
        lines[7]["payload"]["output"] = format!("Process exited with code 1\nOutput:\n{broken}").into();
        let text = lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
        fs::write(fixture.root().join("codex.jsonl"), text).expect("a session");
        for (case, check) in [("explicit", "triggered"), ("negative", "not-triggered")] {
            let ran = grade(&fixture, "codex", &["--case", case, "--turn", "1"]);
            let unknown = format!("unknown     {check} ");
            assert!(ran.code != 0 && ran.stdout.contains(&unknown), "{case}: {}{}", ran.stdout, ran.stderr);
        }
    }
}

#[test]
fn a_session_becomes_a_task_with_its_secrets_masked() {
    let fixture = fixture();
    for agent in AGENTS {
        let file = format!("{agent}.jsonl");
        let import = |more: &[&str]| {
            let args = [&["import", "--session", &file, "--skill", "greeting"], more].concat();
            fixture.run(&args)
        };
        let several = import(&[]);
        several.exits(2).warns("choose one with --turn");
        let task = format!("evals/tasks/{agent}.json");
        let first = import(&["--turn", "1", "-o", &task]);
        assert_eq!((first.code, first.stdout), (0, format!("{task}\n")), "{}", first.stderr);
        let written: Value =
            serde_json::from_str(&fs::read_to_string(fixture.root().join(&task)).expect("a task")).expect("JSON");
        assert_eq!(
            written,
            json!({
                "prompt": "Please welcome Ada in README.md.",
                "evalConfig": { "expectedSkillName": "greeting", "requireFiles": ["out/hello.txt"] },
            })
        );
        assert_eq!(import(&["--turn", "1", "-o", &task]).code, 2, "it exists");
        let second = import(&["--turn", "2"]);
        assert!(!second.stdout.contains("sk-ant-api03-A"), "{}", second.stdout);
        let second: Value = serde_json::from_str(&second.stdout).expect("JSON");
        assert_eq!(second["evalConfig"]["shouldTrigger"], false);
    }
    let lint = fixture.run(&["lint", "--check-evals"]);
    assert!(!lint.stdout.contains("evals/tasks"), "{}", lint.stdout);
}

#[test]
fn a_file_of_no_agent_an_unknown_skill_or_prompt_is_refused() {
    let fixture = fixture().file("other.jsonl", "{\"type\":\"x\"}\n");
    let refused = |args: &[&str], why: &str| {
        fixture.run(args).exits(2).warns(why);
    };
    refused(&["grade", "--session", "other.jsonl", "--skill", "greeting"], "not a session file of a known agent");
    refused(&["grade", "--session", "none.jsonl", "--skill", "greeting"], "none.jsonl: ");
    refused(&["grade", "--session", "claude.jsonl", "--skill", "greetin"], "unknown skill `greetin`");
    refused(&["grade", "--session", "claude.jsonl"], "--skill");
    refused(&["grade", "--session", "claude.jsonl", "--skill", "greeting", "--case", "nope"], "unknown case `nope`");
    refused(&["grade", "--session", "claude.jsonl", "--skill", "greeting", "--turn", "3"], "no prompt 3; it has 2");
    for option in [["--session", "claude.jsonl"], ["--skill", "greeting"], ["--turn", "1"], ["--case", "explicit"]] {
        refused(&[&["grade", "r"][..], &option].concat(), "cannot be used with");
    }
    refused(&["grade"], "required");
}
