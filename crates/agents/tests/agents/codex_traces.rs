//! Event streams and rollout files of the real codex, decoded: the result of each scenario.

use skill_evals_testing::repository;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use skill_evals_agents::agent;
use skill_evals_agents::agent::interface::TurnCounter;
use skill_evals_evidence::settings::mode::AgentKind;
use skill_evals_evidence::trace::exposure::{Reference, SkillTexts, TextIndexBuilder};
use skill_evals_evidence::trace::{AgentProgress, Mechanism, Step, StopReason, Trace, WaitingFor};
use skill_evals_evidence::trial::outcome::TroubleKind;
use skill_evals_testing::prefixes;

fn folder(scenario: &str) -> PathBuf {
    repository().join("tests/fixtures/traces/codex").join(scenario)
}

/// The trace of these event lines, without a rollout.
fn trace_of(events: &[u8]) -> Trace {
    let folder = tempfile::tempdir().expect("a directory");
    fs::write(folder.path().join("trace.jsonl"), events).expect("a file");
    agent::of(AgentKind::Codex).decode(&Reference::default(), folder.path()).expect("the files can be read")
}

fn mechanisms(trace: &Trace) -> Vec<(&str, Mechanism)> {
    trace.activations.iter().map(|activation| (activation.skill.as_str(), activation.how)).collect()
}

#[test]
fn a_recording_hides_no_damage() {
    let left = tempfile::tempdir().expect("a directory");
    fs::copy(folder("triggers").join("trace.jsonl"), left.path().join("trace.jsonl")).expect("a file");
    let rollout = fs::read(folder("triggers").join("rollout.jsonl")).expect("a file");
    let long = vec![b'x'; skill_evals_evidence::text::lines::LONGEST + 1];
    let twice = br#"{"type": "response_item", "type": "x", "payload": {}}"#.to_vec();
    for damage in [b"{\"type\": \"resp".to_vec(), b"[]".to_vec(), twice, long] {
        fs::write(left.path().join("rollout.jsonl"), [&rollout, damage.as_slice(), b"\n"].concat()).expect("a file");
        let recorded = tempfile::tempdir().expect("a directory");
        for (name, content) in
            agent::of(AgentKind::Codex).recorded_evidence(left.path(), &["greeting"]).expect("the files")
        {
            assert!(content.len() < 100_000);
            fs::write(recorded.path().join(name), content).expect("a file");
        }
        for folder in [left.path(), recorded.path()] {
            let trace = agent::of(AgentKind::Codex).decode(&Reference::default(), folder).expect("the files");
            assert_eq!(trace.damaged_lines, 1);
        }
    }
}

#[test]
fn a_part_of_the_conversation_that_cannot_be_read_stays_a_gap_in_a_recording() {
    let left = tempfile::tempdir().expect("a directory");
    fs::copy(folder("triggers").join("trace.jsonl"), left.path().join("trace.jsonl")).expect("a file");
    let mut rollout = fs::read(folder("triggers").join("rollout.jsonl")).expect("a file");
    // Rewritten, it would have the key once and could be read.
    rollout.extend(
        br#"{"type":"response_item","payload":{"type":"message","role":"user","content":[{"text":"a","text":"b"}]}}"#,
    );
    fs::write(left.path().join("rollout.jsonl"), rollout).expect("a file");
    let recorded = tempfile::tempdir().expect("a directory");
    for (name, content) in agent::of(AgentKind::Codex).recorded_evidence(left.path(), &["greeting"]).expect("the files")
    {
        fs::write(recorded.path().join(name), content).expect("a file");
    }
    for folder in [left.path(), recorded.path()] {
        let trace = agent::of(AgentKind::Codex).decode(&Reference::default(), folder).expect("the files");
        assert!(trace.gap().is_some_and(|gap| gap.contains("response_item of another shape")), "{:?}", trace.gap());
    }
}

#[test]
fn without_a_rollout_the_event_stream_tells_what_it_can() {
    let trace = trace_of(&fs::read(folder("triggers").join("trace.jsonl")).expect("a trace"));
    assert_eq!(trace.offered, None, "what was offered is unknown");
    assert_eq!(mechanisms(&trace), [("greeting", Mechanism::ReadSkillFile)]);
    assert_eq!(trace.commands, 1);
}

#[test]
fn usage_of_several_turns_adds_up() {
    let turn = r#"{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":3,"reasoning_output_tokens":1}}"#;
    let between = r#"{"type":"error","message":"again"}"#;
    let usage = trace_of(format!("{turn}\n{between}\n{turn}\n").as_bytes()).usage.expect("usage");
    let twice = trace_of(format!("{turn}\n{turn}\n").as_bytes());
    assert_eq!((twice.usage, twice.gap().is_some()), (trace_of(turn.as_bytes()).usage, true), "a line came twice");
    assert_eq!((usage.input_tokens, usage.cached_input_tokens, usage.output_tokens), (20, 8, 6));
    assert_eq!(usage.total_tokens(), 26);
}

#[test]
fn unknown_events_are_counted_and_broken_lines_too() {
    let mut events = b"{\"type\":\"moon.phase\"}\nno json\n{\"type\":\"moon.phase\"}\n\xff\xfe\n".to_vec();
    events.extend(b"{\"type\":\"item.completed\",\"item\":{\"type\":\"hologram\"}}\n{\"type\":\"turn.comp");
    let trace = trace_of(&events);
    assert_eq!(trace.unknown_events.get("moon.phase"), Some(&2));
    assert_eq!(trace.unknown_events.get("item hologram"), Some(&1));
    assert_eq!(trace.damaged_lines, 3, "no JSON, no UTF-8, half a last line");
}

