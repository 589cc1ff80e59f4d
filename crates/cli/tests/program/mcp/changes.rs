//! The server follows the files on disk and tells of it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::client::Client;
use super::{put, skill, skills};

const SOON: Duration = Duration::from_secs(5);
const TOOLS: &str = "notifications/tools/list_changed";
const PROMPTS: &str = "notifications/prompts/list_changed";
const RESOURCES: &str = "notifications/resources/list_changed";
const UPDATED: &str = "notifications/resources/updated";

fn description(client: &mut Client) -> String {
    let answer = client.request("tools/list", &json!({}));
    answer["result"]["tools"][0]["description"].as_str().unwrap().to_owned()
}

#[test]
fn a_skill_that_appears_changes_or_goes_is_told_and_listed() {
    let skills = skills();
    let mut client = Client::serving(skills.path());
    assert!(!description(&mut client).contains("late"));

    let late = skill(skills.path(), "late", "Came late.", "first body");
    for method in [TOOLS, PROMPTS, RESOURCES] {
        assert!(client.is_told(method, SOON), "appeared: {method}");
    }
    assert!(description(&mut client).contains("Came late."));

    skill(skills.path(), "late", "Told anew.", "first body");
    assert!(client.is_told(TOOLS, SOON), "other front matter");
    assert!(description(&mut client).contains("Told anew."));

    // As long as before: it is not the size alone that tells.
    skill(skills.path(), "late", "Told anew.", "other body");
    assert!(client.is_told(TOOLS, SOON), "other body");
    assert!(client.call("skill", &json!({ "name": "late" })).0.contains("other body"));

    fs::remove_dir_all(late).unwrap();
    for method in [TOOLS, PROMPTS, RESOURCES] {
        assert!(client.is_told(method, SOON), "gone: {method}");
    }
    assert!(!description(&mut client).contains("late"));
    assert!(client.call("skill", &json!({ "name": "late" })).1);
}

#[test]
fn a_file_that_comes_or_goes_changes_the_resources_only() {
    let skills = skills();
    let mut client = Client::serving(skills.path());
    put(skills.path(), "greeting/new.md", b"new");
    assert!(client.is_told(RESOURCES, SOON));
    fs::remove_file(skills.path().join("greeting/new.md")).unwrap();
    assert!(client.is_told(RESOURCES, SOON));
    assert!(!client.is_told(TOOLS, Duration::from_millis(100)));
}

#[test]
fn only_who_subscribed_to_a_resource_is_told_that_it_changed() {
    let skills = skills();
    let mut client = Client::serving(skills.path());
    let uri = json!({ "uri": "skill://notes/references/one.md" });
    put(skills.path(), "notes/references/one.md", b"not subscribed yet");
    assert!(!client.is_told(UPDATED, Duration::from_millis(1200)));
    client.request("resources/subscribe", &uri);
    put(skills.path(), "notes/references/one.md", b"changed");
    assert!(client.is_told(UPDATED, SOON));
    client.request("resources/unsubscribe", &uri);
    put(skills.path(), "notes/references/one.md", b"changed again");
    assert!(!client.is_told(UPDATED, Duration::from_millis(1200)));
}

#[test]
fn nothing_is_told_while_nothing_changes() {
    let skills = skills();
    let mut client = Client::serving(skills.path());
    for method in [TOOLS, PROMPTS, RESOURCES, UPDATED] {
        assert!(!client.is_told(method, Duration::from_millis(500)), "{method}");
    }
}

#[test]
fn a_skill_is_found_before_the_next_look_at_the_files() {
    let skills = skills();
    let mut client = Client::serving(skills.path());
    skill(skills.path(), "fresh", "d", "just written");
    assert!(client.call("skill", &json!({ "name": "fresh" })).0.contains("just written"));
}

#[test]
fn the_folder_may_go_and_come_back() {
    let parent = tempfile::tempdir().unwrap();
    let skills = parent.path().join("skills");
    skill(&skills, "one", "d", "the one");
    let mut client = Client::serving(&skills);
    fs::remove_dir_all(&skills).unwrap();
    assert!(client.is_told(TOOLS, SOON));
    assert!(description(&mut client).contains("No skills are available at the moment"));
    skill(&skills, "one", "d", "the one again");
    assert!(client.is_told(TOOLS, SOON));
    assert!(client.call("skill", &json!({ "name": "one" })).0.contains("the one again"));
}

#[test]
fn that_a_client_is_told_is_noted_before_it_can_ask() {
    for start in [initialized as fn(&Path, &[(&str, &str)]) -> Client, listening] {
        let skills = skills();
        let noted = tempfile::NamedTempFile::new().unwrap();
        let mut client = start(skills.path(), &[("SKILL_EVALS_MCP_ASKED", noted.path().to_str().unwrap())]);
        // Noted afterward it is a race, which some of these rounds lose.
        for round in 1..=8 {
            skill(skills.path(), &format!("late-{round}"), "d", "body");
            assert!(client.is_told(TOOLS, SOON), "round {round}");
            let noted = fs::read_to_string(noted.path()).unwrap();
            assert_eq!(noted.matches(" told\n").count(), round, "{noted}");
        }
    }
}

#[test]
fn a_client_of_the_newest_protocol_listens_instead() {
    let skills = skills();
    let mut client = listening(skills.path(), &[]);
    skill(skills.path(), "late", "d", "body");
    assert!(client.is_told(TOOLS, SOON));
    assert!(!client.is_told(PROMPTS, Duration::from_millis(100)), "not asked for");
    let (status, took) = client.end();
    assert!(status.success() && took < Duration::from_secs(1), "{status} after {took:?}");
}

/// A client of the protocol of 2025.
fn initialized(skills: &Path, env: &[(&str, &str)]) -> Client {
    let mut client = Client::start_in(skills, &["--skills", "."], env);
    client.shake_hands(&json!({}));
    client
}

/// A client of the newest protocol, which hears of tools only.
fn listening(skills: &Path, env: &[(&str, &str)]) -> Client {
    let mut client = Client::start_in(skills, &["--skills", "."], env);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let hello = client.request("server/discover", &json!({ "_meta": meta }));
    assert!(hello["result"]["instructions"].as_str().unwrap().contains("greeting"), "{hello}");
    client.send(&json!({
        "jsonrpc": "2.0", "id": "l", "method": "subscriptions/listen",
        "params": { "_meta": meta, "notifications": { "toolsListChanged": true } },
    }));
    assert!(client.is_told("notifications/subscriptions/acknowledged", SOON));
    client
}
