//! The list `checks` of a case: every kind, by what a trial left, and mistakes in the list.

use std::collections::BTreeMap;
use std::path::Path;

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value as Json, json};
use skill_evals_cases::cases::case::{Case, task_json};
use skill_evals_cases::checks::pattern::{Pattern, Style};
use skill_evals_cases::checks::{self, FieldForm, field};
use skill_evals_evidence::settings::ActivationRule;
use skill_evals_evidence::trace::{AgentProgress, Mechanism, Step, TraceBuilder};
use skill_evals_evidence::trial::outcome::{CheckResult, Status};
use skill_evals_evidence::trial::span::EventRef;

use crate::grade::{Trial, tell, trial};
use skill_evals_testing::made::{listed, listed_case};
use skill_evals_testing::tables;

const PASS: Status = Status::Pass;
const FAIL: Status = Status::Fail;
const UNKNOWN: Status = Status::Unknown;

/// The result of the check that this object asks for, in a trial that is changed first.
fn result(check: &str, change: impl FnOnce(&mut Trial)) -> CheckResult {
    let check = listed(check);
    let id = check.kind.id;
    let grade = trial(vec![check]).with(change).grade();
    grade
        .checks
        .into_iter()
        .find(|check| check.id.strip_prefix("names-skill: ").unwrap_or(&check.id) == id)
        .unwrap_or_else(|| panic!("no check {id}"))
}

/// Holds the status of each check in a trial that is changed by `change`.
fn hold(change: impl Fn(&mut Trial), checks: &[(&str, Status)]) {
    for (check, status) in checks {
        let result = result(check, &change);
        assert_eq!(result.status, *status, "{check}: {result:#?}");
    }
}

fn push(trial: &mut Trial, step: Step) {
    tell(&mut trial.trace, |told| told.push(step));
}

fn command(trial: &mut Trial, command: &str) {
    tell(&mut trial.trace, |told| told.command(command.to_owned(), Some(0), "done".to_owned()));
}

fn tool(trial: &mut Trial, name: &str, input: &str, output: &str) {
    let (name, input, output) = (name.to_owned(), input.to_owned(), output.to_owned());
    push(trial, Step::Tool { name, input, output, failed: false });
}

fn says(text: &'static str) -> impl Fn(&mut Trial) {
    move |trial| trial.final_text = Some(text)
}

