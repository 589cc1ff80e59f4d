//! What each kind of check is about, apart from its answer.

use serde_json::json;
use skill_evals_cases::checks::pattern::{Pattern, Style};
use skill_evals_cases::checks::{self, CaseCheck, FieldForm, FieldValue, Origin, Presence};
use skill_evals_evidence::text::diagnostic::SourceLocation;
use skill_evals_evidence::trial::outcome::Status;

use crate::grade::asks;
use skill_evals_testing::made::{listed, listed_case};

const PASS: Option<Status> = Some(Status::Pass);
const FAIL: Option<Status> = Some(Status::Fail);

#[test]
fn a_check_that_forbids_or_limits_passes_if_nothing_is_done_and_some_are_settled_early() {
    for (check, forbids, settled) in [
        (checks::triggers(true), false, PASS),
        (checks::triggers(false), false, FAIL),
        (listed(r#"{"tool": "Read"}"#), false, PASS),
        (listed(r#"{"tool": "Read", "not": true}"#), true, FAIL),
        (listed(r#"{"tool": "Read", "atMost": 3}"#), true, FAIL),
        (listed(r#"{"tool": "Read", "atLeast": 1, "atMost": 3}"#), false, FAIL),
        (listed(r#"{"command": "^ls"}"#), false, PASS),
        (listed(r#"{"command": "^ls", "not": true}"#), true, FAIL),
        (listed(r#"{"sequence": ["Read"]}"#), false, PASS),
        (listed(r#"{"work": "commands"}"#), false, PASS),
        (listed(r#"{"work": "commands", "not": true}"#), true, FAIL),
        (listed(r#"{"activates": ["greeting"]}"#), false, PASS),
        (listed(r#"{"rejects": ["greeting"]}"#), true, FAIL),
        (listed(r#"{"text": "final", "contains": "a"}"#), false, None),
        (listed(r#"{"text": "final", "contains": "a", "not": true}"#), true, None),
        (listed(r#"{"text": "all", "contains": "a"}"#), false, PASS),
        (listed(r#"{"text": "all", "contains": "a", "not": true}"#), true, FAIL),
        (listed(r#"{"file": "a"}"#), false, None),
        (listed(r#"{"file": "a", "exists": false}"#), true, None),
        (listed(r#"{"file": "a", "contains": "b", "not": true}"#), false, None),
        (listed(r#"{"maxTurns": 3}"#), true, None),
        (listed(r#"{"run": "make"}"#), false, None),
        (asks("max_commands", "3"), true, FAIL),
        (asks("max_input_tokens", "3"), true, FAIL),
        (asks("max_cost_usd", "3"), true, FAIL),
        (asks("max_seconds", "3"), true, None),
        (asks("expect_resource_load", "true"), false, PASS),
        (asks("described", "true"), false, None),
    ] {
        assert_eq!((check.ask.forbids(), check.ask.settled_by()), (forbids, settled), "{:?}", check.ask);
    }
}

#[test]
fn a_check_names_the_files_the_skills_and_the_text_that_it_is_about() {
    for (check, file, snapshot, skills) in [
        (r#"{"file": "a"}"#, Some("a"), None, &[][..]),
        (r#"{"file": "*.md"}"#, None, None, &[]),
        (r#"{"file": "a", "snapshot": "b"}"#, Some("a"), Some("b"), &[]),
        (r#"{"activates": ["greeting", "other"]}"#, None, None, &["greeting", "other"]),
        (r#"{"activates": ["*"]}"#, None, None, &[]),
        (r#"{"rejects": ["other"]}"#, None, None, &["other"]),
        (r#"{"rejects": ["*"]}"#, None, None, &[]),
        (r#"{"tool": "a"}"#, None, None, &[]),
    ] {
        let ask = listed(check).ask;
        let names = ask.names();
        let (required, equal) = (names.file.map(ToString::to_string), names.snapshot.map(ToString::to_string));
        assert_eq!((required.as_deref(), equal.as_deref()), (file, snapshot), "{check}");
        assert_eq!(names.skills, skills, "{check}");
    }
    let text = |check: &CaseCheck| check.ask.text().map(|(pattern, presence)| (pattern.text.clone(), presence));
    for (check, expected) in [
        (asks("must_include", "Ada"), Some(Presence::Present)),
        (asks("must_not_include", "Ada"), Some(Presence::Absent)),
        (listed(r#"{"text": "final", "contains": "Ada"}"#), Some(Presence::Present)),
        (listed(r#"{"text": "all", "contains": "Ada"}"#), None),
        (listed(r#"{"text": "final", "at": "/a", "contains": "Ada"}"#), None),
        (listed(r#"{"text": "final", "equals": "Ada"}"#), None),
    ] {
        assert_eq!(text(&check), expected.map(|presence| ("Ada".to_owned(), presence)), "{:?}", check.ask);
    }
}

#[test]
fn a_check_is_written_as_the_value_of_its_field() {
    for (column, text, value) in [
        ("must_include", "^Ada", json!("^Ada")),
        ("must_not_include", "Ada", json!("Ada")),
        ("expected_output", "Ada", json!("Ada")),
        ("require_files", "out/a.txt", json!("out/a.txt")),
        ("max_commands", "3", json!(3)),
        ("max_output_tokens", "4", json!(4)),
        ("max_cost_usd", "0.5", json!(0.5)),
        ("max_seconds", "6", json!(6)),
        ("expect_resource_load", "true", json!(true)),
        ("described", "true", json!(true)),
        ("check", "checks/a.sh", json!("/checks/a.sh")),
    ] {
        assert_eq!(asks(column, text).written_value(), Some(value), "{column}");
    }
    assert_eq!(checks::triggers(true).written_value(), None);
    let path = Pattern { text: "a".to_owned(), style: Style::Exact };
    assert_eq!(checks::loads(path).written_value(), None, "no field has a path");
    let duration = |milliseconds| checks::max_duration(std::time::Duration::from_millis(milliseconds)).written_value();
    assert_eq!((duration(2_000), duration(1_500)), (Some(json!(2)), None), "a field has whole seconds");
}

#[test]
fn an_empty_key_with_a_place_elsewhere_is_a_check_of_many_cases() {
    let origin = |key: &'static str, elsewhere: Option<SourceLocation>| Origin { key: key.into(), line: 1, elsewhere };
    let place = || Some(SourceLocation::file("evals/evals.toml"));
    assert!(origin("", place()).is_of_many_cases());
    assert!(!origin("check", place()).is_of_many_cases());
    assert!(!origin("", None).is_of_many_cases());
}

#[test]
fn some_checks_judge_the_outcome_and_others_are_about_the_skill() {
    for (id, outcome, skill) in [
        ("triggered", false, true),
        ("not-triggered", false, true),
        ("activates", false, true),
        ("invoked-skills", false, true),
        ("tool", false, false),
        ("names-skill: tool", false, true),
        ("names-skill: grader: a", false, true),
        ("grader: a", true, false),
        ("max-commands", false, false),
        ("text", true, false),
        ("file", true, false),
        ("output-schema", true, false),
        ("checks/a.sh: one", true, false),
    ] {
        assert_eq!((checks::judges_outcome(id), checks::asks_for_skill(id)), (outcome, skill), "{id}");
    }
}

#[test]
fn that_there_is_a_final_message_is_said_of_no_other_text() {
    assert!(listed_case(r#"{"text": "final", "exists": true}"#).is_ok());
    for check in [
        r#"{"text": "messages", "exists": true}"#,
        r#"{"text": "final", "exists": true, "not": true}"#,
        r#"{"text": "final", "exists": false}"#,
        r#"{"text": "final", "exists": true, "contains": "a"}"#,
    ] {
        let problems = listed_case(check).expect_err(check);
        assert_eq!(problems[0].message, "`exists` says only that there is a final message", "{check}");
    }
}

#[test]
fn a_cell_has_several_values_if_its_form_is_a_list() {
    use FieldForm::{Commands, Files, Flag, Json, Messages, Paths, Patterns, Tags, Text, Texts};
    for (form, is_list, cell, parts) in [
        (Patterns, true, r"a | b\|c |", &["a", r"b\|c"][..]),
        (Patterns, true, r"a\\|b", &[r"a\\", "b"]),
        (Paths, true, "a; b;", &["a", "b"]),
        (Files, true, "a;b", &["a", "b"]),
        (Tags, true, "a;b", &["a", "b"]),
        (Texts, true, "a;b", &["a;b"]),
        (Commands, true, "ls; cd a\n\nmake", &["ls; cd a", "make"]),
        (Messages, true, r#"["a", " b"]"#, &["a", " b"]),
        (Messages, true, " a [b]", &[" a [b]"]),
        (Messages, true, " ", &[]),
        (Text, false, " a;b ", &["a;b"]),
        (Flag, false, "true", &["true"]),
        (FieldForm::LIMIT, false, "3", &["3"]),
        (Json, false, "[1]", &["[1]"]),
    ] {
        assert_eq!(
            (form.is_list(), form.split(cell)),
            (is_list, parts.iter().map(|&part| part.to_owned()).collect()),
            "{form:?} {cell}"
        );
    }
}

#[test]
fn a_value_that_its_form_does_not_have_says_what_was_expected() {
    let read = |form: FieldForm, text: &str| form.read("it", text, text).map_err(|problem| problem.message);
    let text = |text: &str| Ok(FieldValue::Text(text.to_owned()));
    let status = FieldForm::Number { least: 0, most: 255 };
    let message = "expected a message, or a JSON list of messages";
    for (form, given, expected) in [
        (FieldForm::LIMIT, "+1", Err("expected a whole number, 0 or more")),
        (FieldForm::LIMIT, "7", Ok(FieldValue::Number(7))),
        (status, "256", Err("expected a whole number, 0 to 255")),
        (status, "255", Ok(FieldValue::Number(255))),
        (FieldForm::Messages, " ", Err(message)),
        (FieldForm::Messages, " [\"a\"", Err(message)),
        (FieldForm::Messages, "[a]", text("[a]")),
        (FieldForm::Amount, "0", Ok(FieldValue::Amount(0.0))),
        (FieldForm::Amount, "-0.5", Err("expected an amount, 0 or more")),
        (FieldForm::Amount, "inf", Err("expected an amount, 0 or more")),
        (FieldForm::Amount, "NaN", Err("expected an amount, 0 or more")),
        (FieldForm::Tags, "slow", text("slow")),
        (FieldForm::Tags, "!slow", Err("expected a tag")),
        (FieldForm::Tags, " ", Err("expected a tag")),
    ] {
        let expected = expected.map_err(|expected: &str| format!("`it` is {given}; {expected}"));
        assert_eq!(read(form, given), expected);
    }
}
