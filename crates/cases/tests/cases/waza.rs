//! Eval specs of waza: each task file is a case, and nothing that it asks for is lost.

use skill_evals_evidence::trial::input_file::InputContent;

use skill_evals_testing::fixture::{Fixture, temporary};
use skill_evals_testing::tables;

use crate::foreign::{lines, linted};

const SPEC: &str = "name: x\nskill: tidy\nconfig:\n  trials_per_task: 2\n  timeout_seconds: 90\n  executor: mock\n";

const TASK: &str = "id: one\ninputs: { prompt: Do it }\nexpected: { output_contains: [done] }\n";

/// A spec with these lines, and the task files that it names.
fn spec(more: &str, tasks: &[(&str, &str)]) -> Fixture {
    let fixture = Fixture::new().skill("tidy").skill("other").file("evals/tidy/eval.yaml", format!("{SPEC}{more}"));
    tasks.iter().fold(fixture, |fixture, (path, text)| fixture.file(&format!("evals/tidy/{path}"), text))
}

/// A case with these lines besides its prompt.
fn task(more: &str) -> Fixture {
    spec("tasks: [a.yaml]\n", &[("a.yaml", &format!("id: one\ninputs: {{ prompt: Do it }}\n{more}"))])
}

/// What the first case of the skill asks for.
fn asked(fixture: &Fixture) -> String {
    let catalog = fixture.catalog();
    let found = catalog.cases_of("tidy").next().expect("a case");
    match found.case() {
        Ok(case) => {
            let checks = case.checks.iter().map(|check| format!("{} {:?}", check.kind.id, check.ask));
            let judged = case.assertions.iter().map(|assertion| format!("assertion {}", assertion.text));
            let rest = case.unsupported.iter().map(|part| format!("unsupported: {}", part.what));
            checks.chain(judged).chain(rest).collect::<Vec<_>>().join("\n")
        }
        Err(problems) => problems[0].message.clone(),
    }
}

fn of_tidy(fixture: &Fixture) -> Vec<String> {
    let mut lines: Vec<String> = lines(fixture).into_iter().filter(|line| !line.contains("built-in")).collect();
    lines.sort();
    lines
}

#[test]
fn a_diff_that_asks_for_an_empty_text_is_an_error() {
    for line in ["", "+ ", "-"] {
        let config = format!("{{ expected_files: [{{ path: a.txt, contains: ['{line}'] }}] }}");
        let lint = linted(&task(&format!("graders: [{{ name: g, type: diff, config: {config} }}]\n")));
        assert!(lint.contains("the text to look for is empty: every text has it"), "{lint}");
    }
}

#[test]
fn each_task_file_that_a_spec_of_waza_names_is_a_case_at_its_own_place() {
    let fixture = spec(
        "tasks:\n  - 'tasks/*.yaml'\n  - tasks/b.yaml\n  - '../shared/**/[c-d]?{}.yaml'\n",
        &[
            ("tasks/b.yaml", TASK),
            ("tasks/a.yaml", "# A comment\nid: A b\ninputs: { prompt: Do it }\nexpected: { should_trigger: false }\n"),
            ("tasks/off.yaml", "id: z\nenabled: false\ninputs: { prompt: Do it }\n"),
            ("tasks/notes.md", "none"),
            ("../shared/x/c1{}.yaml", TASK),
            ("../shared/x/e1{}.yaml", "id: another\n"),
            ("fixtures/a.txt", "a"),
        ],
    );
    assert_eq!(
        of_tidy(&fixture),
        [
            "tidy/eval-A-b waza task evals/tidy/tasks/a.yaml:2:1",
            "tidy/eval-c1---one waza task evals/shared/x/c1{}.yaml:1:1",
            "tidy/eval-one waza task evals/tidy/tasks/b.yaml:1:1",
            "tidy/eval-z waza task evals/tidy/tasks/off.yaml:1:1 | 2:10 unsupported: a task that is switched off",
        ]
    );
    let catalog = fixture.catalog();
    let case = catalog.cases_of("tidy").next().expect("a case").case().expect("a good case").clone();
    assert_eq!(case.timeout.map(|timeout| timeout.as_secs()), Some(90));
    assert!(format!("{:?}", case.repetition).contains("Times(2)"), "{:?}", case.repetition);
    assert_eq!((case.should_trigger, case.asks_for_trigger()), (false, true));
}

