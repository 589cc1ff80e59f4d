//! The skills extension of the protocol (SEP-2640).

use serde_json::{Value, json};

use super::client::Client;
use super::{put, skills};

/// The metadata of a request in the newest protocol.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn ask(client: &mut Client, method: &str, mut params: Value) -> Value {
    params["_meta"] = meta();
    client.request(method, &params)
}

#[test]
fn a_client_that_reads_only_the_extension_finds_every_skill_with_the_digests_of_its_files() {
    let skills = skills();
    let text = "---\nname: notes\ndescription: Keeps notes.\nlicense: MIT\nmetadata:\n  version: \"2.1.0\"\n  level: 3\n---\nSee references/one.md.\n";
    put(&skills.path().join("notes"), "SKILL.md", text.as_bytes());
    let mut client = Client::start_in(skills.path(), &["--skills", "."], &[]);
    let hello = ask(&mut client, "server/discover", json!({}));
    let declared = &hello["result"]["capabilities"];
    assert_eq!(declared["extensions"]["io.modelcontextprotocol/skills"], json!({ "directoryRead": true }), "{hello}");
    assert!(declared["resources"].is_object());
    let list = ask(&mut client, "skills/list", json!({}));
    let result = &list["result"];
    assert_eq!(
        (&result["resultType"], &result["ttlMs"], &result["cacheScope"]),
        (&json!("complete"), &json!(0), &json!("private"))
    );
    let notes = &result["skills"][1];
    assert_eq!(notes["uri"], "skill://notes/SKILL.md");
    let front = json!({ "name": "notes", "description": "Keeps notes.", "license": "MIT", "metadata": { "version": "2.1.0", "level": 3 } });
    assert_eq!(notes["frontmatter"], front);
    let uris: Vec<&str> =
        notes["resources"].as_array().unwrap().iter().map(|file| file["uri"].as_str().unwrap()).collect();
    assert_eq!(
        uris,
        [
            "skill://notes/SKILL.md",
            "skill://notes/assets/100%25%20new%3F.txt",
            "skill://notes/assets/pixel.bin",
            "skill://notes/references/deep/two.md",
            "skill://notes/references/one.md",
        ]
    );
    let one = json!({
        "uri": "skill://notes/references/one.md", "size": 9,
        "digest": "sha256:6fa2c9ea02d6b6cc4aeb86495d9a1beac7ebeba72023ebd2c1ec8564117f1c6e",
    });
    assert_eq!(notes["resources"][4], one);
    let got = ask(&mut client, "skills/get", json!({ "uri": "skill://notes/SKILL.md" }));
    assert_eq!(&got["result"]["skill"], notes);
    assert_eq!(got["result"]["ttlMs"], 0);
}

#[test]
fn directories_of_skills_are_read_level_by_level() {
    let skills = skills();
    let mut client = Client::start_in(skills.path(), &["--skills", "."], &[]);
    let mut children = |uri: &str| {
        let answer = ask(&mut client, "resources/directory/read", json!({ "uri": uri }));
        let children = answer["result"]["resources"].as_array().cloned().ok_or(answer["error"]["code"].clone());
        children.map(|children| {
            let shown = |child: &Value| {
                format!("{} {}", child["uri"].as_str().unwrap(), child["mimeType"].as_str().unwrap_or("-"))
            };
            children.iter().map(shown).collect::<Vec<_>>()
        })
    };
    let directory = "inode/directory";
    assert_eq!(
        children("skill://notes").unwrap(),
        [
            "skill://notes/SKILL.md text/markdown".to_owned(),
            format!("skill://notes/assets {directory}"),
            format!("skill://notes/references {directory}"),
        ]
    );
    assert_eq!(
        children("skill://notes/references").unwrap(),
        [
            format!("skill://notes/references/deep {directory}"),
            "skill://notes/references/one.md text/markdown".to_owned(),
        ]
    );
    for uri in
        ["skill://notes/SKILL.md", "skill://notes/nope", "skill://nope", "skill://", "skill://notes/", "file:///"]
    {
        assert_eq!(children(uri).unwrap_err(), -32602, "{uri}");
    }
}

#[test]
fn a_skill_that_the_extension_cannot_describe_is_left_out_and_asked_for_says_why() {
    let skills = skills();
    put(&skills.path().join("spaced"), "SKILL.md", b"---\nname: My Notes\ndescription: d\n---\nbody\n");
    put(&skills.path().join("silent"), "SKILL.md", b"---\nname: silent\n---\nb\n");
    put(&skills.path().join("under_score"), "SKILL.md", b"---\nname: under_score\ndescription: d\n---\nb\n");
    let mut client = Client::start_in(skills.path(), &["--skills", "."], &[]);
    let list = ask(&mut client, "skills/list", json!({}));
    let uris: Vec<&Value> = list["result"]["skills"].as_array().unwrap().iter().map(|skill| &skill["uri"]).collect();
    assert_eq!(uris, ["skill://greeting/SKILL.md", "skill://notes/SKILL.md"]);
    let mut refused = |uri: &str| ask(&mut client, "skills/get", json!({ "uri": uri }))["error"].clone();
    for (uri, why) in [
        ("skill://my-notes/SKILL.md", "needs a `description`, and a `name` in lower case"),
        ("skill://silent/SKILL.md", "needs a `description`"),
        ("skill://under_score/SKILL.md", "needs a `description`, and a `name` in lower case"),
        ("skill://nope/SKILL.md", "no skill is served at skill://nope/SKILL.md"),
        ("skill://notes", "is not the uri of a SKILL.md"),
    ] {
        let error = refused(uri);
        assert!(error["code"] == -32602 && error["message"].as_str().unwrap().contains(why), "{uri}: {error}");
    }
}
