//! What `skill-evals lint` says to a user, and with which exit code.

mod levels;
mod program;
mod unread;

use skill_evals_testing::lint::{HEADER, TASK, assert_only, sheet, with_row};

use crate::support::fixture::Fixture;

#[test]
fn the_sample_repository_is_clean_even_when_strict() {
    let ran = Fixture::copy_of_sample().run(&["lint", "--check-evals", "--strict"]);
    let said = "5 skills, 41 cases: 1 other SKILL.md not read (copies, fixtures: `list --json`); nothing else\n\
                files of skills and cases: 20 read, 0 wrong, 1 not read, 0 said to be no cases; 3 directories or files not searched: \
                packages, builds, fixtures, results, what git ignores; `--census` lists them\n";
    assert_eq!((ran.code, ran.stdout.as_str()), (0, said), "{}", ran.stderr);
}
