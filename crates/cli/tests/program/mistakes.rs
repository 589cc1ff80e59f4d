//! Typical mistakes of users, each with its answer: the problem, then what to do.

use crate::support::fixture::{Fixture, run_in};
use skill_evals_testing::tables;

/// A repository with two skills, each with one case.
fn repository() -> Fixture {
    let fixture = Fixture::new().skill("pdf").skill("xlsx");
    let table = "id,should_trigger,prompt\nsmoke,true,Do it.\nother,false,Do something else.\n";
    fixture.prompts("pdf", table).prompts("xlsx", table)
}

/// The same with a line in evals.toml.
fn settings(line: &str) -> Fixture {
    repository().file("evals/evals.toml", line)
}

/// What the program answers to a command line.
fn answer(line: &str) -> String {
    let fixture = repository();
    fixture.run(line).told(fixture.root())
}

/// What it answers with this line in evals.toml.
fn with_settings(line: &str) -> String {
    let fixture = settings(&format!("{line}\n"));
    fixture.run(&["run", "--replay"]).told(fixture.root())
}

tables! {
    answer =>
        a_wrong_command_is_answered_with_the_right_one,
        a_wrong_option_is_answered_with_what_it_takes,
        an_unknown_name_is_answered_with_the_nearest_one,
        what_is_left_out_is_asked_for,
        what_is_meant_is_done;
    with_settings => mistakes_in_the_settings_are_answered_with_what_to_write;
}

#[test]
fn a_name_without_its_option_is_answered_with_the_option() {
    repository().run("generate pdf").exits(2).warns("--skill pdf");
    repository().run("init github").exits(2).warns("--ci github");
}

#[test]
fn a_list_of_modes_says_what_each_is() {
    repository().run("run --mode claude --dry-run").exits(2).warns("  Claude Code (claude-sdk), skills over MCP\n");
}

#[test]
fn in_the_directory_of_cases_the_repository_around_it_is_found() {
    let table = "id,should_trigger,prompt\nsmoke,true,Do it.\n";
    let elsewhere = Fixture::new()
        .file(".git/HEAD", "ref: refs/heads/main\n")
        .file(".claude/skills/pdf/SKILL.md", "---\nname: pdf\ndescription: Fills in forms.\n---\n\nDo it.\n")
        .prompts("pdf", table);
    for fixture in [repository(), elsewhere] {
        for folder in ["evals", "evals/skills", "evals/skills/pdf"] {
            run_in(&fixture.root().join(folder), &["list", "pdf"]).exits(0).prints("pdf/smoke/");
            run_in(&fixture.root().join(folder), &["lint", "pdf"]).exits(0);
        }
    }
}

#[test]
fn a_sign_finds_no_name_that_has_another_sign() {
    let fixture = Fixture::new().skill("pdf-forms").prompts("pdf-forms", "id,should_trigger,prompt\na-b,true,Do it.\n");
    fixture.run("list \u{1f389}").exits(2).warns("no trial has a name that contains");
    fixture.run("list a-b").exits(0).prints("pdf-forms/a-b/");
}

#[test]
fn without_a_command_the_commands_are_printed() {
    let ran = repository().run(&[]);
    ran.exits(2).warns("Usage: skill-evals");
}

#[test]
fn a_skill_that_no_agent_can_load_is_refused_before_an_agent_starts() {
    let ran = repository().file("skills/pdf/SKILL.md", "No front matter.\n").run(&["run", "pdf", "--dry-run"]);
    ran.exits(2);
    assert!([&*ran.stdout, &ran.stderr].concat().contains("does not load the skill"), "{ran}");
}

#[test]
fn a_case_that_may_be_in_a_file_that_cannot_be_read_is_unknown_and_the_file_is_shown_at_its_place() {
    let fixture = repository().file("evals/tasks/one.json", "{\"prompt\": \"a\",}\n");
    let ran = fixture.run(&["run", "--replay", "--case", "two"]);
    assert_eq!(ran.code, 2, "{}{}", ran.stdout, ran.stderr);
    for part in ["error: unknown case `two`", "error[json-syntax]", "--> evals/tasks/one.json:1:15", "\n1 error\n"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    let ran = fixture.run(&["list", "--case", "two", "--json"]);
    assert!(ran.stdout.contains("\"code\": \"json-syntax\""), "{}", ran.stdout);
}

#[test]
fn a_table_of_an_unknown_skill_is_found_without_looking_at_cases() {
    let ran = settings("[skills.pfd]\ntrials = 3\n").run(&["lint"]);
    ran.exits(1).prints("unknown skill `pfd`").prints("did you mean `pdf`?");
}

#[test]
fn a_misspelled_git_reference_is_answered_with_the_nearest_one() {
    let stub = super::compare::repository(1, super::compare::BY_SKILL);
    let words = "`mian` is neither a run nor a git reference; did you mean `main`?";
    stub.run("compare mian").exits(2).warns(words);
}