#[test]
fn after_a_line_that_cannot_be_read_the_last_message_is_not_known_until_the_next_one() {
    let said = |text: &str| {
        format!("{{\"type\":\"item.completed\",\"item\":{{\"type\":\"agent_message\",\"text\":\"{text}\"}}}}\n")
    };
    for lost in [
        "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_mess",
        "{\"type\":\"item.completed\",\"item\":{\"type\":\"hologram\"}}",
    ] {
        let last = trace_of(format!("{}{lost}\n{{\"type\":\"turn.completed\"}}\n", said("I will look.")).as_bytes());
        assert!(last.answer_unread, "{lost}: it may have been the last message");
        let answered = trace_of(format!("{lost}\n{}{{\"type\":\"turn.completed\"}}\n", said("Done.")).as_bytes());
        assert_eq!((answered.answer_unread, answered.final_message.as_deref()), (false, Some("Done.")), "{lost}");
    }
}

#[test]
fn a_line_of_a_hundred_megabytes_is_counted_and_the_rest_is_read() {
    let mut events =
        b"{\"type\":\"thread.started\"}\n{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_message\",\"text\":\""
            .to_vec();
    events.resize(100 << 20, b'x');
    events.extend(b"\"}}\n{\"type\":\"turn.completed\"}\n");
    let trace = trace_of(&events);
    assert_eq!((trace.damaged_lines, trace.progress), (1, AgentProgress::Done));
}

