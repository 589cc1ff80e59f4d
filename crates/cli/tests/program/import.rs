//! `import --to tasks`: cases of other programs become task files that say the same, or are named with the reason.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::fs;
use std::path::Path;

use serde_json::Value;
use skill_evals_cases::cases::case::{Case, FoundCase};
use skill_evals_cases::cases::catalog::Catalog;

use crate::support::fixture::{Fixture, Ran};
use crate::support::stub::{ACTIVATES, Stub};

const EVALS: &str = r#"{ "skill_name": "tidy", "evals": [
  { "id": 1, "name": "Say: hello", "prompt": "Do\nit \"now\"", "expected_output": " It is tidy ", "files": ["files/a.csv", { "path": "b.txt", "content": "B" }],
    "expectations": ["one", "two"], "tags": ["a", "two words", "k={\"x\": [1, 2]}"] },
  { "id": 2, "prompt": "Say no", "should_trigger": false, "assertions": [{ "text": "three" }] },
  { "id": 3, "prompt": "Both", "skills_expected_to_activate": ["tidy", "other"] },
  { "id": 4, "prompt": "None", "skills_expected_to_activate": [] },
  { "id": 5, "prompt": "Other", "expect_skill": "other" }
] }"#;

const QUERIES: &str =
    r#"[ { "query": "Tidy up", "should_trigger": true }, { "query": "Sing", "should_trigger": false } ]"#;

const SPEC: &str = r#"
tags: { skill: tidy, cost: llm+execute }
defaults: { runs: 3, timeout: 90s }
environment: { commands: ["git init -q\ntrue"], files: [{ src: ../data, dest: data }] }
stimuli:
  - name: all
    turns: [Do it, And again]
    constraints: { max_turns: 7, reject_skills: ["*"] }
    rubric: ["It is good\n", It is short]
    graders:
      - { type: output-contains, config: { substring: Ada } }
      - { type: output-contains, config: { substring: Ada, case_sensitive: true, negate: true } }
      - { type: output-not-matches, config: { pattern: '(?i)a(?!b)' } }
      - { type: transcript-contains, config: { substring: x } }
      - { type: file-exists, config: { path: './**/a.txt' } }
      - { type: file-not-exists, config: { path: b.txt } }
      - { type: file-contains, config: { path: '*.md', value: "a\"b" } }
      - { type: file-not-matches, config: { path: a.md, pattern: '\d+' } }
      - { type: skill-invocation, config: { required: [tidy] } }
      - { type: skill-invocation, config: { required: [other], disallowed: [tidy, other] } }
      - { type: shell-command-invoked, config: { required: [{ command: '^make' }], disallowed: [rm] } }
      - { type: tool-calls, config: { required: [bash] } }
      - { type: run-command, config: { command: make, args: ["it's"], expected_exit_code: 2, timeout: 2m, sub_path: src } }
      - { type: completed }
      - { type: prompt, config: { prompt: Is it good? } }
"#;

fn fixture() -> Fixture {
    Fixture::new()
        .skill("tidy")
        .skill("other")
        .file("skills/tidy/evals/evals.json", EVALS)
        .file("skills/tidy/evals/files/a.csv", "1,2\n")
        .file("skills/tidy/trigger-evals.json", QUERIES)
        .file("skills/other/trigger-evals.json", QUERIES)
        .file("evals/data/x.txt", "x")
        .file("evals/tidy/eval.yaml", SPEC)
}

fn import(fixture: &Fixture, more: &[&str]) -> Ran {
    fixture.run(&[&["import", "--to", "tasks"], more].concat())
}

fn is_foreign(found: &FoundCase) -> bool {
    found.format().foreign.is_some()
}

/// What a case asks for, by the name that its task has: part by part, as the types print themselves.
fn asked(catalog: &Catalog, of_foreign: bool) -> BTreeMap<String, Vec<String>> {
    let cases = catalog.cases.iter().filter(|found| {
        let is_task = found.file.starts_with("evals/tasks");
        if of_foreign { is_foreign(found) } else { is_task }
    });
    let asked = cases.filter_map(|found| {
        let case = found.case().ok()?;
        let name = if of_foreign {
            format!("{}-{}", found.skill, found.id).chars().take(100).collect()
        } else {
            found.id.clone()
        };
        Some((name, [vec![found.format().default_mode.to_owned()], parts(case)].concat()))
    });
    asked.collect()
}

