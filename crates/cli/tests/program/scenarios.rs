//! Scenarios of dotnet/skills: read as they are, and as strict as they are.

use skill_evals_cases::cases::case::Case;
use skill_evals_evidence::text::diagnostic::Diagnostic;
use skill_evals_evidence::trial::input_file::InputContent;

use crate::support::fixture::Fixture;
use crate::support::stub::Stub;

const FILE: &str = "tests/plugin/tidy/eval.yaml";

/// A repository whose skill lies in another tree than its cases.
fn repository(scenario: &str) -> Fixture {
    let skill = "---\nname: tidy\ndescription: Tidies the desk.\n---\n\nDo it.\n";
    Fixture::new()
        .file("plugins/plugin/skills/tidy/SKILL.md", skill)
        .file("plugins/plugin/skills/tidy/fixtures/a.txt", "a")
        .file("tests/plugin/tidy/data/b.txt", "b")
        .file("tests/plugin/tidy/c.txt", "c")
        .file(FILE, format!("scenarios:\n  - name: one\n    prompt: Do it\n{scenario}"))
}

/// The case, or its problems.
fn case(fixture: &Fixture) -> Result<Case, String> {
    let catalog = fixture.catalog();
    let found = catalog.cases_of("tidy").next().expect("a case");
    assert_eq!((found.format().name, found.id.as_str()), ("scenario", "eval-one"));
    let said = |problem: &Diagnostic| format!("{problem} {}", problem.help.as_deref().unwrap_or_default());
    found.case().cloned().map_err(|problems| problems.iter().map(said).collect())
}

/// The checks, assertions and unsupported parts of a case; or its problems.
fn shown(scenario: &str) -> String {
    match case(&repository(scenario)) {
        Ok(case) => {
            let checks = case.checks.iter().map(|check| check.kind.id.to_owned());
            let judged = case.assertions.iter().map(|one| format!("judged: {}", one.text));
            let rest = case.unsupported.iter().map(|part| format!("unsupported: {}", part.what));
            checks.chain(judged).chain(rest).collect::<Vec<_>>().join(", ")
        }
        Err(problems) => problems,
    }
}

#[test]
fn each_part_of_a_scenario_is_a_check_an_assertion_or_unsupported() {
    for (part, said) in [
        ("rubric: [It is done]", "triggered, judged: It is done"),
        ("expect_activation: false", "not-triggered"),
        ("rubric: [It is done]\n    expect_activation: null", "triggered, judged: It is done"),
        ("expect_tools: [bash]", "triggered, work"),
        ("reject_tools: [create, edit]", "triggered, work"),
        ("expect_tools: [dotnet]", "triggered, unsupported: a call of the tool `dotnet`"),
        ("max_turns: 3", "triggered, max-turns"),
        ("max_tokens: 9000", "triggered, max-total-tokens"),
        ("flavor: sweet", "triggered, unsupported: the key `flavor`"),
        ("assertions: [{ type: exit_success }]", "triggered, text"),
        ("assertions: [{ type: output_not_matches, pattern: 'a(?!b)' }]", "triggered, text"),
        ("assertions: [{ type: file_exists, path: '**/*.md' }]", "triggered, file"),
        ("assertions: [{ type: file_not_contains, path: a.txt, value: b }]", "triggered, file"),
        ("assertions: [{ type: json_equals, value: b }]", "unsupported: the grader `json_equals`"),
        ("assertions: [{ type: output_contain, value: b }]", "did you mean `output_contains`?"),
        ("assertions: [{ type: output_contains, vale: b }]", "the key `value` is missing"),
        ("assertions: [{ type: output_matches, value: b }]", "the key `pattern` is missing"),
        ("assertions: [{ type: output_matches, pattern: '(' }]", "does not compile"),
        ("assertions: [done]", "an assertion is a string; expected an object with `type`"),
        ("setup: { files: [{ path: a.txt }] }", "the key `source` is missing"),
        ("setup: { files: [{ source: a.txt }] }", "the key `path` is missing"),
        ("setup: { copy_test_files: maybe }", "`copy_test_files` is a string; expected true or false"),
        ("timeout: soon", "`timeout` is a string"),
        ("max_turns: 3\n    max_turns: 4", "duplicate key `max_turns`"),
    ] {
        let shown = shown(&format!("    {part}\n"));
        assert!(shown.contains(said), "{part}: {shown}");
    }
}

