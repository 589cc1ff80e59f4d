//! Run directories of pkbllm's runner become stored runs, graded by today's checks. What pkbllm did not write down is
//! unknown.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::fixture::Fixture;

const CASES: &str = "id,should_trigger,prompt,sandbox,timeout_s,max_commands,output_schema,judge,require_files,must_include,must_not_include,fixture
made,true,Tidy up.,workspace-write,60,2,,true,out/made.md,Done,,
calm,false,What is 2+2?,read-only,60,0,,false,,,4,
slow,true,Tidy slowly.,read-only,60,,,false,,,,
";

const SKILL: &str = "---\nname: tidy\ndescription: Tidies.\n---\n\nPut every thing into its own place, and say Done.\n";

const OFFER: &str =
    "<skills_instructions>\n### Available skills\n- tidy: Tidies. (file: r0/tidy/SKILL.md)\n</skills_instructions>";

const JUDGED: &str = r#"{"overall_pass":true,"score":80,"checks":[{"id":"trigger","pass":true,"notes":"n"},
    {"id":"outcome","pass":true,"notes":"n"},{"id":"process","pass":true,"notes":"n"},{"id":"efficiency","pass":true,"notes":"n"}]}"#;

/// A repository, and in it the directory of a run of pkbllm's.
fn repository() -> Fixture {
    Fixture::new().skill_text("tidy", SKILL).prompts("tidy", CASES)
}

const OLD: &str = "old/20260102-030405";

/// Adds a case to the old run: its answer, its exit status.
fn ran(fixture: Fixture, case: &str, prompt: &str, answer: &str, exit_code: i32) -> Fixture {
    let at = |name: &str| format!("{OLD}/work/tidy/{case}/{name}");
    let read = json!({"type": "item.completed", "item": {"id": "1", "type": "command_execution",
        "command": "cat .codex/skills/tidy/SKILL.md", "aggregated_output": SKILL, "exit_code": 0, "status": "completed"}});
    let looks = if case == "calm" { String::new() } else { format!("{read}\n") };
    let trace = format!(
        "{}\n{looks}{}\n{}\n",
        json!({"type": "thread.started", "thread_id": "t-1"}),
        json!({"type": "item.completed", "item": {"id": "2", "type": "agent_message", "text": answer}}),
        json!({"type": "turn.completed", "usage": {"input_tokens": 100, "output_tokens": 20}}),
    );
    let meta = json!({"skill": {"name": "tidy", "slug": "tidy"}, "suite": "smoke",
        "case": {"id": case, "should_trigger": case != "calm", "prompt": prompt}});
    let grade = json!({"deterministic": {"exit_code": exit_code, "duration_s": 1.5, "pass": true}, "case_checks": []});
    fixture
        .file(&at("trace.jsonl"), trace)
        .file(&at("stderr.txt"), "")
        .file(&at("final.txt"), answer)
        .file(&at("meta.json"), meta.to_string())
        .file(&at("grade.json"), grade.to_string())
        .file(&at(".eval_home/.codex/auth.json"), "{\"tokens\":{\"access_token\":\"of-the-old-login-0123\"}}")
        .file(&format!("{OLD}/skills_snapshot/tidy/SKILL.md"), SKILL)
}

fn old_run() -> Fixture {
    let fixture = ran(repository(), "made", "Tidy up.", "All is Done.", 0);
    let fixture = ran(fixture, "calm", "What is 2+2?", "It is 4.", 0);
    let fixture = ran(fixture, "slow", "Tidy slowly.", "", 124);
    let progress = json!({"ts": "2026-01-02T03:05:00+00:00", "skill": "tidy", "skill_slug": "tidy", "case_id": "made", "pass": true});
    fixture
        .file(&format!("{OLD}/work/tidy/made/out/made.md"), "made\n")
        .file(&format!("{OLD}/work/tidy/made/judge.json"), JUDGED)
        .file(&format!("{OLD}/work/tidy/made/judge.normalized.json"), JUDGED)
        .file(&format!("{OLD}/work/tidy/cut/meta.json"), "{}")
        .file(&format!("{OLD}/progress.jsonl"), format!("{progress}\n"))
}