#[test]
fn a_warning_item_is_no_failure() {
    let trace = trace_of(br#"{"type":"item.completed","item":{"type":"error","message":"Model metadata not found"}}"#);
    assert_eq!((trace.trouble, trace.progress), (None, AgentProgress::Silent));
    assert_eq!(trace.steps, [Step::Notice("Model metadata not found".to_owned())]);
}

#[test]
fn a_trace_tells_what_was_waited_for_at_its_end() {
    let turn = r#"{"type":"turn.started"}"#;
    let started = r#"{"type":"item.started","item":{"id":"1","type":"command_execution","command":"sleep 9"}}"#;
    let completed =
        r#"{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"sleep 9","exit_code":0}}"#;
    let message = r#"{"type":"item.completed","item":{"id":"2","type":"agent_message","text":"Hi"}}"#;
    let done = r#"{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":1}}"#;
    let waiting = |lines: &[&str]| trace_of(lines.join("\n").as_bytes()).waiting;
    assert_eq!(waiting(&[turn]), WaitingFor::Model);
    assert_eq!(waiting(&[turn, started]), WaitingFor::Tool("shell".to_owned()));
    assert_eq!(
        waiting(&[turn, started, message]),
        WaitingFor::Tool("shell".to_owned()),
        "of two calls one is under way"
    );
    assert_eq!(waiting(&[turn, started, completed]), WaitingFor::Model);
    assert_eq!(waiting(&[turn, message]), WaitingFor::Model);
    assert_eq!(waiting(&[turn, message, done]), WaitingFor::Nothing);
}

#[test]
fn what_the_model_ended_itself_is_no_trouble_of_the_provider() {
    let failed = |message: &str| {
        let trace = trace_of(format!(r#"{{"type":"turn.failed","error":{{"message":"{message}"}}}}"#).as_bytes());
        (trace.stopped, trace.trouble.map(|trouble| trouble.kind))
    };
    let cut = "stream disconnected before completion: Incomplete response returned, reason: content_filter";
    assert_eq!(failed(cut), (Some(StopReason::Refusal), None));
    assert_eq!(failed("Incomplete response returned, reason: max_output_tokens"), (Some(StopReason::MaxTokens), None));
    assert_eq!(failed("stream disconnected before completion"), (None, Some(TroubleKind::Provider)));
}

#[test]
fn the_code_that_codex_gives_an_error_decides_what_kind_it_is() {
    let kind = |info: &str, message: &str| {
        let folder = tempfile::tempdir().expect("a directory");
        let rollout = format!(
            r#"{{"timestamp":7,"type":"event_msg","payload":{{"type":"task_complete","error":{{"codex_error_info":{info}}}}}}}"#
        );
        fs::write(folder.path().join("rollout.jsonl"), rollout).expect("a file");
        let failed = format!(r#"{{"type":"turn.failed","error":{{"message":"{message}"}}}}"#);
        fs::write(folder.path().join("trace.jsonl"), failed).expect("a file");
        let trace = agent::of(AgentKind::Codex).decode(&Reference::default(), folder.path()).expect("a trace");
        trace.trouble.map(|trouble| trouble.kind)
    };
    assert_eq!(kind(r#""server_overloaded""#, "who knows"), Some(TroubleKind::RateLimit));
    assert_eq!(kind(r#"{"response_stream_disconnected":{"http_status_code":503}}"#, "x"), Some(TroubleKind::RateLimit));
    assert_eq!(kind(r#""unauthorized""#, "x"), Some(TroubleKind::Login));
    assert_eq!(kind(r#""other""#, "reading quota.md of request 429"), Some(TroubleKind::Provider));
}

#[test]
fn usage_of_another_type_is_unknown_and_the_turn_counts_all_the_same() {
    let odd = ["10.0", "null", "-1", "\"7\""].map(|odd| format!(r#""input_tokens":{odd},"output_tokens":3"#));
    let partial = ["", r#""input_tokens":10"#, r#""output_tokens":3"#].map(str::to_owned);
    for odd in odd.into_iter().chain(partial) {
        let turn = format!(r#"{{"type":"turn.completed","usage":{{{odd}}}}}"#);
        let whole = r#"{"type":"turn.completed","usage":{"input_tokens":1,"output_tokens":3}}"#;
        for events in [turn.clone(), format!("{whole}\n{turn}"), format!("{turn}\n{whole}")] {
            let trace = trace_of(events.as_bytes());
            assert_eq!((trace.usage, trace.progress, trace.gap()), (None, AgentProgress::Done, None), "{events}");
        }
    }
}

/// The trace of a run with these rollouts next to its events.
fn with_rollouts(events: &[&str], own: &[&str], sub_agents: &[&str]) -> Trace {
    let folder = tempfile::tempdir().expect("a directory");
    for (name, lines) in [("trace.jsonl", events), ("rollout.jsonl", own), ("subagents.jsonl", sub_agents)] {
        fs::write(folder.path().join(name), lines.join("\n")).expect("a file");
    }
    agent::of(AgentKind::Codex).decode(&Reference::default(), folder.path()).expect("a trace")
}

const SPAWN: &str = r#"{"type":"item.completed","item":{"id":"1","type":"collab_tool_call","tool":"spawn_agent","receiver_thread_ids":["sub"],"status":"completed"}}"#;
const DONE: &str = r#"{"type":"turn.completed","usage":{"input_tokens":10,"output_tokens":1}}"#;
const SUB: [&str; 6] = [
    r#"{"type":"session_meta","payload":{"id":"sub","parent_thread_id":"main","cli_version":"9"}}"#,
    r#"{"type":"session_meta","payload":{"id":"main","cli_version":"9"}}"#,
    r#"{"type":"event_msg","payload":{"type":"error","codex_error_info":"unauthorized"}}"#,
    r#"{"type":"token_usage_record","payload":{"thread_id":"sub","session_id":"main","usage":{"input_tokens":100,"cached_input_tokens":50,"output_tokens":7}}}"#,
    r#"{"type":"response_item","payload":{"type":"function_call","call_id":"c","name":"exec_command","arguments":"{\"cmd\":\"touch x\"}"}}"#,
    r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"text":"done"}]}}"#,
];

/// The answer to the call in `SUB`.
const SUB_ANSWER: &str = r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"Process exited with code 0\nOutput:\n"}}"#;

#[test]
fn what_a_sub_agent_does_and_takes_is_in_its_own_rollout() {
    let unanswered = with_rollouts(&[SPAWN, DONE], &[], &SUB).gap();
    assert!(unanswered.is_some_and(|gap| gap.contains("what a call of `exec_command` returned")));
    let trace = with_rollouts(&[SPAWN, DONE], &[], &[&SUB[..], &[SUB_ANSWER]].concat());
    assert_eq!((trace.gap(), trace.commands, trace.agent_version.as_deref()), (None, 1, None));
    assert!(trace.steps.contains(&Step::Message("(sub-agent) done".to_owned())), "{:#?}", trace.steps);
    let usage = trace.usage.expect("usage");
    assert_eq!((usage.input_tokens, usage.cached_input_tokens, usage.output_tokens), (110, 50, 8));
    assert_eq!((trace.trouble, trace.first_input_tokens, trace.answers), (None, None, 0), "they are the agent's own");
}

#[test]
fn a_sub_agent_that_was_refused_measured_nothing_whatever_the_agent_made_of_it() {
    let ended = |info: &str| {
        format!(
            r#"{{"type":"event_msg","payload":{{"type":"task_complete","error":{{"message":"it says why","codex_error_info":{info}}}}}}}"#
        )
    };
    let trouble = |end: &str| with_rollouts(&[SPAWN, DONE], &[], &[&SUB[..], &[end]].concat()).trouble;
    for (info, kind) in [
        (r#"{"http_connection_failed":{"http_status_code":401}}"#, TroubleKind::Login),
        (r#"{"response_too_many_failed_attempts":{"http_status_code":429}}"#, TroubleKind::RateLimit),
        (r#"{"http_connection_failed":{"http_status_code":500}}"#, TroubleKind::RateLimit),
        (r#""other""#, TroubleKind::Provider),
    ] {
        let trouble = trouble(&ended(info)).expect("trouble");
        assert_eq!((trouble.kind, trouble.detail.as_str()), (kind, "a sub-agent was refused: it says why"), "{info}");
    }
    assert_eq!(trouble(&ended("null")), None);
    assert_eq!(trouble(&ended(r#""context_window_exceeded""#)), None, "the model's own end");
    // An error after which it continues is not a trouble: `SUB` has one.
    assert!(with_rollouts(&[SPAWN, DONE], &[], &SUB[..4]).trouble.is_some());
}

#[test]
fn what_others_tell_a_model_is_no_answer_of_its_own() {
    let told = r#"{"type":"response_item","payload":{"type":"agent_message"}}"#;
    let refused = with_rollouts(&[SPAWN, DONE], &[], &[&SUB[..3], &[told]].concat());
    assert!(refused.trouble.is_some(), "it did not go on behind the refusal");
    let call = r#"{"type":"response_item","payload":{"type":"custom_tool_call","call_id":"a","name":"exec","namespace":"functions","input":"x"}}"#;
    let ran = r#"{"type":"event_msg","payload":{"type":"item_completed","item":{"type":"CommandExecution","id":"exec-1","command":["bash","-lc","ls"],"exit_code":0}}}"#;
    let answer = r#"{"type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"a","output":"ok"}}"#;
    let tokens = r#"{"type":"token_usage_record","payload":{"usage":{"input_tokens":100}}}"#;
    let said = r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"text":"Hi"}]}}"#;
    let trace = with_rollouts(&[DONE], &[call, tokens, told, ran, answer, said, tokens], &[]);
    let steps: Vec<usize> = trace.requests.iter().map(|request| request.step).collect();
    assert_eq!(steps, [0, 2], "{:#?}", trace.steps);
}

#[test]
fn a_sub_agent_without_a_rollout_leaves_a_gap_and_its_tokens_are_unknown() {
    let by_event = with_rollouts(&[SPAWN, DONE], &[], &[]);
    assert!(by_event.gap().is_some_and(|gap| gap.contains("sub-agent")) && by_event.usage.is_none());
    let call = r#"{"type":"response_item","payload":{"type":"function_call","call_id":"c","name":"spawn_agent","namespace":"multi_agent_v1","arguments":"{}"}}"#;
    let answer = r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"{\"agent_id\":\"sub\"}"}}"#;
    assert!(with_rollouts(&[DONE], &[call, answer], &[]).gap().is_some());
    assert_eq!(with_rollouts(&[DONE], &[call, answer], &[&SUB[..], &[SUB_ANSWER]].concat()).gap(), None);
    let deeper = answer.replace("sub", "deeper");
    let nested = [&SUB[..], &[call, &deeper]].concat();
    assert!(with_rollouts(&[SPAWN, DONE], &[], &nested).gap().is_some(), "started by a sub-agent");
}

#[test]
fn a_wait_for_a_sub_agent_is_one_for_its_model_or_its_tool() {
    let wait = r#"{"type":"item.started","item":{"id":"2","type":"collab_tool_call","tool":"wait","receiver_thread_ids":["sub"]}}"#;
    assert_eq!(with_rollouts(&[SPAWN, wait], &[], &SUB[..4]).waiting, WaitingFor::Model);
    assert_eq!(with_rollouts(&[SPAWN, wait], &[], &SUB).waiting, WaitingFor::Tool("shell".to_owned()));
    let over = wait.replace("started", "completed");
    assert_eq!(with_rollouts(&[SPAWN, wait, &over], &[], &SUB).waiting, WaitingFor::Model, "it waits no more");
}

#[test]
fn what_cannot_be_read_leaves_a_gap() {
    let gap = |line: &str| trace_of(line.as_bytes()).gap().is_some();
    assert!(gap(r#"{"type":"item.completed","item":{"type":"comma"#));
    assert!(gap(r#"{"type":"item.completed","item":{"type":"command_execution","command":7}}"#));
    assert!(gap(r#"{"type":"item.completed","item":{"type":"shell_call","command":"ls"}}"#));
    assert!(!gap(r#"{"type":"moon.phase"}"#));
}

#[test]
fn thoughts_times_and_the_tokens_of_each_answer_are_told_and_encrypted_thoughts_leave_no_gap() {
    let own = [
        r#"{"timestamp":"2026-01-01T00:00:01Z","type":"response_item","payload":{"type":"reasoning","summary":[{"type":"summary_text","text":"Look first."}],"content":null,"encrypted_content":"x"}}"#,
        r#"{"timestamp":"2026-01-01T00:00:02Z","type":"response_item","payload":{"type":"function_call","call_id":"c","name":"exec_command","arguments":"{\"cmd\":\"ls\"}"}}"#,
        r#"{"timestamp":"2026-01-01T00:00:02Z","type":"token_usage_record","payload":{"usage":{"input_tokens":100,"output_tokens":7}}}"#,
        r#"{"timestamp":"2026-01-01T00:00:05Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"Process exited with code 0\nOutput:\na"}}"#,
        r#"{"timestamp":"2026-01-01T00:00:06Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"text":"done"}]}}"#,
        r#"{"timestamp":"2026-01-01T00:00:06Z","type":"token_usage_record","payload":{"usage":{"input_tokens":120}}}"#,
    ];
    let trace = with_rollouts(&[DONE], &own, &[]);
    assert_eq!((trace.gap(), &trace.steps[0]), (None, &Step::Thinking("Look first.".to_owned())));
    let moment = &trace.moments[1];
    let times = (moment.began.as_deref(), moment.ended.as_deref(), moment.depth);
    assert_eq!(times, (Some("2026-01-01T00:00:02Z"), Some("2026-01-01T00:00:05Z"), 0));
    let requests: Vec<_> = trace.requests.iter().map(|r| (r.step, r.input_tokens, r.output_tokens)).collect();
    assert_eq!(requests, [(0, 100, Some(7)), (2, 120, None)]);
    let by_sub_agent = with_rollouts(&[SPAWN, DONE], &[], &SUB);
    let depths: Vec<u32> = by_sub_agent.moments.iter().map(|moment| moment.depth).collect();
    assert_eq!(depths, [1, 1, 0], "the last is the call that started it");
}

#[test]
fn a_command_that_the_rollout_does_not_tell_of_leaves_a_gap() {
    let command = r#"{"type":"item.completed","item":{"id":"1","type":"command_execution","command":"bash -lc 'rm x'","aggregated_output":"","exit_code":0,"status":"completed"}}"#;
    let call = r#"{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"rm x\"}","call_id":"1"}}"#;
    let said = r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi"}]}}"#;
    let answer = r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"1","output":"Process exited with code 0\nOutput:\n"}}"#;
    assert_eq!(with_rollouts(&[command, DONE], &[call, answer, said], &[]).gap(), None);
    let unanswered = with_rollouts(&[command, DONE], &[call, said], &[]);
    assert!(unanswered.gap().is_some_and(|gap| gap.contains("what a call of `exec_command` returned")));
    let other = answer.replace("Output:\\n", "Output:\\nremoved");
    let differs = with_rollouts(&[command, DONE], &[call, &other, said], &[]);
    assert!(differs.gap().is_some_and(|gap| gap.contains("say different things")), "{:?}", differs.gap());
    let lacking = with_rollouts(&[command, DONE], &[said], &[]);
    assert!(lacking.gap().is_some_and(|gap| gap.contains("a command")), "{:?}", lacking.gap());
    assert_eq!(with_rollouts(&[command, DONE], &[], &[]).commands, 1, "without a rollout it is that of the events");
}

#[test]
fn commands_that_the_models_code_ran_are_counted_and_what_the_code_answers_is_what_the_model_saw() {
    let tools = r#"{"type":"response_item","payload":{"type":"additional_tools","role":"developer","tools":[{"type":"namespace","name":"functions"}]}}"#;
    let call = |id: &str| {
        format!(
            r#"{{"type":"response_item","payload":{{"type":"custom_tool_call","call_id":"{id}","name":"exec","namespace":"functions","input":"text(await tools.exec_command())"}}}}"#
        )
    };
    let ran = |id: &str, command: &str| {
        format!(
            r#"{{"type":"event_msg","payload":{{"type":"item_completed","item":{{"type":"CommandExecution","id":"{id}","command":["/bin/bash","-lc","{command}"],"aggregated_output":"secret","exit_code":0}}}}}}"#
        )
    };
    let answer = |id: &str| {
        format!(
            r#"{{"type":"response_item","payload":{{"type":"custom_tool_call_output","call_id":"{id}","output":[{{"type":"input_text","text":"ok"}}]}}}}"#
        )
    };
    let said = r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"text":"Hi"}]}}"#;
    let event = |command: &str| {
        format!(
            r#"{{"type":"item.completed","item":{{"id":"1","type":"command_execution","command":"/bin/bash -lc '{command}'","aggregated_output":"secret","exit_code":0,"status":"completed"}}}}"#
        )
    };
    let own = [
        tools.to_owned(),
        call("a"),
        ran("exec-1", "touch x"),
        answer("a"),
        call("b"),
        ran("exec-2", "ls"),
        answer("b"),
        said.to_owned(),
    ];
    let events = [event("touch x"), event("ls"), DONE.to_owned()];
    let lines = |lines: &[String]| lines.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
    let trace = with_rollouts(&[&lines(&events)], &[&lines(&own)], &[]);
    assert_eq!((trace.gap(), trace.commands, trace.effective_commands), (None, 2, 1), "{:#?}", trace.steps);
    // Where the model calls the shell itself, the item has its call's id and tells nothing new.
    let shell = r#"{"type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"cmd\":\"touch x\"}","call_id":"c"}}"#;
    let twice = [shell.to_owned(), ran("c", "touch x"), said.to_owned()];
    assert_eq!(with_rollouts(&[&event("touch x"), DONE], &[&lines(&twice)], &[]).commands, 1);
    // A recording has the same.
    let folder = tempfile::tempdir().expect("a directory");
    fs::write(folder.path().join("trace.jsonl"), lines(&events)).expect("a file");
    fs::write(folder.path().join("rollout.jsonl"), lines(&own)).expect("a file");
    for (name, content) in
        agent::of(AgentKind::Codex).recorded_evidence(folder.path(), &["greeting"]).expect("the files")
    {
        assert!(!String::from_utf8_lossy(&content).contains("additional_tools"), "{name}");
        fs::write(folder.path().join(name), content).expect("a file");
    }
    let again = agent::of(AgentKind::Codex).decode(&Reference::default(), folder.path()).expect("the files");
    assert_eq!((again.gap(), again.commands, again.effective_commands), (None, 2, 1));
}

/// The text of the skill `greeting`, as JSON writes it.
const BODY: &str = "Greet every guest by name and title.\\nNever forget the dog, and never mention the weather.";

/// The texts of the skill `greeting`.
fn greeting() -> Reference {
    let mut texts = TextIndexBuilder::default();
    let file = format!("---\nname: greeting\ndescription: d\n---\n\n{}\n", BODY.replace("\\n", "\n"));
    texts.add("greeting", "SKILL.md", file.as_bytes());
    Reference { texts: SkillTexts::new(vec![texts.build()]), ..Reference::default() }
}

/// The trace of a run of an agent that has the skill `greeting`, also as its recording tells it.
fn with_greeting(events: &[&str], own: &[&str], sub_agents: &[&str]) -> Trace {
    let folder = tempfile::tempdir().expect("a directory");
    let lines = |lines: &[&str]| lines.join("\n");
    for (name, text) in [("trace.jsonl", events), ("rollout.jsonl", own), ("subagents.jsonl", sub_agents)] {
        fs::write(folder.path().join(name), lines(text)).expect("a file");
    }
    let codex = agent::of(AgentKind::Codex);
    let decode = |folder: &Path| codex.decode(&greeting(), folder).expect("the files can be read");
    let trace = decode(folder.path());
    // Where nothing is said of it, the skill is offered: then a verdict may be settled.
    let offered = lines(own).replace(BEGUN, OFFERED);
    prefixes::check_files(AgentKind::Codex, &decode, [lines(events), offered, lines(sub_agents)]);
    for (name, content) in codex.recorded_evidence(folder.path(), &["greeting"]).expect("the files") {
        fs::write(folder.path().join(name), content).expect("a file");
    }
    let again = codex.decode(&greeting(), folder.path()).expect("a trace");
    let told = |trace: &Trace| {
        let commands = (trace.commands, trace.effective_commands, trace.unreported_commands);
        let counts = (commands, trace.usage_of_requests.total_tokens(), trace.usage);
        let skills = (trace.activations.clone(), trace.resources.clone(), trace.inspections.clone());
        let end = (trace.gap(), trace.stopped, trace.trouble.clone(), trace.waiting.clone(), trace.progress);
        (counts, skills, trace.failed_loads.clone(), end, trace.steps.clone())
    };
    assert_eq!(told(&again), told(&trace), "a recording tells the same");
    trace
}

/// A message with which codex begins, without a list of skills.
const BEGUN: &str =
    r#"{"type":"response_item","payload":{"type":"message","role":"developer","content":[{"text":"none"}]}}"#;

/// A message of codex's that lists the skill `greeting`.
const OFFERED: &str = r#"{"type":"response_item","payload":{"type":"message","role":"developer","content":[{"text":"<skills_instructions>\n### Available skills\n- greeting: d (file: r0/greeting/SKILL.md)\n</skills_instructions>"}]}}"#;

/// The model's last message.
const SAID: &str =
    r#"{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"text":"Hi"}]}}"#;

/// A call with the id `a` of the tool that runs the model's code.
fn code(script: &str) -> String {
    json!({ "type": "response_item", "payload": { "type": "custom_tool_call", "call_id": "a", "name": "exec",
        "namespace": "functions", "input": script } })
    .to_string()
}

/// Its answer; there may be several.
fn printed(output: &str) -> String {
    format!(
        r#"{{"type":"response_item","payload":{{"type":"custom_tool_call_output","call_id":"a","output":"{output}"}}}}"#
    )
}

#[test]
fn all_that_the_models_code_says_comes_before_the_model() {
    let call = code("notify('1'); notify((await tools.exec_command({cmd: 'cat x'})).output); text('fin')");
    let used = |said: &[&str]| {
        let mut own = vec![OFFERED.to_owned(), call.clone()];
        own.extend(said.iter().map(|output| printed(output)));
        own.push(SAID.to_owned());
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let trace = with_greeting(&[DONE], &own, &[]);
        let Step::Tool { output, .. } = &trace.steps[0] else { panic!("{:#?}", trace.steps) };
        assert_eq!(output.lines().count(), said.join("\\n").split("\\n").count(), "{output}");
        assert_eq!(trace.marks.iter().filter(|mark| mark.step != 0).count(), 0, "{:?}", trace.marks);
        trace.activations.len()
    };
    assert_eq!(used(&["fin", "1"]), 0);
    assert_eq!(used(&["fin", "1", BODY]), 1);
}

/// The event and the item of a call with this id of an MCP server's tool, as codex tells of it.
fn mcp(id: &str, tool: &str, arguments: &Value, status: &str) -> [String; 2] {
    let result = json!({ "content": [{ "type": "text", "text": BODY.replace("\\n", "\n") }] });
    let item = |kind: &str, id: &str| {
        json!({ "type": kind, "id": id, "server": "skilljack", "tool": tool, "arguments": arguments,
            "result": result, "error": null, "status": status })
    };
    let event = json!({ "type": "item.completed", "item": item("mcp_tool_call", "item_1") });
    let told = json!({ "type": "item_completed", "item": item("McpToolCall", id) });
    [event.to_string(), json!({ "type": "event_msg", "payload": told }).to_string()]
}

#[test]
fn a_skill_that_the_models_code_asked_for_was_used_only_where_the_code_printed_it() {
    let script = code("text(await tools.mcp__skilljack__skill())");
    let sub_agent = SUB[0];
    for (tool, arguments) in [
        ("skill", json!({ "name": "greeting" })),
        ("read_mcp_resource", json!({ "server": "skilljack", "uri": "skill://greeting" })),
    ] {
        let [event, item] = mcp("exec-1", tool, &arguments, "completed");
        let [failed_event, failed] = mcp("exec-1", tool, &arguments, "failed");
        for (answer, used) in [("12 letters", 0), (BODY, 1)] {
            let answer = printed(answer);
            let own = with_greeting(&[&event, DONE], &[BEGUN, &script, &item, &answer, SAID], &[]);
            let old = with_greeting(&[&event, DONE], &[BEGUN, &script, &answer, SAID], &[]);
            let sub = with_greeting(&[DONE], &[BEGUN, SAID], &[sub_agent, &script, &item, &answer, SAID]);
            for trace in [own, old, sub] {
                assert_eq!((trace.gap(), trace.failed_loads.len()), (None, 0), "{tool}");
                assert_eq!(mechanisms(&trace), [("greeting", Mechanism::McpTool)][..used], "{tool}");
                assert_eq!(trace.inspections.is_empty(), used == 1, "it was wanted: {tool}");
            }
            let refused = with_greeting(&[&failed_event, DONE], &[BEGUN, &script, &failed, &answer, SAID], &[]);
            assert_eq!(
                mechanisms(&refused),
                [("greeting", Mechanism::ReadSkillFile)][..used],
                "it came otherwise: {tool}"
            );
            assert_eq!(refused.failed_loads.len(), 1, "{tool}");
        }
    }
}

#[test]
fn what_the_model_was_shown_of_an_mcp_servers_answer_is_in_the_rollout() {
    let call = r#"{"type":"response_item","payload":{"type":"function_call","name":"skill","namespace":"mcp__skilljack","arguments":"{\"name\":\"greeting\"}","call_id":"b"}}"#;
    let answer = |text: &str| {
        format!(
            r#"{{"type":"response_item","payload":{{"type":"function_call_output","call_id":"b","output":[{{"text":"{text}"}}]}}}}"#
        )
    };
    let [event, item] = mcp("b", "skill", &json!({ "name": "greeting" }), "completed");
    let (first, _) = BODY.split_once("\\n").expect("two lines");
    let seen = |text: &str| {
        let own = [BEGUN, call, &item, &answer(text), SAID];
        let trace = with_greeting(&[&event, DONE], &own, &[]);
        assert_eq!((trace.gap(), mechanisms(&trace)), (None, vec![("greeting", Mechanism::McpTool)]));
        trace.activations[0].seen.expect("a share")
    };
    assert!(seen(BODY) > 0.99);
    assert!(seen(first) < 0.6, "codex cut the answer: {}", seen(first));
    let again = event.replacen('{', "{ ", 1);
    let lacking = with_greeting(&[&event, &again, DONE], &[BEGUN, call, &item, &answer(BODY), SAID], &[]);
    assert!(lacking.gap().is_some_and(|gap| gap.contains("MCP")), "{:?}", lacking.gap());
}

#[test]
fn a_recording_tells_what_the_trial_told_and_has_no_instructions_of_codexs_own() {
    let refused = |words: &str| {
        let error = json!({ "message": words, "codex_error_info": "other" });
        json!({ "type": "event_msg", "payload": { "type": "task_complete", "error": error } }).to_string()
    };
    let cut = refused("Incomplete response returned, reason: content_filter");
    // `with_greeting` compares the two.
    let short = with_greeting(&[SPAWN, DONE], &[BEGUN, SAID], &[&SUB[..], &[&cut]].concat());
    assert_eq!(short.trouble, None, "the sub-agent's model ended its turn itself");
    let trouble = with_greeting(&[SPAWN, DONE], &[BEGUN, SAID], &[&SUB[..], &[&refused("high demand")]].concat());
    assert!(trouble.trouble.is_some_and(|trouble| trouble.detail.contains("high demand")));
    let message = |role: &str, text: &str| {
        json!({ "type": "response_item", "payload": { "type": "message", "role": role, "content": [{ "text": text }] } })
            .to_string()
    };
    let long = format!("{}\n{}", BODY.replace("\\n", "\n"), "And so on.\n".repeat(8_000));
    let injected = message("user", &format!("<skill>\n<name>greeting</name>\n{long}</skill>"));
    let said = message("assistant", &long);
    let tokens = r#"{"type":"token_usage_record","payload":{"usage":{"input_tokens":100,"output_tokens":7}}}"#;
    let trace = with_greeting(&[], &[BEGUN, &injected, &said, tokens], &[]);
    assert_eq!(
        (mechanisms(&trace), trace.usage_of_requests.total_tokens()),
        (vec![("greeting", Mechanism::Injected)], 107)
    );
    let own = message("developer", "You are Codex, an agent.");
    let folder = tempfile::tempdir().expect("a directory");
    fs::write(folder.path().join("trace.jsonl"), DONE).expect("a file");
    for name in ["rollout.jsonl", "subagents.jsonl"] {
        fs::write(folder.path().join(name), [own.as_str(), OFFERED, &said].join("\n")).expect("a file");
    }
    let files = agent::of(AgentKind::Codex).recorded_evidence(folder.path(), &["greeting"]).expect("the files");
    assert_eq!(files.len(), 3);
    assert!(files.iter().all(|(_, content)| !String::from_utf8_lossy(content).contains("You are Codex")));
}

#[test]
fn a_sub_agent_that_is_known_by_its_name_has_a_rollout_too() {
    let call = r#"{"type":"response_item","payload":{"type":"function_call","call_id":"c","name":"spawn_agent","namespace":"collaboration","arguments":"{}"}}"#;
    let answer = r#"{"type":"response_item","payload":{"type":"function_call_output","call_id":"c","output":"{\"task_name\":\"/root/look\"}"}}"#;
    let named = r#"{"type":"session_meta","payload":{"id":"sub","parent_thread_id":"main","agent_path":"/root/look"}}"#;
    assert!(
        with_greeting(&[DONE], &[BEGUN, call, answer, SAID], &[]).gap().is_some_and(|gap| gap.contains("sub-agent"))
    );
    let trace = with_greeting(&[DONE], &[BEGUN, call, answer, SAID], &[&[named], &SUB[2..], &[SUB_ANSWER]].concat());
    assert_eq!((trace.gap(), trace.commands), (None, 1));
}

#[test]
fn a_call_of_which_the_events_tell_nothing_was_waited_for_all_the_same() {
    let turn = r#"{"type":"turn.started"}"#;
    let call = code("while (true) {}");
    let looped = with_greeting(&[turn], &[BEGUN, &call], &[]);
    let code = WaitingFor::Tool("functions__exec".to_owned());
    assert_eq!((looped.waiting, looped.progress), (code, AgentProgress::Answering));
    let over = with_greeting(&[turn], &[BEGUN, &call, &printed("ok")], &[]);
    assert_eq!((over.waiting, over.progress), (WaitingFor::Model, AgentProgress::Answering));
}

/// A command that the model's code ran.
fn ran(command: &str) -> String {
    let item =
        json!({ "type": "CommandExecution", "id": "exec-1", "command": ["bash", "-lc", command], "exit_code": 0 });
    json!({ "type": "event_msg", "payload": { "type": "item_completed", "item": item } }).to_string()
}

#[test]
fn commands_that_code_may_have_run_and_codex_does_not_tell_of_are_counted_as_such() {
    let untold = |script: &str, commands: &[&str]| {
        let mut own = vec![BEGUN.to_owned(), code(script)];
        own.extend(commands.iter().map(|command| ran(command)));
        own.extend([printed("ok"), SAID.to_owned()]);
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let whole = with_greeting(&[DONE], &own, &[]).unreported_commands;
        let by_sub_agent = with_greeting(&[DONE], &[BEGUN, SAID], &[&[SUB[0]], &own[1..]].concat());
        assert_eq!(by_sub_agent.unreported_commands, whole, "{script}");
        // What it was given of its parent's conversation the parent's own rollout tells.
        let copied = with_greeting(&[DONE], &[BEGUN, SAID], &[&SUB[..2], &own[1..2]].concat());
        assert_eq!(copied.unreported_commands, 0);
        whole
    };
    let one = "const r = await tools.exec_command({cmd: 'touch /x'}); text(r)";
    assert_eq!((untold(one, &["touch /x"]), untold(one, &[]), untold("text(1)", &[])), (0, 1, 0));
    assert_eq!(untold(&format!("{one}; {one}"), &["touch /x"]), 1);
    assert_eq!(untold("(await tools.exec_command({cmd: 'ls'})).output.split(' ').map(x => text(x))", &["ls"]), 0);
    for repeats in [
        "for (const c of ['ls', 'touch /x']) await tools.exec_command({cmd: c})",
        "const run = cmd => tools.exec_command({cmd}); await run('ls'); await run('touch /x')",
        "const { exec_command } = tools; await exec_command({cmd: 'ls'})",
        "await tools['exec' + '_command']({cmd: 'ls'})",
    ] {
        assert!(untold(repeats, &["ls"]) > 1_000, "{repeats}");
    }
}

#[test]
fn what_code_prints_counts_by_the_files_that_it_and_its_commands_name() {
    let (first, _) = BODY.split_once("\\n").expect("two lines");
    let used = |script: &str, commands: &[&str], answers: &[&str]| {
        let mut own = vec![OFFERED.to_owned(), code(script)];
        own.extend(commands.iter().map(|command| ran(command)));
        own.extend(answers.iter().map(|answer| printed(answer)));
        own.push(SAID.to_owned());
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        !with_greeting(&[DONE], &own, &[]).activations.is_empty()
    };
    let script = "text(await tools.exec_command({cmd: c}))";
    let search = "grep -rn guest .";
    assert!(!used(script, &[search], &[first]), "less than half of what nothing names");
    assert!(!used(script, &[search, "rg title"], &["", first]), "with notify");
    assert!(used(script, &[search], &[BODY]));
    assert!(used(script, &["grep -rn guest .agents/skills/greeting"], &[first]), "a tenth of what is named");
    assert!(used("// .agents/skills/greeting/SKILL.md\ntext(x)", &[], &[first]));
}

#[test]
fn turns_are_counted_in_the_rollout_while_it_is_written() {
    let item = |payload: Value| json!({ "type": "response_item", "payload": payload });
    let call = |id: &str| item(json!({ "type": "custom_tool_call", "name": "exec", "input": "x", "call_id": id }));
    let answer = |id: &str| item(json!({ "type": "custom_tool_call_output", "call_id": id, "output": "x" }));
    let old = item(json!({ "type": "function_call", "name": "exec_command", "arguments": "{}", "call_id": "3" }));
    let of_old = item(json!({ "type": "function_call_output", "call_id": "3", "output": "x" }));
    let said =
        item(json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "4" }] }));
    let mut turns = TurnCounter::default();
    let over = [call("1"), call("2"), answer("1"), answer("2"), old, of_old, said].map(|line| {
        let signs = agent::of(AgentKind::Codex).signs(line.to_string().as_bytes());
        for sign in signs {
            turns.note(sign);
        }
        turns.ended()
    });
    assert_eq!(over, [0, 0, 0, 1, 1, 2, 2]);
}
