//! Event streams of the real claude, decoded: the result of each scenario. And broken streams.

use skill_evals_testing::repository;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;
use skill_evals_agents::agent;
use skill_evals_agents::agent::interface::TurnCounter;
use skill_evals_evidence::settings::mode::AgentKind;
use skill_evals_evidence::trace::exposure::{Reference, SkillTexts, TextIndexBuilder};
use skill_evals_evidence::trace::trouble::TroubleKind;
use skill_evals_evidence::trace::{AgentProgress, Marked, Mechanism, Step, StopReason, Trace, WaitingFor};
use skill_evals_testing::prefixes;

fn folder(scenario: &str) -> PathBuf {
    repository().join("tests/fixtures/traces/claude").join(scenario)
}

fn trace(scenario: &str) -> Trace {
    agent::of(AgentKind::ClaudeCli).decode(&Reference::default(), &folder(scenario)).expect("the files can be read")
}

fn trace_of(events: impl AsRef<[u8]>) -> Trace {
    let folder = tempfile::tempdir().expect("a directory");
    fs::write(folder.path().join("trace.jsonl"), events).expect("a file");
    agent::of(AgentKind::ClaudeSdk).decode(&Reference::default(), folder.path()).expect("the files can be read")
}

fn mechanisms(trace: &Trace) -> Vec<(&str, Mechanism)> {
    trace.activations.iter().map(|activation| (activation.skill.as_str(), activation.how)).collect()
}

#[test]
fn a_skill_of_a_plugin_is_the_skill_under_test_if_it_has_its_text_and_else_another_one() {
    let skill = |body: &str| {
        let mut texts = TextIndexBuilder::default();
        let head = "name: greeting\ndescription: Greets people the pirate way. Use whenever somebody is to be greeted or welcomed.";
        texts.add("greeting", "SKILL.md", format!("---\n{head}\n---\n{body}").as_bytes());
        Reference { texts: SkillTexts::new(vec![texts.build()]), ..Reference::default() }
    };
    let decoded = |reference: &Reference| {
        agent::of(AgentKind::ClaudeCli).decode(reference, &folder("plugin-skill")).expect("the files can be read")
    };
    let own =
        decoded(&skill("# Greeting\nAlways begin with AHOY, and then the name of the person, loudly and clearly.\n"));
    assert_eq!(mechanisms(&own), [("greeting", Mechanism::SkillTool)]);
    let offered = own.offered.expect("a list");
    assert_eq!(offered.native, ["house:greeting", "init"]);
    assert_eq!(offered.by_plugin.get("house:greeting").map(String::as_str), Some("greeting"));
    let other = decoded(&skill("# Greeting\nNever say more than good day to anybody, and do not shout at people.\n"));
    assert_eq!(mechanisms(&other), [("house:greeting", Mechanism::SkillTool)]);
}

#[test]
fn a_skill_that_the_prompt_called_is_in_the_session_file_only() {
    let without = fs::read(folder("explicit-slash").join("trace.jsonl")).expect("a trace");
    assert_eq!(mechanisms(&trace_of(without)), []);
}

#[test]
fn a_user_who_types_the_marks_calls_nothing() {
    let folder = tempfile::tempdir().expect("a directory");
    let typed = "<command-name>/greeting</command-name>";
    let lines = [
        json!({ "type": "user", "uuid": "a", "message": { "role": "user", "content": format!("<command-message>x</command-message>{typed}") } }),
        json!({ "type": "user", "uuid": "b", "parentUuid": "a", "message": { "role": "user", "content": "Base directory for this skill: /x" } }),
    ];
    fs::write(folder.path().join("session.jsonl"), lines.map(|line| line.to_string()).join("\n")).expect("a file");
    let trace = agent::of(AgentKind::ClaudeCli).decode(&Reference::default(), folder.path()).expect("a trace");
    assert_eq!(mechanisms(&trace), []);
}

#[test]
fn a_prompt_of_the_mcp_server_that_the_prompt_called_is_its_skill() {
    for (name, skill) in [("mcp__skilljack__greeting", "greeting"), ("mcp__other__greeting", "mcp__other__greeting")] {
        let folder = tempfile::tempdir().expect("a directory");
        let typed = format!("<command-message>{name}</command-message>\n<command-name>/{name}</command-name>");
        let lines = [
            json!({ "type": "user", "uuid": "a", "message": { "role": "user", "content": typed } }),
            json!({ "type": "user", "uuid": "b", "parentUuid": "a", "isMeta": true,
                "message": { "role": "user", "content": [{ "type": "text", "text": "Base directory for this skill: /x" }] } }),
        ];
        fs::write(folder.path().join("session.jsonl"), lines.map(|line| line.to_string()).join("\n")).expect("a file");
        fs::write(folder.path().join("trace.jsonl"), "").expect("a file");
        let trace = agent::of(AgentKind::ClaudeCli).decode(&Reference::default(), folder.path()).expect("a trace");
        assert_eq!(mechanisms(&trace), [(skill, Mechanism::Injected)]);
    }
}

