//! Faults in a task file.

use skill_evals_testing::fixture::Fixture;
use skill_evals_testing::lint::{TASK, assert_only};
use skill_evals_testing::tables;

fn with_task(text: &str) -> Fixture {
    Fixture::new().skill("tidy").task("good", TASK).task("bad", text)
}

#[test]
fn a_wrong_type_three_levels_down_is_marked_at_the_value() {
    let fixture = with_task(
        "{\n  \"prompt\": \"Do it\",\n  \"evalConfig\": {\n    \"expectedSkillName\": { \"name\": [\"tidy\"] }\n  }\n}\n",
    );
    assert_only(
        &fixture,
        "evals/tasks/bad.json:4:26: [value-type] `evalConfig.expectedSkillName` is an object; expected a string",
        &["bad"],
    );
    insta::assert_snapshot!(fixture.drawn());
}

#[test]
fn every_key_with_a_wrong_type_is_told() {
    let fixture = with_task(
        r#"{ "prompt": 5, "systemPrompt": 1, "evalConfig": { "expectedSkillName": "tidy",
           "expectedOutput": [], "expectedOutputPattern": true, "expectResourceLoad": "yes", "expectDescribed": 1, "timeoutS": "1", "maxTurns": [] } }"#,
    );
    let codes: Vec<&str> = fixture.problems().iter().map(|problem| problem.code.as_str()).collect();
    assert_eq!(codes, ["value-type"; 8]);
}

#[test]
fn a_key_that_is_null_is_absent() {
    let keys = [
        "expectedOutput",
        "expectedOutputPattern",
        "expectResourceLoad",
        "expectDescribed",
        "trials",
        "threshold",
        "timeoutS",
        "maxTurns",
        "during",
    ];
    let nulls = keys.map(|key| format!(", \"{key}\": null")).concat();
    let text = format!(
        "{{ \"prompt\": \"Do it\", \"systemPrompt\": null, \"evalConfig\": {{ \"expectedSkillName\": \"tidy\"{nulls} }} }}"
    );
    let fixture = with_task(&text);
    assert_eq!((fixture.lines().as_str(), fixture.good_cases()), ("", vec!["bad".to_owned(), "good".to_owned()]));
}

#[test]
fn a_timeout_and_a_limit_on_turns_are_whole_numbers() {
    let fixture = with_task(&TASK.replace("\"tidy\"", "\"tidy\", \"timeoutS\": 60, \"maxTurns\": 4"));
    let catalog = fixture.catalog();
    let found = catalog.cases.iter().find(|found| found.id == "bad").expect("the task");
    let case = found.case().expect("a case");
    assert_eq!((case.timeout.map(|time| time.as_secs()), case.max_turns), (Some(60), Some(4)));
}

#[test]
fn unknown_keys_come_with_the_one_that_was_meant() {
    let fixture = with_task(
        "{\n  \"prompt\": \"Do it\",\n  \"sytemPrompt\": \"x\",\n  \"evalConfig\": { \"expectedSkillName\": \"tidy\", \"expectedOutputs\": \"x\" }\n}\n",
    );
    insta::assert_snapshot!(fixture.drawn());
    assert_eq!(fixture.good_cases(), ["good"]);
}

#[test]
fn a_hundred_thousand_brackets_are_an_error_and_no_crash() {
    let fixture = with_task(&"[".repeat(100_000));
    assert_only(&fixture, "evals/tasks/bad.json:1:", &["bad"]);
    let fixture = with_task(&"{\"a\":".repeat(100_000));
    assert_only(&fixture, "evals/tasks/bad.json:1:", &["bad"]);
}

#[test]
fn latin_1_and_a_byte_order_mark() {
    let fixture = Fixture::new().skill("tidy").task("good", TASK).task("bad", b"{ \"prompt\": \"Caf\xe9\" }");
    assert_only(&fixture, "evals/tasks/bad.json:1:17: [not-utf8]", &["bad"]);
    assert_eq!(with_task(&format!("\u{feff}{TASK}")).lines(), "");
}

#[test]
fn a_skill_that_is_not_there_is_named_with_the_one_that_was_meant() {
    let fixture = with_task(r#"{ "prompt": "Do it", "evalConfig": { "expectedSkillName": "tidi" } }"#);
    assert_only(&fixture, "evals/tasks/bad.json:1:3: [unknown-skill]", &["bad"]);
    assert!(fixture.drawn().contains("did you mean `tidy`?"));
}

#[test]
fn empty_values_bad_patterns_and_bad_names() {
    assert_only(
        &with_task(r#"{ "prompt": " ", "evalConfig": { "expectedSkillName": "tidy" } }"#),
        "evals/tasks/bad.json:1:13: [empty-value]",
        &["bad"],
    );
    assert_only(
        &with_task(
            r#"{ "prompt": "Do it", "evalConfig": { "expectedSkillName": "tidy", "expectedOutputPattern": "(?=a" } }"#,
        ),
        "evals/tasks/bad.json:1:92: [bad-regex]",
        &["bad"],
    );
    let fixture = Fixture::new().skill("tidy").task("good", TASK).task("a:b", TASK);
    assert_only(&fixture, "evals/tasks/a:b.json: [case-id]", &["a_b"]);
}

/// A repository with a task that asks for these changes, and two skills to change to.
fn with_changes(during: &str) -> Fixture {
    let flags = "---\nname: flags\ndescription: Waves flags at ships.\n---\n\nWave twice.\n";
    with_task(&format!(
        r#"{{ "prompt": "Do it", "evalConfig": {{ "expectedSkillName": "tidy", "during": {during} }} }}"#
    ))
    .file("evals/changes/flags/SKILL.md", flags)
    .file("evals/changes/other/SKILL.md", flags)
    .file("evals/changes/empty/README.md", "")
}

#[test]
fn changes_in_mid_session_are_made_in_the_order_of_their_turns() {
    for during in [
        "[]",
        r#"[{ "afterTurn": 1, "add": "evals/changes/flags", "expectSeen": true }]"#,
        r#"[{ "afterTurn": 2, "remove": "flags" }, { "afterTurn": 1, "add": "evals/changes/flags" }]"#,
        r#"[{ "afterTurn": 1, "remove": "tidy" }, { "afterTurn": 1, "add": "./evals/changes/flags/", "edit": null }]"#,
    ] {
        let fixture = with_changes(during);
        assert_eq!((fixture.lines().as_str(), fixture.good_cases().len()), ("", 2), "{during}");
    }
}

/// What lint says of a task, and which tasks are broken.
fn told(text: &str) -> String {
    let fixture = with_task(text);
    let lines = fixture.lines();
    let (broken, problems) = (fixture.broken_cases().join(", "), lines.lines().count());
    assert!(fixture.good_cases().contains(&"good".to_owned()), "the other cases are still there");
    format!("{lines}{problems} problem; broken: {broken}")
}

/// The same of a task with a key more.
fn with_key(key: &str) -> String {
    told(&format!(r#"{{ "prompt": "Do it", "evalConfig": {{ "expectedSkillName": "tidy", {key} }} }}"#))
}

tables! {
    |during| with_changes(during).lines() => a_change_that_cannot_be_made_is_told_at_its_place;
    told =>
        missing_keys_are_named_at_the_object_that_lacks_them,
        text_that_is_no_json_is_marked_where_it_stops_being_json,
        a_nul_character_in_what_a_program_is_given_is_found_at_its_place;
    with_key => a_number_out_of_bounds_is_told_with_them;
}