fn json_of(fixture: &Fixture, path: &str) -> Value {
    let at = fixture.root().join("artifacts/skill-evals/pkbllm-20260102-030405").join(path);
    serde_json::from_slice(&fs::read(&at).unwrap_or_else(|error| panic!("{}: {error}", at.display()))).expect("JSON")
}

#[test]
fn a_run_of_pkbllm_becomes_a_stored_run_that_every_command_reads() {
    let fixture = old_run();
    let graded = fixture.run(&["grade", OLD, "--as", "pkbllm"]);
    graded.exits(1).warns("work/tidy/cut: cut short, without a grade; left out");
    graded.warns("is the run `pkbllm-20260102-030405`");
    let verdict = |case: &str| json_of(&fixture, &format!("work/tidy/{case}/codex/1/grade.json"))["verdict"].clone();
    assert_eq!([verdict("made"), verdict("calm"), verdict("slow")], ["pass", "fail", "fail"], "{}", graded.stdout);
    let grade = json_of(&fixture, "work/tidy/made/codex/1/grade.json");
    assert_eq!((&grade["judged"]["verdict"], &grade["judged"]["score"]), (&json!("pass"), &json!(80.0)), "{grade:#}");
    assert_eq!(grade["metrics"]["activations"][0]["skill"], "tidy", "{grade:#}");

    let meta = json_of(&fixture, "work/tidy/made/codex/1/meta.json");
    assert_eq!((&meta["imported"]["runner"], &meta["suite"]), (&json!("pkbllm"), &json!("smoke")));
    assert!(meta["imported"]["folder"].as_str().is_some_and(|folder| folder.ends_with(OLD)), "{meta:#}");
    for unknown in ["the model", "which skills were offered", "when the agent began"] {
        assert!(meta["imported"]["unknown"].to_string().contains(unknown), "{unknown}: {meta:#}");
    }
    assert_eq!((&meta["agent"]["model"], &meta["isolation"]), (&Value::Null, &Value::Null));
    assert_eq!(meta["files"], json!([{ "path": "out/made.md", "size": 5, "changed": true }]));
    let run = json_of(&fixture, "run.json");
    assert_eq!(
        (&run["created"], &run["ended"]["how"]),
        (&json!("2026-01-02T03:04:05Z"), &json!("finished")),
        "{run:#}"
    );

    let kept = walkdir::WalkDir::new(fixture.root().join("artifacts")).into_iter().flatten();
    assert!(!kept.into_iter().any(|entry| entry.file_name() == "auth.json"), "no login is copied");
    let id = "pkbllm-20260102-030405";
    fixture.run(&["summary", id]).prints("1 passed, 2 failed, 0 errors");
    fixture.run(&["show", "made", "--run", id]).prints("imported    run by pkbllm in ").prints("started     unknown");
    fixture.run("history").prints(id);
    fixture.run(&["status", id]).prints("finished");
    // Its exit status is the run's.
    fixture.run(&["report", id, "-o", "page.html"]).exits(1);
    assert!(fixture.root().join("page.html").is_file());
    let again = fixture.run(&["grade", OLD, "--as", "pkbllm"]);
    assert_eq!((again.code, again.stdout == graded.stdout), (1, true), "{}", again.stderr);
    fixture.run(&["grade", OLD, "--as", "pkbllm", "--run-id", "second"]).exits(1);
    let compared = fixture.run(&["compare", id, "second"]);
    assert!(
        compared.code == 4 && compared.stdout.starts_with("undecided: 1/3 → 1/3"),
        "{}{}",
        compared.stdout,
        compared.stderr
    );
}