#[test]
fn a_run_in_which_no_model_answered_measured_nothing() {
    let result =
        || json!({ "type": "result", "subtype": "success", "result": "Hi", "num_turns": 0, "is_error": false });
    let kind = |trace: Trace| trace.trouble.map(|trouble| trouble.kind);
    assert_eq!(kind(lines([json!({ "type": "system", "subtype": "init" }), result()])), Some(TroubleKind::NoAnswer));
    let said = json!({ "type": "assistant", "message": { "content": [{ "type": "text", "text": "Hi" }] } });
    assert_eq!(kind(lines([said, result()])), None);
}

#[test]
fn an_answer_in_the_models_place_is_an_error_whatever_the_result_says() {
    let said = "You've hit your session limit · resets 3pm";
    let lines = [
        json!({ "type": "assistant", "message": { "model": "<synthetic>", "content": [{ "type": "text", "text": said }] } }),
        json!({ "type": "result", "subtype": "success", "is_error": false, "result": said }),
    ];
    let trace = trace_of(lines.map(|line| line.to_string()).join("\n"));
    assert_eq!(trace.trouble.map(|trouble| trouble.kind), Some(TroubleKind::UsageLimit));
    assert!(trace.progress < AgentProgress::Answering && trace.final_message.is_none());
}

/// What claude says in the place of a sub-agent's model.
fn refused(error: &str, reason: &str, said: &str) -> serde_json::Value {
    let content = json!([{ "type": "text", "text": said }]);
    let message = json!({ "model": "<synthetic>", "stop_reason": reason, "content": content });
    json!({ "type": "assistant", "uuid": said, "agentId": "one", "error": error, "message": message })
}

#[test]
fn a_sub_agent_that_was_refused_measured_nothing_whatever_the_agent_made_of_it() {
    let (trace, _) = nested("two");
    let kind = |files: &[serde_json::Value]| with_files(&trace, files).trouble.map(|trouble| trouble.kind);
    let login = refused("authentication_failed", "stop_sequence", "Failed to authenticate. API Error: 401 no");
    let limit = refused("rate_limit", "stop_sequence", "API Error: 429 slow down");
    assert_eq!(kind(std::slice::from_ref(&login)), Some(TroubleKind::Login));
    assert_eq!(kind(std::slice::from_ref(&limit)), Some(TroubleKind::RateLimit));
    let answer = json!({ "type": "assistant", "uuid": "z", "agentId": "one", "message": { "content": [{ "type": "text", "text": "Hi" }] } });
    assert_eq!(kind(&[limit, answer]), None, "it got through in the end");
    assert_eq!(kind(&[refused("max_output_tokens", "max_tokens", "x")]), None, "the model's own end");
    // On standard output, after which the agent continues.
    let mut shown = login;
    shown["parent_tool_use_id"] = json!("t1");
    let mut lines = trace.clone();
    lines.insert(4, shown);
    assert_eq!(with_files(&lines, &[]).trouble.map(|trouble| trouble.kind), Some(TroubleKind::Login));
}

#[test]
fn a_sub_agent_in_the_background_is_waited_for_behind_the_answer() {
    let began = json!({ "type": "system", "subtype": "task_started", "task_id": "one", "task_type": "local_agent", "tool_use_id": "t" });
    let ended =
        |status: &str| json!({ "type": "system", "subtype": "task_notification", "task_id": "one", "status": status });
    let result = json!({ "type": "result", "subtype": "success", "result": "Hi" });
    let waiting = |lines: &[&serde_json::Value]| {
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        let trace = trace_of(lines.join("\n"));
        (trace.progress, trace.waiting)
    };
    let (stopped, completed) = (ended("stopped"), ended("completed"));
    assert_eq!(waiting(&[&began, &result]), (AgentProgress::Done, WaitingFor::Model));
    assert_eq!(
        waiting(&[&began, &result, &stopped]),
        (AgentProgress::Done, WaitingFor::Model),
        "since claude is ended"
    );
    assert_eq!(waiting(&[&began, &result, &completed]), (AgentProgress::Done, WaitingFor::Nothing));
    assert_eq!(
        waiting(&[&began, &stopped, &result]),
        (AgentProgress::Done, WaitingFor::Nothing),
        "the agent stopped it"
    );
}

#[test]
fn an_answer_without_a_result_is_one_if_the_session_file_shows_that_the_turn_ended() {
    let began = json!({ "type": "system", "subtype": "task_started", "task_id": "one", "task_type": "local_agent", "tool_use_id": "t" });
    let said =
        json!({ "type": "assistant", "uuid": "said", "message": { "content": [{ "type": "text", "text": "Hi" }] } });
    let stopped = json!({ "type": "system", "subtype": "task_notification", "task_id": "one", "status": "stopped" });
    let command = json!({ "type": "assistant", "agentId": "one", "message": { "content": [
        { "type": "tool_use", "id": "c", "name": "Bash", "input": { "command": "sleep 9" } } ] } });
    let session = |reason: &str| {
        let message = json!({ "role": "assistant", "content": [], "stop_reason": reason });
        format!("{}\n", json!({ "type": "assistant", "uuid": "said", "message": message }))
    };
    let waiting = |session: &[u8]| {
        let folder = tempfile::tempdir().expect("a directory");
        let write = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).expect("a file");
        write("trace.jsonl", format!("{began}\n{said}\n{stopped}\n").as_bytes());
        write("subagents.jsonl", format!("{command}\n").as_bytes());
        write("session.jsonl", session);
        let agent = agent::of(AgentKind::ClaudeCli);
        let trace = agent.decode(&Reference::default(), folder.path()).expect("the files can be read");
        let recorded = agent.recorded_evidence(folder.path(), &[]).expect("the files can be read");
        (trace.waiting, recorded.into_iter().find_map(|(name, bytes)| (name == "session.jsonl").then_some(bytes)))
    };
    let (live, recorded) = waiting(session("end_turn").as_bytes());
    assert_eq!(live, WaitingFor::Tool("Bash".to_owned()));
    assert_eq!(waiting(&recorded.expect("a recording has the end of the turn")).0, live);
    assert_eq!(waiting(session("tool_use").as_bytes()), (WaitingFor::Model, None), "the turn goes on");
}