#[test]
fn a_text_of_the_final_message_contains_matches_or_equals() {
    hold(
        says("Ahoy, Ada!"),
        &[
            (r#"{"text": "final", "contains": "Ahoy"}"#, PASS),
            (r#"{"text": "final", "contains": "ahoy"}"#, FAIL),
            (r#"{"text": "final", "contains": "ahoy", "ignoreCase": true}"#, PASS),
            (r#"{"text": "final", "contains": "ahoy", "not": true}"#, PASS),
            (r#"{"text": "final", "contains": ".hoy"}"#, FAIL),
            (r#"{"text": "final", "matches": "^.hoy, \\w+!$"}"#, PASS),
            (r#"{"text": "final", "matches": "^ahoy"}"#, FAIL),
            (r#"{"text": "final", "matches": "^ahoy", "ignoreCase": true}"#, PASS),
            (r#"{"text": "final", "equals": "Ahoy, Ada!"}"#, PASS),
            (r#"{"text": "final", "equals": "Ahoy"}"#, FAIL),
        ],
    );
}

#[test]
fn a_pattern_may_look_ahead_and_refer_back() {
    hold(
        says("Ahoy, Ada! Ahoy!"),
        &[
            (r#"{"text": "final", "matches": "Ahoy(?=, Ada)"}"#, PASS),
            (r#"{"text": "final", "matches": "Ahoy(?!,).*Ada"}"#, FAIL),
            (r#"{"text": "final", "matches": "(?s)^(?!.*sorry)"}"#, PASS),
            (r#"{"text": "final", "matches": "(Ahoy).*\\1"}"#, PASS),
        ],
    );
}

#[test]
fn a_pattern_that_takes_too_many_steps_is_unknown() {
    let text = "a".repeat(40);
    let text: &'static str = text.leak();
    let result = result(r#"{"text": "final", "matches": "(?=(a+)+b)x"}"#, says(text));
    assert_eq!(result.status, FAIL, "an ordinary group takes linear time: {result:#?}");
    let result = self::result(r#"{"text": "final", "matches": "(a|a(?=a)|aa)+b"}"#, says(text));
    assert_eq!((result.status, result.found.as_str()), (UNKNOWN, "the search for the pattern took too many steps"));
}

#[test]
fn a_value_in_a_json_message_is_found_by_its_pointer() {
    let json = r#"{"items": [{"name": "Ada", "age": 36.0}], "ok": true}"#;
    hold(
        says(json),
        &[
            (r#"{"text": "final", "json": "whole"}"#, PASS),
            (r#"{"text": "final", "json": "whole", "not": true}"#, FAIL),
            (r#"{"text": "final", "at": "/items/0/name"}"#, PASS),
            (r#"{"text": "final", "at": "/items/1/name"}"#, FAIL),
            (r#"{"text": "final", "at": "/items/0/name", "equals": "Ada"}"#, PASS),
            (r#"{"text": "final", "at": "/items/0/age", "equals": 36}"#, PASS),
            (r#"{"text": "final", "at": "/items/0/name", "matches": "^B"}"#, FAIL),
            (r#"{"text": "final", "at": "/items", "contains": "Ada"}"#, PASS),
            (r#"{"text": "final", "at": "/ok", "equals": false, "not": true}"#, PASS),
        ],
    );
    hold(
        says("Here: [1, 2] and {\"ok\": true}."),
        &[
            (r#"{"text": "final", "json": "whole"}"#, FAIL),
            (r#"{"text": "final", "json": "within"}"#, PASS),
            (r#"{"text": "final", "json": "within", "at": "/ok", "equals": true}"#, PASS),
            (r#"{"text": "final", "json": "within", "at": "/1", "equals": 2}"#, PASS),
            (r#"{"text": "final", "json": "within", "at": "/2"}"#, FAIL),
        ],
    );
}

#[test]
fn json_is_what_javascript_reads_as_json() {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let read = [deep(128), deep(20_000), "1e999".to_owned(), r#""\ud800""#.to_owned(), r#"{"a":1,"a":2}"#.to_owned()];
    for json in read {
        let (json, shown) = (&*Box::leak(json.clone().into_boxed_str()), json.chars().take(20).collect::<String>());
        let status = |check: &str| result(check, says(json)).status;
        assert_eq!(status(r#"{"text": "final", "json": "whole"}"#), PASS, "{shown}");
        assert_eq!(status(r#"{"text": "final", "json": "whole", "not": true}"#), FAIL, "{shown}");
        // What cannot be compared neither passes nor fails.
        if shown != r#"{"a":1,"a":2}"# {
            assert_eq!(status(r#"{"text": "final", "json": "whole", "equals": 3}"#), UNKNOWN, "{shown}");
            assert_eq!(status(r#"{"text": "final", "json": "whole", "equals": 3, "not": true}"#), UNKNOWN, "{shown}");
        }
    }
    for no_json in ["\u{feff}\u{feff}{}", "\u{a0}{}", "{'a': 1}", "[1,]", "01", "NaN", "{} {}", "\"\t\""] {
        hold(
            says(no_json),
            &[
                (r#"{"text": "final", "json": "whole"}"#, FAIL),
                (r#"{"text": "final", "json": "whole", "not": true}"#, PASS),
            ],
        );
    }
    hold(says(r#"{"a":1,"a":2}"#), &[(r#"{"text": "final", "at": "/a", "equals": 2}"#, PASS)]);
}

#[test]
fn numbers_are_compared_exactly_or_not_at_all() {
    let json = r#"{"id": 9007199254740993, "top": 18446744073709551615, "least": -9223372036854775808, "one": 1.0,
        "large": 18446744073709551617, "list": [1, 18446744073709551617]}"#;
    hold(
        says(json),
        &[
            (r#"{"text": "final", "at": "/id", "equals": 9007199254740993}"#, PASS),
            (r#"{"text": "final", "at": "/id", "equals": 9007199254740992}"#, FAIL),
            (r#"{"text": "final", "at": "/id", "equals": 9007199254740992, "not": true}"#, PASS),
            (r#"{"text": "final", "at": "/top", "equals": 18446744073709551614}"#, FAIL),
            (r#"{"text": "final", "at": "/least", "equals": -9223372036854775808}"#, PASS),
            (r#"{"text": "final", "at": "/one", "equals": 1}"#, PASS),
            (r#"{"text": "final", "at": "/large", "equals": 18446744073709551615}"#, UNKNOWN),
            (r#"{"text": "final", "at": "/large", "equals": 5}"#, FAIL),
            (r#"{"text": "final", "at": "/large", "contains": "617"}"#, UNKNOWN),
            (r#"{"text": "final", "at": "/list", "contains": "617", "not": true}"#, UNKNOWN),
            (r#"{"text": "final", "matches": "\"large\": 18446744073709551617,"}"#, PASS),
        ],
    );
}

#[test]
fn json_may_begin_with_a_byte_order_mark() {
    hold(
        says("\u{feff}{\"ok\": true}\n"),
        &[
            (r#"{"text": "final", "at": "/ok", "equals": true}"#, PASS),
            (r#"{"text": "final", "json": "whole", "not": true}"#, FAIL),
        ],
    );
}

#[test]
fn a_text_is_searched_in_messages_and_outputs_and_points_to_the_event() {
    let steps = |trial: &mut Trial| {
        push(trial, Step::Message("Let me look.".to_owned()));
        tool(trial, "Read", r#"{"file_path": "a.md"}"#, "needle in a haystack");
    };
    hold(
        steps,
        &[
            (r#"{"text": "messages", "contains": "look"}"#, PASS),
            (r#"{"text": "messages", "contains": "Ahoy, Ada!"}"#, PASS),
            (r#"{"text": "messages", "contains": "needle"}"#, FAIL),
            (r#"{"text": "tools", "contains": "needle"}"#, PASS),
            (r#"{"text": "tools", "contains": "needle", "not": true}"#, FAIL),
            (r#"{"text": "tools", "contains": "look"}"#, FAIL),
            (r#"{"text": "all", "contains": "look"}"#, PASS),
            (r#"{"text": "all", "contains": "nothing of it", "not": true}"#, PASS),
        ],
    );
    let found = result(r#"{"text": "tools", "contains": "needle"}"#, steps);
    assert_eq!(found.spans[0].event, EventRef::Step(1));
    assert_eq!(found.spans[0].text.as_ref().map(|text| text.bytes.clone()), Some(0..6));
}

#[test]
fn a_text_that_the_trace_may_lack_is_unknown() {
    let absent = r#"{"text": "tools", "contains": "needle", "not": true}"#;
    let present = r#"{"text": "tools", "contains": "needle"}"#;
    let long = "x".repeat(10_000) + "needle";
    let cut = |trial: &mut Trial| tool(trial, "Read", "{}", &long);
    hold(cut, &[(absent, UNKNOWN), (present, UNKNOWN), (r#"{"text": "tools", "contains": "xxx"}"#, PASS)]);
    hold(|trial| tool(trial, "web_search", "ada", ""), &[(absent, UNKNOWN), (present, UNKNOWN)]);
    hold(|trial| trial.trace.progress = AgentProgress::Answering, &[(absent, UNKNOWN), (present, UNKNOWN)]);
    hold(|trial| trial.trace.damaged_lines = 1, &[(absent, UNKNOWN), (present, UNKNOWN)]);
    hold(|trial| trial.trace.steps_dropped = 1, &[(absent, UNKNOWN), (present, UNKNOWN)]);
}

fn file(path: &str, changed: bool) -> serde_json::Value {
    json!({ "path": path, "size": 5, "changed": changed })
}

/// A trial with these files in its workspace.
fn with_files(files: &'static [(&'static str, &'static str)]) -> impl Fn(&mut Trial) {
    move |trial| {
        let listed: Vec<_> = files.iter().map(|(path, _)| file(path, true)).collect();
        trial.meta.files = serde_json::from_value(listed.into()).expect("files");
        trial.files.workspace = files.to_vec();
    }
}

#[test]
fn a_file_exists_by_its_path_or_by_a_glob() {
    hold(
        with_files(&[("out/a.json", "{}"), ("out/deep/b.json", "{}"), ("notes.md", "hi")]),
        &[
            (r#"{"file": "notes.md"}"#, PASS),
            (r#"{"file": "notes.md", "exists": false}"#, FAIL),
            (r#"{"file": "other.md"}"#, FAIL),
            (r#"{"file": "other.md", "exists": false}"#, PASS),
            (r#"{"file": "out"}"#, PASS),
            (r#"{"file": "out/*.json"}"#, PASS),
            (r#"{"file": "*.json"}"#, FAIL),
            (r#"{"file": "**/b.json"}"#, PASS),
            (r#"{"file": "out/{b,c}.json", "exists": false}"#, PASS),
            (r#"{"file": "**/deep", "exists": false}"#, FAIL),
            (r#"{"file": "*/shallow", "exists": false}"#, PASS),
        ],
    );
}

#[test]
fn a_link_is_neither_there_nor_missing() {
    let with_links = |trial: &mut Trial| {
        with_files(&[("a.md", "Ada")])(trial);
        trial.meta.links = vec!["leak".into(), "out/leak.md".into()];
    };
    hold(
        with_links,
        &[
            (r#"{"file": "leak"}"#, UNKNOWN),
            (r#"{"file": "leak", "exists": false}"#, UNKNOWN),
            (r#"{"file": "leak/b.md", "exists": false}"#, UNKNOWN),
            (r#"{"file": "out", "exists": false}"#, UNKNOWN),
            (r#"{"file": "leak", "contains": "root", "not": true}"#, UNKNOWN),
            (r#"{"file": "**/*.md", "contains": "Bob", "not": true}"#, UNKNOWN),
            (r#"{"file": "**/*.txt", "exists": false}"#, PASS),
            (r#"{"file": "leaks", "exists": false}"#, PASS),
            (r#"{"file": "*.md", "contains": "Ada"}"#, PASS),
        ],
    );
}

#[test]
fn the_content_of_a_file_is_tested() {
    hold(
        with_files(&[("out/a.json", r#"{"n": 1}"#), ("out/b.json", r#"{"n": 2}"#), ("notes.md", "Ahoy\n")]),
        &[
            (r#"{"file": "notes.md", "contains": "Ahoy"}"#, PASS),
            (r#"{"file": "notes.md", "contains": "ahoy"}"#, FAIL),
            (r#"{"file": "notes.md", "contains": "ahoy", "not": true}"#, PASS),
            (r#"{"file": "notes.md", "matches": "(?m)^Ahoy$"}"#, PASS),
            (r#"{"file": "other.md", "contains": "Ahoy"}"#, FAIL),
            (r#"{"file": "other.md", "contains": "Ahoy", "not": true}"#, FAIL),
            (r#"{"file": "out/*.json", "at": "/n", "equals": 2}"#, PASS),
            (r#"{"file": "out/*.json", "at": "/n", "equals": 3}"#, FAIL),
            (r#"{"file": "out/*.json", "at": "/n", "equals": 2, "not": true}"#, FAIL),
        ],
    );
}

#[test]
fn a_file_whose_content_is_not_stored_is_unknown() {
    let unstored = |trial: &mut Trial| {
        with_files(&[("big.bin", "")])(trial);
        trial.files.workspace.clear();
    };
    hold(
        unstored,
        &[
            (r#"{"file": "big.bin"}"#, PASS),
            (r#"{"file": "big.bin", "contains": "x"}"#, UNKNOWN),
            (r#"{"file": "big.bin", "contains": "x", "not": true}"#, UNKNOWN),
        ],
    );
    let truncated = |trial: &mut Trial| trial.meta.files_truncated = true;
    let absent = r#"{"file": "*.md", "exists": false}"#;
    hold(truncated, &[(r#"{"file": "*.md"}"#, UNKNOWN), (absent, UNKNOWN)]);
    hold(|trial| trial.trace.progress = AgentProgress::Answering, &[(r#"{"file": "a"}"#, UNKNOWN), (absent, UNKNOWN)]);
}

#[test]
fn a_snapshot_shows_the_lines_that_differ() {
    let check = r#"{"file": "notes.md", "snapshot": "expected/notes.md"}"#;
    let with = |repository: &'static str| {
        move |trial: &mut Trial| {
            with_files(&[("notes.md", "Ahoy\nAda\n")])(trial);
            trial.files.repository = vec![("expected/notes.md", repository)];
        }
    };
    assert_eq!(result(check, with("Ahoy\nAda\n")).status, PASS);
    let differs = result(check, with("Ahoy\nBea\n"));
    assert_eq!(differs.status, FAIL);
    assert_eq!(differs.found, "--- expected/notes.md\n+++ notes.md\n@@ -1,2 +1,2 @@\n Ahoy\n-Bea\n+Ada");
    assert_eq!(result(check, with_files(&[("notes.md", "")])).status, UNKNOWN, "there is no snapshot");
}

#[test]
fn tools_are_called_so_often_and_with_such_inputs() {
    let steps = |trial: &mut Trial| {
        tool(trial, "Read", r#"{"file_path": "a.md"}"#, "a");
        tool(trial, "mcp__github__search", r#"{"query": "Ada"}"#, "b");
        tool(trial, "Read", r#"{"file_path": "b.md"}"#, "c");
    };
    hold(
        steps,
        &[
            (r#"{"tool": "Read"}"#, PASS),
            (r#"{"tool": "read"}"#, FAIL),
            (r#"{"tool": "Write"}"#, FAIL),
            (r#"{"tool": "Write", "not": true}"#, PASS),
            (r#"{"tool": "mcp__github__*", "not": true}"#, FAIL),
            (r#"{"tool": "Read", "atLeast": 2, "atMost": 2}"#, PASS),
            (r#"{"tool": "Read", "atLeast": 3}"#, FAIL),
            (r#"{"tool": "Read", "atMost": 1}"#, FAIL),
            (r#"{"tool": "Read", "at": "/file_path", "equals": "b.md"}"#, PASS),
            (r#"{"tool": "Read", "at": "/file_path", "matches": "^c"}"#, FAIL),
            (r#"{"tool": "mcp__*", "contains": "Ada"}"#, PASS),
            (r#"{"tool": "Read", "contains": "a.md", "not": true}"#, FAIL),
        ],
    );
    let called = result(r#"{"tool": "Read", "at": "/file_path", "equals": "b.md"}"#, steps);
    assert_eq!(called.spans[0].event, EventRef::Step(2));
}

#[test]
fn a_shell_tool_counts_by_its_own_name_and_a_nameless_one_is_unknown() {
    let named = |trial: &mut Trial| {
        let mut builder = TraceBuilder::default();
        *builder = std::mem::take(&mut trial.trace);
        builder.now.tool = Some("Bash".to_owned());
        builder.now.input = Some(r#"{"command": "ls"}"#.to_owned());
        builder.command("ls".to_owned(), Some(0), "a".to_owned());
        trial.trace = builder.finish();
    };
    let bash = r#"{"tool": "Bash", "at": "/command", "equals": "ls"}"#;
    hold(named, &[(bash, PASS), (r#"{"tool": "Write", "not": true}"#, PASS)]);
    // The trial is one of codex, whose shell tools have other names.
    let shell = r#"{"tool": "*shell*", "not": true}"#;
    hold(|trial| command(trial, "ls"), &[(bash, FAIL), (r#"{"tool": "exec_command"}"#, UNKNOWN), (shell, UNKNOWN)]);
}

#[test]
fn a_nameless_call_counts_if_any_tool_is_meant_whatever_its_input_is() {
    let (most, none) = (r#"{"tool": "*", "atMost": 1}"#, r#"{"tool": "*", "not": true}"#);
    let input = r#"{"tool": "*", "contains": "ls", "not": true}"#;
    hold(|trial| command(trial, "ls"), &[(most, PASS), (none, FAIL), (input, UNKNOWN)]);
}

#[test]
fn a_pattern_for_a_script_sees_its_pipes_and_counts_only_if_a_command_matches_too() {
    let status = |pattern: &str, is_required| {
        let pattern = Pattern { text: pattern.to_owned(), style: Style::Exact };
        let script = |trial: &mut Trial| command(trial, "bash -lc 'cd x && curl a.sh | sh'");
        let grade = trial(vec![checks::script_command(pattern, is_required)]).with(script).grade();
        grade.checks.into_iter().find(|check| check.id == "command").expect("the check").status
    };
    for (pattern, required, forbidden) in [
        ("curl.*sh", PASS, FAIL),
        (r"curl .* \| sh", UNKNOWN, FAIL),
        ("^curl", FAIL, FAIL),
        ("^cd x", PASS, FAIL),
        ("wget", FAIL, PASS),
    ] {
        assert_eq!((status(pattern, true), status(pattern, false)), (required, forbidden), "{pattern}");
    }
}

#[test]
fn commands_are_found_by_the_grammar_of_the_shell() {
    let steps = |trial: &mut Trial| {
        command(trial, "cd x && CI=1 timeout 10 cargo test --all | tail -3");
        command(trial, "bash -lc 'git status'");
        command(trial, "echo npm install");
    };
    hold(
        steps,
        &[
            (r#"{"command": "^cargo test"}"#, PASS),
            (r#"{"command": "^cargo test --all$"}"#, PASS),
            (r#"{"command": "^git "}"#, PASS),
            (r#"{"command": "^npm install"}"#, FAIL),
            (r#"{"command": "^npm install", "not": true}"#, PASS),
            (r#"{"command": "^(cargo|git) ", "atMost": 1}"#, FAIL),
        ],
    );
    let hidden = |trial: &mut Trial| command(trial, "sh -c \"$(cat run.sh)\" # npm install");
    hold(hidden, &[(r#"{"command": "^npm"}"#, FAIL), (r#"{"command": "npm install", "not": true}"#, UNKNOWN)]);
    for script in [
        "eval 'npm install'",
        "sudo npm install",
        "env CI=1 npm install",
        "ls | xargs npm install",
        "bash <<EOF\nnpm install\nEOF",
    ] {
        hold(|trial| command(trial, script), &[(r#"{"command": "^npm install", "not": true}"#, UNKNOWN)]);
    }
    let long = format!("npm install; echo {}", "x".repeat(5_000));
    let cut = |trial: &mut Trial| command(trial, &long);
    hold(cut, &[(r#"{"command": "npm", "atMost": 3}"#, UNKNOWN), (r#"{"command": "npm", "atLeast": 2}"#, UNKNOWN)]);
    let unreported = |trial: &mut Trial| trial.trace.unreported_commands = 1;
    hold(unreported, &[(r#"{"command": "^npm"}"#, UNKNOWN), (r#"{"command": "^npm", "not": true}"#, UNKNOWN)]);
}

#[test]
fn a_sequence_holds_when_its_calls_come_in_this_order() {
    let steps = |trial: &mut Trial| {
        tool(trial, "Read", "{}", "a");
        tool(trial, "Grep", "{}", "b");
        command(trial, "cargo build && cargo test");
        tool(trial, "Edit", "{}", "c");
    };
    hold(
        steps,
        &[
            (r#"{"sequence": ["Read", "Edit"]}"#, PASS),
            (r#"{"sequence": ["Edit", "Read"]}"#, FAIL),
            (r#"{"sequence": ["Read", "$ ^cargo build", "$ ^cargo test", "Edit"]}"#, PASS),
            (r#"{"sequence": ["$ ^cargo test", "$ ^cargo build"]}"#, FAIL),
        ],
    );
    let unreported = |trial: &mut Trial| {
        steps(trial);
        trial.trace.unreported_commands = 1;
    };
    hold(unreported, &[(r#"{"sequence": ["Read", "$ ^npm"]}"#, UNKNOWN), (r#"{"sequence": ["Read", "Write"]}"#, FAIL)]);
    let missing = result(r#"{"sequence": ["Read", "Edit", "Write"]}"#, steps);
    assert_eq!(missing.found, "2 of 3, then no `Write`");
}

#[test]
fn skills_are_activated_in_an_order_or_rejected() {
    let both = |trial: &mut Trial| {
        tell(&mut trial.trace, |told| told.activate("other", Mechanism::ReadSkillFile, "cat other/SKILL.md"));
    };
    hold(
        both,
        &[
            (r#"{"activates": ["other", "Greeting"]}"#, PASS),
            (r#"{"activates": ["other", "greeting"], "inOrder": true}"#, FAIL),
            (r#"{"activates": ["greeting", "other"], "inOrder": true}"#, PASS),
            (r#"{"activates": ["third"]}"#, FAIL),
            (r#"{"activates": ["third", "greeting"], "any": true}"#, PASS),
            (r#"{"activates": ["third", "fourth"], "any": true}"#, FAIL),
            (r#"{"activates": ["*"]}"#, PASS),
            (r#"{"activates": []}"#, FAIL),
            (r#"{"rejects": ["third"]}"#, PASS),
            (r#"{"rejects": ["other"]}"#, FAIL),
            (r#"{"rejects": ["*"]}"#, FAIL),
        ],
    );
}

#[test]
fn no_skill_is_active_unless_a_call_that_was_to_load_one_failed() {
    let none = r#"{"activates": []}"#;
    let any = r#"{"activates": ["*"]}"#;
    hold(|trial| trial.trace.activations.clear(), &[(none, PASS), (r#"{"rejects": ["other"]}"#, PASS), (any, FAIL)]);
    let failed = |trial: &mut Trial| {
        trial.trace.activations.clear();
        tell(&mut trial.trace, |told| told.failed_load("other", Mechanism::SkillTool, "Skill other"));
    };
    let rejects = r#"{"rejects": ["other"]}"#;
    hold(failed, &[(none, UNKNOWN), (rejects, UNKNOWN), (any, UNKNOWN), (r#"{"activates": ["other"]}"#, UNKNOWN)]);
}

#[test]
fn turns_are_limited_by_the_agents_own_count() {
    let turns = |count| move |trial: &mut Trial| trial.trace.turns = count;
    hold(turns(Some(3)), &[(r#"{"maxTurns": 3}"#, PASS), (r#"{"maxTurns": 2}"#, FAIL)]);
    hold(turns(None), &[(r#"{"maxTurns": 3}"#, UNKNOWN)]);
}

/// The one problem of a list with this object: its message, what it marks, and its help.
fn mistake(check: &str) -> String {
    let problems = listed_case(check).expect_err(check);
    let [problem] = problems.as_slice() else { panic!("{check}: {problems:#?}") };
    let excerpt = problem.place.excerpt.as_ref().expect("an excerpt");
    let help = problem.help.as_ref().map_or_else(String::new, |help| format!("\nhelp {help}"));
    format!("{}\nmark {}{help}", problem.message, &excerpt.text[excerpt.mark.clone()])
}

tables! {
    mistake => a_mistake_in_the_list_is_reported_with_its_place_and_what_to_write;
}

/// Any value of this form, as JSON.
fn written_value(form: FieldForm) -> BoxedStrategy<Json> {
    let text = || prop::sample::select(&["Ada", "a.b", "*.md", "out/**/x", "$ ^ls", "(a|b)+", "\"q\"\n", "ü "][..]);
    match form {
        FieldForm::Flag => any::<bool>().prop_map(Json::from).boxed(),
        FieldForm::Number { least, most } => (least..=most.min(least + 3)).prop_map(Json::from).boxed(),
        FieldForm::Choice(words) => prop::sample::select(words).prop_map(Json::from).boxed(),
        FieldForm::Texts => prop::collection::vec(text(), 0..3).prop_map(Json::from).boxed(),
        FieldForm::Pointer => prop::sample::select(&["", "/a", "/0/~1"][..]).prop_map(Json::from).boxed(),
        FieldForm::Json => {
            let values = vec![json!("Ada"), json!(1), json!(1.5), json!(null), json!({ "a": [true] })];
            prop::sample::select(values).boxed()
        }
        _ => text().prop_map(Json::from).boxed(),
    }
}

/// An object of the list: the key of a kind and any of its options. Not every one is a check.
fn written_check() -> impl Strategy<Value = Json> {
    prop::sample::select(field::listed().map(|(_, form)| form).collect::<Vec<_>>()).prop_flat_map(|form| {
        let keys: Vec<_> = form.keys().collect();
        let values: Vec<_> = keys.iter().map(|(_, form)| written_value(*form)).collect();
        (values, prop::collection::vec(prop::bool::weighted(0.3), keys.len())).prop_map(move |(values, chosen)| {
            let entries = keys.iter().zip(values).zip(chosen).enumerate();
            let entries = entries.filter(|(at, (_, chosen))| *at == 0 || *chosen);
            entries.map(|(_, (((key, _), value), _))| ((*key).to_owned(), value)).collect::<Map<_, _>>().into()
        })
    })
}

fn meanings(case: &Case) -> Vec<String> {
    case.checks.iter().map(|check| format!("{} {:?}", check.kind.id, check.ask)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn checks_that_are_written_and_read_again_are_the_same(objects in prop::collection::vec(written_check(), 1..6)) {
        let objects: Vec<String> = objects.iter().map(Json::to_string).filter(|text| listed_case(text).is_ok()).collect();
        if let Ok(case) = listed_case(&objects.join(", ")) {
            let path = Path::new("evals/tasks/it.json");
            let text = task_json::written(&case, &task_json::FORMAT, path).expect("a task can say it");
            let read = task_json::parse(Path::new(""), path, text.as_bytes()).expect("a task");
            prop_assert_eq!(meanings(&read), meanings(&case));
            prop_assert_eq!(read.checks.len(), objects.len() + 1);
        }
    }
}

#[test]
fn every_kind_of_check_that_the_list_can_have_can_be_written() {
    let mut runner = TestRunner::deterministic();
    let mut kinds = BTreeMap::new();
    for _ in 0..2_000 {
        let object = written_check().new_tree(&mut runner).expect("an object").current().to_string();
        for check in
            listed_case(&object).into_iter().flat_map(|case| case.checks).filter(|check| check.kind.listed.is_some())
        {
            assert!(check.written_object().is_some(), "{object}");
            *kinds.entry(check.kind.id).or_insert(0) += 1;
        }
    }
    assert!(kinds.len() == field::listed().count() && kinds.values().all(|count| *count > 20), "{kinds:?}");
}

#[test]
fn what_a_required_pattern_of_a_whole_script_means_is_kept() {
    for (count, required) in [("", true), (", \"not\": true", false)] {
        let read = listed(&format!("{{\"command\": \"^ls\"{count}, \"wholeScript\": true}}"));
        let pattern = Pattern { text: "^ls".to_owned(), style: Style::Exact };
        assert_eq!(format!("{:?}", read.ask), format!("{:?}", checks::script_command(pattern, required).ask));
    }
}

#[test]
fn a_task_says_the_rule_of_activation_that_it_does_not_have_by_default() {
    let (task, neutral) = (&task_json::FORMAT, &task_json::NEUTRAL);
    for (format, rule, word) in [
        (task, ActivationRule::Tool, None),
        (task, ActivationRule::Content, Some("content")),
        (neutral, ActivationRule::Tool, Some("tool")),
        (neutral, ActivationRule::Content, None),
    ] {
        let mut case = listed_case(r#"{"text": "final", "contains": "x"}"#).expect("a case");
        case.default_activation = rule;
        let text = task_json::written(&case, format, Path::new("evals/tasks/it.json")).expect("a task can say it");
        let written: Json = serde_json::from_str(&text).expect("JSON");
        assert_eq!(written["evalConfig"]["activation"].as_str(), word, "{text}");
    }
}
