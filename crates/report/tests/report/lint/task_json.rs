//! Faults in a task file.

use skill_evals_testing::fixture::Fixture;
use skill_evals_testing::lint::{TASK, assert_only};

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
    // Of the keys that a task cannot do without that is one too few.
    for (text, key, at) in [
        (r#"{ "prompt": null, "evalConfig": { "expectedSkillName": "tidy" } }"#, "prompt", "1:1"),
        (r#"{ "prompt": "Do it", "evalConfig": null }"#, "evalConfig", "1:1"),
        (
            r#"{ "prompt": "Do it", "evalConfig": { "expectedSkillName": null } }"#,
            "evalConfig.expectedSkillName",
            "1:36",
        ),
    ] {
        let problem = format!("evals/tasks/bad.json:{at}: [missing-key] the key `{key}` is missing");
        assert_only(&with_task(text), &problem, &["bad"]);
    }
}

#[test]
fn a_timeout_and_a_limit_on_turns_are_whole_numbers_within_bounds() {
    let with = |more: &str| {
        let text =
            format!("{{ \"prompt\": \"Do it\", \"evalConfig\": {{ \"expectedSkillName\": \"tidy\", {more} }} }}");
        with_task(&text)
    };
    let fixture = with("\"timeoutS\": 60, \"maxTurns\": 4");
    let catalog = fixture.catalog();
    let found = catalog.cases.iter().find(|found| found.id == "bad").expect("the task");
    let case = found.case().expect("a case");
    assert_eq!((case.timeout.map(|time| time.as_secs()), case.max_turns), (Some(60), Some(4)));
    for (more, message) in [
        ("\"timeoutS\": 0", "`evalConfig.timeoutS` is 0; expected a whole number, 1 to 86400"),
        ("\"timeoutS\": 1.5", "`evalConfig.timeoutS` is 1.5; expected a whole number, 1 to 86400"),
        ("\"maxTurns\": 10001", "`evalConfig.maxTurns` is 10001; expected a whole number, 1 to 10000"),
    ] {
        let (fixture, lines) = (with(more), with(more).lines());
        assert!(lines.ends_with(&format!("[bad-number] {message}\n")) && lines.lines().count() == 1, "{lines}");
        assert_eq!(fixture.broken_cases(), ["bad"]);
    }
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
fn missing_keys_are_named_at_the_object_that_lacks_them() {
    assert_only(
        &with_task(r#"{ "prompt": "Do it", "evalConfig": {} }"#),
        "evals/tasks/bad.json:1:36: [missing-key] the key `evalConfig.expectedSkillName` is missing",
        &["bad"],
    );
    assert_only(
        &with_task(r#"{ "prompt": "Do it" }"#),
        "evals/tasks/bad.json:1:1: [missing-key] the key `evalConfig` is missing",
        &["bad"],
    );
}

#[test]
fn text_that_is_no_json_is_marked_where_it_stops_being_json() {
    assert_only(&with_task("{\n  \"prompt\": \"Do it\",\n}\n"), "evals/tasks/bad.json:2:20: [json-syntax]", &["bad"]);
    assert_only(&with_task(""), "evals/tasks/bad.json:1:1: [json-syntax] the file is empty", &["bad"]);
    assert_only(&with_task("{ // no\n }"), "evals/tasks/bad.json:1:3: [json-syntax]", &["bad"]);
    assert_only(&with_task("[1]"), "evals/tasks/bad.json:1:1: [value-type] the file is an array", &["bad"]);
    assert_only(
        &with_task(r#"{ "prompt": "a", "prompt": "b", "evalConfig": { "expectedSkillName": "tidy" } }"#),
        "evals/tasks/bad.json:1:18: [unknown-key] duplicate key `prompt`",
        &["bad"],
    );
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

#[test]
fn a_change_that_cannot_be_made_is_told_at_its_place() {
    for (during, problem) in [
        ("5", "1:77: [value-type] `evalConfig.during` is a number; expected a list of changes"),
        ("[5]", "1:78: [value-type] a change is a number; expected an object"),
        (r#"[{ "afterTurn": 1 }]"#, "1:78: [missing-key] a change says one of `add`, `edit`, `remove`"),
        (r#"[{ "afterTurn": 1, "add": "a", "edit": "b" }]"#, "1:78: [missing-key] a change says one of"),
        (r#"[{ "remove": "tidy" }]"#, "1:78: [missing-key] the key `evalConfig.during.afterTurn` is missing"),
        (
            r#"[{ "afterTurn": 0, "remove": "tidy" }]"#,
            "1:93: [bad-number] `evalConfig.during.afterTurn` is 0; expected a whole number, 1 to 10000",
        ),
        (
            r#"[{ "afterTurn": 1, "remove": "tidy", "expectSeen": 1 }]"#,
            "1:128: [value-type] `evalConfig.during.expectSeen` is a number; expected true or false",
        ),
        (r#"[{ "afterTurn": 1, "drop": "tidy" }]"#, "1:96: [unknown-key] unknown key `drop`"),
        (
            r#"[{ "afterTurn": 1, "add": "../flags" }]"#,
            "1:103: [bad-path] `evalConfig.during.add`: \"../flags\" leaves",
        ),
        (r#"[{ "afterTurn": 1, "add": "evals/none" }]"#, "1:103: [bad-change] the directory evals/none does not exist"),
        (
            r#"[{ "afterTurn": 1, "add": "evals/changes/empty" }]"#,
            "1:103: [bad-change] the directory evals/changes/empty has no SKILL.md",
        ),
        (
            r#"[{ "afterTurn": 1, "add": "evals/changes/other" }]"#,
            "1:103: [bad-change] the skill in evals/changes/other is called `flags`",
        ),
        (r#"[{ "afterTurn": 1, "add": "skills/tidy" }]"#, "1:103: [bad-change] the skill `tidy` exists already"),
        (
            r#"[{ "afterTurn": 1, "edit": "evals/changes/flags" }]"#,
            "1:104: [bad-change] the skill `flags` does not exist by then",
        ),
        (
            r#"[{ "afterTurn": 1, "remove": "flags" }, { "afterTurn": 2, "add": "evals/changes/flags" }]"#,
            "1:106: [bad-change] the skill `flags` does not exist by then",
        ),
    ] {
        let fixture = with_changes(during);
        let lines = fixture.lines();
        assert!(lines.contains(&format!("evals/tasks/bad.json:{problem}")), "{during}: {lines}");
    }
}

#[test]
fn a_nul_character_in_what_a_program_is_given_is_found_at_its_place() {
    for (text, key) in [
        (r#"{ "prompt": "Do\u0000it", "evalConfig": { "expectedSkillName": "tidy" } }"#, "prompt"),
        (r#"{ "prompt": "Do it", "evalConfig": { "expectedSkillName": "tidy", "setup": ["a\u0000"] } }"#, "setup"),
        (
            r#"{ "prompt": "Do it", "evalConfig": { "expectedSkillName": "tidy", "followUps": ["a\u0000"] } }"#,
            "follow_ups",
        ),
        (
            r#"{ "prompt": "Do it", "evalConfig": { "expectedSkillName": "tidy", "history":
                [{ "role": "user", "content": "a\u0000" }, { "role": "assistant", "content": "b" }] } }"#,
            "history",
        ),
        (
            r#"{ "prompt": "Do it", "evalConfig": { "expectedSkillName": "tidy", "user": { "goal": "a\u0000" } } }"#,
            "user",
        ),
    ] {
        let lines = with_task(text).lines();
        let problem = format!("[value-type] `{key}` has a NUL character, which no program can be given");
        assert!(lines.starts_with("evals/tasks/bad.json:") && lines.contains(&problem), "{lines}");
    }
}