#[test]
fn what_was_waited_for_is_what_it_was_before_claude_was_ended() {
    let call = |tool: &str| json!({ "type": "assistant", "message": { "content": [{ "type": "tool_use", "id": "t", "name": tool, "input": {} }] } });
    let stopped = |call: &str| json!({ "type": "system", "subtype": "task_notification", "task_id": "b", "tool_use_id": call, "status": "stopped" });
    let answer = |text: &str| json!({ "type": "user", "message": { "content": [{ "type": "tool_result", "tool_use_id": "t", "content": text, "is_error": true }] } });
    let again = json!({ "type": "system", "subtype": "init" });
    let waiting = |lines: &[serde_json::Value]| {
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        trace_of(lines.join("\n")).waiting
    };
    let tool = || WaitingFor::Tool("Bash".to_owned());
    assert_eq!(waiting(&[call("Bash"), stopped("t"), answer("Exit code 137"), again.clone()]), tool());
    assert_eq!(waiting(&[call("Bash"), answer("[Request interrupted by user for tool use]"), again.clone()]), tool());
    let result = json!({ "type": "result", "subtype": "success", "result": "Hi" });
    assert_eq!(
        waiting(&[call("Agent"), stopped("t"), answer("x"), again]),
        WaitingFor::Model,
        "its model was waited for"
    );
    assert_eq!(
        waiting(&[call("Agent"), stopped("t"), answer("x"), result]),
        WaitingFor::Model,
        "whatever it says then"
    );
    assert_eq!(
        waiting(&[call("Bash"), stopped("another"), answer("Exit code 137")]),
        WaitingFor::Model,
        "one in the background"
    );
}

#[test]
fn what_a_sub_agent_does_counts_and_its_requests_are_not_the_first() {
    let usage = json!({ "input_tokens": 7 });
    let call = json!([{ "type": "tool_use", "id": "t", "name": "Skill", "input": { "skill": "greeting" } }]);
    let result =
        json!([{ "type": "tool_result", "tool_use_id": "t", "content": [{ "type": "text", "text": "Launching" }] }]);
    let lines = [
        json!({ "type": "assistant", "parent_tool_use_id": "p", "message": { "content": call, "usage": usage } }),
        json!({ "type": "user", "parent_tool_use_id": "p", "message": { "role": "user", "content": result } }),
        json!({ "type": "assistant", "message": { "content": [{ "type": "text", "text": "Hi" }], "usage": { "input_tokens": 9, "cache_read_input_tokens": 1 } } }),
        json!({ "type": "result", "subtype": "success", "result": "Hi", "usage": { "input_tokens": 1 },
            "modelUsage": { "a": { "inputTokens": 10, "outputTokens": 2 }, "b": { "inputTokens": 5, "outputTokens": 0, "cacheReadInputTokens": 3 } } }),
    ];
    let trace = trace_of(lines.map(|line| line.to_string()).join("\n"));
    assert_eq!(mechanisms(&trace), [("greeting", Mechanism::SkillTool)]);
    assert_eq!(trace.first_input_tokens, Some(10));
    assert_eq!(trace.usage.map(|usage| (usage.input_tokens, usage.output_tokens)), Some((18, 2)));
}

#[test]
fn totals_that_do_not_tell_both_what_was_read_and_written_are_unknown() {
    for usage in [json!({}), json!({ "input_tokens": 7 }), json!({ "output_tokens": 7 })] {
        let line = json!({ "type": "result", "subtype": "success", "result": "Hi", "usage": usage });
        assert_eq!(trace_of(line.to_string()).usage, None, "{usage}");
    }
    let line = json!({ "type": "result", "subtype": "success", "result": "Hi", "usage": { "input_tokens": 7, "output_tokens": 1 },
        "modelUsage": { "a": { "inputTokens": 10 } } });
    assert_eq!(trace_of(line.to_string()).usage, None, "a model's");
}

#[test]
fn a_skill_whose_call_was_never_answered_was_wanted() {
    for tool in ["Skill", "mcp__skilljack__skill"] {
        let call = json!([{ "type": "tool_use", "id": "t", "name": tool, "input": { "skill": "greeting" } }]);
        let lines = [
            json!({ "type": "assistant", "message": { "content": call } }),
            json!({ "type": "result", "subtype": "success", "result": "Hi" }),
        ];
        let trace = trace_of(lines.map(|line| line.to_string()).join("\n"));
        assert_eq!((mechanisms(&trace), trace.failed_loads.len()), (vec![], 1), "{tool}");
    }
}