#[test]
fn a_spec_of_waza_that_names_no_case_or_a_broken_one_says_so_and_the_others_run() {
    for (more, tasks, said) in [
        ("", &[][..], "1:1 the key `tasks` is missing"),
        ("tasks: a.yaml\n", &[], "7:8 `tasks` is a string; expected an array"),
        ("tasks: []\n", &[], "7:8 `tasks` is an empty list"),
        ("tasks: [a.yaml]\nhooks: [a]\n", &[("a.yaml", TASK)], "`hooks` is an array; expected an object"),
        (
            "tasks: [a.yaml]\n",
            &[("a.yaml", "inputs: { prompt_file: b.md }\n"), ("b.md", " \n")],
            "1:24 the file evals/tidy/b.md is empty",
        ),
        ("tasks: [a.yaml]\n", &[], "7:9 `a.yaml` names no file"),
        ("tasks: ['a/*.yaml']\n", &[("a.yaml", TASK)], "7:9 `a/*.yaml` names no file"),
        ("tasks: [/a.yaml]\n", &[], "7:9 `/a.yaml` is absolute, or leaves the repository"),
        ("tasks: [../../../a.yaml]\n", &[], "leaves the repository"),
        ("tasks: ['[.yaml']\n", &[], "is not a pattern"),
        ("tasks: [a.yaml]\n", &[("a.yaml", "id: [\n")], "this is not YAML"),
        ("tasks: [a.yaml]\n", &[("a.yaml", "")], "the file is empty"),
        ("tasks: [a.yaml]\n", &[("a.yaml", "id: one\nid: two\ninputs: { prompt: a }\n")], "2:1 duplicate key `id`"),
        ("tasks: [a.yaml]\n", &[("a.yaml", "id: one\n")], "1:1 the key `inputs` is missing"),
        ("tasks: [a.yaml]\n", &[("a.yaml", "id: one\ninputs: {}\n")], "2:9 the key `prompt` is missing"),
        (
            "tasks: [a.yaml]\n",
            &[("a.yaml", "inputs: { prompt_file: b.md }\n")],
            "the file evals/tidy/b.md cannot be read",
        ),
        ("tasks: [a.yaml]\n", &[("a.yaml", "inputs: { prompt: a }\n")], "1:1 unsupported: a case that expects nothing"),
        ("tasks: [a.yaml]\ntasks: [b.yaml]\n", &[("a.yaml", TASK)], "8:1 duplicate key `tasks`"),
        ("task: 1\ntasks: [a.yaml]\n", &[("a.yaml", TASK)], "7:1 unknown key `task`"),
        ("tasks: [a.yaml]\nhooks: { before_task: [{ command: a }] }\n", &[("a.yaml", TASK)], "the hook `before_task`"),
        ("tasks: [a.yaml]\ntasks_from: a.csv\n", &[("a.yaml", TASK)], "8:1 unsupported: the key `tasks_from`"),
        ("tasks: [a.yaml]\nschemaVersion: '3.0'\n", &[("a.yaml", TASK)], "unsupported: this version of the format"),
    ] {
        let lines = of_tidy(&spec(more, tasks));
        assert!(lines.iter().any(|line| line.contains(said)), "{more}: {lines:?}");
    }
    let both = "tasks: [none.yaml, a.yaml]\nschemaVersion: '2.0'\nhooks: { after_run: [] }\nmetrics: [{ name: x }]\n";
    let lines = of_tidy(&spec(both, &[("a.yaml", TASK)]));
    assert_eq!(lines[0], "tidy/eval-one waza task evals/tidy/a.yaml:1:1");
    assert!(lines[1].contains("7:9 `none.yaml` names no file"), "{lines:?}");
}