#[test]
fn a_scenario_gets_the_files_that_its_setup_names() {
    let files = "files: [{ path: in/a.txt, source: fixtures/a.txt }, { path: d.txt, content: d }, \
        { path: up.txt, source: ../../../../tests/plugin/tidy/c.txt }]";
    let setup = format!("    setup: {{ {files}, copy_test_files: true }}\n    timeout: 90\n");
    let case = case(&repository(&setup)).expect("a good case");
    let mut files: Vec<String> = case
        .files
        .iter()
        .map(|file| match &file.content {
            InputContent::Text(text) => format!("{} = {text:?}", file.path),
            InputContent::Source(source) => format!("{} of {source}", file.path),
        })
        .collect();
    files.sort();
    let expected = [
        "c.txt of tests/plugin/tidy/c.txt",
        "d.txt = \"d\"",
        "data of tests/plugin/tidy/data",
        "in/a.txt of plugins/plugin/skills/tidy/fixtures/a.txt",
        "up.txt of tests/plugin/tidy/c.txt",
    ];
    assert_eq!(files, expected);
    assert_eq!(case.timeout.map(|timeout| timeout.as_secs()), Some(90));
}

#[test]
fn output_matches_in_any_case_and_files_do_not() {
    let stub = Stub::new(1, "echo Ada > a.txt");
    let passing = [
        "output_contains, value: DONE",
        "output_matches, pattern: '^DONE'",
        "file_contains, path: '*.txt', value: Ada",
    ];
    let failing = [
        "output_not_contains, value: DONE",
        "output_not_matches, pattern: '^DONE'",
        "file_contains, path: '*.txt', value: ada",
    ];
    let list: Vec<String> = passing.iter().chain(&failing).map(|one| format!("      - {{ type: {one} }}\n")).collect();
    let list = list.concat();
    // A command of the setup may fail, if its program starts.
    let more = "    expect_activation: false\n    setup: { commands: ['false', 'exit 3 # no'] }\n";
    stub.write(
        "evals/tidy/eval.yaml",
        &format!("scenarios:\n  - name: one\n    prompt: Do it\n{more}    assertions:\n{list}"),
    );
    stub.run(&["run", "--case", "eval-one", "--run-id", "r"]);
    let grade = stub.json("r", "work/tidy/eval-one/codex/1/grade.json");
    let checks = grade["checks"].as_array().expect("checks").iter();
    let answers: Vec<&str> = checks
        .filter(|check| ["text", "file"].contains(&check["id"].as_str().expect("an id")))
        .map(|check| check["status"].as_str().expect("a status"))
        .collect();
    // Checks of texts come first.
    assert_eq!(answers, ["pass", "pass", "fail", "fail", "pass", "fail"], "{grade}");
}

#[test]
fn a_program_that_the_setup_of_a_scenario_needs_and_nobody_installed_is_an_error() {
    let stub = Stub::new(1, "");
    let scenario = "    setup: { commands: [no-such-program] }\n    assertions: [{ type: exit_success }]\n";
    stub.write("evals/tidy/eval.yaml", &format!("scenarios:\n  - name: one\n    prompt: Do it\n{scenario}"));
    let ran = stub.run(&["run", "--case", "eval-one", "--run-id", "r"]);
    assert!(ran.stdout.contains("no-such-program"), "{} {}", ran.stdout, ran.stderr);
    let grade = stub.json("r", "work/tidy/eval-one/codex/1/grade.json");
    assert_eq!(grade["verdict"], "error", "{grade}");
}

#[test]
fn scenarios_of_another_program_and_scenarios_that_are_no_yaml() {
    for (text, is_ours) in [
        ("scenarios:\n  - id: a\n    input: b\n", false),
        ("scenarios: []\n", false),
        ("scenarios:\n  - name: [\n", true),
        ("scenarios:\n  - name: one\n    assertions: []\n", true),
    ] {
        let fixture = repository("").file(FILE, text);
        let catalog = fixture.catalog();
        let found = catalog.cases_of("tidy").next().expect("a case");
        assert_eq!(found.case().is_err(), is_ours, "{text}");
    }
}