fn parts(case: &Case) -> Vec<String> {
    fn text(part: impl Debug) -> String {
        format!("{part:?}")
    }
    let mut parts = vec![
        text(&case.skill),
        text((case.asks_for_trigger(), case.should_trigger)),
        text(&case.prompt),
        text(&case.system_prompt),
        text(case.sandbox),
        text((case.timeout, case.max_turns, case.repetition)),
        text((&case.fixture, &case.output_schema, &case.solution, &case.answer)),
        text((case.activation, case.default_activation, case.judge)),
        text((&case.files, &case.setup, &case.follow_ups, &case.tags)),
    ];
    parts.extend(case.checks.iter().map(|check| text((check.kind.id, &check.ask))));
    parts.extend(case.assertions.iter().map(|assertion| text(assertion.text.trim())));
    parts
}

#[test]
fn an_imported_case_asks_for_the_same_as_the_one_in_the_file_of_another_program() {
    let fixture = fixture();
    let before = asked(&fixture.catalog(), true);
    assert_eq!(before.len(), 10, "{before:#?}");
    let ran = import(&fixture, &[]);
    ran.exits(0).prints("skills/tidy/evals/evals.json: 5 of 5 cases written to evals/tasks");
    ran.warns("note: cases now run twice: remove the old files, ");
    let after = asked(&fixture.catalog(), false);
    assert_eq!(after, before);
    let checks = after.values().flatten().filter(|part| part.starts_with("(\"")).count();
    assert!(checks > 25, "{checks}");
}

#[test]
fn an_imported_case_runs_in_the_same_mode_with_the_same_verdict_of_each_check() {
    let stub = Stub::new(1, &format!("{ACTIVATES}activate tidy; echo Ada > a.txt; mkdir src"));
    stub.write("skills/other/SKILL.md", "---\nname: other\ndescription: It sings.\n---\nSing.\n");
    stub.write("evals/data/x.txt", "x");
    stub.write(
        "evals/tidy/eval.yaml",
        &SPEC
            .replace("    rubric: [\"It is good\\n\", It is short]\n", "")
            .replace("      - { type: prompt, config: { prompt: Is it good? } }\n", ""),
    );
    stub.write("skills/tidy/trigger-evals.json", QUERIES);
    let run = |id: &str| {
        let ran = stub.run(&[
            "run",
            "--run-id",
            id,
            "--case",
            "eval-all",
            "--case",
            "trigger-evals-1",
            "--case",
            "trigger-evals-2",
        ]);
        ran.exits(1);
    };
    run("foreign");
    stub.run("import --to tasks").exits(0);
    let ran = stub.run(&[
        "run",
        "--run-id",
        "tasks",
        "--task",
        "tidy-eval-all",
        "--task",
        "tidy-trigger-evals-1",
        "--task",
        "tidy-trigger-evals-2",
    ]);
    ran.exits(1);
    for (case, trials) in [("eval-all", 3), ("trigger-evals-1", 1), ("trigger-evals-2", 1)] {
        for trial in 1..=trials {
            let grade = |id: &str, name: &str| -> Value {
                let mut grade = stub.json(id, &format!("work/tidy/{name}/codex/{trial}/grade.json"));
                let checks = grade["checks"].as_array_mut().expect("checks");
                // How long it took differs.
                checks.retain(|check| check["id"] != "in-time");
                for check in checks {
                    check["spans"] = Value::Null;
                }
                grade
            };
            let (one, other) = (grade("foreign", case), grade("tasks", &format!("tidy-{case}")));
            assert_eq!((&one["verdict"], &one["checks"]), (&other["verdict"], &other["checks"]), "{case}");
        }
    }
}

