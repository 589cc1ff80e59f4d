//! No input ends the server but its end.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::Client;
use super::skills;

#[test]
fn it_ends_well_within_a_second_of_its_input() {
    let skills = skills();
    let client = Client::serving(skills.path());
    let (status, took) = client.end();
    assert!(status.success() && took < Duration::from_secs(1), "{status} after {took:?}");
    let client = Client::start(skills.path(), &["--skills", "."]);
    let (status, took) = client.end();
    assert!(status.success() && took < Duration::from_secs(1), "before a handshake: {status} after {took:?}");
}

#[test]
fn requests_before_the_end_of_the_input_are_answered() {
    let skills = skills();
    let lines = [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } } }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call",
            "params": { "name": "skill", "arguments": { "name": "greeting" } } }),
    ];
    let input = tempfile::NamedTempFile::new().unwrap();
    let text: Vec<String> = lines.iter().map(Value::to_string).collect();
    std::fs::write(input.path(), text.join("\n") + "\ngarbage\n").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_skill-evals"))
        .args(["mcp", "--skills"])
        .arg(skills.path())
        .stdin(Stdio::from(input.reopen().unwrap()))
        .output()
        .unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(stdout.lines().count(), 3, "{stdout}");
    assert!(stdout.contains("Say hello."), "{stdout}");
}

#[test]
fn garbage_is_passed_over_before_and_after_the_handshake() {
    let skills = skills();
    let mut client = Client::start(skills.path(), &["--skills", "."]);
    let garbage = |client: &mut Client| {
        for line in
            ["", "garbage", "{", "{\"jsonrpc\":\"2.0\"", "\u{feff}", "null", "[]", "[1,2]", "{}", "\"x\"", "1e999"]
        {
            client.send_line(line);
        }
        client.send_line(&"[".repeat(100_000));
        client.send_line(&"x".repeat(5_000_000));
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/nonesuch", "params": 5 }));
        client.send(&json!({ "jsonrpc": "2.0", "id": 99, "result": {} }));
        client.send(&json!({ "jsonrpc": "2.0", "id": 99, "error": { "code": 1, "message": "no" } }));
    };
    garbage(&mut client);
    client.shake_hands(&json!({}));
    garbage(&mut client);
    assert!(!client.call("skill", &json!({ "name": "greeting" })).1);
}

#[test]
fn a_line_of_the_wrong_shape_is_answered_with_its_id_where_it_has_one() {
    let skills = skills();
    let mut client = Client::serving(skills.path());
    for (line, code, id) in [
        ("{\"jsonrpc\":\"2.0\",\"id\":7}", -32600, json!(7)),
        ("{\"jsonrpc\":\"1.0\",\"id\":8,\"method\":\"tools/list\"}", -32600, json!(8)),
        ("[]", -32600, Value::Null),
        ("garbage", -32700, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"nonesuch\",\"params\":[1]}", -32601, json!(9)),
    ] {
        client.send_line(line);
        let answer = client.next(Instant::now() + Duration::from_secs(5)).unwrap();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{line}");
    }
}

#[test]
fn an_unknown_method_is_not_found() {
    let skills = skills();
    let mut client = Client::serving(skills.path());
    for method in ["nonesuch", "tools/nonesuch", "logging/setLevel", "tasks/get", ""] {
        let answer = client.request(method, &json!({}));
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
    }
}

#[test]
fn parameters_that_do_not_fit_are_invalid_parameters() {
    let skills = skills();
    let mut client = Client::serving(skills.path());
    for (method, params) in [
        ("tools/call", json!({})),
        ("tools/call", json!([])),
        ("tools/call", json!({ "name": 5 })),
        ("tools/call", json!({ "name": "skill", "arguments": "greeting" })),
        ("tools/call", json!({ "name": "nonesuch", "arguments": {} })),
        ("resources/read", json!({ "uri": 5 })),
        ("prompts/get", json!({ "name": "greeting", "arguments": { "arguments": 5 } })),
        ("tools/list", json!({ "cursor": "x" })),
        ("resources/list", json!({ "cursor": "x" })),
        ("prompts/list", json!({ "cursor": "x" })),
    ] {
        let answer = client.request(method, &params);
        assert_eq!(answer["error"]["code"], -32602, "{method} {params}: {answer}");
    }
}

#[test]
fn wrong_arguments_of_a_tool_are_told_to_the_model() {
    let skills = skills();
    let mut client = Client::serving(skills.path());
    for (tool, arguments, why) in [
        ("skill", json!({}), "`skill` needs the argument `name`"),
        ("skill", json!({ "name": 5 }), "the argument `name` of `skill` must be a string, not 5"),
        ("skill", json!({ "name": null }), "needs the argument `name`"),
        ("skill", json!({ "skill": "greeting" }), "`skill` needs the argument `name`; it takes `name`"),
        ("skill-resource", json!({ "path": "x" }), "needs the argument `skill`; it takes `skill`, `path`"),
        ("skill-resource", json!({ "skill": "notes", "path": ["x"] }), "must be a string"),
    ] {
        let (text, is_error) = client.call(tool, &arguments);
        assert!(is_error && text.contains(why), "{tool} {arguments}: {text}");
    }
}

#[test]
fn a_skills_folder_that_is_not_there_is_an_error_of_the_command() {
    let output = Command::new(env!("CARGO_BIN_EXE_skill-evals"))
        .args(["mcp", "--skills", "/nonesuch/skills"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty());
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("/nonesuch/skills is not a directory"), "{stderr}");
}

#[test]
fn what_is_wrong_with_the_skills_goes_to_standard_error_once() {
    let skills = skills();
    super::skill(&skills.path().join("again"), "greeting", "d", "b");
    let mut child = Command::new(env!("CARGO_BIN_EXE_skill-evals"))
        .args(["mcp", "--skills"])
        .arg(skills.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Long enough for several looks.
    std::thread::sleep(Duration::from_millis(1300));
    drop(child.stdin.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.stdout.is_empty());
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr.matches("its slug `greeting` is also that of").count(), 1, "{stderr}");
}
