//! A file in a directory of cases that could hold some is read, or it is named with what it lacks.

use crate::foreign::lines;
use crate::passed_over::with_skills;
use crate::support::fixture::Fixture;

const CRITERIA: &str = r#"{ "checklist": [ { "name": "a", "description": "It is tea", "max_score": 1 } ] }"#;

fn tea(path: &str, text: impl AsRef<[u8]>) -> Fixture {
    with_skills(&["skills/tea"]).file(path, text)
}

/// What `lint` prints of a repository whose only file besides the skill is this one, in one line. Each other command says it, too, and
/// no built-in case runs.
fn named(path: &str, text: impl AsRef<[u8]>) -> String {
    let fixture = tea(path, text);
    let lint = fixture.run(&["lint"]);
    assert_eq!(lint.code, 1, "{path}: {}", lint.stdout);
    for args in [&["list"][..], &["run", "--dry-run"], &["list", "--coverage"]] {
        let ran = fixture.run(args);
        assert!(ran.stderr.contains(path) && !ran.stdout.contains("smoke"), "{path}: {args:?} {}", ran.stderr);
    }
    lint.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_slip_in_the_key_of_a_prompt_is_an_error_that_names_the_right_key() {
    for (path, key, right) in [
        ("skills/tea/evals/evals.json", "promt", "prompt"),
        ("skills/tea/evals/brewing.json", "promt", "prompt"),
        ("skills/tea/Evaluations/a/b/c/x.json", "prmopt", "prompt"),
        ("evals/x.yaml", "qurey", "query"),
        ("tests/evals/x.json", "quesiton", "question"),
    ] {
        let text =
            format!("{{\"cases\": [{{\"id\": \"a\", \"{key}\": \"Brew tea\", \"expectations\": [\"It is tea\"]}}]}}");
        let lint = named(path, text);
        assert!(
            lint.contains(&format!("unknown key `{key}`")) && lint.contains(&format!("`{right}`")),
            "{path}: {lint}"
        );
    }
    let lint = named("evals/x.json", r#"[{"qurey": "Brew tea", "should_trigger": true}]"#);
    assert!(lint.contains("unknown key `qurey`"), "{lint}");
    for key in ["should_triger", "shouldTrigger", "should-trigger"] {
        let lint = named("evals/x.json", format!("[{{\"query\": \"Brew tea\", \"{key}\": true}}]"));
        assert!(lint.contains("did you mean `should_trigger`?"), "{lint}");
    }
}

#[test]
fn one_case_in_a_file_may_say_whether_the_skill_triggers() {
    let fixture = tea("evals/x.json", r#"{"prompt": "Brew tea", "should_trigger": true}"#);
    assert_eq!(lines(&fixture), ["tea/x-1 trigger query evals/x.json:1:1"]);
}

#[test]
fn lists_of_queries_that_should_and_should_not_trigger_are_cases_of_one_skill_or_of_each() {
    let [yes, no] = ["[\"Brew tea\"]", "[{\"query\": \"Sort a list\"}]"];
    let all = ["tea/triggers-1 true", "tea/triggers-2 false"];
    for (path, text) in [
        ("evals/triggers.json", format!("{{\"positive\": {yes}, \"negative\": {no}}}")),
        ("skills/tea/evals/triggers.yaml", format!("positive_prompts: {yes}\nnegative_prompts: {no}\n")),
        ("evals/triggers.json", format!("{{\"triggers\": {yes}, \"non_triggers\": {no}}}")),
        ("evals/triggers.json", format!("{{\"should_activate\": {yes}, \"shouldNotActivate\": {no}}}")),
        (
            "evals/triggers.json",
            format!("{{\"skills\": {{\"tea\": {{\"should_trigger\": {yes}, \"negative\": {no}}}}}}}"),
        ),
        ("evals/triggers.json", format!("{{\"tea\": {{\"positive\": {yes}, \"negative\": {no}, \"notes\": \"\"}}}}")),
        ("evals/triggers.json", format!("[{{\"skill\": \"tea\", \"positive\": {yes}, \"negative\": {no}}}]")),
        ("evals/triggers.json", format!("{{\"triggers\": {{\"positive\": {yes}, \"negative\": {no}}}}}")),
    ] {
        let fixture = with_skills(&["skills/tea", "skills/other"]);
        let fixture = if text.contains("\"tea\"") { fixture } else { with_skills(&["skills/tea"]) };
        let catalog = fixture.file(path, &text).catalog();
        let cases = catalog.cases_of("tea").map(|found| {
            let case = found.case().unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
            assert!(case.unsupported.is_empty(), "{text}: {:?}", case.unsupported);
            format!("tea/{} {}", found.id, case.should_trigger)
        });
        assert_eq!(cases.collect::<Vec<_>>(), all, "{text}");
    }
    let unknown = format!("{{\"skills\": {{\"gone\": {{\"should_trigger\": {yes}}}}}}}");
    let lint = tea("evals/triggers.json", unknown).run(&["lint"]).stdout;
    assert!(lint.contains("names the skill `gone`, which is not here"), "{lint}");
    let text = format!("{{\"tea\": {{\"should_trigger\": {yes}, \"at_least\": 1}}}}");
    assert!(lines(&tea("evals/triggers.json", text))[0].contains("the key `at_least`"));
}

/// The lines of `list` of a repository with two skills and this file, and what `lint` says.
fn of_two_skills(text: &str) -> (Vec<String>, String) {
    let fixture = with_skills(&["skills/tea", "skills/other"]).file("evals/evals.json", text);
    (lines(&fixture), fixture.run(&["lint"]).stdout)
}

#[test]
fn lists_of_queries_hide_no_case_next_to_them_and_no_other_skill() {
    let (cases, _) = of_two_skills(
        r#"[{"skill": "tea", "prompt": "Brew", "expectations": ["x"]}, {"skill": "tea", "should_trigger": ["Make tea"]}]"#,
    );
    assert_eq!(cases.iter().filter(|line| line.starts_with("tea/evals-")).count(), 2, "{cases:?}");
    for (text, said) in [
        (
            r#"{"skills": {"tea": {"should_trigger": ["a b"]}, "other": {"should_triger": ["c"]}}}"#,
            "`prompt` is missing",
        ),
        (r#"{"skills": {"tea": {"should_trigger": ["a b"]}, "other": {"queries": ["c d"]}}}"#, "`prompt` is missing"),
        (
            r#"[{"skill": "tea", "should_trigger": ["a b"]}, {"skill": "other", "should_triger": ["c"]}]"#,
            "`prompt` is missing",
        ),
        (r#"{"tea": {"should_trigger": ["a b"], "should_not_triger": ["c"]}}"#, "did you mean `should_not_trigger`?"),
        (r#"{"tea": {"positive": ["a b"], "negative": ["c"]}, "othr": {"should_trigger": ["d"]}}"#, "skill `othr`"),
        (r#"{"tea": {"should_trigger": ["a b"], "skill": "other"}}"#, "the key `skill`"),
    ] {
        let (_, lint) = of_two_skills(text);
        assert!(lint.split_whitespace().collect::<Vec<_>>().join(" ").contains(said), "{text}: {lint}");
    }
    let gone = tea("skills/tea/evals/triggers.json", r#"{"gone": {"should_trigger": ["Brew tea now"]}}"#);
    assert!(gone.run(&["lint"]).stdout.contains("names the skill `gone`, which is not here"));
    let tone = r#"{"skill_name": "tea", "evals": [{"prompt": "a", "expectations": ["b"]}],
        "tone": {"positive": ["warm and kind"], "negative": ["cold"]}}"#;
    assert_eq!(lines(&tea("evals/evals.json", tone)).len(), 1);
}

#[test]
fn no_file_hides_cases_with_a_name_of_their_own() {
    let cases =
        r#"{"skill": "tea", "evals": [{"prompt": "a", "expectations": ["b"], "files": ["trigger-evals.json", "in"]}]}"#;
    let fixture = tea("evals/tea/evals.json", cases)
        .file("evals/tea/trigger-evals.json", r#"[{"query": "Brew tea", "should_trigger": true}]"#)
        .file("evals/tea/in/cases.json", r#"[{"prompt": "a", "expectations": ["b"]}]"#)
        .file("evals/tea/task.toml", "version = \"1.0\"\n")
        .file("evals/tea/instruction.md", "Brew tea\n");
    let found = lines(&fixture);
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn cases_in_utf_16_are_an_error_that_says_so() {
    let utf_16 = |text: &str| format!("\u{feff}{text}").encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let cases = r#"{"evals":[{"id":1,"prompt":"Brew tea","expectations":["x"]}]}"#;
    for (path, text) in [
        ("skills/tea/evals/brewing.json", cases),
        ("evals/x.json", cases),
        ("evals/cases.csv", "id,should_trigger,prompt\n1,true,Brew tea\n"),
    ] {
        assert!(named(path, utf_16(text)).contains("[not-utf8]"), "{path}");
    }
}

#[test]
fn a_file_whose_name_and_place_say_cases_is_an_error_if_nothing_reads_it() {
    for (path, text, said) in [
        ("evals/tests.json", r#"[{"goal": "Brew tea"}]"#, "`eval`, the key `prompt` is missing"),
        ("evals/tea/eval.yaml", "tasks: [a.yaml]\n", "`waza task`, the key `trials_per_task` is missing"),
        ("evals/tea/prompts.json", r#"["Brew tea"]"#, "`eval`, the key `prompt` is missing"),
        ("skills/tea/evals/triggers.json", r#"["Brew tea"]"#, "is not read"),
        ("evals/tea-triggers.json", r#"{"positive": ["a b", }"#, "this is not JSON"),
        ("evals/cases.yaml", "# later\n", "the file is empty"),
        ("evals/skills/gone/cases.toml", "what = \"Brew tea\"\n", "its name must end in .json"),
        ("skills/gone/evals/cases.toml", "what = \"Brew tea\"\n", "its name must end in .json"),
        ("evals/triggers.json", r#"{"positive": [], "negative": []}"#, "is not read"),
        ("evals/cases.csv", "goal;outcome\nBrew tea;Tea\n", "`prompt`, the key `id` is missing"),
        ("evals/a/case.toml", "id = \"a\"\nexpected_verdict = \"b\"\n", "`eval`, its name must end in .json"),
        ("evals/cases.toml", "[[case]]\nwhat = \"Brew tea\"\n", "its name must end in .json"),
        (
            "evals/scenarios.json",
            r#"{"scenarios": [{"prompt": "a", "expected_behavior": ["b"]}]}"#,
            "at none of the keys evals, cases",
        ),
    ] {
        let lint = named(path, text);
        assert!(lint.contains(said), "{path}: {lint}");
    }
}

#[test]
fn cases_of_another_form_are_an_error_that_says_what_they_lack() {
    let cases = r#"[{"prompt": "Brew tea", "expectations": ["It is tea"]}]"#;
    let queries = r#"[{"query": "Brew tea", "should_trigger": true}]"#;
    for (path, text, said) in [
        (
            "evals/x.json",
            format!("{{\"skills\": {{\"tea\": {{\"cases\": {cases}}}}}}}"),
            "its list is at none of the keys evals",
        ),
        ("evals/x.json", format!("{{\"tea\": {queries}}}"), "`trigger query`, its list is at none of the keys evals"),
        (
            "evals/x.json",
            r#"{"shuold_trigger": ["Brew tea"], "shuold_not_trigger": ["Sort"]}"#.to_owned(),
            "at `shuold_trigger`",
        ),
        ("evals/x.json", cases.replace("\"Brew tea\"", "[\"Brew tea\"]"), "`prompt` is an array; expected a string"),
        ("evals/x.yaml", "- given: Brew tea\n  then: Tea\n".to_owned(), "a prompt seems to be at `given`"),
        ("evals/x.yaml", "- turns: [Brew tea]\n  expect: Tea\n".to_owned(), "a prompt seems to be at `turns`"),
        (
            "evals/cases.json",
            r#"{"a": {"prompt": "Brew tea", "expect": "tea"}}"#.to_owned(),
            "`eval`, no known key says what",
        ),
        ("evals/a/task.yaml", "instruction: Brew tea\n".to_owned(), "its name says that it holds cases"),
    ] {
        let lint = named(path, &text);
        assert!(lint.contains(said), "{text}: {lint}");
    }
    let table =
        with_skills(&["skills/tea", "skills/other"]).file("evals/cases.csv", "id,should_trigger,prompt\n1,true,Brew\n");
    assert!(table.run(&["lint"]).stdout.contains("`prompt`, nothing says which skill it is about"));
}

#[test]
fn a_file_that_nothing_reads_counts_once_however_many_skills_it_may_be_for() {
    let fixture =
        with_skills(&["skills/a", "skills/b", "skills/c"]).file("evals/x.toml", "prompt = \"a\"\nexpected = \"b\"\n");
    let coverage = fixture.run(&["list", "--coverage"]).stdout;
    let words: Vec<&str> = coverage.lines().nth(1).expect("a file").split_whitespace().collect();
    assert_eq!(words, ["evals/x.toml", "not", "read", "1", "1", "0", "0", "0"], "{coverage}");
}

#[test]
fn a_part_of_a_case_without_the_rest_is_an_error() {
    for (path, text, said) in [
        ("evals/a/criteria.json", CRITERIA, "task.md is missing next to it"),
        ("evals/a/criteria.yaml", "checklist: []\n", "task.md is missing next to it"),
        ("evals/a/criteria.json", "{", "task.md is missing next to it"),
        (
            "evals/a/graders/b.md",
            "---\ntype: llm\n---\n\nIt is tea.\n",
            "there is no prompt.md or case.yaml next to graders/",
        ),
        ("evals/a/instruction.md", "Brew tea\n", "no file next to it says what is expected"),
        ("evals/a.md", "---\nid: a\nshould_trigger: true\n---\n\nBrew tea\n", "the prompt must be in prompt.md"),
        (
            "evals/a.md",
            "# Tea\n\n## Prompt\n\nBrew tea\n\n## Expected output\n\nTea\n",
            "the prompt must be in prompt.md",
        ),
    ] {
        let lint = named(path, text);
        assert!(lint.contains(said), "{path}: {lint}");
    }
    let whole = tea("evals/a/criteria.json", CRITERIA).file("evals/a/task.md", "Brew tea\n");
    assert!(whole.run(&["lint"]).stdout.contains("1 case: no problems"));
}

#[test]
fn tasks_of_harbor_are_one_warning() {
    let mut fixture = with_skills(&["skills/tea"]);
    for task in ["evals/tasks/a", "evals/tasks/b", "evals/more/c"] {
        fixture = fixture
            .file(&format!("{task}/task.toml"), "version = \"1.0\"\n[verifier]\ntimeout_sec = 10.0\n")
            .file(&format!("{task}/instruction.md"), "Brew tea\n")
            .file(&format!("{task}/tests/cases.json"), r#"[{"question": "a", "answer": "b"}]"#);
    }
    let lint = fixture.run(&["lint"]);
    assert_eq!((lint.code, lint.stdout.matches("[unread-cases]").count()), (0, 1), "{}", lint.stdout);
    assert!(lint.stdout.contains("evals/more/c, evals/tasks/a, evals/tasks/b"), "{}", lint.stdout);
}

#[test]
fn files_that_hold_no_cases_are_no_finding() {
    let cases = r#"{"evals": [{"id": 1, "prompt": "a", "expectations": ["b"], "files": ["files/cases.json"]}]}"#;
    let mut fixture = tea("skills/tea/evals/evals.json", cases)
        .file("skills/tea/evals/files/cases.json", r#"{"evals": [{"prompt": "a", "expectations": ["b"]}]}"#);
    for (path, text) in [
        ("package.json", r#"{"name": "a", "scripts": {"test": "vitest"}, "dependencies": {"a": "1"}}"#),
        (
            "schema.json",
            r#"{"type": "object", "properties": {"prompt": {"type": "string"}, "expected": {"type": "string"}}}"#,
        ),
        (
            "case.schema.json",
            r#"{"type": "array", "items": {"type": "object", "properties": {"prompt": {}, "checks": {}}}}"#,
        ),
        ("config.json", r#"{"model": "x", "judge": "y", "runs": 3}"#),
        ("settings.json", r#"{"positive": 1, "triggers": {"cron": "* * *"}, "tests": "src"}"#),
        ("words.json", r#"{"positive": ["good", "fine"], "negative": ["bad"]}"#),
        ("pyproject.toml", "[project]\nname = \"evals\"\n[tool.pytest.ini_options]\ntestpaths = [\"tests\"]\n"),
        ("judge.yaml", "judge:\n  model: x\n  prompt: Grade the answer\n"),
        ("compose.yml", "services:\n  a: { image: b }\n"),
        ("data/orders.csv", "id,customer,total\n1,a,2\n"),
        ("data/tests.json", r#"{"tests": ["a"]}"#),
        ("README.md", "# Evals\n\n## Prompt\n\nThe key of it.\n\n## Expected\n\nWhat is expected.\n"),
        ("graders/tone.md", "---\nname: tone\ndescription: Grades\n---\n\nGrade it.\n"),
        (
            "guide.md",
            "---\nreferences: [a]\ncheck: true\nsuccess_metric: b\nrubric: c\n---\n# Evals\n\nA prompt is asked.\n",
        ),
        ("METHODOLOGY.md", "# Method\n\n## Query\n\nWhat is asked.\n\n## Criteria\n\nWhat counts.\n"),
        ("criteria.yaml", "tone: nice\n"),
        ("tsconfig.test.json", r#"{"include": ["*.ts"]}"#),
        ("docker-compose.test.yml", "services:\n  a: { command: [b] }\n"),
        (
            "pairs.json",
            r#"{"measured": {"scenarios": 4, "pass": 1}, "runs": [{"grades": [{"text": "It is tea", "pass": true}]}]}"#,
        ),
        ("benchmark.json", r#"{"runs": [{"prompt": "a", "passed": true, "expectations": []}]}"#),
    ] {
        fixture = fixture.file(&format!("evals/{path}"), text);
    }
    assert_eq!(lines(&fixture), ["tea/evals-1 eval skills/tea/evals/evals.json:1:12"]);
    let lint = fixture.run(&["lint"]).stdout;
    assert!(lint.contains("1 skill, 1 case: no problems"), "{lint}");
}

#[test]
fn a_slip_in_a_spec_of_waza_is_no_problem_of_vally() {
    let spec = "name: a\nskill: tea\nconfig:\n  trials_per_task: 1\ntasks:\n  - tasks/*.yaml\n";
    let task = "id: a\ninputs: { prompt: Brew tea }\nexpected: { output_contains: [Tea] }\n";
    for (right, slip) in [("config", "confg"), ("trials_per_task", "trials_per_tsk"), ("tasks:", "taks:")] {
        let fixture =
            tea("skills/tea/evals/eval.yaml", spec.replace(right, slip)).file("skills/tea/evals/tasks/a.yaml", task);
        let lint = fixture.run(&["lint"]).stdout;
        let slip = slip.trim_end_matches(':');
        assert!(lint.contains(&format!("unknown key `{slip}`")) && !lint.contains("Vally"), "{slip}: {lint}");
    }
}
