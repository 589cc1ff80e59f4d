//! Files that a case puts into the workspace.

use std::fs;

use crate::support::stub::Stub;

/// A repository whose only case is a task with these files, and whose agent lists its workspace in the file `seen`.
fn task(files: &str) -> Stub {
    let stub = Stub::new(0, "find . -type f ! -path '*/skills/*' ! -name seen | sort | xargs head > seen");
    fs::remove_file(stub.root().join("evals/skills/tidy/prompts.csv")).expect("a file");
    let config = format!(r#""expectedSkillName": "tidy", "shouldTrigger": false, "files": {files}"#);
    stub.write("evals/tasks/one.json", &format!(r#"{{ "prompt": "Do it", "evalConfig": {{ {config} }} }}"#));
    stub
}

fn seen(stub: &Stub, case: &str) -> String {
    let seen = stub.run_folder("r").join(format!("work/tidy/{case}/codex/1/workspace/seen"));
    fs::read_to_string(seen).expect("the agent listed its workspace")
}

#[test]
fn files_of_a_row_are_copied_under_their_own_names() {
    let stub = Stub::new(0, "find . -type f ! -path '*/skills/*' ! -name seen | sort > seen");
    stub.write(
        "evals/skills/tidy/prompts.csv",
        "id,should_trigger,prompt,files\nc0,false,Do it,data/orders.csv; more\n",
    );
    stub.write("evals/skills/tidy/data/orders.csv", "1,2\n");
    stub.write("evals/skills/tidy/more/deep/a.txt", "a\n");
    stub.run("run --run-id r").exits(0);
    assert_eq!(seen(&stub, "c0"), "./more/deep/a.txt\n./orders.csv\n");
    let meta = stub.json("r", "work/tidy/c0/codex/1/meta.json");
    let changed: Vec<&str> = meta["files"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|file| file["changed"] == true)
        .map(|file| file["path"].as_str().expect("a path"))
        .collect();
    assert_eq!(changed, ["seen"], "what the case put there is not the agent's work");
}

#[test]
fn files_of_a_task_have_a_text_or_a_source_and_replace_those_of_the_fixture() {
    let stub = task(
        r#"[ "a.txt", { "path": "in/b.txt", "content": "inline" }, { "path": "c", "source": "sources" } ],
           "fixture": "fixtures/base""#,
    );
    stub.write("evals/tasks/a.txt", "next to the task");
    stub.write("evals/tasks/sources/x.txt", "of a directory");
    stub.write("evals/skills/tidy/fixtures/base/in/b.txt", "of the fixture");
    stub.write("evals/skills/tidy/fixtures/base/kept.txt", "kept");
    stub.run("run --run-id r --mode codex").exits(0);
    let seen = seen(&stub, "one");
    for part in
        ["==> ./a.txt <==\nnext to the task", "./c/x.txt <==\nof a directory", "./in/b.txt <==\ninline", "./kept.txt"]
    {
        assert!(seen.contains(part), "{part}: {seen}");
    }
}

#[test]
fn a_fixture_with_cases_of_its_own_is_given_whole_and_replays() {
    let stub = Stub::new(0, "cp evals/skills/x/prompts.csv seen");
    let table = "id,should_trigger,prompt,fixture,require_files\nc0,false,Do it,base,seen\n";
    stub.write("evals/skills/tidy/prompts.csv", table);
    stub.write("evals/skills/tidy/base/evals/skills/x/prompts.csv", "id,should_trigger,prompt\n");
    stub.run("run --record").exits(0);
    stub.run("run --replay").exits(0);
}

#[test]
fn a_recording_is_stale_when_a_file_of_its_case_changes() {
    let stub = task(r#"[ { "path": "b.txt", "content": "inline" }, "a.txt" ]"#);
    stub.write("evals/tasks/a.txt", "before");
    stub.run("run --record --mode codex").exits(0);
    stub.run("run --replay --mode codex").exits(0);
    stub.write("evals/tasks/a.txt", "after");
    stub.run("run --replay --mode codex").prints("stale").prints("files");
    stub.write("evals/tasks/a.txt", "before");
    stub.run("run --replay --mode codex").exits(0);
}

#[test]
fn files_that_are_missing_linked_or_have_one_path_keep_their_case_from_running() {
    for (files, problem) in [
        (r#"["gone.txt"]"#, "[missing-fixture]"),
        (r#"["linked/passwd"]"#, "[symlink]"),
        (r#"[{ "source": "dir" }]"#, "[symlink]"),
        (r#"["a.txt", { "path": "a.txt", "content": "" }]"#, "[bad-path]"),
        (r#"["../../../etc/passwd"]"#, "[bad-path]"),
        (r#"[{ "content": "x" }]"#, "[missing-key]"),
        (r#"[{ "path": "x" }]"#, "[missing-key]"),
        (r#"[{ "path": "x", "content": "a", "source": "b" }]"#, "[missing-key]"),
        ("[5]", "[value-type]"),
    ] {
        let stub = task(files);
        stub.write("evals/tasks/a.txt", "a");
        stub.write("evals/tasks/dir/b.txt", "a");
        std::os::unix::fs::symlink("/etc", stub.root().join("evals/tasks/linked")).expect("a link");
        std::os::unix::fs::symlink("/etc/passwd", stub.root().join("evals/tasks/dir/out")).expect("a link");
        let ran = stub.run(&["run", "--run-id", "r", "--mode", "codex"]);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains(problem) && said.contains("evals/tasks/one.json:1:"), "{files}: {said}");
        assert_eq!(stub.starts().len(), 0, "{files}");
    }
}