/// The standard output of a run in which a sub-agent started a sub-agent, and the sub-agents' own files.
fn nested(started: &str) -> (Vec<serde_json::Value>, Vec<serde_json::Value>) {
    let say = |uuid: &str, parent: Option<&str>, block: serde_json::Value| json!({ "type": "assistant", "uuid": uuid, "parent_tool_use_id": parent, "message": { "content": [block] } });
    let hear = |uuid: &str, parent: Option<&str>, call: &str, text: &str| {
        let block = json!({ "type": "tool_result", "tool_use_id": call, "content": text });
        json!({ "type": "user", "uuid": uuid, "parent_tool_use_id": parent, "message": { "content": [block] } })
    };
    let call = |id: &str, tool: &str, input| json!({ "type": "tool_use", "id": id, "name": tool, "input": input });
    let agent = |id: &str| call(id, "Agent", json!({ "prompt": "go" }));
    let began = |id: &str, call: &str| json!({ "type": "system", "subtype": "task_started", "task_id": id, "task_type": "local_agent", "tool_use_id": call });
    let ended =
        |id: &str| json!({ "type": "system", "subtype": "task_notification", "task_id": id, "status": "completed" });
    let trace = vec![
        say("a", None, agent("t1")),
        began("one", "t1"),
        json!({ "type": "user", "uuid": "b", "parent_tool_use_id": "t1", "message": { "content": "go" } }),
        say("c", Some("t1"), agent("t2")),
        began(started, "t2"),
        hear("d", Some("t1"), "t2", "done"),
        hear("e", None, "t1", "done"),
        ended("one"),
        ended(started),
        json!({ "type": "result", "subtype": "success", "result": "Hi" }),
    ];
    let own = |agent: &str, mut line: serde_json::Value| {
        line["agentId"] = json!(agent);
        line.as_object_mut().expect("a line").remove("parent_tool_use_id");
        line
    };
    let skill = call("t1", "Skill", json!({ "skill": "greeting" }));
    let files = vec![
        own("one", trace[2].clone()),
        own("one", trace[3].clone()),
        own("one", trace[5].clone()),
        own("one", json!({ "type": "attachment", "attachment": { "type": "skill_listing" } })),
        own("two", json!({ "type": "user", "uuid": "f", "message": { "content": "go" } })),
        own("two", say("g", None, skill)),
        own("two", hear("h", None, "t1", "Launching skill: greeting")),
        own("two", say("i", None, call("t2", "Bash", json!({ "command": "touch x" })))),
    ];
    (trace, files)
}

/// The answer to the last call of the second sub-agent.
fn nested_answer() -> serde_json::Value {
    json!({ "type": "user", "uuid": "j", "agentId": "two",
        "message": { "content": [{ "type": "tool_result", "tool_use_id": "t2", "content": "" }] } })
}

