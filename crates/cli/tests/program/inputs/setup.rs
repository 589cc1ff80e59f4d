//! Setup commands: they run before the agent, and what they make is not the agent's work.

use std::fs;

use crate::support::fixture::Ran;
use crate::support::stub::Stub;

/// A run of a case with this setup, after a trial that had none.
fn run(setup: &str, more: &str) -> (Stub, Ran) {
    let stub = Stub::new(0, "ls > seen; cat lib/made >> seen 2> /dev/null; echo mine > out; echo x >> edited");
    let rows = format!(
        "id,should_trigger,prompt,setup,fixture,timeout_s,require_files\nc0,false,Do it,\"{setup}\",base,{more},\n"
    );
    fs::write(stub.root().join("evals/skills/tidy/prompts.csv"), rows).expect("a table");
    fs::create_dir(stub.root().join("evals/skills/tidy/base")).expect("a directory");
    fs::write(stub.root().join("evals/skills/tidy/base/edited"), "fixture\n").expect("a file");
    let ran = stub.run(&["run", "--run-id", "r"]);
    (stub, ran)
}

#[test]
fn setup_commands_run_in_order_in_the_workspace_before_the_agent_and_are_timed() {
    let (stub, ran) = run("mkdir lib; echo one > lib/made\ncat lib/made > lib/again && echo y >> edited", "");
    ran.exits(0);
    let trial = stub.run_folder("r").join("work/tidy/c0/codex/1");
    let seen = fs::read_to_string(trial.join("workspace/seen")).expect("a file");
    assert_eq!(seen, "edited\nlib\nseen\none\n");
    let meta = stub.json("r", "work/tidy/c0/codex/1/meta.json");
    let commands: Vec<&str> = meta["setup"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|done| done["command"].as_str().expect("a command"))
        .collect();
    assert_eq!(commands, ["mkdir lib; echo one > lib/made", "cat lib/made > lib/again && echo y >> edited"]);
    let files = meta["files"].as_array().expect("a list");
    let changed: Vec<&str> = files
        .iter()
        .filter(|file| file["changed"] == true)
        .map(|file| file["path"].as_str().expect("a path"))
        .collect();
    assert_eq!(changed, ["edited", "out", "seen"]);
    assert!(trial.join("workspace/lib/again").exists(), "scripts that check the trial find it");
    stub.run("show tidy/c0/codex --run r").prints("setup       `mkdir lib; echo one > lib/made`, 0.");
    stub.run("record r").exits(0);
    let replayed = stub.run(&["run", "--replay"]);
    assert_eq!((replayed.code, stub.starts().len()), (0, 1), "{}{}", replayed.stdout, replayed.stderr);
}

#[test]
fn a_setup_command_that_fails_or_hangs_is_an_error_with_its_output_and_starts_no_agent() {
    for (setup, timeout, words) in [
        ("echo fine\necho the reason >&2; exit 3", "", "`echo the reason >&2; exit 3`: exit status 3: the reason"),
        ("echo said; false", "", "exit status 1: said"),
        ("sleep 60", "1", "it did not end within 1 s; `timeout_s` of the case"),
        ("no-such-program", "", "not found"),
    ] {
        let (stub, ran) = run(setup, timeout);
        assert_eq!((ran.code, stub.starts().len()), (3, 0), "{setup}: {}{}", ran.stdout, ran.stderr);
        let line = &stub.progress("r")[0];
        assert_eq!((&line["verdict"], &line["trouble"]["kind"]), (&"error".into(), &"setup".into()), "{setup}");
        let detail = line["trouble"]["detail"].as_str().expect("a detail");
        assert!(detail.contains(words), "{setup}: {detail}");
    }
}

#[test]
fn checks_read_files_as_the_setup_left_them_and_never_as_the_repository_has_them() {
    let stub = Stub::new(0, "");
    fs::remove_file(stub.root().join("evals/skills/tidy/prompts.csv")).expect("a file");
    let write = |path: &str, text: &str| {
        let path = stub.root().join(path);
        fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
        fs::write(path, text).expect("a file");
    };
    let task = |setup: &str| {
        let config = format!(
            r#""expectedSkillName": "tidy", "shouldTrigger": false, "files": ["data.txt"], "setup": ["{setup}"],
            "checks": [{{ "file": "data.txt", "contains": "new" }}, {{ "run": "grep -q new data.txt" }}]"#
        );
        write("evals/tasks/one.json", &format!(r#"{{ "prompt": "Do it", "evalConfig": {{ {config} }} }}"#));
    };
    write("evals/tasks/data.txt", "old");
    task("echo new > data.txt");
    stub.run("run --mode codex --record").exits(0);
    stub.run("run --mode codex --replay").exits(0);
    // Too large to be stored.
    write("evals/tasks/data.txt", &"new\n".repeat(500_000));
    task("tr n o < data.txt > other && mv other data.txt");
    let ran = stub.run(&["run", "--mode", "codex", "--run-id", "r"]);
    let grade = stub.json("r", "work/tidy/one/codex/1/grade.json");
    assert_eq!((ran.code, &grade["verdict"]), (3, &"error".into()), "{}{}", ran.stdout, ran.stderr);
    for found in ["its content is not stored", "the stored workspace lacks `data.txt`"] {
        assert!(grade.to_string().contains(found), "{grade}");
    }
}

#[test]
fn a_trial_whose_setup_fails_is_stored_with_the_end_of_its_output() {
    let long = "head -c 2000000 /dev/zero | tr '\\0' x";
    // The output ends within the key.
    let cut = "head -c 1048550 /dev/zero | tr '\\0' x; echo gh''p_abcdefghijklmnopqrstuvwxyz0123456789";
    let key = "printf '%s\\n' '-----BEGIN PRIVATE KEY-----' gh''p_ '-----END PRIVATE KEY-----'; exit 3";
    for (setup, timeout, words) in [
        ("echo the reason; exit 3", "", "exit status 3: the reason"),
        ("echo so far; sleep 60", "1", "gives its setup more: so far"),
        ("echo so far; kill -9 $$", "", ": so far"),
        (long, "", "it wrote more than 1 MiB to its standard output: xxx"),
        (cut, "", "it wrote more than 1 MiB to its standard output: xxx"),
        (key, "", "exit status 3: [masked]"),
        ("rm -rf $PWD || true", "", "it removed or replaced the workspace"),
    ] {
        let (stub, ran) = run(setup, timeout);
        assert_eq!((ran.code, stub.starts().len()), (3, 0), "{setup}: {}{}", ran.stdout, ran.stderr);
        for file in ["meta.json", "grade.json"] {
            let stored = stub.json("r", &format!("work/tidy/c0/codex/1/{file}"));
            let trouble = if file == "meta.json" { &stored["ending"]["trouble"] } else { &stored["trouble"] };
            assert_eq!(trouble["kind"], "setup", "{setup}: {stored}");
            let detail = trouble["detail"].as_str().expect("a detail");
            assert!(detail.contains(words) && !detail.contains("ghp_"), "{setup}: {detail}");
        }
        stub.run("grade r").exits(3).prints("the setup failed");
        stub.run("show tidy/c0/codex/1 --run r").exits(0).prints("the setup failed");
        stub.run("export r --to csv").prints("r,tidy,c0,codex,1,error,");
        stub.run("summary r").exits(3).prints("1 error");
    }
}