#[test]
fn a_task_file_of_waza_may_be_a_link_inside_the_repository_only() {
    let outside = temporary();
    std::fs::write(outside.path().join("a.yaml"), TASK).expect("a file");
    let outside = outside.path().join("a.yaml");
    let fixture = spec("tasks: ['*sk.yaml']\n", &[("shared/one.yaml", TASK)])
        .link("evals/tidy/ask.yaml", "shared/one.yaml")
        .link("evals/tidy/task.yaml", outside.to_str().expect("a path"));
    let lines = of_tidy(&fixture);
    assert_eq!(lines[0], "tidy/eval-one waza task evals/tidy/ask.yaml:1:1");
    assert!(lines[1].starts_with("tidy/eval-task waza task evals/tidy/task.yaml:"), "{lines:?}");
    assert!(
        lines[1].contains(&format!("cannot be read: evals/tidy/task.yaml is a symbolic link to {}", outside.display())),
        "{lines:?}"
    );
}

#[test]
fn a_task_of_waza_that_is_switched_off_is_a_case_that_does_not_run() {
    assert!(asked(&task("enabled: false\n")).contains("unsupported: a task that is switched off"));
    assert!(!asked(&task("enabled: true\n")).contains("switched off"));
}

#[test]
fn an_eval_yaml_with_tasks_of_another_program_is_none_of_waza() {
    for text in [
        "version: '1'\ntasks:\n  - name: a\n    instruction: b\n",
        "tasks: ['a.yaml']\n",
        "# trials_per_task:\ntasks: ['a.yaml']\n",
    ] {
        let fixture = Fixture::new().skill("tidy").skill("other").file("evals/more/eval.yaml", text);
        assert!(lines(&fixture).iter().all(|line| !line.contains("waza task")), "{text}");
    }
    let vally = "config: { runs: 2 }\nstimuli:\n  - prompt: 'Say trials_per_task:'\n    expect_activation: true\n";
    let fixture = Fixture::new().skill("tidy").skill("other").file("evals/tidy/eval.yaml", vally);
    assert_eq!(of_tidy(&fixture), ["tidy/eval-1 stimulus evals/tidy/eval.yaml:3:5"]);
}

/// What a grader asks for in a task, and as well in a spec.
fn grader(grader: &str) -> String {
    let of_task = asked(&task(&format!("graders:\n  - {grader}\n")));
    let of_spec = asked(&spec(&format!("tasks: [a.yaml]\ngraders: [{grader}]\n"), &[("a.yaml", TASK)]));
    // The task next to the grader of the spec expects something.
    let wanted = of_task.lines().filter(|line| !line.contains("a case that expects nothing"));
    wanted.for_each(|line| assert!(of_spec.contains(line), "{grader} of the spec: {of_spec}"));
    of_task
}

tables! {
    grader =>
        graders_of_waza_about_texts_and_files_are_checks_or_unsupported,
        graders_of_waza_about_the_work_of_the_agent_are_checks_or_unsupported,
        graders_of_waza_about_skills_and_by_a_judge_are_checks_assertions_or_unsupported;
    |expected| asked(&task(&format!("expected: {expected}\n"))) => what_a_task_of_waza_expects_is_a_check_or_unsupported;
}

#[test]
fn a_task_of_waza_that_expects_a_trigger_and_none_is_unsupported() {
    let both = "expected: { should_trigger: true }\ngraders:\n  - type: trigger\n    config: { skill_path: skills/tidy, mode: negative }\n";
    assert!(asked(&task(both)).contains("unsupported: that another skill triggers, or the opposite"));
}

