//! A path of a skill leads nowhere else.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::json;

use super::client::Client;
use super::{put, skill, skills};

const SECRET: &str = "the secret outside";

/// Asks for `path` of the skill `notes`, as a tool and as a resource, and expects a refusal that says `why`.
fn is_refused(client: &mut Client, path: &str, why: &str) {
    let (text, is_error) = client.call("skill-resource", &json!({ "skill": "notes", "path": path }));
    assert!(is_error, "{path:?}: {text}");
    assert!(text.contains(why), "{path:?}: {text}");
    assert!(!text.contains(SECRET), "{path:?}: {text}");
    for uri in [format!("skill://notes/{path}"), format!("skill://notes/{}", encoded(path))] {
        let answer = client.request("resources/read", &json!({ "uri": uri }));
        assert_eq!(answer["error"]["code"], -32002, "{uri}: {answer}");
        assert!(!answer.to_string().contains(SECRET), "{uri}: {answer}");
        let answer = client.request("resources/subscribe", &json!({ "uri": uri }));
        assert_eq!(answer["error"]["code"], -32002, "{uri}: {answer}");
    }
}

/// Every byte as `%XX`.
fn encoded(path: &str) -> String {
    path.bytes().fold(String::new(), |uri, byte| format!("{uri}%{byte:02X}"))
}

fn with_secret() -> (tempfile::TempDir, Client) {
    let skills = skills();
    put(skills.path(), "secret.txt", SECRET.as_bytes());
    put(skills.path(), "notes-too/secret.txt", SECRET.as_bytes());
    let client = Client::serving(skills.path());
    (skills, client)
}

#[test]
fn dots_do_not_lead_out_of_a_skill() {
    let (_skills, mut client) = with_secret();
    let why = "leaves its directory with `..`";
    for path in [
        "..",
        "../secret.txt",
        "references/../../secret.txt",
        "references/deep/../../../secret.txt",
        "./../secret.txt",
        "references//..//../secret.txt",
        "../notes-too/secret.txt",
        "../notes/SKILL.md",
    ] {
        is_refused(&mut client, path, why);
    }
    // Decoded once, not twice.
    is_refused(&mut client, "%2e%2e/secret.txt", "is not there");
    is_refused(&mut client, "..%2fsecret.txt", "is not there");
    is_refused(&mut client, "...", "is not there");
}

#[test]
fn absolute_paths_and_drives_are_refused() {
    let (skills, mut client) = with_secret();
    let absolute = skills.path().join("secret.txt");
    is_refused(&mut client, absolute.to_str().unwrap(), "is absolute");
    is_refused(&mut client, &format!("/{}", absolute.display()), "is absolute");
    is_refused(&mut client, "C:/secret.txt", "is absolute");
    is_refused(&mut client, "c:secret.txt", "is absolute");
    is_refused(&mut client, "file:///etc/passwd", "is not there");
    is_refused(&mut client, "~/secret.txt", "is not there");
}

#[test]
fn backslashes_and_nul_bytes_are_refused() {
    let (_skills, mut client) = with_secret();
    is_refused(&mut client, "..\\secret.txt", "holds a backslash");
    is_refused(&mut client, "references\\one.md", "holds a backslash");
    is_refused(&mut client, "SKILL.md\0.txt", "holds a NUL byte");
    is_refused(&mut client, "../secret.txt\0.md", "holds a NUL byte");
}

#[test]
fn names_are_compared_letter_by_letter() {
    let (_skills, mut client) = with_secret();
    for path in ["skill.md", "SKILL.MD", "skill.MD", "References/one.md", "SKILL.md ", "SKILL.md.", "SKILL.md::$DATA"] {
        is_refused(&mut client, path, "is not there");
    }
}

#[test]
fn links_that_lead_out_are_not_followed_wherever_they_stand() {
    let (skills, mut client) = with_secret();
    let notes = skills.path().join("notes");
    symlink(skills.path().join("secret.txt"), notes.join("link.txt")).unwrap();
    symlink("../secret.txt", notes.join("relative.txt")).unwrap();
    symlink("references/../../secret.txt", notes.join("there-and-out")).unwrap();
    // Out and in again: that is another place once the skill is installed.
    symlink("../notes/references/one.md", notes.join("around.md")).unwrap();
    symlink(notes.join("references/one.md"), notes.join("absolute.md")).unwrap();
    symlink("..", notes.join("references/up")).unwrap();
    symlink(skills.path().join("notes-too"), notes.join("folder")).unwrap();
    symlink("nowhere", notes.join("dangling")).unwrap();
    symlink("loop", notes.join("loop")).unwrap();
    let why = "is a symbolic link or lies behind one that leads out of the skill's directory";
    for path in ["link.txt", "relative.txt", "there-and-out", "around.md", "absolute.md", "folder", "folder/secret.txt"]
    {
        is_refused(&mut client, path, why);
    }
    is_refused(&mut client, "references/up/relative.txt", why);
    is_refused(&mut client, "dangling", "is not there");
    for path in ["loop", "loop/x"] {
        is_refused(&mut client, path, "lies behind more than 40 symbolic links");
    }
    let (list, _) = client.call("skill-resource", &json!({ "skill": "notes" }));
    assert!(!list.contains("link") && !list.contains("folder/"), "{list}");
}

