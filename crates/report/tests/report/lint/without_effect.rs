//! Checks that say the same of every trial, in each format.

use skill_evals_testing::fixture::Fixture;
use skill_evals_testing::lint::{TASK, with_row};

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

#[test]
fn a_pattern_that_decides_nothing_is_an_error_in_every_format() {
    let list =
        |check: &str| ("evals/tasks/x.json", TASK.replace("\"tidy\"", &format!("\"tidy\", \"checks\": [{check}]")));
    let evals = |key: &str| {
        let text = format!("{{ \"evals\": [ {{ \"id\": 1, \"prompt\": \"Do it\", {key} }} ] }}");
        ("skills/tidy/evals/evals.json", text)
    };
    let vally = |grader: &str| {
        let text = format!("stimuli:\n  - {{ name: a, prompt: Do it, graders: [{{ {grader} }}] }}\n");
        ("evals/tidy/eval.yaml", text)
    };
    let skilljack = |check: &str| {
        let task = format!("{{ id: a, prompt: Do it, expected_skill_load: tidy, deterministic: {{ {check} }} }}");
        ("evals/tidy/tasks.yaml", format!("skill: tidy\ntasks:\n  - {task}\n"))
    };
    let empty = "the text to look for is empty";
    for ((path, text), wanted) in [
        (list(r#"{ "text": "final", "matches": "^" }"#), r#"this check can never fail: every text matches "^""#),
        (list(r#"{ "text": "final", "matches": "x*" }"#), r#"this check can never fail: every text matches "x*""#),
        (list(r#"{ "text": "all", "matches": "x*", "not": true }"#), "this check can never pass: every text matches"),
        (list(r#"{ "text": "final", "matches": "(?!)", "not": true }"#), "this check can never fail: no text matches"),
        (
            list(r#"{ "text": "final", "matches": "$5.00", "not": true }"#),
            r#"this check can never fail: no text matches "$5.00""#,
        ),
        (
            vally("type: output-not-matches, config: { pattern: 'foo$bar' }"),
            "this check can never fail: no text matches",
        ),
        (list(r#"{ "file": "a", "matches": "[^\\s\\S]" }"#), r#"this check can never pass: no text matches "[^\s\S]""#),
        (evals(r#""assertions": [ { "type": "command_succeeds", "command": "" } ]"#), "the command is empty"),
        (evals(r#""expectations": ["x"], "expected_script": """#), "the command to look for is empty"),
        (evals(r#""assertions": [ { "type": "contains", "text": "" } ]"#), empty),
        (
            evals(r#""assertions": [ { "type": "not_matches", "pattern": "x*" } ]"#),
            "can never pass: every text matches",
        ),
        (evals(r#""assertions": [ { "type": "file_contains", "path": "a", "value": "" } ]"#), empty),
        (skilljack("expect_marker: ''"), empty),
        (vally("type: output-matches, config: { pattern: '' }"), empty),
        (vally("type: output-matches, config: { pattern: '', negate: true }"), empty),
        (vally("type: output-not-matches, config: { pattern: '' }"), empty),
        (vally("type: file-matches, config: { path: a, pattern: '' }"), empty),
        (vally("type: run-command, config: { command: ls, stdout_matches: '' }"), empty),
    ] {
        let fixture = Fixture::new().skill("tidy").task("one", TASK).file(path, &text);
        let lines = fixture.lines();
        let found: Vec<&str> = lines.lines().filter(|line| line.contains(path)).collect();
        assert!(
            matches!(found[..], [line] if line.contains("[invalid-check]") && line.contains(wanted)),
            "{text}\n{lines}"
        );
    }
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

#[test]
fn a_grader_of_a_plugin_is_checked_by_its_own_flags_and_match() {
    let grader = |text: &str| {
        let head = "schema_version: \"1.1\"\nname: one\nexecution: { prompt: Do it }\nruns: 1\n";
        let case = format!("{head}graders:\n  - {{ name: a, type: regex, {text} }}\n");
        let fixture = Fixture::new().file(".claude-plugin/plugin.json", r#"{ "name": "tidy" }"#).skill("tidy");
        fixture.file("evals/one/case.yaml", &case).lines()
    };
    for (text, wanted) in [
        ("pattern: '$5.00', match: not_contains", Some("can never fail: no text matches")),
        ("pattern: '$5.00', match: not_contains, flags: im", Some("can never fail: no text matches")),
        ("pattern: '$5.00', match: 'count:2'", Some("can never pass: no text matches")),
        ("pattern: '$5.00', match: 'count:0'", Some("can never fail: no text matches")),
        ("pattern: '', match: 'count:2'", None),
        ("pattern: 'x*', match: 'count:2'", None),
        ("pattern: 'x*', match: not_contains", Some("can never pass: every text matches")),
        ("pattern: \"a$\\nb\", match: not_contains, flags: m", None),
        ("pattern: \"a$\\nb\", match: not_contains", Some("can never fail: no text matches")),
        ("pattern: '(?R)'", None),
    ] {
        let lines = grader(text);
        assert!(lines.contains("[invalid-check]") == wanted.is_some(), "{text}: {lines}");
        assert!(lines.contains(wanted.unwrap_or_default()), "{text}: {lines}");
    }
    let lines = grader("pattern: '(?R)'");
    assert!(lines.contains("does not compile, so the grader never passes"), "{lines}");
}

#[test]
fn a_pattern_that_may_decide_something_is_none() {
    for check in [
        r#"{ "text": "final", "matches": "^$" }"#,
        r#"{ "text": "final", "matches": "x+" }"#,
        r#"{ "text": "final", "matches": "^.*$" }"#,
        r#"{ "text": "final", "matches": "\\b" }"#,
        r#"{ "text": "final", "matches": "(?=x)" }"#,
        r#"{ "text": "tools", "matches": ".*" }"#,
        r#"{ "file": "a.txt", "matches": ".*" }"#,
        r#"{ "tool": "Read", "matches": ".*" }"#,
    ] {
        let task = TASK.replace("\"tidy\"", &format!("\"tidy\", \"checks\": [{check}]"));
        let fixture = Fixture::new().skill("tidy").task("one", TASK).task("two", task);
        assert!(!fixture.lines().contains("invalid-check"), "{check}: {}", fixture.lines());
    }
}
