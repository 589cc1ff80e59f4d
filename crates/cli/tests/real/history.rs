//! A conversation before the prompt: the real agents get it as messages of their own session, and the trial begins after it.

use serde_json::{Value, json};
use skill_evals_evidence::trial::outcome::Verdict;

use crate::support::live::{Live, OPEN_GREETING};
use crate::support::stand_in::{Protocol, Request, Turn};
use crate::tests;

const COLUMNS: &str = "should_trigger,prompt,history,follow_ups,must_include,max_total_tokens,timeout_s";

const HISTORY: &str = r#""[{""role"": ""user"", ""content"": ""We are on a ship.""}, {""role"": ""assistant"", ""content"": ""Aye, I ran `make sail`.""},
 {""role"": ""user"", ""content"": ""Ada is\nthe captain.""}, {""role"": ""assistant"", ""content"": ""AHOY_MARKER noted.""}]""#;

/// What the model is given of it, each message with its role.
const MESSAGES: [(&str, &str); 4] = [
    ("user", "We are on a ship."),
    ("assistant", "Aye, I ran `make sail`."),
    ("user", "Ada is\nthe captain."),
    ("assistant", "AHOY_MARKER noted."),
];

pub fn trials() -> Vec<libtest_mimic::Trial> {
    crate::support::real::all_needing_both_agents(tests![
        the_first_request_has_the_history_as_messages_before_the_prompt,
        what_the_history_says_is_not_the_agents_work,
        the_next_message_is_sent_in_the_session_of_the_history,
        sub_agents_of_a_session_with_a_history_are_seen,
    ])
}

fn cells(follow_ups: &str, must_include: &str) -> String {
    format!("true,Greet the captain.,{HISTORY},{follow_ups},{must_include},9000,600")
}

fn load(request: &Request) -> Turn {
    let call = |tool: &str, input| Turn::Call { tool: tool.to_owned(), input };
    if request.tools.iter().any(|tool| tool == "mcp__skilljack__skill") {
        call("mcp__skilljack__skill", json!({ "name": "greeting" }))
    } else if request.protocol == Protocol::Messages {
        call("Skill", json!({ "skill": "greeting" }))
    } else {
        Turn::Shell(OPEN_GREETING.to_owned())
    }
}

fn answer(request: &Request) -> Turn {
    if request.step == 0 && request.prompt == "Greet the captain." {
        load(request)
    } else {
        Turn::Say(format!("Ahoy! AHOY_MARKER {}", request.prompt))
    }
}

/// The messages of a request that users and the model wrote, in order.
fn conversation(request: &Request) -> Vec<(String, String)> {
    let messages = match request.protocol {
        Protocol::Messages | Protocol::Completions => &request.body["messages"],
        Protocol::Responses => &request.body["input"],
        Protocol::Gemini => &request.body["contents"],
    };
    let mut said = Vec::new();
    for message in messages.as_array().expect("messages") {
        let role = message["role"].as_str().unwrap_or_default();
        let content = &message["content"];
        let texts = match content {
            Value::String(text) => vec![text.as_str()],
            parts => parts.as_array().into_iter().flatten().filter_map(|part| part["text"].as_str()).collect(),
        };
        let is_own = |text: &&str| !text.starts_with('<');
        let texts = texts.into_iter().filter(is_own).filter(|_| ["user", "assistant"].contains(&role));
        said.extend(texts.map(|text| (role.to_owned(), text.to_owned())));
    }
    said
}

fn expected() -> Vec<(String, String)> {
    let all = MESSAGES.into_iter().chain([("user", "Greet the captain.")]);
    all.map(|(role, text)| (role.to_owned(), text.to_owned())).collect()
}

