//! The stand-in itself, over plain sockets: what the real programs rely on, without the real programs.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use crate::support::stand_in::{CODEX_KEY, Protocol, StandIn, Turn, codex_config, started};
use serde_json::{Value, json};

/// Posts `body` and gives the status and the whole answer.
fn post(server: &StandIn, path: &str, body: &Value) -> (u16, String) {
    let mut socket = connect(server, path, body);
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("an answer");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
    let status = head.split(' ').nth(1).expect("a status");
    (status.parse().expect("a number"), body.to_owned())
}

fn connect(server: &StandIn, path: &str, body: &Value) -> TcpStream {
    let url = server.url();
    let host = url.strip_prefix("http://").expect("an http url");
    let mut socket = TcpStream::connect(host).expect("a connection");
    let body = body.to_string();
    write!(
        socket,
        "POST {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("a request");
    socket
}

/// The `data:` of each server-sent event.
fn events(stream: &str) -> Vec<Value> {
    stream
        .lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|data| serde_json::from_str(data).expect("JSON data"))
        .collect()
}

fn codex_body(history: &[Value]) -> Value {
    let mut input = vec![
        json!({ "type": "message", "role": "developer", "content": [{ "type": "input_text", "text": "Be brief." }] }),
        json!({ "type": "message", "role": "user",
            "content": [{ "type": "input_text", "text": "<environment_context>\n</environment_context>" }] }),
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Greet Ada." }] }),
        json!({ "type": "message", "role": "user",
            "content": [{ "type": "input_text", "text": "<skill>\n<name>greeting</name>\n</skill>" }] }),
    ];
    input.extend_from_slice(history);
    json!({ "model": "m", "stream": true, "input": input, "tools": [
        { "type": "function", "name": "exec_command" },
        { "type": "namespace", "name": "mcp__skilljack", "tools": [{ "type": "function", "name": "skill" }] },
        { "type": "web_search" },
    ] })
}

fn claude_body(messages: &Value) -> Value {
    json!({ "model": "m", "stream": true, "system": [{ "type": "text", "text": "Be brief." }],
        "messages": messages, "tools": [{ "name": "Bash" }, { "name": "Skill" }] })
}

#[test]
fn codex_prompt_is_the_text_that_codex_did_not_inject() {
    let server = started(|_| Turn::Say("Ahoy!".to_owned()));
    let (status, _) = post(&server, "/v1/responses", &codex_body(&[]));
    assert_eq!(status, 200);
    let request = server.requests().pop().expect("one request");
    assert_eq!(request.protocol, Protocol::Responses);
    assert_eq!(request.prompt, "Greet Ada.");
    assert_eq!(request.step, 0);
    assert!(request.system.contains("Be brief."));
    assert!(request.system.contains("<name>greeting</name>"));
    let tools = ["exec_command", "mcp__skilljack__skill", "web_search"];
    assert_eq!(request.tools, tools);
}

#[test]
fn codex_tool_results_count_as_steps() {
    let server = started(|_| Turn::Say("Ahoy!".to_owned()));
    let history = [
        json!({ "type": "function_call", "name": "exec_command", "call_id": "c", "arguments": "{}" }),
        json!({ "type": "function_call_output", "call_id": "c", "output": "done" }),
    ];
    post(&server, "/v1/responses", &codex_body(&history));
    let request = server.requests().pop().expect("one request");
    assert_eq!((request.step, request.prompt.as_str()), (1, "Greet Ada."));
    assert_eq!(request.tool_results, ["done"]);
}

#[test]
fn codex_mcp_tools_are_called_in_their_namespace() {
    let server = started(|_| {
        Turn::Several(vec![
            Turn::Shell("ls".to_owned()),
            Turn::Call { tool: "mcp__skilljack__skill".to_owned(), input: json!({ "name": "greeting" }) },
        ])
    });
    let (_, stream) = post(&server, "/v1/responses", &codex_body(&[]));
    let events = events(&stream);
    let done: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "response.output_item.done")
        .map(|event| &event["item"])
        .collect();
    assert_eq!(done[0]["name"], "exec_command");
    assert_eq!(done[0]["arguments"], r#"{"cmd":"ls"}"#);
    assert_eq!(done[1]["name"], "skill");
    assert_eq!(done[1]["namespace"], "mcp__skilljack");
    let last = events.last().expect("an event");
    assert_eq!(last["type"], "response.completed");
    assert_eq!(last["response"]["usage"]["input_tokens"], 1003);
}

#[test]
fn claude_prompt_and_steps_survive_reminders_and_skill_bodies() {
    let server = started(|_| Turn::Say("Ahoy!".to_owned()));
    let messages = json!([
        { "role": "user", "content": [
            { "type": "text", "text": "<system-reminder>\nToday.\n</system-reminder>" },
            { "type": "text", "text": "Greet Ada." } ] },
        { "role": "system", "content": "Skills: greeting" },
        { "role": "assistant", "content": [{ "type": "tool_use", "id": "t", "name": "Skill", "input": {} }] },
        { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "t", "content": "Launching skill: greeting" },
            { "type": "text", "text": "Base directory for this skill: /s" } ] },
    ]);
    post(&server, "/v1/messages?beta=true", &claude_body(&messages));
    let request = server.requests().pop().expect("one request");
    assert_eq!((request.step, request.prompt.as_str()), (1, "Greet Ada."));
    assert_eq!(request.tool_results, ["Launching skill: greeting"]);
    assert!(request.system.contains("Skills: greeting"));
}

