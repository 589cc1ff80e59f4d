//! What `skill-evals lint` says to a user, and with which exit code.

mod levels;
mod program;
mod unread;

use skill_evals_testing::lint::{HEADER, TASK, assert_only, sheet, with_row};

use crate::support::fixture::Fixture;

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