#[test]
fn links_within_a_skill_are_followed_and_not_listed() {
    let (skills, mut client) = with_secret();
    let notes = skills.path().join("notes");
    symlink("references/one.md", notes.join("inside.md")).unwrap();
    symlink("references", notes.join("refs")).unwrap();
    symlink("../deep/.././one.md", notes.join("references/deep/back.md")).unwrap();
    symlink("refs/deep/back.md", notes.join("chain.md")).unwrap();
    for path in ["inside.md", "refs/one.md", "references/deep/back.md", "chain.md"] {
        let answer = client.call("skill-resource", &json!({ "skill": "notes", "path": path }));
        assert_eq!(answer, ("the first".to_owned(), false), "{path}");
        let answer = client.request("resources/read", &json!({ "uri": format!("skill://notes/{path}") }));
        assert_eq!(answer["result"]["contents"][0]["text"], "the first", "{path}");
    }
    let (list, _) = client.call("skill-resource", &json!({ "skill": "notes" }));
    assert!(!list.contains("inside") && !list.contains("refs/"), "{list}");
    fs::rename(notes.join("SKILL.md"), notes.join("text.md")).unwrap();
    symlink("text.md", notes.join("SKILL.md")).unwrap();
    let mut client = Client::serving(skills.path());
    assert!(client.call("skill", &json!({ "name": "notes" })).0.contains("# Notes"));
}

#[test]
fn a_folder_swapped_for_a_link_is_not_followed() {
    let (skills, mut client) = with_secret();
    put(skills.path(), "elsewhere/one.md", SECRET.as_bytes());
    // It was a directory when last listed.
    let references = skills.path().join("notes/references");
    fs::remove_dir_all(&references).unwrap();
    symlink(skills.path().join("elsewhere"), &references).unwrap();
    is_refused(&mut client, "references/one.md", "symbolic link");
    // The same for the skill's own directory.
    let notes = skills.path().join("notes");
    fs::remove_dir_all(&notes).unwrap();
    put(skills.path(), "stand-in/SKILL.md", SECRET.as_bytes());
    symlink(skills.path().join("stand-in"), &notes).unwrap();
    let (text, is_error) = client.call("skill", &json!({ "name": "notes" }));
    assert!(is_error && !text.contains(SECRET), "{text}");
}

#[test]
fn a_skill_whose_skill_md_is_a_link_is_not_served() {
    let skills = skills();
    put(skills.path(), "secret.txt", format!("---\nname: sly\n---\n{SECRET}").as_bytes());
    fs::create_dir(skills.path().join("sly")).unwrap();
    symlink("../secret.txt", skills.path().join("sly/SKILL.md")).unwrap();
    let mut client = Client::serving(skills.path());
    let (text, is_error) = client.call("skill", &json!({ "name": "sly" }));
    assert!(is_error && !text.contains(SECRET), "{text}");
}

#[test]
fn pipes_and_sockets_are_refused_without_waiting() {
    let (skills, mut client) = with_secret();
    let notes = skills.path().join("notes");
    mkfifo(&notes.join("pipe"));
    let _socket = UnixListener::bind(notes.join("socket")).unwrap();
    let start = Instant::now();
    is_refused(&mut client, "pipe", "is neither a file nor a directory");
    is_refused(&mut client, "socket", "is neither a file nor a directory");
    is_refused(&mut client, "pipe/x", "is neither a file nor a directory");
    // A pipe where a SKILL.md is expected holds nothing up either.
    let sly = skill(skills.path(), "sly", "d", "body");
    fs::remove_file(sly.join("SKILL.md")).unwrap();
    mkfifo(&sly.join("SKILL.md"));
    assert!(client.call("skill", &json!({ "name": "sly" })).1);
    assert!(start.elapsed() < Duration::from_secs(3));
}

#[test]
fn other_schemes_and_addresses_read_nothing() {
    let (skills, mut client) = with_secret();
    let file = format!("file://{}/secret.txt", skills.path().display());
    for uri in [
        &file,
        "skill:/",
        "skill:///",
        "skill://none",
        "skill://none/",
        "skill:///SKILL.md",
        "skill://../secret.txt",
        "skill://./notes/SKILL.md",
        "",
    ] {
        let answer = client.request("resources/read", &json!({ "uri": uri }));
        assert_eq!(answer["error"]["code"], -32002, "{uri}: {answer}");
        assert!(!answer.to_string().contains(SECRET), "{uri}: {answer}");
    }
    for uri in ["skill://notes/SKILL.md?x=1", "skill://notes/SKILL.md#top", "skill://notes/%ff", "skill://%ff"] {
        let answer = client.request("resources/read", &json!({ "uri": uri }));
        assert_eq!(answer["error"]["code"], -32002, "{uri}: {answer}");
    }
}

fn mkfifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}