#[test]
fn claude_slash_commands_read_as_typed() {
    let server = started(|_| Turn::Say("Ahoy!".to_owned()));
    let text = "<command-message>greeting</command-message>\n<command-name>/greeting</command-name>\n\
                <command-args>Ada</command-args>\n";
    let messages = json!([{ "role": "user", "content": text }]);
    post(&server, "/v1/messages?beta=true", &claude_body(&messages));
    let request = server.requests().pop().expect("one request");
    assert_eq!(request.prompt, "/greeting Ada");
}

#[test]
fn claude_calls_arrive_as_tool_use_blocks() {
    let server = started(|_| Turn::Shell("ls".to_owned()));
    let messages = json!([{ "role": "user", "content": "List." }]);
    let (_, stream) = post(&server, "/v1/messages?beta=true", &claude_body(&messages));
    let events = events(&stream);
    assert_eq!(events[1]["content_block"]["name"], "Bash");
    assert_eq!(events[2]["delta"]["type"], "input_json_delta");
    assert_eq!(events[4]["delta"]["stop_reason"], "tool_use");
    assert_eq!(events[5]["type"], "message_stop");
}

#[test]
fn claude_title_requests_never_reach_the_script() {
    let server = started(|_| Turn::Status(500));
    let body = json!({ "model": "m", "stream": false, "tools": [],
        "messages": [{ "role": "user", "content": "<session>\nGreet Ada.\n</session>" }],
        "output_config": { "format": { "type": "json_schema",
            "schema": { "properties": { "title": { "type": "string" } } } } } });
    let (status, answer) = post(&server, "/v1/messages?beta=true", &body);
    assert_eq!(status, 200);
    assert!(answer.contains("A scripted session"));
    assert!(server.requests().is_empty());
}

#[test]
fn a_chat_completion_streams_its_text_its_calls_and_the_reason_of_its_end() {
    let server = started(|request| match request.step {
        0 => Turn::Shell("ls".to_owned()),
        _ => Turn::Say("Done.".to_owned()),
    });
    let tools = json!([{ "type": "function", "function": { "name": "bash" } }]);
    let user = json!({ "role": "user", "content": "List." });
    let body = json!({ "model": "m", "stream": true, "tools": tools, "messages": [user] });
    let (_, stream) = post(&server, "/v1/chat/completions", &body);
    let function = r#""function":{"arguments":"{\"command\":\"ls\""#;
    assert!(stream.contains(function) && stream.contains(r#""finish_reason":"tool_calls""#), "{stream}");
    assert!(stream.ends_with("data: [DONE]\n\n"), "{stream}");
    let body = json!({ "model": "m", "tools": tools, "messages": [user, { "role": "tool", "content": "a file" }] });
    let (_, answer) = post(&server, "/v1/chat/completions", &body);
    assert!(answer.contains(r#""content":"Done.""#) && answer.contains(r#""finish_reason":"stop""#), "{answer}");
    assert_eq!(server.requests()[1].tool_results, ["a file"]);
}

#[test]
fn failures_carry_the_vendors_bodies() {
    let server = started(|request| match request.protocol {
        Protocol::Responses | Protocol::Completions | Protocol::Gemini => Turn::Status(401),
        Protocol::Messages => Turn::Status(529),
    });
    let (status, body) = post(&server, "/v1/responses", &codex_body(&[]));
    assert_eq!(status, 401);
    assert!(body.contains("invalid_api_key"));
    let (status, body) = post(&server, "/v1/messages", &claude_body(&json!([])));
    assert_eq!(status, 529);
    assert!(body.contains("overloaded_error"));
}

#[test]
fn a_flood_has_the_size_asked_for() {
    let server = started(|_| Turn::Flood { bytes: 3_000_000 });
    let (_, stream) = post(&server, "/v1/responses", &codex_body(&[]));
    let delta =
        events(&stream).into_iter().find(|event| event["type"] == "response.output_text.delta").expect("a delta");
    assert_eq!(delta["delta"].as_str().map(str::len), Some(3_000_000));
}

#[test]
fn dropping_the_server_ends_a_hanging_request() {
    let server = started(|_| Turn::Hang);
    let mut socket = connect(&server, "/v1/responses", &codex_body(&[]));
    while server.requests().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(server);
    let mut answer = Vec::new();
    // Closed or reset, but not an answer, and not for ever.
    let _ = socket.read_to_end(&mut answer);
    assert!(answer.is_empty());
}

#[test]
fn codex_config_names_the_server_and_its_key() {
    let server = started(|_| Turn::Hang);
    let config = codex_config(&server);
    assert!(config.contains(&format!("base_url = \"{}/v1\"", server.url())));
    assert!(config.contains(&format!("env_key = \"{CODEX_KEY}\"")));
}
