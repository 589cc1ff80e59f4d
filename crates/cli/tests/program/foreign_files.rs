//! Files of cases of other programs in the directory of a skill: agents do not get them, and their programs find their own.

use skill_evals_testing::made::skillgrade_task as task;

use crate::support::stub::Stub;

#[test]
fn a_deterministic_grader_passes_with_the_full_score_and_is_unknown_without_a_score() {
    let checks = r#""checks":[{"name":"a","passed":true},{"name":"b","passed":false,"message":"no b"}]"#;
    for (grader, status, found) in [
        (r#"echo '{"score": 1, "details": "all"}'; exit 1"#.to_owned(), "pass", "score 1: all"),
        (format!("echo note; echo '{{\"score\": \"0.5\", {checks}}}'"), "fail", "score 0.5: b: no b"),
        ("[[ -e work.txt && -e graders/more.sh ]] && bash graders/check.sh".to_owned(), "pass", "score 1"),
        ("echo fine".to_owned(), "unknown", "its standard output has no score; exit status 0: fine"),
        ("no-such-program".to_owned(), "unknown", "127"),
    ] {
        let stub = Stub::new(1, "ls -R > \"$folder/seen\"; echo done > work.txt");
        stub.write("evals/tidy/graders/check.sh", "cat graders/score.json");
        stub.write("evals/tidy/graders/score.json", r#"{"score": 1}"#);
        stub.write("evals/tidy/graders/more.sh", "");
        let lines = format!("    graders:\n      - type: deterministic\n        run: |\n          {grader}\n");
        stub.write("evals/tidy/eval.yaml", &task(&lines));
        stub.run(&["run", "--case", "eval-one", "--run-id", "r"]);
        let grade = stub.json("r", "work/tidy/eval-one/codex/1/grade.json");
        let check = grade["checks"].as_array().expect("checks").iter().find(|check| check["id"] == "run");
        let check = check.expect("the check of the grader");
        assert_eq!(check["status"], status, "{grader}: {check}");
        assert!(check["found"].as_str().expect("text").contains(found), "{grader}: {check}");
        let score = grade["score"]["value"].as_f64();
        assert_eq!(
            score,
            [("pass", 1.0), ("fail", 0.5), ("unknown", 0.0)]
                .iter()
                .find(|(of, _)| *of == status)
                .map(|(_, score)| *score),
            "{grade}"
        );
        let seen = std::fs::read_to_string(stub.root().join("seen")).expect("what the agent saw");
        assert!(!seen.contains("graders"), "an agent sees no graders: {seen}");
    }
}

#[test]
fn agents_do_not_get_the_new_files_of_cases_in_the_directory_of_a_skill() {
    let stub = Stub::new(1, "find -L .agents/skills/tidy -type f > \"$folder/seen\"");
    stub.write("skills/tidy/evals/prompts.csv", "id,should_trigger,prompt\na,true,Do it\n");
    stub.write(
        "skills/tidy/eval.yaml",
        &task("    graders: [{ type: deterministic, run: bash graders/more/a.sh scripts/b.sh }]\n"),
    );
    stub.write("skills/tidy/scripts/b.sh", "");
    stub.write("skills/tidy/graders/more/a.sh", "echo '{\"score\": 1}'");
    stub.write("skills/tidy/tests/tasks.yaml", "skill: tidy\ntasks:\n  - { id: a, prompt: b, criteria: {} }\n");
    stub.write("skills/tidy/assets/prompts.csv", "id,style,prompt\na,b,c\n");
    // What is expected is in a file next to the task.
    stub.write("skills/tidy/more/task.md", "Brew tea.\n");
    stub.write(
        "skills/tidy/more/criteria.json",
        r#"{"checklist": [{"name": "a", "description": "It is hot", "max_score": 1}]}"#,
    );
    // It looks like cases and is not read, as `lint` says.
    stub.write("skills/tidy/trigger.csv", "id,prompt,should_trigger\na,Brew tea,true\n");
    stub.run("run --case c0").exits(0);
    let seen = std::fs::read_to_string(stub.root().join("seen")).expect("what the agent saw");
    let mut seen: Vec<&str> = seen.lines().collect();
    seen.sort_unstable();
    assert_eq!(
        seen,
        ["SKILL.md", "assets/prompts.csv", "scripts/b.sh"].map(|path| format!(".agents/skills/tidy/{path}"))
    );
}

#[test]
fn agents_do_not_get_a_suite_in_the_directory_of_a_skill_nor_the_tests_that_it_names() {
    let stub = Stub::new(1, "find -L .agents/skills/tidy -type f > \"$folder/seen\"");
    let suite = "prompts: ['{{request}}']\ntests: file://tests/a.yaml\n";
    let test = "- vars: { request: A }\n  assert: [{ type: skill-used, value: tidy }]\n";
    for (path, text) in [
        ("promptfooconfig.yaml", suite),
        ("tests/a.yaml", test),
        ("tests/b.yaml", "- a\n"),
        ("promptfoo.yaml", "a: b\n"),
    ] {
        let file = stub.root().join("skills/tidy").join(path);
        std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
        std::fs::write(&file, text).expect("a file");
    }
    stub.run("run --case c0").exits(0);
    let seen = std::fs::read_to_string(stub.root().join("seen")).expect("what the agent saw");
    let mut seen: Vec<&str> = seen.lines().collect();
    seen.sort_unstable();
    let expected = ["SKILL.md", "promptfoo.yaml", "tests/b.yaml"];
    assert_eq!(seen, expected.map(|path| format!(".agents/skills/tidy/{path}")));
}