fn the_first_request_has_the_history_as_messages_before_the_prompt() {
    for mode in ["codex", "codex-mcp", "cli-native", "native", "mcp"] {
        let live = Live::new(COLUMNS, &cells("", "AHOY_MARKER Greet"), answer);
        let ran = live.run(&["--mode", mode, "--record"]);
        let trial = live.kept("greeting", "it", mode).unwrap_or_else(|| panic!("{mode}: {}{}", ran.stdout, ran.stderr));
        trial.expect(Verdict::Pass);
        assert!(trial.meta.agent.version.as_ref().is_some_and(|version| version.contains('.')), "{mode}");
        let requests = live.model.requests();
        assert_eq!(requests.len(), 2, "{mode}");
        assert_eq!(conversation(&requests[0]), expected(), "{mode}: {:#}", requests[0].body);
        // Two requests of about 1,000 tokens: the history took none.
        let usage = trial.grade.metrics.usage.expect("tokens");
        assert!((2_000..2_500).contains(&usage.input_tokens), "{mode}: {usage:?}");
        assert_eq!(trial.text("final.txt"), "Ahoy! AHOY_MARKER Greet the captain.", "{mode}");
        let evidence = ["trace.jsonl", "rollout.jsonl", "session.jsonl"].map(|name| trial.text(name)).concat();
        assert!(!evidence.contains("We are on a ship."), "{mode}: {evidence}");

        let args = ["show", &format!("greeting/it/{mode}"), "--run", "t", "--json"];
        let shown = live.program().args(args).current_dir(live.fixture.root()).output().expect("the program starts");
        let shown: Value = serde_json::from_slice(&shown.stdout).expect("JSON");
        let entries = shown["timeline"]["entries"].as_array().expect("events");
        let earlier: Vec<(&str, &str)> = entries
            .iter()
            .filter(|event| event["kind"] == "history")
            .map(|event| (event["role"].as_str().expect("a role"), event["text"].as_str().expect("a text")))
            .collect();
        assert_eq!(earlier, MESSAGES, "{mode}");
        let replay = || {
            let args = ["run", "--replay", "--mode", mode, "-v"];
            let ran = live.program().args(args).current_dir(live.fixture.root()).output().expect("the program starts");
            String::from_utf8(ran.stdout).expect("UTF-8")
        };
        let replayed = replay();
        assert!(replayed.contains("1 passed"), "{mode}: {replayed}");
        let changed = cells("", "AHOY_MARKER Greet").replace("on a ship", "on a boat");
        let table = live.fixture.root().join("evals/skills/greeting/prompts.csv");
        std::fs::write(table, format!("id,{COLUMNS}\nit,{changed}\n")).expect("a table");
        let stale = replay();
        assert!(stale.contains("stale") && stale.contains("history"), "{mode}: {stale}");
        assert_eq!(live.model.requests().len(), 2, "a replay asks no model");
    }
}

fn what_the_history_says_is_not_the_agents_work() {
    for mode in ["codex", "cli-native", "native"] {
        let live = Live::new(COLUMNS, &cells("", "AHOY_MARKER"), |_| Turn::Say("Hello.".to_owned()));
        let trial = live.trial(mode);
        trial.expect(Verdict::Fail);
        assert_eq!(trial.text("final.txt"), "Hello.", "{mode}");
        let failed: Vec<&str> = trial
            .grade
            .checks
            .iter()
            .filter(|check| check.status != skill_evals_evidence::trial::outcome::Status::Pass)
            .map(|check| check.id.as_str())
            .collect();
        assert_eq!(failed, ["triggered", "must-include"], "{mode}");
    }
}

fn the_next_message_is_sent_in_the_session_of_the_history() {
    for mode in ["codex", "cli-native", "native"] {
        let live = Live::new(COLUMNS, &cells("And Bob.", "AHOY_MARKER And Bob"), answer);
        let trial = live.trial(mode);
        trial.expect(Verdict::Pass);
        let requests = live.model.requests();
        assert_eq!(requests.len(), 3, "{mode}");
        let said = conversation(requests.last().expect("a request"));
        assert_eq!(said[..5], expected(), "{mode}");
        let ends = ["Ahoy! AHOY_MARKER Greet the captain.", "And Bob."];
        assert!(ends.iter().all(|end| said.iter().filter(|(_, text)| text == end).count() == 1), "{mode}: {said:?}");
        let usage = trial.grade.metrics.usage.expect("tokens");
        assert!((3_000..3_800).contains(&usage.input_tokens), "{mode}: {usage:?}");
        assert!(trial.check("triggered").found.contains("in answer to message 1"), "{mode}");
    }
}

fn sub_agents_of_a_session_with_a_history_are_seen() {
    for mode in ["cli-native", "native"] {
        let live = Live::new(COLUMNS, &cells("", "AHOY_MARKER"), |request| match (&*request.prompt, request.step) {
            ("Greet the captain.", 0) => {
                let tool = if request.tools.iter().any(|tool| tool == "Agent") { "Agent" } else { "Task" };
                let input = json!({ "description": "greet", "prompt": "Open it.", "subagent_type": "general-purpose" });
                Turn::Call { tool: tool.to_owned(), input }
            }
            ("Open it.", 0) => load(request),
            _ => Turn::Say("Ahoy! AHOY_MARKER".to_owned()),
        });
        let trial = live.trial(mode);
        trial.expect(Verdict::Pass);
        assert!(trial.text("subagents.jsonl").contains("references/formal.md"), "{mode}");
    }
}
