//! Where skills are looked for, and how they are served, as arguments and variables say.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::json;

use super::client::Client;
use super::{put, skill};

/// Names and values.
type Variables<'a> = &'a [(&'a str, &'a str)];

/// Directories with one skill each, with the same name.
fn folders(names: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in names {
        skill(&folder.path().join(name), name.trim_start_matches(|c: char| !c.is_alphabetic()), "d", "body");
    }
    folder
}

fn served(folder: &Path, args: &[&str], env: Variables<'_>) -> Vec<String> {
    let mut client = Client::start_in(folder, args, env);
    client.shake_hands(&json!({}));
    let answer = client.request("prompts/list", &json!({}));
    let prompts = answer["result"]["prompts"].as_array().unwrap();
    prompts.iter().skip(1).map(|prompt| prompt["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn folders_come_from_arguments_lists_and_the_variable() {
    let all = folders(&["a", "b", "c", "d", "e,f"]);
    let at = all.path();
    assert_eq!(served(at, &["a", "b, c"], &[]), ["a", "b", "c"]);
    assert_eq!(served(at, &["a"], &[("SKILLS_DIR", "b,d")]), ["a", "b", "d"]);
    assert_eq!(served(at, &[], &[("SKILLS_DIR", "c")]), ["c"]);
    assert_eq!(served(at, &["--skills", "a", "--skills", "e,f"], &[("SKILLS_DIR", "b")]), ["a", "e-f"]);
    assert_eq!(served(at, &["e,f"], &[]), ["e-f"]);
    assert_eq!(served(at, &["a", "nonesuch"], &[]), ["a"], "one that is missing leaves the others");
}

#[test]
fn skills_lie_below_a_given_folder_in_hidden_roots_too() {
    let repository = tempfile::tempdir().unwrap();
    skill(&repository.path().join(".claude/skills"), "claude", "d", "b");
    skill(&repository.path().join(".agents/skills"), "agents", "d", "b");
    skill(&repository.path().join("skills"), "plain", "d", "b");
    skill(repository.path(), "here", "d", "b");
    let at = repository.path().to_str().unwrap();
    assert_eq!(served(repository.path(), &[at], &[]), ["agents", "claude", "here", "plain"]);
}

#[test]
fn a_skill_md_in_small_letters_is_one_unless_there_are_both() {
    let skills = tempfile::tempdir().unwrap();
    put(skills.path(), "small/skill.md", b"---\nname: small\ndescription: d\n---\nfrom the small one\n");
    put(skills.path(), "both/skill.md", b"---\nname: small-of-both\ndescription: d\n---\nb\n");
    put(skills.path(), "both/SKILL.md", b"---\nname: large-of-both\ndescription: d\n---\nb\n");
    let mut client = Client::serving(skills.path());
    assert!(client.call("skill", &json!({ "name": "small" })).0.contains("from the small one"));
    let read = client.request("resources/read", &json!({ "uri": "skill://small" }));
    assert!(read["result"]["contents"][0]["text"].as_str().unwrap().ends_with("from the small one\n"), "{read}");
    assert!(!client.call("skill", &json!({ "name": "large-of-both" })).1);
    assert!(client.call("skill", &json!({ "name": "small-of-both" })).1);
}

#[test]
fn the_largest_file_can_be_chosen() {
    let skills = folders(&["a"]);
    put(skills.path(), "a/a/big.txt", &vec![b'x'; 3 * 512 * 1024]);
    put(skills.path(), "a/a/bigger.txt", &vec![b'x'; 2 * 1024 * 1024 + 1]);
    let ask = |args: &[&str], env: Variables<'_>, path: &str| {
        let mut client = Client::start_in(skills.path(), args, env);
        client.shake_hands(&json!({}));
        client.call("skill-resource", &json!({ "skill": "a", "path": path }))
    };
    assert!(ask(&["--skills", "a"], &[], "big.txt").1);
    assert_eq!(ask(&["--skills", "a", "--max-file-mb", "2"], &[], "big.txt").0.len(), 3 * 512 * 1024);
    assert!(!ask(&["--skills", "a"], &[("MAX_FILE_SIZE_MB", "2")], "big.txt").1);
    assert!(ask(&["--skills", "a"], &[("MAX_FILE_SIZE_MB", "1")], "big.txt").0.contains("the limit is 1048576 bytes"));
    assert!(ask(&["--skills", "a", "--max-file-mb", "2"], &[], "bigger.txt").1);
}

#[test]
fn the_answer_can_be_the_skill_md_alone() {
    let skills = folders(&["a"]);
    put(skills.path(), "a/a/more.md", b"more");
    let text = "---\nname: a\ndescription: \"d\"\n---\nbody\n";
    for (args, env) in [(&["--skills", "a", "--result", "raw"][..], &[][..]), (&["a"], &[("SKILLS_RESULT", "raw")])] {
        let mut client = Client::start_in(skills.path(), args, env);
        client.shake_hands(&json!({}));
        assert_eq!(client.call("skill", &json!({ "name": "a" })), (text.to_owned(), false));
    }
}

#[test]
fn the_wording_can_be_as_urgent_as_skilljack_s() {
    let skills = folders(&["a"]);
    for (args, env) in [(&["a", "--wording", "skilljack"][..], &[][..]), (&["a"], &[("SKILLS_WORDING", "skilljack")])] {
        let mut client = Client::start_in(skills.path(), args, env);
        let hello = client.shake_hands(&json!({}));
        assert_eq!(hello.get("instructions"), None, "it has none");
        let answer = client.request("tools/list", &json!({}));
        let description = answer["result"]["tools"][0]["description"].as_str().unwrap();
        assert!(
            description.contains("BLOCKING REQUIREMENT") && description.contains("<name>a</name>"),
            "{description}"
        );
    }
    let mut client = Client::start(skills.path(), &["a"]);
    client.shake_hands(&json!({}));
    let answer = client.request("tools/list", &json!({}));
    assert!(!answer.to_string().contains("BLOCKING"), "{answer}");
}

#[test]
fn arguments_of_tools_that_are_not_known_are_passed_over() {
    let skills = folders(&["a"]);
    let mut client = Client::serving(skills.path());
    assert!(!client.call("skill", &json!({ "name": "a", "reason": "because", "depth": 3 })).1);
    assert!(!client.call("skill-resource", &json!({ "skill": "a", "path": "", "encoding": "utf-8" })).1);
}

#[test]
fn wrong_choices_are_errors_that_name_the_right_ones() {
    let skills = folders(&["a"]);
    let wrong: [(&[&str], Variables, &str); 6] = [
        (&["a", "--result", "all"], &[], "\"body\" or \"raw\""),
        (&["a", "--wording", "loud"], &[], "\"mild\" or \"skilljack\""),
        (&["a", "--max-file-mb", "0"], &[], "1..=1024"),
        (&["a"], &[("MAX_FILE_SIZE_MB", "many")], "MAX_FILE_SIZE_MB: \"many\" is not a whole number"),
        (&["a"], &[("MAX_FILE_SIZE_MB", "5000")], "expected 1 to 1024"),
        (&["a"], &[("SKILLS_RESULT", "all")], "SKILLS_RESULT: "),
    ];
    for (args, env, why) in wrong {
        let mut command = Command::new(env!("CARGO_BIN_EXE_skill-evals"));
        let output = command.arg("mcp").args(args).envs(env.iter().copied()).current_dir(skills.path());
        let output = output.stdin(Stdio::null()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), output.stdout.is_empty()), (Some(2), true), "{args:?}: {stderr}");
        assert!(stderr.contains(why), "{args:?}: {stderr}");
    }
}

