//! Scenarios of dotnet/skills: read as they are, and as strict as they are.

use skill_evals_cases::cases::case::Case;
use skill_evals_evidence::text::diagnostic::Diagnostic;
use skill_evals_evidence::trial::input_file::InputContent;
use skill_evals_testing::fixture::Fixture;
use skill_evals_testing::tables;

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

tables! {
    |part| shown(&format!("    {part}\n")) => each_part_of_a_scenario_is_a_check_an_assertion_or_unsupported;
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
