//! Several messages in one line, in the one version of the protocol that has them.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::Client;
use super::skills;

fn ping(id: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "ping" })
}

fn next(client: &mut Client) -> Option<Value> {
    client.next(Instant::now() + Duration::from_secs(5))
}

#[test]
fn a_batch_is_answered_by_a_batch() {
    let skills = skills();
    let mut client = Client::start(skills.path(), &["--skills", "."]);
    assert_eq!(client.shake_hands_in("2025-03-26", &json!({}))["protocolVersion"], "2025-03-26");
    client.send(&json!([
        ping("a"),
        { "jsonrpc": "2.0", "method": "notifications/nonesuch" },
        { "jsonrpc": "2.0", "id": "b", "method": "tools/call",
          "params": { "name": "skill", "arguments": { "name": "greeting" } } },
        { "jsonrpc": "2.0", "id": "c", "method": "nonesuch", "params": [1] },
        5,
    ]));
    let mut answers = next(&mut client).unwrap().as_array().unwrap().clone();
    let said =
        |answer: &Value| if answer.get("result").is_some() { Value::Null } else { answer["error"]["code"].clone() };
    answers.sort_by_key(|answer| answer["id"].to_string());
    let said: Vec<_> = answers.iter().map(|answer| (answer["id"].clone(), said(answer))).collect();
    let expected = [("a", Value::Null), ("b", Value::Null), ("c", json!(-32601))];
    let expected = expected.map(|(id, said)| (json!(id), said));
    assert_eq!(said[..3], expected);
    assert_eq!(said[3..], [(Value::Null, json!(-32600))]);
    assert!(answers[1]["result"]["content"][0]["text"].as_str().unwrap().contains("Say hello."));
    // Afterwards all is as it was.
    client.send(&ping("d"));
    assert_eq!(next(&mut client).unwrap()["id"], "d");
}

#[test]
fn a_batch_of_notifications_has_no_answer_and_an_empty_one_is_none() {
    let skills = skills();
    let mut client = Client::start(skills.path(), &["--skills", "."]);
    client.shake_hands_in("2025-03-26", &json!({}));
    client.send(&json!([{ "jsonrpc": "2.0", "method": "notifications/nonesuch" }]));
    client.send(&json!([]));
    let answer = next(&mut client).unwrap();
    assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &Value::Null));
    client.send(&ping("a"));
    assert_eq!(next(&mut client).unwrap()["id"], "a");
}

#[test]
fn versions_without_batches_refuse_them() {
    let skills = skills();
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let mut client = Client::start(skills.path(), &["--skills", "."]);
        assert_eq!(client.shake_hands_in(version, &json!({}))["protocolVersion"], version);
        client.send(&json!([ping("a")]));
        let answer = next(&mut client).unwrap();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32600), &Value::Null), "{version}");
    }
}
