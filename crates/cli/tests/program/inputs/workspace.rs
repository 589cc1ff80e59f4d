//! What an agent may leave behind: names, links and files that are meant to lead astray, or are just too many.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::fixture::Ran;
use crate::support::stub::Stub;

/// One trial of an agent that runs `body` and whose workspace must hold `required`.
fn trial(body: &str, required: &str) -> (Stub, Ran) {
    let stub = Stub::new(1, body);
    let table = format!("id,should_trigger,prompt,require_files\nc0,false,Prompt,{required}\n");
    fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), table).expect("a table");
    let ran = stub.run(&["run", "--run-id", "r"]);
    (stub, ran)
}

fn kept(stub: &Stub) -> PathBuf {
    stub.run_folder("r").join("work/tidy/c0/codex/1")
}

fn meta(stub: &Stub) -> Value {
    stub.json("r", "work/tidy/c0/codex/1/meta.json")
}

#[test]
fn a_workspace_that_was_replaced_by_a_link_holds_nothing() {
    let outside = tempfile::tempdir().expect("a directory");
    fs::write(outside.path().join("secret.txt"), "TOP_SECRET").expect("a file");
    let replace = format!("cd ..; rm -rf workspace; ln -s {} workspace", outside.path().display());
    let (stub, ran) = trial(&replace, "secret.txt");
    ran.exits(1);
    assert_eq!(meta(&stub)["files"], serde_json::json!([]));
    assert!(!kept(&stub).join("workspace").exists(), "nothing of it is kept");
    assert_eq!(fs::read_to_string(outside.path().join("secret.txt")).expect("still there"), "TOP_SECRET");
}

#[test]
fn a_folder_behind_a_link_is_not_kept() {
    let (stub, ran) = trial("ln -s /etc etc; ln -s /etc/passwd passwd; mkdir mine; echo x > mine/x", "mine/x");
    ran.exits(0);
    let files = meta(&stub)["files"].as_array().expect("a list").clone();
    assert_eq!(files.len(), 1, "{files:?}");
    assert!(!kept(&stub).join("workspace/etc").exists());
    assert!(!kept(&stub).join("workspace/passwd").exists());
}

#[test]
fn a_required_file_is_found_through_a_link_that_stays_in_the_workspace_only() {
    let (_stub, inside) = trial("echo x > real; ln -s real out.txt", "out.txt");
    inside.exits(0);
    let (_stub, outside) = trial("ln -s /etc/passwd out.txt", "out.txt");
    outside.exits(3).prints("out.txt is a link or a special file, which is not followed");
}

#[test]
fn a_required_file_is_found_among_more_files_than_are_listed() {
    let many = "mkdir a; i=0; while [ $i -lt 101 ]; do mkdir a/$i; (cd a/$i; touch $(seq 100)); i=$((i+1)); done";
    let (stub, ran) = trial(&format!("{many}; echo x > zz.txt; mkdir zzz; echo x > zzz/x"), "zz.txt;zzz");
    ran.exits(0);
    assert_eq!(meta(&stub)["files_truncated"], true);
    // Looked for and not there is an answer too.
    let (_stub, ran) = trial(many, "zz.txt");
    ran.exits(1);
}

#[test]
fn a_required_folder_may_be_empty() {
    let (stub, there) = trial("mkdir -p out/deep full; echo x > full/x", "out;full");
    there.exits(0);
    let files = serde_json::json!([{ "path": "full/x", "size": 2, "changed": true }, { "path": "out/", "size": 0, "changed": false }]);
    assert_eq!(meta(&stub)["files"], files);
    let grade = stub.json("r", "work/tidy/c0/codex/1/grade.json").to_string();
    assert!(grade.contains("an empty directory") && grade.contains("a directory with full/x"), "{grade}");
    let (_stub, missing) = trial("mkdir other", "out");
    missing.exits(1);
}

#[test]
fn names_that_hold_a_secret_are_masked() {
    let stub = Stub::new(
        1,
        "echo a > \"$MY_TOKEN\"; mkdir \"x-$MY_TOKEN\"; echo b > \"x-$MY_TOKEN/b\"; echo c > \"x-$MY_TOKEN.txt\"; mkdir sub; cd sub; ln -s ../x .; echo d > \"[masked]\"; mkdir \"$MY_TOKEN\"; echo e > \"$MY_TOKEN/e\"",
    );
    stub.settings("pass_env = ['MY_TOKEN']");
    let ran = crate::support::stub::ran(stub.command(&["run", "--run-id", "r"]).env("MY_TOKEN", "hunter2-hunter2"));
    ran.exits(0);
    let files = meta(&stub)["files"].to_string();
    assert!(
        files.contains("\"[masked]\"") && files.contains("\"x-[masked]/b\"") && files.contains("\"x-[masked].txt\""),
        "{files}"
    );
    let everything = walkdir::WalkDir::new(kept(&stub)).into_iter().flatten();
    let names: String = everything.map(|entry| entry.path().display().to_string() + "\n").collect();
    assert!(
        names.contains("workspace/[masked]\n") && !names.contains("hunter2") && !files.contains("hunter2"),
        "{names}"
    );
}

#[test]
fn names_that_are_not_utf_8_or_too_long_are_no_error() {
    let long =
        "d=$(printf 'x%.0s' $(seq 200)); i=0; while [ $i -lt 15 ]; do mkdir $d; cd $d; i=$((i+1)); done; echo x > f";
    let odd =
        "cd \"$start\"; echo x > \"$(printf 'a\\377b')\"; echo x > \"$(printf 'a\\nb')\"; echo x > '-rf'; mkfifo pipe";
    let (stub, ran) = trial(&format!("start=$PWD; {long}; {odd}"), "-rf");
    ran.exits(0);
    let files = meta(&stub)["files"].to_string();
    assert!(files.contains("a\u{fffd}b") && files.contains("a\\nb"), "{files}");
    assert!(!files.contains("pipe"), "{files}");
}

#[test]
fn a_final_message_or_session_that_is_a_pipe_or_a_link_is_an_error_and_is_not_read() {
    let last = r#"last=$(printf '%s\n' "$@" | sed -n '/--output-last-message/{n;p;}')"#;
    for (replace, why) in [
        (format!("{last}; rm -f \"$last\"; mkfifo \"$last\""), "named pipe"),
        (format!("{last}; rm -f \"$last\"; ln -s /etc/hostname \"$last\""), "symbolic link"),
        (format!("{last}; rm -f \"$last\"; mkdir \"$last\""), "last-message"),
        ("rm -f \"$CODEX_HOME\"/sessions/*; mkfifo \"$CODEX_HOME/sessions/rollout-1.jsonl\"".to_owned(), ""),
        ("rm -rf \"$CODEX_HOME/sessions\"; ln -s / \"$CODEX_HOME/sessions\"".to_owned(), ""),
    ] {
        let (stub, ran) = trial(&replace, "");
        ran.exits(3);
        let trouble = stub.progress("r")[0]["trouble"].to_string();
        assert!(trouble.contains(why), "{replace}: {trouble}");
    }
}
