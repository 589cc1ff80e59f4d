//! How scenarios of dotnet/skills run.

use crate::support::stub::Stub;

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
    stub.run("run --case eval-one --run-id r").prints("no-such-program");
    let grade = stub.json("r", "work/tidy/eval-one/codex/1/grade.json");
    assert_eq!(grade["verdict"], "error", "{grade}");
}