#[test]
fn the_checks_of_activations_grade_an_imported_trial_too() {
    for (checks, status) in [
        (r#"[{"activates": ["tidy"]}]"#, "pass"),
        // Nothing says whether it was offered.
        (r#"[{"activates": ["other"]}]"#, "unknown"),
        (r#"[{"rejects": ["other"]}]"#, "pass"),
        (r#"[{"rejects": ["*"]}]"#, "fail"),
    ] {
        let cases =
            format!("id,should_trigger,prompt,checks\nmade,true,Tidy up.,\"{}\"\n", checks.replace('"', "\"\""));
        let fixture = Fixture::new().skill("other").skill_text("tidy", SKILL).prompts("tidy", cases);
        let fixture = ran(fixture, "made", "Tidy up.", "Done.", 0);
        let graded = fixture.run(&["grade", OLD, "--as", "pkbllm"]);
        let grade = json_of(&fixture, "work/tidy/made/codex/1/grade.json");
        let found = grade["checks"].as_array().expect("checks").iter();
        let found: Vec<_> = found
            .filter(|check| checks.contains(check["id"].as_str().expect("an id")))
            .map(|check| &check["status"])
            .collect();
        assert_eq!(found, [status], "{checks}: {}{}{grade:#}", graded.stdout, graded.stderr);
    }
}

#[test]
fn an_answer_that_only_the_trace_has_is_the_answer() {
    let fixture = ran(repository(), "made", "Tidy up.", "All is Done.", 0)
        .file(&format!("{OLD}/work/tidy/made/out/made.md"), "made\n");
    fs::remove_file(fixture.root().join(OLD).join("work/tidy/made/final.txt")).expect("a file");
    fixture.run(&["grade", OLD, "--as", "pkbllm"]).exits(0);
    let kept = fixture.root().join("artifacts/skill-evals/pkbllm-20260102-030405/work/tidy/made/codex/1/final.txt");
    assert_eq!(fs::read_to_string(kept).expect("the answer"), "All is Done.");
    fixture.run("show made --run pkbllm-20260102-030405").prints("All is Done.");
}

#[test]
fn a_required_file_may_be_a_link_that_stays_in_the_workspace() {
    let made = |target: &str, link: &str| {
        let fixture = ran(repository(), "made", "Tidy up.", "Done.", 0)
            .file(&format!("{OLD}/work/tidy/made/kept/made.md"), "made\n")
            .file(&format!("{OLD}/outside/made.md"), "made\n");
        let at = fixture.root().join(OLD).join("work/tidy/made").join(link);
        fs::create_dir_all(at.parent().expect("a directory")).expect("a directory");
        std::os::unix::fs::symlink(target, at).expect("a link");
        let graded = fixture.run(&["grade", OLD, "--as", "pkbllm"]);
        (graded.code, json_of(&fixture, "work/tidy/made/codex/1/meta.json")["files"].to_string())
    };
    for (target, link) in [("../kept/made.md", "out/made.md"), ("kept", "out")] {
        let (code, files) = made(target, link);
        assert!(code == 0 && files.contains("\"out/made.md\""), "{target}: {code} {files}");
    }
    // Out of the workspace, into the evidence next to it, and to nowhere.
    for (target, link) in
        [("../../../../outside/made.md", "out/made.md"), ("../final.txt", "out/made.md"), ("no", "out")]
    {
        let (code, files) = made(target, link);
        assert!(code == 1 && !files.contains("out/"), "{target}: {code} {files}");
    }
}

#[test]
fn a_folder_of_pkbllms_among_the_runs_is_none_of_them_and_every_command_says_what_to_do() {
    let fixture = ran(repository(), "calm", "What is 2+2?", "Two.", 0).file(&format!("{OLD}/progress.jsonl"), "");
    let runs = fixture.root().join("artifacts/skill-evals");
    fs::create_dir_all(&runs).expect("a directory");
    fs::rename(fixture.root().join(OLD), runs.join("20260102-030405")).expect("a directory");
    assert!(!fixture.run(&["runs"]).stdout.contains("20260102"));
    for args in [["grade", "20260102-030405"], ["summary", "20260102-030405"], ["stop", "20260102-030405"]] {
        let hint = "`skill-evals grade artifacts/skill-evals/20260102-030405 --as pkbllm`";
        fixture.run(&args).exits(2).warns(hint);
    }
    let taken = fixture.run(&["run", "--dry-run", "--run-id", "20260102-030405"]);
    assert!(taken.code == 2 && taken.stderr.contains("` exists; --resume"), "it is not written into: {}", taken.stderr);
    fixture.run("clean --keep 0").exits(0);
    assert!(runs.join("20260102-030405/work").is_dir(), "it is not removed with ours");
    let graded = fixture.run(&["grade", "artifacts/skill-evals/20260102-030405", "--as", "pkbllm"]);
    graded.warns("is the run `pkbllm-20260102-030405`");
}

#[test]
fn with_the_session_of_its_agent_a_trial_is_graded_in_full() {
    let offer = |text: &str| json!({"type": "response_item", "payload": {"type": "message", "role": "developer", "content": [{"text": text}]}});
    let sessions = format!("{OLD}/work/tidy/calm/.eval_home/.codex/sessions/2026");
    let fixture = ran(repository(), "calm", "What is 2+2?", "Two.", 0)
        .file(&format!("{sessions}/rollout-2026-t-0.jsonl"), format!("{}\n", offer("the judge's")))
        .file(&format!("{sessions}/rollout-2026-t-1.jsonl"), format!("{}\n", offer(OFFER)));
    fixture.run(&["grade", OLD, "--as", "pkbllm"]).exits(0);
    let grade = json_of(&fixture, "work/tidy/calm/codex/1/grade.json");
    let checks: Vec<&str> =
        grade["checks"].as_array().expect("checks").iter().filter_map(|c| c["id"].as_str()).collect();
    assert!(checks.contains(&"delivered") && checks.contains(&"not-triggered"), "{checks:?}");
    let unknown = json_of(&fixture, "work/tidy/calm/codex/1/meta.json")["imported"]["unknown"].to_string();
    assert!(!unknown.contains("offered"), "{unknown}");
}

#[test]
fn a_case_that_asked_something_else_then_is_left_out_and_keys_of_the_old_login_are_masked() {
    let fixture = ran(repository(), "made", "Tidy up, please.", "Done.", 0);
    let fixture = ran(fixture, "calm", "What is 2+2?\n", "Two, by of-the-old-login-0123.", 0);
    let graded = fixture.run(&["grade", OLD, "--as", "pkbllm"]);
    let why = "work/tidy/made: the prompt of `tidy/made` has changed since; left out";
    graded.warns(why);
    // The mask may hide what the message must not include.
    graded.exits(3).prints("a secret in it is masked");
    let work = fixture.root().join("artifacts/skill-evals/pkbllm-20260102-030405/work/tidy");
    assert!(!work.join("made").exists());
    let said = fs::read_to_string(work.join("calm/codex/1/final.txt")).expect("the message");
    assert_eq!(said, "Two, by [masked].");
}

#[test]
fn what_pkbllms_runner_made_of_a_judge_that_left_no_answer_is_unscored() {
    let fixture = ran(repository(), "made", "Tidy up.", "Done.", 0)
        .file(&format!("{OLD}/work/tidy/made/out/made.md"), "made\n")
        .file(&format!("{OLD}/work/tidy/made/judge.normalized.json"), JUDGED);
    fixture.run(&["grade", OLD, "--as", "pkbllm"]).exits(3).prints("the judge's answer is not there");
}

#[test]
fn what_cannot_be_read_is_told_with_file_and_line_and_leaves_no_run() {
    let wrong = |path: &str, text: &str, words: &[&str]| {
        let fixture = old_run().file(&format!("{OLD}/{path}"), text);
        let ran = fixture.run(&["grade", OLD, "--as", "pkbllm"]);
        ran.exits(2);
        assert!(words.iter().all(|word| ran.stderr.contains(word)), "{}", ran.stderr);
        assert!(!fixture.root().join("artifacts/skill-evals/pkbllm-20260102-030405").exists());
    };
    wrong(
        "work/tidy/made/meta.json",
        "{\n  \"skill\": 3\n}",
        &["work/tidy/made/meta.json:2:12: invalid type: integer `3`, expected an object"],
    );
    wrong("work/tidy/made/grade.json", "{}", &["work/tidy/made/grade.json:1:2: missing field `deterministic`"]);
    wrong(
        "progress.jsonl",
        "{\"ts\":\"t\",\"skill_slug\":\"a\",\"case_id\":\"b\"}\nnonsense\n",
        &["progress.jsonl:2:"],
    );
    let others = Fixture::new().skill_text("other", SKILL).prompts("other", CASES);
    let none = ran(others, "made", "Tidy up.", "Done.", 0).run(&["grade", OLD, "--as", "pkbllm"]);
    none.exits(2).warns("no case that can be graded");
    let fixture = repository();
    fixture.run("grade evals --as pkbllm").exits(2).warns("no directory `work`");
    fixture.run("grade evals --as other").exits(2);
    assert!(!Path::new(fixture.root()).join("artifacts").exists());
}