#[test]
fn a_case_that_cannot_be_written_is_named_with_its_place_and_its_reason() {
    let text = r#"{ "evals": [
  { "id": 1, "prompt": "A", "expectations": ["x"] },
  { "id": 2, "prompt": "B", "turns": 3 },
  { "id": 3, "expectations": ["x"] },
  { "id": 4, "prompt": "D", "expectations": ["x"], "tags": ["!no"] }
] }"#;
    let spec = "stimuli:\n  - { name: slow, prompt: Do it, timeout: 1.5s, graders: [{ type: completed }] }\n";
    let fixture =
        Fixture::new().skill("tidy").file("skills/tidy/evals/evals.json", text).file("evals/tidy/eval.yaml", spec);
    let ran = import(&fixture, &[]);
    ran.exits(3).prints("skills/tidy/evals/evals.json: 1 of 4 cases written");
    ran.prints("evals/tidy/eval.yaml: 0 of 1 case written");
    for line in [
        "not written: tidy/evals-2: skills/tidy/evals/evals.json:3:29: [unsupported] unsupported: the key `turns`",
        "not written: tidy/evals-3: skills/tidy/evals/evals.json:4:3: [missing-key] the key `prompt` is missing",
        "not written: tidy/evals-4: skills/tidy/evals/evals.json:5:3: `evalConfig.tags` is !no; expected a tag",
        "not written: tidy/eval-slow: evals/tidy/eval.yaml:2:5: a task file cannot say its `timeout`",
        "note: keep the file: skills/tidy/evals/evals.json still has 3 cases that no task has; remove the others from it: \
         they now run twice",
    ] {
        assert!(ran.stderr.lines().any(|shown| shown == line), "{line}\n{}", ran.stderr);
    }
    // Who does what the notes say loses no case.
    assert!(!ran.stderr.contains("remove the old files"), "{}", ran.stderr);
    assert_eq!(fs::read_dir(fixture.root().join("evals/tasks")).expect("tasks").count(), 1);
}

#[test]
fn an_existing_task_is_replaced_only_if_asked_and_a_dry_run_writes_nothing() {
    let fixture = fixture();
    let tasks = fixture.root().join("evals/tasks");
    let dry = import(&fixture, &["--dry-run"]);
    dry.exits(0).prints("5 of 5 cases would be written to evals/tasks");
    assert!(!dry.stderr.contains("note:") && !tasks.exists(), "{}", dry.stderr);
    let one = ["skills/tidy/trigger-evals.json"].map(|path| fixture.root().join(path).display().to_string());
    let chosen = import(&fixture, &[&one[0]]);
    assert_eq!((chosen.code, fs::read_dir(&tasks).expect("tasks").count()), (0, 2), "{}", chosen.stderr);
    assert_eq!(import(&fixture, &[]).code, 0, "the same content again");
    let task = tasks.join("tidy-evals-2.json");
    fs::write(&task, "{}").expect("a task");
    let kept = import(&fixture, &[]);
    kept.exits(3).warns("evals/tasks/tidy-evals-2.json exists; --overwrite replaces it");
    assert_eq!(fs::read_to_string(&task).expect("a task"), "{}");
    assert_eq!(import(&fixture, &["--overwrite"]).code, 0);
    assert!(fs::read_to_string(&task).expect("a task").contains("Say no"));
}

#[test]
fn a_file_without_cases_of_other_programs_is_an_error() {
    let fixture = Fixture::new().skill("tidy");
    let none = import(&fixture, &[]);
    none.exits(2).warns("no cases of other programs found");
    let missing = import(&fixture, &["evals/evals.json"]);
    missing.warns("evals/evals.json: the file does not exist");
    let outside = tempfile::NamedTempFile::new().expect("a file");
    let other = import(&fixture, &[outside.path().to_str().expect("a path")]);
    other.warns(": it is outside the repository ");
    let skill = import(&fixture, &["skills/tidy/SKILL.md"]);
    skill.warns("SKILL.md: no cases of other programs found in it");
    fixture.run("import --to tasks --session x.jsonl").exits(2);
}

#[test]
fn a_file_may_be_named_by_a_path_with_parents() {
    let named = import(&self::fixture(), &["--dry-run", "evals/../skills/./other/trigger-evals.json"]);
    assert!(named.stdout.starts_with("skills/other/trigger-evals.json: "), "{}{}", named.stdout, named.stderr);
}

