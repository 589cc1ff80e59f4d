//! What `skill-evals lint` says about files with one fault each: one message, at its place. The other cases still run.

mod cases;
mod history;
mod levels;
mod program;
mod prompts;
mod prompts_csv;
mod skill_md;
mod task_json;
mod unread;
mod user;
mod without_effect;

use crate::support::fixture::Fixture;

const HEADER: &str = "id,should_trigger,prompt";

/// A prompts.csv with one good positive and one good negative around `row`.
fn sheet(columns: &str, row: &str) -> String {
    format!("{HEADER}{columns}\nfirst,true,Do it\n{row}\nlast,false,Do something else\n")
}

fn with_row(columns: &str, row: &str) -> Fixture {
    Fixture::new().skill("tidy").prompts("tidy", sheet(columns, row))
}

fn with_skill(front_matter: &str) -> Fixture {
    Fixture::new().skill_text("tidy", format!("---\n{front_matter}\n---\n\nDo it.\n")).task("one", TASK)
}

const TASK: &str = r#"{ "prompt": "Do it", "evalConfig": { "expectedSkillName": "tidy" } }"#;

/// One problem, in one line that starts so; every case but `broken` can run.
#[track_caller]
fn assert_only(fixture: &Fixture, line: &str, broken: &[&str]) {
    let lines = fixture.lines();
    assert_eq!(lines.lines().count(), 1, "one problem expected:\n{lines}");
    assert!(lines.starts_with(line), "expected a line that starts with\n{line}\nfound\n{lines}");
    assert_eq!(fixture.broken_cases(), broken);
    assert!(!fixture.good_cases().is_empty(), "the other cases are still there");
}

#[test]
fn the_sample_repository_is_clean_even_when_strict() {
    let ran = Fixture::copy_of_sample().run(&["lint", "--check-evals", "--strict"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (0, "5 skills, 41 cases: 1 other SKILL.md not read (copies, fixtures: `list --json`); nothing else\n"),
        "{}",
        ran.stderr
    );
}
