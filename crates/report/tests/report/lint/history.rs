//! The conversation before a prompt: what no session can start from, and what would give the skill away.

use skill_evals_testing::fixture::Fixture;
use skill_evals_testing::lint::{assert_only, with_row};

const BODY: &str = "Write the number of the version first, then one line for each change that a user can see.";

fn with_history(history: &str) -> Fixture {
    let task = r#"{ "prompt": "Do it", "evalConfig": { "expectedSkillName": "tidy" } }"#;
    let bad =
        format!(r#"{{ "prompt": "Do it", "evalConfig": {{ "expectedSkillName": "tidy", "history": {history} }} }}"#);
    let skill = format!("---\nname: tidy\ndescription: Does what tidy does.\n---\n\n{BODY}\n");
    Fixture::new().skill_text("tidy", skill).task("good", task).task("bad", &bad)
}

#[test]
fn a_history_that_no_session_can_start_from_is_told_at_its_place() {
    let asked = r#"{ "role": "user", "content": "Hello" }"#;
    let answered = r#"{ "role": "assistant", "content": "Hi" }"#;
    for (history, problem) in [
        ("5".to_owned(), "1:78: [value-type] `evalConfig.history` is a number; expected a list of messages"),
        ("[]".to_owned(), "1:78: [empty-value] `evalConfig.history` is an empty list"),
        (r#"["Hello"]"#.to_owned(), "1:79: [value-type] a message is a string; expected an object"),
        (format!("[{asked}]"), "1:79: [bad-history] the last message of `evalConfig.history` has no answer"),
        (
            format!("[{answered}, {asked}]"),
            "1:89: [bad-history] message 1 of `evalConfig.history` is not of the `user`",
        ),
        (
            format!("[{asked}, {asked}]"),
            "1:129: [bad-history] message 2 of `evalConfig.history` is not of the `assistant`",
        ),
        (
            r#"[{ "role": "system", "content": "Be kind." }]"#.to_owned(),
            "1:89: [bad-choice] `evalConfig.history.role` is system; expected user or assistant",
        ),
        (r#"[{ "content": "Hello" }]"#.to_owned(), "1:79: [missing-key] the key `role` is missing"),
        (r#"[{ "role": "user", "content": " " }]"#.to_owned(), "1:108: [empty-value] `evalConfig.history.content`"),
        (
            r#"[{ "role": "user", "content": [{ "type": "text" }] }]"#.to_owned(),
            "1:108: [value-type] `evalConfig.history.content` is an array; expected a string",
        ),
        (r#"[{ "role": "user", "text": "Hello" }]"#.to_owned(), "1:97: [unknown-key] unknown key `text`"),
    ] {
        let fixture = with_history(&history);
        let lines = fixture.lines();
        assert!(lines.contains(&format!("evals/tasks/bad.json:{problem}")), "{history}: {lines}");
        assert_eq!(fixture.broken_cases(), ["bad"], "{history}");
    }
}

#[test]
fn a_history_with_the_text_of_a_skill_keeps_the_case_from_running() {
    let history = |answer: &str| {
        format!(r#"[{{ "role": "user", "content": "Hello" }}, {{ "role": "assistant", "content": "{answer}" }}]"#)
    };
    let given = with_history(&history(&format!("I read this: {BODY}")));
    let lines = given.lines();
    let problem = "evals/tasks/bad.json:1:78: [bad-history] `history` has the text of the skill `tidy`";
    assert!(lines.starts_with(problem), "{lines}");
    assert_eq!(with_history(&history("One line for each change, as a user of tidy asked.")).lines(), "");
}

#[test]
fn a_row_has_its_history_in_its_cell_or_in_a_file() {
    let asked = r#"[{""role"": ""user"", ""content"": ""Hello""}]"#;
    let in_cell = with_row(",history", &format!("mid,true,Do it,\"{asked}\""));
    assert_only(&in_cell, "evals/skills/tidy/prompts.csv:3:16: [bad-history] the last message", &["mid"]);
    let in_file = with_row(",history", "mid,true,Do it,before.json")
        .file("evals/skills/tidy/before.json", asked.replace("\"\"", "\""));
    assert_only(&in_file, "evals/skills/tidy/before.json:1:2: [bad-history] the last message", &["mid"]);
}

#[test]
fn a_marker_in_the_history_is_given_away_as_in_the_prompt() {
    let history =
        r#""[{""role"": ""user"", ""content"": ""Hi""}, {""role"": ""assistant"", ""content"": ""TIDY_DONE""}]""#;
    let given = with_row(",must_include,history", &format!("mid,true,Do it,TIDY_DONE,{history}"));
    let line = "evals/skills/tidy/prompts.csv:3:16: [marker-in-prompt] `TIDY_DONE` is in the history already";
    assert_only(&given, line, &[]);
}
