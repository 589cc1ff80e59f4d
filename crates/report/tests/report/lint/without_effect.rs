//! Checks that say the same of every trial, in each format.

use skill_evals_testing::fixture::Fixture;
use skill_evals_testing::lint::{TASK, with_row};
use skill_evals_testing::tables;
use skill_evals_testing::tables::file;

#[test]
fn a_cell_with_separators_alone_is_an_error_at_the_cell() {
    for (column, cell) in [
        ("must_include", "|"),
        ("must_not_include", " | | "),
        ("require_files", ";"),
        ("check", "; ;"),
        ("files", ";"),
        ("tags", ";"),
    ] {
        let fixture = with_row(&format!(",{column}"), &format!("mid,true,Do it,{cell}"));
        let problem = format!("[empty-value] `{column}` is {:?}, which holds no value", cell.trim());
        let lines = fixture.lines();
        assert!(lines.contains(&problem) && lines.contains("prompts.csv:3:16: "), "{lines}");
        assert_eq!(fixture.broken_cases(), ["mid"]);
    }
}

#[test]
fn a_list_of_no_checks_is_an_error() {
    for key in ["mustInclude", "mustNotInclude", "requireFiles", "check"] {
        let task = TASK.replace("\"tidy\"", &format!("\"tidy\", \"{key}\": []"));
        let fixture = Fixture::new().skill("tidy").task("one", TASK).task("two", task);
        let expected = format!("[empty-value] `evalConfig.{key}` is an empty list");
        assert!(fixture.lines().contains(&expected), "{}", fixture.lines());
    }
}

/// What is said of the file of a line, `PATH TEXT`.
fn told(line: &str) -> String {
    let (path, text) = file(line);
    let lines = Fixture::new().skill("tidy").task("one", TASK).file(path, text).lines();
    lines.lines().filter(|line| line.contains(path)).collect::<Vec<_>>().join("\n")
}

/// What is said of a task with this check.
fn check(check: &str) -> String {
    let task = TASK.replace("\"tidy\"", &format!("\"tidy\", \"checks\": [{check}]"));
    Fixture::new().skill("tidy").task("one", TASK).task("two", task).lines()
}

/// What is said of a grader of a plugin.
fn grader(text: &str) -> String {
    let head = "schema_version: \"1.1\"\nname: one\nexecution: { prompt: Do it }\nruns: 1\n";
    let case = format!("{head}graders:\n  - {{ name: a, type: regex, {text} }}\n");
    let fixture = Fixture::new().file(".claude-plugin/plugin.json", r#"{ "name": "tidy" }"#).skill("tidy");
    fixture.file("evals/one/case.yaml", &case).lines()
}

tables! {
    told => a_pattern_that_decides_nothing_is_an_error_in_every_format;
    check => a_pattern_that_may_decide_something_is_none;
    grader => a_grader_of_a_plugin_is_checked_by_its_own_flags_and_match;
}

#[test]
fn a_column_whose_pattern_looks_past_the_end_of_a_line_is_an_error_and_its_case_runs() {
    let fixture = with_row(",must_not_include", "mid,true,Do it,$5.00|C^2");
    let lines = fixture.lines();
    for pattern in ["$5.00", "C^2"] {
        let wanted = format!("[invalid-check] this check can never fail: no text matches \"{pattern}\"");
        assert!(lines.contains(&wanted), "{lines}");
    }
    assert_eq!(fixture.broken_cases(), [""; 0]);
}