#[test]
fn a_check_of_a_waza_spec_has_its_place_in_the_file_that_writes_it() {
    let fixture = spec(
        "graders:\n  - { type: text, config: { contains: [a] } }\ntasks: [a.yaml]\n",
        &[(
            "a.yaml",
            "id: one\ninputs: { prompt: Do it }\ngraders:\n  - { type: behavior, config: { max_tokens: 1 } }\n",
        )],
    );
    let catalog = fixture.catalog();
    let case = catalog.cases_of("tidy").next().expect("a case").case().expect("a good case").clone();
    let places = case.checks.iter().map(|check| {
        let place = check.origin.elsewhere.as_ref().expect("a place");
        format!("{} {}:{}:{}", check.kind.id, place.path.display(), place.line, place.column)
    });
    assert_eq!(places.collect::<Vec<_>>(), ["text evals/tidy/eval.yaml:8:5", "max-total-tokens evals/tidy/a.yaml:4:5"]);
}

#[test]
fn a_task_of_waza_gets_its_prompts_and_files() {
    let fixture = spec(
        "tasks: [tasks/a.yaml, tasks/b.yaml]\n",
        &[
            (
                "tasks/a.yaml",
                "id: a\ntags: [x]\ninputs:\n  prompt_file: ../a.md\n  context: { language: rust }\n  \
                 follow_up_prompts: [And now?]\n  files:\n    - path: in/photo.png\n    - { path: b.txt, content: B }\n\
                 expected: { output_contains: [done] }\ntimeout_seconds: 5\n",
            ),
            (
                "tasks/b.yaml",
                "id: b\ncontext_dir: shared\ninputs: { prompt: Do it, environment: { A: b }, files: [{ path: c.txt }] }\n\
                 expected: { output_contains: [done] }\n",
            ),
            ("a.md", "From a file"),
            ("fixtures/in/photo.png", "png"),
            ("../../shared/c.txt", "c"),
        ],
    );
    let catalog = fixture.catalog();
    let cases: Vec<_> = catalog.cases_of("tidy").map(|found| found.case().expect("a good case").clone()).collect();
    let files: Vec<Vec<String>> = cases
        .iter()
        .map(|case| {
            let shown = |content: &InputContent| match content {
                InputContent::Source(path) => path.to_string(),
                InputContent::Text(text) => format!("{text:?}"),
            };
            case.files.iter().map(|file| format!("{} {}", file.path, shown(&file.content))).collect()
        })
        .collect();
    assert_eq!(
        files,
        [vec!["in/photo.png evals/tidy/fixtures/in/photo.png", "b.txt \"B\""], vec!["c.txt shared/c.txt"]]
    );
    assert_eq!((cases[0].prompt.as_str(), &cases[0].follow_ups[..]), ("From a file", &["And now?".to_owned()][..]));
    assert_eq!(
        (cases[0].timeout.map(|timeout| timeout.as_secs()), &cases[0].tags[..]),
        (Some(5), &["x".to_owned()][..])
    );
    assert!(cases[0].unsupported.is_empty(), "{:?}", cases[0].unsupported);
    let unsupported: Vec<&str> = cases[1].unsupported.iter().map(|part| part.what.as_str()).collect();
    assert_eq!(unsupported, ["the key `environment`"]);
}

#[test]
fn a_trigger_set_of_waza_is_read_as_all_others_are() {
    let text = "skill: tidy\nshould_trigger_prompts:\n  - prompt: Tidy up\n    reason: asked\n    confidence: high\n\
                should_not_trigger_prompts:\n  - prompt: Sing\n    confidence: medium\n";
    let fixture = Fixture::new().skill("tidy").skill("other").file("evals/x/trigger_tests.yaml", text);
    assert_eq!(
        of_tidy(&fixture),
        [
            "tidy/trigger_tests-1 trigger query evals/x/trigger_tests.yaml:3:5",
            "tidy/trigger_tests-2 trigger query evals/x/trigger_tests.yaml:7:5",
        ]
    );
    let catalog = fixture.catalog();
    let sides: Vec<_> = catalog.cases_of("tidy").map(|found| found.should_trigger()).collect();
    assert_eq!(sides, [Some(true), Some(false)]);
    let broken = Fixture::new().skill("tidy").file("evals/x/trigger_tests.yaml", "skill: [\n");
    assert!(lines(&broken)[0].contains("this is not YAML"), "{:?}", lines(&broken));
}