#[test]
fn every_case_of_files_with_long_or_equal_names_is_written_or_named() {
    let name = "n".repeat(200);
    let queries = format!(
        r#"[ {{ "name": "{name}a", "query": "A", "should_trigger": true }}, {{ "query": "B", "should_trigger": true }} ]"#
    );
    let fixture = Fixture::new()
        .skill("tidy")
        .file("skills/tidy/trigger-evals.json", &queries)
        .file("skills/tidy/evals/trigger-evals.json", queries.replace('A', "C"));
    let ran = import(&fixture, &[]);
    let names = fs::read_dir(fixture.root().join("evals/tasks")).map(Iterator::count).unwrap_or_default();
    let listed = ran.stdout.lines().count();
    assert_eq!(listed, 2, "{}{}", ran.stdout, ran.stderr);
    let missing = ran.stderr.lines().filter(|line| line.starts_with("not written: ")).count();
    assert_eq!(names + missing, 4, "{}{}", ran.stdout, ran.stderr);
}

/// The task file of a text.
fn task(text: &str) -> Fixture {
    Fixture::new().skill("tidy").task("it", text)
}

#[test]
fn a_task_with_skill_expects_nothing_of_it_and_has_the_defaults_of_other_formats() {
    let text = r#"{ "prompt": "Do it", "evalConfig": { "skill": "Tidy", "expectedOutput": "x" } }"#;
    let fixture = task(text);
    let listed: Value = serde_json::from_str(&fixture.run(&["list", "--json"]).stdout).expect("JSON");
    assert_eq!((&listed["cases"][0]["mode"], &listed["cases"][0]["should_trigger"]), (&"codex".into(), &Value::Null));
    let catalog = fixture.catalog();
    let case = catalog.cases_of("tidy").next().expect("a case").case().expect("a good case");
    assert!(!case.asks_for_trigger(), "{:?}", case.checks);
    let expected = asked(&task(&text.replace("\"skill\"", "\"expectedSkillName\"")).catalog(), false);
    assert!(
        expected["it"][0] == "mcp" && expected["it"].iter().any(|part| part.contains("\"triggered\"")),
        "{expected:?}"
    );
    let negative = asked(&task(&text.replace("\"x\"", "\"x\", \"shouldTrigger\": false")).catalog(), false);
    assert!(
        negative["it"][0] == "codex" && negative["it"].iter().any(|part| part.contains("\"not-triggered\"")),
        "{negative:?}"
    );
    let both = task(&text.replace("\"skill\": \"Tidy\"", "\"skill\": \"tidy\", \"expectedSkillName\": \"tidy\""))
        .run(&["list"]);
    both.prints("both name the skill");
}

#[test]
fn a_file_of_a_task_may_be_named_from_the_root_of_the_repository() {
    let text = r#"{ "prompt": "Do it", "evalConfig": { "skill": "tidy", "expectedOutput": "x",
      "files": ["/data/a.csv", { "path": "b", "source": "/data" }, "near.txt"] } }"#;
    let fixture = task(text).file("data/a.csv", "1").file("evals/tasks/near.txt", "2");
    let catalog = fixture.catalog();
    let case = catalog.cases_of("tidy").next().expect("a case").case().expect("a good case");
    let files: Vec<String> = case.files.iter().map(|file| format!("{} {:?}", file.path, file.content)).collect();
    let source = |path: &str, from: &str| format!("{path} Source(RelativePath({:?}))", Path::new(from));
    assert_eq!(files, [source("a.csv", "data/a.csv"), source("b", "data"), source("near.txt", "evals/tasks/near.txt")]);
    fixture.run("list").exits(0);
    let left = task(&text.replace("/data\"", "/../data\"")).run(&["list"]);
    left.prints("leaves its directory");
}

#[test]
fn a_case_whose_weights_decide_is_not_written_and_other_weights_are_left_out_with_a_note() {
    for (scoring, code, said) in [
        (
            "weights: { completed: 2 }",
            0,
            "note: the weights of 1 case are left out: without a threshold they decide nothing",
        ),
        (
            "weights: { completed: 2 }, threshold: 0.5",
            3,
            "a task file cannot say a score from which on its trials pass",
        ),
        ("weights: { completed: 0, exit-success: 1 }", 3, "a task file cannot say a check that decides nothing"),
    ] {
        let graders = "[{ type: completed }, { type: exit-success }]";
        let spec =
            format!("scoring: {{ {scoring} }}\nstimuli:\n  - {{ name: a, prompt: Do it, graders: {graders} }}\n");
        let fixture = Fixture::new().skill("tidy").file("evals/tidy/eval.yaml", spec);
        let ran = import(&fixture, &[]);
        assert_eq!(ran.code, code, "{scoring}: {}", ran.stderr);
        ran.warns(said);
    }
}