fn with_files(trace: &[serde_json::Value], files: &[serde_json::Value]) -> Trace {
    let folder = tempfile::tempdir().expect("a directory");
    let text = |lines: &[serde_json::Value]| lines.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    fs::write(folder.path().join("trace.jsonl"), text(trace)).expect("a file");
    fs::write(folder.path().join("subagents.jsonl"), text(files)).expect("a file");
    // The skill is offered: then a verdict may be settled.
    let offered = text(trace).replace(r#""subtype":"init""#, r#""subtype":"init","skills":["greeting"]"#);
    let claude = agent::of(AgentKind::ClaudeCli);
    let decode = |folder: &Path| claude.decode(&Reference::default(), folder).expect("the files can be read");
    prefixes::check_files(AgentKind::ClaudeCli, &decode, [offered, String::new(), text(files)]);
    decode(folder.path())
}

/// The sub-agents' file as a recording keeps it.
fn slimmed_sub_agents(files: &[serde_json::Value]) -> Vec<serde_json::Value> {
    let folder = tempfile::tempdir().expect("a directory");
    let text: String = files.iter().fold(String::new(), |text, line| text + &format!("{line}\n"));
    fs::write(folder.path().join("trace.jsonl"), "").expect("a file");
    fs::write(folder.path().join("subagents.jsonl"), text).expect("a file");
    let kept = agent::of(AgentKind::ClaudeCli).recorded_evidence(folder.path(), &[]).expect("the files can be read");
    let (_, kept) = kept.into_iter().find(|(name, _)| *name == "subagents.jsonl").expect("it is kept");
    kept.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

#[test]
fn what_a_sub_agents_sub_agent_does_is_in_its_own_file_and_counts_once() {
    let (trace, mut files) = nested("two");
    assert!(with_files(&trace, &files).gap().is_some_and(|gap| gap.contains("what a call of `Bash` returned")));
    files.push(nested_answer());
    let whole = with_files(&trace, &files);
    assert_eq!((mechanisms(&whole), whole.gap()), (vec![("greeting", Mechanism::SkillTool)], None));
    let calls = whole.steps.iter().filter(|step| matches!(step, Step::Tool { name, .. } if name == "Agent")).count();
    assert_eq!((calls, whole.commands, whole.progress), (2, 1, AgentProgress::Done));
    assert_eq!(whole.waiting, WaitingFor::Nothing);
}

/// The file of a sub-agent that began with a skill's body, put there by claude or, where not, by a model.
fn fork(meta: bool, block: &serde_json::Value) -> Vec<serde_json::Value> {
    let body = "Base directory for this skill: /w/.claude/skills/greeting\n\nSay Ahoy.";
    vec![
        json!({ "type": "user", "uuid": "f", "agentId": "one", "isMeta": meta, "message": { "role": "user", "content": body } }),
        json!({ "type": "assistant", "uuid": "g", "agentId": "one", "message": { "content": [block] } }),
    ]
}

#[test]
fn a_skill_that_the_prompt_had_run_as_a_sub_agent_is_injected() {
    let said = json!({ "type": "text", "text": "Ahoy" });
    let trace = [
        json!({ "type": "system", "subtype": "init" }),
        json!({ "type": "result", "subtype": "success", "result": "Ahoy" }),
    ];
    let called = with_files(&trace, &fork(true, &said));
    assert_eq!(mechanisms(&called), [("greeting", Mechanism::Injected)]);
    assert_eq!(called.moments.last().expect("what it said").depth, 1);
    assert_eq!(mechanisms(&with_files(&trace, &fork(false, &said))), [], "a model wrote the marks");
    let kept: Vec<serde_json::Value> = slimmed_sub_agents(&fork(true, &said));
    assert_eq!(mechanisms(&with_files(&trace, &kept)), [("greeting", Mechanism::Injected)], "as a recording keeps it");
    let runs = json!({ "type": "tool_use", "id": "b", "name": "Bash", "input": { "command": "sleep 9" } });
    let waits = with_files(&trace[..1], &fork(true, &runs));
    assert_eq!(waits.waiting, WaitingFor::Tool("Bash".to_owned()));
}

#[test]
fn a_skill_that_the_model_had_run_as_a_sub_agent_is_called_once_and_waited_for_as_a_model() {
    let said = json!({ "type": "text", "text": "Ahoy" });
    let skill = call("Skill", &json!({ "skill": "greeting" }));
    for answer in [vec![], vec![answer("Skill \"greeting\" completed")]] {
        let trace = with_files(&[vec![skill.clone()], answer].concat(), &fork(true, &said));
        assert_eq!((mechanisms(&trace), trace.failed_loads.len()), (vec![("greeting", Mechanism::SkillTool)], 0));
        assert_eq!(trace.waiting, WaitingFor::Model);
    }
    let other = with_files(&[skill], &fork(false, &said));
    assert_eq!((mechanisms(&other), &other.waiting), (vec![], &WaitingFor::Tool("Skill".to_owned())));
}

#[test]
fn a_sub_agents_sub_agent_without_a_file_leaves_a_gap() {
    let (trace, mut files) = nested("two");
    files.push(nested_answer());
    assert!(with_files(&trace, &[]).gap().is_some_and(|gap| gap.contains("sub-agent")));
    assert!(with_files(&trace, &files[..4]).gap().is_some(), "the second has none");
    let (other, others) = nested("another");
    assert!(with_files(&other, &others).gap().is_some(), "it is another's");
    let untold: Vec<_> = trace.into_iter().filter(|line| line["type"] != "system").collect();
    assert!(with_files(&untold, &[]).gap().is_some(), "a version that tells of no task");
    assert_eq!(with_files(&untold, &files).gap(), None);
    // One that the agent itself started shows on standard output.
    let first: Vec<_> = nested("two")
        .0
        .into_iter()
        .filter(|line| !["c", "d"].contains(&line["uuid"].as_str().unwrap_or_default()) && line["task_id"] != "two")
        .collect();
    assert_eq!(with_files(&first, &[]).gap(), None);
    let mut torn = with_files(&first, &[json!("x")]);
    torn.damaged_lines -= 1;
    assert_eq!(torn.gap(), None, "a line that is none is damaged");
}

#[test]
fn a_command_of_a_sub_agents_sub_agent_is_waited_for_as_a_tool() {
    let (trace, files) = nested("two");
    assert_eq!(with_files(&trace[..5], &files).waiting, WaitingFor::Tool("Bash".to_owned()));
    assert_eq!(with_files(&trace[..5], &files[..7]).waiting, WaitingFor::Model);
    // While claude is ended, it answers the calls itself, and its model may answer too.
    let answer = |agent: Option<&str>, call: &str, text: &str| {
        json!({ "type": "user", "agentId": agent, "message": { "content": [
        { "type": "tool_result", "tool_use_id": call, "content": text, "is_error": true } ] } })
    };
    let mut trace = trace[..5].to_vec();
    trace.push(answer(None, "t1", "[Request interrupted by user for tool use]"));
    trace.push(json!({ "type": "result", "subtype": "success", "result": "Hi" }));
    let mut files = files;
    files.push(answer(
        Some("two"),
        "t2",
        "The user doesn't want to proceed with this tool use. The tool use was rejected.",
    ));
    let ended = with_files(&trace, &files);
    assert_eq!((ended.waiting, ended.interrupted), (WaitingFor::Tool("Bash".to_owned()), true));
    assert_eq!(with_files(&trace, &files[..7]).waiting, WaitingFor::Model);
}

#[test]
fn damaged_lines_and_unknown_events_are_counted_and_passed_over() {
    let mut events = fs::read(folder("triggers").join("trace.jsonl")).expect("a trace");
    events.splice(0..0, b"not json\n\xff\xfe{\"type\":\"user\"}\n{\"type\":\"teapot\"}\n{\"type\":\"system\",\"subtype\":\"kettle\"}\n{\"type\":\"assistant\",\"message\":7}\n[]\n".iter().copied());
    events.extend(b"{\"type\":\"assistant\",\"mess");
    let trace = trace_of(events);
    assert_eq!(mechanisms(&trace), [("greeting", Mechanism::SkillTool)]);
    assert_eq!(trace.damaged_lines, 4);
    let unknown: Vec<_> = trace.unknown_events.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
    assert_eq!(unknown, [("assistant of another shape", 1), ("system kettle", 1), ("teapot", 1)]);
}

#[test]
fn a_recording_hides_no_damage() {
    let whole = fs::read_to_string(folder("triggers").join("trace.jsonl")).expect("a trace");
    let twice = whole.replace("\"type\":\"result\"", "\"type\":\"result\",\"subtype\":\"success\"");
    assert_ne!(whole, twice);
    for trace in [twice, format!("{whole}[]\n"), format!("{whole}{{\"type\":1}}\n"), format!("{whole}{{\"type\"")] {
        let left = tempfile::tempdir().expect("a directory");
        fs::write(left.path().join("trace.jsonl"), &trace).expect("a file");
        let recorded = tempfile::tempdir().expect("a directory");
        for (name, content) in
            agent::of(AgentKind::ClaudeCli).recorded_evidence(left.path(), &["greeting"]).expect("the files")
        {
            fs::write(recorded.path().join(name), content).expect("a file");
        }
        let [before, after] = [left, recorded].map(|folder| {
            agent::of(AgentKind::ClaudeCli).decode(&Reference::default(), folder.path()).expect("the files")
        });
        assert!(before.gap().is_some(), "{}", &trace[trace.len() - 40..]);
        assert_eq!((before.gap(), before.progress), (after.gap(), after.progress));
    }
}

#[test]
fn a_call_that_nobody_answered_is_kept() {
    let trace = trace("hang");
    assert_eq!((trace.progress, trace.final_message), (AgentProgress::Started, None));
    let call = json!({ "type": "assistant", "message": { "content": [{ "type": "tool_use", "id": "t", "name": "Bash", "input": { "command": "sleep 9" } }] } });
    let trace = trace_of(call.to_string());
    assert_eq!((trace.commands, trace.progress), (1, AgentProgress::Answering));
}

/// Lines of JSON as a trace.
fn lines<const N: usize>(lines: [serde_json::Value; N]) -> Trace {
    trace_of(lines.map(|line| line.to_string()).join("\n"))
}

fn call(tool: &str, input: &serde_json::Value) -> serde_json::Value {
    json!({ "type": "assistant", "message": { "content": [{ "type": "tool_use", "id": "t", "name": tool, "input": input }] } })
}

fn answer(text: &str) -> serde_json::Value {
    json!({ "type": "user", "message": { "content": [{ "type": "tool_result", "tool_use_id": "t", "content": text }] } })
}

#[test]
fn a_trace_tells_what_was_waited_for_at_its_end() {
    let init = || json!({ "type": "system", "subtype": "init" });
    let bash = || call("Bash", &json!({ "command": "sleep 9" }));
    let result = || json!({ "type": "result", "subtype": "success", "result": "Hi", "is_error": false });
    assert_eq!(lines([init()]).waiting, WaitingFor::Model);
    assert_eq!(lines([init(), bash()]).waiting, WaitingFor::Tool("Bash".to_owned()));
    assert_eq!(lines([init(), bash(), answer("done")]).waiting, WaitingFor::Model);
    assert_eq!(lines([init(), bash(), answer("done"), result()]).waiting, WaitingFor::Nothing);
    // A sub-agent's model is a model.
    let agent = || call("Agent", &json!({ "prompt": "go" }));
    assert_eq!(lines([init(), agent()]).waiting, WaitingFor::Model);
    let mut inner = bash();
    inner["parent_tool_use_id"] = json!("t");
    assert_eq!(lines([init(), agent(), inner]).waiting, WaitingFor::Tool("Bash".to_owned()));
}

#[test]
fn what_the_model_ended_itself_is_no_trouble_of_the_provider() {
    let synthetic = |error: &str, reason: &str| {
        json!({ "type": "assistant", "error": error, "message": { "model": "<synthetic>", "stop_reason": reason,
            "content": [{ "type": "text", "text": "API Error: 429 quota" }] } })
    };
    let result = |subtype: &str, reason: &str| {
        json!({ "type": "result", "subtype": subtype, "is_error": true, "stop_reason": reason,
            "result": "API Error: 429 quota" })
    };
    let stopped = |synthetic, result| {
        let answered = json!({ "type": "assistant", "message": { "model": "m", "content": [] } });
        let trace = lines([answered, synthetic, result]);
        assert_eq!(trace.trouble, None);
        trace.stopped
    };
    assert_eq!(
        stopped(synthetic("invalid_request", "refusal"), result("success", "refusal")),
        Some(StopReason::Refusal)
    );
    assert_eq!(
        stopped(synthetic("max_output_tokens", "stop_sequence"), result("success", "")),
        Some(StopReason::MaxTokens)
    );
    let too_long = refused("invalid_request", "stop_sequence", "Prompt is too long · the request is ~250000 tokens");
    assert_eq!(stopped(too_long, result("success", "stop_sequence")), Some(StopReason::ContextWindow));
    assert_eq!(stopped(json!({ "type": "system" }), result("error_max_turns", "tool_use")), Some(StopReason::MaxTurns));
}

#[test]
fn a_field_of_another_type_is_unknown_and_its_event_counts_all_the_same() {
    for odd in [json!(10.0), json!(null), json!(-1), json!("7"), json!({})] {
        let said = json!({ "type": "assistant", "uuid": odd, "message": { "usage": { "input_tokens": odd },
            "content": [{ "type": "tool_use", "id": "t", "name": "Skill", "input": { "skill": "greeting", "args": odd } }] } });
        let result = json!({ "type": "result", "subtype": "success", "result": "Hi", "num_turns": odd,
            "usage": { "input_tokens": odd, "output_tokens": 1 }, "total_cost_usd": 1, "permission_denials": odd });
        let trace = lines([said, answer("Launching skill: greeting"), result]);
        assert_eq!((trace.progress, trace.final_message.as_deref()), (AgentProgress::Done, Some("Hi")), "{odd}");
        assert_eq!((trace.usage, trace.first_input_tokens, trace.gap()), (None, None, None), "{odd}");
        assert_eq!(mechanisms(&trace), [("greeting", Mechanism::SkillTool)]);
        let by_model = json!({ "type": "result", "subtype": "success", "result": "Hi", "usage": { "input_tokens": 5 },
            "modelUsage": { "a": { "inputTokens": odd } } });
        assert_eq!(lines([by_model]).usage, None, "{odd}");
    }
}

#[test]
fn a_call_that_names_no_file_and_an_answer_that_does_not_say_whether_it_failed_leave_a_gap() {
    let gap = |tool: &str, input: &serde_json::Value, failed: &serde_json::Value| {
        let mut answer = answer("text");
        answer["message"]["content"][0]["is_error"] = failed.clone();
        lines([call(tool, input), answer]).gap().is_some()
    };
    let (no, yes) = (json!(false), json!(true));
    for tool in ["Read", "Write"] {
        let [named, unnamed] = [json!({ "file_path": "/a" }), json!({ "filePath": "/a" })];
        assert!(!gap(tool, &named, &no) && gap(tool, &unnamed, &no), "{tool}");
        assert!(!gap(tool, &unnamed, &yes), "{tool} failed for it");
        assert!(!gap(tool, &named, &json!(null)) && gap(tool, &named, &json!("yes")), "{tool}");
    }
}

#[test]
fn what_cannot_be_read_leaves_a_gap() {
    let gap = |line: &str| trace_of(line).gap().is_some();
    assert!(gap("{\"type\":\"assistant\",\"mess"), "half a line");
    assert!(gap("{\"type\":\"assistant\",\"message\":7}"));
    assert!(gap("{\"type\":\"user\",\"message\":{\"content\":[7]}}"));
    assert!(gap("{\"type\":\"tool_call_v2\",\"name\":\"Skill\"}"));
    assert!(!gap("{\"type\":\"weather\"}") && !gap("{\"type\":\"system\",\"subtype\":\"skills_changed\"}"));
    let many: String = (0..1200)
        .map(|id| call("Bash", &json!({})).to_string().replace("\"t\"", &format!("\"{id}\"")) + "\n")
        .collect();
    assert!(gap(&many), "calls that are not followed");
}

#[test]
fn thoughts_are_told_and_an_answer_in_several_lines_counts_once() {
    let line = |block: serde_json::Value| json!({ "type": "assistant", "message": { "id": "m", "usage": { "input_tokens": 5 }, "content": [block] } });
    let lines =
        [line(json!({ "type": "thinking", "thinking": "Look first." })), line(json!({ "type": "text", "text": "Hi" }))];
    let trace = trace_of(lines.map(|line| line.to_string()).join("\n"));
    assert_eq!(trace.steps, [Step::Thinking("Look first.".to_owned()), Step::Message("Hi".to_owned())]);
    assert_eq!(trace.requests.len(), 1);
}

#[test]
fn sub_agents_stand_below_and_a_call_that_was_not_allowed_is_marked_where_it_was_made() {
    let (trace, files) = nested("two");
    let trace = with_files(&trace, &files);
    let depths: Vec<u32> = trace.moments.iter().map(|moment| moment.depth).collect();
    assert!(depths.contains(&0) && depths.contains(&1) && depths.contains(&2), "{depths:?} {:#?}", trace.steps);
    let call = json!({ "type": "assistant", "message": { "content": [
        { "type": "tool_use", "id": "1", "name": "Bash", "input": { "command": "rm x" } } ] } });
    let answer = json!({ "type": "user", "message": { "content": [
        { "type": "tool_result", "tool_use_id": "1", "content": "no", "is_error": true } ] } });
    let end = json!({ "type": "result", "subtype": "success", "result": "done",
        "permission_denials": [{ "tool_name": "Bash", "tool_input": { "command": "rm x" } }] });
    let trace = trace_of([call, answer, end].map(|line| line.to_string()).join("\n"));
    let marks: Vec<_> = trace.marks.iter().map(|mark| (mark.step, mark.what)).collect();
    assert_eq!(marks, [(0, Marked::Denial(0))]);
}

#[test]
fn turns_are_counted_in_the_session_while_it_is_written() {
    let assistant = |answer: &str, call: &str| {
        let block = json!({ "type": "tool_use", "id": call, "name": "Bash", "input": {} });
        json!({ "type": "assistant", "message": { "role": "assistant", "id": answer, "content": [block] } })
    };
    let user = |call: &str| {
        let block = json!({ "type": "tool_result", "tool_use_id": call, "content": "x" });
        json!({ "type": "user", "message": { "role": "user", "content": [block] } })
    };
    let said = json!({ "type": "assistant", "message": { "role": "assistant", "id": "c", "content": [{ "type": "text", "text": "4" }] } });
    let prompt = json!({ "type": "user", "message": { "role": "user", "content": "What is 2+2?" } });
    let mut turns = TurnCounter::default();
    let lines =
        [prompt, assistant("a", "1"), assistant("a", "2"), user("1"), user("2"), assistant("b", "3"), user("3"), said];
    let over = lines.map(|line| {
        let signs = agent::of(AgentKind::ClaudeCli).signs(line.to_string().as_bytes());
        for sign in signs {
            turns.note(sign);
        }
        turns.ended()
    });
    assert_eq!(over, [0, 0, 0, 0, 1, 1, 2, 2]);
    assert!(agent::of(AgentKind::ClaudeCli).signs(b"{\"type\":").is_empty());
}

/// claude's word that it asks again.
fn retry(status: u64, ms: u64) -> String {
    let retry = json!({ "type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10, "retry_delay_ms": ms,
        "error_status": status, "error": "rate_limit" });
    format!("{retry}\n")
}

/// What claude says in the model's place, and its end.
fn gives_up(status: Option<u64>, error: &str, text: &str) -> String {
    let message = json!({ "model": "<synthetic>", "content": [{ "type": "text", "text": text }],
        "stop_reason": "stop_sequence" });
    let said = json!({ "type": "assistant", "message": message, "parent_tool_use_id": null, "error": error });
    let end = json!({ "type": "result", "subtype": "success", "is_error": true, "api_error_status": status,
        "result": text, "stop_reason": "stop_sequence", "usage": { "input_tokens": 0, "output_tokens": 0 } });
    format!("{said}\n{end}\n")
}

const ANSWER: &str = r#"{"type":"assistant","message":{"id":"1","model":"m","content":[{"type":"text","text":"Hi."}]},"parent_tool_use_id":null}
"#;

#[test]
fn what_claude_retried_last_tells_why_it_gave_up_or_was_still_waiting() {
    let trouble = |events: &str| trace_of(events).trouble.map(|trouble| (trouble.kind, trouble.retry_after_s));
    let overloaded = "API Error: Repeated 529 Overloaded errors. The API is at capacity — this is usually temporary.";
    let gave_up = retry(529, 500) + &gives_up(None, "server_error", overloaded);
    assert_eq!(trouble(&gave_up), Some((TroubleKind::RateLimit, None)));
    assert_eq!(trouble(&retry(429, 36_200)), Some((TroubleKind::RateLimit, Some(37))), "it was still waiting");
    assert_eq!(trouble(&(ANSWER.to_owned() + &retry(503, 500))), Some((TroubleKind::RateLimit, Some(1))));
    assert_eq!(trouble(&retry(401, 500)), Some((TroubleKind::Login, Some(1))));
    // What it got through is over.
    assert_eq!(trouble(&(retry(429, 500) + ANSWER)), None);
    let later = retry(529, 500) + ANSWER + &gives_up(None, "server_error", "API Error: Connection error.");
    assert_eq!(trouble(&later), Some((TroubleKind::Unreachable, None)));
    let other = retry(529, 500) + &gives_up(Some(400), "invalid_request", "API Error: 400 no");
    assert_eq!(trouble(&other), Some((TroubleKind::Provider, None)));
}

#[test]
fn what_the_model_did_itself_is_no_trouble_and_what_it_never_saw_is() {
    let filtered = gives_up(Some(400), "unknown", "API Error: 400 Output blocked by content filtering policy");
    assert_eq!(trace_of(&filtered).stopped, Some(StopReason::Refusal));
    let long = gives_up(Some(400), "invalid_request", "Prompt is too long · the request is ~250000 tokens");
    let first = trace_of(&long);
    assert_eq!((first.stopped, first.trouble.map(|trouble| trouble.kind)), (None, Some(TroubleKind::Provider)));
    assert_eq!(trace_of(ANSWER.to_owned() + &long).stopped, Some(StopReason::ContextWindow));
    let ended = |input_tokens: u64| {
        let end = json!({ "type": "result", "subtype": "success", "is_error": false, "result": "",
            "usage": { "input_tokens": input_tokens, "output_tokens": 0 } });
        trace_of(end.to_string())
    };
    let empty = ended(20);
    assert_eq!((empty.trouble, empty.final_message.as_deref()), (None, None), "a model was asked, and said nothing");
    assert_eq!(ended(0).trouble.map(|trouble| trouble.kind), Some(TroubleKind::NoAnswer), "none was asked");
}