#[test]
fn every_skill_that_is_not_served_is_told_with_the_reason() {
    let skills = folders(&["a"]);
    let at = skills.path();
    put(at, "big/SKILL.md", &vec![b'x'; 256 * 1024 + 1]);
    put(at, "by-user/SKILL.md", b"---\nname: by-user\ndescription: d\ndisable-model-invocation: true\n---\nb\n");
    put(at, "second/SKILL.md", b"---\nname: a\ndescription: d\n---\nb\n");
    put(at, "linked/text.md", b"---\nname: linked\ndescription: d\n---\nb\n");
    std::os::unix::fs::symlink("linked", at.join("link")).unwrap();
    put(at, "plain/SKILL.md", b"No front matter.\n");
    put(at, "silent/SKILL.md", b"---\nname: silent\n---\nb\n");
    put(at, "silent/large.bin", &vec![b'x'; 256 * 1024 + 1]);
    std::fs::create_dir(at.join("out")).unwrap();
    std::os::unix::fs::symlink("../linked/text.md", at.join("out/SKILL.md")).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_skill-evals"))
        .args(["mcp", ".", "nonesuch"])
        .current_dir(at)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_millis(700));
    drop(child.stdin.take());
    let stderr = String::from_utf8(child.wait_with_output().unwrap().stderr).unwrap();
    for told in [
        "big is not served: its SKILL.md is a file of 262145 bytes; the limit is 262144 bytes",
        "by-user is not served: `disable-model-invocation` keeps models from calling it",
        "second is not served: its slug `a` is also that of",
        "out is not served: its SKILL.md is a symbolic link or lies behind one that leads out of the skill's directory",
        "plain is served, but SKILL.md has no front matter",
        "silent is served, but its SKILL.md has no `description`",
        "silent/large.bin is not served: it is a file of 262145 bytes; the limit is 262144 bytes",
        "this link to a directory is not followed to find skills",
        "this is not a directory",
    ] {
        assert_eq!(stderr.matches(told).count(), 1, "{told}\n{stderr}");
    }
    assert_eq!(stderr.lines().filter(|line| line.starts_with("skill-evals mcp: ")).count(), 9, "{stderr}");
}
